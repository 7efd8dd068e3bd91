"""Checkpoints, from which a lost browser is rebuilt: its address, and what its sites stored."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.predicates import OfPlace, OfStep, Predicate
from replaywright.domain.session.sessions import OnSession, Wear

CHECKPOINTS_KEPT = 5
"""The newest ones that a run knows; older ones are given up."""
NOT_RESTORED = "session storage, what scripts hold in memory, pages that were reached by POST, and further tabs"
"""State that no checkpoint brings back."""


class Checkpoint(Record):
    """One checkpoint as the workflow knows it: an address in the artifact store, and small facts."""

    position: int
    """Index of the step that comes next."""
    page_from: int = 0
    """Index of the first step that was done in the document shown then: from there on, steps are done again."""
    state: str
    """Digest of the `PageState` in the artifact store."""
    held: tuple[int, ...] = ()
    """Indexes of the expectations of the step before that have to hold again."""
    ms: float = 0.0
    """Time that it took to take it."""
    wear: Wear = Wear()
    """Age and size of the browser when it was taken."""
    partial: bool = False
    """The browser has more that does not come back with it: further tabs, or what cannot be read."""


class PageState(Record):
    """A browser at rest, as the artifact store keeps it. It holds live credentials."""

    url: str
    """Address of the current tab, as it is: it may hold what a site put there."""
    storage: dict[str, Any] = Field(default_factory=dict)
    """Cookies, and local storage and IndexedDB by origin, in Playwright's form of a storage state."""
    scroll: tuple[float, float] = (0.0, 0.0)
    """CSS pixels of the top document."""
    tabs: int = 1
    """Number of open tabs; only the current one can be brought back."""
    left_out: tuple[str, ...] = ()
    """Parts that were too large, or could not be read."""
    outline: str = ""
    """Digest of the page's `Outline` in the artifact store, without secrets."""

    def beside(self, earlier: "PageState | None") -> "PageState":
        """The state with what `earlier` knows of other origins: a page tells of its own only."""
        mine = self.storage.get("origins", [])
        others = [] if earlier is None else earlier.storage.get("origins", [])
        kept = [origin for origin in others if origin["origin"] not in {own["origin"] for own in mine}]
        kept += [own for own in mine if own.get("localStorage") or own.get("indexedDB")]
        return self.model_copy(update={"storage": {**self.storage, "origins": kept}})


class TakeCheckpoint(OnSession):
    """Input of `session.checkpoint`."""

    position: int
    earlier: str = ""
    """Digest of the checkpoint before: what it knows of origins that are not shown now is taken over."""


class RestoreCheckpoint(OnSession):
    """Input of `session.restore`: put back what was stored, and open the page."""

    state: str
    """Digest of the `PageState` whose storage is put back."""
    page: str = ""
    """Digest of the `PageState` whose page is opened, if that is another one."""


class CheckCheckpoint(OnSession):
    """Input of `session.check`: whether the restored page, with its steps done again, is what it was."""

    state: str
    expect: tuple[Predicate, ...] = ()
    """Predicates with the parameters' values filled in."""


class Restored(Record):
    """Result of restoring or checking a checkpoint."""

    held: bool
    why: str = ""
    """Reason if it does not hold."""


def worn(checkpoint: Checkpoint, *, after_s: float, above_mb: int) -> str:
    """Return why to exchange a browser, if this checkpoint brings all of it back; else "". A limit of 0: never."""
    if checkpoint.partial:
        return ""
    old = after_s and checkpoint.wear.age_s >= after_s
    large = above_mb and checkpoint.wear.memory_mb >= above_mb
    told = [
        *([f"it is {checkpoint.wear.age_s / 60:.0f} min old"] if old else []),
        *([f"it has {checkpoint.wear.memory_mb} MiB of memory"] if large else []),
    ]
    return " and ".join(told)


def standing(expect: Sequence[Predicate], results: Sequence[PredicateResult], *, committed: bool) -> tuple[int, ...]:
    """Indexes of the expectations that held and can be asked of the page again.

    What a commit step makes a page say ("Saved") is often said once: of such a step, only the place counts.
    """
    return tuple(
        index
        for index, (predicate, result) in enumerate(zip(expect, results, strict=False))
        if result.passed and not isinstance(predicate, OfStep) and (isinstance(predicate, OfPlace) or not committed)
    )


def same_page(left: str, right: str) -> bool:
    """Tell if two URLs lead to the same page: by origin and path."""
    a, b = urlsplit(left), urlsplit(right)
    return (a.scheme, a.netloc, a.path) == (b.scheme, b.netloc, b.path)
