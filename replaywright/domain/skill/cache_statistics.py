"""Statistics of the action cache, in total and by site."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replaywright.domain.common.urls import site_of
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo, EntryStatus


@dataclass(frozen=True)
class EntryCounts:
    """Sums over entries."""

    entries: int = 0
    versions: int = 0
    hits: int = 0
    misses: int = 0
    heals: int = 0
    suspects: int = 0
    held: int = 0
    """Entries with a heal that waits for a person."""

    @property
    def hit_rate(self) -> float | None:
        """Share of look-ups that found the element without a model, 0 to 1; None before the first."""
        asked = self.hits + self.heals + self.misses
        return (self.hits + self.heals) / asked if asked else None


@dataclass(frozen=True)
class SiteCounts:
    """Sums of one site."""

    site: str
    """Origin; empty for entries without one."""
    counts: EntryCounts


@dataclass(frozen=True)
class CacheStatistics:
    """Sums of all entries, and the entries that need attention."""

    total: EntryCounts
    sites: Sequence[SiteCounts]
    """Sorted by site."""
    attention: Sequence[EntryInfo]
    """Entries that are suspect, or have a heal that waits for a person."""


def is_held(entry: ActionCacheEntry) -> bool:
    """Return True if this version is a heal that waits for a person."""
    return entry.hold and entry.status is EntryStatus.CANDIDATE


def counts_of(entries: Iterable[EntryInfo], held: int = 0) -> EntryCounts:
    """Return the sums over these entries."""
    known = list(entries)
    return EntryCounts(
        entries=len(known),
        versions=sum(info.versions for info in known),
        hits=sum(info.entry.hits for info in known),
        misses=sum(info.entry.misses for info in known),
        heals=sum(info.entry.heals for info in known),
        suspects=sum(info.entry.status is EntryStatus.SUSPECT for info in known),
        held=held,
    )


def _site_of(info: EntryInfo) -> str:
    """Return the origin of the entry's pages, or its site as written if that is no address."""
    return site_of(info.entry.site) or info.entry.site


def cache_statistics(entries: Sequence[EntryInfo], held: Sequence[EntryInfo]) -> CacheStatistics:
    """Return the statistics of these entries; `held` have a heal that waits for a person."""
    by_site: dict[str, list[EntryInfo]] = {}
    for info in entries:
        by_site.setdefault(_site_of(info), []).append(info)
    waiting = Counter(_site_of(info) for info in held)
    suspects = [info for info in entries if info.entry.status is EntryStatus.SUSPECT]
    return CacheStatistics(
        total=counts_of(entries, len(held)),
        sites=[SiteCounts(site, counts_of(of_site, waiting[site])) for site, of_site in sorted(by_site.items())],
        attention=sorted((*suspects, *held), key=lambda info: (info.entry.site, info.entry.step_index)),
    )
