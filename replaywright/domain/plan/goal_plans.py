"""Conversion of a model's plan for a goal into template steps, or its refusal.

The planner writes values of the goal literally or as `{{name}}`. A skill needs names, so code replaces the values. If
two parameters have the same value, the words of the field decide, else the planner is asked.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replaywright.domain.common.base import Record
from replaywright.domain.common.lists import list_parameter
from replaywright.domain.common.templates import fill, generalise, parameters_in, texts_of
from replaywright.domain.common.text import normalise
from replaywright.domain.locating.wording import meaning_of
from replaywright.domain.plan.goal_runs import STEPS
from replaywright.domain.plan.plans import PlanRules, checked_steps
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import ForEach, Step
from replaywright.domain.task.tasks import parse_within
from replaywright.errors import InputInvalid, PlanRefused

_PLACES = re.compile(r"(\{\{[^{}]*\}\})")
_AS_WRITTEN = frozenset(
    {
        *("action", "effect", "keep", "to", "tab", "role", "css", "test_id", "required", "within_ms"),
        *("item", "on_more", "on_failure"),
    }
)
"""Fields that never contain a value of the goal."""
_WHOLE = frozenset({"value", "values", "value_equals", "text_equals", "equals", "one_of", "none_of"})
"""Fields whose whole text may be a parameter's value, however short."""

_ENTERED = ("value", "values")
_NOT_DONE: Any = dict.fromkeys(("expect", "when", "reconcile"), True)
_NOT_DONE["steps"] = {"__all__": dict(_NOT_DONE)}
"""Parts of a step that perform nothing."""
_LONG = 3
"""Minimum length of a value that `generalise` replaces inside a text."""


class GoalPlan(Record):
    """An accepted part of a plan."""

    steps: tuple[Step, ...] = ()
    complete: bool = False
    verify: tuple[Predicate, ...] = ()


def checked_goal_plan(
    items: Sequence[Mapping[str, Any]],
    plan: PlanRules,
    *,
    complete: bool,
    verify: Sequence[Mapping[str, Any]],
    last: bool,
) -> GoalPlan:
    """Return the plan as template steps.

    Args:
        items: Steps as the planner wrote them.
        plan: Rules for the plan.
        complete: True if the steps reach the goal.
        verify: Final verification as the planner wrote it.
        last: The planner will not be asked again: requirements of a later skill are waived.

    Raises:
        PlanRefused: it breaks a rule.
    """
    if not (items or complete):
        raise PlanRefused("there are no steps: give some, or say that the plan is complete, or why you give up")
    if plan.position + len(items) > STEPS:
        raise PlanRefused(
            f"a goal may take {STEPS} steps, and {plan.position} are done: {len(items)} more are too many"
        )
    templates = [_templated(f"step {number}", item, plan) for number, item in enumerate(items, 1)]
    steps = checked_steps(templates, plan) if templates else ()
    _uses_values_first(steps, plan, last=last)
    ends = tuple(_verified(verify, plan)) if complete else ()
    if complete and (unused := _unused((*plan.plan[: plan.position], *steps), plan, last=last)):
        raise PlanRefused(f"no step uses {{{{{unused[0]}}}}}, which is a value of the goal: use it, or give up")
    if complete and not ends and not last:
        raise PlanRefused("the plan is complete, but verify is empty: say what the page shows when the goal is reached")
    return GoalPlan(steps=steps, complete=complete, verify=ends)


def _uses_values_first(steps: Sequence[Step], rules: PlanRules, *, last: bool) -> None:
    """Require that all values of the goal are used before a step that cannot be undone.

    Raises:
        PlanRefused: one is unused.
    """
    for index, step, until in _each(steps):
        used_until = (*rules.plan[: rules.position], *steps[:index], until)
        tolerant = last and not _enters_something_else(used_until, rules)
        is_final = step.effect in (Effect.COMMIT, Effect.IRREVERSIBLE)
        if is_final and (unused := _unused(used_until, rules, last=tolerant)):
            raise PlanRefused(
                f"step {index + 1} cannot be taken back, and {{{{{unused[0]}}}}}, a value of the goal, has not "
                "been used by then: enter it before"
            )


def _each(steps: Sequence[Step]) -> Iterable[tuple[int, Step, Step]]:
    """Yield each step with its index, and the part of its planned step up to and including it."""
    for index, step in enumerate(steps):
        yield index, step, step
        if isinstance(step, ForEach):
            for done, inner in enumerate(step.steps, 1):
                yield index, inner, step.model_copy(update={"steps": step.steps[:done]})


def _enters_something_else(steps: Iterable[Step], rules: PlanRules) -> bool:
    """Return True if a step enters text that is not in the goal, possibly instead of a value."""
    goal = normalise(fill(rules.task.goal, rules.values)).casefold()
    every = (step for _, step, _ in _each(tuple(steps)))
    entered = (text for step in every for key in _ENTERED for text in texts_of(getattr(step, key, None)))
    literals = (part.strip() for text in entered for part in _PLACES.split(text) if not _PLACES.fullmatch(part))
    return any(literal and normalise(literal).casefold() not in goal for literal in literals)


def _unused(steps: Iterable[Step], rules: PlanRules, *, last: bool) -> list[str]:
    """Return the parameters that no step uses; with `last`, plain texts may stay unused.

    Expectations and conditions of a step do not count as uses.
    """
    done = (step.model_dump(mode="json", exclude=_NOT_DONE) for step in steps)
    used = frozenset().union(*(parameters_in(text) for data in done for text in texts_of(data)))
    wanted = (name for name, one in rules.task.parameters.items() if not last or one.type != "text")
    return [name for name in wanted if name not in used]


def _verified(verify: Sequence[Mapping[str, Any]], rules: PlanRules) -> tuple[Predicate, ...]:
    written = {"goal": "verify", "verify": [_templated("verify", item, rules) for item in verify]}
    try:
        return parse_within(rules.task, written, "the plan").verify
    except InputInvalid as exc:
        raise PlanRefused(str(exc)) from exc


def _templated(place: str, item: Mapping[str, Any], rules: PlanRules) -> dict[str, Any]:
    """Replace the values in the planner's answer by parameter names."""
    about = str(item.get("instruction") or "")

    def replaced(value: Any, key: str) -> Any:
        match value:
            case Mapping() if key == "where":
                return {column: replaced(test, "equals") for column, test in value.items()}
            case list() | tuple() if key == "steps":
                return [
                    _templated(f"{place}, steps[{index}]", inner, rules) if isinstance(inner, Mapping) else inner
                    for index, inner in enumerate(value)
                ]
            case list() | tuple() if key == "values" and (names := _lists_of(value, rules)):
                return "{{" + _meant(place, ", ".join(value), names, about) + "}}"
            case str() if key not in _AS_WRITTEN:
                return _named(place, value, about, rules, whole=key in _WHOLE)
            case Mapping():
                return {inner: replaced(one, inner) for inner, one in value.items()}
            case list() | tuple():
                return [replaced(one, key) for one in value]
            case _:
                return value

    return {key: replaced(value, key) for key, value in item.items()}


def _lists_of(texts: Sequence[str], rules: PlanRules) -> list[str]:
    """Return the list parameters with exactly these texts."""
    lists = [name for name, one in rules.task.parameters.items() if one.type == "list" and rules.values.get(name)]
    return [name for name in lists if list_parameter(rules.values[name]) == tuple(texts)]


def _named(place: str, text: str, about: str, rules: PlanRules, *, whole: bool) -> str:
    values = {name: value for name, value in rules.values.items() if name in rules.task.parameters and value}
    if whole and (same := [name for name, value in values.items() if value == text]):
        return "{{" + _meant(place, text, same, about) + "}}"
    return "".join(
        part if _PLACES.fullmatch(part) else _in_part(place, part, about, values) for part in _PLACES.split(text)
    )


def _in_part(place: str, part: str, about: str, values: Mapping[str, str]) -> str:
    """Replace the values in `part` by names; equal values need the meant parameter."""
    names: dict[str, list[str]] = {}
    for name, value in values.items():
        if value in part:
            names.setdefault(value, []).append(name)
    meant = [
        found[0] if len(found) == 1 or len(value) < _LONG else _meant(place, value, found, about)
        for value, found in names.items()
    ]
    return generalise(part, values, meant)


def _meant(place: str, value: str, names: Sequence[str], about: str) -> str:
    """Return the parameter with this value that the field's words refer to."""
    if len(names) == 1:
        return names[0]
    words = frozenset(meaning_of(about)[0])
    shared = {name: len(words & frozenset(meaning_of(name.replace("_", " "))[0])) for name in names}
    best = max(shared.values())
    ranked = [name for name in names if shared[name] == best]
    if best == 0 or len(ranked) > 1:
        ways = " or ".join("{{" + name + "}}" for name in names)
        raise PlanRefused(f"{place}: {value[:60]!r} is the value of {len(names)} parameters: write {ways}")
    return ranked[0]
