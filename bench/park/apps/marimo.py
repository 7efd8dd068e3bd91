"""marimo: a notebook of code that is a file."""

from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import Seen, click, enter, goto, job
from bench.park.place import Place
from bench.wob.spec import Do

BOOKS = ("attic", "cellar", "kitchen")
_BOOK = """\
import marimo

app = marimo.App()


@app.cell
def _():
    bread = 3
    return (bread,)


@app.cell
def _(bread):
    price = bread * 2
    return (price,)


if __name__ == "__main__":
    app.run()
"""


def _command(place: Place) -> Sequence[str | Path]:
    where = ("--headless", "--no-token", "--skip-update-check", "--host", "127.0.0.1", "--port", str(place.port))
    return place.python("-m", "marimo", "edit", place.folder / "work", *where)


def _prepare(place: Place) -> None:
    (place.folder / "work").mkdir()
    for name in BOOKS:
        (place.folder / "work" / f"{name}.py").write_text(_BOOK)


def _cells(seen: Seen, *wanted: str) -> str:
    """Say what the notebooks hold, if it is not these cells in one and what they began with in the others."""
    for name in BOOKS:
        lines = [line.strip() for line in (seen.place.folder / "work" / f"{name}.py").read_text().splitlines()]
        cells = wanted if name == seen.values["book"] else ("bread = 3", "price = bread * 2")
        now = [line for line in lines if " = " in line and "marimo.App" not in line and "__generated" not in line]
        if now != list(cells):
            return f"{name} has {now}"
    return ""


def _books(seen: Seen) -> str:
    now = sorted(file.stem for file in (seen.place.folder / "work").glob("*.py"))
    return "" if now == [name for name in BOOKS if name != seen.values["book"]] else f"there are {now}"


_OPENED = goto("/?file={{book}}.py", expect=[{"exists": {"role": "textbox", "text": "bread"}, "within_ms": 60_000}])
_SAVE = Do({"action": "press", "keys": "Control+s", "effect": "commit", "evidence": "page"})

JOBS = (
    job(
        "edit-one-cell",
        _OPENED,
        enter("", "bread = {{pieces}}", "the cell that says how much bread", says="^bread = "),
        _SAVE,
        values={"book": "kitchen", "pieces": "12"},
        new={"book": "cellar", "pieces": "7"},
        verify={"text_contains": "{{pieces}}"},
        judge=lambda seen: _cells(seen, f"bread = {seen.values['pieces']}", "price = bread * 2"),
    ),
    job(
        "add-a-cell",
        _OPENED,
        click("button", "Python", "the button that adds a Python cell"),
        enter("", "wine = {{bottles}}", "the new cell", says="focused"),
        _SAVE,
        values={"book": "cellar", "bottles": "40"},
        new={"book": "attic", "bottles": "2"},
        verify={"text_contains": "{{bottles}}"},
        judge=lambda seen: _cells(seen, "bread = 3", "price = bread * 2", f"wine = {seen.values['bottles']}"),
    ),
    job(
        "delete-one-notebook",
        goto("/", expect=[{"exists": {"role": "button", "name": "More options"}, "within_ms": 60_000}]),
        click("button", "More options", "the options of {{book}}.py", nth=1),
        click("menuitem", "", "the option that deletes", says="(?i)delete"),
        click("button", "Confirm", "the button that confirms", effect="commit"),
        values={"book": "attic"},
        new={"book": "kitchen"},
        verify={"not_exists": {"role": "treeitem", "text": "{{book}}.py"}},
        judge=_books,
    ),
)

APP = App("marimo", (Edition("0.25", "marimo", "marimo", _command, _prepare),), ("/",), JOBS)
