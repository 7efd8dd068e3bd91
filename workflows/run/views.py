"""The queries with which people and programs look into a run, and what Temporal's own UI shows of it."""

from temporalio import workflow

from workflows.plan.planning import Planning
from workflows.run.board import Board
from workflows.step.lists import Lists

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import Progress, RunResult, Totals
    from replaywright.domain.run.views import STEPS_TOLD, PlanView, RunFailure, RunTrace
    from replaywright.domain.trace.details import STEPS_SHOWN, details_of


class Views:
    """The handlers, for the workflow that has what they look at. Each is asked of its state only."""

    _board: Board
    _lists: Lists
    _planning: Planning
    _position: int
    _totals: Totals
    _lineage: str

    @workflow.query
    def progress(self) -> Progress:
        """Where the run is."""
        return self._board.progress(
            step=self._position,
            steps=len(self._lists.course.plan),
            revised_from=self._planning.revised_from,
            totals=self._totals,
        )

    @workflow.query
    def plan(self) -> PlanView:
        """The plan as of now: each step with its state and, once it has begun, its fingerprint."""
        return self._planned(STEPS_TOLD)

    def _planned(self, most: int) -> PlanView:
        revised_from = self._planning.revised_from
        return self._board.plan(self._lists.course, self._position, self._lists.left_out, revised_from, most=most)

    @workflow.query
    def trace(self) -> RunTrace:
        """The last of what this execution of the run did, from its own state."""
        return self._board.trace(workflow.info().workflow_id, self._lineage)

    def _details(self) -> str:
        """The run as Temporal's own UI shows it."""
        progress = self.progress()
        return details_of(
            progress,
            self._planned(STEPS_SHOWN),
            run_id=workflow.info().workflow_id,
            spent=self._planning.told(progress),
            ending=self._board.ending,
        )

    def _failure(self, result: RunResult) -> RunFailure:
        """What the error of a run that failed says of it."""
        at, plan = result.failed_step, self.plan().steps
        title = next((step.title for step in plan if step.sequence == at), "")
        return self._board.failure(result, title, workflow.info().workflow_id)
