"""Temporal itself is killed, cut off or slow in the middle of a run: no step is lost, no commit dispatched twice."""

import asyncio
import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from temporalio.client import Client

from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_requests import Resolution
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.stack.temporal import DevServer, TemporalServer
from tests.adapters.between import Between
from tests.workflows.scripted import Script, done, given, run_of, scripted, start
from workflows.plugin import WorkflowPlugin

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
PLAN = (GOTO, *[FILL, SEND] * 15)
MIDDLE = 14

pytestmark = pytest.mark.long


class Counted:
    """A script that tells when the middle is reached, and knows which commits took effect."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.sent: list[int] = []
        self.script = Script(perform=self._perform, verify=self._verify)

    def _perform(self, request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.sequence >= MIDDLE:
            self.reached.set()
        if request.context.step.action != "click":
            return done(request)
        if request.context.sequence not in self.sent or not given(request, "recovered"):  # else the ledger has it
            self.sent.append(request.context.sequence)
        return done(request, effect=Effect.COMMIT)

    def _verify(self, request: object) -> Resolution:
        action = self.script.verified[-1].action
        if action.sequence in self.sent:
            return Resolution(verdict="done", outcome=done(action, effect=Effect.COMMIT))
        return Resolution(verdict="not_done", reason="no_intent")


def port_of(server: TemporalServer) -> int:
    return urlsplit(f"//{server.address}").port or 0


@pytest.mark.parametrize("fault", ["killed", "cut off", "slow"])
async def test_a_run_goes_on_where_it_was_when_temporal_is_back(
    temporal_binary: Path, tmp_path: Path, fault: str
) -> None:
    log, database = tmp_path / "temporal.log", tmp_path / "temporal.db"
    server = await DevServer(temporal_binary, log=log, database=database).start()
    counted = Counted()
    async with Between(port_of(server), delay_s=0.1 if fault == "slow" else 0.0) as between:
        client = await Client.connect(f"127.0.0.1:{between.port}", plugins=[WorkflowPlugin(sandboxed=True)])
        async with scripted(client, counted.script) as queue:
            handle = await start(client, queue, run_of(*PLAN))
            await counted.reached.wait()
            if fault == "killed":
                os.kill(server.child.pid, signal.SIGKILL)
                server = await DevServer(temporal_binary, log=log, database=database, port=port_of(server)).start()
            elif fault == "cut off":
                between.cut()
                await asyncio.sleep(5)
                between.mend()
            async with asyncio.timeout(120):
                result = await handle.result()
    await server.child.stop()

    assert result.succeeded
    assert result.totals.steps == len(PLAN)
    assert counted.sent == list(range(2, len(PLAN), 2))
