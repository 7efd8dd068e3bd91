"""Asking, after a run that learned commit steps, how the site can be asked about them in later ones."""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.calls import PLANNING, ask_model
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.proof.reconciling import total_limit_ms
    from replaywright.domain.run.model_requests import ProposedProbe, ProposeProbeRequest, TriedProbe, TryProbeRequest
    from replaywright.domain.run.scope import Mode, Usage
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.trace.details import summary

PROBES = 3
"""Commit steps of one run for which a probe is proposed at most."""


class Probing:
    """The commit steps that a run has learned."""

    def __init__(self, context: RunContext, browser: Browser) -> None:
        self._context = context
        self._browser = browser
        self._run = context.run
        self._learned: list[tuple[Attempt, StepOutcome]] = []

    def note(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """A step is done; remembered if it was learned, must not be repeated, and declares no `reconcile`."""
        if not self._run.propose_probes or self._run.mode is Mode.REPLAY or len(self._learned) >= PROBES:
            return
        declared = attempt.step.reconcile is not None or attempt.override
        is_new = outcome.lookup.is_proposed and not outcome.from_ledger and outcome.status is Status.DONE
        if is_new and not (declared or outcome.effect.repeatable) and outcome.snapshot and outcome.content_key:
            self._learned.append((attempt, outcome))

    async def learn(self, *, may_ask: bool) -> Usage:
        """Have probes proposed and tried for them; what that cost. That there is none is no reason to fail."""
        usage = Usage()
        learned, self._learned = self._learned, []
        if not (learned and may_ask):
            return usage
        for attempt, outcome in learned:
            try:
                usage = usage.plus(await self._probed(attempt, outcome))
            except ActivityError as error:
                if isinstance(error.cause, CancelledError):
                    raise
                workflow.logger.warning("no probe for step %d: %s", attempt.sequence + 1, error.cause or error)
        return usage

    async def _probed(self, attempt: Attempt, outcome: StepOutcome) -> Usage:
        proposed = await ask_model(
            "model.propose_probe",
            ProposeProbeRequest(
                **self._context.scope,
                sequence=attempt.sequence,
                goal=self._run.task.goal,
                title=attempt.title,
                values=dict(attempt.values),
                snapshot=outcome.snapshot,
            ),
            ProposedProbe,
            PLANNING,
            activity_id=attempt.activity_id("probe"),
            summary=summary(attempt.sequence, f"propose a probe: {attempt.title}"),
        )
        if proposed.probe is not None:
            limit = timedelta(milliseconds=total_limit_ms(proposed.probe.as_reconcile()))
            await self._browser.call(
                "effect.try_probe",
                TryProbeRequest(action=attempt.step_context(), content_key=outcome.content_key, probe=proposed.probe),
                TriedProbe,
                activity_id=attempt.activity_id("try-probe"),
                summary=summary(attempt.sequence, f"try the probe: {attempt.title}"),
                limit=policies.READ_LIMIT + limit,
                retry_policy=policies.ONCE,
            )
        return proposed.usage
