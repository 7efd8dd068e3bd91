"""Tasks for checks: on another address of their site, or only up to the first consequence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import parameters_in, secrets_in
from replaywright.domain.common.urls import origin_of, without_usual_port
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.recorded import RecordedElement, meaning
from replaywright.domain.step.fingerprints import numbered
from replaywright.domain.task.actions import Effect, effect_of, stronger
from replaywright.domain.task.steps import (
    Approve,
    ForEach,
    Goto,
    Press,
    SolveCaptcha,
    Step,
    VerificationCode,
    action_of,
    names_element,
)
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid

_ADDRESSES = frozenset({"url", "url_contains"})
"""Fields with addresses or parts of them."""
_LATER_MS = 1_000
"""Time in which an element of a later step is looked for: it may well belong to a page that comes after."""

_ONLY_FOUND: dict[str, Any] = {
    "effect": Effect.READ,
    "expect": (),
    **dict.fromkeys(("reconcile", "on_unknown", "late_ms", "evidence")),
}


class LaterStep(Record):
    """A step that a canary does not perform: its element is looked for on the page where the canary stops."""

    step: Step
    """Without consequences and expectations: it is given no input."""
    occurrence: int
    number: int
    """Of the step in its task, from 1."""
    is_next: bool = False
    """True: a run in earnest would perform it on this very page, so its element has to be there."""


def site_written(task: Task) -> str:
    """Return the origin that the task begins on; empty if a parameter determines it."""
    first = task.steps[0] if task.steps else None
    url = task.url or (first.url if isinstance(first, Goto) else "")
    head = "/".join(url.split("/")[:3])
    return "" if "{{" in head else origin_of(head)


def on_site(task: Task, url: str) -> Task:
    """Move the task's addresses from its own site to the site of `url`, such as a preview.

    Raises:
        InputInvalid: `url` is no address of a site, or a parameter determines the task's site.
    """
    now = origin_of(url)
    if not now or url.rstrip("/").count("/") > 2:
        raise InputInvalid(f"--url {url!r}: expected scheme, host and port, as in https://preview.example")
    then = site_written(task)
    if not then:
        names = sorted(parameters_in(task.url)) or ["its parameter"]
        raise InputInvalid(
            f"--url: a parameter says the site of {task.task!r}: give it its value instead, --param {names[0]}={url}"
        )
    return Task.model_validate(_moved(task.model_dump(mode="json"), then, without_usual_port(now)))


def _moved(value: Any, then: str, now: str, field: str = "") -> Any:
    match value:
        case dict():
            return {name: _moved(inner, then, now, name) for name, inner in value.items()}
        case list():
            return [_moved(inner, then, now, field) for inner in value]
        case str() if field in _ADDRESSES:
            head = "/".join(value.split("/")[:3])
            return now + value[len(head) :] if "{{" not in head and origin_of(head) == then else value
        case _:
            return value


def observed_effects(elements: Iterable[RecordedElement]) -> dict[str, Effect]:
    """Return the observed effects of steps by meaning; the strongest over several pages."""
    found: dict[str, Effect] = {}
    for element in elements:
        if element.effect is not None:
            found[element.means] = stronger(found.get(element.means, Effect.READ), element.effect)
    return found


def effects_of(task: Task, observed: Mapping[str, Effect]) -> Iterator[tuple[str, Step, Effect]]:
    """Yield each step with its place and its effect, those of lists included.

    Without a declared or observed effect the action decides: a click is a commit until observations say otherwise.
    """
    for place, step, occurrence in numbered(task.steps, task.url):
        yield place, step, effect_of(action_of(step), step.effect, observed.get(meaning(step, occurrence)))


def first_with_consequences(task: Task, observed: Mapping[str, Effect]) -> int | None:
    """Return the index of the first step with lasting consequences, or that asks to approve of them; None: none."""
    index = -1
    for place, step, effect in effects_of(task, observed):
        index += "." not in place
        if not effect.repeatable or isinstance(step, Approve):
            return index
    return None


def first_that_stores(task: Task, observed: Mapping[str, Effect]) -> int | None:
    """Return the index of the first step that may change what the site stores, or asks to approve of it; None: none.

    One that is declared as idempotent stores something, too, such as a draft, unless it signs in: a secret was entered
    before it.
    """
    index, is_entered = -1, False
    for place, step, effect in effects_of(task, observed):
        index += "." not in place
        is_entered |= bool(secrets_in(getattr(step, "value", None) or ""))
        if isinstance(step, Approve):
            return index
        if effect.repeatable and step.effect is not Effect.IDEMPOTENT:
            continue
        if not (effect.repeatable and is_entered):
            return index
        is_entered = False
    return None


def sends_of(task: Task, recordings: Mapping[str, Sequence[ActionCacheEntry]]) -> tuple[str, ...] | None:
    """Return the unsafe requests that the task's steps sent when they were recorded, without their site.

    None if that is not known of each step: one has no recording, or was seen to send something that none says. The
    `recordings` are by the step's meaning.
    """
    sent: set[str] = set()
    for _, step, occurrence in numbered(task.steps, task.url):
        if not (names_element(step) or isinstance(step, Press)) or isinstance(step, ForEach):
            continue
        entries = recordings.get(meaning(step, occurrence), ())
        for entry in entries:
            kinds = [each.kind for each in entry.sends] + [each.kind for each in entry.granted]
            if entry.effect not in (None, Effect.READ) and not kinds:
                return None
            sent |= {kind.on_any_site for kind in kinds}
        if not entries:
            return None
    return tuple(sorted(sent))


def shortened(task: Task, length: int) -> Task:
    """Return the task's first `length` steps, at least the opening of its page, without final verification."""
    steps = task.steps[:length] or (Goto(action="goto", url=task.url),)
    return task.model_copy(update={"steps": steps, "verify": ()})


def looked_for(task: Task, begins: int) -> tuple[LaterStep, ...]:
    """Return the steps from the index `begins` on that have an element to look for; not those of lists."""
    found, index = [], -1
    for place, step, occurrence in numbered(task.steps, task.url):
        index += "." not in place
        is_own = "." not in place and not isinstance(step, ForEach | SolveCaptcha | VerificationCode)
        if index < begins or not is_own or not names_element(step):
            continue
        is_next = all(isinstance(before, Approve) for before in task.steps[begins:index])
        limit_ms = step.timeout_ms if is_next else min(step.timeout_ms, _LATER_MS)
        changes = {**_ONLY_FOUND, "timeout_ms": limit_ms}
        found.append(
            LaterStep(step=step.model_copy(update=changes), occurrence=occurrence, number=index + 1, is_next=is_next)
        )
    return tuple(found)
