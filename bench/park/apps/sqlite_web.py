"""sqlite-web: a browser for SQLite databases, in two versions. The database itself is the judge."""

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import Seen, choose, click, enter, goto, in_row, job, read, saved, text, uploaded
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import learned

CUSTOMERS = tuple((f"Customer {number}", ("Bern", "Graz", "Lyon", "Turin")[number % 4]) for number in range(60))
"""Name and city, in the order of their numbers."""


def shop(folder: Path) -> None:
    """Make a small database of customers and their orders."""
    with contextlib.closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.execute("create table customers (id integer primary key, name text, city text)")
        database.execute("create table orders (id integer primary key, customer integer, item text, amount real)")
        items = ("Pen", "Ink", "Paper", "Lamp")
        database.executemany("insert into customers (name, city) values (?, ?)", CUSTOMERS)
        orders = [(number % 60 + 1, items[number % 3], number * 1.5) for number in range(200)]
        database.executemany("insert into orders (customer, item, amount) values (?, ?, ?)", orders)


def _command(place: Place) -> Sequence[str | Path]:
    return place.python(
        "-m", "sqlite_web.sqlite_web", "-H", "127.0.0.1", "-p", str(place.port), "-x", place.folder / "shop.db"
    )


def _customers(seen: Seen) -> list[tuple[str, str]]:
    return [(row["name"], row["city"]) for row in seen.place.rows("shop.db", "select * from customers order by id")]


def _changed(seen: Seen, *, without: str = "", city: tuple[str, str] = ("", ""), more: Sequence[object] = ()) -> str:
    """Say how the customers differ from those of the beginning with these changes."""
    wanted: list[object] = [
        (name, city[1] if name == city[0] else was) for name, was in CUSTOMERS if name != without or not without
    ]
    now = _customers(seen)
    return "" if now == [*wanted, *more] else f"there are {len(now)} customers: … {now[-3:]}"


def _exported(seen: Seen) -> str:
    [words] = [data.decode() for data in seen.files.values()] or [""]
    wanted = ["name,city", *(f"{name},{city}" for name, city in CUSTOMERS)]
    return "" if words.splitlines() == wanted else f"downloaded {words[:80]!r}"


def _column(seen: Seen) -> str:
    columns = seen.place.rows("shop.db", "select name, type from pragma_table_info('customers') where cid > 2")
    wanted = [{"name": seen.values["column"], "type": seen.values["type"]}]
    return "" if columns == wanted else f"more columns: {columns}"


def _queried(seen: Seen) -> str:
    rows = seen.place.rows("shop.db", seen.values["query"])
    wanted = [[str(value) for value in row.values()] for row in rows]
    got = [[str(row.get(column)) for column in rows[0]] for row in seen.extracted.get("rows", [])]
    return "" if got == wanted else f"read {got[:3]}, not {wanted[:3]}"


_ALLOW = Pick("checkbox", "Allow updating this column.", nth=3)

JOBS = (
    job(
        "insert",
        goto("/customers/"),
        click("link", "Insert", "the Insert tab of the table"),
        enter("id", "{{id}}"),
        enter("name", "{{name}}"),
        enter("city", "{{city}}"),
        saved("button", "Insert", {"url_contains": "/customers/content/"}),
        values={"id": "100", "name": "Ada Lovelace", "city": "London"},
        new={"id": "101", "name": "Alan Turing", "city": "Wilmslow"},
        verify={"url_contains": "/customers/content/"},
        judge=lambda seen: _changed(seen, more=[(seen.values["name"], seen.values["city"])]),
        other_flow=frozenset({"0.8"}),  # the number is given by the database: there is no such field
    ),
    job(
        "edit-one-row",
        goto("/customers/content/"),
        in_row("link", "Edit", "{{name}}"),
        learned(
            "check", "the box that allows to change the city", Pick("checkbox", "Allow updating this column.", nth=3)
        ),
        enter("city", "{{city}}"),
        saved("button", "Update", text("{{city}}")),
        values={"name": "Customer 7", "city": "Oslo"},
        new={"name": "Customer 23", "city": "Porto"},
        verify=text("{{city}}"),
        judge=lambda seen: _changed(seen, city=(seen.values["name"], seen.values["city"])),
    ),
    job(
        "delete-one-row",
        goto("/customers/content/"),
        click("link", "Delete", "the Delete link of {{name}}", says="{{name}}(?!\\d)"),
        saved("button", "Delete", text("Successfully deleted")),
        values={"name": "Customer 4"},
        new={"name": "Customer 31"},
        verify=text("Successfully deleted"),
        judge=lambda seen: _changed(seen, without=seen.values["name"]),
    ),
    job(
        "export-csv",
        goto("/customers/"),
        click("link", "Export"),
        learned("uncheck", "the id column", Pick("checkbox", "id")),
        choose("Format", "{{format}}"),
        click("button", "Export", expect=[{"downloaded": "customers*.csv"}]),
        values={"format": "CSV"},
        new={"format": "CSV"},
        verify=text("Export table"),
        judge=_exported,
    ),
    job(
        "import-csv",
        goto("/customers/"),
        click("link", "Import"),
        learned("upload", "the input file", Pick("button", ""), files=["{{file}}"]),
        saved("button", "Import", text("imported")),
        rules={"0.8": {"the input file": Pick("button", "Input file")}},
        values={"file": "first.csv"},
        new={"file": "second.csv"},
        verify=text("imported"),
        judge=lambda seen: _changed(seen, more=uploaded(seen.values["file"])),
    ),
    job(
        "add-column",
        goto("/customers/"),
        click("link", "+ Add column"),
        enter("Column name", "{{column}}"),
        choose("Column type", "{{type}}"),
        saved("button", "Add column", text("{{column}}")),
        values={"column": "birthday", "type": "DATE"},
        new={"column": "turnover", "type": "REAL"},
        verify=text("{{column}}"),
        judge=_column,
    ),
    job(
        "query",
        goto("/customers/query/"),
        enter("", "{{query}}", "the SQL editor", says="SELECT"),
        click("button", "Execute"),
        read("rows", "table", {"role": "table"}, "the results"),
        values={"query": "select name, city from customers where city = 'Lyon' limit 5"},
        new={"query": "select item, sum(amount) as total from orders group by item"},
        verify=text("Results"),
        judge=_queried,
    ),
)

APP = App(
    "sqlite-web",
    (
        Edition("0.6", "sqlite-web-old", "sqlite-web", _command, lambda place: shop(place.folder)),
        Edition("0.8", "sqlite-web", "sqlite-web", _command, lambda place: shop(place.folder)),
    ),
    ("/", "/orders/", "/customers/content/"),
    JOBS,
)
