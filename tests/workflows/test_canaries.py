"""A canary looks for the elements of the steps that it does not perform, and gives them nothing."""

import pytest
from pydantic import TypeAdapter
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from replaywright.domain.run.commands import CommandOnStep, Perform
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.skill.check_tasks import LaterStep
from replaywright.domain.step.outcomes import Lookup, StepOutcome
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


async def ran(client: Client, script: Script) -> RunResult:
    task = {
        "task": "greet",
        "url": "http://site/",
        "steps": [{"action": "fill", "instruction": "name", "value": "Ada"}],
    }
    run = RunInput.model_validate({"task": task, "mode": Mode.REPLAY, "is_canary": True})
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


def given_looks(request: CommandOnStep) -> bool:
    return isinstance(request, Perform) and request.looks
