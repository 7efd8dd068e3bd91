"""What people see of a run in Temporal's own UI, and what its queries answer, on a real Temporal server."""

import asyncio
import json

import pytest
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.run.views import PlanView, RunFailure, RunTrace
from replaywright.domain.step.outcomes import Lookup, StepOutcome
from tests.workflows.scripted import Script, after_goto, done, given, missed, run_of, scripted, start, waiting
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
NOTE = {"action": "fill", "instruction": "the note", "target": {"label": "Note"}, "value": "x"}

Handle = WorkflowHandle[BrowserTask, RunResult]


@pytest.fixture
async def client(temporal_env: WorkflowEnvironment) -> Client:
    address = temporal_env.client.service_client.config.target_host
    return await Client.connect(address, plugins=[WorkflowPlugin()])


async def details(handle: Handle) -> str:
    """What the UI shows under "Current Details"."""
    metadata: WorkflowMetadata = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    return metadata.current_details


async def summaries(handle: Handle) -> dict[str, str]:
    """Of every activity, by the beginning of its id."""
    found = {}
    async for event in handle.fetch_history_events():
        name = event.activity_task_scheduled_event_attributes.activity_id
        if name:
            found[name] = json.loads(event.user_metadata.summary.data)
    return found


def replaying(request: CommandOnStep, _call: int) -> StepOutcome:
    """Each step tells what is recorded of the next one's element."""
    ahead = (
        'button "Send"'
        if given(request, "next_step") is not None and given(request, "next_step").action == "click"
        else ""
    )
    return done(request, lookup=Lookup(hit=True, tier="role_name", entry_version=1), ahead=ahead)


async def test_the_plan_and_the_trace_of_a_run_can_be_asked_for(client: Client) -> None:
    async with scripted(client, Script(perform=replaying)) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND))
        await handle.result()
        plan, trace = await handle.query(BrowserTask.plan), await handle.query(BrowserTask.trace)

    assert isinstance(plan, PlanView)
    assert isinstance(trace, RunTrace)
    assert [(step.title, step.state, step.how) for step in plan.steps] == [
        ("goto http://site/", "done", "replayed · role name"),
        ("fill the name field = Ada", "done", "replayed · role name"),
        ("click the send button", "done", "replayed · role name"),
    ]
    assert [step.fingerprint for step in plan.steps] == [line.fingerprint for line in trace.lines]
    assert all(len(step.fingerprint) == 64 for step in plan.steps)
    assert (trace.run_id, trace.status, trace.dropped) == (handle.id, "done", 0)
    assert [line.number for line in trace.lines] == [1, 2, 3]
    assert all(line.at is not None for line in trace.lines)


async def test_while_a_run_waits_the_plan_says_at_which_step_and_the_ui_how_to_answer(client: Client) -> None:
    script = Script(perform=after_goto(lambda asked, call: missed("not_found") if not call else done(asked)))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND, on_failure="ask", mode="replay"))
        question = await waiting(handle)
        plan, shown = await handle.query(BrowserTask.plan), await details(handle)
        await handle.execute_update("resolve_step", PersonVerdict(sequence=question.sequence, verdict="done"))
        await waiting(handle, 2)
        await handle.execute_update("resolve_step", PersonVerdict(sequence=2, verdict="done"))
        await handle.result()
        after = await details(handle)

    assert [step.state for step in plan.steps] == ["done", "waiting", "planned"]
    assert plan.steps[2].fingerprint == ""
    assert "### Waiting for a person · step 2 of 3" in shown
    assert f"`replaywright answer {handle.id} retry|done|skip|abandon`" in shown
    assert "### Done · 3 steps" in after
    assert "Answer:" not in after


async def test_activities_say_what_they_do_and_how_the_element_will_be_found(client: Client) -> None:
    script = Script(
        perform=lambda asked, call: (
            missed("no_entry") if asked.context.sequence == 3 and not call else replaying(asked, call)
        )
    )

    async with scripted(client, script) as queue:
        replayed = await start(client, queue, run_of(GOTO, FILL, SEND, FILL, NOTE))
        await replayed.result()
        learned = await start(client, queue, run_of(GOTO, FILL, mode=Mode.LEARN))
        await learned.result()

    said = {name: text for name, text in (await summaries(replayed)).items() if name[:4].isdigit()}
    assert list(said.values()) == [
        "0001 goto http\u2060://site/",  # broken, so that the UI makes no link of it
        "0002 fill the name field = Ada",
        '0003 click the send button · replays button "Send"',
        "0004 fill the name field = Ada",
        "0004 where is 'the name field'? · after: missed: no entry",
        '0004 fill the name field = Ada · button "Send", named by the model · after: missed: no entry',
        "0005 fill the note = x · as declared",
    ]
    assert all(summary for summary in (await summaries(replayed)).values())
    assert "0002 fill the name field = Ada · to be learned" in (await summaries(learned)).values()


async def test_a_failed_run_carries_step_reason_and_evidence_as_a_typed_detail(client: Client) -> None:
    unmet = PredicateResult(passed=False, reason="text_missing", details={"expected": "Sent"})
    evidence = {"screenshot": "a" * 64, "expectations": "b" * 64}

    def perform(asked: CommandOnStep, _call: int) -> StepOutcome:
        told = {
            "predicates": (unmet,),
            "artifacts": evidence,
            "url": "http://site/compose",
            "fingerprint": asked.context.fingerprint,
        }
        return missed("not_found").model_copy(update=told) if asked.context.sequence else done(asked)

    async with scripted(client, Script(perform=perform)) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, mode="replay"))
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()
        plan, shown = await handle.query(BrowserTask.plan), await details(handle)

    error = failure.value.cause
    assert isinstance(error, ApplicationError)
    assert error.type == "TaskFailed"
    told = RunFailure.model_validate(error.details[1])
    assert (told.step, told.title, told.reason) == (2, "fill the name field = Ada", "not_found")
    assert (told.url, told.unmet, told.evidence) == ("http://site/compose", (unmet,), evidence)
    assert told.fingerprint == plan.steps[1].fingerprint
    assert told.commands[0] == f"replaywright show {handle.id} --step 2"
    assert [step.state for step in plan.steps] == ["done", "failed"]
    assert "### Failed · step 2 of 2" in shown
    assert f"`replaywright resume {handle.id}`" in shown


async def test_a_long_plan_is_answered_in_part(client: Client) -> None:
    begun = asyncio.Event()

    async def performing(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.sequence == 2:
            begun.set()
        return done(request)

    async with scripted(client, Script(performing=performing)) as queue:
        handle = await start(client, queue, run_of(GOTO, *[FILL] * 650, steps_per_history=700))
        await begun.wait()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        plan, shown = await handle.query(BrowserTask.plan), await details(handle)

    assert (plan.total, len(plan.steps)) == (651, 500)
    assert plan.position in {step.sequence for step in plan.steps}
    assert "steps more" in shown
    assert "### Cancelled" in shown
    assert len(shown) < 8_000
