"""Steps that are not performed: by their condition, or because their item was left; what the ledger knows of it."""

from typing import Any

import pytest

from activities.step.skipping import Skipping
from replaywright.domain.run.commands import Decision, LeaveOutRequest
from replaywright.domain.step.outcomes import ITEM_LEFT, WHEN, Status
from replaywright.domain.task.actions import Effect
from replaywright.ports.ledger import Intent
from tests.unit.staged import CLICK_SEND, SEND, Stage, reapplied, request, run_activity, step

SENT_IS_SHOWN = {"text_contains": "Message sent"}
IF_SENT = step("click", "the help button", when=SENT_IS_SHOWN, target={"role": "button", "name": "Help"})
UNLESS_SENT = IF_SENT.model_copy(update={"when": step("click", "x", when={"not_": SENT_IS_SHOWN}).when})


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def decided(stage: Stage, wanted: Any) -> Decision:
    return await run_activity(
        Skipping(stage.tools.ledger, stage.secrets, stage.attachments).decide, request(wanted).context
    )


async def test_a_step_is_performed_if_its_condition_holds(stage: Stage) -> None:
    assert await decided(stage, UNLESS_SENT) == Decision(performs=True)
    assert stage.site.dispatches == []


async def test_a_step_whose_condition_does_not_hold_is_recorded_as_skipped_and_stays_so(stage: Stage) -> None:
    first = await decided(stage, IF_SENT)
    await stage.perform(request(CLICK_SEND, fingerprint="other", sequence=9, proposed=SEND))  # now it would hold
    again = await decided(stage, IF_SENT)

    assert not first.performs
    assert first.outcome is not None
    assert (first.outcome.status, first.outcome.reason, first.outcome.effect) == (Status.DONE, WHEN, Effect.READ)
    assert 'the page does not say "Message sent"' in first.outcome.message
    assert again.outcome is not None
    assert (again.performs, again.outcome.from_ledger) == (False, True)
    lines = await stage.store.trace(tenant="acme", lineage="l1")
    assert [line["reason"] for line in lines if line["sequence"] == 1] == [WHEN, WHEN]


async def test_a_step_that_was_begun_is_gone_on_with_whatever_the_page_shows_by_now(stage: Stage) -> None:
    await stage.store.intend(
        Intent(
            tenant="acme",
            lineage="l1",
            fingerprint=request(IF_SENT).context.fingerprint,
            epoch=1,
            attempt="x",
            held=None,
        )
    )

    assert (await decided(stage, IF_SENT)).performs


async def test_in_a_rebuilt_browser_a_step_is_done_again_only_if_its_condition_holds_there(stage: Stage) -> None:
    outcome = await stage.perform(reapplied(request(IF_SENT)))

    assert (outcome.status, outcome.reason) == (Status.DONE, WHEN)
    assert stage.site.dispatches == []


async def test_a_step_of_an_item_that_was_left_counts_as_done(stage: Stage) -> None:
    asked = request(CLICK_SEND, item="mail 2/3")
    skipping = Skipping(stage.tools.ledger, stage.secrets, stage.attachments)

    outcome = await run_activity(
        skipping.leave_out, LeaveOutRequest(action=asked.context, reason=ITEM_LEFT, message="its item was skipped")
    )

    assert (outcome.status, outcome.reason) == (Status.DONE, ITEM_LEFT)
    assert stage.site.dispatches == []
    assert (await stage.tools.ledger.known_of(asked.context)).outcome == outcome
