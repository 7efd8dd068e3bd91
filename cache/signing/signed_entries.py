"""Signed fields of a cache entry, and the meaning of their signatures.

The writer signs JSON, run and hold before the server numbers the version. An active version needs a seal, which binds
its number to that content; promotion checks the signature first. Statistics, times and reasons decide nothing and are
not signed, and neither is a status below `active`.
"""

from collections.abc import Sequence

from cache.keys import entry_key
from replaywright.domain.secrets.signing import Fault, Signed, Signer, text_digest
from replaywright.domain.skill.entries import SCHEMA, EntryStatus


def written(tenant: str, content_key: str, text: str | bytes, run_id: str, hold: bytes | str) -> Signed:
    """Return the signed content of a candidate."""
    payload: dict[str, str | int | bool] = {
        "json": text_digest(text),
        "run": run_id,
        "hold": hold if isinstance(hold, str) else hold.decode("utf-8", "replace"),
    }
    return Signed(tenant, "entry", entry_key(tenant, content_key), SCHEMA, payload)


def promoted(tenant: str, content_key: str, text: str | bytes, run_id: str, version: int) -> Signed:
    """Return the signed content of an active version."""
    payload: dict[str, str | int | bool] = {"json": text_digest(text), "run": run_id, "version": version}
    return Signed(tenant, "entry-active", entry_key(tenant, content_key), SCHEMA, payload)


def fault_of(signer: Signer, tenant: str, content_key: str, row: Sequence[bytes]) -> Fault | None:
    """Return why a row of FIND is not used; None if it is."""
    if signer.is_unsigned:
        return None
    version, status, text, run, hold, *_, signature, seal = row
    run_id = run.decode("utf-8", "replace")
    fault = signer.fault(written(tenant, content_key, text, run_id, hold), signature.decode("utf-8", "replace"))
    if fault is None and status == EntryStatus.ACTIVE.value.encode():
        number = int(version) if version.isdigit() else 0
        fault = signer.fault(promoted(tenant, content_key, text, run_id, number), seal.decode("utf-8", "replace"))
    return fault


def to_promote(signer: Signer, tenant: str, content_key: str, rows: Sequence[Sequence[bytes]]) -> tuple[str, str]:
    """Return number and seal of the newest candidate of a run that is unaltered and not held back."""
    for row in rows:
        version, _, text, run, hold, *_ = row
        if hold != b"1" and fault_of(signer, tenant, content_key, row) is None:
            number = int(version)
            sealed = promoted(tenant, content_key, text, run.decode("utf-8", "replace"), number)
            return str(number), signer.sign(sealed)
    return "-", ""
