"""What a task is for Replaywright: its parameters in the page's words, its steps, and the oracle's rule for each."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.wob.oracle import Pick
from bench.wob.pages import Utterance
from replaywright.domain.common.templates import fill
from replaywright.domain.task.tasks import Task, parse_task

Values = dict[str, str]

ENDED = {"exists": {"css": "#sync-task-cover"}}
"""The page took the answer, right or wrong: it covers itself and offers to start again."""

START_URL = "{{site}}/miniwob/TASK.html?seed={{seed}}&run={{run}}"
PLACE = ("site", "seed", "run")


@dataclass(frozen=True)
class Do:
    """One step as it stands in a task file, and which element the oracle takes for it."""

    step: Mapping[str, Any]
    pick: Pick | None = None
    """None for a step that names its element itself: the model is not asked."""


@dataclass(frozen=True)
class Spec:
    """One task of MiniWoB++."""

    name: str
    read: Callable[[Utterance], Values | None]
    """The caller's knowledge: the parameters in what the page asks for; None if they are not in it."""
    steps: Callable[[Values], Sequence[Do]]
    new_seeds: bool = True
    """Whether everything that changes with the seed is a parameter, so that what was learned holds for other seeds."""
    recorded_seed: int = 1
    """Where a task has flows of different length, one with the longest. The new seeds are those that follow."""

    def task(self, values: Values) -> Task:
        """The task file of these values; nothing in it depends on the seed but the number of its steps."""
        names = [*PLACE, *values]
        data = {
            "task": self.name,
            "url": START_URL.replace("TASK", self.name),
            "parameters": {name: {"type": "text"} for name in names},
            "steps": [dict(do.step) for do in self.steps(values)],
            "verify": [ENDED],
        }
        return parse_task(data, self.name)

    def rules(self, values: Values) -> dict[str, Pick]:
        """What the oracle has to know while this is recorded, by instruction."""
        return {
            fill(do.step["instruction"], values): do.pick.filled(values)
            for do in self.steps(values)
            if do.pick is not None
        }


def spec(name: str, read: Callable[[Utterance], Values | None], *steps: Do, new_seeds: bool = True) -> Spec:
    """A task whose steps are always the same."""
    return Spec(name, read, lambda _values: steps, new_seeds)


def said(pattern: str, **changes: Callable[[str], str]) -> Callable[[Utterance], Values | None]:
    """Read the named groups of `pattern`, which must be all that is said; `changes` makes values of them."""

    def read(utterance: Utterance) -> Values | None:
        text = utterance if isinstance(utterance, str) else str(utterance.get("utterance", ""))
        found = re.fullmatch(pattern, text)
        if found is None:
            return None
        return {name: changes.get(name, str)(value) for name, value in found.groupdict().items()}

    return read


def nothing(_utterance: Utterance) -> Values:
    """The task asks for the same with every seed."""
    return {}


def learned(action: str, instruction: str, pick: Pick, **fields: Any) -> Do:
    """A step whose element is found by the model once, and by its recording from then on."""
    return Do({"action": action, "instruction": instruction, **fields}, pick)


def declared(action: str, instruction: str, target: Mapping[str, str], **fields: Any) -> Do:
    """A step that names its element itself, by parameters or by a fixed locator."""
    return Do({"action": action, "instruction": instruction, "target": dict(target), **fields})


def button(name: str, instruction: str = "", **fields: Any) -> Do:
    """Click the button of this name; `instruction` only if its role and name do not say which."""
    return learned("click", instruction or f"the {name} button", Pick("button", name), **fields)


SUBMIT = button("Submit")
