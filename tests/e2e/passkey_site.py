"""A site that people sign in to with a password once, and with a passkey that it has registered then."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import webauthn
from webauthn.helpers.exceptions import InvalidAuthenticationResponse, InvalidRegistrationResponse
from webauthn.helpers.structs import AuthenticatorSelectionCriteria, ResidentKeyRequirement

from tests.e2e.plain_site import Answer, Asked, led_to, serving

_SCRIPT = """<script>
async function ceremony(kind) {
  const state = document.querySelector("output");
  const options = await (await fetch(`/options/${kind}`)).json();
  try {
    const parse = kind === "create" ? "parseCreationOptionsFromJSON" : "parseRequestOptionsFromJSON";
    const credential = await navigator.credentials[kind]({publicKey: PublicKeyCredential[parse](options)});
    const answer = await fetch(`/verify/${kind}`, {method: "POST", body: JSON.stringify(credential.toJSON())});
    state.textContent = await answer.text();
    if (answer.ok && kind === "get") location.href = "/account";
  } catch (error) { state.textContent = error.name; }
}
</script><output></output>"""
_LOGIN = """<!doctype html><title>Sign in</title><form method=post action=/login>
<label>Password <input name=word type=password></label><button>Sign in</button></form>
<button onclick="ceremony('get')">Use a passkey</button>"""
_ACCOUNT = """<!doctype html><title>Account</title><h1>Signed in as ada</h1><a href=/orders>Orders</a>
<button onclick="ceremony('create')">Add a passkey</button>"""
_ORDERS = """<!doctype html><title>Orders</title><h1>Orders</h1><form method=post action=/orders>
<label>Note <input name=note></label><button>Save note</button></form><ul>{notes}</ul>"""


@dataclass
class PasskeySite:
    """The site: a relying party for the domain `localhost`."""

    url: str = ""
    live: set[str] = field(default_factory=set)
    """Cookies of who is signed in."""
    notes: list[str] = field(default_factory=list)
    challenge: bytes = b""
    key_id: bytes = b""
    public_key: bytes = b""
    counters: list[int] = field(default_factory=list)
    """Signature counters, in the order in which they were shown."""
    passwords: int = 0
    """Times that somebody signed in with the password."""

    def answer(self, asked: Asked) -> Answer:
        """What it answers."""
        if asked.path.startswith("/options/"):
            return _json(self._options(asked.path))
        if asked.path.startswith("/verify/"):
            return self._verified(asked)
        if asked.method == "POST" and asked.path == "/login":
            if parse_qs(asked.body).get("word") != ["open sesame"]:
                return Answer(_LOGIN + _SCRIPT)
            self.passwords += 1
            return self._signed_in(led_to("/account"))
        if not any(f"sid={cookie}" in asked.cookie for cookie in self.live):
            return Answer(_LOGIN + _SCRIPT) if asked.path == "/login" else led_to("/login")
        if asked.method == "POST":
            self.notes += parse_qs(asked.body)["note"]
            return led_to("/orders")
        shown = "".join(f"<li>{note}</li>" for note in self.notes)
        return Answer(_ORDERS.format(notes=shown) if asked.path == "/orders" else _ACCOUNT + _SCRIPT)

    def _options(self, path: str) -> str:
        if path.endswith("create"):
            made = webauthn.generate_registration_options(
                rp_id="localhost",
                rp_name="the site",
                user_name="ada",
                authenticator_selection=AuthenticatorSelectionCriteria(resident_key=ResidentKeyRequirement.REQUIRED),
            )
            self.challenge = made.challenge
            return webauthn.options_to_json(made)
        asked = webauthn.generate_authentication_options(rp_id="localhost")
        self.challenge = asked.challenge
        return webauthn.options_to_json(asked)

    def _verified(self, asked: Asked) -> Answer:
        try:
            if asked.path.endswith("create"):
                made = webauthn.verify_registration_response(
                    credential=json.loads(asked.body),
                    expected_challenge=self.challenge,
                    expected_rp_id="localhost",
                    expected_origin=self.url,
                )
                self.key_id, self.public_key = made.credential_id, made.credential_public_key
                self.counters = [made.sign_count]
                return Answer("registered")
            used = webauthn.verify_authentication_response(
                credential=json.loads(asked.body),
                credential_public_key=self.public_key,
                credential_current_sign_count=self.counters[-1],
                require_user_verification=True,
                expected_challenge=self.challenge,
                expected_rp_id="localhost",
                expected_origin=self.url,
            )
        except (InvalidRegistrationResponse, InvalidAuthenticationResponse) as exc:
            return Answer(f"refused: {exc}", 403)
        self.counters.append(used.new_sign_count)
        return self._signed_in(Answer("signed in"))

    def _signed_in(self, answer: Answer) -> Answer:
        cookie = secrets.token_hex(12)
        self.live.add(cookie)
        return Answer(answer.body, answer.status, {**answer.headers, "set-cookie": f"sid={cookie}; Path=/; HttpOnly"})


@contextmanager
def passkeys_served() -> Iterator[PasskeySite]:
    """Serve a site of its own, at `localhost`: passkeys are for domains, not for addresses."""
    site = PasskeySite()
    with serving(site.answer) as address:
        site.url = address.replace("127.0.0.1", "localhost")
        yield site


def _json(body: str) -> Answer:
    return Answer(body, headers={"content-type": "application/json"})
