"""Steps that a person does in the browser: asked for, waited for, and looked at before the run goes on."""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import policies
from workflows.people.lending import Lending
from workflows.people.person import Person
from workflows.session.browser import Browser
from workflows.session.recovery import Recovery
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed
from workflows.step.lists import Lists

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill
    from replaywright.domain.run.commands import HandedBackRequest
    from replaywright.domain.run.steering import Said
    from replaywright.domain.step.outcomes import StepOutcome
    from replaywright.domain.task.questions import DEADLINE, UNANSWERED, Ask, QuestionKind
    from replaywright.domain.task.steps import TakeOver
    from replaywright.domain.trace.details import summary

LOST = "; the browser was lost before it was handed back: what was done in it has to be looked at, and done again"


class TakingOver:
    """Has a person do a step."""

    def __init__(self, browser: Browser, lists: Lists, person: Person, lending: Lending, recovery: Recovery) -> None:
        self._browser = browser
        self._lists = lists
        self._person = person
        self._lending = lending
        self._recovery = recovery

    async def over(self, attempt: Attempt) -> StepOutcome:
        """Wait until the person hands the browser back; what has come of it by then.

        Raises:
            TaskFailed: the person abandons the run, or does not answer in time.
        """
        note = ""
        while True:
            verdict = await self._person.asked(_ask_for(attempt, note))
            said = Said(who=verdict.who, why=verdict.why)
            if verdict.verdict == "skip" and verdict.who == DEADLINE:
                return await self._lists.leave_out(attempt, UNANSWERED, verdict.why)
            if verdict.verdict == "abandon":
                raise TaskFailed("abandoned", f"ended at step {attempt.sequence + 1} by {said}")
            outcome = None if self._lending.was_lost else await self._looked(attempt, said)
            if outcome is not None:
                return outcome
            note = LOST
            attempt.after_loss()

    async def _looked(self, attempt: Attempt, said: Said) -> StepOutcome | None:
        """Check what is expected of the step; None when the page that the person left is gone."""
        for _ in range(policies.LOSSES_PER_STEP):
            try:
                outcome = await self._browser.call(
                    "step.handed_back",
                    HandedBackRequest(action=attempt.step_context(), said=said),
                    StepOutcome,
                    activity_id=attempt.activity_id(f"handed-back-e{self._browser.epoch}"),
                    summary=summary(attempt.sequence, f"{attempt.title} (by {said.who or 'a person'})"),
                    limit=timedelta(milliseconds=attempt.step.timeout_ms) + policies.MARGIN,
                )
            except ActivityError as error:
                if not policies.is_loss(error):
                    raise
                await self._recovery.recover()
                if not self._browser.adopted:
                    return None
                continue
            if outcome.checkpoint is not None:
                self._browser.taken.append(outcome.checkpoint)
            return outcome
        return None


def _ask_for(attempt: Attempt, note: str) -> Ask:
    step = attempt.step
    assert isinstance(step, TakeOver)
    return attempt.question(
        QuestionKind.TAKE_OVER,
        f"step {attempt.sequence + 1} is for a person to do: {fill(step.instruction, attempt.values)} "
        f"(`replaywright takeover` gives you the browser, the answer `done` hands it back){note}",
        ("done", "abandon"),
        within_s=step.within_s,
        remind_every_s=step.remind_every_s,
        on_timeout=step.on_timeout,
    )
