"""View of a run under way: its lines, its status and its question."""

import asyncio
import shlex

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.plan.loops import Course
    from replaywright.domain.run.model_requests import Revision
    from replaywright.domain.run.runs import Progress, RunResult, RunState
    from replaywright.domain.run.standing import STATUSES, OwnStatus
    from replaywright.domain.run.views import (
        LINES_TOLD,
        PlanView,
        RunFailure,
        RunTrace,
        StepInPlan,
        StepState,
        TraceLine,
    )
    from replaywright.domain.session.sessions import Recycling
    from replaywright.domain.step.outcomes import Status
    from replaywright.domain.task.questions import Question
    from replaywright.domain.trace.details import how

LINES_KEPT = 100
"""Lines of progress that a query returns at most."""


class Board:
    """The lines of the steps, what the run is doing, and what it waits for."""

    def __init__(self) -> None:
        self.status: OwnStatus = "running"
        self.doing = ""
        self.ending = ""
        """Reason of the failure."""
        self.question: Question | None = None
        """Open question to a person; None while nothing waits."""
        self.is_lent = False
        """True while a person drives the browser."""
        self._paused = ""
        self._aborted = False
        self._lines: list[TraceLine] = []
        self._added = 0

    def abort(self) -> None:
        """A person has ended the run."""
        self._aborted = True

    @property
    def stops(self) -> bool:
        """Return True if the run is to end, aborted or cancelled: nothing more is begun.

        To be asked before anything is begun or waited for: what was under way may have swallowed the request by
        ending all the same.
        """
        return self._aborted or workflow.cancellation_reason() is not None

    def check_stops(self) -> None:
        """Raise `CancelledError` if the run is to end: what was under way may have swallowed the request."""
        if self.stops:
            raise asyncio.CancelledError

    def ask(self, question: Question) -> None:
        """The run waits for a person."""
        self.question, self.status = question, "waiting"

    def remind(self) -> Question:
        """Add the line of a reminder; the question with one more."""
        assert self.question is not None
        self.question = self.question.model_copy(update={"reminders": self.question.reminders + 1})
        since = self.question.since.strftime("%Y-%m-%d %H:%M UTC")
        self.note_text(f"reminder {self.question.reminders}: step {self.question.sequence + 1} waits since {since}")
        return self.question

    def pause(self, why: str) -> None:
        """The run is paused."""
        self._paused, self.status = why, "paused"

    def go_on(self) -> None:
        """The question, or the pause, is over."""
        self.question, self._paused, self.status = None, "", "running"

    def end(self, status: OwnStatus, ending: str = "") -> None:
        """The run is over; `ending` says why it came to nothing, if so."""
        self.go_on()
        self.status, self.doing, self.ending = status, "", ending

    def add(self, line: TraceLine) -> None:
        """Add a line."""
        self._added += 1
        self._lines.append(line.model_copy(update={"number": self._added, "at": workflow.now()}))
        del self._lines[:-LINES_KEPT]

    def note_plan(self, sequence: int, revision: Revision) -> None:
        """Add the line of a revision of the plan, or of none."""
        by = " (stand-in, no language model)" if revision.usage.is_stand_in else ""
        count = len(revision.steps)
        title = f"plan revised from here: {count} steps{by}" if count else f"no revised plan{by}"
        status = Status.DONE if count else Status.MISSED
        line = TraceLine(sequence=sequence, title=title, status=status, message=revision.gave_up, kind="plan")
        self.add(line)

    def note_browser(self, recycling: Recycling) -> None:
        """Add the line of a browser that was exchanged for a new one, or was to be."""
        title = f"the browser was {'kept' if recycling.kept else 'exchanged for a new one'}, as {recycling.why}"
        status = Status.MISSED if recycling.kept else Status.DONE
        at, kept = recycling.sequence, recycling.kept
        self.add(TraceLine(sequence=at, title=title, status=status, message=kept, kind="browser"))

    def note_text(self, text: str) -> None:
        """Add a line that belongs to no step."""
        line = TraceLine(sequence=0, title=text, status=Status.DONE, kind="note")
        self.add(line)

    def progress(self, state: RunState, *, steps: int) -> Progress:
        """Return the progress of the run."""
        return Progress(
            status=self.status,
            step=state.position,
            steps=steps,
            doing=self.doing,
            waiting_for=self._paused if self.question is None else self.question.text,
            answers=() if self.question is None else self.question.answers,
            question=self.question,
            is_lent=self.is_lent,
            revised_from=state.revised_from,
            lines=tuple(self._lines),
            totals=state.totals,
        )

    def trace(self, run_id: str, lineage: str) -> RunTrace:
        """The last of what this execution of the run did."""
        lines = tuple(self._lines[-LINES_TOLD:])
        dropped = lines[0].number - 1 if lines else 0
        return RunTrace(run_id=run_id, lineage=lineage, status=self.status, lines=lines, dropped=dropped)

    def plan(self, course: Course, state: RunState, *, most: int) -> PlanView:
        """The steps around the current one, `most` of them, each with what became of it."""
        total, position = len(course.plan), state.position
        first = max(0, min(position - most // 2, total - most))
        known = {line.sequence: line for line in self._lines if line.kind == "step" and not line.override}
        return PlanView(
            total=total,
            position=position,
            revised_from=state.revised_from,
            steps=tuple(
                self._planned(course, at, state, known.get(at) if at <= position else None)
                for at in range(first, min(first + most, total))
            ),
        )

    def _planned(self, course: Course, at: int, state: RunState, line: TraceLine | None) -> StepInPlan:
        item = course.label_at(at)
        return StepInPlan(
            sequence=at,
            title=course.plan[at].title + (f" [{item}]" if item else ""),
            state=self._state(at, state),
            fingerprint="" if line is None else line.fingerprint,
            how="" if line is None else how(line),
        )

    def _state(self, at: int, state: RunState) -> StepState:
        if at in state.left_out:
            return "left_out"
        if at != state.position:
            return "done" if at < state.position else "planned"
        return STATUSES[self.status].step

    def failure(self, result: RunResult, title: str, run_id: str) -> RunFailure:
        """Return the details of a run's failure: the step, what was tried, and commands for more."""
        at = result.failed_step
        lines = [line for line in self._lines if line.sequence == at and line.kind == "step"]
        last = lines[-1] if lines else TraceLine(sequence=0, title=title, status=Status.MISSED)
        shown = "" if at is None else f" --step {at + 1}"
        name = shlex.quote(run_id)
        return RunFailure(
            step=None if at is None else at + 1,
            title="" if at is None else title,
            fingerprint=last.fingerprint,
            reason=result.reason,
            message=result.message,
            rule=result.rule,
            url=last.url,
            tried=last.tried,
            unmet=last.predicates if at is not None else tuple(each for each in result.verification if each.fails),
            evidence=result.artifacts,
            commands=(f"replaywright show {name}{shown}", f"replaywright report {name}", f"replaywright resume {name}"),
        )
