"""Which tests there are, read from the files, not run."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests of a file as `file::name`; none when there is no such file."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    functions = (
        node
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return frozenset(f"{file}::{node.name}" for node in functions if node.name.startswith("test_"))
