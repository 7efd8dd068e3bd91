"""State of one run that its parts share, and what people see of it."""

from collections.abc import Sequence
from typing import Any

from temporalio import workflow

from workflows.run.board import Board
from workflows.run.budget import RunBudget
from workflows.run.searchable import Searchable

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.plan.loops import Course, collected, skipped_items
    from replaywright.domain.policy.effective import Used
    from replaywright.domain.predicate.predicates import Predicate
    from replaywright.domain.run.commit_lines import COMMITS_TOLD, CommitLine
    from replaywright.domain.run.runs import FILES_KEPT, Progress, RunInput, RunResult, RunState
    from replaywright.domain.run.scope import Usage
    from replaywright.domain.run.views import PlanView, RunFailure
    from replaywright.domain.step.outcomes import ITEM_SKIPPED, LEFT_OUT, StepOutcome
    from replaywright.domain.task.steps import Goto, Step
    from replaywright.domain.trace.details import STEPS_SHOWN, details_of

WARNINGS_KEPT = 20
"""Warnings that a run's result holds at most."""


def plan_of(run: RunInput) -> tuple[Step, ...]:
    """Return the task's own steps, with the start URL opened first when they do not do so themselves."""
    steps = run.task.steps
    if run.task.url and not (steps and isinstance(steps[0], Goto)):
        return (Goto(action="goto", url=run.task.url), *steps)
    return steps


class RunContext:
    """Input, state, plan and board of one run."""

    def __init__(self, run: RunInput, lineage: str) -> None:
        self.run, self.lineage = run, lineage
        self.run_id = workflow.info().workflow_id
        self.scope: dict[str, Any] = {"run_id": self.run_id, "lineage": lineage, "tenant": run.tenant}
        """Fields that most requests have in common."""
        self.state = run.state
        """State that continue-as-new carries; changed by `change` only."""
        self.course = Course(run.state.plan or plan_of(run), run.values, run.state.loops)
        self.board = Board()
        self.budget = RunBudget(run)
        self.last: StepOutcome | None = None
        """Outcome of the last step that was done in this execution."""
        self.is_shown = True
        """False: the browser that is there has not seen all of the run, as a part was done by requests."""
        self._searchable = Searchable(run)
        for note in run.state.goal.notes if run.state.goal is not None else ():
            self.board.note_text(note)

    def change(self, **fields: object) -> None:
        """Replace fields of the state."""
        self.state = self.state.model_copy(update=fields)

    def change_goal(self, **fields: object) -> None:
        """Replace fields of the state of a run from a goal."""
        assert self.state.goal is not None, "only of a run from a goal"
        self.change(goal=self.state.goal.model_copy(update=fields))

    def count(self, **fields: int) -> None:
        """Add to the run's totals."""
        totals = self.state.totals
        self.change(totals=totals.model_copy(update={name: getattr(totals, name) + n for name, n in fields.items()}))

    def count_usage(self, usage: Usage) -> None:
        """Add what models were asked to the run's totals."""
        self.change(totals=self.state.totals.model_copy(update={"usage": self.state.totals.usage.plus(usage)}))

    def warn(self, *warnings: str) -> None:
        """Add warnings to the run's result."""
        self.change(warnings=(*self.state.warnings, *warnings)[:WARNINGS_KEPT])

    def add_commit(self, line: CommitLine) -> None:
        """Add the line of a commit step to the run's result."""
        self.change(commit_lines=(*self.state.commit_lines, line)[-COMMITS_TOLD:])

    @property
    def used(self) -> Used:
        """Amounts that a policy limits, as used by the run."""
        return self.state.used.model_copy(update={"seconds": round(self.budget.elapsed(), 3)})

    def keep_files(self, outcome: StepOutcome) -> None:
        """Add the files that a step has saved to the run's result."""
        saved = (file for file in outcome.evidence.files if file.state == "saved")
        self.change(files=tuple(dict.fromkeys((*self.state.files, *saved)))[:FILES_KEPT])

    # ------------------------------------------------------------------------------------------ the plan

    @property
    def position(self) -> int:
        """Index of the step that is next or under way."""
        return self.state.position

    @property
    def plan(self) -> tuple[Step, ...]:
        """The steps, those of lists written out."""
        return self.course.plan

    @property
    def is_at_end(self) -> bool:
        """Return True if all steps of the plan are done."""
        return self.position >= len(self.plan)

    @property
    def is_goal(self) -> bool:
        """Return True if the run began from a goal."""
        return self.state.goal is not None

    @property
    def is_unfinished(self) -> bool:
        """Return True if the planner has yet to say how the plan goes on."""
        return self.state.goal is not None and self.state.goal.learning

    @property
    def verify(self) -> tuple[Predicate, ...]:
        """Templates of what must hold at the end: the task's own, else what the planner says."""
        return self.run.task.verify or (self.state.goal.verify if self.state.goal is not None else ())

    @property
    def left_at(self) -> str:
        """Address at which the last step that was done left the page."""
        return "" if self.last is None else self.last.url

    @property
    def asks_on_failure(self) -> bool:
        """Return True if a person is asked about a step that failed."""
        return (self.run.on_failure or self.run.task.on_failure) == "ask"

    def revise(self, steps: Sequence[Step]) -> None:
        """Put other steps in the place of all from the current one on."""
        self.course = self.course.revised(self.position, steps)

    @property
    def owner(self) -> str:
        """Owner of the recordings of its steps: the task, by its name. What is being learned has none yet."""
        is_unnamed = self.state.goal is not None and self.state.goal.learning and self.run.skill is None
        return self.lineage if is_unnamed else self.run.task.task

    def advance(self, fingerprint: str, outcome: StepOutcome) -> None:
        """Go on to the next step: the current one is done, or left out."""
        state, position, course = self.state, self.position, self.course
        iteration = course.iteration_at(position)
        left_until = state.left_until
        if outcome.reason == ITEM_SKIPPED and iteration is not None:
            left_until = iteration.ends
        left_out = {*state.left_out, position} if outcome.reason in LEFT_OUT else state.left_out
        commits = {} if outcome.effect.repeatable else {"last_commit": position, "commits": (*state.commits, position)}
        self.change(
            **commits,
            extracted=collected(state.extracted, course, position, outcome.extracted),
            skipped=state.skipped + skipped_items(course, position, outcome),
            left_out=tuple(sorted(left_out)),
            left_until=left_until,
            content_keys=_with(state.content_keys, outcome.content_key),
            element_keys=_with(state.element_keys, outcome.element_key),
            previous=fingerprint,
            previous_outcome=outcome.digest,
            due=outcome.due,
            witness=outcome.witness,
            position=position + 1,
        )
        self.course = course.after(position, outcome)
        self.last = outcome

    def carried(self, **others: object) -> RunState:
        """Return the state that continue-as-new carries; `others` are the fields that other parts know."""
        is_revised = bool(self.state.revised_from or self.state.steering.edited)
        own: dict[str, Any] = {
            "plan": self.course.rolled if is_revised or self.is_goal else (),
            "loops": self.course.loops,
            "begun": self.budget.begun,
            "resumed": self.run.resume is not None,
            "used": self.used,
        }
        return self.state.model_copy(update={**own, **others})

    # --------------------------------------------------------------------------------------- what people see

    def begin(self) -> None:
        """Set the search attributes of a run that begins."""
        self._searchable.begin(self.state.totals)

    def show(self, doing: str | None = None) -> None:
        """Show what the run is doing in Temporal's UI."""
        if doing is not None:
            self.board.doing = doing
        progress = self.progress()
        workflow.set_current_details(
            details_of(
                progress,
                self.planned(STEPS_SHOWN),
                run_id=self.run_id,
                spent=self.budget.lines(progress),
                ending=self.board.ending,
            )
        )
        self._searchable.tell(self.board.status, self.state.totals)

    def progress(self) -> Progress:
        """Return where the run is."""
        return self.board.progress(self.state, steps=len(self.plan))

    def planned(self, most: int) -> PlanView:
        """Return the steps around the current one, `most` of them."""
        return self.board.plan(self.course, self.state, most=most)

    def failure(self, result: RunResult, plan: PlanView) -> RunFailure:
        """Return what the error of a run that failed says of it."""
        title = next((step.title for step in plan.steps if step.sequence == result.failed_step), "")
        return self.board.failure(result, title, self.run_id)


def _with(keys: tuple[str, ...], key: str) -> tuple[str, ...]:
    return (*keys, key) if key and key not in keys else keys
