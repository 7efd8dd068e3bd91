"""A step with the repairs that it takes; the order of these is data."""

from collections import Counter
from typing import Final

from temporalio import workflow

from workflows.parts import Parts
from workflows.repair.base import Next, Repair, Scope
from workflows.repair.page import (
    AskModel,
    EnterAgain,
    LeaveOutNeedless,
    Override,
    Reapply,
    Recheck,
    Reopen,
    Retry,
    SignInAgain,
    TryCandidate,
)
from workflows.repair.people import KEPT, ApproveWeakStep, AskCode, AskPerson, DoneBefore, GrantPress
from workflows.repair.plan import Quarantine, Replan, SkipItem
from workflows.run.finishing import left_by, line_of
from workflows.step.attempts import Attempt
from workflows.step.doubts import UNKNOWN_WARNINGS
from workflows.step.failures import TaskBlocked, TaskFailed
from workflows.step.rulings import counted, explained, first_vain

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.skill.weak_steps import WEAK_STEP
    from replaywright.domain.step.outcomes import SKIPPED_AHEAD, Status, StepOutcome

REPAIRS: Final[tuple[type[Repair], ...]] = (
    GrantPress,
    Override,
    ApproveWeakStep,
    DoneBefore,
    Reapply,
    Recheck,
    LeaveOutNeedless,
    SignInAgain,
    Reopen,
    EnterAgain,
    Retry,
    TryCandidate,
    AskModel,
    AskCode,
    Quarantine,
    Replan,
    SkipItem,
    AskPerson,
)
"""All repairs, in the order in which they are considered."""


class _Ladder:
    """Repairs that are still open to one step."""

    def __init__(self, repairs: tuple[Repair, ...]) -> None:
        self._repairs = repairs
        self._at = 0
        self._floor = 0
        """Index of the last repair of the step that led to another attempt: those before it had their chance."""
        self._rounds: Counter[str] = Counter()
        self.mends = True
        """True: the outcome of an attempt, and not of a person or a decision."""

    def following(self, attempt: Attempt, outcome: StepOutcome) -> Repair | None:
        """Return the next repair that applies, if there is one."""
        while self._at < len(self._repairs):
            repair, index = self._repairs[self._at], self._at
            self._at += 1
            if repair.scope is not Scope.ATTEMPT and outcome.status is Status.DONE:
                return None
            if repair.scope is not Scope.PLAN and not self.mends:
                continue
            if repair.scope is Scope.STEP and (index < self._floor or self._rounds[repair.kind] >= repair.rounds):
                continue
            if repair.applies(attempt, outcome):
                return repair
        return None

    def again(self, repair: Repair, after: Next) -> None:
        """Begin from the first repair: the step is performed again, or begins again."""
        index, self._at = self._repairs.index(repair), 0
        self._rounds[repair.kind] += 1
        if after is Next.RESTART:
            self._floor, self.mends = 0, True
            for each in self._repairs:
                if each is not repair or repair.scope is Scope.PLAN:
                    self._rounds.pop(each.kind, None)
        elif repair.scope is Scope.STEP:
            self._floor = index


class StepRunner:
    """Performs the steps of one run, with their repairs."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._repairs = tuple(repair(parts) for repair in REPAIRS)

    async def carry_out(self, attempt: Attempt) -> StepOutcome | None:
        """Perform a step and repair what fails; return its outcome, or None when others have taken its place.

        Raises:
            TaskFailed: nothing repaired the step; `TaskBlocked` if a rule of the policy is behind it.
        """
        parts, ladder = self._parts, _Ladder(self._repairs)
        parts.doubts.at_hand = attempt
        noted: StepOutcome | None = None
        of_values = False
        outcome = await parts.goals.unfit(attempt) or await parts.lists.without(attempt)
        outcome = outcome or await parts.human.before(attempt)
        if outcome is None:
            attempt.spent = parts.overrides.spent
            outcome = await parts.doubts.decided(attempt)
        else:
            ladder.mends = False
        while (repair := ladder.following(attempt, outcome)) is not None:
            of_values = of_values or outcome.of_values
            if repair.scope is Scope.PLAN and noted is None:
                noted = outcome
                attempt.note(outcome)
                if outcome.status is Status.BLOCKED:
                    break
            result = await repair.mend(attempt, outcome)
            if isinstance(result, StepOutcome):
                outcome = result
                continue
            if result is Next.REPLACED:
                return None
            noted = None
            ladder.again(repair, result)
            if not repair.same_try:
                attempt.spent = parts.overrides.spent
            before = await parts.human.before(attempt) if result is Next.RESTART else None
            ladder.mends = before is None
            outcome = before or await parts.doubts.decided(attempt)
        if noted is None and outcome.status is Status.DONE and attempt.rerouted:
            parts.context.count(fallbacks=1)
        if noted is None or (outcome.status is Status.DONE and noted is not outcome):
            attempt.note(outcome)
        if outcome.status is Status.DONE:
            return outcome
        if outcome.status is Status.BLOCKED or outcome.rule:
            raise TaskBlocked(outcome.rule, explained(attempt, outcome), outcome.artifacts)
        first = first_vain(attempt, outcome)
        failed = TaskFailed(first.reason or first.status, explained(attempt, outcome), outcome.artifacts)
        failed.of_values = of_values or outcome.of_values  # also where a model tried another element since
        raise failed

    def passed(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """Go on after a step that is done."""
        parts, context = self._parts, self._parts.context
        context.change(totals=counted(context.state.totals, outcome))
        if not outcome.effect.repeatable and attempt.begun is not None and outcome.reason != KEPT:
            context.add_commit(line_of(attempt, "done", left_by(outcome)))
        parts.doubts.at_hand = None
        parts.checkpoints.note(outcome, attempt.sequence)
        warnings = (each for each in outcome.warnings if each.startswith((*UNKNOWN_WARNINGS, SKIPPED_AHEAD, WEAK_STEP)))
        context.warn(*(f"step {attempt.sequence + 1}: {each}" for each in warnings))
        context.advance(attempt.fingerprint, outcome)
        parts.probing.note(attempt, outcome)
        parts.listening.note(attempt, outcome)
