"""Steps for each item of a list, and steps under a condition: the loop on a real Temporal server, with a script."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.domain.plan.loops import Course
from replaywright.domain.run.commands import CommandOnStep, Reapply
from replaywright.domain.run.resuming import AnsweredStep, Resume, ResumeRequest, Resumption
from replaywright.domain.run.runs import RunResult
from replaywright.domain.step.outcomes import ITEM_LEFT, ITEM_SKIPPED, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, done, lost, missed, run_of, scripted, start
from workflows.plugin import WorkflowPlugin

GOTO = {"action": "goto", "url": "http://site/"}
PAY = {"action": "click", "instruction": "the pay button of {{invoice.Number}}", "effect": "commit"}
READ = {"action": "extract", "fields": {"total": {"find": {"role": "status"}}}}
ASKED = {"exists": {"role": "dialog", "name": "Cookies"}}


def for_each(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"action": "for_each", "item": "invoice", "instruction": "the table", "steps": list(steps), **fields}


def reading(
    items: Sequence[Any],
    perform: Callable[[CommandOnStep, int], StepOutcome] = lambda request, _call: done(request),
) -> Script:
    """A page of which the for_each reads these items."""

    def answer(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.step.action == "for_each":
            return done(request, extracted={"items": list(items)})
        return perform(request, call)

    return Script(perform=answer)


ROWS = [{"Number": "I1", "State": "open"}, {"Number": "I2", "State": "open"}, {"Number": "I3", "State": "open"}]


async def test_the_steps_are_done_for_each_item_with_its_values_and_fingerprints_of_their_own(client: Client) -> None:
    script = reading(ROWS, lambda request, _: done(request, extracted={"total": request.context.sequence}))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, for_each(PAY, READ), GOTO, steps_per_history=3))
        result = await handle.result()

    inner = [request for request in script.performed if request.context.item]
    assert [request.context.values["invoice.Number"] for request in inner] == ["I1", "I1", "I2", "I2", "I3", "I3"]
    assert [request.context.sequence for request in script.performed] == list(range(9))
    assert len({request.context.fingerprint for request in script.performed}) == 9
    assert len({request.context.act for request in script.performed}) == 9
    assert {request.context.step.instruction for request in inner} == {PAY["instruction"], ""}
    assert [entry["total"] for entry in result.extracted["invoice"]] == [3, 5, 7]
    assert [entry["item"]["Number"] for entry in result.extracted["invoice"]] == ["I1", "I2", "I3"]


async def test_a_list_with_nothing_in_it_is_passed(client: Client) -> None:
    script = reading([])

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, for_each(PAY), GOTO))).result()

    assert [request.context.step.action for request in script.performed] == ["goto", "for_each", "goto"]
    assert result.totals.steps == 3


async def test_an_item_of_which_a_step_fails_is_left_and_told_and_the_next_one_is_begun(client: Client) -> None:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        return missed("gone") if request.context.values.get("invoice.Number") == "I2" else done(request)

    script = reading(ROWS, perform)
    steps = (GOTO, for_each(PAY, READ, on_failure="skip_item"))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(*steps, mode="replay"))
        result = await handle.result()
        history = await handle.fetch_history()
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert [(one.action.sequence, one.reason) for one in script.left_out] == [(4, ITEM_SKIPPED), (5, ITEM_LEFT)]
    assert [(one.item, one.number, one.value) for one in result.skipped] == [("invoice", 2, ROWS[1])]
    assert [r.context.sequence for r in script.performed if r.context.values.get("invoice.Number") == "I3"] == [6, 7]
    assert (result.totals.steps, result.totals.skipped) == (6, 2)


async def test_without_a_word_on_it_an_item_that_fails_ends_the_run(client: Client) -> None:
    script = reading(ROWS, lambda request, _: missed("gone") if request.context.item else done(request))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, for_each(PAY), mode="replay"))
        with pytest.raises(WorkflowFailureError) as raised:
            await handle.result()

    assert isinstance(raised.value.cause, ApplicationError)
    assert RunResult.model_validate(raised.value.cause.details[0]).failed_step == 2
    assert "[invoice 1/3]" in str(raised.value.cause)


async def test_a_step_whose_condition_does_not_hold_is_skipped_once_and_for_all(client: Client) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.sequence == 2 and call == 0:
            raise lost()
        return done(request)

    script = Script(perform=perform, decide=lambda request: request.sequence != 1, adopt=False)
    agree = {"action": "check", "instruction": "the box", "when": [ASKED]}

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, agree, agree, GOTO))).result()

    assert [request.sequence for request in script.asked] == [1, 2]
    # The rebuilt browser is brought there without the step that was skipped; what was decided is not asked again.
    assert [(r.context.sequence, isinstance(r, Reapply)) for r in script.performed] == [
        *((0, False), (2, False)),
        *((0, True), (2, False), (3, False)),
    ]
    assert (result.totals.steps, result.totals.skipped) == (3, 1)


async def test_a_step_is_skipped_too_if_what_it_was_for_goes_away_before_it(client: Client) -> None:
    script = Script(decide=lambda _request: len(script.asked) == 1)
    script.perform = lambda request, _: missed("not_found") if request.context.sequence == 1 else done(request)

    async with scripted(client, script) as queue:
        result = await (
            await start(client, queue, run_of(GOTO, {**PAY, "instruction": "it", "when": [ASKED]}))
        ).result()

    assert (len(script.asked), script.proposed, result.totals.skipped) == (2, [], 1)


async def test_a_resumed_run_goes_on_at_the_item_it_was_at_and_leaves_what_was_left(client: Client) -> None:
    def resume(request: ResumeRequest) -> Resumption:
        """The ledger has the list, the first item, and of the second one the step that failed."""
        course, answered = Course(request.plan, request.values), []
        for at in range(5):
            reason = ITEM_SKIPPED if at == 4 else ""
            items = {"items": ROWS} if at == 1 else {}
            outcome = StepOutcome(status=Status.DONE, effect=Effect.READ, reason=reason, extracted=items)
            course = course.after(at, outcome)
            answered.append(AnsweredStep(fingerprint=str(at), outcome=outcome))
        return Resumption(answered=tuple(answered), epoch=7)

    script = Script(resume=resume)
    steps = (GOTO, for_each(PAY, READ, on_failure="skip_item"))
    run = run_of(*steps, lineage="r1", resume=Resume(of="r1", answered=5))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run)).result()

    assert [one.action.sequence for one in script.left_out] == [5]
    assert [
        (r.context.sequence, r.context.values["invoice.Number"]) for r in script.performed if not isinstance(r, Reapply)
    ] == [
        (6, "I3"),
        (7, "I3"),
    ]
    assert [one.number for one in result.skipped] == [2]
