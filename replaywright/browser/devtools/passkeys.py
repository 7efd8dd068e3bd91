"""Passkeys of a site session: Chromium's virtual authenticator, in every tab of a browser.

Chromium gives a passkey to no page of another site. Playwright's own authenticator is a script in the page that signs
for whichever site a page names.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from replaywright.browser.devtools.channel import Tab
from replaywright.domain.site_session.passkeys import Passkey

_AUTHENTICATOR: Final = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
_COUNTED_FROM: Final = 1_735_689_600
"""Begin of 2025, in Unix seconds: signature counters are at least the seconds since then."""


class Authenticator:
    """One authenticator for each tab, all with the same passkeys."""

    def __init__(self, passkeys: Iterable[Passkey]) -> None:
        """Hold `passkeys`, and those that sites register."""
        self._passkeys = {each.credential_id: each for each in passkeys}

    @property
    def passkeys(self) -> tuple[Passkey, ...]:
        """Return all passkeys, as they are now."""
        return tuple(self._passkeys.values())

    async def add_to(self, tab: Tab) -> None:
        """Give a tab its authenticator.

        Raises:
            CdpFailed: the tab is gone, or the browser has no such authenticator.
        """
        await tab.cdp.send("WebAuthn.enable")
        made = await tab.cdp.send("WebAuthn.addVirtualAuthenticator", {"options": _AUTHENTICATOR})
        for passkey in self._passkeys.values():
            credential = _credential(passkey, least=int(time.time()) - _COUNTED_FROM)
            given = {"authenticatorId": made["authenticatorId"], "credential": credential}
            await tab.cdp.send("WebAuthn.addCredential", given)

    def on_event(self, _tab: Tab | None, method: str, params: Mapping[str, Any]) -> None:
        """Note what a site registers, uses or deletes."""
        match method:
            case "WebAuthn.credentialAdded" | "WebAuthn.credentialAsserted" | "WebAuthn.credentialUpdated":
                passkey = _passkey(params["credential"])
                self._passkeys[passkey.credential_id] = passkey
            case "WebAuthn.credentialDeleted":
                self._passkeys.pop(params["credentialId"], None)
            case _:
                pass


def _credential(passkey: Passkey, *, least: int) -> dict[str, Any]:
    """Return it in the protocol's form.

    Its counter goes by the clock: a use that nobody could keep does not make the next one look like a copy's.
    """
    named = {"userName": passkey.user_name, "userDisplayName": passkey.user_name} if passkey.user_name else {}
    return {
        "credentialId": passkey.credential_id,
        "isResidentCredential": passkey.is_resident,
        "rpId": passkey.rp_id,
        "privateKey": passkey.private_key,
        "signCount": max(passkey.sign_count + 1, least),
        **({"userHandle": passkey.user_handle} if passkey.user_handle else {}),
        **named,
    }


def _passkey(credential: Mapping[str, Any]) -> Passkey:
    return Passkey(
        credential_id=credential["credentialId"],
        rp_id=credential.get("rpId", ""),
        private_key=credential["privateKey"],
        sign_count=credential["signCount"],
        user_handle=credential.get("userHandle", ""),
        user_name=credential.get("userName", ""),
        is_resident=credential["isResidentCredential"],
    )
