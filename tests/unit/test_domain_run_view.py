"""A run as people look at it: what the view makes of a trace."""

from typing import Any

from pydantic import TypeAdapter

from replaywright.domain.page.pictures import StepPicture
from replaywright.domain.page.targets import Box
from replaywright.domain.run.runs import RunResult, Totals
from replaywright.domain.run.scope import Usage
from replaywright.domain.step.outcomes import Costs, Lookup, Status, StepOutcome
from replaywright.domain.task.steps import Step
from replaywright.domain.trace.run_reading import of_run, run_view
from replaywright.domain.trace.run_view import AttemptView, Event, RunFacts
from replaywright.domain.trace.trace import flat, input_of, step_line

STEP: TypeAdapter[Step] = TypeAdapter(Step)
FACTS = RunFacts(run_id="r1", task="send_mail", status="done", started=100.0, ended=112.5, lineage="r1")


def line(
    sequence: int,
    at: float,
    outcome: StepOutcome | None = None,
    *,
    run_id: str = "r1",
    step: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    asked = STEP.validate_python(step or {"action": "click", "instruction": "the send button"})
    done = outcome or StepOutcome(status=Status.DONE, lookup=Lookup(hit=True, tier="role_name"))
    given: dict[str, Any] = {"title": "click the send button", "run_id": run_id, "epoch": 1, "more": more}
    given["given"] = input_of(asked)
    return flat({"at": at, "id": f"{sequence}-{at}", "v": 2, **step_line(done, sequence=sequence, **given)})


def test_a_step_is_shown_with_all_that_was_tried_and_what_lay_in_between() -> None:
    missed = StepOutcome(status=Status.MISSED, lookup=Lookup(reason="no_entry"), costs=Costs(total_ms=40))
    found = StepOutcome(status=Status.DONE, lookup=Lookup(hit=True, from_model=True), costs=Costs(total_ms=60))
    usage = {"calls": 1, "inputTokens": 90, "outputTokens": 10, "model": "m", "priced": 1, "costUsd": 0.25}
    asked = {"kind": "propose", "at": 102, "sequence": 0, "why": "no_entry", "elementId": "e4", "usage": usage}

    view = run_view(FACTS, [line(0, 101, missed), asked, line(0, 103, found, attempt="model", usage=usage)])

    [step] = view.steps
    assert (step.id, step.number, step.instruction, step.seconds) == ("step-1", 1, "the send button", 0.1)
    assert [type(moment) for moment in step.moments] == [AttemptView, Event, AttemptView]
    assert [attempt.found for attempt in step.attempts] == ["miss: no_entry", "model"]
    assert step.attempts[1].kind == "model"
    assert step.events[0].lines == ("the element was not known: no entry", "element e4 of the snapshot")
    assert step.usage == Usage(calls=1, input_tokens=90, output_tokens=10, model="m", priced=1, cost_usd=0.25)


def test_an_element_that_was_named_with_an_earlier_step_says_so() -> None:
    usage = {"calls": 0, "model": "m"}
    told = {"kind": "propose", "at": 102, "sequence": 3, "elementId": "e4", "namedAt": 1, "usage": usage}

    [step] = run_view(FACTS, [line(3, 101), told, line(3, 103, usage=usage)]).steps

    assert step.events[0].title == "The model, when it was asked for step 2, named the element"
    assert (step.usage.calls, step.usage.model) == (0, "m")


def test_the_call_of_a_model_is_counted_once_where_step_and_proposal_both_tell_of_it() -> None:
    usage = {"calls": 1, "inputTokens": 90}
    asked = {"kind": "propose", "at": 102, "sequence": 0, "elementId": "e4", "usage": usage}

    view = run_view(FACTS, [line(0, 101), asked, line(0, 103, usage=usage)])

    assert view.totals.usage.calls == 1


def test_only_the_lines_of_the_run_are_shown_not_those_of_others_of_its_lineage() -> None:
    lines = [
        {"kind": "recall", "at": 1, "decision": "abstain"},
        line(0, 2, run_id="r0"),
        {"kind": "propose", "at": 3, "sequence": 0},
        {"kind": "finish", "at": 4, "runId": "r0", "verified": True},
        {"kind": "plan", "at": 5, "steps": []},
        line(0, 6, run_id="r1"),
        {"kind": "person", "at": 7, "sequence": 0, "verdict": "done"},
    ]

    assert [one["at"] for one in of_run("r0", lines)] == [1, 2, 3, 4]
    assert [one["at"] for one in of_run("r1", lines)] == [5, 6, 7]


def test_what_is_expected_stands_beside_what_was_there() -> None:
    step = {"action": "click", "instruction": "the send button", "expect": [{"url_contains": "/sent"}]}
    outcome = StepOutcome.model_validate(
        {
            "status": "unmet",
            "predicates": [
                {"passed": False, "reason": "url_differs", "details": {"url": "http://x/inbox"}},
                {"passed": True, "reason": "holds", "required": False},
            ],
        }
    )

    view = run_view(FACTS, [line(0, 101, outcome, step=step)])

    first, second = view.steps[0].last.expected
    assert first.expected == {"url_contains": "/sent"}
    assert (first.passed, first.actual) == (False, {"url": "http://x/inbox"})
    assert (second.expected, second.required) == (None, False)


def test_the_picture_before_a_step_is_the_one_after_the_step_before() -> None:
    view_of = {"x": 0, "y": 100, "width": 800, "height": 600}
    pictures = [
        {"kind": "picture", "at": 100.5, "runId": "r1", "sequence": -1, "digest": "a" * 64, "view": view_of},
        {"kind": "picture", "at": 101.5, "runId": "r1", "sequence": 0, "missing": "the page did not answer"},
    ]
    boxed = StepOutcome(status=Status.DONE, box=Box(x=200, y=250, width=80, height=30))

    view = run_view(FACTS, [pictures[0], line(0, 101, boxed), pictures[1], line(1, 102)])

    first, second = view.steps
    assert first.before is not None
    assert first.last.box is not None
    assert first.before.placed(first.last.box) == Box(x=0.25, y=0.25, width=0.1, height=0.05)
    assert first.after == second.before == StepPicture(missing="the page did not answer")
    assert second.after is None


def test_an_element_outside_of_the_picture_is_not_marked_and_one_on_its_edge_as_far_as_it_shows() -> None:
    picture = StepPicture(digest="a", view=Box(x=0, y=0, width=100, height=100))

    assert picture.placed(Box(x=10, y=120, width=20, height=20)) is None
    assert picture.placed(Box(x=90, y=-10, width=20, height=20)) == Box(x=0.9, y=0, width=0.1, height=0.1)
    assert StepPicture(digest="a").placed(Box(x=0, y=0, width=1, height=1)) is None


def test_steps_of_rules_and_of_a_revised_plan_are_steps_of_their_own() -> None:
    lines = [
        line(0, 101),
        line(0, 102, override="cookies"),
        {**line(0, 103), "title": "click another button"},
    ]

    view = run_view(FACTS, lines)

    assert [(step.id, step.override) for step in view.steps] == [
        ("step-1", ""),
        ("step-1-2", "cookies"),
        ("step-1-3", ""),
    ]


def test_a_failure_names_its_step_and_what_can_be_done() -> None:
    failed = FACTS.model_copy(update={"status": "failed", "reason": "ambiguous", "failed_step": 1, "message": "two"})

    view = run_view(failed, [line(0, 101), line(1, 102, StepOutcome(status=Status.MISSED))])

    assert view.failure is not None
    assert view.failure.step_id == "step-2"
    assert "more than one element" in view.failure.to_do
    assert view.failure.resume == "replaywright resume r1"
    assert run_view(FACTS, []).failure is None


def test_what_the_history_tells_stands_in_the_timeline_where_it_happened() -> None:
    told = Event(at=101.5, title="The live browser was adopted", seconds=0.4)
    facts = FACTS.model_copy(update={"history": (told,)})

    view = run_view(facts, [line(0, 101), line(1, 102)])

    assert [type(entry).__name__ for entry in view.entries] == ["StepView", "Event", "StepView"]


def test_without_a_result_the_counts_are_those_of_the_trace() -> None:
    healed = StepOutcome(status=Status.DONE, lookup=Lookup(hit=True, tier="similarity", healed=True))
    ledger = StepOutcome(status=Status.DONE, from_ledger=True)

    view = run_view(FACTS, [line(0, 101), line(1, 102, healed), line(2, 103, ledger)])

    assert (view.totals.steps, view.totals.hits, view.totals.heals, view.totals.from_ledger) == (3, 1, 1, 1)
    assert view.resumed_steps == 1


def test_what_a_result_says_counts() -> None:
    result = RunResult(succeeded=True, totals=Totals(steps=9, usage=Usage(calls=2, input_tokens=5, priced=1)))

    view = run_view(FACTS.model_copy(update={"totals": result.totals}), [line(0, 101)])

    assert (view.totals.steps, view.numbers.calls, view.numbers.tokens) == (9, 2, 5)
    assert view.numbers.cost_usd is None  # of one call nobody knows the price
    assert view.seconds == 12.5


def test_a_run_that_goes_on_is_as_long_as_it_took_by_now() -> None:
    facts = FACTS.model_copy(update={"status": "running", "ended": None, "now": 130.0})

    assert run_view(facts, []).seconds == 30.0


def test_lines_that_cannot_be_read_and_kinds_of_other_versions_spoil_nothing() -> None:
    lines: list[dict[str, Any]] = [
        {"kind": "step", "at": "x", "sequence": "y"},
        {"kind": "step", "at": 1, "sequence": 0, "status": "no such"},
        {"kind": "picture", "at": 1, "sequence": 0, "view": "x"},
        {"kind": "finish", "at": 1, "predicates": [{"passed": "maybe"}], "promoted": "many"},
        {"kind": "recall", "considered": ["x", {"name": 3, "score": "y"}]},
        {"kind": "from_the_future", "at": 2},
        {},
    ]

    view = run_view(FACTS, lines)

    assert view.steps == ()
    assert "from the future" in [event.title for event in view.events]


def test_every_kind_of_line_that_is_written_reads_as_a_sentence() -> None:
    told: dict[str, dict[str, Any]] = {
        "revise": {"steps": ["goto /"], "why": "missed"},
        "label": {"label": "Send a mail", "parameters": ["to"]},
        "recall": {"decision": "accept", "skill": "send-mail", "version": 3},
        "probe": {"refused": "no link"},
        "probe_tried": {"kept": True},
        "recheck": {"said": "url differs"},
        "person": {"verdict": "not_done", "who": "Ada", "failed": False},
        "steered": {"event": "paused", "who": "Ada"},
        "take_over": {"who": "Ada", "requests": ["POST /x"]},
        "browser": {"why": "it was 3 h old", "kept": ""},
        "policy": {"rule": "actions.deny", "sequence": 2},
        "finish": {"verified": False, "note": "nothing learned is promoted"},
    }

    events = run_view(FACTS, [{"kind": kind, "at": 1.0, **fields} for kind, fields in told.items()]).events

    assert {event.kind: event.title for event in events} == {
        "revise": "The plan was revised from here: 1 step",
        "label": "The sentence was read as: Send a mail",
        "recall": "Recalled skill send-mail, version 3",
        "probe": "No way to ask the site about this step was proposed",
        "probe_tried": "The proposed question to the site proved itself, and is kept",
        "recheck": "Looked again: what is expected still does not hold",
        "person": "Ada decided on a step in doubt: not done",
        "steered": "Ada: paused",
        "take_over": "Ada had the browser, and gave it back",
        "browser": "The browser was exchanged for a new one",
        "policy": "Blocked before anything was done: actions.deny",
        "finish": "The final verification failed",
    }
