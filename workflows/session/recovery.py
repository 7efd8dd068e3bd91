"""Getting a lost browser back: the live one, else a new one that is brought to where the run is.

A new browser begins at the newest checkpoint that holds, at an older one if that does not, or at the first step; the
steps since are done again. A step that must not be repeated is never crossed: without a checkpoint after it that
holds, the run ends and says so.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.people.person import Person
from workflows.people.supplying import supplied
from workflows.plan.planning import Planning
from workflows.run.context import RunContext
from workflows.run.telling import recovery_told
from workflows.session.browser import Browser
from workflows.session.checkpoints import KnownCheckpoints
from workflows.session.signing_in import SigningIn
from workflows.step.attempts import NOT_DONE_AGAIN
from workflows.step.factory import AttemptFactory
from workflows.step.failures import TaskBlocked, TaskFailed
from workflows.step.overrides import OverrideRules

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record
    from replaywright.domain.predicate.predicates import fill_predicate
    from replaywright.domain.proof.signed_out import SIGNED_OUT as SIGNED_OUT_STEP
    from replaywright.domain.run.commit_requests import RESOLVED, PersonVerdict
    from replaywright.domain.step.checkpoints import (
        NOT_RESTORED,
        CheckCheckpoint,
        Checkpoint,
        RestoreCheckpoint,
        Restored,
        TakeCheckpoint,
    )
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.task.steps import Goto, SolveCaptcha, Step, VerificationCode

_Result = TypeVar("_Result")


LOST = "the browser was lost"
LEFT = "the page that the step acted in was left, as what it sent was thrown away"
SIGNED_OUT = "the site had signed the browser out"
"""Reasons why another browser is brought to where the run is."""
_LOST_AGAIN = f"{LOST} {policies.LOSSES_PER_STEP} times in a row on the way back"


class NotRecovered(TaskFailed):
    """The browser is lost, and nothing leads back to where the run was; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__("session_lost", message)


class _Astray(Exception):
    """A checkpoint does not hold; the message says why."""


class _SignedOut(_Astray):
    """The site has ended the session again on the way back."""


@dataclass(eq=False)
class Recovery:
    """Brings one run's browser back to where the run is."""

    context: RunContext
    browser: Browser
    checkpoints: KnownCheckpoints
    attempts: AttemptFactory
    signing_in: SigningIn
    overrides: OverrideRules
    planning: Planning
    person: Person
    _why: str = field(default=LOST, init=False)
    _paused: Checkpoint | None = field(default=None, init=False)

    async def complete(self, outcome: StepOutcome, position: int) -> None:
        """Take the checkpoint of a commit that was not seen to end: the ledger, or a look at its page, told of it.

        Only in the browser that it was done in; a new one shows the page of before.
        """
        was_told = outcome.from_ledger or outcome.reason == RESOLVED
        if outcome.effect.repeatable or not (was_told and self.browser.adopted):
            return
        taken = await self._taken(position + 1)
        if taken is not None:
            self.browser.taken.append(taken)

    async def brought(self, checkpoint: Checkpoint) -> str:
        """Bring a new browser from a checkpoint to where the run is; why that did not work, else empty."""
        try:
            await self._restored(checkpoint)
            await self._redo(range(checkpoint.position, self.context.position))
        except (_Astray, TaskBlocked) as astray:
            return str(astray)
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            return policies.said(error)
        return ""

    # ------------------------------------------------------------------------------------------ recovery

    async def recover(self) -> None:
        """Get the live browser back, or a new one that is brought to where the run is.

        Raises:
            NotRecovered: nothing leads there.
        """
        self.context.show("recovering the browser")
        self.checkpoints.take_over(self.context.position)
        with recovery_told() as recovering:
            for _ in range(policies.LOSSES_PER_STEP):
                if await self.browser.recover():
                    recovering.kind = "adopted"
                elif await self.rebuilt():
                    recovering.kind = "rebuilt"
                else:
                    continue
                self.context.count(recoveries=1)
                return
            raise NotRecovered(_LOST_AGAIN)

    async def read(self, call: Callable[[], Awaitable[_Result]]) -> _Result:
        """Run something that only reads, on whatever worker has the session, as often as that is lost."""
        while True:
            try:
                return await call()
            except ActivityError as error:
                if not policies.is_loss(error):
                    raise
                self.context.board.check_stops()
                await self.recover()

    async def leave(self) -> None:
        """Go on in a new browser: in a document whose request was thrown away nothing is done again.

        It may repeat the request by itself, or take no second press for one.

        Raises:
            NotRecovered: nothing leads back to where the run is.
        """
        self.context.show("going on in a new browser")
        await self._go_on_elsewhere(LEFT)

    async def sign_in_again(self) -> None:
        """Go on in a new browser that is signed in with what was signed in since.

        Raises:
            NotRecovered: nothing leads back to where the run is.
            TaskFailed: the site does not take it.
        """
        self.context.show("going on, signed in again")
        await self._go_on_elsewhere(SIGNED_OUT)

    async def _go_on_elsewhere(self, why: str) -> None:
        self.checkpoints.take_over(self.context.position)
        self._why = why
        try:
            await self._in_another(self._rebuilt)
        finally:
            self._why = LOST

    async def rebuilt(self) -> bool:
        """Bring the new browser that there is to where the run is; False when it was lost on the way.

        Raises:
            NotRecovered: nothing leads there.
        """
        return await self._survives(self._rebuilt)

    async def _in_another(self, call: Callable[[], Awaitable[None]]) -> None:
        """Get a new browser and bring it somewhere; once more as often as it is lost on the way.

        Raises:
            NotRecovered: it was lost too often, or nothing leads there.
        """
        for _ in range(policies.LOSSES_PER_STEP):
            await self.browser.replace()
            if await self._survives(call):
                return
        raise NotRecovered(_LOST_AGAIN)

    @staticmethod
    async def _survives(call: Callable[[], Awaitable[None]]) -> bool:
        """Return whether the browser outlived the call."""
        try:
            await call()
        except ActivityError as error:
            if not policies.is_loss(error):
                raise
            return False
        return True

    async def _rebuilt(self) -> None:
        """Bring a new browser to where the run is; begin again in another one if the site ends the session on the way.

        Raises:
            NotRecovered: nothing leads there.
            ActivityError: that browser was lost too.
        """
        message = ""
        for _ in range(policies.SIGN_INS_PER_STEP):
            try:
                return await self._rebuilt_once()
            except _SignedOut as out:
                message = f"{self._why}, and the site has ended the session again each time: {out}"
            await self.browser.replace()
        raise NotRecovered(message)

    async def _rebuilt_once(self) -> None:
        faults: list[str] = []
        is_fresh = True
        await self.signing_in.enter()
        for checkpoint in reversed(self.checkpoints.known):
            if checkpoint.position <= self.context.state.last_commit or checkpoint.position > self.context.position:
                continue
            if not is_fresh:
                await self.browser.replace()
            is_fresh = False
            try:
                await self._restored(checkpoint)
                await self._redo(range(checkpoint.position, self.context.position))
            except _SignedOut:
                raise
            except _Astray as astray:
                faults.append(f"checkpoint after step {checkpoint.position}: {astray}")
            else:
                return
        start = _start_of(self.context)
        if start is None:
            raise NotRecovered(_lost(self.context.plan, self.context.state.last_commit, faults, self._why))
        if not is_fresh:
            await self.browser.replace()
            await self.signing_in.enter()
        try:
            await self._redo(range(start, self.context.position))
        except _SignedOut:
            raise
        except _Astray as astray:
            message = f"{self._why}, and another one could not be brought there: {astray}"
            raise NotRecovered("; ".join((message, *faults))) from None

    async def _restored(self, checkpoint: Checkpoint) -> None:
        """Bring a new browser to a checkpoint.

        Raises:
            _Astray: it does not hold.
        """
        self.context.show(f"restoring the checkpoint after step {checkpoint.position}")
        # Scripts hold what was done in the document: it is opened as it was first, and the steps in it done again.
        page = next((known for known in self.checkpoints.known if known.position == checkpoint.page_from), checkpoint)
        state = self.signing_in.state_for(checkpoint.position) or checkpoint.state
        restore = RestoreCheckpoint(session=self.browser.ref, epoch=self.browser.epoch, state=state, page=page.state)
        await self._held("session.restore", restore, f"open the page of the checkpoint after step {page.position}")
        await self._redo(range(checkpoint.page_from, checkpoint.position))
        expected = self.context.plan[checkpoint.position - 1].expect if checkpoint.position else ()
        values = self.context.course.values_at(checkpoint.position - 1)
        check = CheckCheckpoint(
            session=self.browser.ref,
            epoch=self.browser.epoch,
            state=checkpoint.state,
            expect=tuple(fill_predicate(expected[index], values) for index in checkpoint.held),
        )
        await self._held("session.check", check, f"check the checkpoint after step {checkpoint.position}")

    async def _held(self, name: str, request: Record, summary: str) -> None:
        try:
            restored = await self._call(name, request, Restored, summary)
        except ActivityError as error:
            if policies.is_loss(error) or isinstance(error.cause, CancelledError):
                raise
            raise _Astray(str(error.cause)) from error
        if not restored.held:
            raise _Astray(restored.why)

    async def _call(self, name: str, request: Record, result_type: type[_Result], summary: str) -> _Result:
        return await self.browser.call(
            name,
            request,
            result_type,
            activity_id=f"{name.replace('.', '-')}-e{self.browser.epoch}",
            summary=summary,
            limit=policies.OPEN_LIMIT,
            retry_policy=policies.RESTORING,
        )

    async def _redo(self, positions: range) -> None:
        """Do steps again that may be repeated.

        Raises:
            _Astray: one of them does not work out.
        """
        for position in positions:
            if isinstance(self.context.plan[position], NOT_DONE_AGAIN) or position in self.context.state.left_out:
                continue
            self.context.show(f"rebuilding: {self.context.plan[position].title}")
            outcome = await self._reapplied(position)
            if outcome.status is Status.BLOCKED:
                raise TaskBlocked(outcome.rule, f"on the way back, step {position + 1}: {outcome.message}")
            if outcome.reason == SIGNED_OUT_STEP and self.signing_in.is_used:
                raise _SignedOut(f"step {position + 1} {outcome.status}: {outcome.message}")
            if outcome.status is not Status.DONE:
                raise _Astray(f"step {position + 1} {outcome.status} ({outcome.reason})")

    async def _reapplied(self, position: int) -> StepOutcome:
        """Do one step again in the new browser.

        Everything that rules had cleared away may be back there, and what was learned of the step may be lost with the
        store: then the model is asked, as it was the first time.
        """
        attempt = self.attempts.at(position)
        attempt.spent = self.overrides.spent
        if isinstance(attempt.step, VerificationCode | SolveCaptcha):  # what was given before is used up
            left = await supplied(self.person, attempt, stays_awake=True)
            if left is not None:
                return left
        outcome = await attempt.reapply()
        due = [rule for rule in outcome.due if self.overrides.allows(rule)]
        if outcome.status is not Status.DONE and due:
            for rule in due:
                for step in self.overrides.attempts(rule, position):
                    step.note(await step.perform())
            attempt.retry("override")
            attempt.spent = ("*",)
            outcome = await attempt.reapply()
        if outcome.status is Status.MISSED and await self.planning.names(attempt, outcome):
            outcome = await attempt.reapply()
        return outcome

    # --------------------------------------------------------------------------------------- hibernation

    async def wait(self, is_over: Callable[[], bool]) -> None:
        """Wait for a person, however long it takes; after a while without a browser."""
        if self.browser.is_asleep or not self.context.run.hibernate_after_s:
            await workflow.wait_condition(is_over)
            return
        self.checkpoints.take_over(self.context.position)
        self._paused = await self._taken(self.context.position)
        try:
            await workflow.wait_condition(
                is_over,
                timeout=timedelta(seconds=self.context.run.hibernate_after_s),
                timeout_summary="until the browser is released",
            )
        except TimeoutError:
            await self.browser.hibernate()
            await workflow.wait_condition(is_over)

    async def reopened(self) -> None:
        """Take a new browser if the old one was given back, with the page as it was left, else as before the step.

        Raises:
            NotRecovered: nothing leads there.
        """
        if not self.browser.is_asleep:
            return
        self.context.show("waking up")
        await self._in_another(self._as_left)

    async def _as_left(self, *, is_done: bool = False) -> None:
        """Bring a new browser to the page as it was left, else to that before the step.

        Raises:
            NotRecovered: a step that must not be repeated counts as done, and its page cannot be brought back.
        """
        if self._paused is not None:
            try:
                await self._restored(self._paused.model_copy(update={"page_from": self._paused.position}))
            except _Astray as astray:
                if is_done and not self.attempts.at(self.context.position).may_repeat:
                    fault = f"the page as it was left: {astray}"
                    raise NotRecovered(_lost(self.context.plan, self.context.position, [fault])) from None
                await self.browser.replace()
            else:
                return
        await self._rebuilt()

    async def _taken(self, position: int) -> Checkpoint | None:
        """A checkpoint of the page as it is; None when there is none to be had."""
        request = TakeCheckpoint(
            session=self.browser.ref, epoch=self.browser.epoch, position=position, earlier=self.checkpoints.newest
        )
        try:
            taken: Checkpoint | None = await self.browser.call(
                "session.checkpoint",
                request,
                Checkpoint | None,  # type: ignore[arg-type]  # a union is a type to Temporal
                activity_id=f"{position + 1:04d}-checkpoint-e{self.browser.epoch}",
                summary="checkpoint of the page as it is",
                limit=policies.OPEN_LIMIT,
                retry_policy=policies.ONCE,
            )
        except ActivityError as error:
            workflow.logger.warning("no checkpoint taken before waiting: %s", error.cause)
            return None
        return taken

    async def wake(self, verdict: PersonVerdict) -> None:
        """Take a new browser if the old one was given back, and bring it to where the run goes on.

        Raises:
            NotRecovered: nothing leads there.
        """
        if not self.browser.is_asleep or verdict.verdict == "abandon":
            return
        self.context.show("waking up")
        is_done = verdict.verdict in ("done", "solved")
        await self._in_another((lambda: self._as_left(is_done=True)) if is_done else self._rebuilt)


def _start_of(context: RunContext) -> int | None:
    """Return the step to start from without a commit on the way: the first, else the last goto; None without one."""
    last_commit, plan = context.state.last_commit, context.plan
    if last_commit < 0:
        return 0
    last = min(context.position, len(plan) - 1)
    return next((at for at in range(last, last_commit, -1) if isinstance(plan[at], Goto)), None)


def _lost(plan: Sequence[Step], last_commit: int, faults: list[str], gone: str = LOST) -> str:
    """Explain that nothing leads back across a commit; `gone` is why the run has to be brought back."""
    step = f"step {last_commit + 1} ({plan[last_commit].title})"
    why = "; ".join(faults) or "there is no checkpoint after it"
    return (
        f"{gone}, and {step} must not be done again to get back to here. {why}. "
        f"No checkpoint brings back {NOT_RESTORED}. That step is done: look at the site, and have the steps from "
        f"{last_commit + 2} on done, by `replaywright resume` or by hand"
    )
