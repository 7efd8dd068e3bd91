"""The policy where things are done: what it forbids is told with the rule that forbids it."""

from collections.abc import Iterable
from typing import NoReturn

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from activities.model import traced
from replaywright.domain.effective import Effective, before_start, effective
from replaywright.domain.guard import Refusal
from replaywright.domain.network_policy import NetworkPolicy
from replaywright.domain.policy import Policy, Wishes
from replaywright.domain.policy_hosts import named, narrowed, on_goto
from replaywright.domain.policy_runs import CheckPolicy, Granted
from replaywright.domain.runs import ActionRequest, step_title
from replaywright.domain.steps import ProbeStep, Step
from replaywright.errors import PlanRefused, PolicyBlocked
from replaywright.ports import StepStore


def as_failure(blocked: PolicyBlocked) -> ApplicationError:
    """What an activity ends with that a rule forbids: never tried again, its first detail is the rule."""
    return ApplicationError(str(blocked), blocked.rule, type=type(blocked).__name__, non_retryable=True)


def blocked_by(refusal: Refusal, what: str = "") -> PolicyBlocked:
    """The error for a refusal of `what`."""
    return PolicyBlocked(f"{what}: {refusal.message}" if what else refusal.message, rule=refusal.rule)


class Policing:
    """The operator's policy of this worker, joined with what each task asks for."""

    def __init__(self, operator: Policy | None = None) -> None:
        """Without an operator's policy, what the task says counts alone."""
        self._operator = operator

    def of(self, wishes: Wishes | None) -> Effective:
        """What holds for a run of a task with these wishes."""
        return effective(self._operator, wishes)

    def on_request(self, request: ActionRequest) -> Refusal | None:
        """Why a step may not be performed now; a step that is only done again uses up nothing."""
        policy = self.of(request.policy)
        refusal = policy.on_step(request.step, request.values) or on_goto(self._operator, request.step, request.values)
        return refusal or (None if request.reapply else policy.over(request.used, request.step))

    def network(self, asked: NetworkPolicy) -> NetworkPolicy:
        """Where a session may connect to that was asked for so."""
        return narrowed(asked, self._operator)

    def on_steps(self, wishes: Wishes | None, steps: Iterable[Step | ProbeStep]) -> Refusal | None:
        """Why some of these steps may not be performed."""
        policy = self.of(wishes)
        return next(filter(None, map(policy.on_step, steps)), None)

    def pass_plan(self, wishes: Wishes | None, steps: Iterable[Step]) -> None:
        """Let a model's plan pass.

        Raises:
            PlanRefused: the policy forbids a step of it; the planner is told, as of every rule that a plan breaks.
        """
        for number, step in enumerate(steps, 1):
            if (refusal := self.of(wishes).on_step(step)) is not None:
                raise PlanRefused(f"step {number} ({step.action}) is forbidden, do without: {refusal.message}")


class PolicyActivities:
    """Activity `policy.check`."""

    def __init__(self, policing: Policing, store: StepStore | None = None) -> None:
        """Without a `store` nothing is traced."""
        self._policing = policing
        self._store = store

    @activity.defn(name="policy.check")
    async def check_policy(self, request: CheckPolicy) -> Granted:
        """Decide whether a run may begin, before a browser is opened and anything is done.

        Raises:
            ApplicationError: of type `PolicyBlocked`: a rule forbids a step of the plan.
        """
        async with heartbeats("asking the policy"):
            policy = self._policing.of(request.task.policy)
            found = before_start(policy, request.plan, request.values, request.used)
            if found is not None:
                index, refusal = found
                await self._refuse(request, index, refusal, repr(step_title(request.plan[index])))
            for address in named(policy, request.task, request.plan, request.values):
                if address.refusal is not None:
                    await self._refuse(request, 0, address.refusal, f"{address.place} {address.host}".strip())
            return Granted(caps=policy.caps)

    async def _refuse(self, request: CheckPolicy, index: int, refusal: Refusal, what: str) -> NoReturn:
        told = {"rule": refusal.rule, "reason": refusal.reason, "runId": request.run_id}
        line = {"kind": "policy", "sequence": index, **told}
        await traced(self._store, tenant=request.tenant, lineage=request.lineage, line=line)
        raise as_failure(blocked_by(refusal, f"before anything was done, {what}"))
