"""Presses that a model chose: what they would send is granted by a person, once for each kind of request in a run."""

from collections.abc import Awaitable, Callable
from typing import Final

from temporalio import workflow

from workflows.people.person import Person
from workflows.step.attempts import Attempt, begun_at

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.plan.model_limits import goal_words, instruction_words, is_own_step
    from replaywright.domain.run.runs import RunInput, SettleRequest
    from replaywright.domain.step.outcomes import StepOutcome
    from replaywright.domain.step.press_grants import UNGRANTED, Consent, Consequence, Grant
    from replaywright.domain.task.actions import ACTIONS, Effect
    from replaywright.domain.task.questions import Ask, QuestionKind, quoted
    from replaywright.domain.task.steps import Step, action_of

_DECLARED: Final = (Effect.IDEMPOTENT, Effect.COMMIT, Effect.IRREVERSIBLE)


class Consents:
    """Knows what was granted and what was not, and asks about the rest."""

    def __init__(
        self,
        run: RunInput,
        person: Person,
        leave_epoch: Callable[[StepOutcome], None],
        leave: Callable[[], Awaitable[None]],
    ) -> None:
        """`leave` goes on in a new browser that is brought to where the run is."""
        self._run = run
        self._person = person
        self._leave_epoch = leave_epoch
        self._leave = leave
        self.grants = run.state.grants
        self.denials = run.state.denials

    def behind(self, step: Step) -> Consent | None:
        """What stands behind a step whose element a model may choose; None where its author has declared its effect.

        The steps of a skill are a model's, too, until their recording says otherwise.
        """
        run = self._run
        has_author = run.skill is None and run.state.goal is None and is_own_step(step, run.task.steps)
        if not ACTIONS[action_of(step)].can_trigger or (has_author and step.effect in _DECLARED):
            return None
        words = (goal_words(run.task.goal), instruction_words(step) if has_author else "")
        return Consent(
            words=tuple(filter(None, words)), site=begun_at(run), granted=self.grants, is_planned=not has_author
        )

    async def decided(self, attempt: Attempt, perform: Callable[[Attempt], Awaitable[StepOutcome]]) -> StepOutcome:
        """The outcome of an attempt; where its request was held, a person is asked, and it is performed again."""
        while True:
            outcome = await perform(attempt)
            wanted = outcome.consequence
            if outcome.reason != UNGRANTED or wanted is None:
                return outcome
            await self._leave()
            if wanted.kind in self.denials or wanted.kind in {grant.kind for grant in self.grants}:
                return outcome
            verdict = await self._person.asked(_question(attempt, wanted))
            await self._person.settled(attempt, SettleRequest(action=attempt.request(), verdict=verdict, failed=True))
            who = verdict.who or "a person"
            if verdict.verdict != "approve":
                self.denials = (*self.denials, wanted.kind)
                return outcome.model_copy(update={"message": f"{outcome.message}; {who} refused it: {verdict.why}"})
            self.grants = (*self.grants, Grant(kind=wanted.kind, by=who))
            self._leave_epoch(outcome)
            attempt.again("granted", outcome)
            attempt.consent = self.behind(attempt.step)


def _question(attempt: Attempt, wanted: Consequence) -> Ask:
    return Ask(
        kind=QuestionKind.CONSEQUENCE,
        text=f"step {attempt.sequence + 1} ({attempt.title}): a model chose what to press, none of your words "
        f"names it, and it would send {wanted.kind}: may it?",
        sequence=attempt.sequence,
        title=attempt.title,
        answers=("approve", "refuse"),
        shows=quoted(*wanted.lines()),
        on_timeout="skip",
    )
