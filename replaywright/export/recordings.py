"""The recordings of the action cache by the steps of a skill."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replaywright.domain.common.text import normalise
from replaywright.domain.common.urls import origin_of
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo, EntryStatus
from replaywright.domain.step.fingerprints import content_key
from replaywright.domain.task.steps import ForEach, Step

_USED = (EntryStatus.ACTIVE, EntryStatus.CANDIDATE)


@dataclass(frozen=True)
class Recordings:
    """The recordings of a tenant, by step."""

    tenant: str
    entries: Sequence[EntryInfo] = ()
    owner: str = ""
    """Task or skill whose steps they are of."""
    site: str = ""
    """The skill's origin: recordings made there are taken first."""
    device: str = "desktop"

    def of(self, step: Step) -> ActionCacheEntry | None:
        """Return the latest recording of the step; None if there is none.

        A recording has the step's meaning on a page in its key, so it is the step's own if the step has that key there.
        """
        own = [
            info.entry
            for info in self.entries
            if info.entry.action_type == step.action
            and info.entry.status in _USED
            and normalise(info.entry.instruction) == normalise(step.instruction)
            and content_key(self.tenant, info.entry.site, step, self.owner, self.device) == info.content_key
        ]
        return max(own, key=self._rank, default=None)

    def of_all(self, steps: Iterable[Step]) -> list[ActionCacheEntry]:
        """Return the recordings of these steps and of those of their lists."""
        found = []
        for step in steps:
            inner = step.steps if isinstance(step, ForEach) else ()
            found += [entry for one in (step, *inner) if (entry := self.of(one)) is not None]
        return found

    def _rank(self, entry: ActionCacheEntry) -> tuple[bool, bool, float, int]:
        here = bool(self.site) and origin_of(entry.site) == self.site
        return entry.status is EntryStatus.ACTIVE, here, entry.last_success, entry.version
