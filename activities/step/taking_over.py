"""Steps that a person does in the browser: whether what is expected of them has come about."""

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.session.sessions import Attachments
from activities.step.actions import Actions
from activities.step.records import recording_of
from replaywright.domain.common.text import shorten
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.run.redacted import redacted_outcome
from replaywright.domain.run.runs import HandedBackRequest
from replaywright.domain.run.steering import HANDED_BACK
from replaywright.domain.step.fingerprints import site_scope
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.errors import SessionLost

MESSAGE_LIMIT = 300
"""Characters of what is said of it."""


class TakeOverActivities:
    """Activity `step.handed_back`."""

    def __init__(self, actions: Actions, attachments: Attachments) -> None:
        self._actions = actions
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
            known = await self._actions.known_of(asked, asked.fingerprint)
            if known.outcome is not None:
                return await self._actions.answered(asked, known.outcome)
            try:
                held = await self._attachments.hold(asked.session, asked.epoch)
                step = filled_step(asked.step, asked.values)
                results = await held.browser.check(step.expect, step.timeout_ms)
            except SessionLost:
                await self._attachments.drop(asked.session.session_id, asked.epoch)
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
            outcome = redacted_outcome(outcome, self._actions.secrets)
            if lacking is not None:
                outcome = await self._actions.failures.added(
                    outcome, asked, held.browser, expect=step.expect, entry=None
                )
            site = self._actions.secrets.redact(site_scope(held.browser.url))
            told = {"site": site, "item": asked.item, "who": who, "why": request.said.why}
            trace = {name: value for name, value in told.items() if value}
            await self._actions.write(recording_of(asked, outcome, trace=trace))
            return await self._actions.checkpoints.after(asked, held, outcome)
