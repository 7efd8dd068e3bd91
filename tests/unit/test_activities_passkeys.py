"""Passkeys that a run leaves, beside those that other runs of the same session have left meanwhile."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from activities.session.site_sessions import SiteSessionBrowsers
from replaywright.domain.secrets.signing import Signer
from replaywright.domain.site_session.commands import LeaveSiteSession
from replaywright.domain.site_session.leases import Lease
from replaywright.domain.site_session.passkeys import Passkey, Passkeys
from replaywright.testing.stores import FakeArtifacts
from tests.unit.staged import SESSION


def passkey(name: str, count: int) -> Passkey:
    return Passkey(credential_id=name, rp_id="localhost", private_key=f"key of {name}", sign_count=count)


async def test_what_one_run_registers_is_kept_beside_what_another_has_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    artifacts, nothing = FakeArtifacts(), cast("Any", None)
    browsers = SiteSessionBrowsers(nothing, nothing, nothing, nothing, Signer(), artifacts=artifacts, tenant="acme")
    leave = LeaveSiteSession(session=SESSION, epoch=1, tenant="acme", name="crm", number=1)
    grant = Lease()

    async def granted(_request: object) -> Lease:
        return grant

    monkeypatch.setattr(browsers, "_granted", granted)
    for passkeys in ((passkey("a", 1),), (passkey("b", 1),), (passkey("a", 7),)):
        held = cast("Any", SimpleNamespace(browser=SimpleNamespace(passkeys=passkeys)))
        grant = Lease(passkeys=await browsers._registered(held, leave))

    assert grant.passkeys is not None
    kept = Passkeys.model_validate_json(await artifacts.get(grant.passkeys.digest))
    assert {each.credential_id: each.sign_count for each in kept.passkeys} == {"a": 7, "b": 1}
