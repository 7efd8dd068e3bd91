"""What of a skill is signed, and what that allows.

JSON, run, id and number of a version are signed together. The statuses of all versions are signed together too, with a
generation that grows with every change of them, and stand in two places: in the skill's key, and in one of their own
that outlives the skill. Where the two are not the same, or a version has another status than they say, it counts as
retired: a record of before, put back, runs nothing. How runs went, the history and the index are not signed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from cache.keys import skill_key
from replaywright.domain.secrets.signing import Fault, Signed, Signer, text_digest
from replaywright.domain.skill.skills import SCHEMA, SkillStatus

KEPT: Final = 20
"""Versions that are kept of those that are not active; skill_change.lua has the same number."""


class Doubt(StrEnum):
    """Why a version that is what was signed counts as retired all the same."""

    PUT_BACK = (
        "an older record was put back, or its status is not the one that was signed last: it counts as retired; "
        "look at it with `replaywright skills show`, `replaywright skills restore` makes it active again"
    )
    ALONE = (
        "what was signed of its status is missing, or signed with a key that is not known here: it counts as retired; "
        "look at it with `replaywright skills show`, `replaywright skills restore` makes it active again"
    )


@dataclass(frozen=True)
class Statuses:
    """The status of each version of a skill, as they are signed."""

    generation: int = 0
    """Grows with every change of them."""
    versions: Mapping[int, tuple[str, SkillStatus]] = field(default_factory=dict)
    """Id and status by number."""

    @property
    def said(self) -> str:
        """The statuses as skill_change.lua reads them."""
        return " ".join(f"{number}={status.value}" for number, (_, status) in self.versions.items())

    def having(self, version: int, unique: str, status: SkillStatus) -> "Statuses":
        """These after a version was given a status: what it replaces is retired, as skill_change.lua does it."""
        after = {**self.versions, version: (unique, status)}
        for number, (id_, old) in after.items() if status is SkillStatus.ACTIVE else ():
            if number != version and (number < version or old is SkillStatus.ACTIVE):
                after[number] = (id_, SkillStatus.RETIRED)
        spare = [number for number in sorted(after) if after[number][1] is not SkillStatus.ACTIVE]
        for number in spare[: max(0, len(after) - KEPT)]:
            del after[number]
        return Statuses(self.generation + 1, after)

    def emptied(self) -> "Statuses":
        """These after the skill was deleted."""
        return Statuses(self.generation + 1)

    def signed(self, signer: Signer, tenant: str, name: str) -> str:
        """These with their signature, as they are kept."""
        rows = [(number, id_, status.value) for number, (id_, status) in sorted(self.versions.items())]
        text = json.dumps({"generation": self.generation, "versions": rows}, separators=(",", ":"))
        return f"{text}\n{signer.sign(statuses_signed(tenant, name, text))}"


def written(tenant: str, name: str, text: str | bytes, *, run_id: str, unique: str, version: int) -> Signed:
    """What is signed of a version."""
    payload: dict[str, str | int | bool] = {"json": text_digest(text), "run": run_id, "id": unique, "version": version}
    return Signed(tenant, "skill", skill_key(tenant, name), SCHEMA, payload)


def statuses_signed(tenant: str, name: str, text: str | bytes) -> Signed:
    """What is signed of the statuses."""
    return Signed(tenant, "skill-statuses", skill_key(tenant, name), SCHEMA, {"json": text_digest(text)})


def statuses_of(signer: Signer, tenant: str, name: str, kept: bytes) -> Statuses | None:
    """The statuses that were kept; None without them, and for what nobody with a known key has signed."""
    text, _, signature = kept.partition(b"\n")
    if not kept or signer.fault(statuses_signed(tenant, name, text), _text(signature)) is not None:
        return None
    told = json.loads(text)
    return Statuses(
        told["generation"], {number: (id_, SkillStatus(status)) for number, id_, status in told["versions"]}
    )


def statuses_before(signer: Signer, tenant: str, name: str, own: bytes, beside: bytes) -> Statuses:
    """The statuses that a change begins from; all are retired where the two places do not say the same."""
    found = [one for kept in (own, beside) if (one := statuses_of(signer, tenant, name, kept)) is not None]
    if not found:
        return Statuses()
    newest = max(found, key=lambda one: one.generation)
    if own == beside:
        return newest
    return replace(
        newest, versions={number: (id_, SkillStatus.RETIRED) for number, (id_, _) in newest.versions.items()}
    )


def counted(
    signer: Signer, tenant: str, name: str, places: tuple[bytes, bytes], row: Sequence[bytes]
) -> tuple[bytes, Fault | Doubt | None]:
    """The status that a row of FIND_SKILL counts with, empty if it is not used, and why it is not the row's own.

    `places`: what FIND_SKILL found signed of the statuses, in the skill's key and in their own.
    """
    version, status, text, run, _, unique, signature = row
    if signer.is_unsigned:
        return status, None
    number, id_ = int(version) if version.isdigit() else 0, _text(unique)
    signed = written(tenant, name, text, run_id=_text(run), unique=id_, version=number)
    if (fault := signer.fault(signed, _text(signature))) is not None:
        return b"", fault
    own, beside = places
    retired = SkillStatus.RETIRED.value.encode()
    known = statuses_of(signer, tenant, name, beside)
    if known is None:
        return retired, Doubt.ALONE
    kept_id, kept_status = known.versions.get(number, ("", SkillStatus.RETIRED))
    if number not in known.versions or kept_id != id_:  # deleted, or another version of this number
        return b"", Fault.ALTERED
    if own != beside or status != kept_status.value.encode():
        return retired, Doubt.PUT_BACK
    return status, None


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
