"""Limits of what a model that has read a page may plan, enter and choose.

Such a model may do what the page says. Where it may lead, what it may enter and where it may enter secrets is decided
here, by words that no page has written; what its presses may send is decided by `press_grants`.
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
from replaywright.domain.task.steps import ForEach, Goto, SelectOption, Step

_ENTERED: Final = ("value", "values")
_PLACES: Final = re.compile(r"\{\{[^{}]*\}\}")
_QUOTED: Final = re.compile(r"(?<!\w)['\"][^'\"]*['\"](?!\w)|[“„«‘「『][^”“»’」』]*[”“»’」』]")
"""A quotation, in the signs of several languages; not the apostrophe within a word."""
_ADDRESS: Final = re.compile(r"[^\s@]+@[^\s@]+\.\w+|\w+://|\bwww\.")
_NUMBER: Final = re.compile(r"\d(?:[\s./-]?\d){5,}")
"""Six digits or more, grouped or not: an account, a telephone number, an amount worth a thought."""
_DATE: Final = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?:[T ]\d{1,2}:\d\d(?::\d\d)?)?")
_TOLD: Final = 8
"""Characters from which on a text that stands on the page as well was hardly made up by the planner."""


def trusted_context(step: Step, *, own: Sequence[Step], goal: str, origins: Iterable[str] = ()) -> TrustedContext:
    """Collect what is known of a step that no page has written.

    Args:
        step: The step.
        own: Those that the task's author wrote; of lists also their steps.
        goal: A template of what the run is for.
        origins: Where steps of a planner may lead.
    """
    is_own = is_among(step, own)
    return TrustedContext(
        goal=goal_words(goal),
        instruction=own_words(step) if is_own else "",
        secrets=tuple(sorted(secrets_in(getattr(step, "value", "") or ""))),
        origins=() if is_own else tuple(origins),
    )


def is_among(step: Step, own: Sequence[Step]) -> bool:
    """Say if a step is one of these, or of a list among them."""
    return step in own or any(step in each.steps for each in own if isinstance(each, ForEach))


def own_words(step: Step) -> str:
    """The instruction of a step without its parameters."""
    return _PLACES.sub(" | ", step.instruction)


def goal_words(goal: str) -> str:
    """The goal without its parameters and its quotations: what is entered asks for nothing."""
    return _QUOTED.sub(" | ", _PLACES.sub(" | ", goal))


def refuses(element: Element, action: str, trusted: TrustedContext, *, page: Snapshot) -> str:
    """Say why a step is not done with an element of the page that a model chose; empty when it may be."""
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


def goes_out(step: Step, *, known: Iterable[str], values: Mapping[str, str]) -> str:
    """Which value of the run a planned step puts into an address; empty for none.

    A form is where values go. An address that a page proposes may lead them anywhere on the site, such as to a page
    that sends its visitors on; one that the task itself has, or that is open, is none of that.
    """
    if not isinstance(step, Goto) or step.url in known:
        return ""
    return next(iter(sorted(parameters_in(step.url) & set(values))), "")


def sends_on(step: Step, *, known: Iterable[str]) -> bool:
    """Whether a planned step opens a page with another address in its own: such pages send their visitors there."""
    if not isinstance(step, Goto) or step.url in known:
        return False
    try:
        parts = urlsplit(step.url)
    except ValueError:
        return True
    said = unquote(unquote(f"{parts.path[1:]}?{parts.query}#{parts.fragment}"))
    return any(sign in said for sign in ("//", "\\\\", ":/", ":\\")) or _ADDRESS.search(said) is not None


def made_up(step: Step, *, goal: str, values: Mapping[str, str], own: Sequence[Step], page: str) -> str:
    """What a planned step enters that nobody has asked for: an address, a long number, or words of the page.

    Everything else that a planner writes of its own, such as a country's name or a date in another form, is let pass.
    Options of a list are the page's in any case, and are not looked at.
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
    """For comparing what is entered: without what does not show, without quotes and gaps."""
    return re.sub(r"[\s'\"“”‘’«»]+", "", normalise(seen(text)))
