"""Upstream proxies and client certificates of the operator's policy, with their secrets."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.session.network_policy import HostRule
from replaywright.domain.task.policy import ClientCertificate, Policy, UpstreamProxy
from replaywright.errors import InputInvalid, SecretMissing
from replaywright.keeper.protocol import SiteCertificate, UpstreamRoute
from replaywright.ports.stores import Secrets

_HTTPS: Final = {"port": 443, "ports": "one"}
_MAX_PEM_BYTES: Final = 32 * 1024
"""More than a pipe takes at once (`replaywright.keeper.gate.client_certificates`) cannot be loaded."""
_REMEDY: Final = "it is to hold certificate and unencrypted private key as PEM (openssl pkcs12 -in FILE.p12 -nodes)"


def upstream_routes(policy: Policy | None, secrets: Secrets) -> tuple[UpstreamRoute, ...]:
    """Return the routes that the policy names. A secret may come from a command: not for the event loop.

    Raises:
        InputInvalid: a password is no secret that there is.
    """
    proxies = () if policy is None else policy.proxies
    return tuple(_route(proxy, f"proxies[{index}]", secrets) for index, proxy in enumerate(proxies))


def _route(proxy: UpstreamProxy, field: str, secrets: Secrets) -> UpstreamRoute:
    parts = urlsplit(proxy.server)
    try:
        password = secrets.resolve(proxy.password) if proxy.password else ""
        port = parts.port
    except (SecretMissing, ValueError) as exc:
        raise InputInvalid(f"REPLAYWRIGHT_POLICY: {field}: {exc}") from exc
    return UpstreamRoute(
        scheme="socks5" if parts.scheme == "socks5" else "http",
        host=parts.hostname or "",
        port=port or 0,
        user=proxy.user,
        password=password,
        hosts=tuple(host_rule(each, f"{field}.hosts[{n}]", denies=True) for n, each in enumerate(proxy.hosts)),
    )


def not_direct(routes: Sequence[UpstreamRoute], certificates: Sequence[SiteCertificate]) -> tuple[HostRule, ...]:
    """Return the hosts that only these proxies and certificates lead to."""
    proxied = [rule for route in routes for rule in route.hosts or (host_rule("*:*", "proxies"),)]
    return (*proxied, *(rule for certificate in certificates for rule in certificate.hosts))


def site_certificates(
    policy: Policy | None, secrets: Secrets, *, is_remote: bool = False
) -> tuple[SiteCertificate, ...]:
    """Return the client certificates that the policy names. A secret may come from a command: not for the event loop.

    Raises:
        InputInvalid: one is no secret that there is, or its value has not the parts that it needs; or the browser is a
            remote one, which trusts no gate.
    """
    certificates = () if policy is None else policy.certificates
    if certificates and is_remote:
        raise InputInvalid(
            "REPLAYWRIGHT_POLICY: certificates: a remote browser shows none, as it trusts the gate of no keeper: leave "
            "them out, or unset REPLAYWRIGHT_BROWSER_ENDPOINT"
        )
    return tuple(_certificate(each, f"certificates[{index}]", secrets) for index, each in enumerate(certificates))


def _certificate(declared: ClientCertificate, field: str, secrets: Secrets) -> SiteCertificate:
    try:
        chain, key = _parts_of(secrets.resolve(declared.certificate))
    except (SecretMissing, ValueError) as exc:
        raise InputInvalid(f"REPLAYWRIGHT_POLICY: {field}.certificate: {declared.certificate!r}: {exc}") from exc
    rules = [host_rule(each, f"{field}.hosts[{n}]") for n, each in enumerate(declared.hosts)]
    hosts = tuple(rule.model_copy(update=_HTTPS) if rule.ports == "usual" else rule for rule in rules)
    return SiteCertificate(name=declared.certificate, chain=chain, key=key, hosts=hosts)


def _parts_of(pem: str) -> tuple[str, str]:
    """Return the chain and the key of a client certificate, each as PEM.

    Raises:
        ValueError: a part is missing, or they do not belong together; says how to make what is asked for.
    """
    from cryptography import x509  # noqa: PLC0415 - commands import this module, and few policies name a certificate
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization as forms  # noqa: PLC0415

    try:
        chain = x509.load_pem_x509_certificates(pem.encode())
    except ValueError as exc:
        raise ValueError(f"no certificate is in it: {_REMEDY}") from exc
    try:
        key = forms.load_pem_private_key(pem.encode(), None)
    except TypeError as exc:
        raise ValueError(f"its private key is encrypted: {_REMEDY}") from exc
    except (ValueError, UnsupportedAlgorithm) as exc:
        raise ValueError(f"no private key is in it that can be read: {_REMEDY}") from exc
    if chain[0].public_key() != key.public_key():
        raise ValueError(
            "its private key is not that of its first certificate: the site's own comes first, its issuers after it"
        )
    shown = "".join(each.public_bytes(forms.Encoding.PEM).decode() for each in chain)
    kept = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()).decode()
    if max(len(shown), len(kept)) > _MAX_PEM_BYTES:
        raise ValueError(f"it is longer than {_MAX_PEM_BYTES:,} bytes: leave out what is not its own chain")
    return shown, kept
