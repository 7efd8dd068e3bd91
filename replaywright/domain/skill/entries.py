"""Records of the action cache: how to perform a step, never its results."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.proof.witness import Sending
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.step.press_grants import Grant
from replaywright.domain.task.actions import Action, Cause, Effect

SCHEMA = 1


class EntryStatus(StrEnum):
    """Life cycle of an entry's version."""

    CANDIDATE = "candidate"
    """Written by a run that is not verified yet."""
    ACTIVE = "active"
    SUSPECT = "suspect"
    RETIRED = "retired"


class ActionCacheEntry(Target):
    """A version of how a step is performed on a page.

    It includes the fields of the element's description, empty for steps on the page as a whole. Values of parameters in
    its strings are templates.
    """

    schema_version: int = SCHEMA
    content_key: str
    owner: str = ""
    """Task whose step it is; empty for an element alone, which all tasks on its origin share."""
    version: int = 1
    status: EntryStatus = EntryStatus.CANDIDATE
    step_index: int = 0
    site: str = ""
    instruction: str = ""
    action_type: Action
    element_id: str = ""
    """`frame index-node id` when recorded; informative only."""
    method: str = ""
    """Equal to `action_type`, in the vocabulary of other tools that read such entries."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Templates, never values."""
    frame_index: int = 0
    """Number of the frame in document order when recorded; informative only: `frame` identifies it."""
    effect: Effect | None = None
    """Observed effect; None without observation."""
    causes: tuple[Cause, ...] = ()
    expectation: tuple[dict[str, Any], ...] = ()
    derived: tuple[Predicate, ...] = ()
    """Further expectations, derived while the step was learned; templates."""
    note: str = ""
    """Difference from the version before, such as a dropped expectation."""
    success: bool = True
    message: str = ""
    hits: int = 0
    misses: int = 0
    heals: int = 0
    recent: str = ""
    """The last 20 performances of the step with any version, oldest first: 1 for done, 0 for not."""
    last_success: float = 0.0
    """Unix time in seconds, of the store's clock."""
    run_id: str = ""
    """Run that wrote this version."""
    origin: str = ""
    """model, candidate (found by a run that was not verified), heal, declared; review for a version of
    the same element that drops a derived expectation, or learns after a heal what the step leads to now."""
    bound: dict[str, str] = Field(default_factory=dict)
    """Parameters that identify the element although its recording does not show them, with digests of their recorded
    values. Another value means another element, which is not this recording."""
    probe: SiteProbe | None = None
    """Page that shows the effect of the step: proposed by a model while it was learned, and tried."""
    good_snapshot: str = ""
    """Digest, in the artifact store, of the snapshot after this step in a good run; empty without one."""
    sends: tuple[Sending, ...] = ()
    """Requests of the step with their delays and senders; a replay waits for the same."""
    keeps_entries: bool = False
    """True if the page showed before the press all that had been entered: a replay does not press where it does not."""
    held_before: bool = False
    """True if all that is expected of the step held before it was performed, too: that it does tells nothing of it."""
    granted: tuple[Grant, ...] = ()
    """Requests of the verified step with their approvals; another element may send the same and nothing else."""
    is_proven: bool = False
    """True if a model named the element and the step's own result showed that it is the right one: while this is a
    candidate, another run may try it before it asks a model."""
    hold: bool = False
    """True for a heal that waits for a person (heal mode `propose`): verification does not promote it."""
    signature: str = ""

    @property
    def is_of_site(self) -> bool:
        """True if it says what the element is, and nothing of what a step leads to."""
        return not self.owner

    def as_element(self, key: str) -> "ActionCacheEntry":
        """Return the recording of its element alone, under the element's key: nothing of what the step led to."""
        kept = {*Target.model_fields, "site", "instruction", "action_type", "method", "arguments", "granted"}
        kept |= {"run_id", "origin", "bound", "is_proven"}
        return ActionCacheEntry(content_key=key, **{name: getattr(self, name) for name in kept})

    def is_for(self, values: Mapping[str, str]) -> bool:
        """Return True if these values of the parameters name the recorded element."""
        return not self.other_values(values)

    def other_values(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """Return the parameters that name the element and have other values than when it was recorded."""
        return tuple(name for name, value in self.bound.items() if digest(values.get(name, "")) != value)

    @property
    def target(self) -> Target | None:
        """The element's description; None for a step on the page as a whole."""
        return Target.model_validate(self.model_dump(include=set(Target.model_fields))) if self.tag else None


def counted_as(outcome: StepOutcome) -> str:
    """Return the statistic of the used version that the outcome adds to; empty for none."""
    if outcome.lookup.is_proposed or outcome.of_values:
        return ""
    if outcome.status is Status.MISSED:
        return "misses"
    if outcome.lookup.healed:
        return "heals"
    return "hits" if outcome.lookup.hit or outcome.status is Status.DONE else ""


class EntryInfo(Record):
    """A line of `replaywright admin cache list`."""

    content_key: str
    entry: ActionCacheEntry
    versions: int
