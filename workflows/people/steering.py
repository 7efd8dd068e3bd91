"""Steering of a run under way: requests are accepted at any time and carried out between two steps.

The updates only note what is wanted; it is the run's own loop that does it, so that they add no command by themselves,
and a history from before them replays.
"""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.calls import NOTING, ask
from workflows.people.lending import Lending
from workflows.run.context import RunContext

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.steering import EditStep, NoteSteering, Said, Skip, SkipStep, Steering
    from replaywright.domain.task.actions import effect_of
    from replaywright.domain.task.editing import as_written, edited_steps
    from replaywright.domain.task.questions import QuestionKind
    from replaywright.domain.task.steps import Step, action_of
    from replaywright.domain.trace.details import event_summary
    from replaywright.errors import InputInvalid

SKIPS_KEPT = 50
"""Steps that may be waiting to be left out."""


class Steered:
    """Requests of people to one run."""

    def __init__(self, context: RunContext, lending: Lending) -> None:
        self._context = context
        self._board = context.board
        self._lending = lending
        self._main: asyncio.Task[object] | None = None
        self._at: int | None = None
        """Index of the step that has not begun yet, while the run is between two."""
        self._noted = 0
        self.aborted: Said | None = None
        """Person who aborted the run, and the reason."""
        self._insisting: asyncio.Task[None] | None = None
        self.is_ending = False
        """True: the abort has reached the run."""
        self.is_over = False
        """True: the end of the run is decided, and it takes no more requests."""
        self.all_begun = False
        """True while all steps are under way together: none can be left out any more."""
        self.edit: EditStep | None = None
        """Replacement for the step that failed."""

    @property
    def _asked(self) -> Steering:
        return self._context.state.steering

    @property
    def edited(self) -> tuple[int, ...]:
        """Indexes in the plan at which a person has changed it."""
        return self._asked.edited

    @property
    def is_changed(self) -> bool:
        """Return whether a person has paused the run, has it held before a step, or a step left out or changed."""
        asked = self._asked
        return bool(asked.skips or asked.edited) or (asked.paused, asked.hold_at) != (None, None)

    def written(self, sequence: int) -> dict[str, Any]:
        """The step at this index as a task file has it; empty if there is none."""
        plan = self._context.course.plan
        return as_written(plan[sequence]) if 0 <= sequence < len(plan) else {}

    def begin(self) -> None:
        """Note which task is the run's own: it is this one that an abort ends."""
        self._main = asyncio.current_task()

    # ------------------------------------------------------------------------------------- what is asked

    def check_open(self, what: str) -> None:
        """Raise `ValueError` if the run is ending."""
        if self.is_over or self.aborted is not None:
            raise ValueError(f"{what}: the run is ending: nothing can be asked of it any more")

    def check_go_on(self) -> None:
        """Raise `ValueError` unless the run is paused, or about to be."""
        self.check_open("continue")
        if self._asked.paused is None:
            raise ValueError(f"continue: the run is not paused; possible: {self._possible()}")

    def check_skip(self, asked: SkipStep) -> None:
        """Raise `ValueError` unless the step can still be left out."""
        self.check_open("skip")
        plan, number = self._context.course.plan, asked.sequence + 1
        position = self._context.position
        first = len(plan) if self.all_begun else position if self._at == position else position + 1
        if asked.sequence < first or asked.sequence >= len(plan):
            how = "has begun" if asked.sequence < first else f"is not in the plan, which has {len(plan)}"
            possible = f"steps {first + 1} to {len(plan)}" if first < len(plan) else "none"
            raise ValueError(f"skip: step {number} {how}; what can be left out: {possible}")
        if _commits(plan[asked.sequence]) and not asked.consequences:
            raise ValueError(
                f"skip: step {number} ({plan[asked.sequence].title}) has consequences, which would be missing: "
                "say so (--consequences), with the reason"
            )
        if len(self._asked.skips) >= SKIPS_KEPT:
            raise ValueError(f"skip: {SKIPS_KEPT} steps are to be left out already: mend the task instead")

    def check_edit(self, asked: EditStep) -> None:
        """Raise `ValueError` unless the run waits at the step, failed or held, and this could be done instead."""
        self.check_open("edit")
        question, course = self._board.question, self._context.course
        at = self._at if question is None else question.sequence
        if at is None or (question is not None and question.kind is not QuestionKind.FAILED):
            raise ValueError(f"edit: no step of this run waits because it failed; possible: {self._possible()}")
        if question is not None and asked.question and asked.question != question.id:
            raise ValueError(f"edit: question {asked.question} is over; the run waits with question {question.id}")
        if asked.sequence != at:
            raise ValueError(f"edit: the run waits at step {at + 1}, not at step {asked.sequence + 1}")
        if course.iteration_at(asked.sequence) is not None:
            raise ValueError(
                "edit: the step belongs to the items of a list, and what is changed would have to hold for all: end "
                "the run, mend the task, and resume it"
            )
        try:
            edited_steps(self._context.run.task, course.plan[asked.sequence], asked.step, asked.rest)
        except InputInvalid as exc:
            raise ValueError(f"edit: {exc}") from exc

    def pause(self, said: Said) -> str:
        """Pause before the next step begins; when that will be."""
        if self._asked.paused is None:
            self._change(paused=said)
        if self._at is not None:
            return f"paused before step {self._at + 1}"
        return "pauses before the next step" + (
            "; before that, it waits for an answer" if self._board.status == "waiting" else ""
        )

    def go_on(self) -> None:
        """End the pause, and hold the run no more."""
        self._change(paused=None, hold_at=None)

    def skip(self, asked: SkipStep) -> None:
        """Leave a step out, if it still reads the same when its turn comes."""
        step = self._context.course.plan[asked.sequence]
        one = Skip(sequence=asked.sequence, title=step.title, said=str(asked), commits=_commits(step))
        others = tuple(known for known in self._asked.skips if known.sequence != asked.sequence)
        self._change(skips=(*others, one))
        self._board.note_text(f"step {asked.sequence + 1} will be left out: {asked}")
        self._context.show()

    def abort(self, said: Said) -> None:
        """End the run: what is under way is cancelled, the browser is given back."""
        if self.aborted is not None:
            return
        self.aborted = said
        self._board.abort()
        self._insisting = asyncio.create_task(self._insist())

    async def _insist(self) -> None:
        """Cancel what is under way; once more if it ended all the same, and the run went on."""
        while self._main is not None and not (self.is_ending or self.is_over):
            self._main.cancel()
            await workflow.sleep(policies.ABORT_AGAIN, summary="until the abort is repeated")

    def _change(self, **fields: object) -> None:
        self._context.change(steering=self._asked.model_copy(update=fields))

    def _possible(self) -> str:
        """Return what can be asked of the run now."""
        if self._board.question is not None:
            return "answer, pause, skip a later step, abort"
        if self._asked.paused is not None:
            return "continue, skip, take over, abort"
        return "pause, skip a later step, abort"

    # --------------------------------------------------------------------------------------- what is done

    async def paused(self) -> None:
        """Wait while the run is paused. As for a person, the browser is given back after a while."""
        position, hold_at = self._context.position, self._asked.hold_at
        if self._asked.paused is None and hold_at is not None and self._context.course.place_of(position) >= hold_at:
            self._change(paused=Said(why="the run is held here"))
        if self._asked.paused is None or self.aborted is not None:
            return
        since, said, self._at = workflow.now(), self._asked.paused, position
        await self.note("paused", said, self._context.position)
        self._board.pause(f"paused before step {self._context.position + 1} by {said}")
        self._context.show()
        await self._lending.wait(lambda: self._asked.paused is None)
        await self._lending.awake()
        self._board.go_on()
        self._context.show()
        self._at = None
        await self.note("continued", said, self._context.position)
        await self.edited_at(position, "")
        self._context.budget.leave_out((workflow.now() - since).total_seconds())

    def skip_at(self, position: int) -> Skip | None:
        """Return the request to leave out the step; None without one, or when the step has changed since."""
        found = next((skip for skip in self._asked.skips if skip.sequence == position), None)
        if found is None:
            return None
        self._change(skips=tuple(skip for skip in self._asked.skips if skip.sequence != position))
        if self._context.course.plan[position].title != found.title:
            self._board.note_text(f"step {position + 1} is not left out: the plan has changed, it was {found.title!r}")
            return None
        return found

    async def edited_at(self, position: int, fingerprint: str) -> bool:
        """Replace the step at `position` if a person has edited it; return whether it was."""
        edit, self.edit = self.edit, None
        if edit is None or edit.sequence != position:
            return False
        course = self._context.course
        at, old = course.written(position), course.plan[position]
        self._change(hold_at=at + 1 if edit.hold else None)
        step, *rest = edited_steps(self._context.run.task, old, edit.step, edit.rest)
        plan = (step, *(course.rolled[at + 1 :] if edit.rest is None else rest))
        if plan == course.rolled[at:]:
            return True
        self._context.revise(plan)
        self._change(edited=(*self._asked.edited, position))
        self._board.note_text(f"step {position + 1} is now {step.title!r}, by {edit}")
        said = Said(who=edit.who, why=edit.why)
        changed = {"before": as_written(old), "after": as_written(step), "fingerprint": fingerprint}
        await self.note("edited", said, position, **changed)
        return True

    async def note(self, event: str, said: Said, position: int, **more: object) -> None:
        """Add a line to the trace. That it cannot be written is no reason to fail."""
        self._noted += 1
        given = {"sequence": position, "event": event, "said": said, **more}
        try:
            await ask(
                "run.steered",
                NoteSteering.model_validate({**self._context.scope, **given}),
                type(None),
                NOTING,
                activity_id=f"steered-{self._noted}-{event}",
                summary=event_summary(f"{event} by {said}"),
            )
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            workflow.logger.warning("%s not written to the trace: %s", event, error.cause)


def _commits(step: Step) -> bool:
    """Return whether the step may have consequences by its task alone."""
    return not effect_of(action_of(step), step.effect, None).repeatable
