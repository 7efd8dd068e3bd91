"""Signing what is in the store already: what was written before there were keys, or with a key that is to go.

Only what has no signature, or one of a known key that is not the first any more, is signed. What is signed with an
unknown key, or is not what its signature is of, stays as it is: no command makes that trusted.
"""

import json
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from cache import signed_entries, signed_skills
from cache.connection import Client, translated
from cache.keys import entry_key, overrides_key, skill_key, skill_statuses_key, trace_key
from cache.overrides import signed_rule
from cache.replies import WrongType, pipelined, send
from cache.scripts import FIND, FIND_SKILL, SIGN_ENTRY, SIGN_LINE, SIGN_SKILL, Command
from replaywright.domain.secrets.signing import Fault, Signed, Signer
from replaywright.domain.skill.entries import EntryStatus
from replaywright.domain.skill.skills import SkillStatus
from replaywright.domain.trace.trace import content_digest, line_fault, line_signature

_SCANNED_AT_ONCE = 1_000
_STATUSES = frozenset(status.value for status in SkillStatus)


@dataclass
class Survey:
    """What was found, by kind: entry, skill, override, trace."""

    signed: dict[str, int] = field(default_factory=dict)
    """With the key that signs now."""
    to_sign: dict[str, int] = field(default_factory=dict)
    """Without a signature, or with one of an older key."""
    refused: dict[str, int] = field(default_factory=dict)
    """Altered, or signed with a key that is not known: it stays refused."""
    names: set[str] = field(default_factory=set)
    """Of what is to be signed."""
    told: list[str] = field(default_factory=list)
    """Names of what is to be signed, and of what is refused."""

    def add(self, kind: str, name: str, fault: Fault | None, *, current: bool) -> bool:
        """Count one record; whether it is to be signed."""
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
        """Go through all of them; nothing is changed.

        Raises:
            StoreUnavailable: Redis does not answer.
        """
        survey = Survey()
        async for _ in self._found(survey):
            pass
        return survey

    async def sign(self, names: Collection[str]) -> int:
        """Sign what has one of these `names` and is still to be signed; returns how many were.

        Raises:
            StoreUnavailable: Redis does not answer; what was signed stays so.
        """
        commands = [command async for name, command in self._found(Survey()) if name in names]
        replies = await self._send(commands)
        # An override is replaced: HSET says that it added nothing.
        return sum(
            reply == (0 if command.what == "HSET" else 1) for command, reply in zip(commands, replies, strict=True)
        )

    async def _found(self, survey: Survey) -> AsyncIterator[tuple[str, Command]]:
        """Name and command of what is to be signed."""
        async for content_key in self._names(entry_key(self._tenant, "*")):
            for found in await self._entry(survey, content_key):
                yield found
        async for name in self._names(skill_key(self._tenant, "*")):
            for found in await self._skill(survey, name):
                yield found
        for found in await self._overrides(survey):
            yield found
        async for lineage in self._names(trace_key(self._tenant, "*")):
            for found in await self._trace(survey, lineage):
                yield found

    async def _entry(self, survey: Survey, content_key: str) -> list[tuple[str, Command]]:
        key = entry_key(self._tenant, content_key)
        [(_, _, *rows)] = await self._send([Command(FIND, key, ("all", ""))])
        commands: list[tuple[str, Command]] = []
        for row in rows:
            number, status, text, run, hold, *_, signature, seal = row
            run_id, version = _text(run), int(number)
            written = signed_entries.written(self._tenant, content_key, text, run_id, hold)
            promoted = signed_entries.promoted(self._tenant, content_key, text, run_id, version)
            active = status == EntryStatus.ACTIVE.value.encode()
            fault, current = self._state((written, signature), (promoted, seal) if active else None)
            if survey.add("entry", told_as := f"{key} version {version}", fault, current=current):
                told = (version, text, self._signer.sign(written), self._signer.sign(promoted) if active else "")
                commands.append((told_as, Command(SIGN_ENTRY, key, told)))
        return commands

    async def _skill(self, survey: Survey, name: str) -> list[tuple[str, Command]]:
        key, beside = skill_key(self._tenant, name), (skill_statuses_key(self._tenant, name),)
        [(_, numbers, *places)] = await self._send([Command(FIND_SKILL, key, ("",), beside)])
        own, register = places[:2]
        known = signed_skills.statuses_before(self._signer, self._tenant, name, own, register)
        found: list[tuple[str, tuple[str | bytes | int, ...]]] = []
        statuses = dict(known.versions)
        for version in map(int, numbers.split()):
            [(*_, row)] = await self._send([Command(FIND_SKILL, key, (version,), beside)])
            for _, status, text, run, _, unique, signature in [row] if isinstance(row, list) else []:
                id_ = _text(unique)
                written = signed_skills.written(
                    self._tenant, name, text, run_id=_text(run), unique=id_, version=version
                )
                said, _, by = register.partition(b"\n")
                by = by if version in known.versions else b""
                fault, current = self._state(
                    (written, signature), (signed_skills.statuses_signed(self._tenant, name, said), by)
                )
                if (
                    own != register
                    or _text(status) not in _STATUSES
                    or (by and known.versions[version] != (id_, _text(status)))
                ):
                    fault = Fault.ALTERED
                if survey.add("skill", told_as := f"{key} version {version}", fault, current=current):
                    statuses[version] = (id_, SkillStatus(_text(status)))
                    found.append((told_as, (version, text, self._signer.sign(written), own, register)))
        after = signed_skills.Statuses(known.generation + 1, statuses).signed(self._signer, self._tenant, name)
        return [(told_as, Command(SIGN_SKILL, key, (*told, after), beside)) for told_as, told in found]

    async def _overrides(self, survey: Survey) -> list[tuple[str, Command]]:
        key = overrides_key(self._tenant)
        [found] = await self._send([Command("HGETALL", key)])
        commands: list[tuple[str, Command]] = []
        for name, value in [] if isinstance(found, WrongType) else sorted(found.items()):
            text, _, signature = value.partition(b"\n")
            rule = signed_rule(self._tenant, _text(name), text)
            fault, current = self._state((rule, signature), None)
            if survey.add("override", told_as := f"{key} {_text(name)}", fault, current=current):
                signed = text + b"\n" + self._signer.sign(rule).encode()
                commands.append((told_as, Command("HSET", key, (name, signed))))
        return commands

    async def _trace(self, survey: Survey, lineage: str) -> list[tuple[str, Command]]:
        key = trace_key(self._tenant, lineage)
        [found] = await self._send([Command("LRANGE", key, (0, -1))])
        commands: list[tuple[str, Command]] = []
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
            if survey.add("trace", told_as := f"{key} line {position}", fault, current=current):
                after = str(given.get("after", ""))
                by = line_signature(self._signer, self._tenant, lineage, content_digest(line), after)
                rest = {name: value for name, value in line.items() if name != "sig"}
                signed = json.dumps({**rest, "sig": {"after": after, "by": by}}, separators=(",", ":"))
                commands.append((told_as, Command(SIGN_LINE, key, (position, text, signed))))
        return commands

    def _state(self, *pairs: tuple[Signed, bytes] | None) -> tuple[Fault | None, bool]:
        """The first fault that is not merely a missing signature, else that, and whether the newest key made all."""
        given = [(what, _text(signature)) for what, signature in filter(None, pairs)]
        faults: list[Fault | None] = [
            fault for what, text in given if (fault := self._signer.fault(what, text)) is not None
        ]
        worst = next((fault for fault in (Fault.ALTERED, Fault.UNKNOWN_KEY, Fault.UNSIGNED) if fault in faults), None)
        if worst is Fault.UNSIGNED and given[0][1] and len(given) > 1:
            worst = Fault.ALTERED  # written by someone with a key, and made active by someone without one
        return worst, all(self._signer.is_current(text) for _, text in given)

    async def _names(self, pattern: str) -> AsyncIterator[str]:
        """What stands for the star in the keys that are like this one."""
        before, after = pattern.split("%2A")
        names = set()
        with translated(self._client):
            async for key in self._client.scan_iter(
                match=f"{_literal(before)}*{_literal(after)}", count=_SCANNED_AT_ONCE
            ):
                name = _text(key).removeprefix(before).removesuffix(after)
                if "/" not in name and ":" not in name and "}" not in name:
                    names.add(unquote(name))
        for name in sorted(names):
            yield name

    async def _send(self, commands: Sequence[Command]) -> list[Any]:
        return await send(self._client, commands, lambda short: pipelined(self._client, short))


def _literal(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in text)


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
