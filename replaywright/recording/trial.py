"""The trial of a recorded task: the steps that may be done again, with the values that were entered."""

from itertools import takewhile

from replaywright.domain.task.actions import effect_of
from replaywright.domain.task.steps import ForEach, Step, action_of
from replaywright.domain.task.tasks import Task


def before_consequences(task: Task) -> Task | None:
    """Return the task up to its first step with consequences; None if that is its first step."""
    steps = tuple(takewhile(is_harmless, task.steps))
    if not steps:
        return None
    return task if len(steps) == len(task.steps) else task.model_copy(update={"steps": steps, "verify": ()})


def values_shown(task: Task) -> dict[str, str] | None:
    """Return the values that were entered, by parameter; None if one of them was not kept."""
    values = {name: one.default or one.example for name, one in task.parameters.items()}
    return values if all(values.values()) else None


def is_harmless(step: Step) -> bool:
    """Return True if the step, by its task alone, may be done again; of a list, all its steps."""
    if isinstance(step, ForEach):
        return all(map(is_harmless, step.steps))
    return effect_of(action_of(step), step.effect, None).repeatable
