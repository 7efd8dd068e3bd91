"""Passkeys that sites have registered for a session."""

from replaywright.domain.common.base import Record


class Passkey(Record):
    """One passkey. It holds a private key: only ever kept encrypted."""

    credential_id: str
    """Base64."""
    rp_id: str
    """Domain that it is for."""
    private_key: str
    """ECDSA key, PKCS#8 in base64."""
    sign_count: int
    user_handle: str = ""
    """Base64."""
    user_name: str = ""
    is_resident: bool = True
    """True: the site need not name it."""


class Passkeys(Record):
    """All passkeys of a session, as the artifact store keeps them."""

    passkeys: tuple[Passkey, ...] = ()
