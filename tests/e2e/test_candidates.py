"""What a run found out that was never verified: the next run tries it once, and pays no model for it again."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.scope import Mode
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.task.tasks import parse_task
from tests.e2e.lab import Lab, until
from tests.e2e.plain_site import Answer, Asked, serving

pytestmark = pytest.mark.slow

PAGE = """<!doctype html><title>Guests</title>
<label>Name <input id=name></label> <button id=add>Add</button> <button id=finish>Finish</button>
<p id=said role=status></p><script>
const said = document.getElementById('said'), tell = text => said.textContent += text;
document.getElementById('add').onclick = () => { %s };
document.getElementById('finish').onclick = () => { %s };
</script>"""
ADDS = "tell('Added ' + document.getElementById('name').value + '. ')"
POSTS = (
    "fetch('/guests', {method: 'POST', body: document.getElementById('name').value}).then(() => tell('Added Ada. '))"
)
FINISHES = "tell('Finished.')"
ADD_AT = 2
"""Index of the step that adds."""
FILL: Mapping[str, Any] = {"action": "fill", "instruction": "the name field", "value": "Ada"}
ADD: Mapping[str, Any] = {
    "action": "click",
    "instruction": "the add button",
    "expect": [{"text_contains": "Added Ada"}],
    "timeout_ms": 4_000,
}
FINISH: Mapping[str, Any] = {
    "action": "click",
    "instruction": "the finish button",
    "effect": "read",
    "expect": [{"text_contains": "Finished"}],
    "timeout_ms": 4_000,
}


@dataclass
class Guests:
    """The site while it is served."""

    url: str = ""
    adds: str = ADDS
    finishes: str = ""
    """Scripts of its buttons; the empty one does nothing."""
    body: str = PAGE
    stored: list[str] = field(default_factory=list)


@contextmanager
def served() -> Iterator[Guests]:
    """The site on a free port of this machine. Its last button does nothing."""
    site = Guests()

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            site.stored.append(asked.body)
            return Answer("stored")
        return Answer(site.body % (site.adds, site.finishes))

    with serving(answer) as site.url:
        yield site


def order_of(site: Guests, steps: Sequence[Mapping[str, Any]] = (FILL, ADD, FINISH), **fields: Any) -> Order:
    verify = [{"text_contains": "Finished"}]
    task = parse_task({"task": "guests", "url": site.url, "steps": list(steps), "verify": verify}, "test")
    return Order(task, {}, new_run_id(task, {}), **fields)


async def entries(lab: Lab) -> list[ActionCacheEntry]:
    """All versions of all that is recorded, oldest first."""
    client = open_redis(lab.place.settings.redis_url or "")
    store, tenant = RedisStepStore(client), lab.place.settings.tenant
    try:
        keys = [info.content_key for info in await store.entries(tenant=tenant)]
        return [version for key in keys for version in await store.versions(tenant=tenant, content_key=key)]
    finally:
        await client.aclose()


def calls(ending: Ending) -> int:
    """Questions that the run has asked models."""
    return ending.result.totals.usage.calls


def _by(lookup: Mapping[str, Any]) -> str:
    return "candidate" if lookup.get("candidateOf") else "model" if lookup.get("fromModel") else ""


async def how(lab: Lab, order: Order) -> list[str]:
    """Who named the elements of the steps that were done, by the run's trace."""
    lines = [line for line in await lab.trace(order) if line["kind"] == "step" and line["status"] == "done"]
    return [_by(line["lookup"]) for line in lines if not line["title"].startswith("goto")]


async def test_the_next_run_pays_nothing_for_what_a_failed_run_found_out(lab: Lab) -> None:
    lab = lab.apart()
    with served() as site:
        failed = await lab.run(order_of(site))
        site.finishes = FINISHES
        second = order_of(site)
        done = await lab.run(second)
        third = await lab.run(order_of(site))

    assert (failed.status, failed.result.failed_step, calls(failed)) == ("failed", 3, 2)
    # What was found with the step that failed is not kept: its own result spoke against it.
    assert (done.status, calls(done)) == ("done", 1)
    assert (done.result.totals.hits, done.result.totals.learned) == (2, 1)
    assert await how(lab, second) == ["candidate", "candidate", "model"]
    assert (third.status, calls(third), third.result.totals.hits) == ("done", 0, 3)


@pytest.mark.long
async def test_the_next_run_pays_nothing_for_what_a_cancelled_run_found_out(lab: Lab) -> None:
    lab = lab.apart()
    with served() as site:
        cancelled = order_of(site, (FILL, ADD, {**FINISH, "timeout_ms": 60_000}))
        await start(lab.place, cancelled)

        async def is_at_the_last_step() -> bool:
            return (await lab.progress(cancelled)).step == 3

        await until("the run is at its last step", is_at_the_last_step)
        await lab.handle(cancelled).cancel()
        assert (await lab.follow(cancelled)).status == "cancelled"
        site.finishes = FINISHES
        second = order_of(site)
        done = await lab.run(second)

    assert (done.status, calls(done)) == ("done", 1)
    assert await how(lab, second) == ["candidate", "candidate", "model"]


async def presses(lab: Lab, order: Order) -> list[tuple[str, str]]:
    """How the element of the step that adds was found, and what came of it, for each attempt."""
    steps = [line for line in await lab.trace(order) if line["kind"] == "step" and line["sequence"] == ADD_AT]
    return [(_by(line["lookup"]), line["status"]) for line in steps]


@pytest.mark.long
async def test_what_a_candidate_would_send_needs_the_leave_that_a_models_choice_needs(lab: Lab) -> None:
    lab = lab.apart()
    press = {**ADD, "instruction": "the submit button"}
    with served() as site:
        site.body = PAGE.replace(">Add<", ">Send<")
        site.adds = POSTS
        await lab.run(order_of(site, (FILL, press, FINISH)))
        assert (len(lab.asked), site.stored) == (1, ["Ada"])
        lab.approves = False
        second = order_of(site, (FILL, press, FINISH))
        ending = await lab.run(second)

        assert ending.status == "waiting"
        assert ending.progress is not None
        assert ending.progress.question is not None
        assert ending.progress.question.kind == "consequence"
        assert (calls(ending), site.stored) == (0, ["Ada"])
        assert await presses(lab, second) == [("", "missed"), ("candidate", "refused")]
        await lab.handle(second).cancel()
        await lab.follow(second)


TWICE = """<!doctype html><title>Parties</title>
<main id=form><section><button data-testid=buyer id=buyer>Add</button></section></main>
<p id=said role=status>So far: </p><script>
buyer.onclick = () => {
    said.textContent += 'a buyer, '; buyer.textContent = 'Add more buyers';
    if (!document.getElementById('seller')) form.insertAdjacentHTML('beforeend',
        '<section><h2>Sellers</h2><div><button data-testid=seller id=seller>Add</button></div></section>');
    seller.onclick = () => { said.textContent += 'a seller, '; };
};
</script>"""


def adding(site_url: str) -> Order:
    """A task in which the same words mean two buttons, the second of which is there once the first was pressed."""
    press = {"action": "click", "instruction": "the add button", "effect": "read"}
    steps = [{**press, "expect": [{"text_contains": text}]} for text in ("a buyer", "a seller")]
    verify = [{"text_contains": "far: a buyer, a seller,"}]
    task = parse_task({"task": "parties", "url": site_url, "steps": steps, "verify": verify}, "test")
    return Order(task, {}, new_run_id(task, {}))


async def test_two_equal_steps_of_a_task_have_a_recording_each(lab: Lab) -> None:
    lab = lab.apart()
    with serving(lambda _asked: Answer(TWICE)) as url:
        learned = await lab.run(adding(url))
        replayed = await lab.run(adding(url))

    assert (learned.status, calls(learned), learned.result.totals.fallbacks) == ("done", 2, 0)
    totals = replayed.result.totals
    assert (replayed.status, calls(replayed), totals.hits, totals.heals) == ("done", 0, 2, 0)
    versions = [version for version in await entries(lab) if version.owner]
    assert sorted(version.attributes["data-testid"] for version in versions) == ["buyer", "seller"]


@pytest.mark.long
async def test_modes_learn_and_replay_try_no_candidate(lab: Lab) -> None:
    lab = lab.apart()
    with served() as site:
        await lab.run(order_of(site))
        site.finishes = FINISHES
        replayed = await lab.run(order_of(site, mode=Mode.REPLAY))
        learned = await lab.run(order_of(site, mode=Mode.LEARN))

    assert (replayed.status, replayed.result.failed_step, calls(replayed)) == ("failed", 1, 0)
    assert (learned.status, calls(learned)) == ("done", 2)
