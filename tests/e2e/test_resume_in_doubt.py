"""Going on after a run that was ended in the middle of its send step: what is in doubt is decided first."""

import os
import signal

import pytest

from replaywright.cli.runs.resume import Wish, planned
from replaywright.domain.run.scope import Mode
from tests.e2e.lab import Lab

SEND = 9

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.mark.parametrize("point", ["intended", "dispatched", "permitted"])
async def test_a_run_that_was_terminated_inside_its_send_step_goes_on_in_the_browser_that_it_left_and_sends_once(
    lab: Lab, point: str
) -> None:
    order = lab.order(mode=Mode.REPLAY)
    await lab.frozen_at(lab.stage.worker, point, SEND, order)
    await lab.handle(order).terminate("by the test")
    await lab.replace_worker()

    found = await planned(lab.place, Wish(order.run_id))
    ending = await lab.run(found.order)

    assert [found.how(step) for step in range(10)] == ["ledger"] * SEND + ["doubt"]
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
    assert (ending.result.totals.from_ledger >= SEND, ending.result.totals.usage.calls) == (True, 0)


async def test_with_its_browser_gone_a_person_is_asked_and_the_mail_is_sent_once(lab: Lab) -> None:
    order = lab.order(mode=Mode.REPLAY)
    await lab.frozen_at(lab.stage.worker, "dispatched", SEND, order)
    session = await lab.session()
    await lab.handle(order).terminate("by the test")
    os.kill(session.keeper.pid, signal.SIGKILL)
    await lab.replace_worker()

    found = await planned(lab.place, Wish(order.run_id))
    waiting = await lab.run(found.order)
    sent_meanwhile = lab.mails(order)
    ending = await lab.with_person(found.order)

    assert waiting.status == "waiting"
    assert waiting.progress is not None
    assert (waiting.progress.step, waiting.progress.answers) == (SEND, ("done", "not_done", "retry", "abandon"))
    assert sent_meanwhile == []
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
