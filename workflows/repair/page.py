"""Repairs that need nobody but the page, and at last the model."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows import policies
from workflows.parts import Parts
from workflows.repair.base import Next, Repair, Scope
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed
from workflows.step.rulings import came_to_nothing, explained, is_out_of_sight, may_repeat, out_of_budget

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.proof.late import may_come_late
    from replaywright.domain.proof.signed_out import SIGNED_OUT
    from replaywright.domain.run.remedies import UNASKED, UNNAMED
    from replaywright.domain.step.outcomes import ENTRY_LOST, Status, StepOutcome
    from replaywright.domain.step.overrides import Due
    from replaywright.domain.task.steps import Check, Expand, Fill, Hover, SelectOption, Step, Type, Uncheck
    from replaywright.errors import ModelMisconfigured


async def override(parts: Parts, due: tuple[Due, ...], position: int) -> bool:
    """Perform the rules that are due and may be; return whether there were any. One that fails ends nothing."""
    allowed, at_hand = False, parts.doubts.at_hand
    for rule in due:
        if not parts.overrides.allows(rule):
            continue
        allowed = True
        parts.context.count(overrides=1)
        for attempt in parts.overrides.attempts(rule, position):
            parts.context.show(f"override {rule.name}: {attempt.title}")
            parts.doubts.at_hand = attempt
            outcome = await parts.doubts.decided(attempt)
            attempt.note(outcome)
            if outcome.status is not Status.DONE:
                break
    parts.doubts.at_hand = at_hand
    return allowed


class Override(Repair):
    """Performs the override rules of the site that are due."""

    kind = "override"
    when = "an override rule of the site is due, and the step came to nothing"
    scope = Scope.ATTEMPT
    same_try = True

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return bool(outcome.due) and came_to_nothing(outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        rules = self.parts.overrides
        if not await override(self.parts, outcome.due, attempt.sequence):
            return outcome
        if not outcome.effect.repeatable:
            self.parts.browser.leave_epoch(outcome)
        attempt.spent = (*attempt.spent, *rules.spent, *(rule.name for rule in outcome.due))
        attempt.retry(self.kind, outcome)
        return Next.RETRY


class Reapply(Repair):
    """Does a step again that was recorded as done in a browser that is gone."""

    kind = "reapply"
    when = "the step was recorded as done in a browser that has been replaced"
    scope = Scope.ATTEMPT

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return attempt.was_elsewhere(outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        here = await self.parts.recovery.read(attempt.reapply)
        return outcome if here.status is Status.DONE else here


class Recheck(Repair):
    """Looks again for what is expected; does nothing to the page."""

    kind = "recheck"
    when = "the step acted, and an `expect` on the page that may still come true does not hold; once in a step"
    scope = Scope.ATTEMPT

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return not attempt.looked_again and may_come_late(attempt.step, outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        self.context.show(f"{attempt.title}: rechecking")
        return await self.parts.recovery.read(lambda: attempt.look_again(outcome))


class LeaveOutNeedless(Repair):
    """Skips a step whose `when` does not hold any more."""

    kind = "still"
    when = "the element is missing, and the step's `when` does not hold any more: the step is skipped"
    scope = Scope.STEP

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return bool(attempt.step.when) and outcome.status is Status.MISSED

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        return await self.parts.lists.needless(attempt, outcome)


class SignInAgain(Repair):
    """Has the session of the task signed in anew, and goes on with it in a new browser."""

    kind = "signed-in"
    when = (
        "the site has signed the run out, the task has a `session`, and the step may be repeated, did not act, or has "
        "no declared consequences and sent nothing"
    )
    scope = Scope.STEP
    rounds = policies.SIGN_INS_PER_STEP

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        is_harmless = outcome.status is Status.UNMET and attempt.step.effect is None and not outcome.evidence.requests
        may_go_on = came_to_nothing(outcome) or is_harmless
        return outcome.reason == SIGNED_OUT and self.parts.signing_in.is_used and may_go_on

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        self.context.board.doing = f"{attempt.title}: signing in again"
        await self.parts.recovery.sign_in_again()
        if not outcome.effect.repeatable:
            self.parts.browser.leave_epoch(outcome)
        attempt.retry(self.kind, outcome)
        return Next.RETRY


class Reopen(Repair):
    """Opens the menu or section again that the step's element is in: menus close by themselves."""

    kind = "reopened"
    when = "the element is out of sight, and the steps just before had opened its menu or section"
    scope = Scope.STEP

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        openers = self._openers(attempt) if is_out_of_sight(outcome) else []
        return bool(openers) and all(opener.may_repeat for opener in openers)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        for opener in self._openers(attempt):
            self.context.board.doing = f"{attempt.title}: opening again: {opener.title}"
            if (await self.parts.recovery.read(opener.reapply)).status is not Status.DONE:
                return outcome
        attempt.retry(self.kind, outcome)
        return Next.RETRY

    def _openers(self, attempt: Attempt) -> list[Attempt]:
        return _just_before(self, attempt, (Expand, Hover))


class EnterAgain(Repair):
    """Enters again what the page has changed since: it had loaded its own data meanwhile."""

    kind = "entered"
    when = "the page has changed what the steps just before had entered, and had not when the press was recorded"
    scope = Scope.STEP

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return outcome.reason == ENTRY_LOST and bool(self._entering(attempt))

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        for entering in self._entering(attempt):
            self.context.board.doing = f"{attempt.title}: entering again: {entering.title}"
            if (await self.parts.recovery.read(entering.reapply)).status is not Status.DONE:
                return outcome
        attempt.retry(self.kind, outcome)
        return Next.RETRY

    def _entering(self, attempt: Attempt) -> list[Attempt]:
        return _just_before(self, attempt, (Fill, Type, SelectOption, Check, Uncheck))


class Retry(Repair):
    """Performs a step that may be repeated once more."""

    kind = "retry"
    when = "the step may be repeated, and acted in vain or was refused, but did not leave its page"
    scope = Scope.STEP

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return may_repeat(attempt.step, outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        if outcome.status is Status.UNMET:
            attempt.vain = outcome
        attempt.retry(self.kind, outcome)
        return Next.RETRY


class TryCandidate(Repair):
    """Tries the element that an earlier run found, and that no verified run has confirmed."""

    kind = "candidate"
    when = (
        "no element, and a run that was never verified had one named with which its step came true; not in mode learn"
    )
    scope = Scope.STEP

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return outcome.has_candidate and self.parts.planning.may_name(attempt.step, outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        try:
            proposal = await self.parts.planning.candidate(attempt, outcome)
        except ActivityError as error:
            if not isinstance(error.cause, ApplicationError):
                raise
            workflow.logger.warning("step %d: no candidate is tried: %s", attempt.sequence + 1, error.cause)
            return outcome
        if proposal.target is None:
            return outcome
        attempt.retry(self.kind, outcome, proposal=proposal)
        self.context.count(overruled=bool(proposal.overruled))
        return Next.RETRY


class AskModel(Repair):
    """Has the executor model name the element; once more, if it finds none and the page has others soon."""

    kind = "model"
    when = "no element, one that is out of reach, or one that led nowhere: the executor model names one"
    scope = Scope.STEP
    rounds = policies.TARGET_ROUNDS

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return self.parts.planning.may_name(attempt.step, outcome) or attempt.was_misled(outcome)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        if limit := self.context.budget.spent(self.context.state.totals.usage):
            return out_of_budget(outcome, limit)
        if outcome.snapshot == attempt.shown:
            return _unnamed(outcome, "")
        begun = workflow.now()
        attempt.rerouted |= outcome.lookup.reason not in ("", "no_entry") or outcome.status is not Status.MISSED
        try:
            proposal = await self.parts.planning.propose(attempt, outcome)
        except ActivityError as error:
            if not isinstance(error.cause, ApplicationError):
                raise
            if error.cause.type == ModelMisconfigured.__name__ and outcome.reason != "no_entry":  # it was found without
                return _with_remark(outcome, f"{UNASKED}: {error.cause.message}")
            reason = error.cause.type or "ModelFailed"
            message = f"{outcome.message}; {error.cause.message}" if outcome.message else error.cause.message
            told = outcome.model_copy(update={"reason": reason, "message": message})
            if self.context.asks_on_failure:
                return told
            attempt.note(told)
            raise TaskFailed(reason, explained(attempt, told), told.artifacts) from error
        if proposal.target is None:
            if attempt.shown or outcome.status is not Status.MISSED:
                return _unnamed(outcome, proposal.overruled)
            attempt.look_for_another_page(outcome, workflow.now() - begun)
            return Next.RETRY
        if outcome.status is Status.UNMET and not outcome.effect.repeatable:
            self.parts.browser.leave_epoch(outcome)
        attempt.retry(self.kind, outcome, proposal=proposal)
        self.context.count(overruled=bool(proposal.overruled))
        return Next.RETRY


def _just_before(repair: Repair, attempt: Attempt, kinds: tuple[type[Step], ...]) -> list[Attempt]:
    """Return the steps of these kinds directly before the attempt's, after the last commit."""
    first, plan, state = attempt.sequence, repair.context.plan, repair.context.state
    while first > state.last_commit + 1 and isinstance(plan[first - 1], kinds):
        if first - 1 in state.left_out:
            break
        first -= 1
    return [repair.parts.attempts.at(position) for position in range(first, attempt.sequence)]


def _unnamed(outcome: StepOutcome, overruled: str) -> StepOutcome:
    """Return the outcome of a step for which the model names no element that may be taken."""
    return _with_remark(outcome, overruled or UNNAMED)


def _with_remark(outcome: StepOutcome, remark: str) -> StepOutcome:
    """Return the outcome with a remark after its own message."""
    found = outcome.message or outcome.reason.replace("_", " ") or outcome.status.value
    return outcome.model_copy(update={"message": f"{found}; {remark}"})
