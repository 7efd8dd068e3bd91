"""Commands of ours that messages, docstrings and pages of the product name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.docs.markdown import ROOT

_PRODUCT: Final = ("activities", "cache", "demo", "replaywright", "workflows", "worker.py")
_NAMED: Final = re.compile(r"`(replaywright [a-z][^`]*)`")
_WHOLE: Final = re.compile(r"(replaywright [a-z].*)", re.DOTALL)
_IN_PAGES: Final = re.compile(r'command\("(replaywright [^"]*)"')
_TEXT: Final = "1"
"""Stands for what is put into a message when it is made."""


def product_files(suffix: str) -> list[Path]:
    """The product's files of this kind."""
    places = (ROOT / name for name in _PRODUCT)
    found = (place.rglob(f"*{suffix}") if place.is_dir() else [place] for place in places)
    return sorted(path for paths in found for path in paths if path.suffix == suffix)


def commands_in_code(path: Path) -> Iterator[str]:
    """Commands that the strings of a module name: in backquotes, or as the whole string."""
    for text in _texts(ast.parse(path.read_text("utf-8"))):
        if whole := _WHOLE.fullmatch(text):
            yield whole[1]
        yield from (" ".join(found.split()) for found in _NAMED.findall(text))


def commands_in_page(path: Path) -> Iterator[str]:
    """Commands that a template of the dashboard or of the report shows."""
    yield from _IN_PAGES.findall(path.read_text("utf-8"))


def _texts(tree: ast.AST) -> Iterator[str]:
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else _TEXT for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value
