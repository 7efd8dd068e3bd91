"""Two demonstrations of one task, with other values: what differs is a parameter, what agrees stays.

Both tasks are read with the values that were entered, and their steps are paired in order: equal elements before those
that are only described alike. In a pair, texts that differ become parameters; a value that is the same in both is none.
A position is never a parameter: elements that only their places tell, at two places, are told by nothing, and a replay
stops there. Expectations stay if they agree once the values of parameters are taken out of them. A step that only one
demonstration has is optional: it is done where its element is there.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

from replaywright.domain.common.templates import generalise, lone_parameter, parameters_in
from replaywright.domain.task.actions import Action, Effect, effect_of
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.imports import Imported, Note
from replaywright.imports.elements import query_of, words_for
from replaywright.imports.values import free_name, parameter_name

_Data = dict[str, Any]
_COMPARED: Final = ("target", "to", "value", "values", "files", "keys", "url", "url_contains", "dialog_text")
_PARTS: Final = frozenset({"css", "url", "url_contains"})
"""Fields of which only the part that differs is a parameter."""
_SAME, _PLAIN, _ALIKE, _LIKELY = 8, 4, 2, 1
"""What pairing two steps is worth: of one element, without any element, of elements that are described alike, and of
elements that are described by other things."""
_UNTOLD: Final = "the element that was shown, which nothing but its place tells from others"


class _Untold(Exception):
    """Two queries do not say together which element is meant."""


def compared(first: Task, second: Task) -> Imported:
    """Return the task that both demonstrations show.

    Raises:
        InputInvalid: what they have in common makes no task.
    """
    return _Comparison(first, second).task()


@dataclass
class _Side:
    """One demonstration with its values in place."""

    task: Task
    values: dict[str, str] = field(init=False)
    templates: list[_Data] = field(init=False)
    """The steps as the file has them."""
    steps: list[_Data] = field(init=False)
    verify: list[_Data] = field(init=False)

    def __post_init__(self) -> None:
        data = data_of(self.task)
        given = ((name, one.default or one.example) for name, one in self.task.parameters.items())
        self.values = {name: value for name, value in given if value and "{{" not in value}
        self.templates = data["steps"]
        self.steps, self.verify = self.filled(data["steps"]), self.filled(data.get("verify", []))

    def filled(self, data: Any) -> Any:
        """Return data with the values in the places of their parameters; unknown ones stay."""
        match data:
            case str():
                return re.sub(r"\{\{(\w+)\}\}", lambda match: self.values.get(match[1], match[0]), data)
            case dict():
                return {key: self.filled(value) for key, value in data.items()}
            case list():
                return [self.filled(value) for value in data]
            case _:
                return data


@dataclass
class _Comparison:
    first: Task
    second: Task
    notes: list[Note] = field(default_factory=list)
    pairs: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Value in the first and in the second demonstration, by parameter."""
    declared: dict[str, _Data] = field(default_factory=dict)
    where: str = ""
    is_harmless: bool = False
    """No step of either demonstration has consequences."""

    def task(self) -> Imported:
        """Pair the steps, then write what they share: expectations are read once all parameters are known."""
        sides = one, other = _Side(self.first), _Side(self.second)
        url = self._merged(one.filled(self.first.url), other.filled(self.second.url), "", "url", "start_url")
        paired = list(_paired(one.steps, other.steps))
        self.is_harmless = all(
            effect_of(Action(step.action), step.effect, None).repeatable
            for step in (*self.first.steps, *self.second.steps)
        )
        joined = {
            left: self._step(one.steps[left], other.steps[right], one.templates[left], f"step {left + 1}")
            for left, right in paired
            if left is not None and right is not None
        }
        steps: list[_Data] = []
        for left, right in paired:
            if left is not None and right is not None:
                common = self._common(one.steps[left].get("expect", []), other.steps[right].get("expect", []))
                steps.append(joined[left] | ({"expect": common} if common else {}))
            else:
                steps += self._optional(sides, 0, left) if left is not None else self._optional(sides, 1, right or 0)
        data = {**data_of(self.first), "url": url, "steps": steps, "verify": self._common(one.verify, other.verify)}
        used = parameters_of([url, *steps, data["verify"]])
        data["parameters"] = {name: declared for name, declared in self.declared.items() if name in used}
        data["secrets"] = list(dict.fromkeys((*self.first.secrets, *self.second.secrets)))
        if not data["verify"]:
            self.where = "end"
            self._note("check", "verify", "the demonstrations do not agree on what holds at the end: add `verify`")
        task = parse_task(data, "the task that both demonstrations show")
        return Imported(kind="demonstration", task=task, notes=tuple(self.notes))

    # ------------------------------------------------------------------------------------------------- steps

    def _step(self, one: _Data, other: _Data, template: _Data, where: str) -> _Data:
        """Return the step of a pair, without its expectations."""
        self.where = where
        step = {key: value for key, value in one.items() if key != "expect"}
        for key in _COMPARED:
            if key in {"target", "to"} and (one.get(key) or other.get(key)):
                self._point(step, key, one.get(key), other.get(key), template.get(key))
            elif key in one or key in other:
                step[key] = self._merged(one.get(key), other.get(key), template.get(key), key, key)
        if "effect" in one or "effect" in other:
            effects = (Effect(each["effect"]) for each in (one, other) if "effect" in each)
            step["effect"] = str(max(effects, key=lambda effect: effect.rank))
        if "timeout_ms" in one or "timeout_ms" in other:
            step["timeout_ms"] = max(one.get("timeout_ms", 0), other.get("timeout_ms", 0))
        if step.get("target") and step["target"] != one.get("target"):
            step["instruction"] = words_of(step["target"])
        if one.get("dialog") != other.get("dialog"):
            self._note("check", "dialog", "the demonstrations answered differently; the first answer was kept")
        if isinstance(one.get("by"), dict) and one["by"] != other.get("by"):
            advice = "the demonstrations dragged by other distances; the first was kept: if it is what is meant, give "
            self._note("check", step["action"], advice + "the step a target to drag `to`")
        return step

    def _point(self, step: _Data, key: str, one: Any, other: Any, template: Any) -> None:
        """Let a step have the query that both demonstrations share; none, if they do not say which element is meant."""
        try:
            step[key] = self._query(one, other, template, (one or other or {}).get("role", ""))
        except _Untold:
            step.pop("target", None)
            step["instruction"] = _UNTOLD
            advice = (
                "the demonstrations point at elements that nothing but their places tell: nobody could say which one "
            )
            self._note("check", step["action"], advice + "is meant, so a replay stops here; write its target")

    def _query(self, one: Any, other: Any, template: Any, called: str) -> Any:
        """Return the query that both share.

        Raises:
            _Untold: they differ in a position, or describe the element by other things.
        """
        one, other = self._without_numbers(_by_words(one), _by_words(other))
        if not (isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys()):
            raise _Untold
        inner = template if isinstance(template, dict) else {}
        query: _Data = {}
        for key in one:
            if key == "within":
                query[key] = self._query(one[key], other[key], inner.get(key), called)
            elif one[key] != other[key] and not _is_told(key, one[key], other[key]):
                raise _Untold
            else:
                query[key] = self._merged(one[key], other[key], inner.get(key), key, called)
        return query

    def _without_numbers(self, one: Any, other: Any) -> tuple[Any, Any]:
        """Return two queries without a name whose number changes with each visit, where the rest of it says enough.

        The recorder writes that rest beside the name if it told the element. In a task with consequences the number may
        be what is meant: it stays, and is a parameter.
        """
        if not (isinstance(one, dict) and isinstance(other, dict)):
            return one, other
        name, against = one.get("name", ""), other.get("name", "")
        is_content = (
            self.is_harmless
            and one.get("name_contains", "") == other.get("name_contains")
            and name != against
            and re.sub(r"\d+", "", name) == re.sub(r"\d+", "", against)
            and self._general(name, 0) != self._general(against, 1)
        )
        left_out = "name" if is_content else "name_contains" if name and against else ""
        first, second = ({key: value for key, value in each.items() if key != left_out} for each in (one, other))
        return first, second

    def _merged(self, one: Any, other: Any, template: Any, key: str, called: str) -> Any:
        """Return what both have in common; texts that differ become parameters."""
        if isinstance(one, str) and isinstance(other, str):
            return self._text(one, other, template if isinstance(template, str) else "", key, called)
        if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            templates = template if isinstance(template, list) else [""] * len(one)
            return [self._merged(*each, key, called) for each in zip(one, other, templates, strict=True)]
        if one != other:
            self._note("check", key, "the demonstrations differ here in more than a text; the first one was kept")
        return one if one is not None else other

    def _text(self, one: str, other: str, template: str, key: str, called: str) -> str:
        if one == other:
            return one
        if "{{secret:" in one or "{{secret:" in other:
            return one
        general = str(self._general(one, 0))
        if general == self._general(other, 1):
            return general
        before, after = _around(one, other) if key in _PARTS else ("", "")
        pair = one[len(before) : len(one) - len(after)], other[len(before) : len(other) - len(after)]
        name = next((name for name, known in self.pairs.items() if known == pair), None)
        if name is None:
            own = lone_parameter(template) or ""
            name = free_name(own or parameter_name(called) or "value", self.declared)
            known = data_of(self.first).get("parameters", {}).get(own, {})
            self.declared[name] = {"type": "text"} | {key: value for key, value in known.items() if key != "default"}
            self.declared[name] |= {} if known.get("type") == "choice" else {"example": pair[0]}
            self.pairs[name] = pair
        return before + "{{" + name + "}}" + after

    def _optional(self, sides: tuple[_Side, _Side], number: int, index: int) -> list[_Data]:
        """Return a step that one demonstration has, done where its element is; none if nothing says when."""
        side, self.where = sides[number], f"step {index + 1}" + (" of the second" if number else "")
        step = {key: value for key, value in self._general(side.steps[index], number).items() if key != "expect"}
        if "target" not in step:
            self._note("left_out", step["action"], "one demonstration went without it, and no element says when")
            return []
        if _is_by_place(step["target"]):
            self._note("left_out", step["action"], "one demonstration went without it, and only a place tells it")
            return []
        own = lone_parameter(side.templates[index].get("value", ""))
        if own is not None and not parameters_in(step["value"]):
            name = free_name(own, self.declared)
            self.declared[name] = {"type": "text", "default": step["value"]}
            step["value"] = "{{" + name + "}}"
        self._note("changed", step["action"], "one demonstration went without it: it is done if its element is there")
        return [step | {"when": [{"exists": step["target"]}]}]

    # ------------------------------------------------------------------------------------------- expectations

    def _common(self, one: Sequence[_Data], other: Sequence[_Data]) -> list[_Data]:
        """Return the predicates that agree, as they are or without the values of parameters."""
        seen = {_key(form) for each in other for form in (each, self._general(each, 1))}
        common = [next((f for f in (each, self._general(each, 0)) if _key(f) in seen), None) for each in one]
        return [each for each in common if each is not None]

    def _general(self, data: Any, side: int) -> Any:
        """Return data with the parameters in the places of one side's values."""
        match data:
            case str():
                values = {name: pair[side] for name, pair in self.pairs.items()}
                return generalise(data, values, values) if values else data
            case dict():
                return {key: self._general(value, side) for key, value in data.items()}
            case list():
                return [self._general(value, side) for value in data]
            case _:
                return data

    def _note(self, kind: Any, what: str, advice: str) -> None:
        self.notes.append(Note(where=self.where or "start", what=what, kind=kind, advice=advice))


def _paired(one: Sequence[_Data], other: Sequence[_Data]) -> Iterator[tuple[int | None, int | None]]:
    """Yield the positions of the steps in one order, paired so that the pairs are worth most."""
    best = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for left in range(len(one) - 1, -1, -1):
        for right in range(len(other) - 1, -1, -1):
            worth = _worth(one[left], other[right])
            paired = best[left + 1][right + 1] + worth if worth else 0
            best[left][right] = max(paired, best[left + 1][right], best[left][right + 1])
    left = right = 0
    while left < len(one) or right < len(other):
        rest = best[left][right]
        worth = _worth(one[left], other[right]) if left < len(one) and right < len(other) else 0
        if worth and rest == best[left + 1][right + 1] + worth:
            yield left, right
            left, right = left + 1, right + 1
        elif left < len(one) and rest == best[left + 1][right]:
            yield left, None
            left += 1
        else:
            yield None, right
            right += 1


def _worth(one: _Data, other: _Data) -> int:
    if one["action"] != other["action"]:
        return 0
    target, against = one.get("target"), other.get("target")
    if target is None or against is None:
        return _PLAIN if target is against else 0
    if target == against:
        return _SAME
    is_alike = target.keys() == against.keys() and target.get("role") == against.get("role")
    return _ALIKE if is_alike else _LIKELY


def _is_by_place(target: _Data) -> bool:
    """Return True if the query counts elements: there always is one at that place."""
    is_counted = "nth" in target or ":nth-" in target.get("css", "")
    return is_counted or ("within" in target and _is_by_place(target["within"]))


def _by_words(query: Any) -> Any:
    """Return the query without the mark that its text stands for words: the value of a parameter does anyway."""
    return {key: value for key, value in query.items() if key != "substring"} if isinstance(query, dict) else query


def _is_told(key: str, one: Any, other: Any) -> bool:
    """Return True if the difference of two parts of a query can be a value: a text, of a selector a word in quotes."""
    if not (isinstance(one, str) and isinstance(other, str)):
        return isinstance(one, list) and isinstance(other, list) and len(one) == len(other)
    if key != "css":
        return key != "role"
    before, after = _around(one, other)
    parts = one[len(before) : len(one) - len(after)] + other[len(before) : len(other) - len(after)]
    return before.count('"') % 2 == 1 and '"' not in parts


def _around(one: str, other: str) -> tuple[str, str]:
    """Return what two texts begin and end with in common, up to whole words."""
    before = _beginning(one, other)
    before = before[: len(before) - len((re.search(r"[\w%]*\Z", before) or [""])[0])]
    after = _beginning(one[len(before) :][::-1], other[len(before) :][::-1])[::-1]
    return before, after[len((re.match(r"[\w%]*", after) or [""])[0]) :]


def _beginning(one: str, other: str) -> str:
    return "".join(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _key(data: Any) -> str:
    return json.dumps(data, sort_keys=True)


def parameters_of(data: Iterable[Any]) -> set[str]:
    """Return the names of all parameters in data of steps."""
    return set(parameters_in(json.dumps(list(data), ensure_ascii=False)))


def words_of(target: Mapping[str, Any]) -> str:
    """Return the instruction for a target; its parameters stay in it."""
    marked = json.loads(re.sub(r"\{\{(\w+)\}\}", r"⟦\1⟧", json.dumps(target, ensure_ascii=False)))
    return re.sub(r"⟦(\w+)⟧", r"{{\1}}", words_for(query_of(**marked)))


def data_of(task: Task) -> _Data:
    """Return the task as data without defaults, its steps with their actions."""
    data: _Data = task.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return data
