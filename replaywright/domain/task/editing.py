"""Edited steps of a task that is under way, read with the rules of task files."""

from collections.abc import Mapping
from typing import Any

from replaywright.domain.task.steps import ForEach, Step
from replaywright.domain.task.tasks import Task, parse_within
from replaywright.errors import InputInvalid


def edited_step(task: Task, old: Step, given: Mapping[str, Any]) -> Step:
    """Return the step that replaces `old`, which failed.

    Raises:
        InputInvalid: the task cannot have this step; the message names the field and the expected value.
    """
    [step] = parse_within(task, {"steps": [dict(given)]}, "the edited step").steps
    if isinstance(step, ForEach):
        raise InputInvalid("the edited step: a for_each cannot take the place of one step; end the run and resume it")
    if step == old:
        raise InputInvalid("the edited step: nothing is changed; to do it once more, retry")
    return step


def as_written(step: Step) -> dict[str, Any]:
    """Return the step as a task file has it, for a person to change."""
    data: dict[str, Any] = step.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    return {"action": step.action, **data}
