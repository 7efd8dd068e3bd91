"""What a resume refuses, and how a browser comes back: decided before anything is done."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from activities.run.resuming import Earlier, Standing
from replaywright.cli.runs.resume import Planned, Wish, _require_possible, _restarts, print_plan, way_back
from replaywright.cli.runs.starting import Order
from replaywright.domain.run.runs import RunState
from replaywright.domain.step.checkpoints import Checkpoint
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
DONE = StepOutcome(status=Status.DONE, fingerprint="f", effect=Effect.IDEMPOTENT)
SENT = DONE.model_copy(update={"effect": Effect.COMMIT})


def planned(*steps: dict[str, Any], answered: tuple[StepOutcome, ...] = (), **fields: Any) -> Planned:
    task = parse_task({"task": "t", "steps": list(steps), "verify": [{"url_contains": "/"}]}, "test")
    state, earlier = fields.pop("state", ""), fields.pop("earlier", ())
    found = Standing(answered, fingerprint="next", state=state, epoch=2, earlier=earlier)
    back = way_back(task.steps, len(answered), found.last_commit)
    given = {"redo": False, "keep": False, **fields}
    return Planned(Order(task, {}, "r~2"), "r", task.steps, found, back, **given)


@pytest.mark.parametrize(
    ("position", "last_commit", "start"), [(4, -1, 0), (4, 1, 3), (3, 1, 3), (2, 1, None), (5, 4, None), (1, 0, None)]
)
def test_a_browser_comes_back_from_the_beginning_or_from_a_goto_after_what_must_not_be_repeated(
    position: int, last_commit: int, start: int | None
) -> None:
    plan = planned(GOTO, SEND, FILL, GOTO, SEND).plan

    assert way_back(plan, position, last_commit) == start


@pytest.mark.parametrize(("at", "page_from", "start"), [((2,), 2, 2), ((1,), 1, None), ((2, 3), 2, 2), ((4,), 4, None)])
def test_a_browser_comes_back_by_the_newest_checkpoint_after_what_must_not_be_repeated(
    at: tuple[int, ...], page_from: int, start: int | None
) -> None:
    plan = planned(GOTO, SEND, FILL, FILL).plan
    checkpoints = [Checkpoint(position=one, page_from=page_from, state=f"state-{one}") for one in at]

    assert way_back(plan, 3, 1, checkpoints) == start


def test_the_checkpoint_that_a_browser_comes_back_by_is_told() -> None:
    found = planned(GOTO, SEND, FILL, answered=(DONE, SENT))
    state = RunState(checkpoints=(Checkpoint(position=2, page_from=2, state="state"),))
    console = Console(width=200, record=True, file=io.StringIO())

    print_plan(replace(found, order=replace(found.order, state=state), back=2), console)

    assert "to get there, a new browser is brought to the checkpoint after step 2" in console.export_text()


def test_a_plan_says_of_each_step_what_becomes_of_it() -> None:
    steps = (GOTO, FILL, SEND, FILL)
    earlier = (Earlier(2, "f-old", "click send", is_done=True),)

    def hows(**fields: Any) -> list[str]:
        found = planned(*steps, answered=(DONE,), earlier=earlier, **fields)
        return [found.how(sequence) for sequence in range(4)]

    assert hows() == ["ledger", "perform", "ask", "perform"]
    assert hows(redo=True)[2] == "redo"
    assert hows(keep=True)[2] == "keep"
    assert hows(state="DISPATCHED")[1] == "doubt"


def test_what_cannot_be_reached_again_is_refused_with_both_remedies() -> None:
    with pytest.raises(InputInvalid, match=r"step 3 .* cannot be reached again: .* add a goto .* --from 2 --redo"):
        _require_possible(planned(GOTO, SEND, FILL, answered=(DONE, SENT)))


def test_a_damaged_record_of_the_next_step_is_refused() -> None:
    with pytest.raises(InputInvalid, match=r"step 2 .*: the ledger's record of it cannot be read"):
        _require_possible(planned(GOTO, SEND, answered=(DONE,), state="DAMAGED"))


def test_what_the_task_does_not_ask_for_any_more_stops_only_steps_that_may_be_the_same() -> None:
    gone = (Earlier(None, "f-old", "click the big button", is_done=True),)

    with pytest.raises(InputInvalid, match=r"click the big button; .* add --redo"):
        _require_possible(planned(GOTO, SEND, answered=(DONE,), earlier=gone))
    _require_possible(planned(GOTO, FILL, answered=(DONE,), earlier=gone))
    _require_possible(planned(GOTO, SEND, answered=(DONE,), earlier=gone, redo=True))


def test_a_step_is_begun_anew_only_if_it_was_done_and_with_a_word_if_it_has_consequences() -> None:
    found = planned(GOTO, SEND, FILL, FILL, answered=(DONE, SENT, DONE))

    def restarts(**wish: Any) -> dict[int, str]:
        return _restarts(Wish("r", **wish), found.plan, found.found, {0: "r~1", 2: "r~1"}, "r~2")

    assert restarts() == {0: "r~1", 2: "r~1"}
    assert restarts(first=4) == {0: "r~1", 2: "r~1"}
    assert restarts(first=3) == {0: "r~1", 2: "r~2"}
    assert restarts(first=2, redo=True) == {0: "r~1", 1: "r~2"}
    with pytest.raises(InputInvalid, match="add --redo"):
        restarts(first=2)
    ahead = planned(GOTO, FILL, SEND, answered=(DONE,))
    with pytest.raises(InputInvalid, match="--from takes 1 to 2 here"):
        _restarts(Wish("r", first=3), ahead.plan, ahead.found, {}, "r~2")
