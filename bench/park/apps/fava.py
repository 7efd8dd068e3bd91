"""Fava: the books of a household. The ledger is a text file."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import Seen, click, enter, goto, job, read, saved, text
from bench.park.place import Place
from bench.wob.spec import Do

_LEDGER = """\
option "title" "Household"
option "operating_currency" "EUR"
2030-01-01 open Assets:Bank EUR
2030-01-01 open Assets:Cash EUR
2030-01-01 open Expenses:Food EUR
2030-01-01 open Expenses:Rent EUR
2030-01-01 open Income:Salary EUR
2030-01-05 * "Employer" "Salary"
  Assets:Bank  2000.00 EUR
  Income:Salary
2030-01-06 * "Baker" "Bread"
  Expenses:Food  4.20 EUR
  Assets:Cash
2030-01-07 * "Landlord" "Rent of January"
  Expenses:Rent  800.00 EUR
  Assets:Bank
2030-02-03 * "Grocer" "Vegetables"
  Expenses:Food  11.50 EUR
  Assets:Bank
"""


def _command(place: Place) -> Sequence[str | Path]:
    start = "from fava.cli import main; main()"
    return place.python("-c", start, place.folder / "household.beancount", "-H", "127.0.0.1", "-p", str(place.port))


def _prepare(place: Place) -> None:
    (place.folder / "household.beancount").write_text(_LEDGER)


def _ledger(seen: Seen) -> str:
    return (seen.place.folder / "household.beancount").read_text()


def _added(seen: Seen) -> str:
    given, now = seen.values, _ledger(seen)
    old, words = Counter(_LEDGER.splitlines()), list[str]()
    for line in now.splitlines():  # a line may be there twice: as it was, and once more
        if old[line]:
            old[line] -= 1
        else:
            words += line.split()
    wanted = [given["date"], "*", f'"{given["payee"]}"', f'"{given["what"]}"']
    wanted += [given["account"], given["amount"].split()[0], "EUR", "Assets:Cash"]
    return "" if words == wanted and not old.total() else f"the new lines are {words}"


def _rewritten(seen: Seen) -> str:
    return "" if _ledger(seen).strip() == seen.values["text"].strip() else f"the ledger is {_ledger(seen)!r}"


def _payees(seen: Seen) -> str:
    rows = [str(text).replace("\n", " ") for text in seen.extracted["entries"]]
    right = len(rows) == 1 and seen.values["payee"] in rows[0]
    return "" if right else f"read {rows}"


def _sums(seen: Seen) -> str:
    rows = [" ".join(map(str, row.values())) for row in seen.extracted["rows"]]
    right = len(rows) == 1 and seen.values["account"] in rows[0] and seen.values["sum"] in rows[0]
    return "" if right else f"read {rows}"


_QUERY = "select account, sum(position) where account = '{{account}}' group by account"

JOBS = (
    job(
        "add-a-transaction",
        goto("/household/journal/"),
        click("link", "+", "the link that adds an entry"),
        enter("", "{{date}}", "the date of the transaction", nth=1),
        enter("", "{{payee}}", "the payee", says="Payee", role="combobox"),
        enter("", "{{what}}", "the narration", says="Narration", role="combobox"),
        enter("Account", "{{account}}", "the first account", role="combobox", nth=2),
        enter("Amount", "{{amount}}", "the first amount", role="combobox", nth=1),
        enter("Account", "Assets:Cash", "the second account", role="combobox", nth=3),
        saved("button", "Save", text("{{payee}}")),
        values={
            "date": "2030-03-01",
            "payee": "Miller",
            "what": "Flour",
            "account": "Expenses:Food",
            "amount": "3.10 EUR",
        },
        new={
            "date": "2030-04-02",
            "payee": "Fishmonger",
            "what": "Trout",
            "account": "Expenses:Food",
            "amount": "9.80 EUR",
        },
        verify=text("{{payee}}"),
        judge=_added,
    ),
    job(
        "filter-the-journal",
        goto("/household/journal/"),
        enter("Filter by tag, payee, …", 'payee:"{{payee}}"', "the filter field", role="combobox"),
        Do({"action": "press", "keys": "Enter", "expect": [{"url_contains": "filter="}]}),
        Do(
            {
                "action": "extract",
                "fields": {"entries": {"take": "texts", "find": {"css": "ol.journal li.transaction"}}},
            }
        ),
        values={"payee": "Baker"},
        new={"payee": "Landlord"},
        verify={"url_contains": "filter="},
        judge=_payees,
    ),
    job(
        "rewrite-the-ledger",
        goto("/household/editor/"),
        enter("", "{{text}}", "the text of the ledger", says="operating_currency"),
        saved("button", "Save"),
        values={"text": '2031-01-01 open Assets:Box EUR\n2031-01-02 note Assets:Box "empty"\n'},
        new={"text": '2032-01-01 open Assets:Jar EUR\n2032-01-02 note Assets:Jar "full"\n'},
        verify={"url_contains": "/editor/"},
        judge=_rewritten,
    ),
    job(
        "run-a-query",
        goto("/household/query/"),
        enter(
            "",
            "select account, sum(position) where account = '{{account}}' group by account",
            "the query",
            says="BQL query",
        ),
        click("button", "Submit"),
        read("rows", "table", {"role": "table"}, "the result"),
        values={"account": "Expenses:Food", "sum": "15.70"},
        new={"account": "Expenses:Rent", "sum": "800.00"},
        verify=text("{{account}}"),
        judge=_sums,
    ),
)

APP = App("fava", (Edition("1.30", "fava", "fava", _command, _prepare),), ("/household/income_statement/",), JOBS)
