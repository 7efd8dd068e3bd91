"""`effect.stop`: what is told of a commit step whose run ends early, and what stays of it in the ledger."""

import pytest

from activities.proof.stopping import StopActivities
from activities.session.gate import operation_of
from replaywright.domain.run.commands import Perform
from replaywright.domain.run.commit_lines import left_at
from replaywright.domain.run.commit_requests import Stopped, StopRequest
from tests.unit.staged import CLICK_SEND, Stage, but, request, run_activity


async def armed(stage: Stage, *, left: bool) -> Perform:
    """An attempt that was begun, and of which something has `left` or not."""
    asked = request(CLICK_SEND)
    held = await stage.attachments.hold(asked.context.run.session, asked.context.run.epoch)
    await held.gate.arm(operation_of(asked.context), within_ms=1_000, hold_safe=False)
    await stage.intend(asked)
    if left:
        await held.gate.permit(operation_of(asked.context))
        async with stage.gate.changed:
            await stage.gate.tell(bytes_up=9, permitted_at=5.0)
    return asked


async def stopped(stage: Stage, asked: Perform) -> Stopped:
    now = but(asked, epoch=asked.context.run.epoch + 1)
    told = StopRequest(
        action=now.context, session_id=asked.context.run.session.session_id, begun=asked.context.run.epoch
    )
    return await run_activity(StopActivities(stage.attachments, stage.store).stop_step, told)


async def state(stage: Stage, asked: Perform) -> str:
    scope = {"tenant": asked.context.run.tenant, "lineage": asked.context.run.lineage, "run_id": "", "content_key": ""}
    return (await stage.store.look_up(**scope, fingerprint=asked.context.fingerprint)).state


@pytest.mark.parametrize(
    ("left", "answer", "kept"),
    [
        (False, Stopped(state="not_done"), "NOT_DONE"),
        (True, Stopped(state="in_doubt", left_at=left_at(5.0)), "RESOLVING"),
    ],
)
async def test_the_gate_is_cut_and_the_ledger_keeps_the_doubt_where_something_left(
    left: bool, answer: Stopped, kept: str
) -> None:
    stage = Stage()
    asked = await armed(stage, left=left)

    told = [await stopped(stage, asked), await stopped(stage, asked)]

    assert told == [answer, answer]
    assert stage.gate.current is not None
    assert stage.gate.current.phase == "cut"
    assert await state(stage, asked) == kept


async def test_without_a_browser_to_ask_an_open_intent_stays_in_doubt() -> None:
    stage = Stage()
    asked = await armed(stage, left=False)
    stage.keepers.dead.add(asked.context.run.session.session_id)

    assert await stopped(stage, asked) == Stopped(state="in_doubt")
    assert await state(stage, asked) == "RESOLVING"


async def test_one_that_is_repeated_once_the_browser_is_gone_leaves_what_was_decided() -> None:
    stage = Stage()
    asked = await armed(stage, left=False)
    first = await stopped(stage, asked)
    stage.keepers.dead.add(asked.context.run.session.session_id)

    again = await stopped(stage, asked)

    assert (first.state, again.state) == ("not_done", "not_done")
    assert await state(stage, asked) == "NOT_DONE"


async def test_one_that_is_repeated_while_the_browser_lives_opens_nothing_that_was_decided() -> None:
    stage = Stage()
    asked = await armed(stage, left=False)
    first = await stopped(stage, asked)
    stage.store.calls.clear()

    again = await stopped(stage, asked)

    assert again == first
    assert stage.store.calls == ["look_up"]
