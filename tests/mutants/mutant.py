"""One guard of the source left out: what is replaced where, and which tests must notice."""

import ast
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[2]
COPIED = ("activities", "bench", "cache", "demo", "docs", "replaywright", "tests", "workflows", "worker.py")
"""What the tests need of the source, beside the files that lie beside these."""
SOURCES = {".py", ".lua", ".js"}
PRODUCT = ("activities", "bench", "cache", "demo", "replaywright", "workflows", "worker.py")


@dataclass(frozen=True)
class Mutant:
    """A guard that is removed, by replacing one text with another."""

    name: str
    guard: str
    """What is left out, in one line."""
    symbol: str
    """Function, class or constant of the product in which the guard stands (`Doubts.resolve`), in any module; or the
    name of a script's file (`text.js`)."""
    old: str
    """The text that is replaced; it stands exactly once in the symbol."""
    new: str
    caught_by: tuple[str, ...]
    """Tests that pass without the mutant, and of which each fails with it: `tests/…/test_x.py::test_y`."""

    def places(self, root: Path = ROOT) -> list[tuple[Path, int]]:
        """Return the files and offsets at which the text stands in the symbol."""
        return [
            (root / file, at)
            for file, start, end in _symbols(root).get(self.symbol, ())
            for at in _occurrences((root / file).read_text("utf-8"), self.old, start, end)
        ]

    def place(self, root: Path = ROOT) -> tuple[Path, int]:
        """Return the file and the offset at which the text stands.

        Raises:
            ValueError: the text does not stand there exactly once.
        """
        places = self.places(root)
        if len(places) != 1:
            raise ValueError(f"mutant {self.name!r}: its text stands {len(places)} times in {self.symbol}, not once")
        return places[0]

    def apply(self, root: Path) -> None:
        """Replace the text in the copy of the source at `root`.

        Raises:
            ValueError: the text does not stand there exactly once.
        """
        file, at = self.place(root)
        text = file.read_text("utf-8")
        file.write_text(text[:at] + self.new + text[at + len(self.old) :], "utf-8")


_Span: TypeAlias = tuple[str, int, int]
"""A file, relative to the root, and the offsets at which a symbol of it begins and ends."""


@cache
def _symbols(root: Path) -> Mapping[str, Sequence[_Span]]:
    """Return the symbols of the product below `root`; a mutant is applied to a tree once."""
    found = defaultdict[str, list[_Span]](list)
    for folder in PRODUCT:
        place = root / folder
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.suffix not in SOURCES or not file.exists():
                continue
            text, name = file.read_text("utf-8"), str(file.relative_to(root))
            if file.suffix == ".py":
                starts = list(accumulate((len(line) for line in text.splitlines(keepends=True)), initial=0))
                for symbol, first, last in _defined(ast.parse(text).body, ""):
                    found[symbol].append((name, starts[first - 1], starts[last]))
            else:
                found[file.name].append((name, 0, len(text)))
    return found


def _defined(nodes: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, int, int]]:
    """Yield the qualified name, the first and the last line of what these statements define."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min(decorator.lineno for decorator in [*node.decorator_list, node])
            yield prefix + node.name, first, node.end_lineno or first
            if isinstance(node, ast.ClassDef):
                yield from _defined(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, node.lineno, node.end_lineno or node.lineno


def _occurrences(text: str, wanted: str, start: int, end: int) -> Iterator[int]:
    at = text.find(wanted, start, end)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1, end)


def copy_source(to: Path, root: Path = ROOT) -> None:
    """A copy of the source with all that its tests read, without what tools leave behind."""
    to.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")
    for name in COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=ignored)
        else:
            shutil.copy2(source, to / name)
    for file in root.iterdir():
        if file.is_file() and not file.name.startswith("."):
            shutil.copy2(file, to / file.name)


PAGE_HEAD = """# Mutants

Each guard below is left out once, in a copy of the source, and the tests beside it must fail: `make mutants` does that
and ends with status 1 when one survives, or when its tests did not end in time. That every text still stands once where
it is replaced, and that this page is up to date, is checked by `make test`. `python -m tests.mutants.run --write`
writes this page from `tests/mutants/catalogue.py`.

The model of the protocol has mutants of its own: [commit-protocol.md](commit-protocol.md#mutants).

| mutant | what is left out | where | caught by |
|---|---|---|---|
"""


def page(mutants: Iterable[Mutant], root: Path = ROOT) -> str:
    """The documentation of the mutants, as Markdown."""
    rows = []
    for mutant in mutants:
        tests = "<br>".join(f"`{test.partition('::')[2]}` ({test.partition('::')[0]})" for test in mutant.caught_by)
        place = mutant.place(root)[0].relative_to(root)
        rows.append(f"| {mutant.name} | {mutant.guard} | `{mutant.symbol}` ({place}) | {tests} |\n")
    return PAGE_HEAD + "".join(rows)
