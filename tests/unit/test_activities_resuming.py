"""Going on after another run: what the ledger answers, and what of its lineage is not repeated silently."""

from typing import Any

import pytest

from activities.run.resuming import Earlier, ResumeActivities, Standing, standing
from replaywright.domain.run.commands import Perform
from replaywright.domain.run.commit_requests import PersonVerdict, SettleRequest
from replaywright.domain.run.resuming import Resume, ResumeRequest, Resumption
from replaywright.domain.step.fingerprints import acts_of, begun_anew, fingerprint
from replaywright.domain.step.outcomes import DONE_BEFORE, DOUBT_BEFORE, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import Step
from replaywright.errors import Fenced, InputInvalid
from replaywright.ports.ledger import Intent, Recording
from tests.unit.staged import (
    CLICK_HELP,
    CLICK_SEND,
    COMPOSE,
    FILL_TO,
    HELP,
    SEND,
    Stage,
    but,
    request,
    run_activity,
    step,
)

PLAN = (FILL_TO, CLICK_SEND, CLICK_HELP)
VALUES = {"to": "ada@example.com"}
ACT = "act-of-send"
SCOPE: dict[str, Any] = {"tenant": "acme", "lineage": "l1"}


@pytest.fixture
def stage() -> Stage:
    return Stage()


def send(mark: str, epoch: int = 1, **fields: Any) -> Perform:
    return request(CLICK_SEND, fingerprint=mark, epoch=epoch, act=ACT, proposed=SEND, **fields)


async def recorded(stage: Stage, *outcomes: StepOutcome, epoch: int = 1) -> list[str]:
    """The steps of `PLAN` as an earlier run did them, with these outcomes; their fingerprints."""
    marks: list[str] = []
    previous = previous_outcome = ""
    for sequence, (wanted, outcome) in enumerate(zip(PLAN, outcomes, strict=False)):
        mark = fingerprint(wanted, VALUES, previous, previous_outcome)
        told = outcome.model_copy(update={"fingerprint": mark})
        await stage.store.record(
            Recording(
                run_id="r1",
                **SCOPE,
                sequence=sequence,
                epoch=epoch,
                outcome=told,
                title=f"step {sequence}",
                act=acts_of(PLAN, VALUES)[sequence],
            )
        )
        marks.append(mark)
        previous, previous_outcome = mark, told.digest
    return marks


def done(effect: Effect = Effect.IDEMPOTENT, **fields: object) -> StepOutcome:
    return StepOutcome.model_validate({"status": Status.DONE, "effect": effect, **fields})


async def found(stage: Stage, plan: tuple[Step, ...] = PLAN, **fields: Any) -> Standing:
    given: dict[str, Any] = {"plan": plan, "values": VALUES, "restarts": {}, **fields}
    return await standing(stage.store, **SCOPE, **given)


# -------------------------------------------------------------------------------------- never silently repeated


async def test_the_same_act_under_another_chain_is_not_performed(stage: Stage) -> None:
    first = await stage.perform(send("chain-1"))

    again = await stage.perform(send("chain-2", epoch=2), from_url=COMPOSE)

    assert first.status is Status.DONE
    assert (again.status, again.reason, again.earlier) == (Status.REFUSED, DONE_BEFORE, "chain-1")
    assert len(stage.inputs) == 1


async def test_the_same_act_is_done_again_when_a_person_wants_it(stage: Stage) -> None:
    await stage.perform(send("chain-1"))

    again = await stage.perform(send("chain-2", epoch=2, redo="chain-1"), from_url=COMPOSE)

    assert again.status is Status.DONE
    assert len(stage.inputs) == 2
    assert await stage.store.acts(**SCOPE) == {ACT: "chain-2"}


async def test_an_act_of_which_nobody_knows_is_not_done_over(stage: Stage) -> None:
    await stage.store.intend(Intent(**SCOPE, fingerprint="chain-1", epoch=1, attempt="an earlier run", act=ACT))

    outcome = await stage.perform(send("chain-2", epoch=2))

    assert (outcome.status, outcome.reason, outcome.earlier) == (Status.REFUSED, DOUBT_BEFORE, "chain-1")
    assert stage.inputs == []


async def test_an_act_that_came_to_nothing_is_taken_over(stage: Stage) -> None:
    earlier = {**SCOPE, "fingerprint": "chain-1"}
    await stage.store.intend(Intent(**earlier, epoch=1, attempt="an earlier run", act=ACT))
    await stage.store.fence(**earlier, epoch=2)
    await stage.store.settle(**earlier, epoch=2, state="NOT_DONE", who="the black box")

    outcome = await stage.perform(send("chain-2", epoch=3))

    assert outcome.status is Status.DONE
    assert await stage.store.acts(**SCOPE) == {ACT: "chain-2"}


async def test_an_act_that_was_reported_done_after_it_had_been_found_not_done_is_in_doubt(stage: Stage) -> None:
    earlier = {**SCOPE, "fingerprint": "chain-1"}
    await stage.store.intend(Intent(**earlier, epoch=1, attempt="an earlier run", act=ACT))
    await stage.store.fence(**earlier, epoch=2)
    await stage.store.settle(**earlier, epoch=2, state="NOT_DONE", who="the site was asked twice")
    late = done(Effect.COMMIT, fingerprint="chain-1")
    with pytest.raises(Fenced):
        await stage.store.record(Recording(run_id="r1", **SCOPE, sequence=1, epoch=1, outcome=late, title="", act=ACT))

    outcome = await stage.perform(send("chain-2", epoch=3))

    assert (outcome.status, outcome.reason, outcome.earlier) == (Status.REFUSED, DOUBT_BEFORE, "chain-1")
    assert stage.inputs == []


async def test_a_click_that_was_seen_to_change_nothing_may_be_repeated(stage: Stage) -> None:
    asked = request(CLICK_HELP, fingerprint="chain-1", act="help", proposed=HELP)
    assert (await stage.perform(asked)).effect.repeatable

    again = await stage.perform(but(asked, fingerprint="chain-2", epoch=2), from_url=COMPOSE)

    assert again.status is Status.DONE


async def test_what_a_person_takes_as_done_is_done_in_the_ledger(stage: Stage) -> None:
    await stage.perform(send("chain-1"))
    kept = PersonVerdict(sequence=1, verdict="keep", who="Ada", why="it is in Sent")
    asked = send("chain-2", epoch=2)

    await run_activity(stage.effects.settle_step, SettleRequest(action=asked.context, verdict=kept, failed=True))
    await stage.perform(but(asked, epoch=3), from_url=COMPOSE)

    assert await stage.state(asked) == "COMMITTED"
    assert len(stage.inputs) == 1


# --------------------------------------------------------------------------------------------- what it answers


async def test_the_ledger_answers_up_to_the_first_step_that_was_not_done(stage: Stage) -> None:
    marks = await recorded(stage, done(), done(Effect.COMMIT), epoch=4)

    now = await found(stage)

    assert [outcome.fingerprint for outcome in now.answered] == marks
    assert (now.last_commit, now.epoch, now.earlier) == (1, 5, ())
    assert now.fingerprint == fingerprint(CLICK_HELP, VALUES, marks[1], now.answered[1].digest)


async def test_from_the_first_changed_step_on_nothing_is_answered_and_what_was_done_after_it_is_told(
    stage: Stage,
) -> None:
    marks = await recorded(stage, done(), done(Effect.COMMIT), done())
    mended = (step("fill", "the recipient", value="{{to}}"), *PLAN[1:])

    now = await found(stage, mended)

    assert now.answered == ()
    assert now.earlier == (Earlier(1, marks[1], "step 1", is_done=True),)


async def test_what_was_done_and_is_not_asked_for_any_more_is_told_without_a_place(stage: Stage) -> None:
    marks = await recorded(stage, done(), done(Effect.COMMIT))

    now = await found(stage, (FILL_TO, step("click", "the big send button")))

    assert len(now.answered) == 1
    assert now.earlier == (Earlier(None, marks[1], "step 1", is_done=True),)


async def test_a_step_in_doubt_is_told_and_its_epoch_is_passed(stage: Stage) -> None:
    [mark] = await recorded(stage, done())
    doubtful = fingerprint(CLICK_SEND, VALUES, mark, done().digest)
    await stage.store.intend(Intent(**SCOPE, fingerprint=doubtful, epoch=7, attempt="a", act=acts_of(PLAN, VALUES)[1]))

    now = await found(stage)

    assert (now.fingerprint, now.state, now.epoch, now.earlier) == (doubtful, "INTENT", 8, ())


async def test_a_step_begun_anew_and_all_after_it_are_not_answered(stage: Stage) -> None:
    marks = await recorded(stage, done(), done(Effect.COMMIT), done())

    now = await found(stage, restarts={1: "run~2"})

    assert len(now.answered) == 1
    assert now.fingerprint == begun_anew(marks[1], "run~2")
    assert [one.sequence for one in now.earlier] == [1]


async def resumed(stage: Stage, answered: int = 0) -> Resumption:
    asked = ResumeRequest(
        run_id="r1~2",
        **SCOPE,
        task="send-mail",
        plan=PLAN,
        values=VALUES,
        resume=Resume(of="r1", answered=answered),
    )
    return await run_activity(ResumeActivities(stage.store).resume_run, asked)


async def test_each_answered_step_has_one_line_in_the_trace_of_the_new_run(stage: Stage) -> None:
    await recorded(stage, done(), done(Effect.COMMIT))

    await resumed(stage, answered=2)
    await resumed(stage, answered=2)

    lines = [line for line in await stage.lines() if line["runId"] == "r1~2"]
    assert [(line["sequence"], line["fromLedger"], line["attempt"]) for line in lines] == [
        (0, True, "resumed"),
        (1, True, "resumed"),
    ]
    assert stage.inputs == []


async def test_a_ledger_that_has_lost_records_since_the_plan_was_made_ends_the_resume(stage: Stage) -> None:
    await recorded(stage, done())

    with pytest.raises(InputInvalid, match="Redis has lost records"):
        await resumed(stage, answered=2)
