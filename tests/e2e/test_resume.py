"""Going on after a run that failed, on the real stack and in a real browser: nothing that was done is done again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from replaywright.cli.people.updates import decide
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.resume import Planned, Wish, planned
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.errors import InputInvalid
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, led_to, serving

pytestmark = pytest.mark.slow

ORDER = """<title>Bakery</title><h1>Your order</h1><form method=post action=/order>
<label>Name <input name=name></label><label>Street <input name=street></label><label>Town <input name=town></label>
<button>Place order</button></form>"""
OPINION = """<title>Bakery</title><h1>Your opinion</h1><form method=post action=/opinion>
<label>Cake <input name=cake></label><label>Shop <input name=shop></label>
<label><input type=checkbox name=again> I come again</label><button>Send opinion</button></form>"""


@dataclass
class Bakery:
    """A shop that takes orders and opinions, and keeps a log of what it was sent."""

    url: str = ""
    sent: list[str] = field(default_factory=list)


@pytest.fixture
def bakery() -> Iterator[Bakery]:
    shop = Bakery()

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            shop.sent.append(asked.path)
            return led_to("/thanks")
        pages = {"/thanks": f"<title>Bakery</title><h1>Thank you for {shop.sent[-1:]}</h1>", "/opinion": OPINION}
        return Answer(pages.get(asked.path, ORDER))

    with serving(answer) as shop.url:
        yield shop


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the task declares its elements."""
    return bare_lab


def fill(name: str, value: str) -> dict[str, Any]:
    target = {"role": "textbox", "name": name}
    return {"action": "fill", "instruction": f"the {name} field", "value": value, "target": target}


def press(name: str) -> dict[str, Any]:
    return {
        "action": "click",
        "instruction": f"the {name} button",
        "effect": "commit",
        "target": {"role": "button", "name": name},
        "expect": [{"url_contains": "/thanks"}],
        "timeout_ms": 1500,
    }


def task_at(bakery: Bakery, *, last: str = "Send opinion", town: str = "Ulm") -> Task:
    """Ten steps, with an order in the middle and an opinion at the end."""
    steps = [
        {"action": "goto", "url": f"{bakery.url}/"},
        fill("Name", "Ada"),
        fill("Street", "Mill Lane 1"),
        fill("Town", town),
        press("Place order"),
        {"action": "goto", "url": f"{bakery.url}/opinion"},
        fill("Cake", "sweet"),
        fill("Shop", "nice"),
        {
            "action": "check",
            "instruction": "the box",
            "target": {"role": "checkbox", "name_contains": "I come again"},
        },
        press(last),
    ]
    return parse_task({"task": "cake", "steps": steps, "verify": [{"url_contains": "/thanks"}]}, "test")


async def failed_at_ten(lab: Lab, bakery: Bakery) -> Order:
    task = task_at(bakery, last="Submit opinion")
    order = Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)
    ending = await lab.run(order)
    assert (ending.status, ending.result.failed_step) == ("failed", 9), ending
    return order


async def resumed(lab: Lab, found: Planned) -> Ending:
    return await lab.run(found.order)


async def test_a_ten_step_task_that_failed_at_step_ten_performs_only_that_one_when_it_is_mended(
    lab: Lab, bakery: Bakery
) -> None:
    order = await failed_at_ten(lab, bakery)
    before = list(bakery.sent)

    found = await planned(lab.place, Wish(order.run_id, task_at(bakery)))
    ending = await resumed(lab, found)

    assert [found.how(step) for step in range(10)] == ["ledger"] * 9 + ["perform"]
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert (before, bakery.sent) == (["/order"], ["/order", "/opinion"])
    totals = ending.result.totals
    assert (totals.steps, totals.from_ledger, totals.usage.calls) == (10, 9, 0)
    lines = [line for line in await lab.trace(order) if line.get("runId") == found.order.run_id]
    assert [(line["sequence"], line.get("fromLedger", False)) for line in lines if line["kind"] == "step"] == [
        *((step, True) for step in range(9)),
        (9, False),
    ]
    assert await lab.audited(found.order) == ()
    with pytest.raises(InputInvalid, match="nothing to resume"):
        await planned(lab.place, Wish(order.run_id))


@pytest.mark.long
async def test_an_order_that_was_placed_before_an_edit_is_not_placed_again_without_a_word(
    lab: Lab, bakery: Bakery
) -> None:
    order = await failed_at_ten(lab, bakery)

    found = await planned(lab.place, Wish(order.run_id, task_at(bakery, town="Bonn")))
    waiting = await resumed(lab, found)
    asked = list(bakery.sent)
    verdict = PersonVerdict(sequence=4, verdict="keep", who="the test", why="the cake is there")
    await decide(lab.place, found.order.run_id, verdict)
    ending = await lab.follow(found.order)

    assert [found.how(step) for step in (2, 3, 4, 9)] == ["ledger", "perform", "ask", "perform"]
    assert waiting.status == "waiting"
    assert waiting.progress is not None
    assert waiting.progress.answers == ("redo", "keep", "abandon")
    assert asked == ["/order"]
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert bakery.sent == ["/order", "/opinion"]
    assert await lab.audited(found.order) == ()


@pytest.mark.long
async def test_what_was_said_beforehand_is_done_and_a_second_resume_goes_on_after_the_first(
    lab: Lab, bakery: Bakery
) -> None:
    order = await failed_at_ten(lab, bakery)
    again = await planned(lab.place, Wish(order.run_id, first=5, redo=True))
    failed = await resumed(lab, again)
    assert (failed.status, failed.result.failed_step) == ("failed", 9)
    assert bakery.sent == ["/order", "/order"]

    found = await planned(lab.place, Wish(order.run_id, task_at(bakery)))
    ending = await resumed(lab, found)

    assert (found.of, found.position) == (again.order.run_id, 9)
    assert ending.status == "done"
    assert bakery.sent == ["/order", "/order", "/opinion"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"first": 5}, "has consequences on the site that would come a second time; add --redo"),
        ({"first": 11}, "the task has 10 steps"),
    ],
)
async def test_what_cannot_be_resumed_is_refused_before_anything_is_done(
    lab: Lab, bakery: Bakery, wish: dict[str, Any], said: str
) -> None:
    order = await failed_at_ten(lab, bakery)

    with pytest.raises(InputInvalid, match=said):
        await planned(lab.place, Wish(order.run_id, **wish))

    assert bakery.sent == ["/order"]


@pytest.mark.long
async def test_a_page_that_only_a_commit_step_led_to_is_reached_by_its_checkpoint(lab: Lab, bakery: Bakery) -> None:
    steps = task_at(bakery).model_dump(mode="json", exclude_defaults=True)["steps"][:5]
    thanked = [{"url_contains": "/thanks"}]
    task = parse_task({"task": "cake", "steps": [*steps, press("Print")], "verify": thanked}, "test")
    order = Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)
    assert (await lab.run(order)).result.failed_step == 5
    looked = {"action": "wait_for", "expect": thanked}
    mended = parse_task({"task": "cake", "steps": [*steps, looked], "verify": thanked}, "test")

    found = await planned(lab.place, Wish(order.run_id, mended))
    ending = await resumed(lab, found)

    assert [found.how(step) for step in range(6)] == ["ledger"] * 5 + ["perform"]
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert bakery.sent == ["/order"]


@pytest.mark.long
async def test_an_order_in_other_words_is_told_before_it_could_be_placed_again(lab: Lab, bakery: Bakery) -> None:
    order = await failed_at_ten(lab, bakery)
    data = task_at(bakery).model_dump(mode="json", exclude_defaults=True)
    data["steps"][4]["instruction"] = "the big button"
    mended = parse_task(data, "test")

    with pytest.raises(InputInvalid, match="does not ask for any more: click the Place order button"):
        await planned(lab.place, Wish(order.run_id, mended))


@pytest.mark.long
async def test_a_ledger_that_was_emptied_is_noticed(lab: Lab, bakery: Bakery) -> None:
    order = await failed_at_ten(lab, bakery)
    await lab.forget(order)

    with pytest.raises(InputInvalid, match=r"step 5 .* was done, .* and the ledger has no record of it"):
        await planned(lab.place, Wish(order.run_id))
