"""Redis and Temporal over TLS, with certificates of a test authority: who is not vouched for is refused."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from temporalio.testing import WorkflowEnvironment

from cache.connection import address_of, open_redis, ping
from replaywright.errors import SettingsInvalid, StoreUnavailable
from replaywright.settings import Settings, load_settings
from replaywright.stack.redis import ask_ping
from replaywright.stack.temporal_client import connect_client, why_temporal_fails
from tests.raw_redis import ask_redis


@dataclass(frozen=True)
class Authority:
    """A certificate authority, and what it vouches for."""

    folder: Path
    name: str

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        key = ec.generate_private_key(ec.SECP256R1())
        self._write("ca", _certificate(self.name, key, self.name, key, is_ca=True), key)
        for who in ("server", "client"):
            own = ec.generate_private_key(ec.SECP256R1())
            self._write(who, _certificate(who, own, self.name, key, is_ca=False), own)

    def _write(self, who: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate(who).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8
        plain = serialization.NoEncryption()
        self.key(who).write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))

    def certificate(self, who: str) -> Path:
        return self.folder / f"{who}.pem"

    def key(self, who: str) -> Path:
        return self.folder / f"{who}.key"


def _certificate(
    subject: str, key: ec.EllipticCurvePrivateKey, issuer: str, by: ec.EllipticCurvePrivateKey, *, is_ca: bool
) -> x509.Certificate:
    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.DNSName("shop.example"), x509.IPAddress(ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(named(subject))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    if is_ca:
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            **dict.fromkeys(
                (
                    *("content_commitment", "key_encipherment", "data_encipherment"),
                    *("key_agreement", "encipher_only", "decipher_only"),
                ),
                False,
            ),
        )
        made = made.add_extension(usage, critical=True)
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key())
    return made.add_extension(authority, critical=False).sign(by, hashes.SHA256())


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ours", "our authority")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "theirs", "another authority")


@contextlib.asynccontextmanager
async def behind_tls(authority: Authority, target: str) -> AsyncIterator[int]:
    """The port of a TLS end in front of `target`, which lets in who has a certificate of the authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate("server"), authority.key("server"))
    context.load_verify_locations(authority.certificate("ca"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    host, _, port = target.rpartition(":")

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def options_of(vouched: Authority, mine: Authority) -> str:
    files = {"ssl_ca_certs": vouched.certificate("ca")}
    files |= {"ssl_certfile": mine.certificate("client"), "ssl_keyfile": mine.key("client")}
    return "&".join(f"{name}={file}" for name, file in files.items())


async def test_redis_is_reached_over_tls_by_who_is_vouched_for(
    redis_url: str, ours: Authority, theirs: Authority
) -> None:
    async with behind_tls(ours, redis_url.partition("//")[2].partition("/")[0]) as port:
        address = f"rediss://127.0.0.1:{port}/0"
        good, unknown_server, unknown_client = (
            f"{address}?{options_of(ours, ours)}",
            f"{address}?{options_of(theirs, ours)}",
            f"{address}?{options_of(ours, theirs)}",
        )
        async with open_redis(good) as client:
            await ping(client)
            assert address_of(client) == f"127.0.0.1:{port}/0"
        assert await ask_redis(good, ("PING",)) == ["PONG"]
        for url in (unknown_server, unknown_client, address, f"redis://127.0.0.1:{port}/0"):
            async with open_redis(url) as client:
                with pytest.raises(StoreUnavailable):
                    await ping(client)
        with pytest.raises(StoreUnavailable, match="certificate"):
            await ask_ping(unknown_server)


@pytest.mark.parametrize("option", ["ssl_cert_reqs=none", "ssl_cert_reqs=NONE", "ssl_check_hostname=False"])
def test_a_server_that_would_not_be_checked_is_refused(option: str) -> None:
    with pytest.raises(SettingsInvalid, match="would not be checked") as error:
        open_redis(f"rediss://user:hidden@127.0.0.1/0?{option}")

    assert "hidden" not in str(error.value)


async def test_temporal_is_reached_over_tls_by_who_is_vouched_for(
    temporal_env: WorkflowEnvironment, ours: Authority, theirs: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trusting(vouched: Authority, mine: Authority) -> None:
        monkeypatch.setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", str(vouched.certificate("ca")))
        monkeypatch.setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", str(mine.certificate("client")))
        monkeypatch.setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", str(mine.key("client")))

    target = temporal_env.client.service_client.config.target_host
    async with behind_tls(ours, target) as port:
        settings = load_settings(temporal_address=f"localhost:{port}")
        trusting(ours, ours)
        client = await connect_client(settings)
        assert await client.count_workflows() is not None
        assert await why_temporal_fails(settings) == ""
        assert await why_temporal_fails(_plain(settings)) != ""
        trusting(theirs, ours)
        assert await why_temporal_fails(settings) != ""
        trusting(ours, theirs)
        assert await why_temporal_fails(settings) != ""
        monkeypatch.setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", "/nowhere.pem")
        with pytest.raises(SettingsInvalid, match="TLS for Temporal"):
            await connect_client(settings)


def _plain(settings: Settings) -> Settings:
    return settings.model_copy(update={"temporal_tls": False})
