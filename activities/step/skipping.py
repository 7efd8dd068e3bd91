"""Steps that are not performed: because their `when` does not hold, or because they belong to an item that was left."""

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.session.sessions import Attachments
from activities.step.actions import Actions
from activities.step.conditions import unmet
from activities.step.records import recording_of
from replaywright.domain.common.text import shorten
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.run.redacted import redacted_outcome
from replaywright.domain.run.runs import ActionRequest, Decision, LeaveOutRequest
from replaywright.domain.step.fingerprints import site_scope
from replaywright.domain.step.outcomes import WHEN, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.errors import SessionLost

MESSAGE_LIMIT = 300
"""Characters of why a step was left out."""


class Skipping:
    """Activities `step.decide` and `step.leave_out`."""

    def __init__(self, actions: Actions, attachments: Attachments) -> None:
        self._actions = actions
        self._attachments = attachments

    @activity.defn(name="step.decide")
    async def decide(self, request: ActionRequest) -> Decision:
        """Whether the step is to be performed: what the ledger has of it decides, else its `when` on the page.

        Promise on a retry: a step that was recorded as left out stays so in its lineage, and one that was begun is
        gone on with, whatever the page shows by now.

        Raises:
            SessionLost: the browser is gone, or a newer attempt owns it.
            StoreUnavailable: the ledger cannot be read.
        """
        async with heartbeats(f"condition of step {request.sequence}"):
            known = await self._actions.known_of(request, request.fingerprint)
            if known.outcome is not None and known.outcome.reason == WHEN:
                return Decision(performs=False, outcome=await self._actions.answered(request, known.outcome))
            if known.state not in ("", "NOT_DONE"):
                return Decision(performs=True)
            try:
                held = await self._attachments.hold(request.session, request.epoch)
                lacking = await unmet(held.browser, filled_step(request.step, request.values))
            except SessionLost:
                await self._attachments.drop(request.session.session_id, request.epoch)
                raise
            if lacking is None:
                return Decision(performs=True)
            said = f"when does not hold: {lacking.reason}: {lacking.details}"
            outcome = await self._left_out(request, WHEN, said, url=held.browser.url)
            return Decision(performs=False, outcome=outcome)

    @activity.defn(name="step.leave_out")
    async def leave_out(self, request: LeaveOutRequest) -> StepOutcome:
        """Record that the step counts as done without being performed. Repeated, it is recorded once."""
        async with heartbeats(f"leaving out step {request.action.sequence}"):
            return await self._left_out(request.action, request.reason, request.message)

    async def _left_out(self, request: ActionRequest, reason: str, message: str, *, url: str = "") -> StepOutcome:
        outcome = StepOutcome(
            status=Status.DONE,
            reason=reason,
            message=shorten(message, MESSAGE_LIMIT),
            fingerprint=request.fingerprint,
            effect=Effect.READ,
            url=url,
        )
        outcome = redacted_outcome(outcome, self._actions.secrets)
        site = self._actions.secrets.redact(site_scope(url)) if url else ""
        more = {"site": site, "item": request.item}
        trace = {key: value for key, value in more.items() if value}
        await self._actions.write(recording_of(request, outcome, trace=trace))
        return outcome
