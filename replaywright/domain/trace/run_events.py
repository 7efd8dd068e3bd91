"""Events in a trace other than attempts, in words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.run.scope import Usage
from replaywright.domain.trace.histories import text_in
from replaywright.domain.trace.run_view import Area, Event, Expected
from replaywright.domain.trace.saying import count

_Line = Mapping[str, Any]
_Told = tuple[Area, str, Sequence[str], bool]
"""Area, title, further lines, and whether it is bad news."""


def event_of(line: _Line) -> Event | None:
    """Return the event of a line; None for a line without one, or that cannot be read."""
    kind = str(line.get("kind", ""))
    if kind in ("step", "picture"):
        return None
    area, title, lines, is_bad = _TELLERS.get(kind, _other)(line)
    at, artifacts = line.get("at"), line.get("artifacts")
    try:
        return Event(
            at=float(at) if isinstance(at, int | float) else 0.0,
            area=area,
            kind=kind,
            title=title,
            lines=tuple(filter(None, lines)),
            who=text_in(line, "who"),
            usage=Usage.model_validate(line.get("usage") or {}),
            is_bad=is_bad,
            expected=_expected(line.get("predicates")),
            artifacts=artifacts if isinstance(artifacts, dict) else {},
        )
    except ValidationError:
        return None


def _propose(line: _Line) -> _Told:
    why = _words(line, "why")
    asked = f"the element was not known: {why}" if why else ""
    run = text_in(line, "candidateOf")
    before = line.get("namedAt")
    model = f"The model, when it was asked for step {before + 1}," if isinstance(before, int) else "The model"
    whose = f"The run {run}, which was never verified," if run else model
    if refused := text_in(line, "refused"):
        return "model", f"{whose} named an element that was refused", (asked, refused), True
    if element := text_in(line, "elementId"):
        return "model", f"{whose} named the element", (asked, f"element {element} of the snapshot"), False
    if run:
        return "model", f"{whose} named an element that is not on the page", (asked,), False
    return "model", "The model found no such element", (asked,), True


def _plan(line: _Line) -> _Told:
    steps = _texts(line, "steps")
    why = text_in(line, "why")
    after = f"after: {why}" if why else ""
    if gave_up := text_in(line, "gaveUp"):
        return "plan", "The planner gave up", (after, gave_up), True
    more = "" if line.get("complete", True) else ", and wants to see the page after them"
    return "plan", f"The planner proposed {count(len(steps), 'step')}{more}", (after, *steps), False


def _revise(line: _Line) -> _Told:
    steps = _texts(line, "steps")
    why = text_in(line, "why")
    after = f"after: {why}" if why else ""
    if not steps:
        return "plan", "The plan was not revised", (after, text_in(line, "gaveUp")), True
    return "plan", f"The plan was revised from here: {count(len(steps), 'step')}", (after, *steps), False


def _label(line: _Line) -> _Told:
    names = _texts(line, "parameters")
    said = f"parameters: {', '.join(names)}" if names else "no parameters"
    refused = [f"refused: {one}" for one in _texts(line, "refused")]
    return "plan", f"The sentence was read as: {text_in(line, 'label') or 'a task'}", (said, *refused), False


def _recall(line: _Line) -> _Told:
    considered = tuple(_candidate(one) for one in line.get("considered") or () if isinstance(one, Mapping))
    if line.get("decision") == "accept":
        return "plan", f"Recalled skill {text_in(line, 'skill')}, version {line.get('version', 0)}", considered, False
    return "plan", f"No skill was recalled: {_words(line, 'reason')}", considered, False


def _candidate(one: _Line) -> str:
    score = one.get("score")
    told = f" ({score:.2f})" if isinstance(score, int | float) else ""
    return f"{text_in(one, 'name')}{told}: {_words(one, 'reason')}"


def _probe(line: _Line) -> _Told:
    if refused := text_in(line, "refused"):
        return "model", "No way to ask the site about this step was proposed", (refused,), False
    return "model", "The planner proposed how the site can be asked about this step", (), False


def _probe_tried(line: _Line) -> _Told:
    if line.get("kept"):
        return "check", "The proposed question to the site proved itself, and is kept", (), False
    return "check", "The proposed question to the site is not kept", (text_in(line, "reason"),), False


def _recheck(line: _Line) -> _Told:
    return "check", "Looked again: what is expected still does not hold", (text_in(line, "said"),), True


def _person(line: _Line) -> _Told:
    about = "a step that failed" if line.get("failed") else "a step in doubt"
    title = f"{text_in(line, 'who') or 'A person'} decided on {about}: {_words(line, 'verdict')}"
    return "person", title, (text_in(line, "why"),), False


def _steered(line: _Line) -> _Told:
    title = f"{text_in(line, 'who') or 'A person'}: {_words(line, 'event') or 'steered the run'}"
    return "person", title, (text_in(line, "why"), text_in(line, "title")), False


def _take_over(line: _Line) -> _Told:
    requests = _texts(line, "requests")
    title = f"{text_in(line, 'who') or 'A person'} had the browser, and gave it back"
    left = f"what left the browser meanwhile: {count(len(requests), 'request')}"
    return "person", title, (text_in(line, "why"), left, *requests), False


def _browser(line: _Line) -> _Told:
    if kept := text_in(line, "kept"):
        return "recovery", f"The worn browser was kept: {kept}", (text_in(line, "why"),), True
    return "recovery", "The browser was exchanged for a new one", (text_in(line, "why"),), False


def _policy(line: _Line) -> _Told:
    place = line.get("sequence")
    step = f"step {place + 1}" if isinstance(place, int) else ""
    return "policy", f"Blocked before anything was done: {text_in(line, 'rule')}", (step, text_in(line, "reason")), True


def _finish(line: _Line) -> _Told:
    note = text_in(line, "note")
    promoted, held = line.get("promoted", 0), line.get("held", 0)
    told = (
        note,
        f"{count(int(promoted), 'recording')} became active" if isinstance(promoted, int) and promoted else "",
        f"{count(int(held), 'healed recording')} held back for a person" if isinstance(held, int) and held else "",
    )
    if not line.get("verified", True):
        return "check", "The final verification failed", told, True
    return "check", "Final verification: everything holds" if not note else "The run ended", told, False


def _other(line: _Line) -> _Told:
    return "note", _words(line, "kind") or "Something that this version does not know", (), False


_TELLERS: Final[Mapping[str, Callable[[_Line], _Told]]] = {
    "propose": _propose,
    "plan": _plan,
    "revise": _revise,
    "label": _label,
    "recall": _recall,
    "probe": _probe,
    "probe_tried": _probe_tried,
    "recheck": _recheck,
    "person": _person,
    "steered": _steered,
    "take_over": _take_over,
    "browser": _browser,
    "policy": _policy,
    "finish": _finish,
}


def _expected(predicates: Any) -> tuple[Expected, ...]:
    results = [PredicateResult.model_validate(one) for one in predicates or ()]
    return tuple(
        Expected(passed=one.passed, required=one.required, reason=one.reason, actual=one.details) for one in results
    )


def _words(line: _Line, name: str) -> str:
    return text_in(line, name).replace("_", " ")


def _texts(line: _Line, name: str) -> tuple[str, ...]:
    value = line.get(name)
    return tuple(str(one) for one in value) if isinstance(value, list | tuple) else ()
