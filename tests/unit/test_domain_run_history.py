"""What only a workflow's history tells of a run."""

import base64
import json
from typing import Any

from replaywright.domain.trace.histories import time_of
from replaywright.domain.trace.run_history import history_events


def payloads(value: Any) -> dict[str, Any]:
    encoded = base64.b64encode(b"json/plain").decode()
    data = base64.b64encode(json.dumps(value).encode()).decode()
    return {"payloads": [{"metadata": {"encoding": encoded}, "data": data}]}


def event(number: int, kind: str, **attributes: Any) -> dict[str, Any]:
    time = f"2026-11-22T09:00:{number:02d}.123456789Z"
    return {"eventId": str(number), "eventTime": time, f"{kind}EventAttributes": attributes}


def scheduled(number: int, activity_id: str, kind: str) -> dict[str, Any]:
    return event(number, "activityTaskScheduled", activityId=activity_id, activityType={"name": kind})


def completed(number: int, of: int, answer: Any) -> dict[str, Any]:
    return event(number, "activityTaskCompleted", scheduledEventId=str(of), result=payloads(answer))


def told(*events: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    return [(one.title, "".join(one.lines), one.sequence) for one in history_events([events])]


def test_a_lost_step_and_the_way_back_are_told_in_their_order() -> None:
    lost = {"timeoutFailureInfo": {"timeoutType": "TIMEOUT_TYPE_HEARTBEAT"}}

    events = history_events(
        [
            [
                scheduled(1, "0003-abc", "browser.click"),
                event(2, "activityTaskTimedOut", scheduledEventId="1", failure=lost),
                scheduled(3, "session-recover-e2", "session.recover"),
                completed(5, 3, {"adopted": True}),
            ],
            [
                scheduled(1, "session-recover-e3", "session.recover"),
                completed(6, 1, {"adopted": False}),
                scheduled(7, "restore", "session.restore"),
                completed(8, 7, {"held": False, "why": "it leads to /login now"}),
                scheduled(9, "0002-reapply-e3", "browser.fill"),
                completed(10, 9, {"status": "done"}),
            ],
        ]
    )

    assert [(one.title, "".join(one.lines), one.is_bad) for one in events] == [
        ("browser.click was lost: no word from its worker (heartbeat)", "", True),
        ("The live browser was found again and adopted", "", False),
        ("The browser was gone: a new one was opened", "", True),
        ("A checkpoint did not lead back", "it leads to /login now", True),
        ("Done again in the new browser: step 2", "fill", False),
    ]
    assert (events[0].sequence, events[1].seconds) == (2, 2.0)


def test_a_checkpoint_belongs_to_the_step_after_which_it_was_taken() -> None:
    outcome = {"status": "done", "checkpoint": {"position": 4, "state": "d", "ms": 120.0}}

    [told_of] = history_events([[scheduled(1, "0005-abc", "browser.click"), completed(2, 1, outcome)]])

    assert (told_of.sequence, told_of.seconds) == (3, 0.12)
    assert "Checkpoint taken" in told_of.title


def test_further_tries_and_failures_are_told_with_what_was_wrong() -> None:
    assert told(
        scheduled(1, "0001-abc", "model.propose_target"),
        event(2, "activityTaskStarted", scheduledEventId="1", attempt=2, lastFailure={"message": "429"}),
        event(3, "activityTaskFailed", scheduledEventId="1", failure={"message": "the key is wrong"}),
    ) == [
        ("model.propose_target: try 2", "429", 0),
        ("model.propose_target failed", "the key is wrong", 0),
    ]


def test_an_answer_is_told_by_whom_and_never_what_was_given() -> None:
    said = {
        "sequence": 3,
        "verdict": "answer",
        "who": "ada",
        "why": "from the token",
        "value": "code 4711",
        "sealed": "x",
    }
    request = {"input": {"name": "resolve_step", "args": payloads(said)}}
    doubt = {"input": {"name": "resolve_step", "args": payloads({**said, "verdict": "done"})}}

    events = history_events(
        [
            [
                event(1, "workflowExecutionUpdateAccepted", acceptedRequest=request),
                event(2, "workflowExecutionUpdateAccepted", acceptedRequest=doubt),  # its line is in the trace
            ]
        ]
    )

    assert [(one.title, "".join(one.lines), one.area, one.sequence) for one in events] == [
        ("ada answered: answer", "from the token", "person", 3)
    ]
    assert "code 4711" not in repr(events)


def test_a_step_in_doubt_shows_what_evidence_said() -> None:
    answer = {"verdict": "not_done", "reason": "nothing_left"}

    assert told(scheduled(1, "0010-abc-verify", "effect.verify"), completed(2, 1, answer)) == [
        ("The step in doubt was looked into: not done", "nothing left", 9)
    ]


def test_what_cannot_be_read_is_left_out() -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"eventId": "7", "eventTime": "yesterday", "activityTaskCompletedEventAttributes": {"scheduledEventId": "9"}},
        event(8, "workflowExecutionUpdateAccepted"),
        event(9, "workflowExecutionUpdateAccepted", acceptedRequest={"input": {"name": "pause"}}),
        scheduled(10, "x", "session.close"),
        completed(11, 10, None),
    ]

    assert history_events([odd]) == ()
    assert time_of({"eventTime": "yesterday"}) == 0.0
