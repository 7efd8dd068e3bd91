"""In-process cache of the knowledge base, so that unchanged skills are not read again."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TypeVar

from replaywright.domain.skill.skills import Skill

KEPT_IN_MEMORY = 10_000
"""Maximum cached skills over all tenants, about 10 KB each. A longer list is never cached."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass
class SkillMemory:
    """Cached skills and lists with their stamps."""

    skills: OrderedDict[tuple[str, str], tuple[str, Skill | None]] = field(default_factory=OrderedDict)
    """By tenant and name, least recently used first."""
    lists: OrderedDict[tuple[str, str | None], tuple[str, tuple[Skill, ...]]] = field(default_factory=OrderedDict)
    """By tenant and site; together at most `KEPT_IN_MEMORY` skills."""

    def keep(self, tenant: str, name: str, stamp: str, skill: Skill | None) -> None:
        """Remember one skill."""
        _put_last(self.skills, (tenant, name), (stamp, skill))
        while len(self.skills) > KEPT_IN_MEMORY:
            self.skills.popitem(last=False)

    def keep_list(self, tenant: str, site: str | None, stamp: str, skills: tuple[Skill, ...]) -> None:
        """Remember the answer for a site."""
        self.lists.pop((tenant, site), None)
        if len(skills) > KEPT_IN_MEMORY:
            return
        _put_last(self.lists, (tenant, site), (stamp, skills))
        while sum(1 + len(kept) for _, kept in self.lists.values()) > KEPT_IN_MEMORY + 1:
            self.lists.popitem(last=False)


def _put_last(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
