"""The end of a run whose steps are done: the final verification, and what is kept for later runs."""

from collections.abc import Awaitable, Callable

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import policies
from workflows.browser import Browser

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.runs import Finished, FinishRequest

_Reading = Callable[[Callable[[], Awaitable[Finished]]], Awaitable[Finished]]


async def verified(browser: Browser, request: Callable[[], FinishRequest], read: _Reading) -> Finished:
    """Have the page looked at, in a new browser if need be, which `read` sees to.

    Raises:
        ActivityError: the policy ends the run, or it cannot be looked at.
    """
    return await read(lambda: _by_its_worker(browser, request(), "final verification"))


async def kept(browser: Browser, request: FinishRequest) -> Finished:
    """Keep what was learned; the last step has seen that all is as it should be. Any worker does if its own is lost.

    Raises:
        ActivityError: the policy ends the run.
    """
    said = "verified by the last step: keep what was learned"
    try:
        return await _by_its_worker(browser, request, said)
    except ActivityError as error:
        if not policies.is_loss(error):
            raise
    finished: Finished = await workflow.execute_activity(
        "run.finish",
        request,
        result_type=Finished,
        activity_id=f"finish-e{browser.epoch}-anywhere",
        summary=said,
        task_queue=policies.browser_queue(workflow.info().task_queue),
        start_to_close_timeout=policies.READ_LIMIT,
        heartbeat_timeout=policies.HEARTBEAT,
        retry_policy=policies.OPENING,
    )
    return finished


async def _by_its_worker(browser: Browser, request: FinishRequest, said: str) -> Finished:
    return await browser.call(
        "run.finish",
        request,
        Finished,
        activity_id=f"finish-e{browser.epoch}",
        summary=said,
        limit=policies.READ_LIMIT,
        retry_policy=policies.READING,
    )
