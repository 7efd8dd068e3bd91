"""Signing of existing records, written before there were keys or with an outgoing key.

Only records without a signature, or with one of a known older key, are signed. Altered records and those with an
unknown key stay refused: no command makes them trusted.
"""

import json
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from cache.connection import Client
from cache.keys import entry_key, overrides_key, skill_key, skill_statuses_key, trace_key
from cache.overrides import signed_rule
from cache.replies import WrongType, names_in, send, text_of
from cache.scripts import FIND, FIND_SKILL, SIGN_ENTRY, SIGN_LINE, SIGN_SKILL, RedisCommand
from cache.signing import signed_entries, signed_skills
from replaywright.domain.secrets.signing import Fault, Signed, Signer
from replaywright.domain.skill.entries import EntryStatus
from replaywright.domain.skill.skills import SkillStatus
from replaywright.domain.trace.trace import content_digest, line_fault, line_signature

_STATUSES = frozenset(status.value for status in SkillStatus)


@dataclass
class Survey:
    """Result of a look, by kind: entry, skill, override, trace."""

    signed: dict[str, int] = field(default_factory=dict)
    """Signed with the current key."""
    to_sign: dict[str, int] = field(default_factory=dict)
    """Without a signature, or with one of an older key."""
    refused: dict[str, int] = field(default_factory=dict)
    """Altered, or signed with an unknown key: these stay refused."""
    names: set[str] = field(default_factory=set)
    """Names of the records to sign."""
    told: list[str] = field(default_factory=list)
    """Lines about the records to sign and the refused ones."""

    def add(self, kind: str, name: str, fault: Fault | None, *, current: bool) -> bool:
        """Count one record; return True if it is to be signed."""
        where = self.signed
        if fault in (Fault.ALTERED, Fault.UNKNOWN_KEY):
            where = self.refused
            self.told.append(f"{name}: refused: {fault.value}")
        elif fault is Fault.UNSIGNED or not current:
            where = self.to_sign
            self.names.add(name)
            self.told.append(f"{name}: {fault.value if fault else 'signed with an older key'}")
        where[kind] = where.get(kind, 0) + 1
        return where is self.to_sign


class Existing:
    """One tenant's records."""

    def __init__(self, client: Client, tenant: str, signer: Signer) -> None:
        self._client = client
        self._tenant = tenant
        self._signer = signer

    async def look(self) -> Survey:
        """Survey all records without a change.

        Raises:
            StoreUnavailable: Redis does not answer.
        """
        survey = Survey()
        async for _ in self._found(survey):
            pass
        return survey

    async def sign(self, names: Collection[str]) -> int:
        """Sign the records with these `names` that still need it; return their number.

        Raises:
            StoreUnavailable: Redis does not answer; what was signed stays so.
        """
        commands = [command async for name, command in self._found(Survey()) if name in names]
        replies = await self._send(commands)
        # An override is replaced: HSET says that it added nothing.
        return sum(
            reply == (0 if command.what == "HSET" else 1) for command, reply in zip(commands, replies, strict=True)
        )

    async def _found(self, survey: Survey) -> AsyncIterator[tuple[str, RedisCommand]]:
        """Yield name and command of each record to sign."""
        for content_key in await names_in(self._client, entry_key(self._tenant, "*")):
            for found in await self._entry(survey, content_key):
                yield found
        for name in await names_in(self._client, skill_key(self._tenant, "*")):
            for found in await self._skill(survey, name):
                yield found
        for found in await self._overrides(survey):
            yield found
        for lineage in await names_in(self._client, trace_key(self._tenant, "*")):
            for found in await self._trace(survey, lineage):
                yield found

    async def _entry(self, survey: Survey, content_key: str) -> list[tuple[str, RedisCommand]]:
        key = entry_key(self._tenant, content_key)
        [(_, _, *rows)] = await self._send([RedisCommand(FIND, key, ("all", ""))])
        commands: list[tuple[str, RedisCommand]] = []
        for row in rows:
            number, status, text, run, hold, *_, signature, seal = row
            run_id, version = text_of(run), int(number)
            written = signed_entries.written(self._tenant, content_key, text, run_id, hold)
            promoted = signed_entries.promoted(self._tenant, content_key, text, run_id, version)
            active = status == EntryStatus.ACTIVE.value.encode()
            fault, current = self._state((written, signature), (promoted, seal) if active else None)
            if survey.add("entry", record := f"{key} version {version}", fault, current=current):
                arguments = (version, text, self._signer.sign(written), self._signer.sign(promoted) if active else "")
                commands.append((record, RedisCommand(SIGN_ENTRY, key, arguments)))
        return commands

    async def _skill(self, survey: Survey, name: str) -> list[tuple[str, RedisCommand]]:
        key, beside = skill_key(self._tenant, name), (skill_statuses_key(self._tenant, name),)
        [(_, numbers, *places)] = await self._send([RedisCommand(FIND_SKILL, key, ("",), beside)])
        own, register = places[:2]
        known = signed_skills.statuses_before(self._signer, self._tenant, name, own, register)
        found: list[tuple[str, tuple[str | bytes | int, ...]]] = []
        statuses = dict(known.versions)
        for version in map(int, numbers.split()):
            [(*_, row)] = await self._send([RedisCommand(FIND_SKILL, key, (version,), beside)])
            for _, status, text, run, _, unique, signature in [row] if isinstance(row, list) else []:
                id_ = text_of(unique)
                written = signed_skills.written(
                    self._tenant, name, text, run_id=text_of(run), unique=id_, version=version
                )
                kept, _, by = register.partition(b"\n")
                by = by if version in known.versions else b""
                fault, current = self._state(
                    (written, signature), (signed_skills.statuses_signed(self._tenant, name, kept), by)
                )
                if (
                    own != register
                    or text_of(status) not in _STATUSES
                    or (by and known.versions[version] != (id_, text_of(status)))
                ):
                    fault = Fault.ALTERED
                if survey.add("skill", record := f"{key} version {version}", fault, current=current):
                    statuses[version] = (id_, SkillStatus(text_of(status)))
                    found.append((record, (version, text, self._signer.sign(written), own, register)))
        after = signed_skills.Statuses(known.generation + 1, statuses).signed(self._signer, self._tenant, name)
        return [(record, RedisCommand(SIGN_SKILL, key, (*arguments, after), beside)) for record, arguments in found]

    async def _overrides(self, survey: Survey) -> list[tuple[str, RedisCommand]]:
        key = overrides_key(self._tenant)
        [found] = await self._send([RedisCommand("HGETALL", key)])
        commands: list[tuple[str, RedisCommand]] = []
        for name, value in [] if isinstance(found, WrongType) else sorted(found.items()):
            text, _, signature = value.partition(b"\n")
            rule = signed_rule(self._tenant, text_of(name), text)
            fault, current = self._state((rule, signature), None)
            if survey.add("override", record := f"{key} {text_of(name)}", fault, current=current):
                signed = text + b"\n" + self._signer.sign(rule).encode()
                commands.append((record, RedisCommand("HSET", key, (name, signed))))
        return commands

    async def _trace(self, survey: Survey, lineage: str) -> list[tuple[str, RedisCommand]]:
        key = trace_key(self._tenant, lineage)
        [found] = await self._send([RedisCommand("LRANGE", key, (0, -1))])
        commands: list[tuple[str, RedisCommand]] = []
        for position, text in enumerate([] if isinstance(found, WrongType) else found):
            try:
                line: Any = json.loads(text)
            except ValueError:
                continue
            if not isinstance(line, dict):
                continue
            fault = line_fault(self._signer, self._tenant, lineage, line)
            sig = line.get("sig")
            given: dict[str, Any] = sig if isinstance(sig, dict) else {}
            current = self._signer.is_current(str(given.get("by", "")))
            if survey.add("trace", record := f"{key} line {position}", fault, current=current):
                after = str(given.get("after", ""))
                by = line_signature(self._signer, self._tenant, lineage, content_digest(line), after)
                rest = {name: value for name, value in line.items() if name != "sig"}
                signed = json.dumps({**rest, "sig": {"after": after, "by": by}}, separators=(",", ":"))
                commands.append((record, RedisCommand(SIGN_LINE, key, (position, text, signed))))
        return commands

    def _state(self, *pairs: tuple[Signed, bytes] | None) -> tuple[Fault | None, bool]:
        """Return the worst fault, and whether the current key made all signatures."""
        given = [(what, text_of(signature)) for what, signature in filter(None, pairs)]
        faults: list[Fault | None] = [
            fault for what, text in given if (fault := self._signer.fault(what, text)) is not None
        ]
        worst = next((fault for fault in (Fault.ALTERED, Fault.UNKNOWN_KEY, Fault.UNSIGNED) if fault in faults), None)
        if worst is Fault.UNSIGNED and given[0][1] and len(given) > 1:
            worst = Fault.ALTERED  # written by someone with a key, and made active by someone without one
        return worst, all(self._signer.is_current(text) for _, text in given)

    async def _send(self, commands: Sequence[RedisCommand]) -> list[Any]:
        return await send(self._client, commands)
