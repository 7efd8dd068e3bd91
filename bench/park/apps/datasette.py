"""Datasette: tables of a database, with queries that write, in a stable and a coming version."""

import json
from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Command, Edition
from bench.park.apps.sqlite_web import CUSTOMERS, shop
from bench.park.job import Seen, click, enter, goto, job, read, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import learned

_QUERIES = {
    "new_customer": "insert into customers (name, city) values (:name, :city)",
    "move": "update customers set city = :city where name = :name",
    "cancel_orders": "delete from orders where customer = :customer",
}


def _command(option: str) -> Command:
    def command(place: Place) -> Sequence[str | Path]:
        where = ("-p", str(place.port), option, str(place.folder / "metadata.json"))
        return place.python("-m", "datasette", place.folder / "shop.db", *where)

    return command


def _prepare(place: Place) -> None:
    shop(place.folder)
    queries = {name: {"sql": sql, "write": True} for name, sql in _QUERIES.items()}
    (place.folder / "metadata.json").write_text(json.dumps({"databases": {"shop": {"queries": queries}}}))


def _filtered(seen: Seen) -> str:
    wanted = [(name, city) for name, city in CUSTOMERS if seen.values["value"] in city]
    got = [(row.get("name"), row.get("city")) for row in seen.extracted["rows"]]
    return "" if got == wanted else f"read {got[:3]}, not {wanted[:3]}"


def _customers(seen: Seen) -> list[tuple[str, str]]:
    return [(row["name"], row["city"]) for row in seen.place.rows("shop.db", "select * from customers order by id")]


def _added(seen: Seen) -> str:
    wanted = [*CUSTOMERS, (seen.values["name"], seen.values["city"])]
    return "" if _customers(seen) == wanted else f"the last customers are {_customers(seen)[-2:]}"


def _moved(seen: Seen) -> str:
    given = seen.values
    wanted = [(name, given["city"] if name == given["name"] else city) for name, city in CUSTOMERS]
    return "" if _customers(seen) == wanted else "it is not this customer who moved"


def _downloaded(seen: Seen) -> str:
    [words] = [data.decode() for data in seen.files.values()] or [""]
    count = {"orders": 200, "customers": len(CUSTOMERS)}[seen.values["table"]]
    return "" if len(words.splitlines()) == count + 1 else f"downloaded {words[:60]!r}"


def _queried(seen: Seen) -> str:
    rows = seen.place.rows("shop.db", seen.values["query"])
    wanted = [[str(value) for value in row.values()] for row in rows]
    got = [[str(row.get(column)) for column in rows[0]] for row in seen.extracted["rows"]]
    return "" if got == wanted else f"read {got[:3]}, not {wanted[:3]}"


_ROWS = read("rows", "table", {"css": "table.rows-and-columns"}, "the rows of the table")

JOBS = (
    job(
        "filter-a-table",
        goto("/shop/customers"),
        learned("select_option", "the column to filter by", Pick("combobox", says="- column -"), value="city"),
        learned("select_option", "the comparison of the filter", Pick("combobox", says="contains"), value="contains"),
        enter("", "{{value}}", "the value to filter by"),
        click("button", "Apply", "the button that filters", expect=[{"url_contains": "city__contains"}]),
        _ROWS,
        values={"value": "Ly"},
        new={"value": "ra"},
        verify={"url_contains": "city__contains"},
        judge=_filtered,
    ),
    job(
        "run-a-query-that-adds",
        goto("/shop"),
        click("link", "new_customer", "the query new_customer"),
        enter("name", "{{name}}"),
        enter("city", "{{city}}"),
        saved("button", "Run SQL", text("1 row affected")),
        values={"name": "Ada Lovelace", "city": "London"},
        new={"name": "Alan Turing", "city": "Wilmslow"},
        verify=text("1 row affected"),
        judge=_added,
    ),
    job(
        "run-a-query-that-changes",
        goto("/shop"),
        click("link", "move", "the query move"),
        enter("city", "{{city}}"),
        enter("name", "{{name}}"),
        saved("button", "Run SQL", text("1 row affected")),
        values={"name": "Customer 12", "city": "Oslo"},
        new={"name": "Customer 40", "city": "Porto"},
        verify=text("1 row affected"),
        judge=_moved,
    ),
    job(
        "download-a-table",
        goto("/shop"),
        click("link", "{{table}}", "the table {{table}}"),
        learned("check", "the download file checkbox", Pick("checkbox", "download file")),
        click("button", "Export CSV", expect=[{"downloaded": "{{table}}.csv"}]),
        values={"table": "orders"},
        new={"table": "customers"},
        verify={"url_contains": "/shop/{{table}}"},
        judge=_downloaded,
    ),
    job(
        "write-a-query",
        goto("/shop"),
        enter("", "{{query}}", "the SQL editor", says="SQL|select"),
        click("button", "Run SQL", expect=[{"url_contains": "sql="}]),
        _ROWS,
        values={"query": "select name from customers where city = 'Turin' order by id limit 4"},
        new={"query": "select item, count(*) as pieces from orders group by item"},
        verify={"url_contains": "sql="},
        judge=_queried,
    ),
)

APP = App(
    "datasette",
    (
        Edition("0.65", "datasette", "datasette", _command("--metadata"), _prepare),
        Edition("1.0a", "datasette-new", "datasette", _command("--config"), _prepare),
    ),
    ("/", "/shop/orders", "/shop"),
    JOBS,
)
