"""Checks of a model's plan before any of it is performed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import fill, parameters_in, texts_of
from replaywright.domain.common.text import normalise
from replaywright.domain.common.urls import origin_of
from replaywright.domain.plan.goal_runs import PlannerRequest
from replaywright.domain.plan.loops import parameters_of
from replaywright.domain.plan.model_limits import invented_text, leaked_value, redirects
from replaywright.domain.task.actions import ACTIONS, Action, Effect, effect_of
from replaywright.domain.task.steps import Extract, ForEach, Goto, PersonStep, Step, action_of, arguments_of, placed
from replaywright.domain.task.tasks import Task, parse_within
from replaywright.errors import InputInvalid, PlanRefused

STEPS_LIMIT = 20
"""Steps of a revised plan."""
PLANNED_ACTIONS: tuple[Action, ...] = tuple(action for action, spec in ACTIONS.items() if spec.is_planned)
"""The actions that a model may plan."""
_FIELDS = frozenset(
    {
        *("action", "instruction", "when", "expect", "effect", "always"),
        *("url", "value", "values", "keys", "to", "tab", "url_contains", "title_contains"),
    }
)
"""Fields of a planned step. A model describes elements in words and writes no selectors."""
_LIST_FIELDS = frozenset({"item", "target", "elements", "where", "limit", "on_more", "on_failure", "steps"})
"""Further fields of a planned `for_each`. A query names its table: tables have no id to choose."""
_QUERY_FIELDS = frozenset({"role", "name", "name_contains", "name_in", "text", "text_in", "label", "within"})
"""Fields of a planned query: the visible properties of elements."""
_CELL_TESTS = frozenset({"equals", "contains", "one_of", "none_of"})
"""Cell tests of a plan: a model writes no regular expressions."""
_PROBES: Final = ("x", "@x.invalid/")
"""Test values for an item in an address: if they lead to another site, the page could choose the site."""
_WEIGHTY = (Effect.COMMIT, Effect.IRREVERSIBLE)
_IDLE_WORDS = frozenset(["a", "an", "the", "button", "link", "field", "icon", "this", "that", "please"])


class PlanRules(Record):
    """Rules for a plan."""

    task: Task
    values: dict[str, str]
    plan: tuple[Step, ...]
    position: int
    """Index of the failed step: the revised plan replaces it and all after it."""
    commits: tuple[int, ...] = ()
    """Indexes of done steps that must not be repeated."""
    url: str = ""
    """Address of the page that the plan begins on."""
    page: str = ""
    """The page as shown to the planner."""

    @classmethod
    def of(cls, request: PlannerRequest, position: int, *, url: str, page: str) -> "PlanRules":
        """Return the rules for the answer to a request; the step at `position` is the one that failed, or the next."""
        given = {name: getattr(request, name) for name in ("task", "values", "plan", "commits")}
        return cls(**given, position=position, url=url, page=page)


def checked_plan(items: Sequence[Mapping[str, Any]], rules: PlanRules) -> tuple[Step, ...]:
    """Return the steps of a revised plan; `{"keep": 3}` stands for the third step of the old plan.

    Raises:
        PlanRefused: it breaks a rule.
    """
    steps = checked_steps(items, rules)
    _loses_nothing(kept_in(items), rules)
    return steps


def kept_in(items: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indexes of the old steps that a plan keeps."""
    return [item["keep"] - 1 for item in items if item.get("keep") is not None]


def checked_steps(items: Sequence[Mapping[str, Any]], rules: PlanRules) -> tuple[Step, ...]:
    """Return the steps of any plan: allowed actions, own site, declared parameters, no repeated commit.

    Raises:
        PlanRefused: it breaks a rule.
    """
    if not 1 <= len(items) <= STEPS_LIMIT:
        raise PlanRefused(f"a plan has 1 to {STEPS_LIMIT} steps; this one has {len(items)}")
    steps = tuple(_step(number, item, rules) for number, item in enumerate(items, 1))
    kept = kept_in(items)
    if kept != sorted(set(kept)):
        raise PlanRefused("steps of the old plan are kept once each, and in their order")
    if items[0].get("keep") == rules.position + 1:
        raise PlanRefused(f"step {rules.position + 1} failed as it is: begin with what makes it possible")
    _repeats_no_commit(steps, rules)
    new = [
        (number, step) for number, (step, item) in enumerate(zip(steps, items, strict=True), 1) if "keep" not in item
    ]
    for number, step in new:
        for _, inner in placed((step,)):
            _is_of_the_task(f"step {number}", inner, rules)
    return steps


def _is_of_the_task(place: str, step: Step, rules: PlanRules) -> None:
    """Require that a planned step follows the task, not the page, in what it opens and enters.

    Raises:
        PlanRefused: it does not.
    """
    task = rules.task
    known = (task.url, rules.url, *_first_urls(rules.plan))
    if redirects(step, known=known):
        raise PlanRefused(f"{place}: goto opens no address with another one in it")
    if name := leaked_value(step, known=known, values=rules.values):
        raise PlanRefused(f"{place}: goto takes no {{{{{name}}}}}: enter values of the task into fields of a page")
    own = (*task.steps, *rules.plan[: rules.position])
    if entered := invented_text(step, goal=task.goal, values=rules.values, own=own, page=rules.page):
        raise PlanRefused(f"{place} enters {entered[:60]!r}, which neither the goal nor a parameter says")


def _step(number: int, item: Mapping[str, Any], rules: PlanRules) -> Step:
    if (keep := item.get("keep")) is not None:
        if set(item) != {"keep"} or not isinstance(keep, int) or isinstance(keep, bool):
            raise PlanRefused(f"step {number}: keep takes the number of a remaining step, and nothing beside it")
        if not rules.position < keep <= len(rules.plan):
            raise PlanRefused(
                f"step {number}: keep {keep} is none of the remaining steps {rules.position + 1} to {len(rules.plan)}"
            )
        return rules.plan[keep - 1]
    step = _parsed(number, _fields(f"step {number}", item), rules)
    if isinstance(step, Goto):
        _stays_on_the_site(f"step {number}", step, rules)
    if isinstance(step, ForEach):
        _lists_what_it_may(number, step, rules)
        for inner in step.steps:
            if isinstance(inner, Goto):
                _stays_on_the_site(f"step {number}, steps", inner, rules)
    return step


def _fields(place: str, item: Mapping[str, Any], *, within: bool = False) -> dict[str, Any]:
    """Return the effective fields of a planned step: an effect is only ever raised.

    Args:
        place: Place in the plan.
        item: The step as the model wrote it.
        within: True for a step of a list.

    Raises:
        PlanRefused: it has a field that planned steps do not have.
    """
    action = item.get("action")
    allowed = [each for each in PLANNED_ACTIONS if not (within and each is Action.FOR_EACH)]
    if action not in set(allowed):
        raise PlanRefused(f"{place}: action is none of {', '.join(allowed)}")
    fields = _FIELDS | (_LIST_FIELDS if action == Action.FOR_EACH else frozenset())
    if unknown := set(item) - fields:
        raise PlanRefused(f"{place}: a planned step has no {min(unknown)}; it has {', '.join(sorted(fields))}")
    data = {key: value for key, value in item.items() if key != "effect" or value in _WEIGHTY}
    if action == Action.FOR_EACH:
        for field in ("target", "elements"):
            _is_in_words(f"{place}: {field}", data.get(field))
        tests = where.values() if isinstance(where := data.get("where"), Mapping) else ()
        if unknown := {key for test in tests if isinstance(test, Mapping) for key in test} - _CELL_TESTS:
            raise PlanRefused(
                f"{place}: where has no {min(unknown)} in a plan; it takes a text, or {', '.join(sorted(_CELL_TESTS))}"
            )
        if not isinstance(steps := data.get("steps"), list | tuple) or not all(isinstance(s, Mapping) for s in steps):
            raise PlanRefused(f"{place}: a for_each has steps, which are done for each item")
        data["steps"] = [_fields(f"{place}, steps[{index}]", inner, within=True) for index, inner in enumerate(steps)]
    return data


def _is_in_words(place: str, query: Any) -> None:
    while isinstance(query, Mapping):
        if unknown := set(query) - _QUERY_FIELDS:
            raise PlanRefused(f"{place} has no {min(unknown)} in a plan; it has {', '.join(sorted(_QUERY_FIELDS))}")
        query = query.get("within")


def _lists_what_it_may(number: int, step: ForEach, rules: PlanRules) -> None:
    """Require that given items come from the goal, and that their name is free.

    Raises:
        PlanRefused: one of the conditions is not met.
    """
    if any(isinstance(other, Extract) and step.item in other.fields for other in rules.plan):
        raise PlanRefused(f"step {number} calls its items {step.item!r}, which is a field that is read; rename them")
    goal = normalise(_filled(rules.task.goal, rules.values)).casefold()
    for text in step.values if isinstance(step.values, tuple) else ():
        if normalise(_filled(text, rules.values)).casefold() not in goal:
            raise PlanRefused(
                f"step {number}: {text[:60]!r} does not stand in the goal; values takes {{{{parameter}}}} of type "
                "list, or texts of the goal; what the page lists is a table (instruction) or elements"
            )


def _parsed(number: int, data: Mapping[str, Any], rules: PlanRules) -> Step:
    """Parse the step with the rules of task files."""
    try:
        return parse_within(rules.task, {"steps": [data]}, f"step {number}").steps[0]
    except InputInvalid as exc:
        raise PlanRefused(str(exc)) from exc


def _stays_on_the_site(place: str, step: Goto, rules: PlanRules) -> None:
    """Require an address of the own site for every possible item.

    Raises:
        PlanRefused: it leads elsewhere.
    """
    known = (rules.task.url, rules.url, *_first_urls(rules.plan))
    own = {origin for url in known if (origin := origin_of(fill(url, rules.values)))}
    items = parameters_in(step.url) - set(rules.values)
    led_to = {origin_of(fill(step.url, {**rules.values, **dict.fromkeys(items, probe)})) for probe in _PROBES}
    if not led_to <= own:
        raise PlanRefused(f"{place}: goto may only open pages of {', '.join(sorted(own)) or 'no site'}")


def _first_urls(plan: Sequence[Step]) -> Iterable[str]:
    return (plan[0].url,) if plan and isinstance(plan[0], Goto) else ()


def _loses_nothing(kept: Sequence[int], rules: PlanRules) -> None:
    """Require steps that only the plan can prove: extracts, or all without a final verification."""
    for index in range(rules.position, len(rules.plan)):
        step = rules.plan[index]
        if index in kept or (rules.task.verify and not isinstance(step, Extract | ForEach | PersonStep)):
            continue
        why = (
            "it reads data, is done for each item of a list, or asks a person"
            if rules.task.verify
            else "the task has no final verification"
        )
        raise PlanRefused(f"step {index + 1} must be kept ({{keep: {index + 1}}}): {why}")


def _repeats_no_commit(steps: Sequence[Step], rules: PlanRules) -> None:
    done = {meaning: index for index in rules.commits for meaning in _meanings(rules.plan[index], rules.values)}
    for number, step in enumerate(steps, 1):
        for meaning in _meanings(step, rules.values):
            if (index := done.get(meaning)) is not None:
                raise PlanRefused(f"step {number} is step {index + 1} again, which was done and must not be done twice")


def _meanings(step: Step, values: Mapping[str, str]) -> Iterable[tuple[str, frozenset[str], str]]:
    """Yield the meanings of a step; a list adds its unrepeatable steps, independent of item names."""
    action, words, arguments = _meaning(step, values)
    yield action, words, f"{arguments}{step.target!r}" if isinstance(step, ForEach) else arguments
    if isinstance(step, ForEach):
        names = parameters_of(step.steps) - set(values)
        items = {name: " ".join(("item", *name.split(".")[1:])) for name in names}
        for inner in step.steps:
            if not effect_of(action_of(inner), inner.effect, None).repeatable:
                yield _meaning(inner, {**values, **items})


def _meaning(step: Step, values: Mapping[str, str]) -> tuple[str, frozenset[str], str]:
    """Return a key that is equal for equal actions, whatever their wording."""
    words = re.findall(r"\w+", normalise(_filled(step.instruction, values)).casefold())
    arguments = repr([_filled(text, values) for text in texts_of(arguments_of(step))])
    return step.action, frozenset(words) - _IDLE_WORDS, arguments


def _filled(text: str, values: Mapping[str, str]) -> str:
    return fill(text, values) if parameters_in(text) <= set(values) else text
