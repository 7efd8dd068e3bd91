"""Personalisation of skills: how each action takes the values of another run, and refused steps.

A skill's steps are templates; most of the work is filling in values.
"""

from collections.abc import Iterator, Mapping, Sequence

from replaywright.domain.common.templates import fill, parameters_in, texts_of
from replaywright.domain.predicate.predicates import Predicate, fill_predicate
from replaywright.domain.task.actions import Action
from replaywright.domain.task.steps import ForEach, Step, Upload, action_of
from replaywright.domain.task.tasks import Parameter, Task

BY_VALUE = "enters the value of now"
BY_CHOICE = "chooses the option that the value of now names, on the page as it is"
BY_INSTRUCTION = "finds its element by the instruction, with the values of now in it"
AS_IT_IS = "is done as it is"
FROM_THE_TASK = "gives the file that the parameter of now names, from the folders that are allowed"
BY_A_PERSON = "asks a person again"
ANEW = "reads the page of now; nothing that was read before is kept"

PERSONALISED: Mapping[Action, str] = {
    **dict.fromkeys((Action.FILL, Action.TYPE, Action.PASTE), BY_VALUE),
    Action.SELECT_OPTION: BY_CHOICE,
    **dict.fromkeys((Action.CLICK, Action.DOUBLE_CLICK, Action.HOVER, Action.DRAG, Action.CHECK), BY_INSTRUCTION),
    **dict.fromkeys((Action.UNCHECK, Action.EXPAND, Action.COLLAPSE), BY_INSTRUCTION),
    **dict.fromkeys((Action.GOTO, Action.PRESS, Action.SCROLL, Action.WAIT_FOR, Action.GO_BACK), AS_IT_IS),
    **dict.fromkeys((Action.SWITCH_TAB, Action.CLOSE_TAB), AS_IT_IS),
    Action.UPLOAD: FROM_THE_TASK,
    **dict.fromkeys((Action.APPROVE, Action.VERIFICATION_CODE, Action.SOLVE_CAPTCHA, Action.TAKE_OVER), BY_A_PERSON),
    **dict.fromkeys((Action.EXTRACT, Action.FOR_EACH), ANEW),
}
"""How each action is performed in another run of the skill. Other actions cannot be in a skill."""


def refusal(steps: Sequence[Step]) -> str:
    """Return why these steps cannot be a skill's, with the action's name; empty if they can."""
    for number, step in _numbered(steps):
        if action_of(step) not in PERSONALISED:
            return f"step {number}: {step.action} cannot be in a skill"
        if isinstance(step, Upload) and not any(map(parameters_in, step.files)):
            return f"step {number}: upload cannot be in a skill with a file of its own: its files must be parameters"
    return ""


def _numbered(steps: Sequence[Step]) -> Iterator[tuple[int, Step]]:
    """Yield all steps; those of a list have the list's number."""
    for number, step in enumerate(steps, 1):
        yield number, step
        if isinstance(step, ForEach):
            yield from ((number, inner) for inner in step.steps)


def settled(task: Task, values: Mapping[str, str]) -> Task:
    """Fill in the values of parameters that no step uses, and drop these parameters."""
    used = frozenset().union(
        *(parameters_in(text) for step in task.steps for text in texts_of(step.model_dump(mode="json")))
    )
    unused = {name: "{{" + name + "}}" if name in used else values.get(name, "") for name in task.parameters}
    parameters: dict[str, Parameter] = {name: one for name, one in task.parameters.items() if name in used}
    verify: tuple[Predicate, ...] = tuple(fill_predicate(predicate, unused) for predicate in task.verify)
    return task.model_copy(update={"goal": fill(task.goal, unused), "parameters": parameters, "verify": verify})
