"""The page agent: the script that runs in an isolated world of every document (docs/internals/page-agent.md)."""

from functools import cache
from importlib import resources

PARTS = (
    "dom",
    "reading",
    "timing",
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
    "segments",
    "main",
)
"""Source files in the order in which they need each other."""


@cache
def page_agent_source() -> str:
    """Return the whole agent as one script. Installing it again in the same world does nothing."""
    folder = resources.files(__name__)
    parts = "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in PARTS)
    installed = 'typeof globalThis.replaywright?.begin === "function"'
    return f'(() => {{\n"use strict";\nif ({installed}) return;\n{parts}\n}})();\n'
