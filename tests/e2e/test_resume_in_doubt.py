"""Going on after a run that was ended in the middle of its send step: what is in doubt is decided first."""

import pytest

from replaywright.cli.resume import Wish, planned
from replaywright.cli.run import start
from replaywright.domain.runs import Mode
from tests.e2e.lab import Lab

SEND = 9

pytestmark = [pytest.mark.slow, pytest.mark.long]


async def test_a_send_step_whose_bytes_were_held_when_its_run_was_terminated_is_asked_about_and_sent_once(
    lab: Lab,
) -> None:
    order = lab.order(mode=Mode.REPLAY)
    await lab.frozen_at(lab.stage.worker, "dispatched", SEND, order)
    await lab.handle(order).terminate("by the test")
    await lab.replace_worker()

    found = await planned(lab.place, Wish(order.run_id))
    await start(lab.place, found.order)
    waiting = await lab.follow(found.order)
    sent_meanwhile = lab.mails(order)
    ending = await lab.with_person(found.order)

    assert [found.how(step) for step in range(10)] == ["ledger"] * SEND + ["doubt"]
    assert waiting.status == "waiting"
    assert waiting.progress is not None
    assert (waiting.progress.step, waiting.progress.answers) == (SEND, ("done", "not_done", "abandon"))
    assert sent_meanwhile == []
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
    assert (ending.result.totals.from_ledger, ending.result.totals.usage.calls) == (SEND, 0)
