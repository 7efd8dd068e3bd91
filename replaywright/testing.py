"""A fake for every port: what the real part promises, in memory, without a clock, a network or a browser.

The fakes pass the same contract tests as the real parts. They keep what they were asked, so that a test can look.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replaywright.domain.actions import Action, Cause
from replaywright.domain.checkpoints import PageState
from replaywright.domain.entries import ActionCacheEntry, EntryInfo, EntryStatus
from replaywright.domain.evaluation import evaluate, failing, text_matches
from replaywright.domain.goal_runs import Labels
from replaywright.domain.host_rules import unrestricted
from replaywright.domain.loops import items_of
from replaywright.domain.matching import Candidate, Decision, decide_identified, decide_similar
from replaywright.domain.network_policy import NetworkPolicy, NetworkSeen, RefusedHost
from replaywright.domain.observed import (
    AssertionContext,
    ElementProbe,
    ElementState,
    PredicateResult,
    Probe,
    ProbeResult,
)
from replaywright.domain.outcomes import Evidence, Lookup, Status, StepOutcome, UnsafeRequest
from replaywright.domain.outlines import Outline
from replaywright.domain.overrides import OverrideRule, rules_for
from replaywright.domain.pictures import Box
from replaywright.domain.predicates import Predicate, probes_of
from replaywright.domain.probing import SiteProbe
from replaywright.domain.proof import needs_proof, proof_of
from replaywright.domain.redaction import redact, redact_data
from replaywright.domain.runs import Revision, Usage
from replaywright.domain.secret_sites import RULE, Site, refusal
from replaywright.domain.sessions import SessionRef, Wear
from replaywright.domain.snapshots import Element, Snapshot
from replaywright.domain.steering import HandedBack, Lent
from replaywright.domain.steps import ITEMS_FIELD, Extract, ForEach, Goto, SelectOption, Step, action_of, names_element
from replaywright.domain.targets import ElementQuery, Target
from replaywright.domain.templates import fill
from replaywright.domain.text import normalise
from replaywright.domain.trace import VERSION, chained, flat, origin, step_line
from replaywright.domain.weak_steps import PERFORMANCES_KEPT
from replaywright.errors import (
    ActionFailed,
    ArtifactMissing,
    ArtifactsUnavailable,
    CodeLost,
    DoneElsewhere,
    Fenced,
    InputInvalid,
    KeeperUnavailable,
    NoPlace,
    PlanRefused,
    ProbeRefused,
    ReplaywrightError,
    SecretMissing,
    SessionLost,
    StoreUnavailable,
)
from replaywright.ports import (
    BeforeDispatch,
    Capture,
    CheckGoalPlan,
    Choice,
    Download,
    Known,
    Labelled,
    Look,
    PlanQuestion,
    ProbeQuestion,
    Recording,
    Report,
    Shown,
    SiteAnswer,
    Work,
)
from replaywright.testing_gate import FakeCommitGate, FakeGate

# ------------------------------------------------------------------------------------------------ store


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
        """By method, for each call to come: an error to raise with nothing done; None for none."""
        self.calls: list[str] = []
        """Names of the methods called, one for each round trip."""
        self.audit: list[tuple[str, str, str]] = []
        """Fingerprint, state and name of every settled resolution."""
        self._ledger: dict[tuple[str, str, str], _Step] = {}
        self._acts: dict[tuple[str, str, str], str] = {}
        self._entries: dict[tuple[str, str], list[ActionCacheEntry]] = {}
        self._recent: dict[tuple[str, str], tuple[str, tuple[str, int]]] = {}
        """Of each entry, the last performances of its step, and which of them was the last."""
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

    async def intend(
        self,
        *,
        tenant: str,
        lineage: str,
        fingerprint: str,
        epoch: int,
        attempt: str,
        held: tuple[int, ...] | None = None,
        act: str = "",
        over: str = "",
    ) -> Known:
        """Write the intent to dispatch; see the port."""
        self._called("intend")
        step = self._step(tenant, lineage, fingerprint)
        if step.state == "COMMITTED":
            return step.known()
        if (step.state, step.epoch, step.attempt) == ("INTENT", epoch, attempt):
            return Known(state="INTENT", epoch=epoch)
        if step.state not in {"", "NOT_DONE"} or epoch <= step.epoch or step.late is not None:
            raise Fenced(f"step {fingerprint}: {step.state or 'no record'}, epoch {step.epoch}; mine is {epoch}")
        owner = self._acts.get((tenant, lineage, act), fingerprint)
        if act and owner not in {fingerprint, over}:
            raise DoneElsewhere(owner)
        if act:
            self._acts[tenant, lineage, act] = fingerprint
        step.state, step.epoch, step.attempt, step.held = "INTENT", epoch, attempt, held
        return Known(state="INTENT", epoch=epoch)

    async def acts(self, *, tenant: str, lineage: str) -> dict[str, str]:
        """Who has each act of the lineage."""
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
        line = step_line(
            outcome,
            sequence=recording.sequence,
            title=recording.title,
            run_id=recording.run_id,
            epoch=recording.epoch,
            given=recording.given,
            more=recording.trace,
        )
        if recording.line_id not in self._written:
            self._written.add(recording.line_id)
            self._append(tenant, lineage, line)
        if not owned:
            raise Fenced(f"step {outcome.fingerprint}: another epoch than {recording.epoch} owns it")
        following = (recording.next_fingerprint, recording.next_content_key)
        known = self._looked_up(tenant, lineage, recording.candidates_of, *following)
        lines = self._traces[tenant, lineage]
        witness = f"{self.process}/{len(lines) - 1}/{lines[-1]['id']}" if recording.witnessed else ""
        return known.model_copy(update={"witness": witness})

    async def keep(self, *, tenant: str, run_id: str, entry: ActionCacheEntry) -> None:
        """Add a candidate of this run."""
        self._called("keep")
        self._keep(tenant, run_id, entry)

    async def is_whole(self, *, tenant: str, lineage: str, witness: str) -> bool:
        """Whether nothing can have been lost since the witness was given."""
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

    async def trace(self, *, tenant: str, lineage: str) -> list[dict[str, Any]]:
        """All lines, oldest first."""
        self._called("trace")
        return [flat(line) for line in self._traces.get((tenant, lineage), ())]

    async def promote(self, *, tenant: str, run_id: str, content_keys: Sequence[str]) -> tuple[int, int]:
        """Make this run's candidates active; the same answer when repeated."""
        self._called("promote")
        pairs = [self._promote(tenant, run_id, key) for key in dict.fromkeys(content_keys)]
        return sum(promoted for promoted, _ in pairs), sum(held for _, held in pairs)

    async def entries(self, *, tenant: str) -> list[EntryInfo]:
        """The current version of every entry: the active one, else the newest."""
        self._called("entries")
        found = []
        for (owner, key), versions in sorted(self._entries.items()):
            if owner == tenant:
                current = next((entry for entry in versions if entry.status is EntryStatus.ACTIVE), versions[-1])
                found.append(EntryInfo(content_key=key, entry=current, versions=len(versions)))
        return found

    async def versions(self, *, tenant: str, content_key: str) -> list[ActionCacheEntry]:
        """All versions of one entry, oldest first; `InputInvalid` when several entries begin with `content_key`."""
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
        _raise_next(self.fails.get(name, []))

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
        """Whether the step is this epoch's; else its outcome is kept as late evidence."""
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
        lookup, done = outcome.lookup, outcome.status is Status.DONE
        performance = recording.run_id, recording.sequence
        if versions and recording.used_version and (done or not lookup.from_model):
            recent, of = self._recent.get((recording.tenant, outcome.content_key), ("", ("", -1)))
            recent = recent[:-1] if of == performance else recent
            recent = f"{recent}{int(done)}"[-PERFORMANCES_KEPT:]
            self._recent[recording.tenant, outcome.content_key] = recent, performance
            versions[:] = [entry.model_copy(update={"recent": recent}) for entry in versions]
        if lookup.from_model:
            return
        if outcome.status is Status.MISSED:
            counted = "misses"
        elif lookup.healed:
            counted = "heals"
        elif lookup.hit or done:
            counted = "hits"
        else:
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


class FakeOverrides:
    """An `Overrides` with the given rules, for every tenant."""

    def __init__(self, rules: Sequence[OverrideRule] = ()) -> None:
        self.known = tuple(rules)

    async def rules(self, tenant: str, host: str) -> tuple[OverrideRule, ...]:
        """Those for `host`."""
        del tenant
        return rules_for(self.known, host)


class FakeArtifacts:
    """`Artifacts` in memory; a test may take a value out of `values`, or change it."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.is_away = False
        """While set, every method raises `ArtifactsUnavailable`."""

    async def put(self, data: bytes) -> str:
        """Store and return the SHA-256."""
        self._must_answer()
        digest = hashlib.sha256(data).hexdigest()
        self.values[digest] = data
        return digest

    async def put_file(self, path: Path) -> str:
        """Store the content of a file."""
        self._must_answer()
        try:
            return await self.put(path.read_bytes())
        except OSError as exc:
            raise ArtifactsUnavailable(f"{path} cannot be read: {exc}") from exc

    async def get(self, digest: str) -> bytes:
        """The value, if it is there and unaltered."""
        self._must_answer()
        data = self.values.get(digest)
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            raise ArtifactMissing(f"no artifact {digest!r}")
        return data

    def _must_answer(self) -> None:
        if self.is_away:
            raise ArtifactsUnavailable("the fake artifact store is away")


# ------------------------------------------------------------------------------------- model and secrets


@dataclass(frozen=True)
class Asked:
    """One question to the model."""

    instruction: str
    action: str
    page: str
    ids: frozenset[str]


class FakeProposer:
    """A `TargetProposer` by script: an element id, None, or an error to raise for each question; then `otherwise`."""

    def __init__(
        self,
        script: Iterable[str | ReplaywrightError | None] = (),
        otherwise: Callable[[Asked], str | None] = lambda _asked: None,
    ) -> None:
        self.asked: list[Asked] = []
        self._script = list(script)
        self._otherwise = otherwise

    async def propose(self, *, instruction: str, action: str, page: str, ids: frozenset[str]) -> Choice:
        """The next answer of the script."""
        asked = Asked(instruction, action, page, ids)
        self.asked.append(asked)
        answer = self._script.pop(0) if self._script else self._otherwise(asked)
        if isinstance(answer, ReplaywrightError):
            raise answer
        return Choice(element_id=answer, usage=Usage(calls=1, input_tokens=100, output_tokens=5, model="fake"))


class FakeLabeller:
    """A `Labeller` by script: what the model wrote, or an error to raise, for each goal."""

    def __init__(self, script: Iterable[Mapping[str, Any] | ReplaywrightError]) -> None:
        self.asked: list[str] = []
        self._script = list(script)

    async def label(self, goal: str, check: Callable[[Mapping[str, Any]], Labels]) -> Labelled:
        """The next answer of the script."""
        self.asked.append(goal)
        answer = self._script.pop(0)
        if isinstance(answer, ReplaywrightError):
            raise answer
        return Labelled(labels=check(answer), usage=Usage(calls=1, input_tokens=50, output_tokens=20, model="fake"))


class FakePlanner:
    """A `Planner` by script: the items of a plan, why it gives up, or an error to raise, for each question.

    The plan of a goal is a mapping with `steps`, `complete` and `verify`.
    """

    def __init__(
        self, script: Iterable[Sequence[Mapping[str, Any]] | Mapping[str, Any] | str | ReplaywrightError]
    ) -> None:
        self.asked: list[PlanQuestion] = []
        self._script = list(script)

    async def plan(self, question: PlanQuestion, check: CheckGoalPlan) -> Revision:
        """The next answer of the script; a plan that is refused is not made again."""
        self.asked.append(question)
        answer = self._script.pop(0)
        usage = Usage(calls=1, input_tokens=200, output_tokens=20, model="fake")
        if isinstance(answer, ReplaywrightError):
            raise answer
        if not isinstance(answer, Mapping):
            return Revision(gave_up=str(answer), complete=False, usage=usage)
        try:
            plan = check(answer.get("steps", ()), answer.get("complete", False), answer.get("verify", ()), True)
        except PlanRefused as exc:
            return Revision(gave_up=f"the plan was refused: {exc}", complete=False, usage=usage)
        return Revision(steps=plan.steps, complete=plan.complete, verify=plan.verify, usage=usage)

    async def revise(
        self, question: PlanQuestion, check: Callable[[Sequence[Mapping[str, Any]]], tuple[Step, ...]]
    ) -> Revision:
        """The next answer of the script; a plan that is refused is not made again."""
        self.asked.append(question)
        answer = self._script.pop(0)
        usage = Usage(calls=1, input_tokens=200, output_tokens=20, model="fake")
        if isinstance(answer, ReplaywrightError):
            raise answer
        if isinstance(answer, str):
            return Revision(gave_up=answer, usage=usage)
        assert not isinstance(answer, Mapping), "a goal's plan is asked for with `plan`"
        try:
            return Revision(steps=check(answer), usage=usage)
        except PlanRefused as exc:
            return Revision(gave_up=f"the plan was refused: {exc}", usage=usage)


class FakeProber:
    """A `Prober` by script: an address and texts, why there is none, or an error to raise, for each question."""

    def __init__(self, script: Iterable[tuple[str, Sequence[str]] | str | ReplaywrightError]) -> None:
        self.asked: list[ProbeQuestion] = []
        self._script = list(script)

    async def propose(
        self, question: ProbeQuestion, check: Callable[[str, Sequence[str]], SiteProbe]
    ) -> tuple[SiteProbe | None, str, Usage]:
        """The next answer of the script."""
        self.asked.append(question)
        answer = self._script.pop(0)
        usage = Usage(calls=1, input_tokens=150, output_tokens=10, model="fake")
        if isinstance(answer, ReplaywrightError):
            raise answer
        if isinstance(answer, str):
            return None, answer, usage
        try:
            return check(*answer), "", usage
        except ProbeRefused as exc:
            return None, str(exc), usage


class FakeCodes:
    """`Codes` that remember what was asked; a code is its own seal."""

    def __init__(self) -> None:
        self.keys: dict[tuple[str, str, str], float] = {}
        """By tenant, run and question: for how many seconds."""

    async def offer(self, *, tenant: str, run_id: str, question: str, ttl_s: float) -> str:
        """Keep a key."""
        self.keys[tenant, run_id, question] = ttl_s
        return f"key of {question}"

    async def read(self, *, tenant: str, run_id: str, question: str, sealed: str) -> str:
        """What was sealed, while the key is kept."""
        if (tenant, run_id, question) not in self.keys:
            raise CodeLost(f"the key of question {question} is gone")
        return sealed

    async def forget(self, *, tenant: str, run_id: str, question: str) -> None:
        """Delete the key."""
        self.keys.pop((tenant, run_id, question), None)


class FakeSecrets:
    """`Secrets` from a mapping."""

    def __init__(
        self, values: Mapping[str, str] | None = None, bound: Mapping[str, tuple[Site, ...]] | None = None
    ) -> None:
        self._values = dict(values or {})
        self._bound = dict(bound or {})
        self._passing: dict[str, str] = {}

    def domains(self, name: str) -> tuple[Site, ...] | None:
        """Where it may be entered."""
        return self._bound.get(name)

    def resolve(self, name: str) -> str:
        """The value."""
        if not self._values.get(name):
            raise SecretMissing(f"secret {name!r} has no value here; set REPLAYWRIGHT_SECRET_{name}")
        return self._values[name]

    def remember(self, name: str, value: str) -> None:
        """Redact it, too."""
        self._passing[name] = value

    def redact(self, text: str) -> str:
        """`text` without the values."""
        return redact(redact(text, self._values), self._passing)

    def redact_data(self, value: Any) -> Any:
        """`value` without the values."""
        return redact_data(redact_data(value, self._values), self._passing)


# ---------------------------------------------------------------------------------------------- browser


@dataclass
class FakeElement:
    """One element of a scripted page, and what happens when it is clicked or gets a key."""

    target: Target
    value: str = ""
    goes_to: str = ""
    """URL of the page that opens."""
    shows: str = ""
    """Text that appears; `{{id}}` stands for the value of the page's element with that id."""
    sends: tuple[UnsafeRequest, ...] = ()
    visible: bool = True


@dataclass
class FakePage:
    """A scripted page."""

    elements: dict[str, FakeElement] = field(default_factory=dict)
    """By id, as it stands in snapshots."""
    title: str = ""
    texts: tuple[str, ...] = ()
    extracts: dict[str, Any] = field(default_factory=dict)
    """What `extract` finds, by the name of the field."""


@dataclass(frozen=True)
class Dispatch:
    """One input that reached a page."""

    action: Action
    element: str = ""
    text: str = field(default="", repr=False)


@dataclass
class FakeSite:
    """Scripted pages by URL, and everything that was done to them by all sessions."""

    pages: dict[str, FakePage] = field(default_factory=dict)
    dispatches: list[Dispatch] = field(default_factory=list)
    fail_before: list[ReplaywrightError | None] = field(default_factory=list)
    """For each action to come, an error to raise with nothing dispatched; None for none."""
    fail_after: list[ReplaywrightError | None] = field(default_factory=list)
    """For each action to come, an error to raise once the input has reached the page; None for none."""
    fail_restore: list[ReplaywrightError | None] = field(default_factory=list)
    """For each restoring to come, an error to raise; None for none."""
    answers: list[SiteAnswer | ReplaywrightError] = field(default_factory=list)
    """What `ask_site` answers the next times."""
    asked: int = 0
    """How often the site was asked."""
    captures: list[Capture] = field(default_factory=list)
    """What `capture` returns the next times."""
    no_picture: str = ""
    """Why `look` has no picture; empty while it has one."""
    downloads: list[Download] = field(default_factory=list)
    """What reports tell of, until it is released."""
    gate: FakeGate | None = None
    """What the requests of its pages have to pass."""

    def page(self, url: str) -> FakePage:
        """The page at `url`, with or without its query; an empty one when none is scripted."""
        return self.pages.get(url) or self.pages.get(url.partition("?")[0]) or FakePage()


class FakeBrowserSession:
    """A `BrowserSession` on a `FakeSite`. It finds elements with the domain's own decisions."""

    def __init__(self, site: FakeSite, url: str = "about:blank") -> None:
        self.site = site
        self.is_lost = False
        """While set, everything raises `SessionLost`."""
        self.detached = 0
        """How often it was let go of."""
        self.works: list[Work] = []
        """What it was asked to do, oldest first."""
        self.stored: list[dict[str, Any]] = []
        """What its origins have stored."""
        self._opened = 0
        self._history = [url]
        self._values: dict[str, str] = {}
        self._shown: list[str] = []

    @property
    def url(self) -> str:
        """URL of the current page."""
        return self._history[-1]

    @property
    def wanted_url(self) -> str:
        """URL of the current page."""
        return self.url

    @property
    def last_evidence(self) -> Evidence:
        """Nothing: a scripted page asks nobody anything."""
        return Evidence()

    async def perform(self, work: Work, before_dispatch: BeforeDispatch | None = None) -> Report:
        """Find the element, act once, evaluate what is expected."""
        self.works.append(work)
        self._must_live()
        decision = self._find(work)
        element_id = self._id_of(decision)
        if names_element(work.step) and element_id is None:
            return self._report(decision.lookup, snapshot=self._read())
        before, shown = self._evaluate(work.expect), len(self._shown)
        target = None if element_id is None else self._elements[element_id].target
        held_before = work.skip_if_holds and failing(before) is None
        if held_before or self._is_there_already(work, element_id):
            after = self._evaluate(work.expect)
            return self._report(decision.lookup, target=target, before=before, after=after)
        _raise_next(self.site.fail_before)
        if before_dispatch is not None:
            await before_dispatch(target, before)
        if why := refusal(work.secrets, (self.url,)):
            raise ActionFailed(RULE, why, dispatched=False)
        evidence = await self._sent(work, element_id)
        _raise_next(self.site.fail_after)
        after = self._evaluate(work.expect)
        held = failing(after) is None
        changed = len(self._shown) != shown
        proof = proof_of(before, after, evidence, changed=changed, url=self.url) if needs_proof(work.step) else None
        return self._report(
            decision.lookup,
            target=target,
            acted=True,
            proof=proof,
            before=before,
            after=after,
            evidence=evidence,
            extracted=self._extracted(work),
            snapshot=None if held else self._read(),
        )

    async def release(self, downloads: Sequence[Download]) -> None:
        """Report them no more."""
        self.site.downloads = [kept for kept in self.site.downloads if kept not in downloads]

    async def check(self, expect: Sequence[Predicate], timeout_ms: int) -> tuple[PredicateResult, ...]:
        """Evaluate predicates at once: nothing changes on a scripted page by waiting."""
        del timeout_ms
        self._must_live()
        return self._evaluate(expect)

    async def ask_site(self, works: Sequence[Work], expect: Sequence[Predicate]) -> SiteAnswer:
        """The next of the site's scripted answers; else what the page says that the last goto leads to."""
        self._must_live()
        self.site.asked += 1
        if self.site.answers:
            answer = self.site.answers.pop(0)
            if isinstance(answer, ReplaywrightError):
                raise answer
            return answer
        tab = FakeBrowserSession(self.site)
        for work in works:
            if isinstance(work.step, Goto):
                tab._open(work.step.url)
        return SiteAnswer(tab._evaluate(expect), tab.url)

    async def due(self, rules: Sequence[OverrideRule]) -> tuple[OverrideRule, ...]:
        """Those whose `when` holds."""
        self._must_live()
        asked = [rule for rule in rules if rule.when is not None]
        verdicts = self._evaluate([rule.when for rule in asked if rule.when is not None])
        return tuple(rule for rule, verdict in zip(asked, verdicts, strict=True) if verdict.passed)

    async def snapshot(self) -> Snapshot:
        """The current page."""
        self._must_live()
        return self._read()

    async def look(self, wanted: Callable[[Snapshot], Sequence[str]], redact: Callable[[str], str]) -> Look:
        """The current page, and a picture that names what it marks; none where the site has none."""
        self._must_live()
        snapshot = self._read()
        if self.site.no_picture:
            return Look(snapshot, missing=redact(self.site.no_picture))
        return Look(snapshot, f"a picture of {','.join(wanted(snapshot))}".encode())

    async def picture(self, redact: Callable[[str], str]) -> Shown:
        """A picture that names the page; none where the site has none."""
        self._must_live()
        if self.site.no_picture:
            return Shown(missing=redact(self.site.no_picture))
        return Shown(f"a picture of {self.url}".encode(), Box(x=0, y=0, width=1280, height=720))

    async def capture(self, redact: Callable[[str], str]) -> Capture:
        """The texts of the page as its document; a picture that is none; or what `captures` says."""
        self._must_live()
        if self.site.captures:
            return self.site.captures.pop(0)
        texts = [*self.site.page(self.url).texts, *self._shown, *self._values.values()]
        return Capture(b"a picture", redact("\n".join(texts)), ("console",), ("network",))

    @property
    def document(self) -> str:
        """Another one for each page that was opened."""
        return str(self._opened)

    async def outline(self) -> Outline:
        """The elements of the page."""
        self._must_live()
        elements = self._read().elements
        return Outline(elements=tuple((e.target.role, e.target.name, e.value) for e in elements if e.visible))

    async def state(self) -> tuple[PageState, Outline]:
        """The page, with what is stored: what `stored` says."""
        self._must_live()
        return PageState(url=self.url, storage={"cookies": [], "origins": list(self.stored)}), await self.outline()

    async def restore(self, state: PageState) -> None:
        """Open its page."""
        self._must_live()
        _raise_next(self.site.fail_restore)
        self.stored = list(state.storage.get("origins", []))
        self._open(state.url)

    async def detach(self) -> None:
        """The page stays as it is."""
        self.detached += 1

    @property
    def _elements(self) -> dict[str, FakeElement]:
        return self.site.page(self.url).elements

    def _must_live(self) -> None:
        if self.is_lost:
            raise SessionLost("the fake browser is gone")

    def _find(self, work: Work) -> Decision:
        visible = {key: element for key, element in self._elements.items() if element.visible}
        if work.target is None:
            if work.query is None:
                return Decision(Lookup(reason="no_entry"))
            found = [key for key, element in visible.items() if self._matches(work.query, key, element)]
            if len(found) != 1:
                return Decision(Lookup(reason="ambiguous" if found else "not_found", candidates=len(found)))
            index = list(visible).index(found[0])
            chosen = Candidate(index=index, tier="query", target=visible[found[0]].target)
            return Decision(Lookup(hit=True, tier="query", candidates=1, score=1.0), chosen)
        everything = [
            Candidate(index=index, tier=_tier(work.target, element.target), target=element.target)
            for index, element in enumerate(visible.values())
        ]
        identified = [candidate for candidate in everything if candidate.tier != "similarity"]
        decision = decide_identified(work.target, identified, work.entry_version)
        if not decision.lookup.hit and decision.lookup.reason != "ambiguous":
            similar = decide_similar(work.target, everything, work.entry_version)
            decision = similar if similar.lookup.hit or not identified else decision
        if decision.lookup.healed and not work.heal:
            return Decision(decision.lookup.model_copy(update={"hit": False, "healed": False, "reason": "heal_off"}))
        return decision

    def _id_of(self, decision: Decision) -> str | None:
        if decision.chosen is None:
            return None
        return [key for key, element in self._elements.items() if element.visible][decision.chosen.index]

    def _matches(self, query: ElementQuery, key: str, element: FakeElement) -> bool:
        target = element.target
        equal = {
            (query.role, target.role),
            (query.test_id, target.attributes.get("data-testid", "")),
            (query.css, target.css),
        }
        same_text = {
            (query.name, target.name),
            (query.label, target.label),
            (query.placeholder, target.attributes.get("placeholder", "")),
        }
        text = target.text or self._value(key)
        contained = {(query.name_contains, target.name), (query.text, text)}
        return (
            (query.name_in is None or normalise(target.name) in map(normalise, query.name_in))
            and (query.text_in is None or any(text_matches(wanted, text) for wanted in query.text_in))
            and (query.within is None or _stands_in(query.within, target))
            and all(wanted is None or wanted == seen for wanted, seen in equal)
            and all(wanted is None or normalise(wanted) == normalise(seen) for wanted, seen in same_text)
            and all(wanted is None or text_matches(wanted, seen) for wanted, seen in contained)
        )

    def _value(self, key: str) -> str:
        return self._values.get(key, self._elements[key].value)

    def _is_there_already(self, work: Work, element_id: str | None) -> bool:
        if element_id is None:
            return False
        match action_of(work.step):
            case Action.FILL | Action.TYPE | Action.PASTE:
                return self._value(element_id) == work.text
            case Action.SELECT_OPTION:
                assert isinstance(work.step, SelectOption)
                return self._value(element_id) == ", ".join(work.step.wanted)
            case Action.CHECK:
                return self._value(element_id) == "on"
            case Action.UNCHECK:
                return self._value(element_id) == ""
            case _:
                return False

    async def _sent(self, work: Work, element_id: str | None) -> Evidence:
        """Act; what the element sends has no consequences when the gate does not let it go."""
        sends = () if element_id is None else self._elements[element_id].sends
        if sends and self.site.gate is not None and not await self.site.gate.passes():
            self.site.dispatches.append(Dispatch(action_of(work.step), element_id or "", work.text))
            return Evidence(input_landed=True)
        return self._act(work, element_id)

    def _act(self, work: Work, element_id: str | None) -> Evidence:
        action = action_of(work.step)
        self.site.dispatches.append(Dispatch(action, element_id or "", work.text))
        match action:
            case Action.GOTO:
                assert isinstance(work.step, Goto)
                self._open(work.step.url)
                return Evidence(causes=(Cause.NEW_DOCUMENT,))
            case Action.GO_BACK if len(self._history) > 1:
                self._history.pop()
                self._opened += 1
                self._values, self._shown = {}, []
                return Evidence(causes=(Cause.NEW_DOCUMENT,))
            case Action.CLICK | Action.DOUBLE_CLICK | Action.PRESS if element_id is not None:
                return self._react(self._elements[element_id])
            case _ if element_id is not None:
                self._set(work, element_id)
        return Evidence(input_landed=None if element_id is None else True)

    def _set(self, work: Work, element_id: str) -> None:
        match action_of(work.step):
            case Action.FILL | Action.TYPE | Action.PASTE:
                self._values[element_id] = work.text
            case Action.SELECT_OPTION:
                assert isinstance(work.step, SelectOption)
                self._values[element_id] = ", ".join(work.step.wanted)
            case Action.CHECK:
                self._values[element_id] = "on"
            case Action.UNCHECK:
                self._values[element_id] = ""

    def _react(self, element: FakeElement) -> Evidence:
        text = fill(element.shows, {key: self._value(key) for key in self._elements})
        if element.goes_to:
            self._open(element.goes_to)
        if text:
            self._shown.append(text)
        causes = (Cause.NEW_DOCUMENT,) if element.goes_to else ()
        return Evidence(causes=causes, requests=element.sends, input_landed=True)

    def _open(self, url: str) -> None:
        self._opened += 1
        self._history.append(url)
        self._values, self._shown = {}, []

    def _extracted(self, work: Work) -> dict[str, Any]:
        found = self.site.page(self.url).extracts
        if isinstance(work.step, ForEach):
            return {ITEMS_FIELD: list(items_of(work.step, found))}
        if not isinstance(work.step, Extract):
            return {}
        return {name: found.get(name) for name in work.step.fields}

    def _evaluate(self, expect: Sequence[Predicate]) -> tuple[PredicateResult, ...]:
        probes = tuple((probe, self._answer(probe)) for probe in probes_of(expect))
        context = AssertionContext(url=self.url, title=self.site.page(self.url).title, probes=probes)
        return tuple(evaluate(predicate, context) for predicate in expect)

    def _answer(self, probe: Probe) -> ProbeResult:
        visible = {key: element for key, element in self._elements.items() if element.visible}
        if isinstance(probe, ElementProbe):
            found = [key for key, element in visible.items() if self._matches(probe.query, key, element)]
            return ProbeResult(count=len(found), elements=tuple(self._state(key) for key in found[:3]))
        if probe.within is not None:
            inside = [key for key, element in visible.items() if self._matches(probe.within, key, element)]
            return ProbeResult(count=sum(text_matches(probe.text, visible[key].target.text) for key in inside))
        texts = [*self.site.page(self.url).texts, *self._shown]
        texts += [element.target.text or element.target.name for element in visible.values()]
        return ProbeResult(count=sum(text_matches(probe.text, text) for text in texts))

    def _state(self, key: str) -> ElementState:
        target = self._elements[key].target
        is_password = target.attributes.get("type") == "password"
        value = "" if is_password else self._value(key)
        return ElementState(role=target.role, name=target.name, text=target.text, value=value)

    def _read(self) -> Snapshot:
        page = self.site.page(self.url)
        elements = tuple(
            Element(id=key, target=element.target, visible=element.visible, value=self._state(key).value)
            for key, element in page.elements.items()
        )
        return Snapshot(url=self.url, title=page.title, elements=elements, node_count=len(elements))

    def _report(self, lookup: Lookup, **fields: Any) -> Report:
        title, downloads = self.site.page(self.url).title, tuple(self.site.downloads)
        return Report(lookup, url=self.url, title=title, downloads=downloads, evaluations=1, **fields)


def _tier(recorded: Target, seen: Target) -> str:
    """The first tier that would lead from the recording to `seen`; `similarity` when none does."""
    identity = ("data-testid", "id", "name", "aria-label", "placeholder")
    if recorded.xpath and recorded.xpath == seen.xpath:
        return "xpath"
    if any(recorded.attributes.get(key, "") == seen.attributes.get(key) for key in identity):
        return "attributes"
    if recorded.role == seen.role and recorded.name and normalise(recorded.name) == normalise(seen.name):
        return "role_name"
    if recorded.element_hash and recorded.element_hash == seen.element_hash:
        return "hash"
    return "similarity"


def _stands_in(query: ElementQuery, target: Target) -> bool:
    """Whether the container of a scripted element is meant: these are told by role and name alone."""
    given = query.model_dump(exclude_none=True)
    if not given.keys() <= {"role", "name"}:
        raise ValueError(f"a scripted page tells containers by role and name, not by {', '.join(given)}")
    role, _, name = target.container.partition(" ")
    return query.role in (None, role) and (query.name is None or normalise(query.name) == normalise(name.strip('"')))


def _raise_next(errors: list[ReplaywrightError | None]) -> None:
    error = errors.pop(0) if errors else None
    if error is not None:
        raise error


class FakeBrowsers:
    """`Browsers` on one `FakeSite`: attaching again to an endpoint finds the page as it was left."""

    def __init__(self, site: FakeSite | None = None) -> None:
        self.site = FakeSite() if site is None else site
        self.sessions: dict[str, FakeBrowserSession] = {}
        """By endpoint."""

    async def attach(self, endpoint: str, directory: str = "") -> FakeBrowserSession:
        """The session at `endpoint`, made when there is none."""
        del directory
        session = self.sessions.setdefault(endpoint, FakeBrowserSession(self.site))
        if session.is_lost:
            raise SessionLost(f"nothing answers at {endpoint}")
        return session

    async def stop_loading(self, endpoint: str) -> bool:
        """Note it at the site's gate."""
        del endpoint
        if self.site.gate is not None:
            self.site.gate.loads_stopped += 1
        return True


class FakeKeepers:
    """`Keepers` of one host that start nothing; `dead` holds the ids of sessions whose keeper is gone."""

    def __init__(self, host: str = "fake-host") -> None:
        self.host = host
        self.epochs: dict[str, int] = {}
        """The highest epoch that has attached, by session."""
        self.renewals: list[tuple[str, int]] = []
        self.attached: list[tuple[str, int]] = []
        """Session and epoch of every attachment that was granted."""
        self.dead: set[str] = set()
        self.worn = Wear()
        """What is told of every browser."""
        self.full = ""
        """Why there is no place for another browser; empty while there is."""
        self.starting = ""
        """Why there is none at once; empty while there is."""
        self.policies: dict[str, NetworkPolicy] = {}
        """What each session may reach."""
        self.refused: tuple[RefusedHost, ...] = ()
        """What every session's keeper says that it has refused."""
        self.launched: list[tuple[str, str]] = []
        """Each session that was started, and instead of which."""
        self.gates: defaultdict[str, FakeGate] = defaultdict(FakeGate)
        """By session."""
        self.lent: dict[str, str] = {}
        """Which session a person has had, by the name of the lending."""
        self.left: tuple[str, ...] = ()
        """What left a browser meanwhile."""

    async def launch(
        self, session_id: str, network: NetworkPolicy, instead_of: str = "", *, at_once: bool = False
    ) -> SessionRef:
        """A session of this host, unless it is full, or starts others and this one was not to wait for them."""
        if self.full or (at_once and self.starting):
            raise NoPlace(self.full or self.starting)
        self.launched.append((session_id, instead_of))
        self.policies[session_id] = network
        self.epochs[session_id] = 0
        queue = f"host-{self.host}"
        return SessionRef(session_id=session_id, queue=queue, host_queue=queue, host=self.host, boot_id="fake-boot")

    async def attach(self, session: SessionRef, epoch: int) -> str:
        """The endpoint, unless a higher epoch has attached."""
        self._must_own(session, epoch)
        self.epochs[session.session_id] = epoch
        self.attached.append((session.session_id, epoch))
        return f"fake://{session.session_id}"

    async def gate(self, session: SessionRef, epoch: int) -> FakeCommitGate:
        """The session's gate."""
        self._must_own(session, epoch)
        return FakeCommitGate(self.gates[session.session_id], epoch)

    async def wear(self, session: SessionRef) -> Wear:
        """What `worn` says."""
        if session.session_id in self.dead:
            raise KeeperUnavailable(f"no keeper answers for session {session.session_id!r}")
        return self.worn.model_copy(update={"session_id": session.session_id})

    async def network(self, session: SessionRef, since_monotonic_s: float | None = None) -> NetworkSeen:
        """The policy that it was started with, and what `refused` says."""
        del since_monotonic_s
        if session.session_id in self.dead:
            raise KeeperUnavailable(f"no keeper answers for session {session.session_id!r}")
        return NetworkSeen(policy=self.policies.get(session.session_id, unrestricted()), refused=self.refused)

    async def renew(self, session: SessionRef, epoch: int) -> None:
        """Note the renewal."""
        self._must_own(session, epoch)
        self.renewals.append((session.session_id, epoch))

    async def lend(self, session: SessionRef, epoch: int, lending: str, lasts_s: float) -> Lent:
        """Note that a person has it."""
        self._must_own(session, epoch)
        self.lent[lending] = session.session_id
        return Lent(host=self.host, boot_id="fake-boot", file=f"/{lending}", until=lasts_s)

    async def take_back(self, session: SessionRef, epoch: int, lending: str) -> HandedBack:
        """What `left` says, if it was lent."""
        self._must_own(session, epoch)
        known = self.lent.get(lending) == session.session_id
        return HandedBack(known=known, requests=self.left if known else ())

    async def close(self, session: SessionRef) -> None:
        """The session is gone from now on, unless a newer epoch owns it."""
        if session.epoch >= self.epochs.get(session.session_id, 0):
            self.dead.add(session.session_id)

    def is_local(self, session: SessionRef) -> bool:
        """Whether it is a session of this host."""
        return session.host == self.host

    def _must_own(self, session: SessionRef, epoch: int) -> None:
        highest = self.epochs.get(session.session_id)
        if highest is None or session.session_id in self.dead:
            raise KeeperUnavailable(f"no keeper answers for session {session.session_id!r}")
        if epoch < highest:
            raise Fenced(f"session {session.session_id!r} belongs to epoch {highest}; mine is {epoch}")
