"""The applications of the park: how each is started, what is done with it, and who judges it."""

from bench.park.app import App
from bench.park.apps import (
    datasette,
    fossil,
    jupyterlab,
    locust,
    node_red,
    radicale,
    sqlite_web,
    tiddlywiki,
    trac,
    wagtail,
)

_MODULES = (datasette, fava, fossil, jupyterlab, locust, node_red, radicale, sqlite_web, tiddlywiki, trac, wagtail)

APPS: tuple[App, ...] = tuple(module.APP for module in _MODULES)
