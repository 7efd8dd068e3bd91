"""Needs of a plan that can be checked before its first step."""

from collections.abc import Iterable, Iterator, Mapping

from replaywright.domain.common.templates import fill, parameters_in
from replaywright.domain.task.steps import ForEach, Step, Upload


def files_needed(steps: Iterable[Step], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths that the plan uploads for certain, as far as `values` name them.

    Steps with a condition may be left out, and a list that the page names may be empty: theirs are not in it.
    """
    return tuple(dict.fromkeys(_files(steps, values)))


def _files(steps: Iterable[Step], values: Mapping[str, str]) -> Iterator[str]:
    for step in steps:
        if step.when:
            continue
        if isinstance(step, ForEach) and step.values is not None:
            yield from _files(step.steps, values)
        if isinstance(step, Upload):
            yield from (fill(file, values) for file in step.files if parameters_in(file) <= values.keys())
