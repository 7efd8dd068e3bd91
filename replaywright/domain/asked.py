"""What a step was asked for by somebody who has read no page, and what is held against that.

A model that has read a page may do what the page says. So what it plans, and which element it chooses, is compared
with words that no page has written: the goal, and the instruction of a step that the task's author wrote. What these
do not ask for is not done. Whether the words of a page say what its controls do is the site's own affair: on an honest
site with hostile texts they do, as texts that others write bring no controls with them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from replaywright.domain.actions import Action, Effect
from replaywright.domain.asked_for import Asked
from replaywright.domain.masks import seen
from replaywright.domain.snapshots import Element, Snapshot
from replaywright.domain.steps import ForEach, Goto, SelectOption, Step
from replaywright.domain.targets import Target
from replaywright.domain.tasks import Task
from replaywright.domain.templates import parameters_in, secrets_in, texts_of
from replaywright.domain.text import normalise
from replaywright.domain.urls import origin_of
from replaywright.domain.weighty import deeds_asked, objection, order_in
from replaywright.domain.wording import meaning_of

PRESSING: Final = frozenset({Action.CLICK, Action.DOUBLE_CLICK, Action.PRESS, Action.CHECK, Action.EXPAND})
"""Actions that may set something going."""
_CHOOSING: Final = frozenset({*PRESSING, Action.UNCHECK, Action.COLLAPSE, Action.SELECT_OPTION})
_LEAVING: Final = frozenset({"cancel", "close", "back", "no", "discard"})
"""Meanings of controls that end a dialog without doing what it asks about."""
_DIALOGS: Final = frozenset({"dialog", "alertdialog"})
_ASKING: Final = _DIALOGS | {"form"}
_SAYING: Final = ("value", "title", "alt", "aria-label", "aria-description")
"""Attributes in which a control says what it does."""
_ENTERED: Final = ("value", "values")
_PLACES: Final = re.compile(r"\{\{[^{}]*\}\}")
_ADDRESS: Final = re.compile(r"[^\s@]+@[^\s@]+\.\w+|\w+://|\bwww\.")
_NUMBER: Final = re.compile(r"\d(?:[\s./-]?\d){5,}")
"""Six digits or more, grouped or not: an account, a telephone number, an amount worth a thought."""
_DATE: Final = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?:[T ]\d{1,2}:\d\d(?::\d\d)?)?")
_TOLD: Final = 8
"""Characters from which on a text that stands on the page as well was hardly made up by the planner."""


def asked_of(
    step: Step,
    *,
    own: Sequence[Step],
    goal: str,
    verbs: Iterable[str] = (),
    origins: Iterable[str] = (),
) -> Asked:
    """What is known of a step that no page has said.

    Args:
        step: The step.
        own: Those that the task's author wrote, or that a skill has; of lists also their steps.
        goal: What the run is for, without long values.
        verbs: What the labeller says that the goal asks for.
        origins: Where steps of a planner may lead.
    """
    is_own = step in own or any(step in each.steps for each in own if isinstance(each, ForEach))
    return Asked(
        goal=goal,
        verbs=tuple(verbs),
        instruction=_PLACES.sub(" ", step.instruction) if is_own else "",
        is_commit=is_own and step.effect in (Effect.COMMIT, Effect.IRREVERSIBLE),
        secrets=tuple(sorted(secrets_in(getattr(step, "value", "") or ""))),
        origins=() if is_own else tuple(origins),
    )


def refuses(element: Element, action: str, asked: Asked, *, page: Snapshot) -> str:
    """Why the step is not done with an element of the page, which a model chose; empty when it may be."""
    target = element.target
    attributes = target.attributes
    if action in _CHOOSING:
        href = attributes.get("href", "")
        said = [target.name, target.text, target.label, *(attributes.get(key, "") for key in _SAYING), path_words(href)]
        if not _LEAVING & set(meaning_of(target.name or target.text)[0]):
            said += _around(target, page)
        deeds = deeds_asked(asked.goal, asked.verbs) | deeds_asked(asked.instruction)
        if (why := objection(said, deeds)) and not (asked.is_commit and not deeds):
            return why
        own = {*asked.origins, origin_of(page.url)}
        if asked.origins and href.startswith(("http://", "https://")) and origin_of(href) not in own:
            return f"the link leads to {origin_of(href) or 'another site'}, and a planned step stays on its own"
    if asked.secrets and attributes.get("type", "").lower() != "password":
        meant = {word for text in (*asked.secrets, asked.instruction) for word in _meaning(text)}
        shown = (target.name, target.label, attributes.get("placeholder", ""))
        called = {word for text in shown for word in _meaning(text)}
        if not meant & called:
            return f"a secret is only entered where a password is, or its own name: this is {target.name[:40]!r}"
    return ""


def _around(target: Target, page: Snapshot) -> Iterator[str]:
    """What the form and the dialogs are called that an element stands in: its own name may be "OK"."""
    role, _, name = target.container.partition(" ")
    if role in _ASKING:
        yield name
    for other in (each.target for each in page.elements):
        within = other.frame == target.frame and target.xpath.startswith(f"{other.xpath}/")
        if other.role in _DIALOGS and within:
            yield other.name


def _meaning(text: str) -> tuple[str, ...]:
    return meaning_of(text.replace("_", " "))[0]


def path_words(url: str) -> str:
    """The words of an address behind its host: what it is about."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return re.sub(r"[\W_]+", " ", unquote(f"{parts.path} {parts.query}")).strip()


# ------------------------------------------------------------------------------------------------- planned steps


def deeds_of_task(task: Task, values: Mapping[str, str]) -> frozenset[str]:
    """What the task's author asks for that has consequences: by the goal, and by the steps that are written out."""
    steps = [inner for step in task.steps for inner in (step, *(step.steps if isinstance(step, ForEach) else ()))]
    said = (_PLACES.sub(" ", step.instruction) for step in steps)
    return deeds_asked(order_in(task.goal, values), said)


def planned_deeds(step: Step) -> tuple[str, ...]:
    """What a planned step says of what it does."""
    if isinstance(step, Goto):
        return (path_words(step.url),)
    if step.action not in _CHOOSING:
        return ()
    chosen = tuple(texts_of(step.values)) + tuple(texts_of(step.value)) if isinstance(step, SelectOption) else ()
    return (step.instruction, getattr(step, "keys", ""), *chosen)


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
