"""MACs of starts and updates: made by whoever holds a signing key, and verified before a run gets a secret.

A MAC is `<key id>:<base64url of HMAC-SHA-256>` over the canonical JSON (RFC 8785) of `{"id", "input", "kind"}`: the
workflow id, the argument as it is sent, and the workflow type; of an update, its name is the kind, and its own id is
`"update"`. The key is derived (HKDF-SHA-256) for the purpose `start` and the tenant that the input names.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

from replaywright.domain.common.base import Record
from replaywright.domain.secrets.signing import Fault, Signer

MAC: Final = "mac"
"""Key of a start's MAC in the memo."""
MARK: Final = "start"
"""Key in the memo of a run whose start nobody signed, with the value `unsigned`."""
UNSIGNED: Final = "unsigned"
RULE: Final = "unsigned-starts"
"""Rule that refuses a run, or its secrets, because its start has no valid MAC."""
DEFAULT_TENANT: Final = "default"
FIRED: Final = "-*"
"""Stands in the id that a schedule's MAC covers for the time that Temporal puts behind it."""
OPEN_UPDATES: Final = frozenset({"abort", "pause", "stop"})
"""Updates that need no MAC: they can only hold a run up or end it."""
_START: Final = "start"
_CHAIN: Final = "chain"

StartMark: TypeAlias = Literal["", "signed", "trusted", "unsigned"]
"""How a run was started; empty where nobody looked."""


class UnsignedStarts(StrEnum):
    """What becomes of a start without a valid MAC."""

    TRUST = "trust"
    """It counts as a signed one: Temporal itself is guarded."""
    NO_SECRETS = "no-secrets"
    """It runs, and gets no secret."""
    REFUSE = "refuse"
    """It ends before anything is opened."""


class Admission(Record):
    """What is known of how one execution was started."""

    fault: str = ""
    """Why its start is not signed; empty for a signed one."""
    admitted: str = ""
    """Proof for the executions that continue it as new; empty for an unsigned start."""


def sign_start(signer: Signer, *, kind: str, run_id: str, given: object) -> str:
    """Make the MAC of a start; empty without keys."""
    return signer.mac(_START, tenant_of(given), _told(kind, run_id, given))


def start_fault(signer: Signer, *, kind: str, run_id: str, given: object, mac: str) -> Fault | None:
    """Tell why `mac` is not that of this start; None if it is."""
    return signer.mac_fault(_START, tenant_of(given), _told(kind, run_id, given), mac)


def sign_update(signer: Signer, tenant: str, *, kind: str, run_id: str, update: str, given: object) -> str:
    """Make the MAC of an update, `update` being its id; empty without keys."""
    return signer.mac(_START, tenant, {**_told(kind, run_id, given), "update": update})


def update_fault(
    signer: Signer, tenant: str, *, kind: str, run_id: str, update: str, given: object, mac: str
) -> Fault | None:
    """Tell why `mac` is not that of this update; None if it is."""
    return signer.mac_fault(_START, tenant, {**_told(kind, run_id, given), "update": update}, mac)


def sign_pass(signer: Signer, tenant: str, *, run_id: str, first: str) -> str:
    """Prove to the executions after this one that the first one, `first`, had a signed start."""
    return signer.mac(_CHAIN, tenant, _proof(run_id, first))


def pass_fault(signer: Signer, tenant: str, *, run_id: str, first: str, admitted: str) -> Fault | None:
    """Tell why `admitted` proves nothing for an execution of this chain; None if it does."""
    return signer.mac_fault(_CHAIN, tenant, _proof(run_id, first), admitted)


def tenant_of(given: object) -> str:
    """Tenant that the input of a run, or of a batch, names; `default` where it names none."""
    if not isinstance(given, Mapping):
        return DEFAULT_TENANT
    run = given.get("run")
    tenant = (run if isinstance(run, Mapping) else given).get("tenant", DEFAULT_TENANT)
    return tenant if isinstance(tenant, str) else ""


def _proof(run_id: str, first: str) -> dict[str, Any]:
    return {"first": first, "id": run_id}


def _told(kind: str, run_id: str, given: object) -> dict[str, Any]:
    return {"id": run_id, "input": given, "kind": kind}
