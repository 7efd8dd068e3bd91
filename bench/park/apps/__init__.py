"""The applications of the park: how each is started, what is done with it, and who judges it."""

from importlib import import_module

from bench.park.app import App

_MODULES = (
    "adminer",
    "datasette",
    "fava",
    "fossil",
    "jupyterlab",
    "locust",
    "marimo",
    "node_red",
    "optuna",
    "radicale",
    "sqlite_web",
    "supervisor",
    "tiddlywiki",
    "trac",
    "wagtail",
)

APPS: tuple[App, ...] = tuple(import_module(f"{__name__}.{name}").APP for name in _MODULES)
