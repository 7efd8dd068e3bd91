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
from replaywright.vault.environment import EnvironmentSecrets

_NEAR = 0.5
"""How alike a name has to be to be offered, 0 to 1."""
_WIDTH = 110


@dataclass(frozen=True)
class KnowledgeBase:
    """One tenant's skills."""

    skills: RedisSkills
    tenant: str

    async def skill(self, name: str, version: int | None = None) -> Skill:
        """The version that would be run, or this one.

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
        """All that is known of a skill.

        Raises:
            InputInvalid: there is none of this name; says which are near.
        """
        found = await self.skills.record(self.tenant, name)
        if found is None:
            raise no_such_skill(name, [skill.name for skill in await self.skills.all(self.tenant)])
        return found

    async def shown(self, name: str, version: int | None) -> SkillRecord:
        """All that is known of a skill; with `version`, the steps and how they went are those of this one.

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
    """Say that there is no such skill, and which names are near."""
    alike = difflib.get_close_matches(name.lower(), names, n=3, cutoff=_NEAR)
    holding = [other for other in names if name and (name.lower() in other or other in name.lower())]
    near = list(dict.fromkeys((*alike, *holding)))[:5]
    hint = f"near: {', '.join(near)}" if near else "none has a name like it" if names else "there are none yet"
    return InputInvalid(f"there is no skill {name!r}; {hint} (`replaywright skills list` lists them)")


def as_yaml(skill: Skill) -> str:
    """A skill as people read and edit it."""
    return yaml_of(written(skill))


def yaml_of(data: Any) -> str:
    """Plain data as YAML, in the order that it has."""
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=_WIDTH)


def require_no_secrets(
    skills: Sequence[Skill], elements: Mapping[str, Sequence[RecordedElement]] | None = None
) -> None:
    """See that no value of a secret that is set here stands in a skill or its elements, where its name belongs.

    Raises:
        InputInvalid: names skill and secret.
    """
    secrets = EnvironmentSecrets(os.environ)
    for skill in skills:
        data = written_file([skill], elements)
        text, without = yaml_of(data), yaml_of(secrets.redact_data(data))
        if text != without:
            pairs = zip(text.splitlines(), without.splitlines(), strict=False)
            line = next((new for old, new in pairs if old != new), "")
            raise InputInvalid(
                f"skill {skill.name!r} holds the value of a secret: {line.strip()!r}; write its name there, as "
                "{{secret:NAME}}, or take it for a parameter"
            )
