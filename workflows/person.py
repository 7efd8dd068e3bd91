"""The person whom a run asks: the question, the answer, and where both are written down."""

from collections.abc import Awaitable, Callable

from temporalio import workflow

from workflows import policies
from workflows.attempts import Attempt
from workflows.board import Board
from workflows.planning import Planning

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.runs import PersonVerdict, SettleRequest


class Person:
    """Waits for answers; there is one question at a time."""

    def __init__(
        self,
        board: Board,
        planning: Planning,
        show: Callable[[], None],
        *,
        wait: Callable[[Callable[[], bool]], Awaitable[None]],
        wake: Callable[[PersonVerdict], Awaitable[None]],
    ) -> None:
        """`wait` waits until there is an answer, which may give the browser back; `wake` takes one for what follows."""
        self._wait = wait
        self._wake = wake
        self._board = board
        self._planning = planning
        self._show = show
        self._verdict: PersonVerdict | None = None

    async def asked(self, question: str, answers: tuple[str, ...]) -> PersonVerdict:
        """A person's answer, however long it takes."""
        since = workflow.now()
        self._board.ask(question, answers)
        self._show()
        await self._wait(lambda: self._verdict is not None)
        verdict, self._verdict = self._verdict, None
        assert verdict is not None
        self._board.go_on()
        await self._wake(verdict)
        self._planning.leave_out((workflow.now() - since).total_seconds())
        return verdict

    def answer(self, verdict: PersonVerdict) -> None:
        """Take the answer that `check` let pass."""
        self._verdict = verdict

    def check(self, verdict: PersonVerdict, position: int) -> None:
        """Raise `ValueError` for an answer to what was not asked."""
        if self._board.status != "waiting":
            raise ValueError("this run does not wait for a decision")
        if verdict.sequence != position:
            raise ValueError(f"the run waits for step {position + 1}, not for step {verdict.sequence + 1}")
        if self._verdict is not None:
            raise ValueError("a decision was already given")
        if verdict.verdict not in self._board.answers:
            answers = ", ".join(self._board.answers)
            raise ValueError(f"{verdict.verdict} is no answer for step {verdict.sequence + 1}; it takes: {answers}")

    async def settled(self, attempt: Attempt, request: SettleRequest) -> None:
        """Write an answer to ledger and trace."""
        verdict = request.verdict
        await workflow.execute_activity(
            "effect.settle",
            request,
            activity_id=attempt.activity_id(f"settle-e{request.action.epoch}"),
            summary=f"{attempt.sequence + 1:04d} {verdict.who or 'a person'} says: {verdict.verdict}"[:200],
            task_queue=policies.browser_queue(workflow.info().task_queue),
            start_to_close_timeout=policies.READ_LIMIT,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.OPENING,
        )
