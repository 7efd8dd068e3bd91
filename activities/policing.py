"""The policy where things are done: what it forbids is told with the rule that forbids it."""

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from activities.traces import traced
from activities.vault import Vault, no_secret, not_signed
from replaywright.domain.policy.effective import Effective, before_start
from replaywright.domain.policy.policy_hosts import named, narrowed, on_goto, trust_rule
from replaywright.domain.policy.policy_runs import CheckPolicy, Granted
from replaywright.domain.run.commands import Perform, Reapply
from replaywright.domain.secrets.secret_sites import RULE as SECRET_RULE
from replaywright.domain.secrets.secret_sites import unbound
from replaywright.domain.secrets.starts import RULE as START_RULE
from replaywright.domain.secrets.starts import StartMark, UnsignedStarts
from replaywright.domain.session.guard import Refusal
from replaywright.domain.session.network_policy import HostRule, NetworkPolicy
from replaywright.domain.task.policy import Policy, Wishes
from replaywright.domain.task.steps import ProbeStep, Step
from replaywright.domain.task.tasks import begins_at
from replaywright.errors import PlanRefused, PolicyBlocked, SecretMissing, SettingsInvalid
from replaywright.ports.ledger import StepStore


def as_failure(blocked: PolicyBlocked) -> ApplicationError:
    """Return the failure of an activity that a rule forbids: it is not retried, its first detail is the rule."""
    return ApplicationError(str(blocked), blocked.rule, type=type(blocked).__name__, non_retryable=True)


def blocked_by(refusal: Refusal, what: str = "") -> PolicyBlocked:
    """The error for a refusal of `what`."""
    return PolicyBlocked(f"{what}: {refusal.message}" if what else refusal.message, rule=refusal.rule)


class Policing:
    """The operator's policy of this worker, joined with what each task asks for."""

    def __init__(self, operator: Policy | None = None, granted: Callable[[], Sequence[HostRule]] = lambda: ()) -> None:
        """Without an operator's policy, what the task says counts, but for addresses that are not public.

        `granted` reads those that the operator granted on this machine: it is asked anew for each decision.
        """
        self._operator = operator
        self._granted = granted

    def of(self, wishes: Wishes | None) -> Effective:
        """Return the policy for a run of a task with these wishes."""
        return Effective(self._operator, wishes)

    def on_command(self, command: Perform | Reapply) -> Refusal | None:
        """Return why a step may not be performed now; a step that is only done again uses up nothing."""
        context = command.context
        step, values, policy = context.step, context.values, self.of(context.run.policy)
        refusal = policy.on_step(step, values) or on_goto(self._operator, step, values, self.granted)
        return refusal or (None if isinstance(command, Reapply) else policy.over(context.run.used, step))

    def trusts(self, origin: str) -> str:
        """The rule of the operator by which nobody is asked while a task is learned on this site; empty for none."""
        return trust_rule(self._operator, origin)

    def network(self, asked: NetworkPolicy) -> NetworkPolicy:
        """Narrow the network policy that a session asks for to what the operator allows.

        Raises:
            PolicyBlocked: as `granted`.
        """
        return narrowed(asked, self._operator, self.granted())

    def granted(self) -> Sequence[HostRule]:
        """Return the addresses that are not public and that the operator granted on this machine.

        Raises:
            PolicyBlocked: nobody can tell, as the file of grants cannot be used.
        """
        try:
            return self._granted()
        except SettingsInvalid as exc:
            raise PolicyBlocked(str(exc), rule="addresses") from exc

    def on_steps(self, wishes: Wishes | None, steps: Iterable[Step | ProbeStep]) -> Refusal | None:
        """Return why one of these steps may not be performed."""
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

    def __init__(self, policing: Policing, vault: Vault, store: StepStore | None = None) -> None:
        """Without a `store` nothing is traced."""
        self._policing = policing
        self._vault = vault
        self._store = store

    @activity.defn(name="policy.check")
    async def check_policy(self, request: CheckPolicy) -> Granted:
        """Decide whether a run may begin, before a browser is opened and anything is done.

        Raises:
            ApplicationError: of type `PolicyBlocked`: a rule forbids a step of the plan; a secret that the task names
                is bound to no host; or the start is not signed, and the task names a secret or such runs are refused.
                Of type `SecretMissing`: such a secret has no source on this worker.
        """
        async with heartbeats("asking the policy"):
            admission = await self._vault.admission()
            if (refused := self._refused_start(request, admission.fault) or self._unbound(request)) is not None:
                await self._refuse(request, 0, refused, "")
            self._check_secrets(request)
            policy = self._policing.of(request.task.policy)
            found = before_start(policy, request.plan, request.values, request.used)
            if found is not None:
                index, refusal = found
                await self._refuse(request, index, refusal, repr(request.plan[index].title))
            try:
                granted = self._policing.granted()
            except PolicyBlocked as exc:
                raise as_failure(exc) from exc
            for address in named(policy, request.task, request.plan, request.values, granted):
                if address.refusal is not None:
                    await self._refuse(request, 0, address.refusal, f"{address.place} {address.host}".strip())
            return Granted(
                caps=policy.caps,
                start=self._mark(admission.fault),
                fault=admission.fault,
                admitted=admission.admitted,
            )

    def _mark(self, fault: str) -> StartMark:
        if not fault:
            return "signed"
        return "trusted" if self._vault.unsigned is UnsignedStarts.TRUST else "unsigned"

    def _refused_start(self, request: CheckPolicy, fault: str) -> Refusal | None:
        if self._mark(fault) != "unsigned":
            return None
        if self._vault.unsigned is UnsignedStarts.REFUSE:
            return Refusal(rule=START_RULE, reason=not_signed(fault))
        return Refusal(rule=START_RULE, reason=no_secret(fault)) if request.task.secrets else None

    def _unbound(self, request: CheckPolicy) -> Refusal | None:
        for name in request.task.secrets:
            if not self._vault.domains(name):
                return Refusal(rule=SECRET_RULE, reason=unbound(name, begins_at(request.task, request.values)))
        return None

    def _check_secrets(self, request: CheckPolicy) -> None:
        try:
            self._vault.check(request.task.secrets)
        except SecretMissing as exc:
            message = f"before anything was done: {exc}"
            raise ApplicationError(message, type=type(exc).__name__, non_retryable=True) from exc

    async def _refuse(self, request: CheckPolicy, index: int, refusal: Refusal, what: str) -> NoReturn:
        fields = {"rule": refusal.rule, "reason": refusal.reason, "runId": request.run_id}
        line = {"kind": "policy", "sequence": index, **fields}
        await traced(self._store, tenant=request.tenant, lineage=request.lineage, line=line)
        raise as_failure(blocked_by(refusal, f"before anything was done, {what}".rstrip(", ")))
