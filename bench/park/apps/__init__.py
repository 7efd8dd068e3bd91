"""The applications of the park: how each is started, what is done with it, and who judges it."""

from bench.park.app import App
from bench.park.apps import datasette, locust, node_red, radicale, sqlite_web, tiddlywiki, trac, wagtail

APPS: tuple[App, ...] = (
    datasette.APP,
    locust.APP,
    node_red.APP,
    radicale.APP,
    sqlite_web.APP,
    tiddlywiki.APP,
    trac.APP,
    wagtail.APP,
)
