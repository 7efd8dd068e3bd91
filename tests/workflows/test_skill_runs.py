"""A run of a skill is counted at its end, however it ends; a run of a task of its own is not."""

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from replaywright.domain.outcomes import StepOutcome
from replaywright.domain.runs import ActionRequest, Mode, RunInput
from replaywright.domain.skill_runs import NoteSkillRun
from replaywright.domain.skills import SkillRef, SkillRun
from tests.workflows.scripted import Script, done, missed, scripted, start
from workflows.plugin import WorkflowPlugin

FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
HOVER = {"action": "hover", "instruction": "the account menu"}
SKILL = SkillRef(name="greet", version=3)
GREET = {"task": "greet", "url": "http://site/", "steps": [FILL, HOVER], "verify": [{"url_contains": "/"}]}


@pytest.fixture
async def client(temporal_env: WorkflowEnvironment) -> Client:
    address = temporal_env.client.service_client.config.target_host
    return await Client.connect(address, plugins=[WorkflowPlugin()])


def run_of_greet(**fields: object) -> RunInput:
    return RunInput.model_validate({"task": GREET, **fields})


def misses_the_hover(request: ActionRequest, _call: int) -> StepOutcome:
    return missed("no_entry") if request.step.action == "hover" else done(request)


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
