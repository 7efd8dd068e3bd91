"""A run of a skill is counted at its end, however it ends; a run of a task of its own is not."""

from collections.abc import Callable

import pytest
from pydantic import TypeAdapter
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.domain.plan.goal_runs import Learned, SkillUse
from replaywright.domain.run.commands import CommandOnStep, Proposal
from replaywright.domain.run.model_requests import Revision
from replaywright.domain.run.runs import RunInput
from replaywright.domain.run.scope import Mode
from replaywright.domain.run.skill_runs import NoteSkillRun
from replaywright.domain.skill.skills import SkillRef, SkillRun
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.steps import Step
from tests.workflows.scripted import Script, done, missed, scripted, start
from workflows.plugin import WorkflowPlugin

FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
HOVER = {"action": "hover", "instruction": "the account menu"}
STEP: TypeAdapter[Step] = TypeAdapter(Step)
NEXT = STEP.validate_python({"action": "click", "instruction": "the next button", "effect": "idempotent"})
SKILL = SkillRef(name="greet", version=3)
GREET = {"task": "greet", "url": "http://site/", "steps": [FILL, HOVER], "verify": [{"url_contains": "/"}]}


def run_of_greet(**fields: object) -> RunInput:
    return RunInput.model_validate({"task": GREET, **fields})


def misses_the_hover(request: CommandOnStep, _call: int) -> StepOutcome:
    return missed("no_entry") if request.context.step.action == "hover" else done(request)


async def test_a_run_that_did_all_steps_of_a_skill_verifies_it(client: Client) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of_greet(skill=SKILL, tenant="acme"))
        await handle.result()

    counted = SkillRun(run_id=handle.id, version=3, succeeded=True, steps_done=2)
    assert script.counted == [NoteSkillRun(tenant="acme", name="greet", run=counted, verified=True)]


async def test_a_run_that_failed_is_counted_with_the_step_of_the_skill_that_failed(client: Client) -> None:
    script = Script(perform=misses_the_hover)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of_greet(skill=SKILL, mode=Mode.REPLAY))
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    counted = SkillRun(
        run_id=handle.id, version=3, succeeded=False, steps_done=1, failed_step=1, reason="no_entry", change="structure"
    )
    assert [asked.run for asked in script.counted] == [counted]
    assert not script.counted[0].verified


async def test_a_run_that_cannot_be_counted_ends_as_it_ended(client: Client) -> None:
    def refused(_request: NoteSkillRun) -> None:
        raise ApplicationError("no such thing", non_retryable=True)

    script = Script(count=refused)

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of_greet(skill=SKILL))).result()

    assert result.succeeded
    assert len(script.counted) == 1


async def test_a_run_of_a_task_of_its_own_is_not_counted(client: Client) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of_greet())).result()

    assert script.counted == []


def misses_the_hover_until_next(script: Script) -> Callable[[CommandOnStep, int], StepOutcome]:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        clicked = any(asked.context.step.action == "click" for asked in script.performed[:-1])
        return done(request) if clicked or request.context.step.action != "hover" else missed("not_found")

    return perform


def mended(**fields: object) -> RunInput:
    task = {**GREET, "goal": "greet Ada", **fields}
    return run_of_greet(task=task, skill=SKILL, budget=RunLimits(plans=2), relearns=True)


async def test_a_skill_run_by_its_name_that_is_mended_on_the_way_becomes_its_next_version(client: Client) -> None:
    script = Script(propose=lambda _: Proposal(), revise=lambda _: Revision(steps=(NEXT, STEP.validate_python(HOVER))))
    script.perform = misses_the_hover_until_next(script)
    script.learn = lambda _: Learned(skill=SkillUse(name="greet", version=4, how="relearned"))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, mended())
        result = await handle.result()
        history = await handle.fetch_history()

    [learned] = script.learned
    assert (learned.replaces, learned.keeps_start) == (SKILL, True)
    assert [step.action for step in learned.task.steps] == ["fill", "click", "hover"]
    assert learned.reason.startswith("structure: step 3 (")
    assert learned.task.verify
    assert result.skill == SkillUse(name="greet", version=4, how="relearned")
    assert [noted.verified for noted in script.counted] == [False]
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


@pytest.mark.long
async def test_a_mended_skill_without_a_final_verification_stays_as_it_was(client: Client) -> None:
    script = Script(propose=lambda _: Proposal(), revise=lambda _: Revision(steps=(NEXT, STEP.validate_python(HOVER))))
    script.perform = misses_the_hover_until_next(script)

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, mended(verify=[]))).result()

    assert (result.succeeded, result.skill, script.learned) == (True, None, [])
