"""What an activity needs of the ledger, the action cache and the trace."""

import secrets
from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.session.sessions import OfRun
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.trace.trace import step_line


class Known(Record):
    """Knowledge of the store before a step."""

    state: str = ""
    """Ledger state: empty, INTENT, DISPATCHED, COMMITTED, RESOLVING, NOT_DONE, ESCALATED, ABANDONED.

    DAMAGED when the record cannot be read: it counts as tampered with, and nothing is dispatched on it.
    """
    epoch: int = 0
    outcome: StepOutcome | None = None
    """The recorded outcome; only with COMMITTED. None even then when a person settled it and nothing was recorded."""
    held: tuple[int, ...] | None = None
    """With an intent: which of the step's expectations, by index, held before it; None where that is not known."""
    late: StepOutcome | None = None
    """A success that a fenced attempt reported afterwards, not yet ruled on: evidence for the resolution."""
    entry: ActionCacheEntry | None = None
    """The version to use: the active one, else this run's own candidate."""
    refused: str = ""
    """Message on a version that is not used because its signature does not match; empty when there is none."""
    witness: str = ""
    """Witness of a recording that was to be `witnessed`; empty where the server does not say who it is."""


class Recording(OfRun):
    """Everything that is written after a step, in one round trip."""

    sequence: int
    epoch: int
    outcome: StepOutcome
    """Status `done` goes to the ledger; others only to the trace and the statistics."""
    entry: ActionCacheEntry | None = None
    """A new version to store as candidate."""
    used_version: int = 0
    """The version that was looked up; its statistics are counted."""
    title: str = ""
    """The step as it reads in the UI; templates, no values."""
    given: dict[str, Any] = Field(default_factory=dict)
    """The step as its trace line holds it; see `replaywright.domain.trace.trace.input_of`."""
    trace: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the trace line."""
    owner: str = ""
    """Owner of the candidate entry: the lineage, so that a resumed run finds it. Empty: the run.
    """
    act: str = ""
    """Key of the step's action, in any place; kept with a success that must not be repeated."""
    next_fingerprint: str = ""
    next_content_key: str = ""
    """Look this up in the same round trip; empty for not."""
    witnessed: bool = False
    """Answer with what shows later whether the store has lost anything since; see `StepStore.is_whole`."""
    line_id: str = Field(default_factory=lambda: secrets.token_hex(8))
    """Id of the line in the trace: what is written again is there once."""

    @property
    def line(self) -> dict[str, Any]:
        """Content of the trace line."""
        return step_line(
            self.outcome,
            sequence=self.sequence,
            title=self.title,
            run_id=self.run_id,
            epoch=self.epoch,
            given=self.given,
            more=self.trace,
        )

    @property
    def candidates_of(self) -> str:
        """Run whose candidates are written and looked up."""
        return self.owner or self.run_id


class Intent(Record):
    """The intent of one attempt to dispatch a commit step."""

    tenant: str
    lineage: str
    fingerprint: str
    epoch: int
    attempt: str
    """Id of the attempt: its repetition is granted again."""
    held: tuple[int, ...] | None = None
    """Indexes of the expectations that held before; None when that is not known."""
    act: str = ""
    """The step's action in the lineage (see `replaywright.domain.step.fingerprints.acts_of`), which the step claims."""
    over: str = ""
    """Fingerprint of the step from which the action may be taken over."""


class StepStore(Protocol):
    """Ledger, action cache and trace of one tenant's runs.

    Every method that a run calls is one round trip; `entries`, and the other two when they are given only the
    beginning of a key, look the keys up first.

    Raises `StoreUnavailable` when the store cannot be reached, refuses writes, or does not answer in time.
    """

    async def look_up(self, *, tenant: str, lineage: str, run_id: str, fingerprint: str, content_key: str) -> Known:
        """Ledger record and cache entry; damaged or foreign data counts as absent and is reported once."""

    async def intend(self, intent: Intent) -> Known:
        """Write the intent to dispatch a commit step.

        Returns state INTENT when granted, COMMITTED with the outcome when the step is done already. A repetition with
        the same `attempt` (a lost reply) is granted again.

        Raises:
            Fenced: this or a higher epoch is recorded, another attempt's intent is open, the step is in
                resolution or abandoned, the record is damaged, or a fenced attempt reported success since.
            DoneElsewhere: another step of the lineage has the act; nothing was written.
        """

    async def keep(self, *, tenant: str, run_id: str, entry: ActionCacheEntry) -> None:
        """Add a version to an entry, a candidate of this run; see `promote`."""

    async def is_whole(self, *, tenant: str, lineage: str, witness: str) -> bool:
        """Tell if nothing that was acknowledged since the `witness` was given can have been lost.

        Only if the same process keeps the data, never having taken them over from another, and what it had then is
        there. An empty witness says nothing.
        """

    async def acts(self, *, tenant: str, lineage: str) -> dict[str, str]:
        """Return the fingerprint of the owner step of each act of the lineage."""

    async def dispatch(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int, attempt: str) -> None:
        """INTENT to DISPATCHED: the permit to let the input's bytes go. Repeating it is granted again.

        Raises:
            Fenced: the intent is not this attempt's any more, or too old.
        """

    async def record(self, recording: Recording) -> Known:
        """Write outcome (fenced by epoch), entry, statistics and trace; returns what is known of the next step.

        Raises:
            Fenced: another epoch owns the step; the outcome is kept as late evidence.
            ValueTooLarge: outcome or entry is over its limit; nothing was written.
        """

    async def fence(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int) -> Known:
        """Raise the epoch and set RESOLVING, unless COMMITTED or DAMAGED; returns the record as it was before.

        Where a resolution was under way or has come to nothing, that is the record as the first of them found it: what
        is in doubt is still that attempt. Repeating it with the same epoch (one that is retried) is granted again.

        Raises:
            Fenced: a higher epoch is recorded, or this one belongs to the attempt that is to be fenced.
        """

    async def settle(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int, state: str, who: str) -> None:
        """End a resolution.

        RESOLVING goes to COMMITTED, NOT_DONE or ESCALATED; ESCALATED to COMMITTED, NOT_DONE or ABANDONED. `who` is
        audited. Repeating it is granted again.

        Raises:
            Fenced: another epoch owns the step, or its state does not lead there.
        """

    async def append_trace(self, *, tenant: str, lineage: str, line: dict[str, Any]) -> None:
        """Add one line to the trace of a lineage."""

    async def append_lines(
        self, *, tenant: str, lineage: str, lines: Sequence[dict[str, Any]], witnessed: bool = False
    ) -> str:
        """Add several lines, in their order; return a witness of the last one if it is to be `witnessed`."""

    async def trace(self, *, tenant: str, lineage: str) -> list[dict[str, Any]]:
        """All lines of a lineage, oldest first."""

    async def promote(self, *, tenant: str, run_id: str, content_keys: Sequence[str]) -> tuple[int, int]:
        """Make this run's candidates active; returns how many were promoted and how many are held for a person."""

    async def candidates(
        self, *, tenant: str, run_id: str, content_keys: Sequence[str], taker: str = ""
    ) -> list[ActionCacheEntry]:
        """Return the candidates of other runs than `run_id` that are newer than the active version and not held back.

        In the order of the keys, of each the newest first. A `taker`, an attempt to use one, takes all of them: no
        other is given these any more, whatever becomes of it.
        """

    async def entries(self, *, tenant: str) -> list[EntryInfo]:
        """The current version of every entry."""

    async def versions(self, *, tenant: str, content_key: str) -> list[ActionCacheEntry]:
        """All versions of one entry, oldest first; a unique prefix of the key is enough."""

    async def invalidate(self, *, tenant: str, content_key: str, reason: str) -> int:
        """Retire all versions of the entries whose key starts with `content_key`; returns how many entries."""
