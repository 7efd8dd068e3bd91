"""Asking models about a goal: what it is about, and how to reach it from the page; activities of their own."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from activities.plan.model import passing_on
from activities.plan.plans import prepared
from activities.policing import Policing
from activities.traces import traced
from replaywright.domain.common.templates import fill
from replaywright.domain.common.token_count import count_tokens
from replaywright.domain.plan.goal_plans import GoalPlan, checked_goal_plan
from replaywright.domain.plan.goal_runs import NO_PLANNER, LabelRequest, Labels, PlanRequest
from replaywright.domain.recall.labels import checked_labels
from replaywright.domain.run.model_requests import Revision
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable
from replaywright.ports.ledger import StepStore
from replaywright.ports.models import Labelled, Labeller, Planner
from replaywright.ports.stores import Artifacts, Secrets

_SET = "set REPLAYWRIGHT_MODEL, for example openai:gpt-5-mini, or list the steps in a task file with targets"


@dataclass(frozen=True, eq=False)
class GoalActivities:
    """Activities `model.label` and `model.plan`."""

    labeller: Labeller
    planner: Planner
    artifacts: Artifacts
    secrets: Secrets
    store: StepStore | None = None
    """None: nothing is traced."""
    policing: Policing = field(default_factory=Policing)
    languages: Sequence[str] = ("en",)
    """Languages in which the labeller writes phrases, beside that of the goal."""

    @activity.defn(name="model.label")
    async def label_goal(self, request: LabelRequest) -> Labelled:
        """Ask the labeller what a goal is about. Only values that stand in the goal come back, and no secret.

        Raises:
            ApplicationError: of type `NoPlanner`: no model is configured that could plan what is to be learned.
            ModelFailed: one of its kinds. A rate limit carries the provider's wait to Temporal's retry.
        """
        if not self.planner.is_configured:
            message = "before anything was opened: no model is configured, and no skill does this; " + _SET
            raise ApplicationError(message, type=NO_PLANNER, non_retryable=True)
        goal = self.secrets.redact(request.goal)

        def is_secret(text: str) -> bool:
            return self.secrets.redact(text) != text

        def check(answer: Mapping[str, Any]) -> Labels:
            return checked_labels(answer, goal, secrets=request.secrets, is_secret=is_secret)

        async with heartbeats("asking the labeller"), passing_on():
            labelled = await self.labeller.label(goal, check, languages=self.languages)
        line = {
            "kind": "label",
            "sequence": 0,
            "label": labelled.labels.label,
            "parameters": [parameter.name for parameter in labelled.labels.parameters],
            "patterns": len(labelled.labels.patterns),
            "nearMisses": len(labelled.labels.near_misses),
            "refused": list(labelled.labels.refused),
            "standIn": labelled.usage.is_stand_in,
            "usage": labelled.usage.model_dump(mode="json", by_alias=True),
        }
        await traced(self.store, tenant=request.tenant, lineage=request.lineage, line=line)
        return labelled

    @activity.defn(name="model.plan")
    async def plan_goal(self, request: PlanRequest) -> Revision:
        """Ask the planner how to reach the goal from a stored snapshot: all of it, or the part that can be seen.

        What it answers is checked here, by code, as a revised plan is; beside that, it does nothing with consequences
        that the goal does not ask for, and values of the goal become parameters.

        Raises:
            ModelFailed: one of its kinds. A rate limit carries the provider's wait to Temporal's retry.
        """
        async with heartbeats("asking the planner"):
            goal = self.secrets.redact(fill(request.task.goal, request.values))
            failing = "".join(step.title for step in request.plan[request.position : request.position + 1])
            about = f"{goal} {failing}"
            question, rules, pictured = await prepared(self.artifacts, request, request.position, goal, about)

            def check(
                items: Sequence[Mapping[str, Any]], complete: bool, verify: Sequence[Mapping[str, Any]], last: bool
            ) -> GoalPlan:
                plan = checked_goal_plan(items, rules, complete=complete, verify=verify, last=last)
                self.policing.pass_plan(request.task.policy, plan.steps)
                return plan

            before, after = await asyncio.gather(
                self._raw_tokens(request.dom), asyncio.to_thread(count_tokens, question.page)
            )
            async with passing_on():
                plan = await self.planner.plan(question, check)
            line = {
                "kind": "plan",
                "sequence": request.position,
                "why": request.failed,
                "steps": [step.title for step in plan.steps],
                "complete": plan.complete,
                "gaveUp": plan.gave_up,
                "tokensBefore": before,
                "tokensAfter": after,
                "standIn": plan.usage.is_stand_in,
                "usage": plan.usage.model_dump(mode="json", by_alias=True),
                **pictured,
            }
            await traced(self.store, tenant=request.tenant, lineage=request.lineage, line=line)
            return plan

    async def _raw_tokens(self, dom: str) -> int | None:
        """About how many tokens the page's HTML would have cost; None when it was not kept."""
        if not dom:
            return None
        try:
            html = await self.artifacts.get(dom)
        except (ArtifactMissing, ArtifactsUnavailable):
            return None
        return await asyncio.to_thread(count_tokens, html.decode(errors="replace"))
