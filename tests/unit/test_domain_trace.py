"""What a line of the trace says, as it is read."""

import pytest
from pydantic import TypeAdapter, ValidationError

from replaywright.domain.step.outcomes import Costs, Lookup, Status, StepOutcome
from replaywright.domain.task.steps import Step
from replaywright.domain.trace.trace import (
    TEMPLATE_LIMIT,
    FinishLine,
    Line,
    PersonLine,
    TraceStepLine,
    flat,
    input_of,
    parse_line,
    step_line,
    verdict_of,
)

STEP: TypeAdapter[Step] = TypeAdapter(Step)
DONE = StepOutcome(
    status=Status.DONE,
    fingerprint="f" * 64,
    lookup=Lookup(hit=True, tier="xpath"),
    extracted={"number": 7},
    costs=Costs(total_ms=41.5),
)


def line_of(outcome: StepOutcome = DONE) -> dict[str, object]:
    fill = STEP.validate_python({"action": "fill", "instruction": "the To field", "value": "{{to}} {{secret:PIN}}"})
    more = {"task": "send", "usage": {"calls": 1, "model": "m"}, "previous": "e" * 64, "attempt": "retry"}
    line = step_line(outcome, sequence=3, title="fill", run_id="r1", epoch=2, given=input_of(fill), more=more)
    return {"at": 1.5, "id": "a1", **line}


def test_a_step_has_input_output_and_metadata() -> None:
    line = parse_line(line_of())

    assert isinstance(line, TraceStepLine)
    assert line.input.step == {"action": "fill", "instruction": "the To field", "value": "{{to}} {{secret:PIN}}"}
    assert line.input.parameters == ("to",)
    assert line.output == DONE
    metadata = line.metadata
    assert (metadata.status, metadata.duration_ms, metadata.tier) == ("success", 41.5, "xpath")
    assert (metadata.fingerprint, metadata.previous, metadata.attempt) == ("f" * 64, "e" * 64, "retry")
    assert (metadata.epoch, metadata.run_id, metadata.usage.model) == (2, "r1", "m")


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (DONE, "success"),
        (DONE.model_copy(update={"from_ledger": True}), "skipped"),
        (DONE.model_copy(update={"already_done": True}), "skipped"),
        (StepOutcome(status=Status.MISSED), "failed"),
        (StepOutcome(status=Status.UNMET), "failed"),
        (StepOutcome(status=Status.REFUSED), "failed"),
        (StepOutcome(status=Status.BLOCKED, rule="policy 'p': actions.deny"), "blocked"),
        (StepOutcome(status=Status.IN_DOUBT), "unknown"),
    ],
)
def test_a_status_is_told_in_one_of_five_words(outcome: StepOutcome, verdict: str) -> None:
    assert verdict_of(outcome) == verdict


def test_of_a_step_that_is_too_long_only_the_digest_is_kept() -> None:
    paste = {"action": "fill", "instruction": "the body", "value": "{{who}}" + "x" * TEMPLATE_LIMIT}

    given = input_of(STEP.validate_python(paste))

    assert given["step"] == {"action": "fill"}
    assert given["parameters"] == ["who"]
    assert len(given["digest"]) == 64


def test_a_flat_line_has_the_outcome_beside_its_run() -> None:
    new = flat(line_of())

    old = {name: value for name, value in new.items() if name not in ("at", "id")}
    assert old == {
        "kind": "step",
        "task": "send",
        "usage": {"calls": 1, "model": "m"},
        "attempt": "retry",
        "runId": "r1",
        "sequence": 3,
        "epoch": 2,
        "title": "fill",
        "input": {
            "step": {"action": "fill", "instruction": "the To field", "value": "{{to}} {{secret:PIN}}"},
            "parameters": ["to"],
        },
        **DONE.model_dump(mode="json", by_alias=True, exclude_defaults=True),
    }
    assert flat(new) == new


def test_other_kinds_have_a_form_too_and_unknown_ones_are_left_as_they_are() -> None:
    beside = {"at": 1, "id": "a"}

    person = parse_line({"kind": "person", **beside, "sequence": 9, "verdict": "done", "who": "Ada"})
    finish = parse_line({"kind": "finish", **beside, "verified": True})
    later = parse_line({"kind": "later", **beside, "v": 9, "anything": []})

    assert isinstance(person, PersonLine)
    assert isinstance(finish, FinishLine)
    assert (type(later), later.kind, later.v) == (Line, "later", 9)
    with pytest.raises(ValidationError, match="verdict"):
        parse_line({"kind": "person", **beside, "sequence": 9, "verdict": "perhaps"})
