"""What of a skill's version is signed, and what that allows.

JSON, run, id and number are signed together. A version counts as active only with a seal of its own, which those who
may activate it write; any other status allows less and has none. How runs went, the history and the index are not
signed.
"""

from collections.abc import Sequence

from cache.keys import skill_key
from replaywright.domain.signing import Fault, Signed, Signer, text_digest
from replaywright.domain.skills import SCHEMA, SkillStatus


def written(tenant: str, name: str, text: str | bytes, *, run_id: str, unique: str, version: int) -> Signed:
    """What is signed of a version."""
    payload: dict[str, str | int | bool] = {"json": text_digest(text), "run": run_id, "id": unique, "version": version}
    return Signed(tenant, "skill", skill_key(tenant, name), SCHEMA, payload)


def activated(tenant: str, name: str, unique: str, version: int) -> Signed:
    """What is signed of the status `active`."""
    return Signed(tenant, "skill-active", skill_key(tenant, name), SCHEMA, {"id": unique, "version": version})


def fault_of(signer: Signer, tenant: str, name: str, row: Sequence[bytes]) -> Fault | None:
    """Why a row that FIND_SKILL answered with is not used."""
    if signer.is_unsigned:
        return None
    version, status, text, run, _, unique, signature, seal = row
    number, id_ = int(version) if version.isdigit() else 0, _text(unique)
    signed = written(tenant, name, text, run_id=_text(run), unique=id_, version=number)
    fault = signer.fault(signed, _text(signature))
    if fault is None and status == SkillStatus.ACTIVE.value.encode():
        fault = signer.fault(activated(tenant, name, id_, number), _text(seal))
    return fault


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
