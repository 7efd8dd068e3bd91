"""Elements of skills that were learned here, for files; and those of files, for the action cache of another machine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cache.steps import RedisStepStore
from replaywright.cli.skills.skill_store import require_no_secrets
from replaywright.cli.tasks import taskfile
from replaywright.domain.run.runs import step_title
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.recorded import RecordedElement, cached_steps, meaning, recorded
from replaywright.domain.skill.skill_files import elements_in, skills_in
from replaywright.domain.skill.skills import Skill
from replaywright.domain.task.steps import names_element
from replaywright.errors import InputInvalid

_FROM_A_FILE = "file"
"""The run that entries of a file are said to be of: none, and no id of a run is so short."""


@dataclass(frozen=True)
class FromFile:
    """A skill of a file."""

    skill: Skill
    elements: tuple[RecordedElement, ...]
    source: str
    """The file, as it was named."""


def read_skills(files: Iterable[str]) -> list[FromFile]:
    """The skills of files of skills, and of task files.

    Raises:
        InputInvalid: a file cannot be read, a field is wrong, two skills have one name, or one holds a secret's value.
    """
    found: list[FromFile] = []
    for file in files:
        data, source = taskfile.read_data(file)
        elements = elements_in(data, source)
        for skill in skills_in(data, source):
            if any(skill.name == other.skill.name for other in found):
                raise InputInvalid(f"{source}: the skill {skill.name!r} is in these files twice: leave one out")
            found.append(FromFile(skill, elements.get(skill.name, ()), source))
    require_no_secrets([each.skill for each in found], {each.skill.name: each.elements for each in found})
    return found


async def elements_of(
    store: RedisStepStore, tenant: str, skills: Iterable[Skill]
) -> dict[str, Sequence[RecordedElement]]:
    """What the action cache knows of the skills' steps, by the skill's name."""
    entries = [info.entry for info in await store.entries(tenant=tenant)]
    return {skill.name: recorded(skill.task, entries, tenant) for skill in skills}


def unknown_steps(skill: Skill, elements: Sequence[RecordedElement]) -> list[str]:
    """Titles of the steps whose element neither the skill nor the elements describe: elsewhere they need a model."""
    known = {element.means for element in elements if element.element is not None}
    return [
        step_title(step)
        for step in cached_steps(skill.task)
        if names_element(step) and getattr(step, "target", None) is None and meaning(step) not in known
    ]


async def take_over(store: RedisStepStore, tenant: str, entries: Iterable[ActionCacheEntry]) -> int:
    """Make these entries active where the cache has none of their key; returns how many it had not."""
    new = [entry for entry in entries if not await store.versions(tenant=tenant, content_key=entry.content_key)]
    for entry in new:
        await store.keep(tenant=tenant, run_id=_FROM_A_FILE, entry=entry.model_copy(update={"run_id": _FROM_A_FILE}))
    await store.promote(tenant=tenant, run_id=_FROM_A_FILE, content_keys=[entry.content_key for entry in new])
    return len(new)
