"""Steps that failed too often of late: a person says whether they are tried, where somebody can be asked."""

from collections.abc import Awaitable, Callable
from typing import Literal

from temporalio import workflow

from workflows.people.person import Person
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed
from workflows.step.lists import Lists

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput, SettleRequest
    from replaywright.domain.skill.weak_steps import WEAK_STEP
    from replaywright.domain.step.outcomes import SKIPPED_AHEAD, StepOutcome
    from replaywright.domain.task.questions import Ask, QuestionKind


class WeakSteps:
    """Asks before a weak step is begun, unless the task only wants to be warned."""

    def __init__(self, run: RunInput, lists: Lists, person: Person) -> None:
        self._lists = lists
        self._person = person
        asks = (run.on_failure or run.task.on_failure) == "ask"
        self.wanted: Literal["ask", "warn"] = run.task.on_weak_step or ("ask" if asks else "warn")
        """What becomes of a weak step."""

    async def allowed(
        self, attempt: Attempt, outcome: StepOutcome, perform: Callable[[Attempt], Awaitable[StepOutcome]]
    ) -> StepOutcome:
        """The outcome; of a step that was not begun because it is weak, what a person makes of it.

        Raises:
            TaskFailed: the person ends the run.
        """
        if outcome.reason != WEAK_STEP:
            return outcome
        skip = ("skip",) if outcome.effect.repeatable else ()
        ask = {
            "kind": QuestionKind.WEAK_STEP,
            "text": f"step {attempt.sequence + 1} ({attempt.title}) fails too often: {outcome.message}; approve has it "
            "tried all the same",
            "sequence": attempt.sequence,
            "title": attempt.title,
            "answers": ("approve", *skip, "abandon"),
        }
        verdict = await self._person.asked(Ask.model_validate(ask))
        await self._person.settled(attempt, SettleRequest(action=attempt.context(), verdict=verdict, failed=True))
        said = f"{verdict.who or 'a person'}: {verdict.why}".removesuffix(": ")
        if verdict.verdict == "approve":
            attempt.weak = "warn"
            attempt.anew("approved", outcome)
            return await perform(attempt)
        if verdict.verdict == "skip":
            left = await self._lists.leave_out(attempt, SKIPPED_AHEAD, f"left out by {said}")
            return left.model_copy(update={"warnings": (f"{SKIPPED_AHEAD}: left out by {said}",)})
        raise TaskFailed("abandoned", f"ended before step {attempt.sequence + 1}, which fails too often, by {said}")
