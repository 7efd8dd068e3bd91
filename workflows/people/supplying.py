"""Codes and captchas: what a person gives for a step."""

from temporalio import workflow

from workflows.people.person import Person
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill
    from replaywright.domain.run.runs import SealedCode
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.task.actions import Effect
    from replaywright.domain.task.questions import DEADLINE, UNANSWERED, Ask, QuestionKind
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
    verdict = await person.asked(_ask_for(attempt, step), stays_awake=stays_awake)
    who = verdict.who or "a person"
    done = StepOutcome(status=Status.DONE, fingerprint=attempt.fingerprint, effect=Effect.READ)
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
