"""Remedies for failed runs, by reason."""

import re
from collections.abc import Mapping
from typing import Final

from replaywright.domain.common.templates import LONG, texts_of
from replaywright.domain.common.text import is_word_edge, shorten
from replaywright.domain.proof.signed_out import SIGNED_OUT
from replaywright.domain.step.outcomes import BLOCKED, DATE_MISREAD, ENTRY_LOST
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Parameter

_SHOWN: Final = 60
"""Characters of a value that a remark shows."""
UNASKED = "no model was asked"
UNNAMED = "the model names no single element for this"
"""What the message of a step says of the model, after why its element was not found."""

_UNFOUND = frozenset({"ambiguous", "disagrees", "low_score", "not_found"})
_WITHOUT_MODEL = (
    "give the step a target with the names that the page has, or set REPLAYWRIGHT_MODEL where the worker runs, so that "
    "a model finds the element"
)
_WHICH = (
    "say in the step's target which of them is meant (`nth`, `within`), or set REPLAYWRIGHT_MODEL where the worker "
    "runs, so that a model chooses"
)
_WITH_MODEL = "the model was asked, too: make the instruction more exact, or give the step a target"

REMEDIES: Final[Mapping[str, str]] = {
    "ambiguous": "more than one element answers to the description: make the instruction more exact, or give the "
    "step a target",
    "disabled": "the page wants something first, such as a field or a tick: add a step for it, or a `wait_for` step",
    "heal_off": "the page changed: allow --heal auto or propose",
    "no_entry": "nothing is recorded for this step: run once with --mode auto or learn",
    "not_found": "no element answers to the description: is the page the expected one? --mode learn finds it anew",
    "disagrees": "the page changed: --mode auto or learn lets the model find the element",
    "low_score": "the page changed: --mode auto or learn lets the model find the element",
    ENTRY_LOST: "the page loads its data over what is entered: let a `wait_for` step see that it is there before",
    DATE_MISREAD: "enter the date as the page writes its own, or choose it in the page's calendar",
    "no_element": "the model sees no such element on the page: check the instruction",
    "undecidable": "look at the site whether the step took effect; `reconcile` lets the run find out itself",
    "store_unavailable": "Redis was away for too long: bring it back and run again",
    "ModelMisconfigured": "give the steps targets, or set REPLAYWRIGHT_MODEL and its provider's key where the worker "
    "runs (`replaywright doctor`)",
    "ModelRateLimited": "the model's provider asks to wait: run again later",
    "ModelUnavailable": "the model's provider cannot be reached: run again later",
    "SecretMissing": "`replaywright admin secrets set NAME` gives it a value where the worker runs, without a restart",
    BLOCKED: "change the task, or have the rule changed where the worker runs (`replaywright admin policy check TASK`)",
    SIGNED_OUT: "",
    "cancelled": "",
    "terminated": "",
    "abandoned": "",
    "endless_plan": "put the goal more exactly, or list the steps in a task file",
    "not_recalled": "without --mode replay the run learns it",
    "planner_gave_up": "put the goal more exactly; the page and what was planned are in the trace",
    "budget_spent": "",
}
"""By reason; empty where there is nothing to be done, or the message says what."""


_LITERAL: Final = re.compile(r"the step's \w+ names (?:'.*?'|\".*?\"), and the parameter (\w+) is (?:'.*?'|\".*?\")")


def literal_remark(step: Step, parameters: Mapping[str, Parameter], values: Mapping[str, str]) -> str:
    """Return the remark that a step names the usual value of a parameter where the run has another; empty for none.

    `values` are the run's, by parameter; the usual ones are its default and its example.
    """
    written = step.model_dump(mode="json", include={"instruction", "target", "expect"}, exclude_none=True)
    for part, content in written.items():
        for name, parameter in parameters.items():
            value = values.get(name, "")
            for usual in filter(None, (parameter.default, parameter.example)):
                if len(usual) < LONG or not value or value == usual:
                    continue
                if any(_has_word(text, usual) for text in texts_of(content)):
                    shown = shorten(usual, _SHOWN), shorten(value, _SHOWN)
                    return f"the step's {part} names {shown[0]!r}, and the parameter {name} is {shown[1]!r}"
    return ""


def _has_word(text: str, word: str) -> bool:
    at = text.find(word)
    return at >= 0 and is_word_edge(text, at) and is_word_edge(text, at + len(word))


def remedy_of(reason: str, message: str, otherwise: str = "") -> str:
    """Return the remedy for a run that ended for this reason with this message; empty where none is needed.

    `otherwise`: that for a reason which nothing is known of.
    """
    if (named := _LITERAL.search(message)) is not None:
        return f"{named[0]}: write {{{{{named[1]}}}}} there"
    if reason in _UNFOUND and UNASKED in message:
        return _WHICH if reason == "ambiguous" else _WITHOUT_MODEL
    if reason in _UNFOUND and UNNAMED in message:
        return _WITH_MODEL
    return REMEDIES.get(reason, otherwise)


def shows_steps(run_id: str) -> str:
    """Return what to do where nothing else is known."""
    return f"`replaywright show {run_id}` shows every step"
