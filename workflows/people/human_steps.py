"""Steps that a person does or has to allow: approvals, codes, captchas, and what can never be undone."""

from collections.abc import Awaitable, Callable

from temporalio import workflow

from workflows.people.person import Person
from workflows.plan.planning import Planning
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed
from workflows.step.lists import Lists

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill
    from replaywright.domain.run.approvals import approval_of, approved_act, shown
    from replaywright.domain.run.runs import PersonVerdict, Revision, RunInput, SealedCode, SettleRequest
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.task.actions import Effect
    from replaywright.domain.task.questions import (
        CODE_LOST,
        DEADLINE,
        PLANNER_QUESTIONS,
        UNANSWERED,
        Ask,
        QuestionKind,
        UserAnswer,
        quoted,
    )
    from replaywright.domain.task.steps import Approve, SolveCaptcha, VerificationCode

CODES_PER_STEP = 3
"""How often a person is asked for a code, or to solve a captcha, for one step."""
APPROVED = "approved"
"""Reason of an approval that was given."""
SOLVED = "solved"
"""Reason of a captcha that a person solved, and of which nothing else is to be seen."""
NOT_APPROVED = "not_approved"
"""Reason of a run that ended because a person did not approve."""


class HumanSteps:
    """Asks a person where a step wants that, before and instead of performing it."""

    def __init__(self, run: RunInput, lists: Lists, person: Person, planning: Planning) -> None:
        self._planning = planning
        self._run = run
        self._lists = lists
        self._person = person
        self.approved = run.state.approved
        """What the next step that can never be undone does, if a person has approved of it: see `acts_of`."""

    async def done(self, attempt: Attempt, perform: Callable[[Attempt], Awaitable[StepOutcome]]) -> StepOutcome:
        """Perform a step as `perform` does, with what a person has to do for it.

        Raises:
            TaskFailed: the person refuses, or does not answer in time.
        """
        step = attempt.step
        if isinstance(step, Approve):
            return await self._approval(attempt, step)
        if not isinstance(step, VerificationCode | SolveCaptcha):
            if step.effect is Effect.IRREVERSIBLE:
                await self._allowed(attempt)
            return await perform(attempt)
        asked = 0
        while True:
            asked += 1
            left = await self.supplied(attempt)
            if left is not None:
                return await self._lists.leave_out(attempt, left.reason, left.message)
            outcome = await perform(attempt)
            again = outcome.status is Status.UNMET or outcome.reason == CODE_LOST
            if not again or asked >= CODES_PER_STEP:
                return outcome
            attempt.anew("code", outcome)

    def allow(self, attempt: Attempt) -> None:
        """A person has just said that this step is to be performed."""
        self.approved = attempt.act

    # ---------------------------------------------------------------------------------------- approvals

    async def _approval(self, attempt: Attempt, step: Approve) -> StepOutcome:
        coming = self._lists.course
        said = fill(step.instruction, attempt.values) if step.instruction else "may the run go on?"
        verdict = await self._asked_leave(
            attempt,
            Ask(
                kind=QuestionKind.APPROVE,
                text=f"step {attempt.sequence + 1} asks for an approval: {said}",
                sequence=attempt.sequence,
                title=attempt.title,
                answers=("approve", "refuse"),
                shows=shown(coming, attempt.sequence + 1),
                within_s=step.within_s or self._run.asking.approve_within_s,
                remind_every_s=step.remind_every_s,
            ),
        )
        self.approved = approved_act(coming, attempt.sequence + 1)
        who = verdict.who or "a person"
        return await self._lists.leave_out(attempt, APPROVED, f"{who} approved: {verdict.why}".removesuffix(": "))

    async def _allowed(self, attempt: Attempt) -> None:
        """See that a person allows what can never be undone, before it is dispatched for the first time.

        Raises:
            TaskFailed: the person refuses, or does not answer in time.
        """
        approved, self.approved = self.approved, ""
        if approved and approved == attempt.act:
            return
        ask = approval_of(self._lists.course, attempt.sequence, title=attempt.title)
        await self._asked_leave(attempt, ask.model_copy(update={"within_s": self._run.asking.approve_within_s}))

    async def _asked_leave(self, attempt: Attempt, ask: Ask) -> PersonVerdict:
        verdict = await self._person.asked(ask)
        await self._person.settled(attempt, SettleRequest(action=attempt.context(), verdict=verdict, failed=True))
        if verdict.verdict != "approve":
            raise TaskFailed(NOT_APPROVED, f"{verdict.who or 'a person'} did not approve: {verdict.why}")
        return verdict

    # ------------------------------------------------------------------------------ a planner's questions

    async def informed(self, sequence: int, plan: Callable[[], Awaitable[Revision]]) -> Revision:
        """What the planner answers once it knows what it asks of the user.

        Raises:
            TaskFailed: the person abandons the run, or does not answer in time.
        """
        revision = await plan()
        usage = revision.usage
        while revision.question:
            told = self._planning.answers
            if len(told) >= PLANNER_QUESTIONS:
                said = f"it has asked {len(told)} times, and asks again: {revision.question}"
                return Revision(gave_up=said, complete=False, usage=usage)
            verdict = await self._person.asked(_ask_of_planner(sequence, revision.question))
            if verdict.verdict != "answer":
                who = verdict.who or "a person"
                raise TaskFailed("abandoned", f"{who} abandoned the run at a question of the planner: {verdict.why}")
            self._planning.answers = (*told, UserAnswer(question=revision.question, answer=verdict.value))
            revision = await plan()
            usage = usage.plus(revision.usage)
        return revision.model_copy(update={"usage": usage})

    # -------------------------------------------------------------------------------- codes and captchas

    async def supplied(self, attempt: Attempt, *, stays_awake: bool = False) -> StepOutcome | None:
        """Ask for what the step needs, and put it into the attempt; the outcome if nothing is left to be performed.

        With `stays_awake` the browser is kept meanwhile, however long it takes.

        Raises:
            TaskFailed: the person abandons the run, or does not answer in time.
        """
        step = attempt.step
        assert isinstance(step, VerificationCode | SolveCaptcha)
        verdict = await self._person.asked(_ask_for(attempt, step), stays_awake=stays_awake)
        who = verdict.who or "a person"
        done = StepOutcome(status=Status.DONE, fingerprint=attempt.mark, effect=Effect.READ)
        match verdict.verdict:
            case "answer":
                attempt.code = SealedCode(question=verdict.question, sealed=verdict.sealed)
                return None
            case "solved":
                attempt.code = None
                said = f"{who} solved it: {verdict.why}".removesuffix(": ")
                return None if step.expect else done.model_copy(update={"reason": SOLVED, "message": said})
            case "skip" if who == DEADLINE:
                return done.model_copy(update={"reason": UNANSWERED, "message": verdict.why})
            case _:
                raise TaskFailed("abandoned", f"{who} abandoned the run at step {attempt.sequence + 1}: {verdict.why}")


def _ask_of_planner(sequence: int, question: str) -> Ask:
    return Ask(
        kind=QuestionKind.ANSWER,
        text="the planner, a language model that has read the page, asks something before it goes on",
        sequence=sequence,
        answers=("answer", "abandon"),
        wants="text",
        shows=tuple(f"“{line}”" for line in quoted(question)),
    )


def _ask_for(attempt: Attempt, step: VerificationCode | SolveCaptcha) -> Ask:
    said = fill(step.instruction, attempt.values)
    again = f"; before, it came to this: {attempt.tried[-1]}" if attempt.tried else ""
    if isinstance(step, VerificationCode):
        kind, wanted = QuestionKind.VERIFICATION_CODE, f"wants a verification code for {said}"
    elif said:
        kind, wanted = QuestionKind.SOLVE_CAPTCHA, f"wants a captcha solved: what it says goes into {said}"
    else:
        kind, wanted = QuestionKind.SOLVE_CAPTCHA, "wants a captcha solved in the browser"
    in_browser = ("solved",) if isinstance(step, SolveCaptcha) else ()
    with_text = ("answer",) if said else ()
    return Ask.model_validate(
        {
            "kind": kind,
            "text": f"step {attempt.sequence + 1} {wanted}{again}",
            "sequence": attempt.sequence,
            "title": attempt.title,
            "answers": (*with_text, *in_browser, "abandon"),
            "wants": "code" if said else "",
            "within_s": step.within_s,
            "remind_every_s": step.remind_every_s,
            "on_timeout": step.on_timeout,
        }
    )
