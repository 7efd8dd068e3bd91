"""A task over the rows of a table, on the real stack and in a real browser: learned on one row, done once for each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from demo.stage import Stage
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.resume import Wish, planned
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.goal import task_or_goal
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.task.tasks import Task, bind_parameters, parse_task
from replaywright.settings import Settings
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, serving
from tests.pages.obedient import answering, said_in, schema_of, section

pytestmark = [pytest.mark.slow, pytest.mark.long]

NOTICE = """<section aria-label=Notice>New opening hours.
<button onclick="document.cookie='known=1'; this.parentElement.remove()">Acknowledge</button></section>"""


@dataclass
class Office:
    """Invoices with their states; what was downloaded is noted, and shown as such."""

    url: str = ""
    rows: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Number to customer and state."""
    downloads: list[str] = field(default_factory=list)
    has_notice: bool = False
    refuses: str = ""
    """The invoice that cannot be downloaded."""

    def page(self, known: bool) -> str:
        rows = "".join(
            f"<tr><td>{number}<td>{customer}<td>{'downloaded' if number in self.downloads else state}"
            f"<td><button form=get formaction=/invoices/{number}>Download</button>"
            for number, (customer, state) in self.rows.items()
        )
        heads = "<tr><th>Invoice no.<th>Customer<th>State<th>Action"
        notice = NOTICE if self.has_notice and not known else ""
        table = f"<table aria-label=Invoices>{heads}{rows}</table>"
        return f"<title>Office</title><h1>Invoices</h1>{notice}<form id=get method=post></form>{table}"


@pytest.fixture
def office() -> Iterator[Office]:
    site = Office()

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer(site.page("known" in asked.cookie))
        number = asked.path.rpartition("/")[2]
        if number == site.refuses:
            return Answer("<title>Office</title><h1>No such invoice</h1>", 404)
        site.downloads.append(number)
        name = f'attachment; filename="{number}.pdf"'
        return Answer(number, headers={"content-type": "application/pdf", "content-disposition": name})

    with serving(answer) as url:
        site.url = f"{url}/"
        yield site


@pytest.fixture(scope="module")
def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned yet."""
    return bare_lab


PLANNED = {
    "action": "for_each",
    "item": "invoice",
    "target": {"role": "table", "name": "Invoices"},
    "where": {"State": "open"},
    "steps": [
        {
            "action": "click",
            "instruction": "the Download button of {{invoice.Invoice no.}}",
            "effect": "commit",
            "expect": [{"downloaded": "{{invoice.Invoice no.}}.pdf"}],
        }
    ],
}


def plans_a_list(request: dict[str, Any]) -> dict[str, Any]:
    """A model that plans the list above, and finds the button of a row."""
    asked = schema_of(request)["properties"]
    text = "\n".join(said_in(message) for message in request["messages"] if message["role"] == "user")
    if "label" in asked:
        return {"label": "Download invoices", "name": "download-invoices", "parameters": []}
    if "complete" in asked:
        return {"steps": [PLANNED], "complete": True, "verify": [{"title_contains": "Office"}]}
    if "element_id" in asked:
        number = re.findall(r'of "(\w+)"', section(text, "instruction"))[0]
        row = section(text, "page").partition(f'"{number}"')[2]
        return {"element_id": re.findall(r"\[(\w+)\] button", row)[0]}
    return {"shows": [], "gave_up": "no page says so"}


def download(**fields: Any) -> dict[str, Any]:
    return {
        "action": "click",
        "instruction": "the download button of {{invoice.Invoice no.}}",
        "effect": "commit",
        "expect": [{"downloaded": "{{invoice.Invoice no.}}.pdf"}],
        "timeout_ms": 5000,
        **fields,
    }


def task_at(office: Office, *body: dict[str, Any], **fields: Any) -> Task:
    """Acknowledge what is told, if anything is, then download every open invoice."""
    reconcile = {
        "steps": [{"action": "goto", "url": office.url}],
        "expect": [{"text_contains": "{{invoice.Invoice no.}} {{invoice.Customer}} downloaded"}],
    }
    steps = [
        {"action": "goto", "url": office.url},
        {
            "action": "click",
            "instruction": "the acknowledge button",
            "when": {"exists": {"role": "button", "name": "Acknowledge"}},
        },
        {
            "action": "for_each",
            "item": "invoice",
            "target": {"role": "table", "name": "Invoices"},
            "where": {"State": "open"},
            "steps": list(body or (download(reconcile=reconcile),)),
            **fields,
        },
    ]
    data = {"task": "invoices", "steps": steps, "site_lag_ms": 0, "verify": [{"title_contains": "Office"}]}
    return parse_task(data, "test")


def order_of(task: Task) -> Order:
    return Order(task, bind_parameters(task, {}), new_run_id(task, {}))


async def test_each_open_invoice_is_downloaded_once_although_the_worker_is_killed_and_the_next_run_asks_no_model(
    lab: Lab, office: Office
) -> None:
    office.has_notice = True
    office.rows = {
        "A107": ("Acme", "open"),
        "A108": ("Bolt", "paid"),
        "A109": ("Acme", "open"),
        "A110": ("Crux", "open"),
        "A111": ("Dune", "open"),
    }
    first = order_of(task_at(office))

    await lab.killed_at("acted", 5, first)  # the third open invoice: its request has left
    ending = await lab.follow(first)

    assert ending.status == "done", ending
    assert office.downloads == ["A107", "A109", "A110", "A111"]
    assert ending.result.totals.usage.calls == 2  # the notice's button, and the button of the first row
    assert await lab.audited(first) == ()

    office.has_notice = False
    office.rows = {"B120": ("Echo", "open"), "B121": ("Foxx", "paid"), "B122": ("Acme", "open")}
    second = order_of(task_at(office))
    ending = await lab.run(second)

    assert ending.status == "done", ending
    assert office.downloads[4:] == ["B120", "B122"]
    assert (ending.result.totals.usage.calls, ending.result.totals.hits) == (0, 3)  # the table, and two buttons
    assert ending.result.totals.skipped == 1
    assert [file.name for file in ending.result.files] == ["B120.pdf", "B122.pdf"]
    assert [(line["sequence"], line.get("reason", "")) for line in await lines(lab, second)] == [
        *((0, ""), (1, "when"), (2, ""), (3, ""), (4, "")),
    ]


async def lines(lab: Lab, order: Order) -> list[dict[str, Any]]:
    return [line for line in await lab.trace(order) if line["kind"] == "step"]


async def failed(lab: Lab, office: Office, task: Task) -> tuple[Order, Ending]:
    office.rows = dict.fromkeys(("A101", "A102", "A103"), ("Acme", "open"))
    office.refuses = "A102"
    order = order_of(task)
    return order, await lab.run(order)


async def test_an_item_that_cannot_be_done_is_skipped_and_told(lab: Lab, office: Office) -> None:
    back = {"action": "goto", "url": office.url}
    _, ending = await failed(lab, office, task_at(office, back, download(), on_failure="skip_item"))

    assert ending.status == "done", ending
    assert office.downloads == ["A101", "A103"]
    assert [(one.item, one.number, one.value["Invoice no."]) for one in ending.result.skipped] == [  # type: ignore[index]
        ("invoice", 2, "A102")
    ]


async def test_a_resumed_run_goes_on_with_the_item_that_it_failed_at(lab: Lab, office: Office) -> None:
    back = {"action": "goto", "url": office.url}
    order, ending = await failed(lab, office, task_at(office, back, download()))
    assert (ending.status, ending.result.failed_step) == ("failed", 6), ending

    office.refuses = ""
    office.rows = {"A104": ("Late", "open"), **office.rows}  # what is shown by now does not change the list
    found = await planned(lab.place, Wish(order.run_id))
    ending = await lab.run(found.order)

    assert ending.status == "done", ending
    assert office.downloads == ["A101", "A102", "A103"]


async def test_a_sentence_is_planned_as_a_list_and_recalled_on_another_day_for_the_rows_of_that_day(
    lab_settings: Settings, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPLAYWRIGHT_MODEL", raising=False)
    office.rows = {"A107": ("Acme", "open"), "A108": ("Bolt", "paid"), "A109": ("Acme", "open")}
    task = task_or_goal("Download every open invoice", url=office.url, secrets=[])

    with answering(plans_a_list) as address:
        told = {"model": "openai:lists", "model_base_url": address}
        more = {"planner_model": "openai:lists", "planner_model_base_url": address}
        async with Stage(lab_settings.model_copy(update=told | more), tell=lambda _text: None) as stage:
            lab = Lab(stage)
            learned = await lab.run(Order(task, {}, new_run_id(task, {})))
            first, office.downloads = office.downloads, []
            office.rows = {"B120": ("Echo", "open"), "B121": ("Foxx", "paid"), "B122": ("Acme", "open")}
            recalled = await lab.run(Order(task, {}, new_run_id(task, {})))

    assert learned.status == "done", learned.result.model_dump_json(exclude_defaults=True)
    assert first == ["A107", "A109"]
    assert recalled.status == "done", recalled.result.model_dump_json(exclude_defaults=True)
    assert office.downloads == ["B120", "B122"]
    used = [ending.result.skill for ending in (learned, recalled)]
    assert [(skill.how, skill.name) for skill in used if skill is not None] == [
        ("learned", "download-invoices"),
        ("recalled", "download-invoices"),
    ]
    assert recalled.result.totals.usage.calls == 0
