"""Codes and captchas: what a person gives for a step."""

from temporalio import workflow

from workflows.people.person import Person
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill
    from replaywright.domain.run.commands import SealedCode
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.task.actions import Effect
    from replaywright.domain.task.questions import DEADLINE, UNANSWERED, Ask, QuestionKind, Verdict
    from replaywright.domain.task.steps import SolveCaptcha, VerificationCode

SOLVED = "solved"
"""Reason of a captcha that a person solved, and of which nothing else is to be seen."""


async def supplied(person: Person, attempt: Attempt, *, stays_awake: bool = False) -> StepOutcome | None:
    """Ask for what the step needs, and put it into the attempt; the outcome if nothing is left to be performed.

    With `stays_awake` the browser is kept meanwhile, however long it takes.

    Raises:
        TaskFailed: the person abandons the run, or does not answer in time.
    """
    step = attempt.step
    assert isinstance(step, VerificationCode | SolveCaptcha)
    if isinstance(step, VerificationCode) and step.source and await person.fetched(attempt, step.source):
        return None
    verdict = await person.asked(_ask_for(attempt, step), stays_awake=stays_awake)
    done = StepOutcome(status=Status.DONE, fingerprint=attempt.fingerprint, effect=Effect.READ)
    match verdict.verdict:
        case "answer":
            attempt.code = SealedCode(question=verdict.question, sealed=verdict.sealed)
            return None
        case "solved":
            attempt.code = None
            done_by = f"{verdict.by} solved it: {verdict.why}".removesuffix(": ")
            return None if step.expect else done.model_copy(update={"reason": SOLVED, "message": done_by})
        case "skip" if verdict.who == DEADLINE:
            return done.model_copy(update={"reason": UNANSWERED, "message": verdict.why})
        case _:
            message = f"{verdict.by} abandoned the run at step {attempt.sequence + 1}: {verdict.why}"
            raise TaskFailed("abandoned", message)


def _ask_for(attempt: Attempt, step: VerificationCode | SolveCaptcha) -> Ask:
    wording = fill(step.instruction, attempt.values)
    again = f"; before, it came to this: {attempt.tried[-1]}" if attempt.tried else ""
    if isinstance(step, VerificationCode):
        kind, wanted = QuestionKind.VERIFICATION_CODE, f"wants a verification code for {wording}"
    elif wording:
        kind, wanted = QuestionKind.SOLVE_CAPTCHA, f"wants a captcha solved: what it says goes into {wording}"
    else:
        kind, wanted = QuestionKind.SOLVE_CAPTCHA, "wants a captcha solved in the browser"
    in_browser: tuple[Verdict, ...] = ("solved",) if isinstance(step, SolveCaptcha) else ()
    with_text: tuple[Verdict, ...] = ("answer",) if wording else ()
    return attempt.question(
        kind,
        f"step {attempt.sequence + 1} {wanted}{again}",
        (*with_text, *in_browser, "abandon"),
        wants="code" if wording else "",
        within_s=step.within_s,
        remind_every_s=step.remind_every_s,
        on_timeout=step.on_timeout,
        source=step.source if isinstance(step, VerificationCode) else "",
    )
