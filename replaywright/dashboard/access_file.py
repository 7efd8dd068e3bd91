"""The file of `replaywright dashboard --access`: who may sign in, and with which role."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from replaywright.dashboard.people import Role
from replaywright.domain.common.base import Authored
from replaywright.domain.site_session.codes import Span, seconds_of
from replaywright.domain.task.tasks import parse_authored
from replaywright.yaml_files import parse_yaml, read_text

EVERYBODY = "*"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Roles(Authored):
    """Values of a claim that give each role; the highest counts."""

    claim: str = Field("groups", min_length=1)
    """Name of the claim in the ID token; dots lead into objects, as in `realm_access.roles`."""
    look: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    operate: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _give_something(self) -> "Roles":
        if not (self.look or self.answer or self.operate):
            raise ValueError('nobody has a role; name values of the claim for look, answer or operate ("*": everybody)')
        return self

    def role_of(self, claims: Mapping[str, Any]) -> Role | None:
        """Return the highest role that the claims give; None for none."""
        values = _texts(claims, self.claim)
        given = {Role.LOOK: self.look, Role.ANSWER: self.answer, Role.OPERATE: self.operate}
        found = [role for role, named in given.items() if EVERYBODY in named or values.intersection(named)]
        return found[-1] if found else None


class Access(Authored):
    """The file."""

    address: str
    """Address of the dashboard for people, that of a reverse proxy with TLS before it."""
    issuer: str
    """The OpenID Connect provider, as its discovery document names it."""
    client_id: str = Field(min_length=1)
    client_secret: str = ""
    """Name of the secret; empty for a public client."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    roles: Roles
    lasts: Span | None = None
    """Time after which people sign in anew; 8 hours without it."""

    @field_validator("address", "issuer")
    @classmethod
    def _is_protected(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is no address; expected https://HOST[:PORT][/PATH]")
        if parts.username is not None or (parts.scheme == "http" and parts.hostname not in _LOOPBACK):
            raise ValueError(f"{url!r}: expected https, without a user's name; http is for loopback only")
        return url

    @field_validator("scopes")
    @classmethod
    def _ask_for_identity(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if "openid" not in scopes:
            raise ValueError("expected openid among them: without it the provider does not say who somebody is")
        return scopes

    @property
    def origin(self) -> str:
        """Scheme, host and port of the address."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def host(self) -> str:
        """Host and port of the address."""
        return urlsplit(self.address).netloc

    @property
    def path(self) -> str:
        """Path of the address, with a slash at its end."""
        return urlsplit(self.address).path.rstrip("/") + "/"

    @property
    def is_secure(self) -> bool:
        """Return whether browsers reach the dashboard by TLS."""
        return urlsplit(self.address).scheme == "https"

    @property
    def lasts_s(self) -> float:
        """Seconds after which people sign in anew."""
        return seconds_of(self.lasts) or 8 * 3600.0


def read_access(path: Path) -> Access:
    """Read the file.

    Raises:
        InputInvalid: one line with file and field, and what was expected.
    """
    source = f"--access {path}"
    data = parse_yaml(read_text(str(path), source), source)
    return parse_authored(Access, data, source, "the fields address, issuer, client_id and roles")


def _texts(claims: Mapping[str, Any], place: str) -> set[str]:
    """Return the texts at a place in the claims: one, or a list of them."""
    found: Any = claims
    for name in [place] if place in claims else place.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return {each for each in (found if isinstance(found, list) else [found]) if isinstance(each, str)}
