"""Queries with which people look into a run under way, and updates with which they steer it.

Each update has a validator that says what is possible.
"""

from typing import Any

from temporalio import workflow

from workflows.people.lending import Lending
from workflows.people.person import Person
from workflows.people.steering import Steered
from workflows.run.context import RunContext
from workflows.session.signing_in import SigningIn

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commit_requests import PersonVerdict
    from replaywright.domain.run.runs import Progress
    from replaywright.domain.run.steering import EditStep, LentBrowser, Said, SkipStep, TakeOverRequest
    from replaywright.domain.run.views import STEPS_TOLD, PlanView, RunTrace
    from replaywright.domain.session.sessions import SessionRef


class Handlers:
    """The handlers, for the workflow that has what they speak to."""

    _context: RunContext
    _steering: Steered
    _lending: Lending
    _person: Person
    _signing_in: SigningIn

    @workflow.query
    def progress(self) -> Progress:
        """Return the progress of the run."""
        return self._context.progress()

    @workflow.query
    def plan(self) -> PlanView:
        """The plan as of now: each step with its state and, once it has begun, its fingerprint."""
        return self._context.planned(STEPS_TOLD)

    @workflow.query
    def trace(self) -> RunTrace:
        """The last of what this execution of the run did, from its own state."""
        return self._context.board.trace(self._context.run_id, self._context.lineage)

    @workflow.query
    def browser(self) -> SessionRef | None:
        """Return the session with the run's browser; None while it has none."""
        return self._lending.session

    @workflow.query
    def step_written(self, sequence: int) -> dict[str, Any]:
        """The step at this index as a task file has it: what a person changes who edits it."""
        return self._steering.written(sequence)

    @workflow.signal
    def site_session_answered(self) -> None:
        """There is an answer to the run that waits for a site session; the run asks what it is."""
        self._signing_in.is_answered = True

    @workflow.update
    async def pause(self, said: Said) -> str:
        """Pause before the next step begins, until `go_on`; says when that is."""
        return self._steering.pause(said)

    @pause.validator
    def _check_pause(self, said: Said) -> None:  # noqa: ARG002 - what Temporal passes
        self._steering.check_open("pause")

    @workflow.update
    async def go_on(self, said: Said) -> None:  # noqa: ARG002 - who it was is in the history
        """End a pause."""
        self._steering.go_on()

    @go_on.validator
    def _check_go_on(self, said: Said) -> None:  # noqa: ARG002 - what Temporal passes
        self._steering.check_go_on()

    @workflow.update
    async def abort(self, said: Said) -> None:
        """End the run as failed, with the reason `aborted`; what is under way is cancelled."""
        self._steering.abort(said)

    @abort.validator
    def _check_abort(self, said: Said) -> None:  # noqa: ARG002 - what Temporal passes
        self._steering.check_open("abort")

    @workflow.update
    async def skip_step(self, asked: SkipStep) -> None:
        """Leave out a step that has not begun."""
        self._steering.skip(asked)

    @skip_step.validator
    def _check_skip_step(self, asked: SkipStep) -> None:
        self._steering.check_skip(asked)

    @workflow.update
    async def edit_step(self, asked: EditStep) -> None:
        """Do a step otherwise that failed, and that the run asks about, or that a pause holds."""
        self._steering.edit = asked
        if self._context.board.question is None:
            self._steering.go_on()
        else:
            self._person.answer(_as_retry(asked))

    @edit_step.validator
    def _check_edit_step(self, asked: EditStep) -> None:
        self._steering.check_edit(asked)
        if self._context.board.question is not None:
            self._person.check(_as_retry(asked))

    @workflow.update
    async def take_over(self, asked: TakeOverRequest) -> LentBrowser:
        """Lend the browser of a run that waits to a person; says where its address is to be found."""
        return await self._lending.take_over(asked)

    @take_over.validator
    def _check_take_over(self, asked: TakeOverRequest) -> None:  # noqa: ARG002 - what Temporal passes
        self._steering.check_open("take over")
        self._lending.check()


def _as_retry(asked: EditStep) -> PersonVerdict:
    """An edited step is an answer to the question that its failure has raised."""
    return PersonVerdict(
        sequence=asked.sequence, verdict="retry", question=asked.question, who=asked.who, why=asked.why
    )
