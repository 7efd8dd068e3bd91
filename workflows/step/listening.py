"""Late requests of presses that a run has learned: it listens for them once, at its end."""

from datetime import timedelta

from temporalio import workflow

from workflows import policies
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.proof.proof import needs_proof
    from replaywright.domain.run.commit_requests import LateRequest, LearnedPress, Listened, ListenRequest
    from replaywright.domain.step.outcomes import StepOutcome

PRESSES_KEPT = 50


class Listening:
    """Presses without a declared effect that nothing was recorded of before."""

    def __init__(self, context: RunContext, browser: Browser) -> None:
        self._context = context
        self._browser = browser
        self._run = context.run

    @property
    def presses(self) -> tuple[LearnedPress, ...]:
        """The presses that the run has learned."""
        return self._context.state.learned_presses

    def note(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """Remember a step that was done, if it is such a press."""
        is_learned = outcome.lookup.entry_version == 0 and not (outcome.from_ledger or outcome.already_done)
        if is_learned and needs_proof(attempt.step) and attempt.step.effect is None and outcome.content_key:
            press = LearnedPress(
                sequence=attempt.sequence, fingerprint=attempt.fingerprint, content_key=outcome.content_key
            )
            self._context.change(learned_presses=(*self.presses, press)[-PRESSES_KEPT:])

    @property
    def waits_for(self) -> str:
        """Description of the wait, for people."""
        numbers = " and ".join(str(press.sequence + 1) for press in self.presses[-2:])
        return f"listening for late requests of step {numbers}, up to {self._run.task.late_ms / 1000:g} s"

    async def heard(self) -> tuple[LateRequest, ...]:
        """Listen until no press may send anything more; what was sent late.

        Raises:
            ActivityError: the worker or the browser was lost, or the policy ends the run.
        """
        request = ListenRequest(
            **self._context.scope,
            session=self._browser.ref,
            epoch=self._browser.epoch,
            presses=self.presses,
            late_ms=self._run.task.late_ms,
        )
        listened = await self._browser.call(
            "effect.listen",
            request,
            Listened,
            activity_id=f"listen-e{self._browser.epoch}",
            summary=self.waits_for,
            limit=timedelta(milliseconds=self._run.task.late_ms) + policies.READ_LIMIT,
        )
        return listened.late
