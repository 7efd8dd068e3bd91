"""Questions to the models about the steps of a plan."""

from collections.abc import Mapping
from typing import Any, Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows.calls import MODEL, PLANNING, ask_model
from workflows.run.context import RunContext
from workflows.step.attempts import Attempt, why_in_short, why_of
from workflows.step.rulings import WITHOUT_PAGE

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill, parameters_in
    from replaywright.domain.common.urls import origin_of
    from replaywright.domain.page.snapshot_text import quoted
    from replaywright.domain.plan.model_limits import trusted_context
    from replaywright.domain.plan.trusted_context import TrustedContext
    from replaywright.domain.proof.signed_out import SIGNED_OUT
    from replaywright.domain.run.commands import Proposal
    from replaywright.domain.run.model_requests import (
        CandidateRequest,
        FollowingStep,
        NamedAhead,
        ProposeRequest,
        ReviseRequest,
        Revision,
    )
    from replaywright.domain.run.scope import Mode
    from replaywright.domain.step.outcomes import MARKED, MARKED_SNAPSHOT, OUT_OF_REACH, Status, StepOutcome
    from replaywright.domain.task.actions import ACTIONS
    from replaywright.domain.task.steps import ForEach, Goto, Step, action_of, names_element
    from replaywright.domain.trace.details import summary


FOLLOWING: Final = 8
"""Steps at most that a model is asked for with the one before them."""


class Planning:
    """Questions of one run to the models about its steps: the executor names an element, the planner revises."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._named: dict[tuple[int, str], NamedAhead] = {}
        """Answers for steps that follow, by place in the plan and instruction; lost where a history is continued."""

    @property
    def answered(self) -> str:
        """Suffix that tells a question asked again, after the user has answered, from the one before."""
        answers = self._context.state.answers
        return f"-answer{len(answers)}" if answers else ""

    def may_name(self, step: Step, outcome: StepOutcome) -> bool:
        """Return whether the model may be asked for the element of a step with this outcome."""
        if outcome.reason == SIGNED_OUT or self._context.run.mode is Mode.REPLAY:
            return False
        if not (names_element(step) and step.instruction and outcome.snapshot):
            return False
        unmet = outcome.status is Status.UNMET and outcome.effect.repeatable
        refused = outcome.status is Status.REFUSED and outcome.reason in OUT_OF_REACH
        return outcome.status is Status.MISSED or ((unmet or refused) and not outcome.lookup.from_model)

    async def names(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        """Have the model name the element of a step that was done before, and whose recording is not there."""
        context = self._context
        if not self.may_name(attempt.step, outcome) or context.budget.spent(context.state.totals.usage):
            return False
        try:
            proposal = await self.propose(attempt, outcome)
        except ActivityError as error:
            if not isinstance(error.cause, ApplicationError):
                raise
            return False
        if proposal.target is not None:
            attempt.retry("model", outcome, proposal=proposal)
        return proposal.target is not None

    def is_for_the_planner(self, outcome: StepOutcome) -> bool:
        """Return whether another plan may help: the outcome is certain and a snapshot of the page was kept."""
        if (
            self._context.run.mode is Mode.REPLAY
            or not self._context.run.task.goal
            or not self._context.budget.has_plans
        ):
            return False
        return self.is_of_the_page(outcome) and bool(snapshot_of(outcome))

    @staticmethod
    def is_of_the_page(outcome: StepOutcome) -> bool:
        """Return whether a step failed because the page differs from what the step expects."""
        failed = outcome.status in (Status.MISSED, Status.UNMET, Status.REFUSED)
        return failed and outcome.reason not in WITHOUT_PAGE

    async def propose(self, attempt: Attempt, outcome: StepOutcome) -> Proposal:
        """Have the model name the step's element on the page, and those of the following steps that stand there too.

        Raises:
            ActivityError: the model cannot be asked, or gives no usable answer.
        """
        self._context.show(f"{attempt.title}: asking the model")
        question = self._question(attempt, outcome)
        named = self._named.pop((attempt.sequence, question["instruction"]), None)
        following = self._following(attempt) if outcome.reason == "no_entry" else ()
        proposal = await ask_model(
            "model.propose_target",
            ProposeRequest(**question, following=following, named=named),
            Proposal,
            MODEL,
            activity_id=attempt.activity_id("propose"),
            summary=summary(
                attempt.sequence, f"where is {attempt.step.instruction!r}?", f"after: {why_in_short(outcome)}"
            ),
        )
        self._context.count_usage(proposal.usage)
        for step in following:
            if element := proposal.following.get(step.sequence):
                self._named[step.sequence, step.instruction] = NamedAhead(
                    element_id=element,
                    snapshot=outcome.snapshot,
                    sequence=attempt.sequence,
                    model=proposal.usage.model,
                )
        return self._noted(attempt, proposal.model_copy(update={"following": {}}))

    def _following(self, attempt: Attempt) -> tuple[FollowingStep, ...]:
        """Return the next steps that may find their elements on the same page, to the first one that may leave it."""
        course, steps = self._context.course, list[FollowingStep]()
        at, step = attempt.sequence, attempt.step
        while _may_stay(step) and len(steps) < FOLLOWING and (at := at + 1) < len(course.plan):
            step, values = course.plan[at], course.values_at(at)
            if not names_element(step) or parameters_in(step.instruction) - values.keys():
                break
            if step.instruction:
                said = self._instruction(step, values)
                steps.append(FollowingStep(sequence=at, instruction=said, action=step.action))
        return tuple(steps)

    async def candidate(self, attempt: Attempt, outcome: StepOutcome) -> Proposal:
        """Take the element that a run which was never verified has found for the step. No model is asked.

        Raises:
            ActivityError: the store or the page's snapshot cannot be read.
        """
        request = CandidateRequest(
            **self._question(attempt, outcome),
            content_keys=(outcome.content_key, outcome.element_key),
            values=dict(attempt.values),
        )
        what = summary(attempt.sequence, "what another run found", f"after: {why_in_short(outcome)}")
        proposal = await ask_model(
            "model.try_candidate", request, Proposal, MODEL, activity_id=attempt.activity_id("take"), summary=what
        )
        return self._noted(attempt, proposal)

    def _question(self, attempt: Attempt, outcome: StepOutcome) -> dict[str, Any]:
        """Return the fields of a request for the step's element."""
        return {
            **self._context.scope,
            "sequence": attempt.sequence,
            "instruction": self._instruction(attempt.step, attempt.values),
            "action": attempt.step.action,
            "snapshot": outcome.snapshot,
            "missed": outcome.lookup,
            "trusted": self._trusted(attempt),
        }

    def _noted(self, attempt: Attempt, proposal: Proposal) -> Proposal:
        """Keep the first element of a goal: that of the start page, which the first step has opened."""
        context, goal = self._context, self._context.state.goal
        is_first = goal is not None and attempt.sequence == 1 and (context.run.skill is None or goal.failed)
        if is_first and proposal.target is not None:
            context.change_goal(first=proposal.target)
        return proposal

    def _instruction(self, step: Step, values: Mapping[str, str]) -> str:
        """The step's, with its values; those that were read from a page, such as the cells of a row, in quotes."""
        own = self._context.run.values
        told = {name: value if name in own else quoted(value) for name, value in values.items()}
        return fill(step.instruction, told)

    def _trusted(self, attempt: Attempt) -> TrustedContext:
        """Return what an element that a model chooses for the step is checked against."""
        run = self._context.run
        starts = (run.task.url, *(step.url for step in run.task.steps[:1] if isinstance(step, Goto)))
        return trusted_context(
            attempt.step,
            own=run.task.steps,
            goal=run.task.goal,
            origins=filter(None, (origin_of(fill(url, run.values)) for url in starts)),
        )

    async def revise(self, attempt: Attempt, outcome: StepOutcome) -> Revision:
        """Have the planner revise the rest of the plan.

        The step is none of a list's: for one of these there is no other plan.

        Raises:
            ActivityError: it cannot be asked.
        """
        state, course = self._context.state, self._context.course
        return await ask_model(
            "model.revise_plan",
            ReviseRequest(
                **self._context.scope,
                sequence=course.written(attempt.sequence),
                position=attempt.sequence if course.loops else None,
                task=self._context.run.task,
                values=self._context.run.values,
                plan=course.rolled,
                commits=course.commits_written(state.commits),
                failed=why_of(outcome),
                tried=(*attempt.tried, why_of(outcome)),
                answers=state.answers,
                **seen_of(outcome),
            ),
            Revision,
            PLANNING,
            activity_id=attempt.activity_id(f"plan{len(state.revised_from) + 1}{self.answered}"),
            summary=summary(attempt.sequence, f"how to go on? ({why_in_short(outcome)})"),
        )


def snapshot_of(outcome: StepOutcome) -> str:
    """Return the address of a failed step's snapshot; empty when there is none."""
    return outcome.snapshot or outcome.artifacts.get("snapshot", "")


def seen_of(outcome: StepOutcome) -> dict[str, str]:
    """The fields of a planner's request that say how the page of a failed step is; a picture has its own snapshot."""
    kept = outcome.artifacts
    missing = outcome.artifacts_missing.get(MARKED, "")
    if MARKED in kept and MARKED_SNAPSHOT in kept:
        return {"snapshot": kept[MARKED_SNAPSHOT], "picture": kept[MARKED]}
    return {"snapshot": snapshot_of(outcome), "picture_missing": missing}


def _may_stay(step: Step) -> bool:
    """Return whether the page is likely to be the same after a step: it shows its result itself, and is no list."""
    return not isinstance(step, ForEach) and not ACTIONS[action_of(step)].needs_proof
