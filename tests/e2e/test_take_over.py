"""A person drives the live browser of a run, through Chromium's DevTools, and hands it back."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.async_api import Browser, Page, expect

from replaywright.cli.people.takeover import address_of
from replaywright.cli.people.updates import decide, updated, user_name
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.scope import Mode
from replaywright.domain.run.steering import LentBrowser, TakeOverRequest
from replaywright.domain.task.questions import QuestionKind
from replaywright.domain.task.tasks import parse_task
from tests.adapters.test_lending import person
from tests.e2e.bank import Bank
from tests.e2e.lab import Lab, runs_with
from tests.e2e.test_dashboard import assert_readable, browser, served
from tests.e2e.test_people import asked
from tests.waiting import PATIENT_MS

__all__ = ["browser"]

pytestmark = pytest.mark.slow

CODE = "493027"


@pytest.fixture
def bank() -> Iterator[Bank]:
    bank = Bank()
    with bank.served():
        yield bank


@pytest.fixture(scope="module")
def lab(bare_lab: Lab) -> Iterator[Lab]:
    """Runs that give their browsers back soon; the task declares its elements."""
    with runs_with(hibernate_after_s=2.0):
        yield bare_lab


def order_of(bank: Bank) -> Order:
    """Sign in; a person gives the code; pay."""
    written = bank.task({"value": "x"}).model_dump(mode="json", exclude_defaults=True, exclude={"secrets"})
    before, after = written["steps"][:3], [written["steps"][5], {**written["steps"][7], "effect": "commit"}]
    hand_over = {
        "action": "take_over",
        "instruction": "give the code that the bank has sent you",
        "expect": [{"text_contains": "Account"}],
    }
    task = parse_task({**written, "steps": [*before, hand_over, *after]}, "test")
    return Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)


async def give_code(page: Page, bank: Bank) -> None:
    """Click into the field in the screencast, and type; the first pictures take a moment to come."""
    canvas = page.locator(".screencast-canvas-container canvas")
    await canvas.wait_for()
    async with asyncio.timeout(60):
        while not bank.codes:
            box = await canvas.bounding_box()
            assert box is not None
            await page.mouse.click(box["x"] + box["width"] * 0.1, box["y"] + box["height"] * 0.1)
            await page.keyboard.type(CODE)
            await page.keyboard.press("Enter")
            await asyncio.sleep(1)


@pytest.mark.long
@pytest.mark.parametrize("kills", [False, True])
async def test_a_person_does_a_step_in_the_live_browser_and_the_run_goes_on(lab: Lab, bank: Bank, kills: bool) -> None:
    order = order_of(bank)
    await start(lab.place, order)
    await asked(lab, order, QuestionKind.TAKE_OVER)
    lent = await updated(lab.place, order.run_id, "take_over", TakeOverRequest(who="ada", lasts_s=600), LentBrowser)
    address = address_of(lent)
    if kills:
        await lab.replace_worker()
    async with person(address) as page:
        await give_code(page, bank)
    await decide(lab.place, order.run_id, PersonVerdict(sequence=3, verdict="done", who="ada", why="by the app"))
    ending = await lab.follow(order)
    history = b"".join(event.SerializeToString() for event in (await lab.handle(order).fetch_history()).events)
    trace = await lab.trace(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert bank.codes[0] == CODE
    assert bank.payments == ["12.50"]
    [handed_back] = [line for line in trace if line["kind"] == "take_over"]
    assert (handed_back["who"], handed_back["sequence"]) == ("ada", 3)
    assert any(request.startswith(f"POST {bank.url}/code") for request in handed_back["requests"])
    [step] = [line for line in trace if line["kind"] == "step" and line["sequence"] == 3]
    assert (step["reason"], step["who"]) == ("handed_back", "ada")
    assert address.rstrip("/").rpartition("/")[2].encode() not in history
    with pytest.raises(OSError, match="Connect"):
        await asyncio.open_connection("127.0.0.1", urlsplit(address).port)


@pytest.mark.long
async def test_a_run_is_taken_over_and_handed_back_on_its_page_of_the_dashboard(
    lab: Lab, bank: Bank, browser: Browser, pictures: Path
) -> None:
    order = order_of(bank)
    async with served(lab, pictures / "dashboard.log") as (_, address):
        page = await browser.new_page(viewport={"width": 1280, "height": 900})
        await page.goto(address)
        await page.wait_for_url(lambda url: "token" not in url)
        await start(lab.place, order)
        await page.goto(f"{page.url}run?{urlencode({'id': order.run_id})}")
        async with page.expect_popup() as popup:
            await page.get_by_role("button", name="Take over the browser").click()
        taken = await popup.value
        await taken.locator(".screencast-canvas-container canvas").wait_for(timeout=PATIENT_MS)
        await page.get_by_role("button", name="hand back").click(timeout=PATIENT_MS)
        question = await asked(lab, order, QuestionKind.TAKE_OVER)

        async with page.expect_popup() as popup:
            await page.get_by_role("button", name="Take over the browser").click(timeout=PATIENT_MS)
        taken = await popup.value
        await give_code(taken, bank)
        lent = taken.url
        await expect(page.get_by_text("hands it back", exact=False).first).to_be_visible(timeout=PATIENT_MS)
        await assert_readable(page, "lent", pictures)
        await page.get_by_label("Reason, kept with the run").fill("by the app")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="done").click()
        ending = await lab.follow(order)
    history = b"".join(event.SerializeToString() for event in (await lab.handle(order).fetch_history()).events)
    trace = await lab.trace(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert bank.payments == ["12.50"]
    assert urlsplit(lent).path.strip("/").partition("/")[0].encode() not in history
    with pytest.raises(OSError, match="Connect"):
        await asyncio.open_connection("127.0.0.1", urlsplit(lent).port)
    [step] = [line for line in trace if line["kind"] == "step" and line["sequence"] == question.sequence]
    assert (step["reason"], step["who"], step["why"]) == ("handed_back", user_name(), "by the app")
    said = [(line["who"], line["why"]) for line in trace if line["kind"] == "take_over"]
    assert said == [(user_name(), "on the dashboard")] * 2
