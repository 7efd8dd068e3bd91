"""Reader of workflow histories in Temporal's JSON export (protobuf JSON), without server and SDK.

Payloads that a codec has sealed are read as None.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

_READABLE: Final = frozenset({"json/plain", "json/protobuf"})
_ENDINGS: Final[Mapping[str, "How"]] = {
    "workflowExecutionCompletedEventAttributes": "completed",
    "workflowExecutionFailedEventAttributes": "failed",
    "workflowExecutionContinuedAsNewEventAttributes": "continued",
    "workflowExecutionCanceledEventAttributes": "cancelled",
    "workflowExecutionTimedOutEventAttributes": "timed_out",
    "workflowExecutionTerminatedEventAttributes": "terminated",
}

How = Literal["completed", "failed", "continued", "cancelled", "timed_out", "terminated"]


@dataclass(frozen=True)
class ActivityCall:
    """An activity that the workflow scheduled."""

    event_id: int
    activity_id: str
    activity_type: str
    given: Any
    """Its first argument as JSON data; None if unreadable."""
    answer: Any = None
    """Its result; None if it has none, failed, or is unreadable."""
    completed: bool = False
    began_at: float = 0.0
    """Time of scheduling in seconds since 1970; 0 if unreadable."""
    ended_at: float = 0.0
    """Time of completion; 0 of any other."""


@dataclass(frozen=True)
class ExecutionEnd:
    """End of an execution."""

    how: How
    value: Any = None
    """Result, input of the next execution, or first detail of the failure; None if unreadable."""


def calls_of(events: Sequence[Mapping[str, Any]]) -> list[ActivityCall]:
    """Return the activities in the order in which they were scheduled."""
    answers = dict(_answers(events))
    found = []
    for event in events:
        scheduled = event.get("activityTaskScheduledEventAttributes")
        if scheduled is None:
            continue
        event_id = int(event.get("eventId", 0))
        found.append(
            ActivityCall(
                event_id=event_id,
                activity_id=str(scheduled.get("activityId", "")),
                activity_type=str((scheduled.get("activityType") or {}).get("name", "")),
                given=first_value(scheduled.get("input")),
                answer=answers[event_id][0] if event_id in answers else None,
                completed=event_id in answers,
                began_at=time_of(event),
                ended_at=answers[event_id][1] if event_id in answers else 0.0,
            )
        )
    return found


def time_of(event: Mapping[str, Any]) -> float:
    """Return the time of the event; 0 if unreadable."""
    try:
        return datetime.fromisoformat(str(event.get("eventTime", ""))).timestamp()
    except ValueError:
        return 0.0


def end_of(events: Sequence[Mapping[str, Any]]) -> ExecutionEnd | None:
    """Return the end of the execution; None while it is open."""
    for event in reversed(events):
        for name, how in _ENDINGS.items():
            if name in event:
                ended = event[name]
                failure = ended.get("failure") or {}
                details = (failure.get("applicationFailureInfo") or {}).get("details")
                return ExecutionEnd(how, first_value(ended.get("result") or ended.get("input") or details))
    return None


def first_value(payloads: object) -> Any:
    """Return the first payload as JSON data; None if there is none or it is unreadable."""
    inner = payloads.get("payloads") if isinstance(payloads, Mapping) else None
    if not isinstance(inner, list) or not inner:
        return None
    payload = inner[0]
    try:
        encoding = base64.b64decode(payload["metadata"]["encoding"]).decode()
        return json.loads(base64.b64decode(payload["data"])) if encoding in _READABLE else None
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None


def text_in(data: Mapping[str, Any], name: str) -> str:
    """Return the text under this name; empty without one."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _answers(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, tuple[Any, float]]]:
    """Yield each activity's result and time, by the event that scheduled it."""
    for event in events:
        completed = event.get("activityTaskCompletedEventAttributes")
        if completed is not None:
            yield int(completed.get("scheduledEventId", 0)), (first_value(completed.get("result")), time_of(event))
