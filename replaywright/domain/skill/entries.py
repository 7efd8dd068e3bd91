"""The action cache's records: how to do a step; never what came out of it."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.proof.witness import Sending
from replaywright.domain.step.press_grants import Grant
from replaywright.domain.task.actions import Action, Cause, Effect

SCHEMA = 1


class EntryStatus(StrEnum):
    """Life of an entry's version."""

    CANDIDATE = "candidate"
    """Written by a run that has not been verified yet."""
    ACTIVE = "active"
    SUSPECT = "suspect"
    RETIRED = "retired"


class ActionCacheEntry(Target):
    """One version of how a step is done on a page.

    The element's description is part of it, field by field; empty for steps that act on the page as a whole. Its
    strings are templates where a parameter's value occurred in them.
    """

    schema_version: int = SCHEMA
    content_key: str
    version: int = 1
    status: EntryStatus = EntryStatus.CANDIDATE
    step_index: int = 0
    site: str = ""
    instruction: str = ""
    action_type: Action
    element_id: str = ""
    """`frame index-node id` when recorded; informative only."""
    method: str = ""
    """The same as `action_type`, in the vocabulary of other tools that read such entries."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Templates, never values."""
    frame_index: int = 0
    """Number of the frame in document order when recorded; informative only, `frame` is what counts."""
    effect: Effect | None = None
    """As observed; None while it was never observed."""
    causes: tuple[Cause, ...] = ()
    expectation: tuple[dict[str, Any], ...] = ()
    derived: tuple[Predicate, ...] = ()
    """What else may be expected, by what the step led to while it was learned; templates."""
    note: str = ""
    """Why this version differs from the one before, such as which derived expectation it gave up."""
    success: bool = True
    message: str = ""
    hits: int = 0
    misses: int = 0
    heals: int = 0
    recent: str = ""
    """The last 20 performances of the step, whichever version served, oldest first: 1 for done, 0 for not."""
    last_success: float = 0.0
    """Unix time in seconds, of the store's clock."""
    run_id: str = ""
    """The run that wrote this version."""
    origin: str = ""
    """model, heal, declared; review for one that only gives up a derived expectation."""
    bound: dict[str, str] = Field(default_factory=dict)
    """Parameters that say which element is meant, and of which this recording shows nothing: the digest of the value
    that it was recorded with. With another value another element is meant, and this is no recording of it."""
    probe: SiteProbe | None = None
    """Where the site shows that the step took effect: proposed by a model while it was learned, and tried."""
    good_snapshot: str = ""
    """Digest, in the artifact store, of the snapshot after this step in a good run; empty when there is none."""
    sends: tuple[Sending, ...] = ()
    """What the step sent, how long after its input, and what sent it: a replay waits for the same."""
    granted: tuple[Grant, ...] = ()
    """What the step sent when it was verified, and who let it: another element may send the same, and nothing else."""
    hold: bool = False
    """A heal that waits for a person (heal mode `propose`): not promoted when the run is verified."""
    signature: str = ""

    @property
    def target(self) -> Target | None:
        """The element's description; None for a step that acts on the page as a whole."""
        return Target.model_validate(self.model_dump(include=set(Target.model_fields))) if self.tag else None


class EntryInfo(Record):
    """One line of `replaywright admin cache list`."""

    content_key: str
    entry: ActionCacheEntry
    versions: int
