"""Loops: the items of a `for_each`, and the plan with the steps of each item expanded.

The items are the outcome of the `for_each` step, recorded like any other. So the outcomes of a plan's steps always give
the same expansion: in the workflow, after continue-as-new and on a resume.
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
from replaywright.domain.step.fingerprints import acts_of, digest, numbered
from replaywright.domain.step.outcomes import ITEM_SKIPPED, StepOutcome
from replaywright.domain.task.steps import ITEMS_FIELD, CellTest, ForEach, Step
from replaywright.errors import ActionFailed

ITEMS_BYTES = 128 * 1024
"""Maximum bytes of all items of a `for_each`: history and ledger keep them."""
_NAMES_SHOWN = 12
"""Columns that a message names."""

Item: TypeAlias = str | dict[str, str]
"""A text, or a row as column to text."""


class ItemLine(Record):
    """An item that was left before all its steps were done."""

    item: str
    """Name of the items in the task."""
    number: int
    """From 1."""
    value: Item
    step: int
    """Index of the failed step in the expanded plan."""
    reason: str = ""
    message: str = ""


class Loop(Record):
    """A `for_each` whose items are known."""

    at: int
    """Its index in the expanded plan."""
    items: tuple[Item, ...]


class Iteration(Record):
    """Position of a step in a loop."""

    loop: int
    """Index of the loop in the plan."""
    number: int
    """Index of the item."""
    begins: int
    """Index of the item's first step."""
    ends: int
    """Index after its last step."""


# ----------------------------------------------------------------------------------------------- items


def items_of(step: ForEach, read: Mapping[str, Any]) -> tuple[Item, ...]:
    """Return the items of a `for_each` with filled parameters: the given ones, else those `read` from the page.

    Duplicates are dropped; the order is that of the list or page.

    Raises:
        ActionFailed: `too_many_items`, `items_too_large` or `no_column`, before any item is begun.
    """
    found: Sequence[Any] = step.values if isinstance(step.values, tuple) else read[ITEMS_FIELD]
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
    """Require that the table has every named column.

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
    """Return the columns that its steps name, as written."""
    prefix = f"{step.item}."
    return tuple(sorted(name.removeprefix(prefix) for name in parameters_of(step.steps) if name.startswith(prefix)))


def parameters_of(steps: Sequence[Step]) -> frozenset[str]:
    """Return all parameters in the steps, including items and their columns."""
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
        try:  # filled parameters may exceed the limits of RE2
            expressions.found_in(pattern, "")
        except expressions.Unusable as exc:
            raise ActionFailed("pattern_unusable", f"where: {exc}", dispatched=False) from exc
        return lambda text: expressions.found_in(pattern, text)
    names = {normalise(name) for name in test.none_of or test.one_of or (test.equals or "",)}
    return lambda text: (normalise(text) in names) is (test.none_of is None)


def bindings(step: ForEach, item: Item, columns: Sequence[str]) -> dict[str, str]:
    """Return the values of `{{item}}` and of `{{item.Column}}` for each of `columns`."""
    if isinstance(item, str):
        return {step.item: item}
    cells = {f"{step.item}.{column}": _cell(item, column) for column in columns}
    return {step.item: " ".join(filter(None, item.values())), **cells}


# ---------------------------------------------------------------------------------------------- the plan


class _Listed:
    """A loop with its `for_each` and the values of its items."""

    def __init__(self, loop: Loop, step: ForEach, before: int) -> None:
        self.loop = loop
        self.step = step
        self.columns = columns_in(step)
        self._before = before
        """Number of earlier lists in the plan with the same item name."""

    def bound(self, number: int) -> dict[str, str]:
        return bindings(self.step, self.loop.items[number], self.columns)

    @cached_property
    def meanings(self) -> tuple[str, ...]:
        """Digest of the used values of each item, with the number of its occurrence."""
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
    """An immutable plan in which every `for_each` with known items is expanded.

    `after` returns the next one.
    """

    def __init__(self, rolled: Sequence[Step], values: Mapping[str, str], loops: Sequence[Loop] = ()) -> None:
        """Expand `rolled`, the plan as written, by `loops`, its known lists in plan order."""
        self.rolled = tuple(rolled)
        self.loops = tuple(loops)
        self._values = values
        plan: list[Step] = []
        self._places: dict[int, int] = {}
        """Index in the expanded plan to index in `rolled`, for all steps outside iterations."""
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
        """All steps in the order in which they are performed."""
        self._item_acts: tuple[Iteration | None, tuple[str, ...]] = (None, ())

    def after(self, position: int, outcome: StepOutcome) -> "Course":
        """Return the course after the step at `position`: a `for_each` now has its items."""
        if not isinstance(self.plan[position], ForEach) or ITEMS_FIELD not in outcome.extracted:
            return self
        loop = Loop(at=position, items=tuple(outcome.extracted[ITEMS_FIELD]))
        return Course(self.rolled, self._values, (*self.loops, loop))

    def revised(self, position: int, steps: Sequence[Step]) -> "Course":
        """Replace all steps from `position` on, which is in no iteration."""
        return Course((*self.rolled[: self.written(position)], *steps), self._values, self.loops)

    def written(self, position: int) -> int:
        """Return the index in the plan as written of a step outside iterations."""
        return self._places[position]

    def place_of(self, position: int) -> int:
        """Return the step's index in the plan as written; for a step of an item, that of its `for_each`."""
        return self._places[max(at for at in self._places if at <= position)]

    def commits_written(self, commits: Sequence[int]) -> tuple[int, ...]:
        """Return the indexes of these commits in the plan as written."""
        return tuple(dict.fromkeys(map(self.place_of, commits)))

    def iteration_at(self, position: int) -> Iteration | None:
        """Return the iteration of the step; None outside of lists."""
        for number, listed in enumerate(self._lists):
            size = len(listed.step.steps)
            done, into = divmod(position - listed.loop.at - 1, size)
            if 0 <= done < len(listed.loop.items):
                return Iteration(loop=number, number=done, begins=position - into, ends=position - into + size)
        return None

    def loop_at(self, position: int) -> ForEach | None:
        """Return the `for_each` of the step; None outside of lists."""
        iteration = self.iteration_at(position)
        return None if iteration is None else self._lists[iteration.loop].step

    def item_at(self, position: int) -> Item | None:
        """Return the item of the step; None outside of lists."""
        iteration = self.iteration_at(position)
        return None if iteration is None else self.loops[iteration.loop].items[iteration.number]

    def label_at(self, position: int) -> str:
        """Return the item's label without its value, such as `invoice 2/5`; empty outside of lists."""
        iteration = self.iteration_at(position)
        if iteration is None:
            return ""
        listed = self._lists[iteration.loop]
        return f"{listed.step.item} {iteration.number + 1}/{len(listed.loop.items)}"

    def values_at(self, position: int) -> Mapping[str, str]:
        """Return the parameter values for the step, including its item."""
        iteration = self.iteration_at(position)
        if iteration is None:
            return self._values
        return {**self._values, **self._lists[iteration.loop].bound(iteration.number)}

    def following(self, position: int) -> Step | None:
        """Return the next step if it is known and has the same values."""
        if position + 1 >= len(self.plan) or isinstance(self.plan[position], ForEach):
            return None
        if self.iteration_at(position) != self.iteration_at(position + 1):
            return None
        return self.plan[position + 1]

    def act_at(self, position: int) -> str:
        """Return the digest of the step's action, independent of its place; see `fingerprints.acts_of`.

        A step of an item is identified by the used values of the item, so it is recognised when the items are read
        again and have changed or another order.
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

    def occurrence_at(self, position: int) -> int:
        """Return which of several equal steps of the plan this is; see `fingerprints.numbered`."""
        iteration = self.iteration_at(position)
        place = f"steps[{self.place_of(position)}]"
        return self._occurrences[place if iteration is None else f"{place}.steps[{position - iteration.begins}]"]

    @cached_property
    def _acts(self) -> tuple[str, ...]:
        return acts_of(self.rolled, self._values)

    @cached_property
    def _occurrences(self) -> dict[str, int]:
        return {place: occurrence for place, _, occurrence in numbered(self.rolled)}


ITEM_FIELD = "item"
"""Field of the item itself in the entries of a list in a run's result."""


def collected(so_far: Mapping[str, Any], course: Course, position: int, extracted: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the step's extracted values into the run's; items of a list have entries."""
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
    """Return the item that this outcome skips, if any."""
    iteration, loop, item = course.iteration_at(position), course.loop_at(position), course.item_at(position)
    if outcome.reason != ITEM_SKIPPED or iteration is None or loop is None or item is None:
        return ()
    number = iteration.number + 1
    return (ItemLine(item=loop.item, number=number, value=item, step=position, message=outcome.message),)
