"""Steps for each item of a list: which items there are, and the plan with the steps of each written out.

The items come out of a step of their own, `for_each`, whose outcome is recorded like any other: whoever has the
outcomes of a plan's steps writes the same plan out of it, in the workflow, after continue-as-new and on a resume.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from replaywright.domain.common import expressions
from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import parameters_in, texts_of
from replaywright.domain.common.text import contains, normalise
from replaywright.domain.step.fingerprints import acts_of, digest
from replaywright.domain.step.outcomes import ITEM_SKIPPED, StepOutcome
from replaywright.domain.task.steps import ITEMS_FIELD, CellTest, ForEach, Step
from replaywright.errors import ActionFailed

ITEMS_BYTES = 128 * 1024
"""Bytes of all items of a `for_each` together: they are kept in the history and in the ledger."""
_NAMES_SHOWN = 12
"""Columns that a message names."""

Item: TypeAlias = str | dict[str, str]
"""A text, or a row: column to text."""


class ItemLine(Record):
    """An item that was left before all its steps were done."""

    item: str
    """What items are called in the task."""
    number: int
    """From 1."""
    value: Item
    step: int
    """Index of the step that failed, in the plan as it is written out."""
    reason: str = ""
    message: str = ""


class Loop(Record):
    """A `for_each` whose items are known."""

    at: int
    """Its index in the plan as it is written out."""
    items: tuple[Item, ...]


class Iteration(Record):
    """Where a step belongs to an item."""

    loop: int
    """Number of the loop in the plan, from 0."""
    number: int
    """Of the item, from 0."""
    begins: int
    """Index of the item's first step."""
    ends: int
    """Index after its last step."""


# ----------------------------------------------------------------------------------------------- items


def items_of(step: ForEach, told: Mapping[str, Any]) -> tuple[Item, ...]:
    """The items of a `for_each` with its parameters' values: those given, else those that the page `told`.

    Each is there once, in the order of the list or page.

    Raises:
        ActionFailed: `too_many_items`, `items_too_large`, `no_column`: nothing was done with any of them.
    """
    found: Sequence[Any] = step.values if isinstance(step.values, tuple) else told[ITEMS_FIELD]
    if step.is_table:
        _require_columns(step, found)
        tests = {column: _tester(test) for column, test in step.where.items()}
        found = [row for row in found if all(test(_cell(row, column)) for column, test in tests.items())]
    items: list[Item] = list({json.dumps(item, sort_keys=True): item for item in found}.values())
    if len(items) > step.limit:
        if step.on_more == "fail":
            raise ActionFailed(
                "too_many_items",
                f"there are {len(items)} items, and limit is {step.limit}: nothing was done with any; raise limit, "
                "narrow them down, or say on_more: stop",
                dispatched=False,
            )
        del items[step.limit :]
    size = len(json.dumps(items, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > ITEMS_BYTES:
        raise ActionFailed(
            "items_too_large",
            f"the {len(items)} items have {size} bytes, and may have {ITEMS_BYTES}: lower limit, or narrow them down",
            dispatched=False,
        )
    return tuple(items)


def _require_columns(step: ForEach, rows: Sequence[Mapping[str, str]]) -> None:
    """See that every column that is named is one of the table's.

    Raises:
        ActionFailed: `no_column`.
    """
    columns = dict.fromkeys(column for row in rows for column in row)
    known = {normalise(column) for column in columns}
    for column in (*step.where, *columns_in(step)):
        if rows and normalise(column) not in known:
            names = ", ".join(map(repr, list(columns)[:_NAMES_SHOWN]))
            message = f"the table has no column {column!r}; it has: {names}"
            raise ActionFailed("no_column", message, dispatched=False)


def columns_in(step: ForEach) -> tuple[str, ...]:
    """The columns that its steps name, as written."""
    prefix = f"{step.item}."
    return tuple(sorted(name.removeprefix(prefix) for name in parameters_of(step.steps) if name.startswith(prefix)))


def parameters_of(steps: Sequence[Step]) -> frozenset[str]:
    """All parameters that steps name, items and their columns included."""
    texts = (text for step in steps for text in texts_of(step.model_dump(mode="json")))
    return frozenset().union(*map(parameters_in, texts))


def _cell(row: Mapping[str, str], column: str) -> str:
    wanted = normalise(column)
    return next((text for name, text in row.items() if normalise(name) == wanted), "")


def _tester(test: CellTest) -> Callable[[str], bool]:
    if test.contains is not None:
        wanted = test.contains
        return lambda text: contains(text, wanted)
    if test.matches is not None:
        pattern = test.matches
        try:  # with the values of its parameters it may be larger than RE2 takes
            expressions.found_in(pattern, "")
        except expressions.Unusable as exc:
            raise ActionFailed("pattern_unusable", f"where: {exc}", dispatched=False) from exc
        return lambda text: expressions.found_in(pattern, text)
    names = {normalise(name) for name in test.none_of or test.one_of or (test.equals or "",)}
    return lambda text: (normalise(text) in names) is (test.none_of is None)


def bindings(step: ForEach, item: Item, columns: Sequence[str]) -> dict[str, str]:
    """What an item puts in the place of `{{item}}` and, for each of `columns`, of `{{item.Column}}`."""
    if isinstance(item, str):
        return {step.item: item}
    cells = {f"{step.item}.{column}": _cell(item, column) for column in columns}
    return {step.item: " ".join(filter(None, item.values())), **cells}


# ---------------------------------------------------------------------------------------------- the plan


class _Listed:
    """A loop with its `for_each`, and what each item means to its steps."""

    def __init__(self, loop: Loop, step: ForEach, before: int) -> None:
        self.loop = loop
        self.step = step
        self.columns = columns_in(step)
        self._before = before
        """How many lists before it in the plan call their items the same."""

    def bound(self, number: int) -> dict[str, str]:
        return bindings(self.step, self.loop.items[number], self.columns)

    @cached_property
    def meanings(self) -> tuple[str, ...]:
        """What its steps use of each item, with which occurrence of this it is."""
        used = parameters_of(self.step.steps)
        seen: Counter[str] = Counter()
        meanings = []
        for number in range(len(self.loop.items)):
            bound = self.bound(number)
            named = {name: value for name, value in bound.items() if name in used}
            key = digest(named or bound)
            seen[key] += 1
            meanings.append(digest([self.step.item, self._before, key, seen[key]]))
        return tuple(meanings)


class Course:
    """A plan in which the steps of every `for_each` whose items are known are written out, with the values of each.

    It never changes; `after` gives the next one.
    """

    def __init__(self, rolled: Sequence[Step], values: Mapping[str, str], loops: Sequence[Loop] = ()) -> None:
        """`rolled` is the plan as it was written, `loops` what is known of its lists, in the order of the plan."""
        self.rolled = tuple(rolled)
        self.loops = tuple(loops)
        self._values = values
        plan: list[Step] = []
        self._places: dict[int, int] = {}
        """Index in the written-out plan to index in `rolled`, for all steps outside of iterations."""
        self._lists: list[_Listed] = []
        for index, step in enumerate(self.rolled):
            self._places[len(plan)] = index
            plan.append(step)
            loop = self.loops[len(self._lists)] if len(self._lists) < len(self.loops) else None
            if isinstance(step, ForEach) and loop is not None and loop.at == len(plan) - 1:
                before = sum(each.step.item == step.item for each in self._lists)
                self._lists.append(_Listed(loop, step, before))
                plan += step.steps * len(loop.items)
        self._places[len(plan)] = len(self.rolled)
        self.plan = tuple(plan)
        """All steps, as they are performed one after the other."""
        self._item_acts: tuple[Iteration | None, tuple[str, ...]] = (None, ())

    def after(self, position: int, outcome: StepOutcome) -> "Course":
        """The course once the step at `position` is done: a `for_each` has its items now."""
        if not isinstance(self.plan[position], ForEach) or ITEMS_FIELD not in outcome.extracted:
            return self
        loop = Loop(at=position, items=tuple(outcome.extracted[ITEMS_FIELD]))
        return Course(self.rolled, self._values, (*self.loops, loop))

    def revised(self, position: int, steps: Sequence[Step]) -> "Course":
        """The course in which these steps take the place of all from `position` on, which is in no iteration."""
        return Course((*self.rolled[: self.written(position)], *steps), self._values, self.loops)

    def written(self, position: int) -> int:
        """Where the step at `position`, which is in no iteration, stands in the plan as it was written."""
        return self._places[position]

    def place_of(self, position: int) -> int:
        """Where the step at `position` stands in the plan as it was written; of a step of an item, its `for_each`."""
        return self._places[max(at for at in self._places if at <= position)]

    def commits_written(self, commits: Sequence[int]) -> tuple[int, ...]:
        """Where the commits at these positions stand in the plan as it was written; those of items with their list."""
        return tuple(dict.fromkeys(map(self.place_of, commits)))

    def iteration_at(self, position: int) -> Iteration | None:
        """The item that the step at `position` is done for; None outside of lists."""
        for number, listed in enumerate(self._lists):
            size = len(listed.step.steps)
            done, into = divmod(position - listed.loop.at - 1, size)
            if 0 <= done < len(listed.loop.items):
                return Iteration(loop=number, number=done, begins=position - into, ends=position - into + size)
        return None

    def loop_at(self, position: int) -> ForEach | None:
        """The `for_each` that the step at `position` is one of the steps of; None outside of lists."""
        iteration = self.iteration_at(position)
        return None if iteration is None else self._lists[iteration.loop].step

    def item_at(self, position: int) -> Item | None:
        """The item itself."""
        iteration = self.iteration_at(position)
        return None if iteration is None else self.loops[iteration.loop].items[iteration.number]

    def said_at(self, position: int) -> str:
        """Which item that is, without its value: `invoice 2/5`; empty outside of lists."""
        iteration = self.iteration_at(position)
        if iteration is None:
            return ""
        listed = self._lists[iteration.loop]
        return f"{listed.step.item} {iteration.number + 1}/{len(listed.loop.items)}"

    def values_at(self, position: int) -> Mapping[str, str]:
        """The values of the parameters for the step at `position`, those of its item included."""
        iteration = self.iteration_at(position)
        if iteration is None:
            return self._values
        return {**self._values, **self._lists[iteration.loop].bound(iteration.number)}

    def following(self, position: int) -> Step | None:
        """The step after this one if it is known by now and has the same values."""
        if position + 1 >= len(self.plan) or isinstance(self.plan[position], ForEach):
            return None
        if self.iteration_at(position) != self.iteration_at(position + 1):
            return None
        return self.plan[position + 1]

    def act_at(self, position: int) -> str:
        """What the step at `position` does, wherever it stands; see `fingerprints.acts_of`.

        A step of an item is told by what its list's steps use of the item, so that it is known again where the items
        were read anew and are others, or in another order.
        """
        iteration = self.iteration_at(position)
        if iteration is None:
            return self._acts[self.written(position)]
        if self._item_acts[0] != iteration:
            listed = self._lists[iteration.loop]
            meaning = listed.meanings[iteration.number]
            acts = acts_of(listed.step.steps, self.values_at(position))
            self._item_acts = iteration, tuple(digest([meaning, act]) for act in acts)
        return self._item_acts[1][position - iteration.begins]

    @cached_property
    def _acts(self) -> tuple[str, ...]:
        return acts_of(self.rolled, self._values)


ITEM_FIELD = "item"
"""Under which the entries of a list in a run's result have the item itself."""


def collected(so_far: Mapping[str, Any], course: Course, position: int, extracted: Mapping[str, Any]) -> dict[str, Any]:
    """What a run has read, with what the step at `position` read: for each item of a list, an entry in its list."""
    if isinstance(course.plan[position], ForEach):
        return dict(so_far)
    loop, item = course.loop_at(position), course.item_at(position)
    if loop is None or not extracted:
        return {**so_far, **extracted}
    entries = list(so_far.get(loop.item, ()))
    if entries and entries[-1].get(ITEM_FIELD) == item:
        entries[-1] = {**entries[-1], **extracted}
    else:
        entries.append({ITEM_FIELD: item, **extracted})
    return {**so_far, loop.item: entries}


def skipped_items(course: Course, position: int, outcome: StepOutcome) -> tuple[ItemLine, ...]:
    """The item that is left with this outcome of its step, if it is."""
    iteration, loop, item = course.iteration_at(position), course.loop_at(position), course.item_at(position)
    if outcome.reason != ITEM_SKIPPED or iteration is None or loop is None or item is None:
        return ()
    number = iteration.number + 1
    return (ItemLine(item=loop.item, number=number, value=item, step=position, message=outcome.message),)
