"""Steps that were lost or are in doubt: recovered from, resolved by what is known, by a person if need be."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import policies
from workflows.attempts import Attempt
from workflows.board import Board
from workflows.browser import Browser
from workflows.failures import TaskFailed
from workflows.person import Person
from workflows.rulings import contradicted

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.actions import Effect
    from replaywright.domain.outcomes import Status, StepOutcome
    from replaywright.domain.runs import NOTHING_LEFT, ActionRequest, Resolution, ResolveRequest, SettleRequest

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Doubts:
    """Performs attempts until their outcome is certain."""

    browser: Browser
    board: Board
    person: Person
    show: Callable[[], None]
    recover: Callable[[], Awaitable[None]]
    """Get the live browser back, or a new one that is brought to where the run is."""

    async def decided(self, attempt: Attempt) -> StepOutcome:
        """An outcome that is not in doubt: losses are recovered from, doubts resolved, by a person if need be."""
        waits = rounds = losses = 0
        while True:
            if workflow.cancellation_reason() is not None:  # a step that ended all the same has swallowed the request
                raise asyncio.CancelledError
            try:
                outcome = await attempt.perform()
            except ActivityError as error:
                losses += 1
                lost = policies.is_loss(error)
                doubtful = not (lost or attempt.may_repeat) and policies.leaves_doubt(error)
                if doubtful:
                    doubtful = workflow.patched("doubt-on-error")
                if not (lost or doubtful) or losses > policies.LOSSES_PER_STEP:
                    raise
                await self.recover()
                attempt.after_loss()
                if attempt.may_repeat:
                    continue
                reason = "worker_lost" if lost else "broke_off"
                outcome = StepOutcome(status=Status.IN_DOUBT, reason=reason, fingerprint=attempt.mark)
            if outcome.reason == "store_unavailable" and waits < policies.STORE_TRIES:
                waits += 1
                self.board.doing = f"{attempt.title}: waiting for Redis"
                await workflow.sleep(policies.STORE_PAUSE, summary="no intent can be written, so nothing is dispatched")
                attempt.after_wait()
                continue
            if outcome.status is not Status.IN_DOUBT:
                return outcome
            resolution = await self.resolved(attempt, contradicted(outcome))
            if resolution.outcome is not None:
                return resolution.outcome
            rounds += resolution.reason != "no_intent"  # then nothing had been dispatched
            if rounds >= policies.COMMIT_ROUNDS:
                said = f"was verified absent after {rounds} dispatches"
                return outcome.model_copy(update={"status": Status.REFUSED, "message": said})
            self.browser.raise_epoch()
            attempt.disproved = resolution.reason == NOTHING_LEFT
            attempt.again("commit", outcome)

    async def read(self, call: Callable[[], Awaitable[_Result]]) -> _Result:
        """Run something that only reads, on whatever worker has the session, as often as that is lost."""
        while True:
            try:
                return await call()
            except ActivityError as error:
                if not policies.is_loss(error):
                    raise
                await self.recover()

    async def resolved(self, attempt: Attempt, contradicted: str) -> Resolution:
        """Whether a commit step in doubt took effect: with its outcome if it did, without if it certainly did not."""
        self.board.doing = f"{attempt.title}: did it take effect?"
        self.show()
        self.browser.raise_epoch()
        resolution = await self.read(
            lambda: self.browser.call(
                "effect.verify",
                ResolveRequest(action=attempt.request(), adopted=self.browser.adopted, contradicted=contradicted),
                Resolution,
                activity_id=attempt.activity_id(f"verify-e{self.browser.epoch}"),
                summary=f"{attempt.sequence + 1:04d} did it take effect? {attempt.title}"[:200],
                limit=policies.READ_LIMIT,
                retry_policy=policies.READING,
            ),
        )
        fenced = attempt.request()
        attempt.after_loss()
        if resolution.verdict == "undecidable":
            return await self._ask_person(attempt, fenced, resolution.reason)
        return resolution

    async def _ask_person(self, attempt: Attempt, asked: ActionRequest, reason: str) -> Resolution:
        verdict = await self.person.asked(
            f"step {attempt.sequence + 1} ({attempt.title}) may or may not have taken effect ({reason}): "
            "look at the site, then answer",
            ("done", "not_done", "abandon"),
        )
        await self.person.settled(attempt, SettleRequest(action=asked, verdict=verdict))
        who = verdict.who or "a person"
        if verdict.verdict == "abandon":
            raise TaskFailed("abandoned", f"{who} abandoned the step in doubt: {verdict.why}")
        if verdict.verdict == "not_done":
            return Resolution(verdict="not_done", reason="person")
        said = f"{who} says that it took effect: {verdict.why}"
        outcome = StepOutcome(
            status=Status.DONE, reason="person", message=said, fingerprint=attempt.mark, effect=Effect.COMMIT
        )
        return Resolution(verdict="done", reason="person", outcome=outcome)
