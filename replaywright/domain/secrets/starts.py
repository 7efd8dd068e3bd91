"""MACs of starts and updates, made by a holder of a signing key and verified before a run gets a secret.

A MAC is `<key id>:<base64url of HMAC-SHA-256>` over the canonical JSON (RFC 8785) of `{"id", "input", "kind"}`: the
workflow id, the argument as sent, and the workflow type. For an update, the kind is its name and `"update"` its id. The
key is derived (HKDF-SHA-256) for the purpose `start` and the tenant that the input names.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

from replaywright.domain.common.base import Record
from replaywright.domain.secrets.signing import Fault, Signer

MAC: Final = "mac"
"""Memo key of a start's MAC."""
MARK: Final = "start"
"""Memo key that marks an unsigned start, with the value `unsigned`."""
UNSIGNED: Final = "unsigned"
RULE: Final = "unsigned-starts"
"""Rule that refuses a run, or its secrets, because its start has no valid MAC."""
DEFAULT_TENANT: Final = "default"
FIRED: Final = "-*"
"""Placeholder, in the id that a schedule's MAC covers, for the time that Temporal appends."""
OPEN_UPDATES: Final = frozenset({"abort", "pause", "stop"})
"""Updates that need no MAC: they can only delay a run or end it."""
_START: Final = "start"
_CHAIN: Final = "chain"

StartMark: TypeAlias = Literal["", "signed", "trusted", "unsigned"]
"""Kind of start of a run; empty if unchecked."""


class UnsignedStarts(StrEnum):
    """Treatment of a start without a valid MAC."""

    TRUST = "trust"
    """Counts as signed: access to Temporal itself is controlled."""
    NO_SECRETS = "no-secrets"
    """The run gets no secret."""
    REFUSE = "refuse"
    """The run ends before it opens anything."""


class Admission(Record):
    """Verdict on the start of an execution."""

    fault: str = ""
    """Reason for an unsigned start; empty for a signed one."""
    admitted: str = ""
    """Proof for executions that continue it as new; empty for an unsigned start."""


def sign_start(signer: Signer, *, kind: str, run_id: str, given: object) -> str:
    """Return the MAC of a start; empty without keys."""
    return signer.mac(_START, tenant_of(given), _content(kind, run_id, given))


def start_fault(signer: Signer, *, kind: str, run_id: str, given: object, mac: str) -> Fault | None:
    """Return why `mac` does not match this start; None if it does."""
    return signer.mac_fault(_START, tenant_of(given), _content(kind, run_id, given), mac)


def sign_update(signer: Signer, tenant: str, *, kind: str, run_id: str, update: str, given: object) -> str:
    """Return the MAC of the update with id `update`; empty without keys."""
    return signer.mac(_START, tenant, {**_content(kind, run_id, given), "update": update})


def update_fault(
    signer: Signer, tenant: str, *, kind: str, run_id: str, update: str, given: object, mac: str
) -> Fault | None:
    """Return why `mac` does not match this update; None if it does."""
    return signer.mac_fault(_START, tenant, {**_content(kind, run_id, given), "update": update}, mac)


def sign_pass(signer: Signer, tenant: str, *, run_id: str, first: str) -> str:
    """Return a proof for later executions that the first one, `first`, had a signed start."""
    return signer.mac(_CHAIN, tenant, _proof(run_id, first))


def pass_fault(signer: Signer, tenant: str, *, run_id: str, first: str, admitted: str) -> Fault | None:
    """Return why `admitted` is no proof for an execution of this chain; None if it is."""
    return signer.mac_fault(_CHAIN, tenant, _proof(run_id, first), admitted)


def tenant_of(given: object) -> str:
    """Return the tenant in the input of a run or batch; `default` without one."""
    if not isinstance(given, Mapping):
        return DEFAULT_TENANT
    run = given.get("run")
    tenant = (run if isinstance(run, Mapping) else given).get("tenant", DEFAULT_TENANT)
    return tenant if isinstance(tenant, str) else ""


def _proof(run_id: str, first: str) -> dict[str, Any]:
    return {"first": first, "id": run_id}


def _content(kind: str, run_id: str, given: object) -> dict[str, Any]:
    return {"id": run_id, "input": given, "kind": kind}
