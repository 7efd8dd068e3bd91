"""Which steps can be in a skill, and which of its parameters are parameters at all."""

from collections.abc import Mapping, Sequence

from replaywright.domain.common.templates import fill, parameters_in, texts_of
from replaywright.domain.predicate.predicates import Predicate, fill_predicate
from replaywright.domain.task.steps import Step, Upload, placed
from replaywright.domain.task.tasks import Parameter, Task


def refusal(steps: Sequence[Step]) -> str:
    """Say why these steps cannot be in a skill; empty if they can."""
    for number, step in enumerate(steps, 1):
        for _, inner in placed((step,)):
            if isinstance(inner, Upload) and not any(map(parameters_in, inner.files)):
                return (
                    f"step {number}: upload cannot be in a skill with a file of its own: its files must be parameters"
                )
    return ""


def settled(task: Task, values: Mapping[str, str]) -> Task:
    """Replace the parameters that no step uses by their values: they do not vary between runs."""
    used = frozenset().union(
        *(parameters_in(text) for step in task.steps for text in texts_of(step.model_dump(mode="json")))
    )
    unused = {name: "{{" + name + "}}" if name in used else values.get(name, "") for name in task.parameters}
    parameters: dict[str, Parameter] = {name: one for name, one in task.parameters.items() if name in used}
    verify: tuple[Predicate, ...] = tuple(fill_predicate(predicate, unused) for predicate in task.verify)
    return task.model_copy(update={"goal": fill(task.goal, unused), "parameters": parameters, "verify": verify})
