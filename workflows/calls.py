"""Calls of activities: on which terms each is asked, and where."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType

from workflows import policies

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Terms:
    """Time-outs and retries of an activity."""

    retries: RetryPolicy
    limit: timedelta = policies.READ_LIMIT
    """For one try."""
    total: timedelta | None = None
    """For all tries together."""
    to_start: timedelta | None = None
    heartbeat: timedelta | None = policies.HEARTBEAT
    cancellation: ActivityCancellationType = ActivityCancellationType.TRY_CANCEL


ASKING = Terms(policies.ASKING)
KEEPING = Terms(policies.OPENING)
NOTING = Terms(policies.OPENING, policies.NOTICE_LIMIT, policies.NOTICE_TOTAL, heartbeat=None)
PLANNING = Terms(policies.MODEL, policies.PLAN_LIMIT, policies.PLAN_TOTAL)
MODEL = Terms(policies.MODEL, policies.MODEL_LIMIT, policies.MODEL_TOTAL)


async def ask(
    name: str,
    request: Record,
    result_type: type[_Result],
    terms: Terms,
    *,
    activity_id: str | None,
    summary: str,
    queue: str = "",
) -> _Result:
    """Run an activity on `queue`, or on that of all workers that can open browsers.

    Raises:
        ActivityError: it failed, or no worker took it in time.
    """
    result: _Result = await workflow.execute_activity(
        name,
        request,
        result_type=result_type,
        activity_id=activity_id,
        summary=summary,
        task_queue=queue or policies.browser_queue(workflow.info().task_queue),
        schedule_to_close_timeout=terms.total,
        schedule_to_start_timeout=terms.to_start,
        start_to_close_timeout=terms.limit,
        heartbeat_timeout=terms.heartbeat,
        retry_policy=terms.retries,
        cancellation_type=terms.cancellation,
    )
    return result


async def ask_model(
    name: str, request: Record, result_type: type[_Result], terms: Terms, *, activity_id: str, summary: str
) -> _Result:
    """Run an activity on the workers that can call models.

    Raises:
        ActivityError: it failed, or took too long in all.
    """
    queue = policies.model_queue(workflow.info().task_queue)
    return await ask(name, request, result_type, terms, activity_id=activity_id, summary=summary, queue=queue)
