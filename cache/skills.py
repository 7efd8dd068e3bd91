"""The knowledge base in Redis: versions of skills, statistics, and learning claims.

A tenant's skills lie in one slot, so that one script changes a skill, its index entry and the stamps together. Only
claims expire: the server must not evict keys.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from cache.connection import Client
from cache.keys import (
    claim_key,
    skill_changes_key,
    skill_history_key,
    skill_key,
    skill_statistics_key,
    skill_statuses_key,
    skills_key,
)
from cache.replies import SignedRecords, WrongType, text_of
from cache.scripts import (
    CLAIM,
    DELETE_SKILL,
    FIND_SKILL,
    NOTE_SKILL_RUN,
    RELEASE,
    SAVE_SKILL,
    SET_SKILL_STATUS,
    Argument,
    LuaScript,
    RedisCommand,
)
from cache.signing import signed_skills
from cache.signing.signed_skills import Statuses
from cache.skill_memory import SkillMemory
from replaywright.domain.common.base import first_fault
from replaywright.domain.secrets.signing import UNSIGNED, Signer
from replaywright.domain.skill.skills import (
    HISTORY_KEPT,
    SCHEMA,
    Rate,
    Skill,
    SkillChange,
    SkillRecord,
    SkillRun,
    SkillStatistics,
    SkillStatus,
)
from replaywright.errors import StoreUnavailable, ValueTooLarge

SKILL_LIMIT = 256 * 1024
"""Bytes of one version as JSON."""
SAVES_TRIED = CHANGES_TRIED = 50
"""Attempts to sign a version whose number another writer took, and statuses that another writer changed."""
READ_AT_ONCE = 500
"""Skills in one pipeline."""

_BESIDE = {"version", "status", "run_id", "created"}
"""Fields of a skill that are not in its JSON."""
_SAVED_AS = {
    "learned": ("created", "relearned"),
    "relearned": ("created", "relearned"),
    "imported": ("imported", "imported"),
    "written": ("created", "edited"),
}
"""Names of a save in the history by origin: for the first version and for later ones."""


@dataclass(frozen=True)
class Change:
    """A change of a skill with the arguments of its script."""

    script: LuaScript
    tenant: str
    name: str
    who: str
    reason: str
    given: tuple[Argument, ...] = ()


class RedisSkills(SignedRecords):
    """The `Skills` of `replaywright.ports`, on Redis or Valkey, single server or cluster."""

    def __init__(self, client: Client, *, signer: Signer = UNSIGNED) -> None:
        super().__init__(client, signer=signer)
        self._memory = SkillMemory()

    # ---------------------------------------------------------------------------------------- changing

    async def save(self, tenant: str, skill: Skill, *, who: str, reason: str = "") -> Skill:
        """Add a version; see the port."""
        text = _as_json(skill)
        if (size := len(text.encode())) > SKILL_LIMIT:
            raise ValueTooLarge(
                f"skill {skill.name!r} has {size} bytes as JSON, the limit is {SKILL_LIMIT}: split its task"
            )
        digest = hashlib.sha256(text.encode()).hexdigest()
        unique = f"{skill.run_id}/{digest}" if skill.run_id else secrets.token_hex(16)
        given = (unique, text, skill.status.value, skill.run_id, skill.site, *_SAVED_AS[skill.origin])
        number = 1
        for _ in range(SAVES_TRIED):  # the signed number may be taken by another writer
            signed = signed_skills.written(tenant, skill.name, text, run_id=skill.run_id, unique=unique, version=number)
            saved = await self._change_status(
                Change(SAVE_SKILL, tenant, skill.name, who, reason, (*given, number, self._signer.sign(signed))),
                partial(Statuses.having, version=number, unique=unique, status=skill.status),
            )
            if saved[0]:
                break
            number = int(saved[1])
        else:
            raise StoreUnavailable(
                f"skill {skill.name!r} lost the race for a version number repeatedly: save it again later"
            )
        version, status, at = saved
        stored = {"version": int(version), "status": SkillStatus(text_of(status)), "created": float(at)}
        return skill.model_copy(update={**stored, "schema_version": SCHEMA})

    async def set_status(
        self, tenant: str, name: str, version: int, status: SkillStatus, *, who: str, reason: str
    ) -> bool:
        """Change a version's status; see the port. An altered version is refused."""
        unique = ""
        if not self._signer.is_unsigned:
            [found] = await self._send(_finding(tenant, name, version))
            if self._skill(tenant, name, found) is None:
                await self._alerts.flush()
                return False
            unique = text_of(found[4][5])
        return bool(
            await self._change_status(
                Change(SET_SKILL_STATUS, tenant, name, who, reason, (version, status.value)),
                partial(Statuses.having, version=version, unique=unique, status=status),
            )
        )

    async def note_run(self, tenant: str, name: str, run: SkillRun) -> None:
        """Count a run; see the port."""
        given: tuple[Argument, ...] = (run.run_id, run.version, "1" if run.succeeded else "", run.steps_done)
        failed = "" if run.failed_step is None else run.failed_step
        given = (*given, failed, "1" if run.outside else "")
        change = Change(NOTE_SKILL_RUN, tenant, name, run.run_id, run.why, given)
        if run.succeeded or run.outside:  # no status depends on it
            await self._change(change)
        else:
            await self._change_status(change, partial(_suspected, version=run.version))

    async def delete(self, tenant: str, name: str, *, who: str) -> bool:
        """Remove all versions; see the port."""
        return bool(await self._change_status(Change(DELETE_SKILL, tenant, name, who, ""), Statuses.emptied))

    async def claim(self, tenant: str, key: str, run_id: str, ttl_s: float) -> str:
        """Claim `key` for learning by the server's clock; see the port."""
        milliseconds = max(1, round(ttl_s * 1000))
        [holder] = await self._send(RedisCommand(CLAIM, claim_key(tenant, key), (run_id, milliseconds)))
        return text_of(holder)

    async def release(self, tenant: str, key: str, run_id: str) -> None:
        """Give a claim up; see the port."""
        await self._send(RedisCommand(RELEASE, claim_key(tenant, key), (run_id,)))

    # ----------------------------------------------------------------------------------------- reading

    async def get(self, tenant: str, name: str, version: int | None = None) -> Skill | None:
        """Return one version; see the port."""
        [reply] = await self._send(_finding(tenant, name, version))
        found = self._skill(tenant, name, reply)
        await self._alerts.flush()
        return found

    async def record(self, tenant: str, name: str) -> SkillRecord | None:
        """Return skill, statistics and history; see the port."""
        statistics, history = skill_statistics_key(tenant, name), skill_history_key(tenant, name)
        found, counted, lines = await self._send(
            _finding(tenant, name),
            RedisCommand("HGETALL", statistics),
            RedisCommand("LRANGE", history, (-HISTORY_KEPT, -1)),
        )
        skill = self._skill(tenant, name, found)
        await self._alerts.flush()
        if skill is None:
            return None
        return SkillRecord(
            skill=skill,
            versions=tuple(map(int, found[1].split())),
            statistics=self._statistics(statistics, counted, skill.version),
            history=self._history(history, lines),
        )

    async def all(self, tenant: str, site: str | None = None) -> Sequence[Skill]:
        """Return one version of each skill; see the port. One small round trip without changes."""
        stamp = await self.revision(tenant, site)
        kept = self._memory.lists.get((tenant, site))
        if kept is not None and kept[0] == stamp:
            self._memory.lists.move_to_end((tenant, site))
            return kept[1]
        index = skills_key(tenant)
        first, last = (b"-", b"+") if site is None else (b"[" + site.encode() + b"\0", b"(" + site.encode() + b"\1")
        [members] = await self._send(RedisCommand("ZRANGEBYLEX", index, (first, last)))
        if self._is_damaged(index, members):
            return ()
        names = sorted({text_of(member.rpartition(b"\0")[2]) for member in members})
        found: list[Skill] = []
        for start in range(0, len(names), READ_AT_ONCE):
            found += await self._read(tenant, names[start : start + READ_AT_ONCE])
        skills = tuple(skill for skill in found if site is None or skill.site == site)
        if stamp:  # without one there are no changes, or the stamps are damaged
            self._memory.keep_list(tenant, site, stamp, skills)
        return skills

    async def revision(self, tenant: str, site: str | None = None) -> str:
        """Return a text that changes with the answer of `all`; see the port."""
        stamps = skill_changes_key(tenant)
        [stamp] = await self._send(RedisCommand("HGET", stamps, ("all" if site is None else f"site/{site}",)))
        return "" if self._is_damaged(stamps, stamp) or stamp is None else text_of(stamp)

    async def statistics(self, tenant: str, skills: Sequence[Skill]) -> Mapping[str, SkillStatistics]:
        """Return the statistics of these versions; see the port."""
        found = {}
        for start in range(0, len(skills), READ_AT_ONCE):
            some = skills[start : start + READ_AT_ONCE]
            keys = [skill_statistics_key(tenant, skill.name) for skill in some]
            replies = await self._send(*(RedisCommand("HGETALL", key) for key in keys))
            for skill, key, reply in zip(some, keys, replies, strict=True):
                found[skill.name] = self._statistics(key, reply, skill.version)
        return found

    async def _read(self, tenant: str, names: Sequence[str]) -> list[Skill]:
        """Return these skills; unchanged stamps come from memory."""
        stamps = skill_changes_key(tenant)
        [found] = await self._send(RedisCommand("HMGET", stamps, tuple(f"skill/{name}" for name in names)))
        usable = [] if self._is_damaged(stamps, found) else zip(names, found, strict=True)
        now = {name: text_of(stamp) for name, stamp in usable if stamp}
        old = {name: self._memory.skills.get((tenant, name)) for name in names}
        read = [name for name in names if (kept := old[name]) is None or kept[0] != now.get(name)]
        replies = await self._send(*(_finding(tenant, name) for name in read))
        skills = {name: kept[1] for name in names if (kept := old[name]) is not None}
        for name, reply in zip(read, replies, strict=True):
            skills[name] = self._skill(tenant, name, reply)
            if name in now:
                self._memory.keep(tenant, name, now[name], skills[name])
        await self._alerts.flush()
        return [skill for name in names if (skill := skills[name]) is not None]

    # --------------------------------------------------------------------------------- reading replies

    def _skill(self, tenant: str, name: str, reply: Sequence[Any]) -> Skill | None:
        """Return the version in a reply of FIND_SKILL; None if unusable."""
        key = skill_key(tenant, name)
        kind, _, own, beside, *rows = reply
        if kind not in {b"none", b"hash"}:
            self._reports.report(key, f"its type is {text_of(kind)}")
        if not rows:
            return None
        version, _, text, run, at, *_ = rows[0]
        status, fault = signed_skills.counted(self._signer, tenant, name, (own, beside), rows[0])
        if fault is not None:
            self._alerts.report(tenant, "skill", f"{key} version {text_of(version)}", fault)
        if not status:
            return None
        try:
            skill = Skill.model_validate_json(text)
            if skill.schema_version != SCHEMA or "schema_version" not in skill.model_fields_set:
                raise ValueError(f"schema version {skill.schema_version} is not {SCHEMA}")
            if skill.name != name:
                raise ValueError(f"it is the skill {skill.name!r}")
            beside = {
                "version": int(version),
                "status": SkillStatus(text_of(status)),
                "run_id": text_of(run),
                "created": float(at),
            }
        except ValueError as exc:
            self._reports.report(key, f"version {text_of(version)} cannot be used ({first_fault(exc)})")
            return None
        return skill.model_copy(update=beside)

    def _statistics(self, key: str, reply: Mapping[bytes, bytes] | WrongType, version: int) -> SkillStatistics:
        if self._is_damaged(key, reply) or isinstance(reply, WrongType):
            return SkillStatistics()
        head = f"step:{version}:"
        try:
            fields = {text_of(name): text_of(value) for name, value in reply.items()}
            steps = [(int(name.removeprefix(head)), _rate(fields[name])) for name in fields if name.startswith(head)]
            return SkillStatistics(
                runs=_rate(fields["runs"]) if "runs" in fields else Rate(),
                steps=dict(sorted(steps)),
                last_success=float(fields.get("last_success", 0)),
                last_failure=float(fields.get("last_failure", 0)),
            )
        except ValueError as exc:
            self._reports.report(key, str(exc))
            return SkillStatistics()

    def _history(self, key: str, reply: Sequence[bytes] | WrongType) -> tuple[SkillChange, ...]:
        if self._is_damaged(key, reply) or isinstance(reply, WrongType):
            return ()
        lines = []
        for text in reply:
            try:
                lines.append(SkillChange.model_validate_json(text))
            except ValidationError as exc:
                self._reports.report(key, f"a line cannot be read ({first_fault(exc)})")
        return tuple(lines)

    # --------------------------------------------------------------------------------------- sending

    async def _change_status(self, change: Change, following: Callable[[Statuses], Statuses | None]) -> Any:
        """Make a change of statuses: `following` returns the new ones, None for no change."""
        if self._signer.is_unsigned:
            return await self._change(change)
        tenant, name = change.tenant, change.name
        for _ in range(CHANGES_TRIED):  # another writer may change the signed statuses
            [(_, _, own, beside, *_)] = await self._send(_finding(tenant, name))
            before = signed_skills.statuses_before(self._signer, tenant, name, own, beside)
            after = following(before)
            signed = "" if after is None else after.signed(self._signer, tenant, name)
            reply = await self._change(change, ("1", own, beside, before.said, signed))
            if reply != [b"again"]:
                return reply
        raise StoreUnavailable(f"skill {name!r} lost the race for a status change repeatedly: try again later")

    async def _change(self, change: Change, statuses: Sequence[Argument] = ("", "", "", "", "")) -> Any:
        tenant, name = change.tenant, change.name
        key = skill_key(tenant, name)
        beside = (
            skill_statistics_key(tenant, name),
            skill_history_key(tenant, name),
            skills_key(tenant),
            skill_changes_key(tenant),
            skill_statuses_key(tenant, name),
        )
        arguments = (name, _clean(change.who), _clean(change.reason), *statuses, *change.given)
        [reply] = await self._send(RedisCommand(change.script, key, arguments, beside))
        if isinstance(reply, list) and reply[0] == b"damaged":
            raise StoreUnavailable(
                f"the list of skills is damaged: the key {text_of(reply[1])!r} is of another type; find out what "
                "wrote it, delete it, and import the skills again"
            )
        return reply


def _finding(tenant: str, name: str, version: int | None = None) -> RedisCommand:
    wanted = "" if version is None else version
    return RedisCommand(FIND_SKILL, skill_key(tenant, name), (wanted,), (skill_statuses_key(tenant, name),))


def _suspected(before: Statuses, version: int) -> Statuses | None:
    unique, status = before.versions.get(version, ("", SkillStatus.RETIRED))
    return before.having(version, unique, SkillStatus.SUSPECT) if status is SkillStatus.ACTIVE else None


def _as_json(skill: Skill) -> str:
    data = skill.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=_BESIDE)
    return json.dumps({**data, "schemaVersion": SCHEMA}, ensure_ascii=False, separators=(",", ":"))


def _rate(text: str) -> Rate:
    """Raises ValueError for anything but two numbers and the newest runs."""
    succeeded, failed, recent = text.split(" ")
    if set(recent) - {"0", "1"}:
        raise ValueError(f"{recent!r} are no runs")
    return Rate(succeeded=int(succeeded), failed=int(failed), recent=tuple(run == "1" for run in recent))


def _clean(text: str) -> str:
    """Replace lone surrogates, which terminals may produce."""
    return text.encode("utf-8", "replace").decode()
