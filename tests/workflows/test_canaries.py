"""A canary looks for the elements of the steps that it does not perform, and gives them nothing."""

import pytest
from pydantic import TypeAdapter
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from replaywright.domain.run.commands import CommandOnStep, Perform, Reapply
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.session.sessions import HeldBack
from replaywright.domain.skill.check_tasks import LaterStep
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.steps import Step
from tests.workflows.scripted import Script, done, missed, scripted, start

STEP: TypeAdapter[Step] = TypeAdapter(Step)


def looks() -> tuple[LaterStep, ...]:
    steps = [
        {"action": "click", "instruction": "send", "effect": "read"},
        {"action": "fill", "instruction": "the note", "value": "x"},
        {"action": "fill", "instruction": "the note of {{row}}", "value": "x"},
        {"action": "click", "instruction": "close"},
    ]
    return tuple(
        LaterStep(step=STEP.validate_python(step), occurrence=1, number=at + 3, is_next=at == 0)
        for at, step in enumerate(steps)
    )


async def ran(client: Client, script: Script, *, rehearses: bool = False) -> RunResult:
    task = {
        "task": "greet",
        "url": "http://site/",
        "steps": [{"action": "fill", "instruction": "name", "value": "Ada"}],
    }
    asked = {"task": task, "mode": Mode.REPLAY, "is_canary": True, "rehearses": rehearses}
    run = RunInput.model_validate(asked)
    async with scripted(client, script) as queue:
        return await (await start(client, queue, run.model_copy(update={"looks": looks()}))).result()


async def test_later_steps_that_are_there_are_told_and_the_others_are_named(client: Client) -> None:
    asked: list[tuple[str, bool]] = []

    def seen(request: CommandOnStep, _call: int) -> StepOutcome:
        assert isinstance(request, Perform)
        asked.append((request.context.step.instruction, request.looks))
        if request.context.step.instruction == "the note":
            return missed("not_found")
        found = Lookup(hit=True, healed=request.looks, entry_version=1)
        return done(request, lookup=found)

    result = await ran(client, Script(perform=seen))

    assert asked == [
        ("", False),
        ("name", False),
        ("send", True),
        ("the note", True),
        ("close", True),
    ]
    assert result.succeeded
    assert (result.totals.heals, result.commits) == (1, ())
    assert [line.partition(": ")[2] for line in result.warnings] == [
        "fill the note = x; fill the note of {{row}} = x",
        "click close",
    ]


async def test_a_canary_fails_where_the_step_that_comes_next_has_no_element(client: Client) -> None:
    script = Script(perform=lambda request, _: missed("disagrees") if given_looks(request) else done(request))

    with pytest.raises(WorkflowFailureError) as failed:
        await ran(client, script)

    assert isinstance(failed.value.cause, ApplicationError)
    result = RunResult.model_validate(failed.value.cause.details[0])
    assert (result.reason, result.failed_step) == ("disagrees", 2)
    assert "click send" in result.message


async def test_what_comes_of_a_rehearsed_step_is_looked_at_and_counts_where_it_has_changed(client: Client) -> None:
    given: list[str] = []

    def seen(request: CommandOnStep, _call: int) -> StepOutcome:
        instruction = request.context.step.instruction
        if isinstance(request, Reapply):
            given.append(instruction)
            return done(request).model_copy(update={"status": Status.UNMET, "reason": "text_missing"})
        if instruction == "the note" and not given:
            return missed("not_found")
        if instruction == "close":
            return missed("not_found")
        return done(request, lookup=Lookup(hit=True, healed=instruction == "the note", entry_version=1))

    result = await ran(client, Script(perform=seen), rehearses=True)

    assert given == ["send"]
    assert result.succeeded
    assert (result.totals.heals, result.commits) == (1, ())
    assert [line.partition(": ")[2] for line in result.warnings] == ["fill the note of {{row}} = x; click close"]


async def test_what_cannot_be_held_back_is_not_rehearsed(client: Client) -> None:
    given: list[CommandOnStep] = []

    def seen(request: CommandOnStep, _call: int) -> StepOutcome:
        given.extend([request] if isinstance(request, Reapply) else [])
        return missed("not_found") if request.context.step.instruction == "close" else done(request)

    script = Script(perform=seen, held_back=HeldBack(why_not="a WebSocket is open"))

    result = await ran(client, script, rehearses=True)

    assert given == []
    assert result.succeeded
    assert result.warnings[0] == "not rehearsed: click send: a WebSocket is open"


def given_looks(request: CommandOnStep) -> bool:
    return isinstance(request, Perform) and request.looks
