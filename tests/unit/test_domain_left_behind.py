"""What a run that ended has left is read from its history; a checkpoint of another chain of steps does not serve."""

import base64
import json
from typing import Any

from replaywright.domain.run.runs import RunInput, RunState
from replaywright.domain.step.checkpoints import Checkpoint
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.trace.left_behind import left_behind
from replaywright.domain.trace.trace_file import History

FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SESSION = {"session_id": "s1", "queue": "q"}
TASK = {"task": "t", "url": "http://site/", "steps": [FILL], "verify": [{"url_contains": "/"}]}
RUN = RunInput.model_validate({"task": TASK, "values": {}})


def event(number: int, name: str, answer: dict[str, Any], **given: Any) -> list[dict[str, Any]]:
    """An activity as a history tells of it."""

    def payloads(value: dict[str, Any]) -> dict[str, Any]:
        encoded = {"encoding": base64.b64encode(b"json/plain").decode()}
        return {"payloads": [{"metadata": encoded, "data": base64.b64encode(json.dumps(value).encode()).decode()}]}

    scheduled = {"activityType": {"name": name}, "input": payloads(given)}
    completed = {"scheduledEventId": number, "result": payloads(answer)}
    return [
        {"eventId": number, "activityTaskScheduledEventAttributes": scheduled},
        {"eventId": number + 1, "activityTaskCompletedEventAttributes": completed},
    ]


def step(number: int, sequence: int, mark: str, position: int, **fields: Any) -> list[dict[str, Any]]:
    """A step that was done, and told of a checkpoint."""
    told = {
        "status": "done",
        "fingerprint": mark,
        "effect": "idempotent",
        "checkpoint": {"position": position, "state": f"state-{position}"},
    }
    run = {"run_id": "r", "lineage": "r", "tenant": "t", "task": "t", "session": SESSION, "epoch": 1}
    context = {"run": run, "sequence": sequence, "step": FILL, "fingerprint": mark}
    return event(number, "browser.fill", told | fields, kind="perform", context=context)


def answered(*marks: str) -> tuple[StepOutcome, ...]:
    return tuple(StepOutcome(status=Status.DONE, fingerprint=mark, effect=Effect.IDEMPOTENT) for mark in marks)


def test_a_browser_that_was_not_given_back_is_found_with_the_highest_epoch() -> None:
    opened = event(1, "session.open", {"session": SESSION})
    verified = event(3, "effect.verify", {}, action={"run": {"epoch": 6}})
    closed = event(5, "session.close", {}, session=SESSION)

    left = left_behind([History("r", "1", [*opened, *verified])], RUN, ())
    given_back = left_behind([History("r", "1", [*opened, *verified]), History("r", "2", closed)], RUN, ())

    assert (left.session is not None and left.session.session_id, left.epoch) == ("s1", 6)
    assert (given_back.session, given_back.epoch) == (None, 6)


def test_of_two_browsers_the_one_that_was_not_given_back_is_left() -> None:
    other = {"session_id": "s2", "queue": "q"}
    exchanged = [*event(1, "session.open", {"session": SESSION}), *event(3, "session.open", {"session": other})]
    given_up = event(5, "session.close", {}, session=SESSION)
    gone_back = event(5, "session.close", {}, session=other)
    lost = event(5, "session.recover", {"session": {"session_id": "s3", "queue": "q"}}, lost=other, epoch=3)

    def left(*events: dict[str, Any]) -> str:
        found = left_behind([History("r", "1", events)], RUN, ()).session
        return "" if found is None else found.session_id

    assert left(*exchanged, *given_up) == "s2"
    assert left(*exchanged, *gone_back) == "s1"
    assert left(*exchanged, *given_up, *lost) == "s3"


def test_the_checkpoints_of_the_steps_that_are_answered_are_left_with_where_their_documents_begin() -> None:
    first = History("r", "1", [*step(1, 0, "a", 1, moved=True), *step(3, 1, "b", 2, effect="commit")])
    second = History("r", "2", [*step(1, 2, "c", 2), *step(3, 3, "d", 4)])

    left = left_behind([first, second], RUN, answered("a", "b", "c", "d"))
    shorter = left_behind([first, second], RUN, answered("a"))

    assert [(one.position, one.page_from) for one in left.checkpoints] == [(1, 1), (2, 2), (4, 2)]
    assert left.page_from == 2
    assert [one.position for one in shorter.checkpoints] == [1]
    assert shorter.page_from == 1


def test_a_checkpoint_of_another_chain_of_steps_is_not_left() -> None:
    history = History("r", "1", [*step(1, 0, "a", 1), *step(3, 1, "b", 2)])

    assert [one.position for one in left_behind([history], RUN, answered("a", "other")).checkpoints] == [1]


def test_what_a_resumed_run_was_given_is_left_to_the_next() -> None:
    kept = Checkpoint(position=2, page_from=1, state="kept")
    resumed = RUN.model_copy(update={"state": RunState(checkpoints=(kept,), page_from=1)})
    told = [{"fingerprint": one.fingerprint, "outcome": one.model_dump(mode="json")} for one in answered("a", "b")]
    asked = {"run_id": "r~2", "lineage": "r", "tenant": "t", "task": "t", "plan": [FILL], "resume": {"of": "r"}}
    history = History("r~2", "1", event(1, "run.resume", {"answered": told}, **asked))

    left = left_behind([history], resumed, answered("a", "b"))

    assert (left.checkpoints, left.page_from) == ((kept,), 1)
    assert left_behind([history], resumed, answered("a", "c")).checkpoints == ()
