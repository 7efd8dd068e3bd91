"""The recordings of the action cache by the steps of a skill."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from replaywright.domain.common.text import normalise
from replaywright.domain.common.urls import origin_of
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo, EntryStatus
from replaywright.domain.step.fingerprints import content_key, numbered
from replaywright.domain.task.steps import Step

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

    def of_all(self, steps: Iterable[Step], begins_at: str) -> Mapping[str, ActionCacheEntry]:
        """Return the latest recordings of these steps and of those of their lists, by the step's place."""
        found = ((place, self._of(step, occurrence)) for place, step, occurrence in numbered(steps, begins_at))
        return {place: entry for place, entry in found if entry is not None}

    def _of(self, step: Step, occurrence: int) -> ActionCacheEntry | None:
        """Return the latest recording of the step; None if there is none.

        A recording has the step's meaning on a page in its key, so it is the step's own if the step has that key there.
        """
        own = [
            info.entry
            for info in self.entries
            if info.entry.action_type == step.action
            and info.entry.status in _USED
            and normalise(info.entry.instruction) == normalise(step.instruction)
            and info.content_key
            == content_key(self.tenant, info.entry.site, step, self.owner, self.device, occurrence=occurrence)
        ]
        return max(own, key=self._rank, default=None)

    def _rank(self, entry: ActionCacheEntry) -> tuple[bool, bool, float, int]:
        here = bool(self.site) and origin_of(entry.site) == self.site
        return entry.status is EntryStatus.ACTIVE, here, entry.last_success, entry.version
