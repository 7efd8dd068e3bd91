"""Updates are taken from whoever has a signing key, as they were sent."""

import dataclasses
import json

import pytest

from replaywright.domain.secrets.signing import Key, Signer
from replaywright.domain.secrets.starts import sign_update
from replaywright.stack.serving.update_guard import UpdateGuard
from workflows.admission import SentUpdate

SIGNER = Signer((Key("k", b"1" * 32),))
GIVEN = {"sequence": 3, "verdict": "approve", "why": "\u00fc"}


def asked(**fields: object) -> SentUpdate:
    mac = sign_update(SIGNER, "acme", kind="resolve_step", run_id="r1", update="u1", given=GIVEN)
    sent = SentUpdate("acme", "r1", "resolve_step", "u1", json.dumps(GIVEN).encode(), json.dumps(mac).encode())
    return dataclasses.replace(sent, **fields)  # type: ignore[arg-type]


def test_an_update_is_taken_with_its_own_mac_and_no_other() -> None:
    guard = UpdateGuard(SIGNER)
    altered = json.dumps({**GIVEN, "verdict": "done"}).encode()

    assert guard.objection(asked()) == ""
    for forged in (
        asked(tenant="other"),
        asked(run_id="r2"),
        asked(name="edit_step"),
        asked(id="u2"),
        asked(argument=altered),
        asked(mac=b""),
        asked(mac=b'""'),
        asked(mac=b"[]"),
    ):
        assert "is not signed" in guard.objection(forged)
    assert "is not signed" in UpdateGuard(Signer()).objection(asked())


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"NaN", b"[1e999]", b'"\\ud800"', b"[" * 100_000])
def test_what_cannot_be_read_is_not_taken_and_breaks_nothing(data: bytes) -> None:
    assert "is not signed" in UpdateGuard(SIGNER).objection(asked(argument=data))
    assert "is not signed" in UpdateGuard(SIGNER).objection(asked(mac=data))


@pytest.mark.parametrize("name", ["pause", "abort", "stop"])
def test_whoever_reaches_temporal_may_hold_a_run_up(name: str) -> None:
    assert UpdateGuard(SIGNER).objection(asked(name=name, mac=b"")) == ""
