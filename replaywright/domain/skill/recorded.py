"""Learned elements of a task in a file, for a machine with an empty action cache.

An element belongs to a step by the step's meaning (`means`), not its number: a changed step no longer matches its
element, and the file is refused. Strings are templates without values or secrets; texts near an element on its page are
included.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator

from replaywright.domain.common.base import Authored
from replaywright.domain.common.urls import origin_of, without_usual_port
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.skill.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.step.fingerprints import content_key, numbered
from replaywright.domain.task.actions import Action, Cause, Effect
from replaywright.domain.task.steps import Step, action_of, arguments_of
from replaywright.domain.task.tasks import Task

ORIGIN = "imported"
"""Origin of entries from a file."""
_SHARED = ("effect", "causes", "derived", "probe", "bound")
"""Fields that elements and entries share."""
_TARGET_FIELDS = frozenset(Target.model_fields) | {field.alias for field in Target.model_fields.values()}


class RecordedElement(Authored):
    """How a step finds its element on one page, and its observed effects."""

    action: Action
    instruction: str = ""
    means: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of the step's meaning, independent of page and tenant."""
    site: str = Field(min_length=1)
    """Origin and path of the page, with ids as `{id}`."""
    element: Target | None = None
    """None for a step on the page as a whole."""
    effect: Effect | None = None
    """Observed effect."""
    causes: tuple[Cause, ...] = ()
    derived: tuple[Predicate, ...] = ()
    """Expectations derived while the step was learned."""
    probe: SiteProbe | None = None
    bound: dict[str, str] = Field(default_factory=dict)
    """Digests of the values that the recording is for; see `ActionCacheEntry`."""

    @field_validator("element", mode="before")
    @classmethod
    def _says_only_what_is_known(cls, element: Any) -> Any:
        unknown = set(element) - _TARGET_FIELDS if isinstance(element, dict) else set()
        if unknown:
            raise ValueError(f"an element has no field {min(unknown, key=str)!r}; export the skill again")
        return element


def meaning(step: Step, occurrence: int = 1) -> str:
    """Return the digest of the step's meaning, independent of page and tenant."""
    return content_key("", "", step, occurrence=occurrence)


def cached_steps(task: Task) -> Iterator[tuple[Step, int]]:
    """Yield the steps that the action cache may know, in order, with their occurrences; inner steps follow their own.

    What a site is asked is no step of the plan, and has the occurrence 1.
    """
    for _, step, occurrence in numbered(task.steps, task.url):
        yield step, occurrence
        if step.reconcile is not None:
            yield from ((asking, 1) for asking in step.reconcile.steps)


def recorded(task: Task, entries: Iterable[ActionCacheEntry], tenant: str, owner: str) -> tuple[RecordedElement, ...]:
    """Return the elements that the active entries of this owner have for the task's steps, in step order."""
    return written(recordings_of(task, entries, tenant, owner))


def written(found: Mapping[str, Sequence[ActionCacheEntry]]) -> tuple[RecordedElement, ...]:
    """Return the elements of recordings by the steps' meaning, as they stand in a file."""
    return tuple(
        _written(entry, means) for means in found for entry in sorted(found[means], key=lambda entry: entry.site)
    )


def recordings_of(
    task: Task, entries: Iterable[ActionCacheEntry], tenant: str, owner: str
) -> dict[str, list[ActionCacheEntry]]:
    """Return the active entries of this owner for the task's steps by the steps' meaning, in step order."""
    found: dict[str, list[ActionCacheEntry]] = {}
    steps = {meaning(*each): each for each in reversed(list(cached_steps(task)))}
    for entry in entries:
        if entry.status is not EntryStatus.ACTIVE:
            continue
        for means, (step, occurrence) in steps.items():
            if content_key(tenant, entry.site, step, owner, occurrence=occurrence) == entry.content_key:
                found.setdefault(means, []).append(entry)
    return {means: found[means] for means in reversed(steps) if means in found}


def named(task: Task, entries: Iterable[ActionCacheEntry], tenant: str, unnamed: str) -> Iterator[ActionCacheEntry]:
    """Yield the recordings of the task's steps that were made under the owner `unnamed`, as those of the task."""
    for entry in entries:
        for step, occurrence in cached_steps(task):
            if content_key(tenant, entry.site, step, unnamed, occurrence=occurrence) == entry.content_key:
                key = content_key(tenant, entry.site, step, task.task, occurrence=occurrence)
                yield entry.model_copy(update={"content_key": key, "owner": task.task})
                break


def strangers(task: Task, elements: Iterable[RecordedElement]) -> Iterator[int]:
    """Yield the indexes of the elements that belong to no step of the task."""
    known = {meaning(*each) for each in cached_steps(task)}
    yield from (index for index, element in enumerate(elements) if element.means not in known)


def entries_of(
    task: Task, elements: Sequence[RecordedElement], tenant: str, begins_at: str, owner: str
) -> tuple[ActionCacheEntry, ...]:
    """Return the elements as entries of a tenant's action cache.

    Args:
        task: the task of the elements.
        elements: elements as `recorded` returns them; those of no step are left out.
        tenant: tenant of the entries.
        begins_at: current start address. On another site than the recorded one, recordings move to this site: the same
            application under another address.
        owner: task or skill that they are for.
    """
    steps = {meaning(*each): (index, *each) for index, each in reversed(list(enumerate(cached_steps(task))))}
    then, now = _moved(elements, begins_at)
    entries = []
    for element in elements:
        if element.means not in steps:
            continue
        index, step, occurrence = steps[element.means]
        path = element.site.removeprefix(then) if then else None
        site = element.site if path is None or path[:1] not in ("", "/") else now + path
        target = element.element or Target()
        entry = ActionCacheEntry(
            **target.model_dump(),
            content_key=content_key(tenant, site, step, owner, occurrence=occurrence),
            owner=owner,
            step_index=index,
            site=site,
            instruction=step.instruction,
            action_type=action_of(step),
            method=step.action,
            arguments=arguments_of(step),
            expectation=tuple(each.model_dump(mode="json", exclude_none=True) for each in step.expect),
            origin=ORIGIN,
            **{name: getattr(element, name) for name in _SHARED},
        )
        entries.append(entry)
    return tuple(entries)


def _moved(elements: Sequence[RecordedElement], begins_at: str) -> tuple[str, str]:
    """Return the recorded and the current site; both empty if they are the same."""
    sites = [origin_of(element.site.partition("{")[0]) for element in elements]
    now = origin_of(begins_at)
    if not now or not sites or now in sites:
        return "", ""
    return without_usual_port(sites[0]), without_usual_port(now)


def _written(entry: ActionCacheEntry, means: str) -> RecordedElement:
    shared = {name: getattr(entry, name) for name in ("instruction", "site", *_SHARED)}
    return RecordedElement(action=entry.action_type, means=means, element=entry.target, **shared)
