"""The applications of the park: how each is started, what is done with it, and who judges it."""

from bench.park.app import App
from bench.park.apps import sqlite_web

APPS: tuple[App, ...] = (sqlite_web.APP,)
