"""The page agent: the script that runs in an isolated world of every document (docs/internals/page-agent.md)."""

from functools import cache
from importlib import resources

PARTS = (
    "dom",
    "reading",
    "drawn",
    "timing",
    "rest",
    "text",
    "roles",
    "names",
    "describe",
    "locate",
    "overlays",
    "probes",
    "repeats",
    "readers",
    "records",
    "snapshot",
    "fields",
    "entries",
    "geometry",
    "marks",
    "scroll",
    "order",
    "drag",
    "files",
    "clipboard",
    "secret",
    "changes",
    "guard",
    "prepare",
    "attempt",
    "lists",
    "choose",
    "editing",
    "segments",
    "main",
)
"""Source files in the order in which they need each other."""


def page_agent_source(*more: str) -> str:
    """Return the whole agent as one script, with `more` files of `replaywright/browser` in its scope.

    Installing it again in the same world does nothing.
    """
    installed = 'typeof globalThis.replaywright?.begin === "function"'
    return script_of(*(f"page/{name}.js" for name in PARTS), *more, once=installed)


@cache
def script_of(*files: str, once: str) -> str:
    """Return files of `replaywright/browser` as one script, which does nothing in a world where `once` holds."""
    folder = resources.files("replaywright.browser")
    parts = "\n".join((folder / file).read_text(encoding="utf-8") for file in files)
    return f'(() => {{\n"use strict";\nif ({once}) return;\n{parts}\n}})();\n'
