"""What people see of a run while it is under way."""

from typing import Literal

from temporalio import workflow

from workflows.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.outcomes import LEFT_OUT, Status, StepOutcome
    from replaywright.domain.questions import Question
    from replaywright.domain.runs import Progress, Revision, StepLine, Totals
    from replaywright.domain.sessions import Recycling
    from replaywright.domain.text import inert

LINES_KEPT = 100
"""Lines of progress that a query returns at most."""
_LINES_SHOWN = 20


class Board:
    """The lines of the steps, what the run is doing, and what it waits for."""

    def __init__(self) -> None:
        self.status: Literal["running", "waiting", "paused", "done", "failed", "blocked"] = "running"
        self.doing = ""
        self.question: Question | None = None
        """What a person is asked; None while nothing waits."""
        self._paused = ""
        self.stops = False
        """Whether a person has ended the run: nothing more is begun."""
        self._lines: list[StepLine] = []

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

    def note(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """Add the line of a step."""
        self._lines.append(
            StepLine(
                sequence=attempt.sequence,
                title=attempt.title,
                status=outcome.status,
                lookup=outcome.lookup,
                from_ledger=outcome.from_ledger,
                already_done=outcome.already_done,
                warnings=outcome.warnings,
                message=outcome.message,
                artifacts=outcome.artifacts,
                left_out=outcome.reason if outcome.reason in LEFT_OUT else "",
                rule=outcome.rule,
                override=attempt.override.rpartition("-")[0],
                overruled=attempt.overruled,
            )
        )
        del self._lines[:-LINES_KEPT]

    def note_plan(self, attempt: Attempt, revision: Revision) -> None:
        """Add the line of a revision of the plan, or of none."""
        by = " (stand-in, no language model)" if revision.stand_in else ""
        count = len(revision.steps)
        title = f"plan revised from here: {count} steps{by}" if count else f"no revised plan{by}"
        status = Status.DONE if count else Status.MISSED
        line = StepLine(sequence=attempt.sequence, title=title, status=status, message=revision.gave_up, kind="plan")
        self._lines = [*self._lines, line][-LINES_KEPT:]

    def note_browser(self, told: Recycling) -> None:
        """Add the line of a browser that was exchanged for a new one, or was to be."""
        title = f"the browser was {'kept' if told.kept else 'exchanged for a new one'}, as {told.why}"
        status = Status.MISSED if told.kept else Status.DONE
        line = StepLine(sequence=told.sequence, title=title, status=status, message=told.kept, kind="browser")
        self._lines = [*self._lines, line][-LINES_KEPT:]

    def note_text(self, text: str) -> None:
        """Add a line that belongs to no step."""
        line = StepLine(sequence=0, title=text, status=Status.DONE, kind="note")
        self._lines = [*self._lines, line][-LINES_KEPT:]

    def progress(self, *, step: int, steps: int, revised_from: tuple[int, ...], totals: Totals) -> Progress:
        """Where the run is."""
        return Progress(
            status=self.status,
            step=step,
            steps=steps,
            doing=self.doing,
            waiting_for=self._paused if self.question is None else self.question.text,
            answers=() if self.question is None else self.question.answers,
            question=self.question,
            revised_from=revised_from,
            lines=tuple(self._lines),
            totals=totals,
        )

    @staticmethod
    def as_markdown(progress: Progress) -> str:
        """The same for the Temporal UI."""
        done = [
            f"{line.sequence + 1}. {inert(line.title)} — {inert(line.left_out or line.status)}"
            for line in progress.lines[-_LINES_SHOWN:]
        ]
        now = inert(progress.waiting_for or progress.doing)
        ends = None if progress.question is None else progress.question.deadline
        return (
            f"**{progress.status}** · step {progress.step} of {progress.steps}"
            + (f" · {now}" if now else "")
            + ("" if ends is None else f" · until {ends:%Y-%m-%d %H:%M} UTC")
            + "".join(f" · plan revised from step {index + 1}" for index in progress.revised_from)
            + f" · {progress.totals.usage.calls} model calls · {progress.totals.heals} heals\n\n"
            + "\n".join(done)
        )
