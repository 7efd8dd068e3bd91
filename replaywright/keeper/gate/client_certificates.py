"""Client certificates: TLS that ends in the gate, for the hosts that the operator names and for no others.

A tunnel carries what the browser has encrypted, in which nobody can show a certificate for it. So the gate meets the
browser with a certificate of its own, which this browser alone trusts, and the site with the client's, having verified
the site's as any client does. What is clear in between is carried and not looked at.
"""

import base64
import contextlib
import hashlib
import os
import ssl
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from replaywright.domain.session.network_policy import covers
from replaywright.errors import StackFailed
from replaywright.keeper.gate.tls_end import TlsContexts
from replaywright.keeper.protocol import SiteCertificate

_LIFE: Final = timedelta(days=365)
_PROTOCOLS: Final = ("http/1.1",)


class ClientCertificates:
    """The certificates of one keeper, and how its browser trusts the gate."""

    def __init__(self, certificates: Sequence[SiteCertificate]) -> None:
        """Raises StackFailed: one of them cannot be used."""
        self._sites = [(each.hosts, _towards_sites(each)) for each in certificates]
        self._towards_browser, self.fingerprint = _towards_browser()
        """The fingerprint, by which the browser knows the gate, is the SHA-256 of its public key in base64."""

    def tls_for(self, host: str, port: int) -> TlsContexts | None:
        """Return the TLS of a tunnel to this site; None where the browser's own goes through."""
        found = next((context for hosts, context in self._sites if covers(hosts, host, port)), None)
        return None if found is None else TlsContexts(self._towards_browser, found)


def _towards_sites(certificate: SiteCertificate) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(_PROTOCOLS)
    context.post_handshake_auth = True
    try:
        _load(context, certificate.chain, certificate.key)
    except OSError as error:  # `ssl` takes the state of the pipe for the reason
        raise StackFailed(f"the client certificate in the secret {certificate.name!r} cannot be loaded") from error
    return context


def _towards_browser() -> tuple[ssl.SSLContext, str]:
    """Return TLS with a certificate that is made here, and the digest of its public key.

    The browser looks for the key and for nothing else, so the certificate needs neither names nor an authority.
    """
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Replaywright's gate")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - _LIFE).not_valid_after(now + _LIFE)
    chain = made.sign(key, SHA256()).public_bytes(Encoding.PEM).decode()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(_PROTOCOLS)
    _load(context, chain, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return context, base64.b64encode(hashlib.sha256(public).digest()).decode()


def _load(context: ssl.SSLContext, chain: str, key: str) -> None:
    with _as_file(chain) as chain_path, _as_file(key) as key_path:
        context.load_cert_chain(chain_path, key_path)


@contextlib.contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Give a path that can be read once and is of a pipe: `ssl` takes keys from files only, and none is written."""
    reader, writer = os.pipe()
    try:
        with os.fdopen(writer, "w") as given:
            given.write(text)
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)
