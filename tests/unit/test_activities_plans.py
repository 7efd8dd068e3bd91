"""What the planner is told, and what becomes of its answer."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.plan.plans import PlanActivities
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import Target
from replaywright.domain.run.model_requests import ReviseRequest, Revision
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import ModelRateLimited
from replaywright.testing.models import FakePlanner
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeArtifacts
from tests.unit.staged import run_activity

PAGE = Snapshot(
    url="http://shop.example/news",
    elements=(Element(id="e1", target=Target(tag="button", role="button", name="Continue")),),
)
TASK = parse_task(
    {
        "task": "order",
        "goal": "Order a cake for {{name}}",
        "parameters": {"name": {}},
        "secrets": ["PASSWORD"],
        "steps": [
            {"action": "goto", "url": "http://shop.example/"},
            {"action": "fill", "instruction": "the name field", "value": "{{name}}"},
            {"action": "fill", "instruction": "the password field", "value": "{{secret:PASSWORD}}"},
        ],
        "verify": [{"url_contains": "/thanks"}],
    },
    "test",
)


async def revised(planner: FakePlanner, store: FakeStepStore | None = None) -> Revision:
    artifacts = FakeArtifacts()
    request = ReviseRequest(
        run_id="r1",
        lineage="l1",
        tenant="acme",
        sequence=1,
        task=TASK,
        values={"name": "Ada"},
        plan=TASK.steps,
        failed="missed: not found",
        tried=("unmet",),
        snapshot=await artifacts.put(PAGE.model_dump_json(by_alias=True).encode()),
    )
    return await run_activity(PlanActivities(planner, artifacts, store).revise_plan, request)


async def test_the_planner_is_told_goal_steps_failure_and_page() -> None:
    planner = FakePlanner(["no way"])

    await revised(planner)

    [asked] = planner.asked
    assert (asked.goal, asked.parameters, asked.secrets) == ("Order a cake for Ada", {"name": "Ada"}, ("PASSWORD",))
    assert asked.done == ("goto http://shop.example/",)
    assert asked.failed == "2: fill the name field = {{name}}\nmissed: not found"
    assert asked.remaining == {
        2: "fill the name field = {{name}}",
        3: "fill the password field = {{secret:PASSWORD}}",
    }
    assert (asked.tried, "Continue" in asked.page) == (("unmet",), True)


async def test_a_plan_that_keeps_the_rules_is_steps_and_a_line_of_the_trace() -> None:
    store = FakeStepStore()

    revision = await revised(
        FakePlanner([[{"action": "click", "instruction": "Continue"}, {"keep": 2}, {"keep": 3}]]), store
    )

    assert revision.steps[1:] == TASK.steps[1:]
    [line] = await store.trace(tenant="acme", lineage="l1")
    assert (line["kind"], line["why"], line["usage"]["calls"]) == ("revise", "missed: not found", 1)
    assert line["steps"][0] == "click Continue"


@pytest.mark.parametrize(
    ("answer", "why"), [([{"action": "goto", "url": "http://evil.example/"}], "may only open"), ("closed", "closed")]
)
async def test_a_plan_that_breaks_a_rule_is_none(answer: Any, why: str) -> None:
    revision = await revised(FakePlanner([answer]))

    assert revision.steps == ()
    assert why in revision.gave_up


async def test_an_answer_is_not_lost_because_the_store_is_away() -> None:
    store = FakeStepStore()
    store.is_away = True

    assert (await revised(FakePlanner(["no way"]), store)).gave_up == "no way"


async def test_a_rate_limit_delays_the_next_try_as_the_provider_says() -> None:
    with pytest.raises(ApplicationError) as error:
        await revised(FakePlanner([ModelRateLimited("wait", retry_after_s=7)]))

    assert error.value.next_retry_delay == timedelta(seconds=7)
