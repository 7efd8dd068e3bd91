"""Events that only a workflow's history has: losses, recoveries, checkpoints, retries and answers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from replaywright.domain.common.text import shorten
from replaywright.domain.trace.histories import ActivityCall, calls_of, first_value, text_in, time_of
from replaywright.domain.trace.run_view import Event

WORDS_LIMIT = 300
"""Characters of a failure's message."""
_NUMBERED: Final = re.compile(r"(\d{4,})-")
_REAPPLIED: Final = re.compile(r"\d{4,}-reapply-")
_DECISIONS: Final = frozenset({"approve", "refuse", "answer", "solved"})
"""Answers that leave no line in the trace: the others are written there by whoever settles them."""


def history_events(executions: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[Event, ...]:
    """Return the events of a run's executions, read from Temporal's JSON, oldest first."""
    return tuple(event for events in executions for event in _told(events))


def _told(events: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
    calls = {call.event_id: call for call in calls_of(events)}
    for event in events:
        at = time_of(event)
        if (lost := event.get("activityTaskTimedOutEventAttributes")) is not None:
            yield _lost(at, calls.get(_scheduled(lost)), lost)
        elif (failed := event.get("activityTaskFailedEventAttributes")) is not None:
            if (told := _failed(at, calls.get(_scheduled(failed)), failed)) is not None:
                yield told
        elif (started := event.get("activityTaskStartedEventAttributes")) is not None:
            if int(started.get("attempt", 1)) > 1:
                yield _tried(at, calls.get(_scheduled(started)), started)
        elif (completed := event.get("activityTaskCompletedEventAttributes")) is not None:
            call = calls.get(_scheduled(completed))
            if call is not None and (told := _completed(call)) is not None:
                yield told
        elif (told := _answered(at, event.get("workflowExecutionUpdateAcceptedEventAttributes") or {})) is not None:
            yield told


def _of_doubt(call: ActivityCall, answer: Mapping[str, Any], seconds: float) -> Event:
    """Return the event of a resolved doubt."""
    if call.activity_type == "effect.stop":
        told, verdict = "The run ended early, and its step was stopped", text_in(answer, "state") or "in_doubt"
    else:
        told, verdict = "The step in doubt was looked into", text_in(answer, "verdict") or "undecidable"
    return Event(
        at=call.ended_at,
        area="check",
        title=f"{told}: {verdict.replace('_', ' ')}",
        lines=_lines(text_in(answer, "reason").replace("_", " ")),
        seconds=seconds,
        sequence=_sequence(call),
    )


def _completed(call: ActivityCall) -> Event | None:
    at, seconds = call.ended_at, call.ended_at - call.began_at
    answer = call.answer if isinstance(call.answer, Mapping) else {}
    match call.activity_type:
        case "session.recover" if answer.get("adopted"):
            return Event(at=at, title="The live browser was found again and adopted", seconds=seconds)
        case "session.recover":
            return Event(at=at, title="The browser was gone: a new one was opened", seconds=seconds, is_bad=True)
        case "session.restore":
            held = bool(answer.get("held"))
            title = "The new browser was brought to a checkpoint" if held else "A checkpoint did not lead back"
            return Event(at=at, title=title, lines=_lines(text_in(answer, "why")), seconds=seconds, is_bad=not held)
        case "session.check" if not answer.get("held", True):
            title = "What held at the checkpoint does not hold any more"
            return Event(at=at, title=title, lines=_lines(text_in(answer, "why")), seconds=seconds, is_bad=True)
        case "effect.verify" | "effect.stop":
            return _of_doubt(call, answer, seconds)
        case kind if kind.startswith("browser.") and _REAPPLIED.match(call.activity_id):
            step = _sequence(call)
            title = f"Done again in the new browser: step {step + 1}" if step is not None else "Done again"
            return Event(at=at, title=title, lines=(kind.removeprefix("browser."),), seconds=seconds)
        case kind if kind.startswith("browser.") and isinstance(answer.get("checkpoint"), Mapping):
            taken = answer["checkpoint"]
            spent = taken.get("ms")
            position = taken.get("position")
            return Event(
                at=at,
                title="Checkpoint taken: a lost browser can be rebuilt from here",
                seconds=spent / 1000 if isinstance(spent, int | float) else None,
                sequence=position - 1 if isinstance(position, int) else _sequence(call),
            )
        case _:
            return None


def _lost(at: float, call: ActivityCall | None, lost: Mapping[str, Any]) -> Event:
    failure = lost.get("failure") or {}
    kind = str((failure.get("timeoutFailureInfo") or {}).get("timeoutType", ""))
    what = kind.removeprefix("TIMEOUT_TYPE_").replace("_", " ").lower() or "its time was up"
    return Event(
        at=at,
        title=f"{_name(call)} was lost: no word from its worker ({what})",
        is_bad=True,
        sequence=None if call is None else _sequence(call),
    )


def _failed(at: float, call: ActivityCall | None, failed: Mapping[str, Any]) -> Event | None:
    failure = failed.get("failure") or {}
    message = shorten(str(failure.get("message", "")), WORDS_LIMIT)
    step = None if call is None else _sequence(call)
    return Event(at=at, title=f"{_name(call)} failed", lines=_lines(message), is_bad=True, sequence=step)


def _tried(at: float, call: ActivityCall | None, started: Mapping[str, Any]) -> Event:
    failure = started.get("lastFailure") or {}
    message = shorten(str(failure.get("message", "")), WORDS_LIMIT)
    step = None if call is None else _sequence(call)
    title = f"{_name(call)}: try {started.get('attempt')}"
    return Event(at=at, title=title, lines=_lines(message), sequence=step)


def _answered(at: float, accepted: Mapping[str, Any]) -> Event | None:
    """An answer of a person, never what they gave: that may be a code."""
    request = accepted.get("acceptedRequest") or {}
    given = request.get("input") or {}
    said = first_value(given.get("args"))
    if given.get("name") != "resolve_step" or not isinstance(said, Mapping) or said.get("verdict") not in _DECISIONS:
        return None
    who = text_in(said, "who") or "A person"
    step = said.get("sequence")
    return Event(
        at=at,
        area="person",
        title=f"{who} answered: {said['verdict']}",
        lines=_lines(text_in(said, "why")),
        sequence=step if isinstance(step, int) else None,
    )


def _name(call: ActivityCall | None) -> str:
    return "Something" if call is None else call.activity_type


def _sequence(call: ActivityCall) -> int | None:
    match = _NUMBERED.match(call.activity_id)
    return int(match[1]) - 1 if match else None


def _scheduled(attributes: Mapping[str, Any]) -> int:
    return int(attributes.get("scheduledEventId", 0))


def _lines(text: str) -> tuple[str, ...]:
    return (text,) if text else ()
