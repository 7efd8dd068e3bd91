"""Credentials for the guard. This module needs no web framework: commands import it to print an address."""

import hmac
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Entrance:
    """The token of an address, and the session that it is exchanged for."""

    token: str
    session: str
    name: str
    """A part of the address that nobody can guess, so that the cookie goes to no other port of this host."""

    @classmethod
    def derived(cls, key: bytes) -> Self:
        """Make the one of this key, always the same."""
        purposes = (b"token", b"session", b"name")
        token, session, name = (hmac.new(key, purpose, "sha256").hexdigest() for purpose in purposes)
        return cls(token, session, name[:16])

    def ui_host(self, port: int) -> str:
        """Name and port of Temporal's UI, whose pages are at the root of their host: names below `localhost` are this
        machine for every browser, and cookies of one go to no other.
        """
        return f"{self.name}.localhost:{port}"

    def ui_address(self, port: int) -> str:
        """Return the address of Temporal's UI, with the token."""
        return f"http://{self.ui_host(port)}/?token={self.token}"
