"""A run that is cancelled inside its send step sends nothing once that is said, and says what was sent."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from replaywright.cli.people.updates import require_going
from replaywright.cli.runs.resume import Wish, planned
from replaywright.errors import InputInvalid
from replaywright.stack import Child
from tests.e2e.lab import Lab, until
from tests.e2e.notes import NEXT, SAVE, order_of_note
from tests.e2e.plain_site import Answer, Asked, serving

pytestmark = pytest.mark.slow

SEND = 2
_PAGE = """<!doctype html><title>Notes</title><label>Note <input id=field></label><button id=button>Save</button>
<p id=said role=status></p><script>
const field = document.getElementById('field'), said = document.getElementById('said');
const store = () => fetch('/notes', {method: 'POST', body: JSON.stringify({note: field.value})})
    .then(() => said.textContent = 'Stored');
document.getElementById('button').onclick = store;
</script>"""


@dataclass
class Notes:
    """The site while it is served; it stores at once, and answers when it is `free` to."""

    url: str = ""
    stored: list[str] = field(default_factory=list)
    free: threading.Event = field(default_factory=threading.Event)


@contextmanager
def served() -> Iterator[Notes]:
    """The site on a free port of this machine."""
    site = Notes()
    site.free.set()

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer(_PAGE)
        site.stored.append(json.loads(asked.body)["note"])
        site.free.wait()
        return Answer("stored")

    with serving(answer) as url:
        site.url = f"{url}/"
        try:
            yield site
        finally:
            site.free.set()


@contextmanager
def killed_at_the_end(worker: Child) -> Iterator[None]:
    """Kill a worker that another has taken over from, whatever comes of the test: it would serve the next one, too."""
    try:
        yield
    finally:
        os.killpg(worker.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the tasks declare their elements."""
    return bare_lab


@pytest.mark.long
@pytest.mark.parametrize("point", ["held", "dispatched"])
async def test_what_a_worker_held_that_wakes_up_after_the_run_was_cancelled_is_not_sent(lab: Lab, point: str) -> None:
    await lab.served()
    zombie = lab.stage.worker
    with served() as site, killed_at_the_end(zombie):
        order = order_of_note(site.url, point, SAVE, NEXT)
        await lab.frozen_at(zombie, point, SEND, order)
        os.killpg(zombie.pid, signal.SIGSTOP)
        await lab.stage.start_worker()
        await lab.handle(order).cancel()
        ending = await lab.follow(order)
        lab.thaw(zombie)
        zombie_log = lab.stage.worker_logs[-2]
        await until("the one that woke up has given up", lambda: "as failed" in zombie_log.read_text())
        found = await planned(lab.place, Wish(order.run_id))

        assert (ending.status, ending.result.message) == ("cancelled", "the run was cancelled; step 3 was not sent")
        assert [found.how(step) for step in range(3)] == ["ledger", "ledger", "perform"]
        assert site.stored == []


async def test_a_run_that_is_cancelled_while_its_request_is_held_sends_it_or_says_that_it_did_not(lab: Lab) -> None:
    await lab.served()
    earlier = {one.session_id for one in lab.sessions()}
    with served() as site:
        order = order_of_note(site.url, "race", SAVE, NEXT)
        await lab.frozen_at(lab.stage.worker, "held", SEND, order)
        await lab.handle(order).cancel()
        lab.thaw(lab.stage.worker)
        ending = await lab.follow(order)
        stored = list(site.stored)
        await until("its keeper is gone", lambda: earlier.issuperset(one.session_id for one in lab.sessions()))

        assert ending.status == "cancelled"
        [line] = ending.result.commits
        assert (line.step, line.state) == (SEND, "done" if stored else "not_done")
        assert site.stored == stored


@pytest.mark.long
async def test_a_run_that_is_cancelled_after_its_request_left_says_that_it_was_sent(lab: Lab) -> None:
    await lab.served()
    with served() as site:
        order = order_of_note(site.url, "answered", SAVE, NEXT)
        await lab.frozen_at(lab.stage.worker, "permitted", SEND, order)
        await until("the site has it", lambda: site.stored == ["answered"])
        await lab.handle(order).cancel()
        lab.thaw(lab.stage.worker)
        ending = await lab.follow(order)

        assert (ending.status, ending.result.message) == ("cancelled", "the run was cancelled; step 3 was sent")


@pytest.mark.parametrize("is_killed", [pytest.param(False, marks=pytest.mark.long), True])
async def test_a_run_that_is_cancelled_before_its_request_was_answered_is_in_doubt_and_stays_so_for_resume(
    lab: Lab, *, is_killed: bool
) -> None:
    await lab.served()
    with served() as site:
        site.free.clear()
        order = order_of_note(site.url, f"silent {is_killed}", SAVE, NEXT)
        await lab.frozen_at(lab.stage.worker, "permitted", SEND, order)
        await until("the site has it", lambda: len(site.stored) == 1)
        await lab.handle(order).cancel()
        if is_killed:
            await lab.replace_worker()
        else:
            lab.thaw(lab.stage.worker)
        ending = await lab.follow(order)
        found = await planned(lab.place, Wish(order.run_id))

        assert ending.status == "cancelled"
        [line] = ending.result.commits
        assert (line.step, line.state, line.left_at is not None) == (SEND, "in_doubt", True)
        assert "step 3 is in doubt: it left at " in ending.result.message
        assert [found.how(step) for step in range(3)] == ["ledger", "ledger", "doubt"]
        assert len(site.stored) == 1


@pytest.mark.long
async def test_a_resume_whose_worker_is_killed_while_it_asks_the_ledger_goes_on(lab: Lab) -> None:
    await lab.served()
    with served() as site:
        order = order_of_note(site.url, "resumed", SAVE, NEXT)
        await lab.frozen_at(lab.stage.worker, "located", SEND, order)
        await lab.handle(order).terminate("by the test")
        await lab.replace_worker()
        found = await planned(lab.place, Wish(order.run_id))
        await lab.frozen(lab.stage.worker, "answering", found.order)
        await lab.replace_worker()
        ending = await lab.follow(found.order)

        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
        assert site.stored == ["resumed"]
        with pytest.raises(InputInvalid, match=r"ended as done at .*: nothing to cancel; step 3 was sent"):
            await require_going(lab.place, found.order.run_id, "cancel")
