"""The applications of the park: how each is started, what is done with it, and who judges it."""

from bench.park.app import App
from bench.park.apps import radicale, sqlite_web, trac, wagtail

APPS: tuple[App, ...] = (radicale.APP, sqlite_web.APP, trac.APP, wagtail.APP)
