"""Worker, keeper and browser are killed after a commit step, and no later step opens a page: the run still finishes."""

import contextlib
import os
import signal

import pytest
from pydantic import TypeAdapter

from replaywright.domain.steps import Step
from tests.e2e.lab import Lab

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
