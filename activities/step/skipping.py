"""Steps that are not performed: because their `when` does not hold, or because they belong to an item that was left."""

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.session.attachments import Attachments
from activities.step.ledger import StepLedger
from activities.step.records import recording_of
from replaywright.domain.common.text import shorten
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.unmet import unmet_message
from replaywright.domain.run.commands import Decision, LeaveOutRequest, StepContext
from replaywright.domain.run.redacted import redacted_outcome
from replaywright.domain.step.fingerprints import site_scope
from replaywright.domain.step.outcomes import WHEN, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import Step
from replaywright.errors import SessionLost
from replaywright.ports.browser import BrowserSession
from replaywright.ports.stores import Secrets

MESSAGE_LIMIT = 300
"""Characters of why a step was left out."""


async def unmet(browser: BrowserSession, step: Step) -> PredicateResult | None:
    """Return the first part of the step's `when` that does not hold once the page is at rest; None when all does.

    `step` has its parameters' values. Only what names a time of its own (`within_ms`) is given time to come true; a
    page that is loading is waited for as long as the step may take.

    Raises:
        SessionLost: the browser is gone.
    """
    asked = [one if one.within_ms is not None else one.model_copy(update={"within_ms": 0}) for one in step.when]
    longest = max((one.within_ms or 0 for one in asked), default=0)
    return failing(await browser.check(asked, longest + step.timeout_ms))


class Skipping:
    """Activities `step.decide` and `step.leave_out`."""

    def __init__(self, ledger: StepLedger, secrets: Secrets, attachments: Attachments) -> None:
        self._ledger = ledger
        self._secrets = secrets
        self._attachments = attachments

    @activity.defn(name="step.decide")
    async def decide(self, context: StepContext) -> Decision:
        """Decide if the step is performed: by what the ledger has of it, else by its `when` on the page.

        Promise on a retry: a step that was recorded as left out stays so in its lineage, and one that was begun is
        gone on with, whatever the page shows by now.

        Raises:
            SessionLost: the browser is gone, or a newer attempt owns it.
            StoreUnavailable: the ledger cannot be read.
        """
        async with heartbeats(f"condition of step {context.sequence}"):
            known = await self._ledger.known_of(context)
            if known.outcome is not None and known.outcome.reason == WHEN:
                return Decision(performs=False, outcome=await self._ledger.answered(context, known.outcome))
            if known.state not in ("", "NOT_DONE"):
                return Decision(performs=True)
            try:
                held = await self._attachments.hold(context.run.session, context.run.epoch)
                lacking = await unmet(held.browser, filled_step(context.step, context.values))
            except SessionLost:
                await self._attachments.drop(context.run.session.session_id, context.run.epoch)
                raise
            if lacking is None:
                return Decision(performs=True)
            message = f"when does not hold: {unmet_message(lacking)}"
            outcome = await self._left_out(context, WHEN, message, url=held.browser.url)
            return Decision(performs=False, outcome=outcome)

    @activity.defn(name="step.leave_out")
    async def leave_out(self, request: LeaveOutRequest) -> StepOutcome:
        """Record that the step counts as done without being performed. Repeated, it is recorded once."""
        async with heartbeats(f"leaving out step {request.action.sequence}"):
            return await self._left_out(request.action, request.reason, request.message)

    async def _left_out(self, context: StepContext, reason: str, message: str, *, url: str = "") -> StepOutcome:
        outcome = StepOutcome(
            status=Status.DONE,
            reason=reason,
            message=shorten(message, MESSAGE_LIMIT),
            fingerprint=context.fingerprint,
            effect=Effect.READ,
            url=url,
        )
        outcome = redacted_outcome(outcome, self._secrets)
        site = self._secrets.redact(site_scope(url)) if url else ""
        more = {"site": site, "item": context.item}
        trace = {key: value for key, value in more.items() if value}
        await self._ledger.write(recording_of(context, outcome, trace=trace))
        return outcome
