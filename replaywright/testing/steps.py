"""The ledger, the action cache and the trace, in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo, EntryStatus, counted_as
from replaywright.domain.skill.weak_steps import PERFORMANCES_KEPT
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.trace import VERSION, chained, flat, origin
from replaywright.errors import (
    DoneElsewhere,
    Fenced,
    InputInvalid,
    ReplaywrightError,
    StoreUnavailable,
)
from replaywright.ports.ledger import Intent, Known, Recording
from replaywright.testing.faults import raise_next


@dataclass
class _Step:
    """One record of the ledger."""

    state: str = ""
    epoch: int = 0
    attempt: str = ""
    held: tuple[int, ...] | None = None
    outcome: StepOutcome | None = None
    late: StepOutcome | None = None
    late_was_seen: bool = False
    before: tuple[str, int] = ("", 0)

    def known(self) -> Known:
        outcome = self.outcome if self.state == "COMMITTED" else None
        return Known(state=self.state, epoch=self.epoch, outcome=outcome, late=self.late, held=self.held)


_LEADS_TO = {"RESOLVING": {"COMMITTED", "NOT_DONE", "ESCALATED"}, "ESCALATED": {"COMMITTED", "NOT_DONE", "ABANDONED"}}


class FakeStepStore:
    """A `StepStore` in memory: ledger with epochs, action cache with two-phase commit, trace."""

    def __init__(self) -> None:
        self.is_away = False
        """While set, every method raises `StoreUnavailable`."""
        self.fails: dict[str, list[ReplaywrightError | None]] = {}
        """Errors by method for the next calls: raised with nothing done; None for none."""
        self.calls: list[str] = []
        """Names of the methods called, one for each round trip."""
        self.audit: list[tuple[str, str, str]] = []
        """Fingerprint, state and name of every settled resolution."""
        self._ledger: dict[tuple[str, str, str], _Step] = {}
        self._acts: dict[tuple[str, str, str], str] = {}
        self._entries: dict[tuple[str, str], list[ActionCacheEntry]] = {}
        self._recent: dict[tuple[str, str], tuple[str, tuple[str, int]]] = {}
        """The latest results of each entry's step, and the performance of the last one."""
        self._taken: dict[tuple[str, str, int], str] = {}
        """Attempts that have taken a candidate, by tenant, key and version."""
        self._traces: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._written: set[str] = set()
        """Ids of the steps' lines in the traces."""
        self._moment = 0
        self.process = "a"
        """Changed: the server was restarted, or another has taken over."""

    async def look_up(self, *, tenant: str, lineage: str, run_id: str, fingerprint: str, content_key: str) -> Known:
        """Ledger record and cache entry; empty keys are not looked up."""
        self._called("look_up")
        return self._looked_up(tenant, lineage, run_id, fingerprint, content_key)

    async def intend(self, intent: Intent) -> Known:
        """Write the intent to dispatch; see the port."""
        self._called("intend")
        fingerprint, epoch, attempt = intent.fingerprint, intent.epoch, intent.attempt
        step = self._step(intent.tenant, intent.lineage, fingerprint)
        if step.state == "COMMITTED":
            return step.known()
        if (step.state, step.epoch, step.attempt) == ("INTENT", epoch, attempt):
            return Known(state="INTENT", epoch=epoch)
        if step.state not in {"", "NOT_DONE"} or epoch <= step.epoch or step.late is not None:
            raise Fenced(f"step {fingerprint}: {step.state or 'no record'}, epoch {step.epoch}; mine is {epoch}")
        claim = intent.tenant, intent.lineage, intent.act
        owner = self._acts.get(claim, fingerprint)
        if intent.act and owner not in {fingerprint, intent.over}:
            raise DoneElsewhere(owner)
        if intent.act:
            self._acts[claim] = fingerprint
        step.state, step.epoch, step.attempt, step.held = "INTENT", epoch, attempt, intent.held
        return Known(state="INTENT", epoch=epoch)

    async def acts(self, *, tenant: str, lineage: str) -> dict[str, str]:
        """Return the owner step of each action of the lineage."""
        self._called("acts")
        return {act: mark for (owner, line, act), mark in self._acts.items() if (owner, line) == (tenant, lineage)}

    async def dispatch(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int, attempt: str) -> None:
        """INTENT to DISPATCHED; see the port."""
        self._called("dispatch")
        step = self._step(tenant, lineage, fingerprint)
        if (step.epoch, step.attempt) != (epoch, attempt) or step.state not in {"INTENT", "DISPATCHED"}:
            raise Fenced(f"step {fingerprint}: {step.state or 'no record'}, epoch {step.epoch}; mine is {epoch}")
        step.state = "DISPATCHED"

    async def record(self, recording: Recording) -> Known:
        """Write outcome, entry, statistics and trace; see the port."""
        self._called("record")
        outcome, tenant, lineage = recording.outcome, recording.tenant, recording.lineage
        owned = outcome.status is not Status.DONE or self._commit(recording)
        if outcome.status is Status.DONE and recording.act and not outcome.effect.repeatable:
            self._acts[tenant, lineage, recording.act] = outcome.fingerprint
        self._count(recording)
        if recording.entry is not None:
            self._keep(tenant, recording.candidates_of, recording.entry)
        if recording.line_id not in self._written:
            self._written.add(recording.line_id)
            self._append(tenant, lineage, recording.line)
        if not owned:
            raise Fenced(f"step {outcome.fingerprint}: another epoch than {recording.epoch} owns it")
        following = (recording.next_fingerprint, recording.next_content_key)
        known = self._looked_up(tenant, lineage, recording.candidates_of, *following)
        witness = self._witness(tenant, lineage) if recording.witnessed else ""
        return known.model_copy(update={"witness": witness})

    async def keep(self, *, tenant: str, run_id: str, entry: ActionCacheEntry) -> None:
        """Add a candidate of this run."""
        self._called("keep")
        self._keep(tenant, run_id, entry)

    async def is_whole(self, *, tenant: str, lineage: str, witness: str) -> bool:
        """Return True if nothing can have been lost since the witness was given."""
        self._called("is_whole")
        process, _, place = witness.partition("/")
        position, _, line = place.partition("/")
        lines = self._traces.get((tenant, lineage), [])
        return process == self.process and int(position) < len(lines) and lines[int(position)]["id"] == line

    async def fence(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int) -> Known:
        """Raise the epoch and set RESOLVING; see the port."""
        self._called("fence")
        step = self._step(tenant, lineage, fingerprint)
        if step.state in {"COMMITTED", "DAMAGED"}:
            return step.known()
        is_open = step.state in {"INTENT", "DISPATCHED", "ABANDONED"}
        if epoch < step.epoch or (epoch == step.epoch and is_open):
            raise Fenced(f"step {fingerprint}: epoch {step.epoch} owns it ({step.state}); mine is {epoch}")
        step.late_was_seen = step.late is not None
        if step.state not in {"RESOLVING", "ESCALATED"}:
            step.before = (step.state, step.epoch)
        step.state, step.epoch = "RESOLVING", epoch
        state, old_epoch = step.before
        return Known(state=state, epoch=old_epoch, late=step.late, held=step.held)

    async def settle(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int, state: str, who: str) -> None:
        """End a resolution; see the port."""
        self._called("settle")
        step = self._step(tenant, lineage, fingerprint)
        if epoch == step.epoch and step.state == state:
            return
        if epoch != step.epoch or state not in _LEADS_TO.get(step.state, ()):
            raise Fenced(f"step {fingerprint}: {step.state or 'no record'}, epoch {step.epoch} does not become {state}")
        step.state = state
        self.audit.append((fingerprint, state, who))
        if state == "COMMITTED" and step.late is not None:
            step.outcome = step.late
        if state == "NOT_DONE" and step.late_was_seen:
            step.late, step.late_was_seen = None, False

    async def append_trace(self, *, tenant: str, lineage: str, line: dict[str, Any]) -> None:
        """Add one line."""
        self._called("append_trace")
        self._append(tenant, lineage, line)

    async def append_lines(
        self, *, tenant: str, lineage: str, lines: Sequence[dict[str, Any]], witnessed: bool = False
    ) -> str:
        """Add lines; return a witness of the last one if it is to be `witnessed`."""
        self._called("append_lines")
        for line in lines:
            self._append(tenant, lineage, line)
        return self._witness(tenant, lineage) if witnessed else ""

    def _witness(self, tenant: str, lineage: str) -> str:
        lines = self._traces[tenant, lineage]
        return f"{self.process}/{len(lines) - 1}/{lines[-1]['id']}"

    async def trace(self, *, tenant: str, lineage: str) -> list[dict[str, Any]]:
        """Return all lines, oldest first."""
        self._called("trace")
        return [flat(line) for line in self._traces.get((tenant, lineage), ())]

    async def promote(self, *, tenant: str, run_id: str, content_keys: Sequence[str]) -> tuple[int, int]:
        """Make this run's candidates active; the same answer when repeated."""
        self._called("promote")
        pairs = [self._promote(tenant, run_id, key) for key in dict.fromkeys(content_keys)]
        return sum(promoted for promoted, _ in pairs), sum(held for _, held in pairs)

    async def candidates(
        self, *, tenant: str, run_id: str, content_keys: Sequence[str], taker: str = ""
    ) -> list[ActionCacheEntry]:
        """Return what other runs found out and none has verified; a `taker` takes it."""
        self._called("candidates")
        found = []
        for key in content_keys:
            versions = reversed(self._entries.get((tenant, key), []))
            for entry in takewhile(lambda entry: entry.status is not EntryStatus.ACTIVE, versions):
                is_open = entry.status is EntryStatus.CANDIDATE and entry.run_id != run_id and not entry.hold
                place = tenant, key, entry.version
                if is_open and self._taken.get(place, taker) == taker:
                    found.append(entry)
                    if taker:
                        self._taken[place] = taker
        return found

    async def entries(self, *, tenant: str) -> list[EntryInfo]:
        """Return the current version of every entry: the active one, else the newest."""
        self._called("entries")
        found = []
        for (owner, key), versions in sorted(self._entries.items()):
            if owner == tenant:
                current = next((entry for entry in versions if entry.status is EntryStatus.ACTIVE), versions[-1])
                found.append(EntryInfo(content_key=key, entry=current, versions=len(versions)))
        return found

    async def versions(self, *, tenant: str, content_key: str) -> list[ActionCacheEntry]:
        """Return all versions of one entry, oldest first; `InputInvalid` if several begin with `content_key`."""
        self._called("versions")
        keys = self._keys(tenant, content_key)
        if len(keys) > 1:
            raise InputInvalid(f"{len(keys)} entries begin with {content_key!r}: give more of the key")
        return list(self._entries[tenant, keys[0]]) if keys else []

    async def invalidate(self, *, tenant: str, content_key: str, reason: str) -> int:
        """Retire all versions of the entries whose key starts with `content_key`."""
        self._called("invalidate")
        if not content_key:
            raise InputInvalid("name the entry to invalidate, or the beginning of its key")
        del reason
        keys = self._keys(tenant, content_key)
        for key in keys:
            versions = self._entries[tenant, key]
            versions[:] = [entry.model_copy(update={"status": EntryStatus.RETIRED}) for entry in versions]
        return len(keys)

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.is_away:
            raise StoreUnavailable("the fake store is away")
        raise_next(self.fails.get(name, []))

    def damage(self, *, tenant: str, lineage: str, fingerprint: str) -> None:
        """Make the ledger's record of a step unreadable."""
        step = self._step(tenant, lineage, fingerprint)
        step.state, step.epoch, step.attempt, step.outcome, step.late = "DAMAGED", 0, "", None, None

    def _step(self, tenant: str, lineage: str, fingerprint: str) -> _Step:
        return self._ledger.setdefault((tenant, lineage, fingerprint), _Step())

    def _keys(self, tenant: str, prefix: str) -> list[str]:
        return sorted(key for owner, key in self._entries if owner == tenant and key.startswith(prefix))

    def _looked_up(self, tenant: str, lineage: str, run_id: str, fingerprint: str, content_key: str) -> Known:
        known = self._step(tenant, lineage, fingerprint).known() if fingerprint else Known()
        return known.model_copy(update={"entry": self._usable(tenant, run_id, content_key)})

    def _usable(self, tenant: str, run_id: str, content_key: str) -> ActionCacheEntry | None:
        versions = self._entries.get((tenant, content_key), [])
        active = [entry for entry in versions if entry.status is EntryStatus.ACTIVE]
        own = [entry for entry in versions if entry.status is EntryStatus.CANDIDATE and entry.run_id == run_id]
        return next(reversed(active or own), None)

    def _commit(self, recording: Recording) -> bool:
        """Commit the step and return True if this epoch owns it; else keep its outcome as late evidence."""
        outcome, epoch = recording.outcome, recording.epoch
        step = self._step(recording.tenant, recording.lineage, outcome.fingerprint)
        if step.state == "DAMAGED":
            return False
        if step.state == "COMMITTED" and (step.outcome == outcome or epoch >= step.epoch):
            if step.outcome is None:
                step.outcome = outcome
            elif step.outcome != outcome:
                step.late = outcome
            return True
        mine = epoch == step.epoch and step.state not in {"NOT_DONE", "ABANDONED", "COMMITTED"}
        if not (step.state == "" or mine or (step.state == "NOT_DONE" and epoch > step.epoch)):
            step.late, step.late_was_seen = outcome, False
            return False
        step.state, step.epoch, step.outcome = "COMMITTED", epoch, outcome
        return True

    def _count(self, recording: Recording) -> None:
        outcome = recording.outcome
        versions = self._entries.get((recording.tenant, outcome.content_key), [])
        done = outcome.status is Status.DONE
        performance = recording.run_id, recording.sequence
        if versions and recording.used_version and (done or counted_as(outcome)):
            recent, of = self._recent.get((recording.tenant, outcome.content_key), ("", ("", -1)))
            recent = recent[:-1] if of == performance else recent
            recent = f"{recent}{int(done)}"[-PERFORMANCES_KEPT:]
            self._recent[recording.tenant, outcome.content_key] = recent, performance
            versions[:] = [entry.model_copy(update={"recent": recent}) for entry in versions]
        if not (counted := counted_as(outcome)):
            return
        for index, entry in enumerate(versions):
            if entry.version == recording.used_version:
                change: dict[str, Any] = {counted: getattr(entry, counted) + 1}
                if done:
                    change["last_success"] = self._now()
                versions[index] = entry.model_copy(update=change)

    def _keep(self, tenant: str, run_id: str, entry: ActionCacheEntry) -> None:
        versions = self._entries.setdefault((tenant, entry.content_key), [])
        number = max((known.version for known in versions), default=0) + 1
        fresh = {"version": number, "status": EntryStatus.CANDIDATE, "run_id": run_id}
        fresh["recent"] = self._recent.get((tenant, entry.content_key), ("",))[0]
        kept = entry.model_copy(update={**fresh, "hits": 0, "misses": 0, "heals": 0, "last_success": 0.0})
        own = [e for e in versions if e.status is EntryStatus.CANDIDATE and e.run_id == run_id]
        if not own or _content_of(own[-1]) != _content_of(kept):
            versions.append(kept)

    def _promote(self, tenant: str, run_id: str, key: str) -> tuple[int, int]:
        versions = self._entries.get((tenant, key), [])
        own = [e for e in versions if e.status is EntryStatus.CANDIDATE and e.run_id == run_id]
        ready = [entry for entry in own if not entry.hold]
        held = int(len(ready) < len(own))
        if not ready:
            return int(any(e.status is EntryStatus.ACTIVE and e.run_id == run_id for e in versions)), held
        for index, entry in enumerate(versions):
            if entry is ready[-1]:
                versions[index] = entry.model_copy(update={"status": EntryStatus.ACTIVE})
            elif entry.status is EntryStatus.ACTIVE or entry in ready:
                versions[index] = entry.model_copy(update={"status": EntryStatus.RETIRED})
        return 1, held

    def _append(self, tenant: str, lineage: str, line: Mapping[str, Any]) -> None:
        at = self._now()
        lines = self._traces.setdefault((tenant, lineage), [])
        prev = lines[-1]["chain"]["hash"] if lines else origin(tenant, lineage)
        lines.append(chained({"id": f"{int(at):016x}", "v": VERSION, **line}, prev=prev, position=len(lines), at=at))

    def _now(self) -> float:
        """Counts up: later is more, and a test runs the same every time."""
        self._moment += 1
        return float(self._moment)


def _content_of(entry: ActionCacheEntry) -> ActionCacheEntry:
    beside = {"version": 0, "status": EntryStatus.CANDIDATE, "hits": 0, "misses": 0, "heals": 0, "last_success": 0.0}
    return entry.model_copy(update={**beside, "recent": ""})
