"""A workflow whose code fails: it stops where it is, holds up nobody else, and goes on when the code is mended."""

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import ApplicationError

from replaywright.cli.runs.follow import follow
from replaywright.cli.runs.silence import NO_WORKER, Silence
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.domain.step import fingerprints
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.steps import Step
from tests.e2e.lab import until
from tests.workflows.scripted import Script, done, run_of, scripted, start
from tests.workflows.test_browser_task import FILL, GOTO
from workflows.task import BrowserTask

POISON = {"action": "fill", "instruction": "the name field", "value": "poison"}
IMMEDIATE = 3
"""Temporal gives a workflow task that failed out twice more at once, and after that ever more slowly."""


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Today's code fails at the step `POISON`; each time is noted here."""
    tried: list[str] = []
    right = fingerprints.fingerprint

    def wrong(step: Step, *rest: object) -> str:
        if getattr(step, "value", "") == POISON["value"]:
            tried.append(step.action)
            raise RuntimeError("a bug in the workflow")
        return right(step, *rest)  # type: ignore[arg-type]  # what it was given

    monkeypatch.setattr(fingerprints, "fingerprint", wrong)
    return tried


async def failing(handle: WorkflowHandle[BrowserTask, RunResult], tries: list[str]) -> None:
    """Return when all tries that come at once have failed."""
    await until("the tries that come at once have failed", lambda: len(tries) >= IMMEDIATE)

    async def is_told() -> bool:
        return "code fails on this run (a bug in the workflow)" in await Silence(handle).why()

    await until("a user is told", is_told)


async def test_a_workflow_that_always_fails_says_so_and_holds_up_no_other_run(client: Client, tries: list[str]) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        poisoned = await start(client, queue, run_of(GOTO, POISON))
        await failing(poisoned, tries)
        others = [await start(client, queue, run_of(GOTO, FILL)) for _ in range(3)]
        results = [await other.result() for other in others]
        status = (await poisoned.describe()).status
        await poisoned.terminate("by the test")

    assert [result.succeeded for result in results] == [True] * 3
    assert status is not None
    assert status.name == "RUNNING"
    assert len(tries) == IMMEDIATE


@pytest.mark.long
async def test_it_goes_on_where_it_was_when_the_code_is_mended(
    client: Client, tries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        poisoned = await start(client, queue, run_of(GOTO, POISON))
        await failing(poisoned, tries)
        monkeypatch.undo()
        result = await poisoned.result()

    assert result.succeeded
    assert [request.context.sequence for request in script.performed] == [0, 1]
    assert len(script.opened) == 1
    assert len(tries) == IMMEDIATE


async def test_what_is_tried_in_vain_is_told_to_whoever_follows_the_run(client: Client) -> None:
    is_mended = False
    notes: list[str] = []

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if not is_mended:
            raise ApplicationError("Redis does not answer", type="StoreUnavailable")
        return done(request)

    def show(_progress: Progress | None, note: str) -> None:
        nonlocal is_mended
        notes.append(note)
        is_mended = is_mended or bool(note)

    async with scripted(client, Script(perform=perform)) as queue:
        handle = await start(client, queue, run_of(GOTO))
        ending = await follow(handle, show=show, until_waiting=False)

    assert ending.status == "done"
    [said] = set(filter(None, notes))
    assert said.startswith("browser.goto fails each time (Redis does not answer); ")
    assert "`replaywright doctor`" in said
    assert notes[0] == notes[-1] == ""


async def test_a_run_without_a_worker_is_not_told_to_be_broken(client: Client) -> None:
    handle = await start(client, "a queue that nobody polls", run_of(GOTO, FILL))

    said = await Silence(handle).why()

    await handle.terminate("by the test")
    assert said == NO_WORKER
