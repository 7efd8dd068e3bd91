"""Ledger, action cache and trace in Redis.

Every method of a run is one pipeline without a transaction: one round trip (in a cluster, one to each node at the same
time). Each command in it touches one key and may be repeated.

Status, run and statistics of an entry's version stand beside its JSON and take precedence.
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from cache.connection import Client
from cache.keys import acts_key, entry_key, index_key, ledger_key, trace_key
from cache.replies import SignedRecords, WrongType, text_of
from cache.scripts import (
    APPEND,
    CANDIDATES,
    COUNT,
    DISPATCH,
    FENCE,
    FIND,
    INTEND,
    KEEP,
    PROMOTE,
    RECORD,
    RETIRE,
    SETTLE,
    WITNESS,
    Argument,
    LuaScript,
    RedisCommand,
)
from cache.signing import signed_entries
from cache.signing.signed_traces import SignedTraces
from cache.watch import StoreWatch
from replaywright.domain.common.base import first_fault
from replaywright.domain.secrets.signing import UNSIGNED, Signer
from replaywright.domain.skill.entries import SCHEMA, ActionCacheEntry, EntryInfo, EntryStatus, counted_as
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.trace import flat
from replaywright.errors import DoneElsewhere, Fenced, InputInvalid, StoreUnavailable, ValueTooLarge
from replaywright.ports.ledger import Intent, Known, Recording

LEDGER_VERSION = b"1"
STATES: Final = ("INTENT", "DISPATCHED", "COMMITTED", "RESOLVING", "NOT_DONE", "ESCALATED", "ABANDONED")
DAMAGED: Final = "DAMAGED"
SETTLED: Final = ("COMMITTED", "NOT_DONE", "ESCALATED", "ABANDONED")

OUTCOME_LIMIT = 8 * 1024
ENTRY_LIMIT = 64 * 1024
"""Maximum bytes; also of a line of the trace."""
LISTED_AT_ONCE = 500
"""Entries in one pipeline of `entries`."""

_BESIDE = {"version", "status", "hits", "misses", "heals", "last_success", "recent", "run_id", "hold"}
"""Fields of an entry that are not in its JSON."""

_REFUSALS = {
    "damaged": "its record {key!r} is damaged, or of another version of Replaywright: find out whether the step took "
    "effect, then delete the key",
    "fenced": "epoch {epoch} owns it ({state}), this attempt has epoch {mine}",
    "open": "another attempt's intent is open ({state}, epoch {epoch}): it has to be resolved first",
    "resolving": "it is being resolved ({state}, epoch {epoch})",
    "abandoned": "it was abandoned (epoch {epoch})",
    "late": "an attempt that had been fenced reported success since: it has to be resolved again",
    "too_late": "the intent is too old to be dispatched",
    "refused": "{state} does not lead to {target}",
}


class RedisStepStore(SignedRecords):
    """The `StepStore` of `replaywright.ports`, on Redis or Valkey, single server or cluster."""

    def __init__(
        self,
        client: Client,
        *,
        signer: Signer = UNSIGNED,
        dispatch_within_s: float = 6.0,
        watch: StoreWatch | None = None,
    ) -> None:
        """Keep everything in the server of `client`.

        Args:
            client: may be shared.
            signer: signs written records and verifies read ones.
            dispatch_within_s: maximum age of an intent when the first bytes of the input are released.
            watch: knows if intents are safe with this server; without it they are assumed to be.
        """
        super().__init__(client, signer=signer)
        self._traces = SignedTraces(signer, self._alerts)
        self._dispatch_within_s = dispatch_within_s
        self._watch = watch

    # ---------------------------------------------------------------------------------------- ledger

    async def look_up(self, *, tenant: str, lineage: str, run_id: str, fingerprint: str, content_key: str) -> Known:
        """Return ledger record and cache entry; damaged data counts as absent, in the ledger as state DAMAGED.

        An empty `fingerprint` or `content_key` is not looked up.
        """
        commands = _looking_up(tenant, lineage, run_id, fingerprint, content_key)
        known = self._looked_up(await self._send(*commands), tenant, lineage, fingerprint, content_key)
        await self._alerts.flush()
        return known

    async def intend(self, intent: Intent) -> Known:
        """Write the intent to dispatch a commit step; see the port. Refused by a server that may drop it."""
        if self._watch is not None and self._watch.refusal:
            raise StoreUnavailable(self._watch.refusal)
        key = ledger_key(intent.tenant, intent.lineage, intent.fingerprint)
        held = "" if intent.held is None else json.dumps(intent.held)
        arguments: tuple[str | int, ...] = (intent.epoch, intent.attempt, str(self._dispatch_within_s), held)
        command = RedisCommand(INTEND, key, arguments)
        if intent.act:
            claim = (intent.act, intent.fingerprint, intent.over)
            command = RedisCommand(INTEND, key, (*arguments, *claim), (acts_key(intent.tenant, intent.lineage),))
        [reply] = await self._send(command)
        if reply[0] == b"elsewhere":
            raise DoneElsewhere(text_of(reply[1]))
        verdict, known = self._answer(key, reply)
        match verdict:
            case "granted":
                return Known(state="INTENT", epoch=intent.epoch)
            case "done":
                return known
            case _:
                raise _refused(verdict, known, key=key, fingerprint=intent.fingerprint, mine=intent.epoch)

    async def acts(self, *, tenant: str, lineage: str) -> dict[str, str]:
        """Return the owner step of each action of the lineage."""
        key = acts_key(tenant, lineage)
        [reply] = await self._send(RedisCommand("HGETALL", key))
        if self._is_damaged(key, reply):
            raise StoreUnavailable(
                f"the actions of {lineage} are damaged: find out what was done, then delete the key {key!r}"
            )
        return {text_of(act): text_of(fingerprint) for act, fingerprint in reply.items()}

    async def dispatch(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int, attempt: str) -> None:
        """INTENT to DISPATCHED: the permit to let the input's bytes go. Repeating it is granted again.

        Raises:
            Fenced: the intent is not this attempt's any more, or too old.
        """
        await self._change(DISPATCH, (tenant, lineage, fingerprint), (epoch, attempt), wanted=("granted",))

    async def record(self, recording: Recording) -> Known:
        """Write outcome, entry, statistics and trace, and look the next step up; see the port."""
        outcome, tenant, lineage = recording.outcome, recording.tenant, recording.lineage
        key = ledger_key(tenant, lineage, outcome.fingerprint)
        commands = _writing(recording, key, self._signer, self._traces)
        if recording.witnessed:
            commands.append(RedisCommand(WITNESS, trace_key(tenant, lineage), ("",)))
        written = len(commands)
        witness = ""
        commands += _looking_up(
            tenant, lineage, recording.candidates_of, recording.next_fingerprint, recording.next_content_key
        )
        replies = await self._send(*commands)
        for command, reply in zip(commands[:written], replies, strict=False):
            if command.what is APPEND:
                self._appended(command.key, reply)
            elif command.what in ("ZADD", "HSET"):
                self._is_damaged(command.key, reply)
            elif command.what is RECORD:
                verdict, known = self._answer(key, reply)
                if verdict != "recorded":
                    raise _refused(verdict, known, key=key, fingerprint=outcome.fingerprint, mine=recording.epoch)
            elif command.what is WITNESS:
                witness = text_of(reply)
        known = self._looked_up(
            replies[written:], tenant, lineage, recording.next_fingerprint, recording.next_content_key
        )
        await self._alerts.flush()
        return known.model_copy(update={"witness": witness}) if witness else known

    async def keep(self, *, tenant: str, run_id: str, entry: ActionCacheEntry) -> None:
        """Add a version to an entry, a candidate of this run."""
        await self._send(*_keeping(tenant, run_id, entry, self._signer))

    async def is_whole(self, *, tenant: str, lineage: str, witness: str) -> bool:
        """Return True if no write acknowledged since the `witness` can be lost; see the port."""
        [reply] = await self._send(RedisCommand(WITNESS, trace_key(tenant, lineage), (witness,)))
        return bool(witness) and reply == 1

    async def fence(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int) -> Known:
        """Raise the epoch and set RESOLVING; see the port."""
        wanted = ("granted", "done", "damaged")
        return await self._change(FENCE, (tenant, lineage, fingerprint), (epoch,), wanted=wanted)

    async def settle(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int, state: str, who: str) -> None:
        """End a resolution; see the port."""
        if state not in SETTLED:
            raise ValueError(f"a resolution ends in one of {', '.join(SETTLED)}, not {state!r}")
        if not who:
            raise ValueError("a resolution needs a name: the person, or the evidence, that decided")
        place = (tenant, lineage, fingerprint)
        await self._change(SETTLE, place, (epoch, state, who), wanted=("settled",), target=state)

    async def _change(
        self,
        script: LuaScript,
        place: tuple[str, str, str],
        arguments: tuple[Argument, ...],
        *,
        wanted: Sequence[str],
        target: str = "",
    ) -> Known:
        """Change the record of the step at `place` (tenant, lineage, fingerprint); return it as it was found.

        Raises:
            Fenced: the verdict is none of those `wanted`.
        """
        key = ledger_key(*place)
        [reply] = await self._send(RedisCommand(script, key, arguments))
        verdict, known = self._answer(key, reply)
        if verdict not in wanted:
            raise _refused(verdict, known, key=key, fingerprint=place[2], mine=int(arguments[0]), target=target)
        return known

    # ----------------------------------------------------------------------------------------- trace

    async def append_trace(self, *, tenant: str, lineage: str, line: dict[str, Any]) -> None:
        """Add one line, with `at` (the server's clock), `chain` and `id` in front."""
        await self.append_lines(tenant=tenant, lineage=lineage, lines=[line])

    async def append_lines(
        self, *, tenant: str, lineage: str, lines: Sequence[dict[str, Any]], witnessed: bool = False
    ) -> str:
        """Add lines in one round trip, as `append_trace` does; return a witness if it is asked for."""
        key = trace_key(tenant, lineage)
        asked = [RedisCommand(WITNESS, key, ("",))] if witnessed else []
        replies = await self._send(*(self._traces.appending(tenant, lineage, line) for line in lines), *asked)
        for reply in replies[: len(lines)]:
            self._appended(key, reply)
        return text_of(replies[-1]) if witnessed else ""

    async def trace(self, *, tenant: str, lineage: str) -> list[dict[str, Any]]:
        """Return the lines, oldest first, made `flat`; damaged ones and those with a wrong signature are left out."""
        key = trace_key(tenant, lineage)
        lines, seen = [], set[str]()
        for text in await self.stored_trace(tenant=tenant, lineage=lineage):
            try:
                line = json.loads(text)
            except ValueError:
                line = None
            if not isinstance(line, dict):
                self._reports.report(key, "a line is not a JSON object")
            elif self._traces.may_be_used(tenant, lineage, line, seen):
                lines.append(flat(line))
        await self._alerts.flush()
        return lines

    async def stored_trace(self, *, tenant: str, lineage: str) -> list[bytes]:
        """Return all lines as stored, including damaged ones."""
        key = trace_key(tenant, lineage)
        [reply] = await self._send(RedisCommand("LRANGE", key, (0, -1)))
        return [] if self._is_damaged(key, reply) else list(reply)

    # ---------------------------------------------------------------------------------- action cache

    async def promote(self, *, tenant: str, run_id: str, content_keys: Sequence[str]) -> tuple[int, int]:
        """Make this run's candidates active; see the port. The same answer when repeated."""
        keys = list(dict.fromkeys(content_keys))
        wanted = await self._to_promote(tenant, run_id, keys)
        commands = [
            RedisCommand(PROMOTE, entry_key(tenant, key), (run_id, *which))
            for key, which in zip(keys, wanted, strict=True)
        ]
        replies = await self._send(*commands)
        return sum(promoted for promoted, _ in replies), sum(held for _, held in replies)

    async def _to_promote(self, tenant: str, run_id: str, keys: Sequence[str]) -> list[tuple[str, str]]:
        """Return number and seal of the run's candidate to promote, for each entry."""
        signer = self._signer
        if signer.is_unsigned:
            return [("", "")] * len(keys)
        found = []
        replies = await self._send(*(_finding(tenant, key, "own", run_id) for key in keys))
        for key, (_, _, *rows) in zip(keys, replies, strict=True):
            self._read(tenant, key, (b"hash", 1, *rows))  # reports those that are refused
            found.append(signed_entries.to_promote(signer, tenant, key, rows))
        await self._alerts.flush()
        return found

    async def candidates(
        self, *, tenant: str, run_id: str, content_keys: Sequence[str], taker: str = ""
    ) -> list[ActionCacheEntry]:
        """Return what other runs found out and none has verified; see the port. The same answer when repeated."""
        arguments = (run_id, taker)
        replies = await self._send(
            *(RedisCommand(CANDIDATES, entry_key(tenant, key), arguments) for key in content_keys)
        )
        read = (self._read(tenant, key, reply)[0] for key, reply in zip(content_keys, replies, strict=True))
        found = [entry for entries in read for entry in entries]
        await self._alerts.flush()
        return found

    async def entries(self, *, tenant: str) -> list[EntryInfo]:
        """Return the current version of every entry: the active one, else the newest."""
        content_keys = await self._content_keys(tenant, "")
        found = []
        for start in range(0, len(content_keys), LISTED_AT_ONCE):
            some = content_keys[start : start + LISTED_AT_ONCE]
            replies = await self._send(*(_finding(tenant, key, "current") for key in some))
            for content_key, reply in zip(some, replies, strict=True):
                entry = next(iter(self._read(tenant, content_key, reply)[0]), None)
                if entry is not None:
                    found.append(EntryInfo(content_key=content_key, entry=entry, versions=reply[1]))
        await self._alerts.flush()
        return found

    async def versions(self, *, tenant: str, content_key: str) -> list[ActionCacheEntry]:
        """Return all versions of one entry, oldest first.

        Raises:
            InputInvalid: several entries begin with `content_key`.
        """
        content_keys = await self._content_keys(tenant, content_key)
        if not content_keys:
            return []
        if len(content_keys) > 1:
            some = ", ".join(key[: len(content_key) + 8] for key in content_keys[:3])
            raise InputInvalid(
                f"{len(content_keys)} entries begin with {content_key!r} ({some}, …): give more of the key"
            )
        [reply] = await self._send(_finding(tenant, content_keys[0], "all"))
        found = self._read(tenant, content_keys[0], reply)[0]
        await self._alerts.flush()
        return found

    async def invalidate(self, *, tenant: str, content_key: str, reason: str) -> int:
        """Retire all versions of the entries whose key starts with `content_key`; returns how many entries.

        Raises:
            InputInvalid: `content_key` is empty.
        """
        if not content_key:
            raise InputInvalid("name the entry to invalidate, or the beginning of its key")
        content_keys = await self._content_keys(tenant, content_key)
        replies = await self._send(*(RedisCommand(RETIRE, entry_key(tenant, key), (reason,)) for key in content_keys))
        return sum(replies)

    async def _content_keys(self, tenant: str, prefix: str) -> list[str]:
        """Return the keys that start with `prefix`; a whole digest is returned without a question."""
        if re.fullmatch("[0-9a-f]{64}", prefix):
            return [prefix]
        key = index_key(tenant)
        start = prefix.encode()
        [reply] = await self._send(RedisCommand("ZRANGEBYLEX", key, (b"[" + start, b"[" + start + b"\xff")))
        return [] if self._is_damaged(key, reply) else [text_of(member) for member in reply]

    # ------------------------------------------------------------------------------- reading replies

    def _looked_up(
        self, replies: Sequence[Any], tenant: str, lineage: str, fingerprint: str, content_key: str
    ) -> Known:
        rest = list(replies)
        known = self._ledger(ledger_key(tenant, lineage, fingerprint), rest.pop(0)) if fingerprint else Known()
        if not content_key:
            return known
        entries, refused = self._read(tenant, content_key, rest.pop(0))
        if not entries and not refused:
            return known
        return known.model_copy(update={"entry": entries[0] if entries else None, "refused": refused})

    def _ledger(self, key: str, reply: Mapping[bytes, bytes] | WrongType) -> Known:
        """Parse a whole record."""
        if self._is_damaged(key, reply) or isinstance(reply, WrongType):
            return Known(state=DAMAGED)
        if not reply:
            return Known()
        if reply.get(b"v") != LEDGER_VERSION:
            self._reports.report(
                key, f"layout version {text_of(reply.get(b'v', b''))!r} is not {text_of(LEDGER_VERSION)!r}"
            )
            return Known(state=DAMAGED)
        return self._known(key, [reply.get(name, b"") for name in (b"state", b"epoch", b"outcome", b"late", b"held")])

    def _answer(self, key: str, reply: Sequence[bytes]) -> tuple[str, Known]:
        """Parse a ledger script's verdict and the record that it found."""
        verdict = text_of(reply[0])
        if verdict == "damaged":
            self._reports.report(key, "not a ledger record of this version")
            return verdict, Known(state=DAMAGED)
        if not reply[1]:
            return verdict, Known()
        known = self._known(key, reply[1:])
        return ("damaged" if known.state == DAMAGED and verdict == "done" else verdict), known

    def _known(self, key: str, fields: Sequence[bytes]) -> Known:
        state, epoch, outcome, late, held = fields
        name = text_of(state)
        if name not in STATES or not epoch.isdigit():
            self._reports.report(key, f"state {name!r}, epoch {text_of(epoch)!r}")
            return Known(state=DAMAGED)
        found = self._outcome(key, outcome) if name == "COMMITTED" and outcome else None
        if name == "COMMITTED" and outcome and found is None:
            return Known(state=DAMAGED, epoch=int(epoch))
        known = Known(state=name, epoch=int(epoch), outcome=found, late=self._outcome(key, late) if late else None)
        return known.model_copy(update={"held": _indexes(held)})

    def _outcome(self, key: str, text: bytes) -> StepOutcome | None:
        try:
            return StepOutcome.model_validate_json(text)
        except ValidationError as exc:
            self._reports.report(key, f"its outcome cannot be read ({first_fault(exc)})")
            return None

    def _read(self, tenant: str, content_key: str, reply: Sequence[Any]) -> tuple[list[ActionCacheEntry], str]:
        """Return the readable, unaltered versions, and the sentence about refused ones."""
        key = entry_key(tenant, content_key)
        kind, number, *rows = reply
        if number == 0 and kind != b"none":
            self._reports.report(key, f"its type is {text_of(kind)}" if kind != b"hash" else "it has no versions")
        entries, refused = [], ""
        for row in rows:
            fault = signed_entries.fault_of(self._signer, tenant, content_key, row)
            if fault is not None:
                refused = self._alerts.report(tenant, "entry", f"{key} version {text_of(row[0])}", fault)
            elif (entry := self._version(key, content_key, row)) is not None:
                entries.append(entry)
        return entries, refused

    def _version(self, key: str, content_key: str, row: Sequence[bytes]) -> ActionCacheEntry | None:
        version, status, text, run_id, hold, hits, misses, heals, success, recent, *_ = row
        try:
            entry = ActionCacheEntry.model_validate_json(text)
            if entry.schema_version != SCHEMA or "schema_version" not in entry.model_fields_set:
                raise ValueError(f"schema version {entry.schema_version} is not {SCHEMA}")
            if entry.content_key != content_key:
                raise ValueError(f"it is the entry of {entry.content_key!r}")
            beside = {
                "version": int(version),
                "status": EntryStatus(text_of(status)),
                "run_id": text_of(run_id),
                "hold": hold == b"1",
                "hits": int(hits or 0),
                "misses": int(misses or 0),
                "heals": int(heals or 0),
                "last_success": float(success or 0),
                "recent": text_of(recent) if re.fullmatch(rb"[01]{0,20}", recent) else "",
            }
        except ValueError as exc:
            self._reports.report(key, f"version {text_of(version)} cannot be used ({first_fault(exc)})")
            return None
        return entry.model_copy(update=beside)

    def _appended(self, key: str, reply: Sequence[Any]) -> None:
        """Remember the line of the trace that was added, or report a key of another type."""
        if reply[0] not in {b"none", b"list"}:
            self._reports.report(key, f"its type is {text_of(reply[0])}")
        self._traces.appended(key, reply)


# ------------------------------------------------------------------------------------ building commands


def _finding(tenant: str, content_key: str, what: str, run_id: str = "") -> RedisCommand:
    return RedisCommand(FIND, entry_key(tenant, content_key), (what, run_id))


def _looking_up(tenant: str, lineage: str, run_id: str, fingerprint: str, content_key: str) -> list[RedisCommand]:
    commands = []
    if fingerprint:
        commands.append(RedisCommand("HGETALL", ledger_key(tenant, lineage, fingerprint)))
    if content_key:
        commands.append(_finding(tenant, content_key, "use", run_id))
    return commands


def _writing(recording: Recording, key: str, signer: Signer, traces: SignedTraces) -> list[RedisCommand]:
    """Build the commands of a recording; the ledger comes first, in case the connection breaks."""
    outcome, entry = recording.outcome, recording.entry
    outcome_json = outcome.model_dump_json(by_alias=True, exclude_defaults=True)
    _limit("a step's outcome", outcome_json, OUTCOME_LIMIT)
    commands = []
    if outcome.status is Status.DONE:
        if not outcome.fingerprint:
            raise ValueError("an outcome without a fingerprint cannot be recorded")
        commands.append(RedisCommand(RECORD, key, (recording.epoch, outcome_json)))
        if recording.act and not outcome.effect.repeatable:
            acts = acts_key(recording.tenant, recording.lineage)
            commands.append(RedisCommand("HSET", acts, (recording.act, outcome.fingerprint)))
    counted = counted_as(outcome)
    is_done = outcome.status is Status.DONE
    if recording.used_version and outcome.content_key and (counted or is_done):
        succeeded, performance = "1" if is_done else "", f"{recording.run_id}/{recording.sequence}"
        arguments = (secrets.token_hex(8), recording.used_version, counted, succeeded, performance)
        commands.append(RedisCommand(COUNT, entry_key(recording.tenant, outcome.content_key), arguments))
    if entry is not None:
        commands += _keeping(recording.tenant, recording.candidates_of, entry, signer)
    commands.append(traces.appending(recording.tenant, recording.lineage, recording.line, recording.line_id))
    return commands


def _keeping(tenant: str, run_id: str, entry: ActionCacheEntry, signer: Signer) -> list[RedisCommand]:
    text = entry.model_dump_json(by_alias=True, exclude=_BESIDE)
    _limit(f"the cache entry of {entry.instruction[:80]!r}", text, ENTRY_LIMIT)
    hold = "1" if entry.hold else ""
    signature = signer.sign(signed_entries.written(tenant, entry.content_key, text, run_id, hold))
    kept = (text, run_id, hold, signature)
    return [
        RedisCommand(KEEP, entry_key(tenant, entry.content_key), kept),
        RedisCommand("ZADD", index_key(tenant), (0, entry.content_key)),
    ]


def _limit(what: str, text: str, limit: int) -> None:
    size = len(text.encode())
    if size > limit:
        raise ValueTooLarge(f"{what} has {size} bytes, the limit is {limit}: put large values in the artifact store")


def _indexes(text: bytes) -> tuple[int, ...] | None:
    """Parse the indexes of held expectations; None for anything else."""
    if not re.fullmatch(rb"\[(\d+(, \d+)*)?\]", text):
        return None
    return tuple(json.loads(text))


def _refused(verdict: str, known: Known, *, key: str, fingerprint: str, mine: int, target: str = "") -> Fenced:
    why = _REFUSALS[verdict].format(
        key=key, state=known.state or "no record", epoch=known.epoch, mine=mine, target=target
    )
    return Fenced(f"step {fingerprint[:12]}: {why}")
