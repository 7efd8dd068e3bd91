"""Holding a recalled skill against its start page, and going on without it where it does not fit."""

from temporalio import workflow

from workflows.session.browser import Browser

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill
    from replaywright.domain.predicate.predicates import fill_predicate
    from replaywright.domain.run.runs import RunInput, RunState
    from replaywright.domain.skill.fitting import PRECONDITION, Fit, FitRequest, PassedOver, RecalledFor
    from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
    from replaywright.domain.task.steps import Goto
    from replaywright.domain.task.tasks import Task


async def fit_of(browser: Browser, begins: RecalledFor, task: Task, values: dict[str, str]) -> Fit:
    """Check that the open page is the one that the skill begins on. Touches nothing.

    Raises:
        ActivityError: the browser is lost, or the page cannot be kept.
    """
    first = task.steps[0]
    start = begins.context.start or (first.url if isinstance(first, Goto) else task.url)
    return await browser.call(
        "session.fits",
        FitRequest(
            session=browser.ref,
            epoch=browser.epoch,
            precondition=tuple(fill_predicate(predicate, values) for predicate in begins.precondition),
            start=fill(start, values),
            signed_in=begins.context.signed_in,
        ),
        Fit,
        activity_id=f"0002-fits-e{browser.epoch}",
        summary="check that the recalled skill fits this page",
    )


def missed(fit: Fit) -> StepOutcome:
    """The outcome of the skill's first step, which is not begun, as the start page has changed."""
    return StepOutcome(
        status=Status.MISSED,
        reason=PRECONDITION,
        message=fit.message,
        lookup=Lookup(reason=PRECONDITION),
        snapshot=fit.snapshot,
    )


def passing_over(run: RunInput, lineage: str, browser: Browser, begins: RecalledFor, fit: Fit) -> RunInput:
    """The run as it was before it recalled its skill, which it will not recall again; the start page stays open."""
    assert run.skill is not None, "only of a run that recalled one"
    over = PassedOver(name=run.skill.name, version=run.skill.version, reason=fit.reason, said=fit.message)
    state = RunState(
        epoch=browser.epoch,
        session=browser.session,
        totals=run.state.totals,
        begun=run.state.begun,
        passed_over=(*begins.passed_over, over),
        signed_in=fit.signed_in,
    )
    changes = {"task": begins.task, "values": begins.values, "lineage": lineage, "state": state, "skill": None}
    return run.model_copy(update=changes)
