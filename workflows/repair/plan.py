"""Repairs beyond the step: its skill is quarantined, the plan is revised, its item of a list is left."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows.repair.base import Next, Repair, Scope
from workflows.step.attempts import Attempt
from workflows.step.rulings import MESSAGE_LIMIT, explained, out_of_budget

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.model_requests import Revision
    from replaywright.domain.step.outcomes import ITEM_SKIPPED, Status, StepOutcome


class Quarantine(Repair):
    """Quarantines the skill of the run."""

    kind = "quarantine"
    when = "the page is not as the run's skill takes it to be: no other run recalls that skill before it is repaired"
    scope = Scope.PLAN

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return self.parts.goals.is_broken(outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        await self.parts.goals.quarantine(attempt, outcome)
        return outcome


class Replan(Repair):
    """Has the planner revise the rest of the plan."""

    kind = "plan"
    when = "the task has a `goal` and the page is known: the planner revises the rest of the plan"
    scope = Scope.PLAN

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        in_list = self.context.course.iteration_at(attempt.sequence) is not None
        return not in_list and self.parts.planning.is_for_the_planner(outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        context, state = self.context, self.context.state
        if limit := context.budget.no_more_plans(state.totals.usage, len(state.revised_from)):
            return out_of_budget(outcome, limit)
        context.show(f"{attempt.title}: asking the planner")
        revision = await self.parts.human.informed(lambda: self._revised(attempt, outcome))
        context.count(plans=bool(revision.steps))
        context.count_usage(revision.usage)
        context.board.note_plan(attempt.sequence, revision)
        if not revision.steps:
            failed = outcome.message or outcome.reason.replace("_", " ")
            return outcome.model_copy(
                update={"message": f"{failed}; no revised plan: {revision.gave_up}"[:MESSAGE_LIMIT]}
            )
        if outcome.status is not Status.MISSED and not outcome.effect.repeatable:
            self.parts.browser.leave_epoch(outcome)
        context.revise(revision.steps)
        return Next.REPLACED

    async def _revised(self, attempt: Attempt, outcome: StepOutcome) -> Revision:
        """Ask the planner; one that cannot be asked counts as one that gave up."""
        planner = self.parts.goals if self.context.is_goal else self.parts.planning
        try:
            revision = await planner.revise(attempt, outcome)
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            return Revision(gave_up=f"the planner cannot be asked: {error.cause or error}")
        if revision.steps:
            self.context.change(revised_from=(*self.context.state.revised_from, attempt.sequence))
        return revision


class SkipItem(Repair):
    """Leaves the item of a list, and goes on with the next."""

    kind = "skip_item"
    when = "the step belongs to an item of a list with `on_failure: skip_item`"
    scope = Scope.PLAN

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return self.parts.lists.skips_item(attempt.sequence, outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        self.parts.browser.leave_epoch(outcome)
        return await self.parts.lists.leave_out(attempt, ITEM_SKIPPED, explained(attempt, outcome))
