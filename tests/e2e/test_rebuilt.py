"""Another browser is brought to where the run was: after all were killed, or when it is worn."""

import contextlib
import os
import signal

import httpx
import pytest
from pydantic import TypeAdapter

from replaywright.cli.runs.starting import start
from replaywright.domain.task.steps import Step
from replaywright.keeper.host.client import list_live
from tests.e2e.lab import Lab, runs_with, until

pytestmark = pytest.mark.long


async def test_a_run_goes_on_from_the_checkpoint_after_its_commit(lab: Lab) -> None:
    after = {"action": "wait_for", "expect": [{"text_contains": "Message sent to {{to}}"}]}
    steps = (*lab.task.steps, TypeAdapter[Step](Step).validate_python(after))
    order = lab.order(lab.task.model_copy(update={"steps": steps}))
    await lab.frozen_at(lab.stage.worker, "start", len(lab.task.steps), order)
    session = await lab.session()
    assert session.chromium is not None
    for process in (session.keeper, session.chromium):
        with contextlib.suppress(ProcessLookupError):  # without its keeper, Chromium ends by itself
            os.killpg(process.pid, signal.SIGKILL)
    await lab.replace_worker()

    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert ending.result.totals.recoveries == 1
    lab.assert_one_right_mail(order)
    assert await lab.audited(order) == ()


async def test_a_run_whose_browsers_are_always_too_large_is_exchanged_from_one_to_the_next_and_sends_once(
    lab: Lab,
) -> None:
    slow = {"ms": 400}  # a run of less than a second has no checkpoint but that of its commit
    async with httpx.AsyncClient(trust_env=False) as client:
        (await client.post(f"{lab.stage.webmail}/__admin__/latency", json=slow)).raise_for_status()
    order = lab.order()
    settings = lab.place.settings

    with runs_with(recycle_above_mb=1):
        await start(lab.place, order)
    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    exchanged = [line for line in await lab.trace(order) if line["kind"] == "browser"]
    assert [line["kept"] for line in exchanged] == [""] * len(exchanged) != []
    assert all("MiB of memory" in line["why"] for line in exchanged)
    assert await lab.performed(order) == dict.fromkeys(range(len(lab.task.steps)), 1)
    assert ending.result.totals.recoveries == 0
    lab.assert_one_right_mail(order)
    assert await lab.audited(order) == ()
    await until("no browser is left", lambda: list_live(settings.home / "sessions") == [])
