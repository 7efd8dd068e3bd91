"""Repairs that a person decides on."""

from temporalio import workflow

from workflows.repair.base import Next, Repair, Scope
from workflows.step.attempts import Attempt
from workflows.step.doubts import EARLIER_CHAIN
from workflows.step.factory import consent_for
from workflows.step.failures import TaskFailed
from workflows.step.rulings import failed_question

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commit_requests import PersonVerdict
    from replaywright.domain.run.resuming import Resume
    from replaywright.domain.skill.weak_steps import WEAK_STEP
    from replaywright.domain.step.outcomes import DONE_BEFORE, SKIPPED_AHEAD, Lookup, Status, StepOutcome
    from replaywright.domain.step.press_grants import UNGRANTED, Grant
    from replaywright.domain.task.actions import Effect
    from replaywright.domain.task.questions import CODE_LOST, Ask, QuestionKind, Verdict, quoted
    from replaywright.domain.task.steps import SolveCaptcha, VerificationCode

KEPT = "kept"
"""Reason of a step that counts as done because the lineage did the same under another chain of steps."""
SKIPPED = "skipped"
"""Reason, and warning, of a step that a person decided to leave out."""
CODES_PER_STEP = 3
"""Questions for a code, or to solve a captcha, in one step."""


class GrantPress(Repair):
    """Asks for leave to send what a press that a model chose would send; once for each kind of request in a run."""

    kind = "granted"
    when = "a model chose what to press, and what it would send was held: a person is asked"
    scope = Scope.ATTEMPT
    same_try = True

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return outcome.reason == UNGRANTED and outcome.consequence is not None

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        wanted, state = outcome.consequence, self.context.state
        assert wanted is not None
        await self.parts.recovery.leave()
        if wanted.kind in state.denials or wanted.kind in {grant.kind for grant in state.grants}:
            return outcome
        question = attempt.question(
            QuestionKind.CONSEQUENCE,
            f"step {attempt.sequence + 1} ({attempt.title}): a model chose what to press, none of your words "
            f"names it, and it would send {wanted.kind}: may it?",
            ("approve", "refuse"),
            shows=quoted(*wanted.lines()),
            on_timeout="skip",
        )
        verdict = await self.parts.person.answered(attempt, question)
        if verdict.verdict != "approve":
            self.context.change(denials=(*state.denials, wanted.kind))
            return outcome.model_copy(update={"message": f"{outcome.message}; {verdict.by} refused it: {verdict.why}"})
        self.context.change(grants=(*state.grants, Grant(kind=wanted.kind, by=verdict.by)))
        self.parts.browser.leave_epoch(outcome)
        attempt.retry(self.kind, outcome)
        attempt.consent = consent_for(self.context, attempt.step)
        return Next.RETRY


class ApproveWeakStep(Repair):
    """Asks whether a step is tried that failed too often of late."""

    kind = "approved"
    when = "the step was not begun because it failed too often of late: a person is asked"
    scope = Scope.ATTEMPT

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return outcome.reason == WEAK_STEP

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        number = attempt.sequence + 1
        text = f"step {number} ({attempt.title}) fails too often: {outcome.message}; approve has it tried all the same"
        skip: tuple[Verdict, ...] = ("skip",) if outcome.effect.repeatable else ()
        question = attempt.question(QuestionKind.WEAK_STEP, text, ("approve", *skip, "abandon"))
        verdict = await self.parts.person.answered(attempt, question)
        by = f"{verdict.by}: {verdict.why}".removesuffix(": ")
        if verdict.verdict == "approve":
            attempt.weak = "warn"
            attempt.restart(self.kind, outcome)
            return Next.RETRY
        if verdict.verdict == "skip":
            left = await self.parts.lists.leave_out(attempt, SKIPPED_AHEAD, f"left out by {by}")
            return left.model_copy(update={"warnings": (f"{SKIPPED_AHEAD}: left out by {by}",)})
        raise TaskFailed("abandoned", f"ended before step {number}, which fails too often, by {by}")


class DoneBefore(Repair):
    """Decides on a commit step that the lineage has under another chain of steps; it is never simply repeated."""

    kind = "earlier"
    when = "the lineage has the same commit step, after other steps: it is resolved, or a person decides"
    scope = Scope.ATTEMPT

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return bool(outcome.earlier)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        if outcome.reason != DONE_BEFORE:
            other = self.parts.attempts.at(attempt.sequence)
            other.fingerprint = outcome.earlier
            await self.parts.doubts.resolved(other, EARLIER_CHAIN)
            self.parts.browser.raise_epoch()
            attempt.restart(self.kind, outcome)
            return Next.RETRY
        verdict = self._decided(attempt, outcome)
        if verdict is None:
            attempt.note(outcome)
            verdict = await self.parts.person.asked(_redo_question(attempt))
        await self.parts.person.wrote_down(attempt, verdict)
        match verdict.verdict:
            case "redo":
                attempt.redo = outcome.earlier
                attempt.restart("redo", outcome)
                return Next.RETRY
            case "keep":
                return StepOutcome(
                    status=Status.DONE,
                    reason=KEPT,
                    message=f"{verdict.by} takes it as done: {verdict.why}",
                    fingerprint=attempt.fingerprint,
                    effect=Effect.COMMIT,
                    from_ledger=True,
                )
            case _:
                message = f"{verdict.by} abandoned the run at a step that was done before: {verdict.why}"
                raise TaskFailed("abandoned", message)

    def _decided(self, attempt: Attempt, outcome: StepOutcome) -> PersonVerdict | None:
        """Return what was decided when the run was resumed; None for nothing."""
        resume = self.context.run.resume or Resume(of="")
        why = f"said when {resume.of} was resumed"
        if outcome.earlier in resume.redo:
            return PersonVerdict(sequence=attempt.sequence, verdict="redo", who=resume.who, why=why)
        if outcome.earlier in resume.keep:
            return PersonVerdict(sequence=attempt.sequence, verdict="keep", who=resume.who, why=why)
        return None


class AskCode(Repair):
    """Asks for another code, or to solve the captcha again."""

    kind = "code"
    when = "the code that a person gave, or the captcha that they solved, was not accepted"
    scope = Scope.STEP
    rounds = CODES_PER_STEP - 1

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        refused = outcome.status is Status.UNMET or outcome.reason == CODE_LOST
        return refused and isinstance(attempt.step, VerificationCode | SolveCaptcha)

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        attempt.restart(self.kind, outcome)
        return Next.RESTART


class AskPerson(Repair):
    """Asks a person what to do about the step."""

    kind = "person"
    when = "the task says `on_failure: ask`"
    scope = Scope.PLAN

    def applies(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        return self.context.asks_on_failure

    async def mend(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | Next:
        verdict = await self.parts.person.asked(failed_question(attempt, outcome))
        self.parts.browser.leave_epoch(outcome)
        self.parts.goals.note_person()
        await self.parts.person.wrote_down(attempt, verdict)
        nothing = {"status": Status.DONE, "lookup": Lookup(), "artifacts": {}, "snapshot": "", "content_key": ""}
        done = outcome.model_copy(update={**nothing, "element_key": "", "has_candidate": False, "due": ()})
        match verdict.verdict:
            case "retry" if await self.parts.steering.edited_at(attempt.sequence, attempt.fingerprint):
                return Next.REPLACED
            case "retry":
                attempt.restart(self.kind, outcome)
                self.context.change(approved=attempt.act)
                return Next.RESTART
            case "done":
                message = f"{verdict.by} says that it is done: {verdict.why}"
                return done.model_copy(update={"reason": "person", "message": message})
            case "skip":
                message = f"{verdict.by} skipped it: {verdict.why}"
                return done.model_copy(update={"reason": SKIPPED, "message": message, "warnings": (SKIPPED,)})
            case _:
                raise TaskFailed("abandoned", f"{verdict.by} abandoned the step that failed: {verdict.why}")


def _redo_question(attempt: Attempt) -> Ask:
    return attempt.question(
        QuestionKind.DONE_BEFORE,
        f"step {attempt.sequence + 1} ({attempt.title}) must not be repeated by mistake, and this lineage has "
        "done the same before, after other steps: redo performs it once more, keep takes it as done and leaves the "
        "page as it is",
        ("redo", "keep", "abandon"),
    )
