"""A task file that is being edited: its steps as it has them, and its text with other steps in it.

What is not changed stays as it was written, with its comments. Where the text cannot be kept, that is told.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Any, Final

import yaml

from replaywright.domain.task.steps import Step, names_element
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.errors import InputInvalid
from replaywright.imports import Imported
from replaywright.ports.recording import Act
from replaywright.recording.trial import is_harmless
from replaywright.recording.writing import data_of, described
from replaywright.yaml_files import parse_yaml

_WIDTH: Final = 110


@dataclass(frozen=True, eq=False)
class _Row:
    """A step of the draft."""

    data: dict[str, Any]
    place: int | None = None
    """Index in the file of the step that it is, or has replaced; None for an inserted one."""
    is_kept: bool = False
    """It is as the file has it."""


@dataclass
class Draft:
    """Steps of a task file; every change leaves a task that can run, or is refused."""

    text: str
    source: str
    rows: list[_Row] = field(init=False)
    task: Task = field(init=False)

    def __post_init__(self) -> None:
        """Read the text.

        Raises:
            InputInvalid: it is no task, or has no steps.
        """
        self._data: dict[str, Any] = parse_yaml(self.text, self.source)
        self.task = parse_task(self._data, self.source)
        if not self.task.steps:
            raise InputInvalid(f"{self.source}: it has a goal and no steps: run it once, and edit the skill's script")
        self._written = list(self._data["steps"])
        self.rows = [_Row(dict(data), place, is_kept=True) for place, data in enumerate(self._written)]

    @property
    def is_changed(self) -> bool:
        """True if it differs from its text."""
        return not self._says_now(self.text)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps as the task reads them."""
        return self.task.steps

    def written(self, begin: int = 0) -> tuple[dict[str, Any], ...]:
        """Return the steps from `begin` on as the file has them."""
        return tuple(row.data for row in self.rows[begin:])

    def has_consequences(self, index: int) -> bool:
        """Return True if the step may have consequences, by its task alone."""
        return not is_harmless(self.steps[index])

    # ----------------------------------------------------------------------------------------------- changes

    def replace(self, index: int, data: Mapping[str, Any]) -> None:
        """Put another step in the place of one.

        Raises:
            InputInvalid: the task cannot have it.
        """
        self._take([*self.rows[:index], _Row(dict(data), self.rows[index].place), *self.rows[index + 1 :]])

    def pick(self, index: int, act: Act) -> str:
        """Have a step act on the element that was pointed at, by the query and the words of the recorder.

        Return what is to be known of the query; empty for nothing.

        Raises:
            InputInvalid: the step acts on no element, or nothing tells the element from others.
        """
        if not names_element(self.steps[index]):
            raise InputInvalid(f"step {index + 1} ({self.steps[index].action}) acts on no element: change its fields")
        element = described(act.element) if act.element is not None else None
        if element is None or element.query is None:
            raise InputInvalid("nothing tells this element from others: pick one beside it, or write the target")
        named = {"instruction": element.words, "target": element.query.model_dump(exclude_none=True)}
        self.replace(index, {**self.rows[index].data, **named})
        return "its element is described by its place alone, which changes" if element.by_place else ""

    def delete(self, index: int) -> None:
        """Leave a step out.

        Raises:
            InputInvalid: it is the only one, or another one needs it.
        """
        self._take([*self.rows[:index], *self.rows[index + 1 :]])

    def insert(self, index: int, shown: Imported) -> int:
        """Insert the steps that were shown before the step at `index`, with their secrets; return their number.

        Raises:
            InputInvalid: the task cannot have them.
        """
        rows = [_Row(step) for step in data_of(shown.task)["steps"]]
        if taken := next((name for name in shown.task.parameters if name in self.task.parameters), ""):
            raise InputInvalid(f"what was shown needs a parameter {taken!r}, and the task has another one: rename that")
        more: dict[str, Any] = {}
        if new := [name for name in shown.task.secrets if name not in self.task.secrets]:
            more["secrets"] = [*self._data.get("secrets", ()), *new]
        if shown.task.parameters:
            entered = {name: {"default": one.default or one.example} for name, one in shown.task.parameters.items()}
            more["parameters"] = {**self._data.get("parameters", {}), **entered}
        self._take([*self.rows[:index], *rows, *self.rows[index:]], more)
        return len(rows)

    def _take(self, rows: list[_Row], more: Mapping[str, Any] | None = None) -> None:
        data = {**self._data, **(more or {})}
        self.task = parse_task({**data, "steps": [row.data for row in rows]}, self.source)
        self.rows, self._data = rows, data

    @property
    def _now(self) -> dict[str, Any]:
        return {**self._data, "steps": [row.data for row in self.rows]}

    def _says_now(self, text: str) -> bool:
        try:
            return bool(parse_yaml(text, self.source) == self._now)
        except InputInvalid:  # an alias of what is gone
            return False

    # ------------------------------------------------------------------------------------------------ the file

    def saved(self) -> tuple[str, bool]:
        """Return the text of the file, and whether all is kept that it had beside its data, such as comments."""
        text, is_kept = self._spliced()
        if text and self._says_now(text):
            return text, is_kept
        if self.text.lstrip().startswith("{"):
            return json.dumps(self._now, indent=2, ensure_ascii=False) + "\n", True
        lines = self.text.splitlines(keepends=True)
        head = "".join(takewhile(lambda line: line.startswith("#") or not line.strip(), lines))
        is_kept = "#" not in self.text.removeprefix(head)
        return head + _dumped(self._now), is_kept

    def _spliced(self) -> tuple[str, bool]:
        """Return the text with only the changed steps written anew; empty where its form does not allow that."""
        root = yaml.compose(self.text, Loader=yaml.SafeLoader)
        pairs = root.value if isinstance(root, yaml.MappingNode) else []
        found = next(((key, value) for key, value in pairs if key.value == "steps"), None)
        if found is None or not isinstance(found[1], yaml.SequenceNode) or found[1].flow_style:
            return "", True
        key, node = found
        lines = self.text.splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        dashes = [one.start_mark.line for one in node.value]
        end = _without_remarks(lines, dashes[-1] + 1, node.end_mark.line)
        before = [key.start_mark.line, *dashes]
        begins = [_without_remarks(lines, above + 1, at) for above, at in pairwise(before)]
        ends = [*begins[1:], end]
        indent = " " * node.start_mark.column
        parts, kept = [], True
        used = {row.place for row in self.rows}
        for row in self.rows:
            if row.place is None:
                parts.append(_item(row.data, indent))
                continue
            begin, dash, stop = begins[row.place], dashes[row.place], ends[row.place]
            if row.is_kept:
                parts.append("".join(lines[begin:stop]))
                continue
            parts.append("".join(lines[begin:dash]) + _item(row.data, indent))
            kept = kept and not _has_remark(lines[dash:stop])
        for place, (begin, stop) in enumerate(zip(begins, ends, strict=True)):
            kept = kept and (place in used or not _has_remark(lines[begin:stop]))
        return "".join(lines[: begins[0]]) + "".join(parts) + "".join(lines[end:]), kept


def _without_remarks(lines: Sequence[str], begin: int, end: int) -> int:
    """Return the end of lines `begin` to `end` without the comments and empty lines at their end."""
    while end > begin and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _has_remark(lines: Sequence[str]) -> bool:
    return any(line.lstrip().startswith("#") or " #" in line for line in lines)


def _item(data: Mapping[str, Any], indent: str) -> str:
    return "".join(indent + line for line in _dumped([data]).splitlines(keepends=True))


def _dumped(data: Any) -> str:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=_WIDTH)
