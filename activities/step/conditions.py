"""The condition of a step, on the page."""

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.task.steps import Step
from replaywright.ports import BrowserSession


async def unmet(browser: BrowserSession, step: Step) -> PredicateResult | None:
    """Return the first part of the step's `when` that does not hold once the page is at rest; None when all does.

    `step` has its parameters' values. Only what names a time of its own (`within_ms`) is given time to come true; a
    page that is loading is waited for as long as the step may take.

    Raises:
        SessionLost: the browser is gone.
    """
    asked = [one if one.within_ms is not None else one.model_copy(update={"within_ms": 0}) for one in step.when]
    longest = max((one.within_ms or 0 for one in asked), default=0)
    return failing(await browser.check(asked, longest + step.timeout_ms))
