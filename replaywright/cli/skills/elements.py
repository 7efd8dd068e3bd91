"""Skills and elements of files: export of learned elements, and import into the action cache."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cache.steps import RedisStepStore
from replaywright.cli.people.updates import user_name
from replaywright.cli.skills.skill_store import KnowledgeBase, require_no_secrets
from replaywright.cli.tasks import taskfile
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.recorded import RecordedElement, cached_steps, entries_of, meaning, recorded
from replaywright.domain.skill.skill_files import elements_in, skills_in, written
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.task.steps import names_element
from replaywright.errors import InputInvalid

_FROM_A_FILE = "file"
"""Run id of entries from files; no real id is so short."""


@dataclass(frozen=True)
class FromFile:
    """Skill of a file."""

    skill: Skill
    elements: tuple[RecordedElement, ...]
    source: str
    """Name of the file."""

    def entries(self, tenant: str) -> tuple[ActionCacheEntry, ...]:
        """Make cache entries of the elements, for the skill's site or else the recorded one."""
        return entries_of(self.skill.task, self.elements, tenant, self.skill.site, self.skill.name)


def read_skills(files: Iterable[str]) -> list[FromFile]:
    """Read skills from files of skills and from task files.

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
    """Return the recorded elements of the skills' steps from the action cache, by the skill's name."""
    entries = [info.entry for info in await store.entries(tenant=tenant)]
    return {skill.name: recorded(skill.task, entries, tenant, skill.name) for skill in skills}


def unknown_steps(skill: Skill, elements: Sequence[RecordedElement]) -> list[str]:
    """List the titles of the steps without a described element: on another machine they need a model."""
    known = {element.means for element in elements if element.element is not None}
    return [
        step.title
        for step, occurrence in cached_steps(skill.task)
        if names_element(step) and getattr(step, "target", None) is None and meaning(step, occurrence) not in known
    ]


async def take_over(store: RedisStepStore, tenant: str, entries: Iterable[ActionCacheEntry]) -> int:
    """Activate those entries whose key the cache lacks; return their number."""
    new = [entry for entry in entries if not await store.versions(tenant=tenant, content_key=entry.content_key)]
    for entry in new:
        await store.keep(tenant=tenant, run_id=_FROM_A_FILE, entry=entry.model_copy(update={"run_id": _FROM_A_FILE}))
    await store.promote(tenant=tenant, run_id=_FROM_A_FILE, content_keys=[entry.content_key for entry in new])
    return len(new)


async def add_candidates(base: KnowledgeBase, skills: Sequence[Skill]) -> list[tuple[Skill, int, bool]]:
    """Save each skill as a candidate unless the newest or the active version is equal.

    Returns:
        Each saved or equal skill, the version that is active meanwhile (0: itself), and whether it was saved.
    """
    done = []
    for skill in skills:
        chosen = await base.skills.get(base.tenant, skill.name)
        record = await base.skills.record(base.tenant, skill.name)
        newest = None if record is None else await base.skills.get(base.tenant, skill.name, record.versions[-1])
        same = next((old for old in (newest, chosen) if old is not None and written(old) == written(skill)), None)
        if same is not None:
            done.append((same, 0, False))
            continue
        saved = await base.skills.save(base.tenant, skill, who=user_name(), reason=skill.note)
        before = chosen.version if chosen is not None and chosen.status is SkillStatus.ACTIVE else 0
        done.append((saved, before, True))
    return done


def candidate_message(skill: Skill, before: int, *, new: bool) -> str:
    """Describe the result of an import and the next command; `before` is the version that is active meanwhile."""
    if not new:
        return f"{skill.name}: version {skill.version} says the same: left alone"
    run = f"`replaywright skills run {skill.name}" + (f" --version {skill.version}`" if before else "`")
    also = f"; until then version {before} is run" if before else ""
    return f"{skill.name}: imported as version {skill.version}, a candidate: {run} verifies it{also}"
