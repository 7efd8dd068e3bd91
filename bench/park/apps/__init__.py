"""The applications of the park: how each is started, what is done with it, and who judges it."""

from bench.park.app import App
from bench.park.apps import locust, radicale, sqlite_web, trac, wagtail

APPS: tuple[App, ...] = (locust.APP, radicale.APP, sqlite_web.APP, trac.APP, wagtail.APP)
