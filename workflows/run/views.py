"""Queries with which people and programs look into a run."""

from temporalio import workflow

from workflows.run.context import RunContext

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import Progress
    from replaywright.domain.run.views import STEPS_TOLD, PlanView, RunTrace


class Views:
    """Query handlers for a workflow with a `RunContext`."""

    _context: RunContext

    @workflow.query
    def progress(self) -> Progress:
        """Where the run is."""
        return self._context.progress()

    @workflow.query
    def plan(self) -> PlanView:
        """The plan as of now: each step with its state and, once it has begun, its fingerprint."""
        return self._context.planned(STEPS_TOLD)

    @workflow.query
    def trace(self) -> RunTrace:
        """The last of what this execution of the run did, from its own state."""
        return self._context.board.trace(self._context.run_id, self._context.lineage)
