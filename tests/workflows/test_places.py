"""A run for whose browser there is no place says so and waits; also when it has lost its browser."""

import asyncio

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.runs import RunResult
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.budgets import RunLimits
from tests.workflows.scripted import Script, done, lost, missed, run_of, scripted, start
from tests.workflows.test_browser_task import FILL, GOTO
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask


class Host:
    """Is full until it is left."""

    def __init__(self) -> None:
        self.is_full = True
        self.refused = 0

    def full(self, _name: str) -> bool:
        self.refused += self.is_full
        return self.is_full

    async def has_refused(self, times: int) -> None:
        """Return when it was asked in vain so often."""
        async with asyncio.timeout(30):
            while self.refused < times:  # noqa: ASYNC110 - the fakes have no event
                await asyncio.sleep(0.05)


async def said(handle: WorkflowHandle[BrowserTask, RunResult], what: str) -> None:
    """Return when the run says that it is doing this."""
    async with asyncio.timeout(20):
        while what not in (await handle.query(BrowserTask.progress)).doing:  # noqa: ASYNC110 - a query has no event
            await asyncio.sleep(0.05)


async def test_a_run_waits_visibly_for_a_place_and_is_done_when_there_is_one(client: Client) -> None:
    host = Host()
    script = Script(full=host.full)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        await said(handle, "waiting for a free place: all places are taken")
        await host.has_refused(3)
        waiting = await handle.query(BrowserTask.progress)
        host.is_full = False
        result = await handle.result()
        ended = await handle.query(BrowserTask.progress)
    history = await handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert result.succeeded
    assert (waiting.status, waiting.step, "waiting" in ended.doing) == ("running", 0, False)
    assert set(script.asked_for) == {"session-open", "session-open-wait"}
    assert len(script.opened) == 1
    assert replayed.replay_failure is None


async def test_a_run_that_lost_its_browser_on_a_full_host_waits_for_a_place(client: Client) -> None:
    host = Host()
    script = Script(adopt=False, full=lambda name: name == "session.recover" and host.full(name))

    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        if asked.context.sequence == 1 and call == 0:
            raise lost()
        return done(asked)

    script.perform = perform
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        await said(handle, "waiting for a free place")
        host.is_full = False
        result = await handle.result()

    assert (result.succeeded, result.totals.recoveries) == (True, 1)
    assert script.asked_for[1:4] == ["session-recover-e2-host", "session-recover-e2", "session-recover-e2-wait"]


@pytest.mark.long
async def test_waiting_for_a_place_is_no_time_of_the_run(client: Client) -> None:
    host = Host()
    script = Script(full=host.full)
    script.perform = lambda asked, call: (
        missed("no_entry") if asked.context.sequence == 1 and call == 0 else done(asked)
    )

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, budget=RunLimits(seconds=3)))
        await host.has_refused(5)  # with the pauses in between, that is longer than the budget
        host.is_full = False
        result = await handle.result()

    assert (result.succeeded, len(script.proposed)) == (True, 1)
