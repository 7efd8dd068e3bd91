"""Asking the planner model for a revised rest of the plan, as an activity with a retry policy of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.plan.model import as_read, passing_on, traced
from activities.plan.pictures import picture_line, picture_of
from activities.policing import Policing
from replaywright.domain.common.templates import fill
from replaywright.domain.plan.plans import PlanRules, checked_plan
from replaywright.domain.run.runs import ReviseRequest, Revision
from replaywright.domain.task.steps import Step
from replaywright.ports import Artifacts, Planner, PlanQuestion, StepStore


class PlanActivities:
    """Activity `model.revise_plan`."""

    def __init__(
        self, planner: Planner, artifacts: Artifacts, store: StepStore | None = None, policing: Policing | None = None
    ) -> None:
        """Without a `store` nothing is traced."""
        self._policing = policing or Policing()
        self._planner = planner
        self._artifacts = artifacts
        self._store = store

    @activity.defn(name="model.revise_plan")
    async def revise_plan(self, request: ReviseRequest) -> Revision:
        """Ask the planner model how to go on from a stored snapshot, where a step failed.

        What it answers is checked here, by code: the steps that come back are of the closed set, use what the task
        declares where it may be used, stay on the task's site, repeat no commit that was done, and pass the policy.

        Raises:
            ModelFailed: one of its kinds. A rate limit carries the provider's wait to Temporal's retry.
        """
        async with heartbeats("asking the planner"):
            failing = request.plan[request.sequence]
            snapshot, page = await as_read(
                await self._artifacts.get(request.snapshot), f"{request.task.goal} {failing.instruction}"
            )
            picture, lost = await picture_of(self._artifacts, request.picture)
            goal = fill(request.task.goal, request.values)
            question = PlanQuestion.of(request, request.sequence, goal=goal, page=page, picture=picture)
            rules = PlanRules.of(request, request.sequence, url=snapshot.url, page=page)

            def check(items: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
                steps = checked_plan(items, rules)
                self._policing.pass_plan(request.task.policy, steps)
                return steps

            async with passing_on():
                revision = await self._planner.revise(question, check)
            line = {
                "kind": "revise",
                "sequence": request.sequence if request.position is None else request.position,
                "why": request.failed,
                "steps": [step.title for step in revision.steps],
                "gaveUp": revision.gave_up or revision.question,
                "standIn": revision.usage.is_stand_in,
                "usage": revision.usage.model_dump(mode="json", by_alias=True),
                **picture_line(request.picture, request.picture_missing or lost),
            }
            await traced(self._store, tenant=request.tenant, lineage=request.lineage, line=line)
            return revision
