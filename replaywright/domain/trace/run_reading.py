"""Makes a run's view of what is kept of it: the lines of its trace, and what Temporal knows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pydantic import ValidationError

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.pictures import StepPicture
from replaywright.domain.run.remedies import remedy_of
from replaywright.domain.run.runs import Totals
from replaywright.domain.run.scope import Usage
from replaywright.domain.run.standing import ENDS
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.run_events import event_of
from replaywright.domain.trace.run_view import (
    AttemptView,
    Event,
    Expected,
    FailureView,
    RunFacts,
    RunView,
    StepView,
)
from replaywright.domain.trace.saying import how_found
from replaywright.domain.trace.trace import verdict_of

_BEGIN: Final = frozenset({"recall", "label", "plan", "policy"})
"""Kinds of lines that a run may write before any that names it."""
_ENDED_BADLY: Final = frozenset(ENDS) - {"done"}
_STEP_EVENTS: Final = frozenset(
    {"propose", "recheck", "person", "revise", "probe", "probe_tried", "steered", "take_over"}
)
"""Kinds of lines that belong to the step of their sequence."""


def run_view(facts: RunFacts, lines: Sequence[Mapping[str, Any]]) -> RunView:
    """The view of a run.

    Args:
        facts: what is known of it beside its trace.
        lines: the trace of its lineage, as `flat` in `replaywright.domain.trace.trace` makes them, oldest first. Those
            of other runs are left out, and such that cannot be read.
    """
    steps, rest = _steps(of_run(facts.run_id, lines))
    events = [event for line in rest if (event := event_of(line)) is not None]
    steps, beside = _with_history(steps, facts.history)
    events += beside
    return RunView(
        facts=facts,
        steps=tuple(steps),
        events=tuple(sorted(events, key=lambda event: event.at)),
        failure=_failure(facts, steps),
        totals=facts.totals or _counted(steps, events),
        resumed_steps=sum(step.last.from_ledger for step in steps),
    )


def _with_history(steps: list[StepView], history: Iterable[Event]) -> tuple[list[StepView], list[Event]]:
    """The steps with what the history tells of them, and what it tells beside that."""
    places = {step.sequence: place for place, step in enumerate(steps) if not step.override}
    of_steps: defaultdict[int, list[Event]] = defaultdict(list)
    beside: list[Event] = []
    for event in history:
        place = None if event.sequence is None else places.get(event.sequence)
        (beside if place is None else of_steps[place]).append(event)
    made = [
        step.model_copy(update={"events": (*step.events, *of_steps[place])}) if place in of_steps else step
        for place, step in enumerate(steps)
    ]
    return made, beside


def of_run(run_id: str, lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The lines of one run of a lineage, whose runs follow one another.

    A line that names no run is of the one whose lines stand before it; what begins a run may stand before all of its.
    """
    owners: list[str] = []
    owner = ""
    for line in lines:
        named = line.get("runId")
        owner = named if isinstance(named, str) and named else owner
        owners.append(owner)
    following = ""
    for place in range(len(lines) - 1, -1, -1):
        named = lines[place].get("runId")
        if isinstance(named, str) and named:
            following = named
        elif lines[place].get("kind") in _BEGIN and following and _begins(lines, owners, place):
            owners[place] = following
    return [line for line, whose in zip(lines, owners, strict=True) if whose in ("", run_id)]


def _begins(lines: Sequence[Mapping[str, Any]], owners: Sequence[str], place: int) -> bool:
    """Return whether only lines that begin a run stand between this line and the next that names one."""
    for line in lines[place:]:
        if line.get("runId"):
            return line.get("runId") != owners[place]
        if line.get("kind") not in _BEGIN:
            return False
    return False


def _steps(lines: Sequence[Mapping[str, Any]]) -> tuple[list[StepView], list[Mapping[str, Any]]]:
    """The steps, and the lines that belong to none."""
    attempts: dict[tuple[Any, ...], list[tuple[Mapping[str, Any], StepOutcome]]] = {}
    latest: dict[int, tuple[Any, ...]] = {}
    beside: defaultdict[tuple[Any, ...], list[Event]] = defaultdict(list)
    pictures: dict[int, StepPicture] = {}
    rest: list[Mapping[str, Any]] = []
    for line in lines:
        sequence = line.get("sequence")
        if line.get("kind") == "step" and isinstance(sequence, int):
            with suppress(ValidationError):
                outcome = StepOutcome.model_validate(line)
                key = (sequence, str(line.get("override", "")), str(line.get("title", "")))
                attempts.setdefault(key, []).append((line, outcome))
                latest[sequence] = key
        elif line.get("kind") == "picture" and isinstance(sequence, int):
            with suppress(ValidationError):
                pictures[sequence] = StepPicture.model_validate(line)
        elif line.get("kind") in _STEP_EVENTS and isinstance(sequence, int) and sequence in latest:
            if (event := event_of(line)) is not None:
                beside[latest[sequence]].append(event)
        else:
            rest.append(line)
    made: list[StepView] = []
    names: dict[str, int] = {}
    for key, tried in attempts.items():
        base = f"step-{key[0] + 1}"
        names[base] = names.get(base, 0) + 1
        name = base if names[base] == 1 else f"{base}-{names[base]}"
        own = {} if key[1] else {"before": pictures.get(key[0] - 1), "after": pictures.get(key[0])}
        made.append(_step(name, key[0], tried, tuple(beside[key])).model_copy(update=own))
    return made, rest


def _step(
    name: str, sequence: int, tried: Sequence[tuple[Mapping[str, Any], StepOutcome]], events: tuple[Event, ...]
) -> StepView:
    line, outcome = tried[-1]
    given = _mapping(line.get("input"))
    step = _mapping(given.get("step"))
    title = str(line.get("title", ""))
    return StepView(
        id=name,
        sequence=sequence,
        title=title,
        action=str(step.get("action") or title.partition(" ")[0]),
        instruction=str(step.get("instruction", "")),
        parameters=tuple(str(one) for one in given.get("parameters") or ()),
        item=str(line.get("item", "")),
        override=str(line.get("override", "")),
        effect=outcome.effect,
        site=str(line.get("site", "")),
        attempts=tuple(_attempt(number, *one, step) for number, one in enumerate(tried, start=1)),
        events=events,
    )


def _attempt(number: int, line: Mapping[str, Any], outcome: StepOutcome, step: Mapping[str, Any]) -> AttemptView:
    known = {name: getattr(outcome, name) for name in outcome.model_fields_set}
    return AttemptView(
        **known,
        at=_time(line),
        number=number,
        kind=str(line.get("attempt", "")),
        why=str(line.get("why", "")),
        verdict=verdict_of(outcome),
        found=how_found(outcome.lookup, from_ledger=outcome.from_ledger, already_done=outcome.already_done),
        expected=expectations(outcome.predicates, step.get("expect") or ()),
        overruled=str(line.get("overruled", "")),
        epoch=int(line.get("epoch") or 0),
        usage=Usage.model_validate(line.get("usage") or {}),
    )


def expectations(results: Sequence[PredicateResult], declared: Sequence[Any]) -> tuple[Expected, ...]:
    """The verdicts, each with what was expected: those that the step declares come first, in its order."""
    return tuple(
        Expected(
            passed=result.passed,
            required=result.required,
            reason=result.reason,
            expected=dict(_mapping(declared[place])) or None if place < len(declared) else None,
            actual=result.details,
        )
        for place, result in enumerate(results)
    )


def _failure(facts: RunFacts, steps: Sequence[StepView]) -> FailureView | None:
    if facts.status not in _ENDED_BADLY:
        return None
    reason = facts.reason or facts.status
    own = [step for step in steps if step.sequence == facts.failed_step and not step.override]
    return FailureView(
        reason=reason,
        step_id=own[-1].id if own else "",
        to_do=remedy_of(reason, facts.message),
        resume=f"replaywright resume {facts.run_id}",
    )


def _counted(steps: Iterable[StepView], events: Iterable[Event]) -> Totals:
    """The counts as far as the trace tells, of a run that did not live to tell them."""
    usage, counts = Usage(), defaultdict[str, int](int)
    for event in events:
        usage = usage.plus(event.usage)
    for step in steps:
        last = step.last
        usage = usage.plus(step.usage)
        counts["steps"] += last.status is Status.DONE and not step.override
        counts["heals"] += last.lookup.healed
        counts["hits"] += last.lookup.hit and not (last.lookup.healed or last.lookup.from_model or not last.lookup.tier)
        counts["learned"] += last.lookup.from_model
        counts["from_ledger"] += last.from_ledger
        counts["overrides"] += bool(step.override)
        counts["warnings"] += bool(last.warnings)
    return Totals(**counts, usage=usage)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _time(line: Mapping[str, Any]) -> float:
    at = line.get("at")
    return float(at) if isinstance(at, int | float) else 0.0
