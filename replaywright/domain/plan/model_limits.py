"""Limits on what a model that has read a page may plan, enter and choose.

Such a model may follow instructions of the page. This module limits its addresses, its entered texts and the fields for
secrets, by words that no page has written; `press_grants` limits the requests of its presses.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from replaywright.domain.common.masks import seen
from replaywright.domain.common.templates import parameters_in, secrets_in, texts_of
from replaywright.domain.common.text import normalise
from replaywright.domain.common.urls import origin_of
from replaywright.domain.locating.wording import meaning_of
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.plan.trusted_context import TrustedContext
from replaywright.domain.task.actions import ACTIONS, Action
from replaywright.domain.task.steps import Goto, SelectOption, Step, placed

_ENTERED: Final = ("value", "values")
_PLACES: Final = re.compile(r"\{\{[^{}]*\}\}")
_QUOTED: Final = re.compile(r"(?<!\w)['\"][^'\"]*['\"](?!\w)|[“„«‘「『][^”“»’」』]*[”“»’」』]")
"""A quotation in the quotes of several languages; not an apostrophe within a word."""
_ADDRESS: Final = re.compile(r"[^\s@]+@[^\s@]+\.\w+|\w+://|\bwww\.")
_NUMBER: Final = re.compile(r"\d(?:[\s./-]?\d){5,}")
"""Six digits or more, grouped or not: an account, a telephone number, a large amount."""
_DATE: Final = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?:[T ]\d{1,2}:\d\d(?::\d\d)?)?")
_TOLD: Final = 8
"""Minimum length of a text that a planner copied from the page and did not write itself."""


def trusted_context(step: Step, *, own: Sequence[Step], goal: str, origins: Iterable[str] = ()) -> TrustedContext:
    """Return the facts about a step that no page has written.

    Args:
        step: The step.
        own: Steps of the task's author; lists include their steps.
        goal: The run's goal as a template.
        origins: Origins that a planner's steps may lead to.
    """
    is_own = is_own_step(step, own)
    return TrustedContext(
        goal=goal_words(goal),
        instruction=instruction_words(step) if is_own else "",
        secrets=tuple(sorted(secrets_in(getattr(step, "value", "") or ""))),
        origins=() if is_own else tuple(origins),
    )


def is_own_step(step: Step, own: Sequence[Step]) -> bool:
    """Return True if the step is one of these, or in a list among them."""
    return any(step == each for _, each in placed(own))


def instruction_words(step: Step) -> str:
    """Return the instruction without its parameters."""
    return _PLACES.sub(" | ", step.instruction)


def goal_words(goal: str) -> str:
    """Return the goal without parameters and quotations: entered values ask for nothing."""
    return _QUOTED.sub(" | ", _PLACES.sub(" | ", goal))


def refuses(element: Element, action: str, trusted: TrustedContext, *, page: Snapshot) -> str:
    """Return why the element that a model chose is refused; empty if it is not."""
    target = element.target
    attributes = target.attributes
    if ACTIONS[Action(action)].can_trigger:
        href = attributes.get("href", "")
        own = {*trusted.origins, origin_of(page.url)}
        if trusted.origins and href.startswith(("http://", "https://")) and origin_of(href) not in own:
            return f"the link leads to {origin_of(href) or 'another site'}, and a planned step stays on its own"
    if trusted.secrets and attributes.get("type", "").lower() != "password":
        meant = {word for text in (*trusted.secrets, trusted.instruction) for word in _meaning(text)}
        shown = (target.name, target.label, attributes.get("placeholder", ""))
        called = {word for text in shown for word in _meaning(text)}
        if not meant & called:
            return f"a secret is only entered where a password is, or its own name: this is {target.name[:40]!r}"
    return ""


def _meaning(text: str) -> tuple[str, ...]:
    return meaning_of(text.replace("_", " "))[0]


# ------------------------------------------------------------------------------------------------- planned steps


def leaked_value(step: Step, *, known: Iterable[str], values: Mapping[str, str]) -> str:
    """Return the value of the run that a planned step puts into an address; empty for none.

    Values belong into forms. An address that a page proposes may carry them to a redirecting page; addresses of the
    task itself and the open one are exempt.
    """
    if not isinstance(step, Goto) or step.url in known:
        return ""
    return next(iter(sorted(parameters_in(step.url) & set(values))), "")


def redirects(step: Step, *, known: Iterable[str]) -> bool:
    """Return True if a planned step opens an address with another one in it, as redirecting pages have."""
    if not isinstance(step, Goto) or step.url in known:
        return False
    try:
        parts = urlsplit(step.url)
    except ValueError:
        return True
    address = unquote(unquote(f"{parts.path[1:]}?{parts.query}#{parts.fragment}"))
    return any(part in address for part in ("//", "\\\\", ":/", ":\\")) or _ADDRESS.search(address) is not None


def invented_text(step: Step, *, goal: str, values: Mapping[str, str], own: Sequence[Step], page: str) -> str:
    """Return text that a planned step enters unasked: an address, a long number, or the page's words.

    Other texts of the planner, such as a country's name or a reformatted date, are allowed. Options of a list always
    come from the page and are not checked.
    """
    if isinstance(step, SelectOption):
        return ""
    given = [goal, *values.values(), *(text for each in own for text in texts_of(each.model_dump(mode="json")))]
    asked = _folded(" ".join(_PLACES.sub(" ", text) for text in given))
    shown = _folded(page)
    for entered in (text for key in _ENTERED for text in texts_of(getattr(step, key, None))):
        for literal in (part.strip() for part in _PLACES.split(entered)):
            plain = _folded(literal)
            if not plain or plain in asked:
                continue
            foreign = _ADDRESS.search(literal) or (_NUMBER.search(literal) and not _DATE.fullmatch(literal))
            if foreign or (len(plain) >= _TOLD and plain in shown):
                return literal
    return ""


def _folded(text: str) -> str:
    """Fold entered text for comparison: no invisible characters, quotes and gaps."""
    return re.sub(r"[\s'\"“”‘’«»]+", "", normalise(seen(text)))
