"""Skills of the knowledge base by name, and their form as YAML."""

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from cache.skills import RedisSkills
from replaywright.domain.skill.recorded import RecordedElement
from replaywright.domain.skill.skill_files import written, written_file
from replaywright.domain.skill.skills import Skill, SkillRecord
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings
from replaywright.vault.environment import EnvironmentSecrets

_NEAR = 0.5
"""Least similarity of a name that is offered, 0 to 1."""
_WIDTH = 110


@dataclass(frozen=True)
class KnowledgeBase:
    """Skills of one tenant."""

    skills: RedisSkills
    tenant: str

    async def skill(self, name: str, version: int | None = None) -> Skill:
        """Return the current version of a skill, or the given one.

        Raises:
            InputInvalid: there is none; says which names are near, or which versions there are.
        """
        found = await self.skills.get(self.tenant, name, version)
        if found is not None:
            return found
        record = await self.record(name)
        known = ", ".join(map(str, record.versions))
        raise InputInvalid(f"--version {version}: skill {name!r} has no such version that can be read; it has: {known}")

    async def record(self, name: str) -> SkillRecord:
        """Return the record of a skill.

        Raises:
            InputInvalid: there is none of this name; says which are near.
        """
        found = await self.skills.record(self.tenant, name)
        if found is None:
            raise no_such_skill(name, [skill.name for skill in await self.skills.all(self.tenant)])
        return found

    async def shown(self, name: str, version: int | None) -> SkillRecord:
        """Return the record of a skill; with `version`, the steps and statistics of this version.

        Raises:
            InputInvalid: there is none of this name, or no such version.
        """
        record = await self.record(name)
        if version is None:
            return record
        skill = await self.skill(name, version)
        statistics = await self.skills.statistics(self.tenant, [skill])
        return record.model_copy(update={"skill": skill, "statistics": statistics[name]})


def no_such_skill(name: str, names: Sequence[str]) -> InputInvalid:
    """Make the error for an unknown skill, with similar names."""
    return InputInvalid(f"there is no skill {name!r}; {near(name, names)} (`replaywright skills list` lists them)")


def near(name: str, names: Sequence[str]) -> str:
    """Describe the names that are similar to `name`."""
    alike = difflib.get_close_matches(name.lower(), names, n=3, cutoff=_NEAR)
    holding = [other for other in names if name and (name.lower() in other or other in name.lower())]
    found = list(dict.fromkeys((*alike, *holding)))[:5]
    return f"near: {', '.join(found)}" if found else "none has a name like it" if names else "there are none yet"


def as_yaml(skill: Skill) -> str:
    """Return a skill as YAML, for reading and editing."""
    return yaml_of(written(skill))


def yaml_of(data: Any) -> str:
    """Plain data as YAML, in the order that it has."""
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=_WIDTH)


def require_no_secrets(
    skills: Sequence[Skill], elements: Mapping[str, Sequence[RecordedElement]] | None = None
) -> None:
    """Check that no skill or element holds the value of a secret that is set here.

    Raises:
        InputInvalid: names skill and secret.
    """
    secrets = EnvironmentSecrets(os.environ, load_settings().home)
    for skill in skills:
        data = written_file([skill], elements)
        require_unredacted(f"skill {skill.name!r} holds", yaml_of(data), yaml_of(secrets.redact_data(data)))


def require_unredacted(holds: str, text: str, redacted: str) -> None:
    """Check that redaction has changed nothing.

    Raises:
        InputInvalid: `holds` says what has the value of a secret; names the line.
    """
    if text != redacted:
        pairs = zip(text.splitlines(), redacted.splitlines(), strict=False)
        line = next((new for old, new in pairs if old != new), "")
        raise InputInvalid(
            f"{holds} the value of a secret: {line.strip()!r}; write its name there, as {{{{secret:NAME}}}}, or take "
            "it for a parameter"
        )
