"""One guard of the source left out: what is replaced where, and which tests must notice."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("activities", "bench", "cache", "demo", "docs", "replaywright", "tests", "workflows", "worker.py")
"""What the tests need of the source, beside the files that lie beside these."""
SOURCES = {".py", ".lua", ".js"}


@dataclass(frozen=True)
class Mutant:
    """A guard that is removed, by replacing one text with another."""

    name: str
    guard: str
    """What is left out, in one line."""
    where: str
    """The file, or the folder in one of whose files the text stands."""
    old: str
    """The text that is replaced; it stands exactly once in `where`."""
    new: str
    caught_by: tuple[str, ...]
    """Tests that pass without the mutant, and of which each fails with it: `tests/…/test_x.py::test_y`."""

    def places(self, root: Path = ROOT) -> list[Path]:
        """The files in which the text stands, once for each time."""
        place = root / self.where
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        sources = [file for file in files if file.suffix in SOURCES]
        return [file for file in sources for _ in range(file.read_text("utf-8").count(self.old))]

    def place(self, root: Path = ROOT) -> Path:
        """The file in which the text stands.

        Raises:
            ValueError: the text does not stand there exactly once.
        """
        places = self.places(root)
        if len(places) != 1:
            raise ValueError(f"mutant {self.name!r}: its text stands {len(places)} times in {self.where}, not once")
        return places[0]

    def apply(self, root: Path) -> None:
        """Replace the text in the copy of the source at `root`.

        Raises:
            ValueError: the text does not stand there exactly once.
        """
        file = self.place(root)
        file.write_text(file.read_text("utf-8").replace(self.old, self.new), "utf-8")


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
        place = mutant.place(root).relative_to(root)
        rows.append(f"| {mutant.name} | {mutant.guard} | {place} | {tests} |\n")
    return PAGE_HEAD + "".join(rows)
