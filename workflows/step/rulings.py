"""Decisions about the outcome of an attempt, as pure functions."""

from temporalio import workflow

from workflows.step.attempts import Attempt, why_of

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.predicate.evaluation import failing
    from replaywright.domain.proof.proof import is_input
    from replaywright.domain.proof.signed_out import SIGNED_OUT
    from replaywright.domain.run.remedies import literal_remark
    from replaywright.domain.run.runs import Totals
    from replaywright.domain.run.spending import BUDGET_SPENT, Spent
    from replaywright.domain.step.outcomes import LEFT_OUT, SERVER_ERROR, Status, StepOutcome
    from replaywright.domain.step.press_grants import UNGRANTED
    from replaywright.domain.task.actions import Cause
    from replaywright.domain.task.questions import Ask, QuestionKind, Verdict
    from replaywright.domain.task.steps import Step

WITHOUT_PAGE = frozenset({"store_unavailable", "ledger_damaged", BUDGET_SPENT, SIGNED_OUT})
"""Reasons of failed steps that say nothing about the step's own page: neither another plan nor another item helps."""
MESSAGE_LIMIT = 1_000
"""Characters of a failure's message."""


def is_out_of_sight(outcome: StepOutcome) -> bool:
    """Return whether the step's element was missing or invisible, and nothing was touched."""
    return outcome.status is Status.MISSED or (outcome.status, outcome.reason) == (Status.REFUSED, "invisible")


def may_repeat(step: Step, outcome: StepOutcome) -> bool:
    """Return whether a failed step is performed once more: it may be repeated, and the page may have moved on.

    What was entered is gone with a page that the step has left: the same press in the next page does something else.
    """
    failed = outcome.status in (Status.UNMET, Status.REFUSED)
    has_left = is_input(step) and Cause.NEW_DOCUMENT in outcome.evidence.causes
    return failed and outcome.effect.repeatable and outcome.reason != UNGRANTED and not has_left


def out_of_budget(outcome: StepOutcome, limit: Spent) -> StepOutcome:
    """The failure of a step for which a model would have been asked, had the run not reached its limit."""
    message = f"{limit.said} – {why_of(outcome)}"[:MESSAGE_LIMIT]
    return outcome.model_copy(update={"reason": BUDGET_SPENT, "message": message, "rule": limit.rule})


def came_to_nothing(outcome: StepOutcome) -> bool:
    """Return whether nothing was done that forbids another attempt."""
    touched = outcome.status is Status.UNMET
    return outcome.status in (Status.MISSED, Status.REFUSED) or (touched and outcome.effect.repeatable)


def contradicted(outcome: StepOutcome) -> str:
    """Return the reason why the page cannot decide the doubt; empty if it can."""
    held = bool(outcome.predicates) and failing(outcome.predicates) is None
    return outcome.reason if held or outcome.reason == SERVER_ERROR else ""


def first_vain(attempt: Attempt, outcome: StepOutcome) -> StepOutcome:
    """Return what tells why a step failed: the first outcome of one that acted in vain twice, else the last."""
    is_of_page = outcome.status in (Status.MISSED, Status.REFUSED, Status.UNMET) and outcome.reason not in WITHOUT_PAGE
    return attempt.vain if attempt.vain is not None and is_of_page else outcome


def explained(attempt: Attempt, outcome: StepOutcome) -> str:
    """Return the message for a failed step."""
    first = first_vain(attempt, outcome)
    what = attempt.message_of(outcome) or outcome.reason.replace("_", " ") or outcome.status.value
    named = literal_remark(attempt.step, attempt.context.run.task.parameters, attempt.values)
    return f"{attempt.title}: {first.status.value.replace('_', ' ')}: {what}{f'; {named}' if named else ''}"


def failed_question(attempt: Attempt, outcome: StepOutcome) -> Ask:
    """Return the question to a person about a step that nothing repaired."""
    text = f"step {attempt.sequence + 1} failed: {explained(attempt, outcome)}"
    skip: tuple[Verdict, ...] = ("skip",) if outcome.effect.repeatable else ()
    return attempt.question(QuestionKind.FAILED, text, ("retry", "done", *skip, "abandon"))


def counted(totals: Totals, outcome: StepOutcome) -> Totals:
    """The run's counts with the step's last outcome."""
    found = outcome.lookup.hit and outcome.status is Status.DONE and not outcome.from_ledger
    model = outcome.lookup.from_model
    recorded = found and not model and (outcome.lookup.entry_version > 0 or bool(outcome.lookup.candidate_of))
    left_out = outcome.reason in LEFT_OUT
    return totals.model_copy(
        update={
            "steps": totals.steps + (outcome.status is Status.DONE and not left_out),
            "skipped": totals.skipped + left_out,
            "hits": totals.hits + (recorded and not outcome.lookup.healed),
            "heals": totals.heals + (recorded and outcome.lookup.healed),
            "learned": totals.learned + (found and model),
            "from_ledger": totals.from_ledger + outcome.from_ledger,
            "warnings": totals.warnings + (outcome.status is Status.DONE and bool(outcome.warnings)),
        }
    )
