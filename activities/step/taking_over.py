"""Steps that a person does in the browser, checked when it is handed back."""

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.session.attachments import Attachments
from activities.session.checkpoints import Checkpoints
from activities.step.records import recording_of
from activities.step.underway import StepTools
from replaywright.domain.common.text import shorten
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.run.commands import HandedBackRequest
from replaywright.domain.run.redacted import redacted_outcome
from replaywright.domain.run.steering import HANDED_BACK
from replaywright.domain.step.fingerprints import site_scope
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.errors import SessionLost

MESSAGE_LIMIT = 300
"""Characters of the outcome's message."""


class TakeOverActivities:
    """Activity `step.handed_back`."""

    def __init__(self, tools: StepTools, checkpoints: Checkpoints, attachments: Attachments) -> None:
        self._tools = tools
        self._checkpoints = checkpoints
        self._attachments = attachments

    @activity.defn(name="step.handed_back")
    async def handed_back(self, request: HandedBackRequest) -> StepOutcome:
        """Look at the page that a person has left; where what is expected holds, the step is recorded as done.

        It counts as a commit, whatever it was: nobody but that person could do it again.

        Raises:
            SessionLost: the browser is gone, or a newer attempt owns it.
            StoreUnavailable: the ledger cannot be read.
        """
        asked = request.action
        async with heartbeats(f"what a person did at step {asked.sequence}"):
            known = await self._tools.ledger.known_of(asked)
            if known.outcome is not None:
                return await self._tools.ledger.answered(asked, known.outcome)
            try:
                held = await self._attachments.hold(asked.run.session, asked.run.epoch)
                step = filled_step(asked.step, asked.values)
                results = await held.browser.check(step.expect, step.timeout_ms)
            except SessionLost:
                await self._attachments.drop(asked.run.session.session_id, asked.run.epoch)
                raise
            lacking, who = failing(results), request.said.who or "a person"
            outcome = StepOutcome(
                status=Status.DONE if lacking is None else Status.UNMET,
                reason=HANDED_BACK if lacking is None else lacking.reason,
                message=shorten(f"done by {request.said}" if lacking is None else str(lacking.details), MESSAGE_LIMIT),
                fingerprint=asked.fingerprint,
                effect=Effect.COMMIT,
                predicates=results,
                url=held.browser.url,
            )
            outcome = redacted_outcome(outcome, self._tools.secrets)
            if lacking is not None:
                outcome = await self._tools.failures.added(outcome, asked, held.browser, expect=step.expect)
            site = self._tools.secrets.redact(site_scope(held.browser.url))
            fields = {"site": site, "item": asked.item, "who": who, "why": request.said.why}
            trace = {name: value for name, value in fields.items() if value}
            await self._tools.ledger.write(recording_of(asked, outcome, trace=trace))
            return await self._checkpoints.after(asked, held, outcome)
