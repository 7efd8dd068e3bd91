"""Asking the planner model for a revised rest of the plan, as an activity with a retry policy of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.plan.model import as_read, passing_on
from activities.plan.pictures import picture_line, picture_of
from activities.policing import Policing
from activities.traces import traced
from replaywright.domain.common.templates import fill
from replaywright.domain.plan.goal_runs import PlannerRequest
from replaywright.domain.plan.plans import PlanRules, checked_plan
from replaywright.domain.run.model_requests import ReviseRequest, Revision
from replaywright.domain.task.steps import Step
from replaywright.ports.ledger import StepStore
from replaywright.ports.models import Planner, PlanQuestion
from replaywright.ports.stores import Artifacts


async def prepared(
    artifacts: Artifacts, request: PlannerRequest, position: int, goal: str, about: str
) -> tuple[PlanQuestion, PlanRules, dict[str, str]]:
    """Return the question to the planner, the rules for its answer, and the picture's fields in the trace line.

    The page is read for what it says `about` the step at `position`, the first that is not done.
    """
    snapshot, page = await as_read(await artifacts.get(request.snapshot), about)
    picture, lost = await picture_of(artifacts, request.picture)
    question = PlanQuestion.of(request, position, goal=goal, page=page, picture=picture)
    rules = PlanRules.of(request, position, url=snapshot.url, page=page)
    return question, rules, picture_line(request.picture, request.picture_missing or lost)


@dataclass(frozen=True, eq=False)
class PlanActivities:
    """Activity `model.revise_plan`."""

    planner: Planner
    artifacts: Artifacts
    store: StepStore | None = None
    """None: nothing is traced."""
    policing: Policing = field(default_factory=Policing)

    @activity.defn(name="model.revise_plan")
    async def revise_plan(self, request: ReviseRequest) -> Revision:
        """Ask the planner model how to go on from a stored snapshot, where a step failed.

        What it answers is checked here, by code: the steps that come back are of the closed set, use what the task
        declares where it may be used, stay on the task's site, repeat no commit that was done, and pass the policy.

        Raises:
            ModelFailed: one of its kinds. A rate limit carries the provider's wait to Temporal's retry.
        """
        async with heartbeats("asking the planner"):
            goal = fill(request.task.goal, request.values)
            about = f"{request.task.goal} {request.plan[request.sequence].instruction}"
            question, rules, pictured = await prepared(self.artifacts, request, request.sequence, goal, about)

            def check(items: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
                steps = checked_plan(items, rules)
                self.policing.pass_plan(request.task.policy, steps)
                return steps

            async with passing_on():
                revision = await self.planner.revise(question, check)
            line = {
                "kind": "revise",
                "sequence": request.sequence if request.position is None else request.position,
                "why": request.failed,
                "steps": [step.title for step in revision.steps],
                "gaveUp": revision.gave_up or revision.question,
                "standIn": revision.usage.is_stand_in,
                "usage": revision.usage.model_dump(mode="json", by_alias=True),
                **pictured,
            }
            await traced(self.store, tenant=request.tenant, lineage=request.lineage, line=line)
            return revision
