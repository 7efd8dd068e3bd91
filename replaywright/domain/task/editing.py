"""Edited steps of a task that is under way, read with the rules of task files."""

from collections.abc import Mapping, Sequence
from typing import Any

from replaywright.domain.task.steps import ForEach, Step
from replaywright.domain.task.tasks import Task, parse_within
from replaywright.errors import InputInvalid


def edited_steps(
    task: Task, old: Step, given: Mapping[str, Any], rest: Sequence[Mapping[str, Any]] | None = None
) -> tuple[Step, ...]:
    """Return the step that replaces `old`, which has failed or is not begun, and `rest`, the steps after it.

    Without `rest` only the step is replaced.

    Raises:
        InputInvalid: the task cannot have such a step; the message names the field and the expected value.
    """
    if rest is not None:
        return parse_within(task, {"steps": [dict(given), *map(dict, rest)]}, "the edited steps").steps
    [step] = parse_within(task, {"steps": [dict(given)]}, "the edited step").steps
    if isinstance(step, ForEach):
        raise InputInvalid("the edited step: a for_each cannot take the place of one step; end the run and resume it")
    if step == old:
        raise InputInvalid("the edited step: nothing is changed; to do it once more, retry")
    return (step,)


def as_written(step: Step) -> dict[str, Any]:
    """Return the step as a task file has it, for a person to change."""
    data: dict[str, Any] = step.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    return {"action": step.action, **data}
