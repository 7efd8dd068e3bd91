"""Signed fields of a skill, and the meaning of their signatures.

JSON, run, id and number of a version are signed together. The statuses of all versions are signed together with a
generation that grows with every change, and stored twice: in the skill's key, and in a key that outlives the skill. If
the two copies differ, or a version has another status, it counts as retired: a restored old record runs nothing.
Statistics, history and index are not signed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from cache.keys import skill_key
from cache.replies import text_of
from replaywright.domain.secrets.signing import Fault, Signed, Signer, text_digest
from replaywright.domain.skill.skills import SCHEMA, SkillStatus

KEPT: Final = 20
"""Inactive versions that are kept; skill_change.lua has the same number."""


class SignatureDoubt(StrEnum):
    """Reasons to treat an unaltered version as retired."""

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
    """Statuses of all versions of a skill, as signed."""

    generation: int = 0
    """Number that grows with every change."""
    versions: Mapping[int, tuple[str, SkillStatus]] = field(default_factory=dict)
    """Id and status by number."""

    @property
    def said(self) -> str:
        """The statuses in the form of skill_change.lua."""
        return " ".join(f"{number}={status.value}" for number, (_, status) in self.versions.items())

    def having(self, version: int, unique: str, status: SkillStatus) -> "Statuses":
        """Set a status and retire replaced versions, like skill_change.lua."""
        after = {**self.versions, version: (unique, status)}
        for number, (id_, old) in after.items() if status is SkillStatus.ACTIVE else ():
            if number != version and (number < version or old is SkillStatus.ACTIVE):
                after[number] = (id_, SkillStatus.RETIRED)
        spare = [number for number in sorted(after) if after[number][1] is not SkillStatus.ACTIVE]
        for number in spare[: max(0, len(after) - KEPT)]:
            del after[number]
        return Statuses(self.generation + 1, after)

    def emptied(self) -> "Statuses":
        """Return the statuses of a deleted skill."""
        return Statuses(self.generation + 1)

    def signed(self, signer: Signer, tenant: str, name: str) -> str:
        """Return the stored form with its signature."""
        rows = [(number, id_, status.value) for number, (id_, status) in sorted(self.versions.items())]
        text = json.dumps({"generation": self.generation, "versions": rows}, separators=(",", ":"))
        return f"{text}\n{signer.sign(statuses_signed(tenant, name, text))}"


def written(tenant: str, name: str, text: str | bytes, *, run_id: str, unique: str, version: int) -> Signed:
    """Return the signed content of a version."""
    payload: dict[str, str | int | bool] = {"json": text_digest(text), "run": run_id, "id": unique, "version": version}
    return Signed(tenant, "skill", skill_key(tenant, name), SCHEMA, payload)


def statuses_signed(tenant: str, name: str, text: str | bytes) -> Signed:
    """Return the signed content of the statuses."""
    return Signed(tenant, "skill-statuses", skill_key(tenant, name), SCHEMA, {"json": text_digest(text)})


def statuses_of(signer: Signer, tenant: str, name: str, kept: bytes) -> Statuses | None:
    """Return the stored statuses; None without them or without a valid signature."""
    text, _, signature = kept.partition(b"\n")
    if not kept or signer.fault(statuses_signed(tenant, name, text), text_of(signature)) is not None:
        return None
    data = json.loads(text)
    versions = {number: (id_, SkillStatus(status)) for number, id_, status in data["versions"]}
    return Statuses(data["generation"], versions)


def statuses_before(signer: Signer, tenant: str, name: str, own: bytes, beside: bytes) -> Statuses:
    """Return the statuses before a change; all retired if the two copies differ."""
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
) -> tuple[bytes, Fault | SignatureDoubt | None]:
    """Return the effective status of a FIND_SKILL row, empty if unused, and why it differs from the row's own.

    `places` has the signed statuses of FIND_SKILL: in the skill's key, and in their own.
    """
    version, status, text, run, _, unique, signature = row
    if signer.is_unsigned:
        return status, None
    number, id_ = int(version) if version.isdigit() else 0, text_of(unique)
    signed = written(tenant, name, text, run_id=text_of(run), unique=id_, version=number)
    if (fault := signer.fault(signed, text_of(signature))) is not None:
        return b"", fault
    own, beside = places
    retired = SkillStatus.RETIRED.value.encode()
    known = statuses_of(signer, tenant, name, beside)
    if known is None:
        return retired, SignatureDoubt.ALONE
    kept_id, kept_status = known.versions.get(number, ("", SkillStatus.RETIRED))
    if number not in known.versions or kept_id != id_:  # deleted, or another version of this number
        return b"", Fault.ALTERED
    if own != beside or status != kept_status.value.encode():
        return retired, SignatureDoubt.PUT_BACK
    return status, None
