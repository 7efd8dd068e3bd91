"""One browser action as one activity: resolve, run, record."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from activities.policing import as_failure
from activities.session.attachments import Acted, Attachment, Attachments
from activities.session.checkpoints import Checkpoints, with_checkpoint
from activities.session.step_pictures import StepPictures
from activities.step.performance import Performance
from activities.step.underway import StepTools
from replaywright.domain.run.commands import (
    AWAIT,
    UNTOUCHED,
    Await,
    CommandOnStep,
    Perform,
    Reapply,
    Recheck,
    StepCommand,
)
from replaywright.domain.step.outcomes import UNWITNESSED, StepOutcome
from replaywright.domain.task.actions import Action
from replaywright.errors import Fenced, PolicyBlocked, SessionLost
from replaywright.killpoints import hit

ANSWER_S = 5.0
"""Time that a step whose request has left is given to end when its run is cancelled."""


@dataclass(frozen=True, eq=False)
class Actions:
    """Activities `browser.<action>` and `effect.await`."""

    attachments: Attachments
    tools: StepTools
    checkpoints: Checkpoints
    pictures: StepPictures

    def activities(self) -> list[Callable[..., Awaitable[Any]]]:
        """All of them, one activity type per browser action, so that a run reads like a script in Temporal's UI."""
        return [self._named(f"browser.{action}") for action in Action] + [self._named(AWAIT)]

    def _named(self, name: str) -> Callable[[StepCommand], Awaitable[StepOutcome]]:
        @activity.defn(name=name)
        async def perform(command: StepCommand) -> StepOutcome:
            return await self.performed(command.root)

        return perform

    async def performed(self, command: CommandOnStep) -> StepOutcome:
        """Run `perform_action` as an activity: its errors tell the workflow what it has to know."""
        try:
            return await self.perform_action(command)
        except SessionLost as exc:
            if not exc.untouched:
                raise
            raise ApplicationError(str(exc), UNTOUCHED, type=type(exc).__name__) from exc
        except PolicyBlocked as exc:
            raise as_failure(exc) from exc

    async def perform_action(self, command: CommandOnStep) -> StepOutcome:
        """Return the recorded outcome of this step, or perform it, verify it and record it.

        Promise on a retry: a step whose outcome was recorded is never performed again; a commit step whose intent
        was recorded without an outcome comes back as `in_doubt`, untouched. A miss or an unmet expectation is an
        outcome, not an error.

        Raises:
            SessionLost: the browser is gone, or a newer attempt owns it.
            StoreUnavailable: the ledger cannot be read; nothing was done.
        """
        context = command.context
        session, epoch = context.run.session, context.run.epoch
        async with heartbeats(f"step {context.sequence}"):
            performance = None
            try:
                held = await self.attachments.hold(session, epoch, pictured=not isinstance(command, Perform))
                async with held.busy:
                    held.document = held.document or held.browser.document
                    await self.pictures.before(command, held)
                    waiting, held.waiting = held.waiting, None
                    match command:
                        case Await():
                            outcome = await self._awaited(command, waiting)
                        case Recheck():
                            outcome = await self._rechecked(command, held)
                        case Perform() | Reapply():
                            performance = Performance(self.tools, command, held)
                            outcome = await _to_its_end(performance)
                        case _:
                            raise TypeError(type(command).__name__)
                    await held.pictured()
                    outcome = with_checkpoint(outcome, await self.checkpoints.taken(held))
                    is_reapplied = isinstance(command, Reapply)
                    outcome = await self.checkpoints.after(context, held, outcome, is_reapplied=is_reapplied)
                    self.pictures.after(command, held, outcome)
                hit("returned", context.sequence)
                return outcome
            except SessionLost as exc:
                # A fence may have come because of what an earlier attempt did: that is looked into.
                begun = performance is not None and not performance.is_untouched
                exc.untouched = not (begun or isinstance(exc, Fenced))
                await self.attachments.drop(session.session_id, epoch)
                raise

    async def _awaited(self, command: Await, waiting: Acted | None) -> StepOutcome:
        """Wait for the request of the step; it is in doubt if another process performed it."""
        if waiting is not None:
            return await waiting.awaited(command)
        known = await self.tools.ledger.known_of(command.context)
        if known.outcome is not None:
            return await self.tools.ledger.answered(command.context, known.outcome)
        return command.ended.model_copy(update={"reason": UNWITNESSED})

    async def _rechecked(self, command: Recheck, held: Attachment) -> StepOutcome:
        """Return the outcome by now: what was recorded, what shows when its page is looked at again, or as before."""
        unmet, held.unmet = held.unmet, None
        if unmet is not None and unmet.fingerprint == command.context.fingerprint:
            return await unmet.looked_again(command)
        # The process that performed the step is gone, or this is a second try after the first ended.
        known = await self.tools.ledger.known_of(command.context)
        if known.outcome is None:
            return command.unmet
        return await self.tools.ledger.answered(command.context, known.outcome)


async def _to_its_end(performance: Performance) -> StepOutcome:
    """Perform the step. A cancel does not break it off once its request has left, unless that takes long.

    Its answer tells what the cancelled run has done; without it the step would be in doubt.
    """
    performing = asyncio.create_task(performance.outcome())
    try:
        return await asyncio.shield(performing)
    except asyncio.CancelledError:
        details = activity.cancellation_details() if activity.in_activity() else None
        if performance.has_left and details is not None and details.cancel_requested:
            await asyncio.wait({performing}, timeout=ANSWER_S)
        if performing.done() and not performing.cancelled():
            return performing.result()
        performing.cancel()
        await asyncio.gather(performing, return_exceptions=True)  # raised below
        raise
