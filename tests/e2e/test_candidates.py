"""What a run found out that was never verified: the next run tries it, and pays no model for it again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.task.tasks import parse_task
from tests.e2e.lab import Lab, until
from tests.e2e.plain_site import Answer, Asked, serving

pytestmark = pytest.mark.slow

PAGE = """<!doctype html><title>Guests</title>
<label>Name <input id=name></label> <button id=add>Add</button> <button id=finish>Finish</button>
<p id=said role=status></p><script>
document.getElementById('add').onclick = () => said.textContent += 'Added ' + document.getElementById('name').value + '. ';
document.getElementById('finish').onclick = () => { %s };
</script>"""


@dataclass
class Guests:
    """The site while it is served."""

    url: str = ""
    is_broken: bool = True
    """True: its last button does nothing."""


@contextmanager
def served() -> Iterator[Guests]:
    """The site on a free port of this machine."""
    site = Guests()

    def answer(_asked: Asked) -> Answer:
        return Answer(PAGE % ("" if site.is_broken else "said.textContent += 'Finished.'"))

    with serving(answer) as site.url:
        yield site


def order_of(site: Guests, **fields: Any) -> Order:
    task = parse_task(
        {
            "task": "guests",
            "url": site.url,
            "steps": [
                {"action": "fill", "instruction": "the name field", "value": "Ada"},
                {
                    "action": "click",
                    "instruction": "the add button",
                    "effect": "read",
                    "expect": [{"text_contains": "Added Ada"}],
                },
                {
                    "action": "click",
                    "instruction": "the finish button",
                    "effect": "read",
                    "expect": [{"text_contains": "Finished"}],
                    "timeout_ms": 4000,
                },
            ],
            "verify": [{"text_contains": "Finished"}],
        }
        | fields,
        "test",
    )
    return Order(task, {}, new_run_id(task, {}))


async def entries(lab: Lab) -> dict[str, list[ActionCacheEntry]]:
    """All versions of all that is recorded, by key."""
    client = open_redis(lab.place.settings.redis_url or "")
    store, tenant = RedisStepStore(client), lab.place.settings.tenant
    try:
        keys = [info.content_key for info in await store.entries(tenant=tenant)]
        return {key: await store.versions(tenant=tenant, content_key=key) for key in keys}
    finally:
        await client.aclose()


def calls(ending: Ending) -> int:
    """Questions that the run has asked models."""
    return ending.result.totals.usage.calls


async def test_the_next_run_pays_nothing_for_what_a_failed_run_found_out(lab: Lab) -> None:
    lab = lab.apart()
    with served() as site:
        failed = await lab.run(order_of(site))
        print("FAILED", failed.status, calls(failed), failed.result.message)
        site.is_broken = False
        second = await lab.run(order_of(site))
        print("SECOND", second.status, calls(second), second.result.totals)
        third = await lab.run(order_of(site))
        print("THIRD", third.status, calls(third))


async def test_cancelled(lab: Lab) -> None:
    lab = lab.apart()
    with served() as site:
        order = order_of(site)
        from replaywright.cli.runs.starting import start
        slow = order_of(site)
        steps = slow.task.model_dump(mode="json", exclude_unset=True)
        steps["steps"][2]["timeout_ms"] = 60000
        task = parse_task(steps, "test")
        order = Order(task, {}, new_run_id(task, {}))
        await start(lab.place, order)
        async def third() -> bool:
            return (await lab.progress(order)).step == 3
        await until("third", third)
        await lab.handle(order).cancel()
        ending = await lab.follow(order)
        print("CANCELLED", ending.status)
        site.is_broken = False
        second = await lab.run(order_of(site))
        print("SECOND", second.status, calls(second), second.result.totals)


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
    data = {"task": "parties", "url": site_url, "steps": steps, "verify": [{"text_contains": "far: a buyer, a seller,"}]}
    task = parse_task(data, "test")
    return Order(task, {}, new_run_id(task, {}))


async def test_two_equal_steps_of_a_task_have_a_recording_each(lab: Lab) -> None:
    lab = lab.apart()
    with serving(lambda _asked: Answer(TWICE)) as url:
        learned = await lab.run(adding(url))
        replayed = await lab.run(adding(url))

    assert (learned.status, calls(learned), learned.result.totals.fallbacks) == ("done", 2, 0)
    totals = replayed.result.totals
    assert (replayed.status, calls(replayed), totals.hits, totals.heals) == ("done", 0, 2, 0)
    versions = [version for each in (await entries(lab)).values() for version in each if version.owner]
    assert sorted(version.attributes["data-testid"] for version in versions) == ["buyer", "seller"]
