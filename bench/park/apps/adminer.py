"""Adminer: a manager of databases in PHP, in its own look and in designs. The database itself is the judge."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.apps.sqlite_web import CUSTOMERS, shop
from bench.park.job import PASSWORD, Seen, choose, click, enter, goto, in_row, job, read, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import learned

_START = f"""\
<?php
function adminer_object() {{
    include_once "../plugins/plugin.php";
    include_once "../plugins/login-password-less.php";
    return new AdminerPlugin([new AdminerLoginPasswordLess(password_hash("{PASSWORD}", PASSWORD_DEFAULT))]);
}}
include "./index.php";
"""


def _command(place: Place) -> Sequence[str | Path]:
    [extensions] = (place.made / "usr" / "lib" / "php").glob("2*")
    loaded = [f"extension={name}" for name in ("ctype", "pdo", "pdo_sqlite", "sqlite3")]
    settings = (f"extension_dir={extensions}", f"session.save_path={place.folder}", *loaded)
    options = [word for setting in settings for word in ("-d", setting)]
    where = ("-S", f"127.0.0.1:{place.port}", "-t", place.folder / "web")
    return [place.made / "usr" / "bin" / "php8.2", "-n", *options, *where]


def _prepare(design: str) -> Callable[[Place], None]:
    def prepare(place: Place) -> None:
        shop(place.folder)
        source = place.made / "usr" / "share" / "adminer"
        shutil.copytree(source, place.folder / "web")
        (place.folder / "web" / "adminer" / "park.php").write_text(_START)
        if design:
            style = source / "designs" / design / "adminer.css"
            shutil.copy(style, place.folder / "web" / "adminer" / "adminer.css")

    return prepare


def _are(seen: Seen, wanted: Sequence[tuple[str, str]]) -> str:
    rows = seen.place.rows("shop.db", "select name, city from customers order by id")
    now = [(row["name"], row["city"]) for row in rows]
    return "" if now == list(wanted) else f"there are {len(now)} customers: … {now[-2:]}"


def _moved(seen: Seen) -> str:
    given = seen.values
    return _are(seen, [(name, given["city"] if name == given["name"] else city) for name, city in CUSTOMERS])


def _answered(seen: Seen) -> str:
    wanted = [[str(value) for value in row.values()] for row in seen.place.rows("shop.db", seen.values["query"])]
    got = [list(map(str, row.values())) for row in seen.extracted["rows"]]
    return "" if got == wanted else f"read {got[:2]}, not {wanted[:2]}"


def _exported(seen: Seen) -> str:
    words = [data.decode() for data in seen.files.values()]
    others = {"customers", "orders"} - {seen.values["table"]}
    right = len(words) == 1 and f'"{seen.values["table"]}"' in words[0] and f'"{others.pop()}"' not in words[0]
    return "" if right else f"downloaded {[word[:80] for word in words]}"


def _table(seen: Seen) -> str:
    rows = seen.place.rows("shop.db", "select name from sqlite_master where type = 'table' order by name")
    columns = seen.place.rows("shop.db", "select name from pragma_table_info(?)", seen.values["table"])
    right = {row["name"] for row in rows} >= {"customers", "orders", seen.values["table"]}
    return "" if right and columns == [{"name": seen.values["column"]}] else f"the tables are {rows}: {columns}"


_PAGE = "/adminer/park.php?sqlite=&username=ada&db=..%2F..%2Fshop.db"
_PASSWORD = (
    enter("", "{{secret:PASSWORD}}", "the password field", says='label="Password"'),
    click("button", "Login", "the button that logs in", effect="idempotent", expect=[text("Tables and views")]),
)
_LOG_IN = (
    goto("/adminer/park.php"),
    choose("", "SQLite 3", "the kind of database", says="SQLite 3"),
    enter("", "ada", "the user name field", says='label="Username"'),
    enter("", "../../shop.db", "the database field", says='label="Database"'),
    *_PASSWORD,
)
_DEEP = (goto(_PAGE), *_PASSWORD)
"""A link into the database; whoever has not logged in gets the form with status 403."""
_SELECT = goto(f"{_PAGE}&select=customers")

JOBS = (
    job(
        "insert-a-row",
        *_LOG_IN,
        click("link", "customers", "the table customers", nth=1),
        click("link", "New item", "the link to a new item"),
        enter("", "{{name}}", "the value of name", nth=1),
        enter("", "{{city}}", "the value of city", nth=2),
        saved("button", "Save", text("Item")),
        values={"name": "Ada Lovelace", "city": "London"},
        new={"name": "Alan Turing", "city": "Wilmslow"},
        verify=text("inserted"),
        judge=lambda seen: _are(seen, [*CUSTOMERS, (seen.values["name"], seen.values["city"])]),
    ),
    job(
        "edit-one-row",
        *_LOG_IN,
        _SELECT,
        click("link", "edit", "the edit link of {{name}}", says="{{name}}(?!\\d)"),
        enter("", "{{city}}", "the value of city", nth=2),
        saved("button", "Save", text("updated")),
        values={"name": "Customer 7", "city": "Oslo"},
        new={"name": "Customer 30", "city": "Porto"},
        verify=text("{{city}}"),
        judge=_moved,
    ),
    job(
        "delete-one-row",
        *_LOG_IN,
        _SELECT,
        in_row("checkbox", "", "{{name}}", action="check"),
        click("button", "Delete", "the button that deletes the selected rows", effect="commit", dialog="accept"),
        values={"name": "Customer 12"},
        new={"name": "Customer 33"},
        verify=text("affected"),
        judge=lambda seen: _are(seen, [each for each in CUSTOMERS if each[0] != seen.values["name"]]),
    ),
    job(
        "run-a-command",
        *_DEEP,
        click("link", "SQL command"),
        enter("", "{{query}}", "the command", says='label="SQL command"'),
        click("button", "Execute", expect=[{"exists": {"css": "#content table"}}]),
        read("rows", "table", {"css": "#content table"}, "the result"),
        values={"query": "select name, city from customers where city = 'Lyon' limit 3"},
        new={"query": "select item, count(*) as pieces from orders group by item"},
        verify={"exists": {"css": "#content table"}},
        judge=_answered,
    ),
    job(
        "export-one-table",
        *_LOG_IN,
        goto(f"{_PAGE}&select={{{{table}}}}"),
        click("link", "", "the link that opens the export", says="Export \\("),
        learned("select_option", "the output of the export", Pick("combobox", says="open"), value="save"),
        click("button", "Export", "the button that exports", expect=[{"downloaded": "*"}]),
        values={"table": "orders"},
        new={"table": "customers"},
        verify=text("{{table}}"),
        judge=_exported,
    ),
    job(
        "create-a-table",
        *_LOG_IN,
        click("link", "Create table", "the link to a new table", nth=1),
        enter("", "{{table}}", "the name of the table", says="Table name"),
        enter("", "{{column}}", "the name of the first column", nth=2),
        click("button", "Save", "the first Save button", nth=1, effect="commit", expect=[text("created")]),
        values={"table": "suppliers", "column": "company"},
        new={"table": "notes", "column": "words"},
        verify=text("{{table}}"),
        judge=_table,
    ),
)

APP = App(
    "adminer",
    tuple(
        Edition(design or "plain", "adminer", "adminer", _command, _prepare(design))
        for design in ("", "pepa-linha", "hever")
    ),
    ("/adminer/park.php",),
    JOBS,
)
