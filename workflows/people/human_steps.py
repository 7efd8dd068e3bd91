"""Steps that a person does or has to allow: approvals, codes, captchas, and what can never be undone."""

from collections.abc import Awaitable, Callable

from temporalio import workflow

from workflows.people.person import Person
from workflows.people.supplying import supplied
from workflows.people.taking_over import TakingOver
from workflows.run.context import RunContext
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed
from workflows.step.lists import Lists

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill
    from replaywright.domain.run.approvals import approval_of, approved_act, shown
    from replaywright.domain.run.commit_requests import PersonVerdict
    from replaywright.domain.run.model_requests import Revision
    from replaywright.domain.step.outcomes import StepOutcome
    from replaywright.domain.task.actions import Effect
    from replaywright.domain.task.questions import (
        PLANNER_QUESTIONS,
        Ask,
        QuestionKind,
        UserAnswer,
        quoted,
    )
    from replaywright.domain.task.steps import Approve, SolveCaptcha, TakeOver, VerificationCode

APPROVED = "approved"
"""Reason of an approval that was given."""
NOT_APPROVED = "not_approved"
"""Reason of a run that ended because a person did not approve."""


class HumanSteps:
    """Asks a person where a step wants that, before and instead of performing it."""

    def __init__(self, context: RunContext, lists: Lists, person: Person, taking_over: TakingOver) -> None:
        self._context = context
        self._lists = lists
        self._person = person
        self._taking_over = taking_over

    async def before(self, attempt: Attempt) -> StepOutcome | None:
        """Have a person do or allow what the step needs; return its outcome if nothing is left to be performed.

        Raises:
            TaskFailed: the person refuses, or does not answer in time.
        """
        match attempt.step:
            case TakeOver():
                return await self._taking_over.over(attempt)
            case Approve() as step:
                return await self._approval(attempt, step)
            case VerificationCode() | SolveCaptcha():
                left = await supplied(self._person, attempt)
                return None if left is None else await self._lists.leave_out(attempt, left.reason, left.message)
            case step:
                if step.effect is Effect.IRREVERSIBLE:
                    await self._allowed(attempt)
                return None

    # ---------------------------------------------------------------------------------------- approvals

    async def _approval(self, attempt: Attempt, step: Approve) -> StepOutcome:
        coming = self._context.course
        wanted = fill(step.instruction, attempt.values) if step.instruction else "may the run go on?"
        question = attempt.question(
            QuestionKind.APPROVE,
            f"step {attempt.sequence + 1} asks for an approval: {wanted}",
            ("approve", "refuse"),
            shows=shown(coming, attempt.sequence + 1),
            within_s=step.within_s or self._context.run.asking.approve_within_s,
            remind_every_s=step.remind_every_s,
        )
        verdict = await self._asked_leave(attempt, question)
        self._context.change(approved=approved_act(coming, attempt.sequence + 1))
        message = f"{verdict.by} approved: {verdict.why}".removesuffix(": ")
        return await self._lists.leave_out(attempt, APPROVED, message)

    async def _allowed(self, attempt: Attempt) -> None:
        """See that a person allows what can never be undone, before it is dispatched for the first time.

        Raises:
            TaskFailed: the person refuses, or does not answer in time.
        """
        approved = self._context.state.approved
        self._context.change(approved="")
        if approved and approved == attempt.act:
            return
        ask = approval_of(self._context.course, attempt.sequence, title=attempt.title)
        await self._asked_leave(attempt, ask.model_copy(update={"within_s": self._context.run.asking.approve_within_s}))

    async def _asked_leave(self, attempt: Attempt, ask: Ask) -> PersonVerdict:
        verdict = await self._person.answered(attempt, ask)
        if verdict.verdict != "approve":
            raise TaskFailed(NOT_APPROVED, f"{verdict.by} did not approve: {verdict.why}")
        return verdict

    # ------------------------------------------------------------------------------ a planner's questions

    async def informed(self, plan: Callable[[], Awaitable[Revision]]) -> Revision:
        """Ask the planner, and have the user answer its questions.

        Raises:
            TaskFailed: the person abandons the run, or does not answer in time.
        """
        revision = await plan()
        usage = revision.usage
        while revision.question:
            answers = self._context.state.answers
            if len(answers) >= PLANNER_QUESTIONS:
                reason = f"it has asked {len(answers)} times, and asks again: {revision.question}"
                return Revision(gave_up=reason, complete=False, usage=usage)
            verdict = await self._person.asked(_ask_of_planner(self._context.position, revision.question))
            if verdict.verdict != "answer":
                message = f"{verdict.by} abandoned the run at a question of the planner: {verdict.why}"
                raise TaskFailed("abandoned", message)
            answer = UserAnswer(question=revision.question, answer=verdict.value)
            self._context.change(answers=(*answers, answer))
            revision = await plan()
            usage = usage.plus(revision.usage)
        return revision.model_copy(update={"usage": usage})


def _ask_of_planner(sequence: int, question: str) -> Ask:
    return Ask(
        kind=QuestionKind.ANSWER,
        text="the planner, a language model that has read the page, asks something before it goes on",
        sequence=sequence,
        answers=("answer", "abandon"),
        wants="text",
        shows=tuple(f"“{line}”" for line in quoted(question)),
    )
