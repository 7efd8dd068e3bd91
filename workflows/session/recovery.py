"""Getting a lost browser back: the live one, else a new one that is brought to where the run is.

A new browser begins at the newest checkpoint that holds, at an older one if that does not, or at the first step; the
steps since are done again. A step that must not be repeated is never crossed: without a checkpoint after it that
holds, the run ends and says so.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.run.telling import recovery_told
from workflows.session.browser import Browser
from workflows.step.attempts import NOT_DONE_AGAIN, Attempt
from workflows.step.failures import TaskBlocked, TaskFailed
from workflows.step.overrides import Overrides

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record
    from replaywright.domain.plan.loops import Course
    from replaywright.domain.predicate.predicates import fill_predicate
    from replaywright.domain.run.runs import RESOLVED, PersonVerdict, RunInput, step_title
    from replaywright.domain.step.checkpoints import (
        CHECKPOINTS_KEPT,
        NOT_RESTORED,
        CheckCheckpoint,
        Checkpoint,
        RestoreCheckpoint,
        Restored,
        TakeCheckpoint,
    )
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.step.overrides import Due
    from replaywright.domain.task.steps import Goto, SolveCaptcha, Step, VerificationCode

_Result = TypeVar("_Result")


LOST = "the browser was lost"
LEFT = "the page that the step acted in was left, as what it sent was thrown away"
"""Why another browser is brought to where the run is."""


class NotRecovered(TaskFailed):
    """The browser is lost, and nothing leads back to where the run was; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__("session_lost", message)


class _Astray(Exception):
    """A checkpoint does not hold; the message says why."""


@dataclass(frozen=True)
class Place:
    """Where a run is."""

    course: Course
    position: int
    """Index of the step under way."""
    last_commit: int
    """Index of the last step that must not be repeated; -1 when there is none."""
    left_out: frozenset[int] = frozenset()
    """Indexes of steps that were not performed, and are not performed again."""

    @property
    def plan(self) -> tuple[Step, ...]:
        """The steps, those of lists written out."""
        return self.course.plan


class Recovery:
    """What one run knows of its way back."""

    def __init__(
        self,
        browser: Browser,
        run: RunInput,
        overrides: Overrides,
        *,
        attempt: Callable[[int], Attempt],
        clear: Callable[[Due, int], Awaitable[None]],
        ask: Callable[[Attempt, StepOutcome], Awaitable[bool]],
        supply: Callable[[Attempt], Awaitable[StepOutcome | None]],
        show: Callable[[str], None],
    ) -> None:
        """The run's own ways of doing things.

        Args:
            browser: the run's.
            run: its input.
            overrides: its override rules.
            attempt: makes one at a step of the plan.
            clear: performs an override rule.
            ask: has the model name the element of a step that missed it; whether it did.
            supply: asks a person for what a step needs; its outcome if that is all there is to do.
            show: tells what is done.
        """
        self._browser = browser
        self._run = run
        self._overrides = overrides
        self._attempt = attempt
        self._clear = clear
        self._ask = ask
        self._supply = supply
        self._show = show
        self.checkpoints = run.state.checkpoints
        """The newest, oldest first."""
        self._why = LOST
        self.page_from = run.state.page_from
        """Index of the first step that was done in the document that is shown."""
        self._paused: Checkpoint | None = None

    # --------------------------------------------------------------------------------------- checkpoints

    @property
    def newest(self) -> str:
        """Digest of the newest checkpoint."""
        return self.checkpoints[-1].state if self.checkpoints else ""

    def is_due(self, position: int) -> bool:
        """Whether the step at `position` is to be followed by a checkpoint, whatever it does."""
        last = self.checkpoints[-1].position if self.checkpoints else 0
        return (position + 1 - last) % self._run.checkpoint_every == 0  # it may not be known yet when the next begins

    def note(self, outcome: StepOutcome, position: int) -> None:
        """The step at `position` is done."""
        self._take_over(position)
        committed = not outcome.effect.repeatable
        if outcome.moved or committed:
            self.page_from = max(self.page_from, position + 1)
        if committed:
            self.checkpoints = tuple(known for known in self.checkpoints if known.position > position)
        self._take_over(position + 1)

    async def complete(self, outcome: StepOutcome, position: int) -> None:
        """Take the checkpoint of a commit that was not seen to end: the ledger, or a look at its page, told of it.

        Only in the browser that it was done in; a new one shows the page of before.
        """
        was_told = outcome.from_ledger or outcome.reason == RESOLVED
        if outcome.effect.repeatable or not (was_told and self._browser.adopted):
            return
        taken = await self._taken(position + 1)
        if taken is not None:
            self._browser.taken.append(taken)

    def _take_over(self, position: int) -> None:
        """Remember what was taken up to this step."""
        for taken in self._browser.taken:
            if taken.position == position:
                kept = taken.model_copy(update={"page_from": self.page_from})
                page = [known for known in self.checkpoints if known.position == self.page_from]
                newest = [known for known in self.checkpoints if known not in page][1 - CHECKPOINTS_KEPT :]
                self.checkpoints = (*page, *newest, kept)
        self._browser.taken = [taken for taken in self._browser.taken if taken.position > position]

    async def brought(self, checkpoint: Checkpoint, place: Place) -> str:
        """Bring a new browser from a checkpoint to where the run is; why that did not work, else empty."""
        try:
            await self._restored(checkpoint, place)
            await self._again(range(checkpoint.position, place.position), place)
        except (_Astray, TaskBlocked) as astray:
            return str(astray)
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            return policies.said(error)
        return ""

    # ------------------------------------------------------------------------------------------ recovery

    async def recover(self, place: Place) -> None:
        """Get the live browser back, or a new one that is brought to where the run is.

        Raises:
            NotRecovered: nothing leads there.
        """
        self._show("finding the browser again")
        self._take_over(place.position)
        with recovery_told() as recovering:
            for _ in range(policies.LOSSES_PER_STEP):
                if await self._browser.recover():
                    recovering.kind = "adopted"
                    return
                if await self.rebuilt(place):
                    recovering.kind = "rebuilt"
                    return
            raise NotRecovered(f"the browser was lost {policies.LOSSES_PER_STEP} times in a row on the way back")

    async def leave(self, place: Place) -> None:
        """Go on in a new browser: in a document whose request was thrown away nothing is done again.

        It may repeat the request by itself, or take no second press for one.

        Raises:
            NotRecovered: nothing leads back to where the run is.
        """
        self._show("going on in a new browser")
        self._take_over(place.position)
        self._why = LEFT
        try:
            for _ in range(policies.LOSSES_PER_STEP):
                await self._browser.replace()
                if await self.rebuilt(place):
                    return
        finally:
            self._why = LOST
        raise NotRecovered(f"the browser was lost {policies.LOSSES_PER_STEP} times in a row on the way back")

    async def rebuilt(self, place: Place) -> bool:
        """Bring the new browser that there is to where the run is; False when it was lost on the way.

        Raises:
            NotRecovered: nothing leads there.
        """
        return await self._survives(lambda: self._rebuilt(place))

    @staticmethod
    async def _survives(call: Callable[[], Awaitable[None]]) -> bool:
        """Whether the browser was not lost on the way."""
        try:
            await call()
        except ActivityError as error:
            if not policies.is_loss(error):
                raise
            return False
        return True

    async def _rebuilt(self, place: Place) -> None:
        """Bring a new browser to where the run is.

        Raises:
            NotRecovered: nothing leads there.
            ActivityError: that browser was lost too.
        """
        told: list[str] = []
        is_fresh = True
        for checkpoint in reversed(self.checkpoints):
            if checkpoint.position <= place.last_commit or checkpoint.position > place.position:
                continue
            if not is_fresh:
                await self._browser.replace()
            is_fresh = False
            try:
                await self._restored(checkpoint, place)
                await self._again(range(checkpoint.position, place.position), place)
            except _Astray as astray:
                told.append(f"checkpoint after step {checkpoint.position}: {astray}")
            else:
                return
        start = _start_of(place)
        if start is None:
            raise NotRecovered(_lost(place, told, self._why))
        if not is_fresh:
            await self._browser.replace()
        try:
            await self._again(range(start, place.position), place)
        except _Astray as astray:
            said = f"{self._why}, and another one could not be brought there: {astray}"
            raise NotRecovered("; ".join((said, *told))) from None

    async def _restored(self, checkpoint: Checkpoint, place: Place) -> None:
        """Bring a new browser to a checkpoint.

        Raises:
            _Astray: it does not hold.
        """
        self._show(f"restoring the checkpoint after step {checkpoint.position}")
        # Scripts hold what was done in the document: it is opened as it was first, and the steps in it done again.
        page = next((known for known in self.checkpoints if known.position == checkpoint.page_from), checkpoint)
        restore = RestoreCheckpoint(
            session=self._browser.ref, epoch=self._browser.epoch, state=checkpoint.state, page=page.state
        )
        await self._held("session.restore", restore, f"open the page of the checkpoint after step {page.position}")
        await self._again(range(checkpoint.page_from, checkpoint.position), place)
        expected = place.plan[checkpoint.position - 1].expect if checkpoint.position else ()
        values = place.course.values_at(checkpoint.position - 1)
        check = CheckCheckpoint(
            session=self._browser.ref,
            epoch=self._browser.epoch,
            state=checkpoint.state,
            expect=tuple(fill_predicate(expected[index], values) for index in checkpoint.held),
        )
        await self._held("session.check", check, f"does the checkpoint after step {checkpoint.position} hold?")

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
        return await self._browser.call(
            name,
            request,
            result_type,
            activity_id=f"{name.replace('.', '-')}-e{self._browser.epoch}",
            summary=summary,
            limit=policies.OPEN_LIMIT,
            retry_policy=policies.RESTORING,
        )

    async def _again(self, positions: range, place: Place) -> None:
        """Do steps again that may be repeated.

        Raises:
            _Astray: one of them does not work out.
        """
        for position in positions:
            if isinstance(place.plan[position], NOT_DONE_AGAIN) or position in place.left_out:
                continue
            self._show(f"rebuilding: {step_title(place.plan[position])}")
            outcome = await self._reapplied(position)
            if outcome.status is Status.BLOCKED:
                raise TaskBlocked(outcome.rule, f"on the way back, step {position + 1}: {outcome.message}")
            if outcome.status is not Status.DONE:
                raise _Astray(f"step {position + 1} {outcome.status} ({outcome.reason})")

    async def _reapplied(self, position: int) -> StepOutcome:
        """Do one step again in the new browser.

        Everything that rules had cleared away may be back there, and what was learned of the step may be lost with the
        store: then the model is asked, as it was the first time.
        """
        attempt = self._attempt(position)
        attempt.spent = self._overrides.spent
        if isinstance(attempt.step, VerificationCode | SolveCaptcha):  # what was given before is used up
            left = await self._supply(attempt)
            if left is not None:
                return left
        outcome = await attempt.reapply()
        due = [rule for rule in outcome.due if self._overrides.allows(rule)]
        if outcome.status is not Status.DONE and due:
            for rule in due:
                await self._clear(rule, position)
            attempt.again("override")
            attempt.spent = ("*",)
            outcome = await attempt.reapply()
        if outcome.status is Status.MISSED and await self._ask(attempt, outcome):
            outcome = await attempt.reapply()
        return outcome

    # --------------------------------------------------------------------------------------- hibernation

    async def wait(self, is_over: Callable[[], bool], place: Place) -> None:
        """Wait for a person, however long it takes; after a while without a browser."""
        if self._browser.is_asleep or not self._run.hibernate_after_s:
            await workflow.wait_condition(is_over)
            return
        self._take_over(place.position)
        self._paused = await self._taken(place.position)
        try:
            await workflow.wait_condition(
                is_over,
                timeout=timedelta(seconds=self._run.hibernate_after_s),
                timeout_summary="then the browser is given back",
            )
        except TimeoutError:
            await self._browser.hibernate()
            await workflow.wait_condition(is_over)

    async def reopened(self, place: Place) -> None:
        """Take a new browser if the old one was given back, with the page as it was left, else as before the step.

        Raises:
            NotRecovered: nothing leads there.
        """
        if not self._browser.is_asleep:
            return
        self._show("waking up")
        for _ in range(policies.LOSSES_PER_STEP):
            await self._browser.replace()
            if await self._survives(lambda: self._as_left(place)):
                return
        raise NotRecovered(f"the browser was lost {policies.LOSSES_PER_STEP} times in a row on the way back")

    async def _as_left(self, place: Place) -> None:
        if self._paused is not None:
            try:
                await self._restored(self._paused.model_copy(update={"page_from": self._paused.position}), place)
            except _Astray:
                await self._browser.replace()
            else:
                return
        await self._rebuilt(place)

    async def _taken(self, position: int) -> Checkpoint | None:
        """A checkpoint of the page as it is; None when there is none to be had."""
        request = TakeCheckpoint(
            session=self._browser.ref, epoch=self._browser.epoch, position=position, earlier=self.newest
        )
        try:
            taken: Checkpoint | None = await self._browser.call(
                "session.checkpoint",
                request,
                Checkpoint | None,  # type: ignore[arg-type]  # a union is a type to Temporal
                activity_id=f"{position + 1:04d}-checkpoint-e{self._browser.epoch}",
                summary="checkpoint of the page as it is",
                limit=policies.OPEN_LIMIT,
                retry_policy=policies.ONCE,
            )
        except ActivityError as error:
            workflow.logger.warning("no checkpoint before waiting: %s", error.cause)
            return None
        return taken

    async def wake(self, verdict: PersonVerdict, place: Place) -> None:
        """Take a new browser if the old one was given back, and bring it to where the run goes on.

        Raises:
            NotRecovered: nothing leads there.
        """
        if not self._browser.is_asleep or verdict.verdict == "abandon":
            return
        self._show("waking up")
        for _ in range(policies.LOSSES_PER_STEP):
            await self._browser.replace()
            if await self._survives(lambda: self._brought(verdict, place)):
                return
        raise NotRecovered(f"the browser was lost {policies.LOSSES_PER_STEP} times in a row on the way back")

    async def _brought(self, verdict: PersonVerdict, place: Place) -> None:
        """To the page as it was left, when the step counts as done; else to that before the step."""
        if verdict.verdict in ("done", "solved") and self._paused is not None:
            try:
                left = self._paused.model_copy(update={"page_from": self._paused.position})
                await self._restored(left, place)
            except _Astray as astray:
                if not self._attempt(place.position).may_repeat:
                    told = f"the page as it was left: {astray}"
                    raise NotRecovered(
                        _lost(replace(place, position=place.position + 1, last_commit=place.position), [told])
                    ) from None
                await self._browser.replace()
            else:
                return
        await self._rebuilt(place)


def _start_of(place: Place) -> int | None:
    """The step to start from so that nothing that must not be repeated is: the beginning, else the last goto."""
    if place.last_commit < 0:
        return 0
    last = min(place.position, len(place.plan) - 1)
    return next((at for at in range(last, place.last_commit, -1) if isinstance(place.plan[at], Goto)), None)


def _lost(place: Place, told: list[str], gone: str = LOST) -> str:
    """What there is to say when nothing leads back across a step; `gone` is why it is to be led back."""
    step = f"step {place.last_commit + 1} ({step_title(place.plan[place.last_commit])})"
    why = "; ".join(told) or "there is no checkpoint after it"
    return (
        f"{gone}, and {step} must not be done again to get back to here. {why}. "
        f"No checkpoint brings back {NOT_RESTORED}. That step is done: look at the site, and have the steps from "
        f"{place.last_commit + 2} on done, by `replaywright resume` or by hand"
    )
