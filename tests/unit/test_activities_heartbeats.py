"""An activity that is busy is not taken for one whose worker is dead."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities import heartbeats as module
from activities.heartbeats import heartbeats
from activities.plan.model import ModelActivities
from activities.plan.plans import PlanActivities
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.run.model_requests import ProposeRequest, ReviseRequest, Revision
from replaywright.domain.step.outcomes import Lookup
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import parse_task
from replaywright.ports.models import Choice, PlanQuestion
from replaywright.testing.models import FakePlanner, FakeProposer
from replaywright.testing.stores import FakeArtifacts
from workflows import policies

Check = Callable[[Sequence[Mapping[str, Any]]], tuple[Step, ...]]


async def test_a_step_that_waits_for_its_page_goes_on_to_report_that_it_lives() -> None:
    beats: list[object] = []
    enough = asyncio.Event()
    environment = ActivityEnvironment()

    def heard(*details: object) -> None:
        beats.append(details)
        if len(beats) >= 3:
            enough.set()

    environment.on_heartbeat = heard

    async def busy() -> None:
        async with heartbeats("step 1"):
            await enough.wait()

    await environment.run(busy)

    assert beats[:3] == [("step 1",)] * 3
    assert timedelta(seconds=module.BEAT_S * 5) <= policies.HEARTBEAT


async def test_an_activity_that_ends_at_once_reports_nothing_but_its_end() -> None:
    beats: list[object] = []
    environment = ActivityEnvironment()
    environment.on_heartbeat = lambda *details: beats.append(details)

    async def quick() -> None:
        async with heartbeats("step 1"):
            await asyncio.sleep(0)

    await environment.run(quick)

    assert beats == []


@pytest.mark.parametrize("asked", ["executor", "planner"])
async def test_a_model_worker_goes_on_to_report_while_its_model_thinks(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BEAT_S", 0.01)
    beats: list[object] = []
    enough = asyncio.Event()
    environment = ActivityEnvironment()

    def heard(*details: object) -> None:
        beats.append(details)
        if len(beats) >= 5:
            enough.set()

    environment.on_heartbeat = heard

    class ThinkingProposer(FakeProposer):
        async def propose(self, **asked: Any) -> Choice:
            await enough.wait()
            return await super().propose(**asked)

    class ThinkingPlanner(FakePlanner):
        async def revise(self, question: PlanQuestion, check: Check) -> Revision:
            await enough.wait()
            return await super().revise(question, check)

    store = FakeArtifacts()
    snapshot = await store.put(Snapshot(url="http://site/").model_dump_json(by_alias=True).encode())
    if asked == "executor":
        propose = ProposeRequest(
            run_id="r1",
            lineage="l1",
            sequence=0,
            instruction="send",
            action="click",
            snapshot=snapshot,
            missed=Lookup(reason="no_entry"),
        )
        await environment.run(ModelActivities(ThinkingProposer([None]), store).propose_target, propose)
    else:
        steps = [{"action": "goto", "url": "http://site/"}]
        task = parse_task({"task": "t", "goal": "g", "steps": steps, "verify": [{"url_contains": "/"}]}, "test")
        revise = ReviseRequest(
            run_id="r1",
            lineage="l1",
            tenant="t",
            sequence=0,
            task=task,
            plan=task.steps,
            failed="missed",
            snapshot=snapshot,
        )
        await environment.run(PlanActivities(ThinkingPlanner(["no way"]), store).revise_plan, revise)

    assert len(beats) >= 5
