"""Late requests of inputs that a run has learned: it listens for them once, at its end."""

from datetime import timedelta

from temporalio import workflow

from workflows import policies
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.proof.proof import is_input, needs_proof
    from replaywright.domain.proof.witness import is_telling
    from replaywright.domain.run.commit_requests import LateRequest, LearnedPress, Listened, ListenRequest
    from replaywright.domain.step.outcomes import StepOutcome

PRESSES_KEPT = 50


class Listening:
    """Presses without a declared effect, and the latest input, if nothing was recorded of them before."""

    def __init__(self, context: RunContext, browser: Browser) -> None:
        self._context = context
        self._browser = browser
        self._run = context.run

    @property
    def presses(self) -> tuple[LearnedPress, ...]:
        """The presses and the input that the run has learned."""
        return self._context.state.learned_presses

    def note(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """Remember a step that was done, if it is such a press or input.

        An input whose request was seen, or that another input followed, is not listened to for its own sake.
        """
        step = attempt.step
        if not is_input(step) or outcome.from_ledger or outcome.already_done:
            return
        presses = tuple(press for press in self.presses if press.is_undeclared)
        is_undeclared = needs_proof(step) and step.effect is None
        may_send = not step.needs_witness and not any(map(is_telling, outcome.evidence.requests))
        if outcome.lookup.entry_version == 0 and outcome.content_key and (is_undeclared or may_send):
            press = LearnedPress(
                sequence=attempt.sequence,
                fingerprint=attempt.fingerprint,
                content_key=outcome.content_key,
                is_undeclared=is_undeclared,
            )
            presses = (*presses, press)[-PRESSES_KEPT:]
        if presses != self.presses:
            self._context.change(learned_presses=presses)

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
            values=dict(self._run.values),
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
