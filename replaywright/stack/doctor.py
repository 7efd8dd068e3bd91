"""Check of every part that a run needs: place, version, whether it answers, and advice.

Looking changes nothing but one key in Redis that is deleted again; nothing is started or installed.
"""

import asyncio
import os
import platform
import shutil
import sys
import uuid
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import httpx
from pydantic import BaseModel, ConfigDict
from temporalio.service import RPCError

from cache.alerts import counted
from cache.connection import check_store, open_redis
from replaywright.domain.trace.search_attributes import SEARCH_ATTRIBUTES, lacking, missing_message
from replaywright.errors import ChromiumMissing, InputInvalid, SettingsInvalid, StoreUnavailable
from replaywright.keeper.host.routes import site_certificates, upstream_routes
from replaywright.policy_files import operators_policy
from replaywright.settings import UNVERSIONED, Settings
from replaywright.site_sessions.file import read_site_sessions
from replaywright.stack.chromium import find_chromium
from replaywright.stack.keyring import artifact_keys_of, codec_keys_of, signer_of
from replaywright.stack.redis import find_redis
from replaywright.stack.services import without_password
from replaywright.stack.state import read_running
from replaywright.stack.telemetry import telemetry_options
from replaywright.stack.temporal import find_temporal, why_not_apart
from replaywright.stack.temporal_client import connect_client, known_attributes, why_temporal_fails
from replaywright.stack.versions import VersionState, versions_of
from replaywright.vault.environment import EnvironmentSecrets

_OLDEST_PYTHON = (3, 11)
_HERE = ("localhost", "127.0.0.1", "::1")
_LOW_DISK_BYTES = 2 * 1024**3
_MODEL_TIMEOUT_S = 5
_FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts")

_PROVIDERS: Mapping[str, tuple[str, str]] = {
    "openai": ("OPENAI_API_KEY", "https://api.openai.com/v1"),
    "openai-chat": ("OPENAI_API_KEY", "https://api.openai.com/v1"),
    "openai-responses": ("OPENAI_API_KEY", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_API_KEY", "https://api.anthropic.com/v1"),
}
"""Provider → variable of its key, address of its models."""


class PartHealth(StrEnum):
    """Health of a part."""

    OK = "ok"
    WARNING = "warning"
    """Runs work, with less than they could."""
    FAILED = "failed"
    """Runs do not work."""


class Diagnosis(BaseModel):
    """One part, one row."""

    model_config = ConfigDict(frozen=True)

    component: str
    health: PartHealth
    found: str = ""
    """A path or an address; empty when nothing was found. Never holds a password."""
    version: str = ""
    reachable: bool | None = None
    """None where there is nothing to reach."""
    advice: str = ""
    """Remedy; empty when all is well."""
    attempts: tuple[str, ...] = ()
    """Places that were tried."""


async def diagnose(settings: Settings) -> tuple[Diagnosis, ...]:
    """Return one finding for every part, in the order in which a run needs them."""
    return (
        _python(),
        await asyncio.to_thread(_home, settings.home),
        await asyncio.to_thread(_disk, settings.home),
        await asyncio.to_thread(_chromium, settings.chromium),
        _sandbox(settings),
        await _temporal(settings),
        *await asyncio.to_thread(_temporal_ui, settings),
        *await _search_attributes(settings),
        *await _versions(settings),
        await _redis(settings),
        await _integrity(settings),
        await asyncio.to_thread(_confidentiality, settings),
        *await asyncio.to_thread(_operators_files, settings),
        _artifacts(settings),
        await _model(settings, os.environ),
        await _telemetry(settings),
        await asyncio.to_thread(_fonts),
    )


def _finding(
    component: str,
    advice: str = "",
    *,
    worse: PartHealth = PartHealth.WARNING,
    found: str = "",
    version: str = "",
    reachable: bool | None = None,
    attempts: tuple[str, ...] = (),
) -> Diagnosis:
    """Return the row of a part: `worse` where there is advice, else OK."""
    return Diagnosis(
        component=component,
        health=worse if advice else PartHealth.OK,
        found=found,
        version=version,
        reachable=reachable,
        advice=advice,
        attempts=attempts,
    )


def _python() -> Diagnosis:
    is_old = sys.version_info[:2] < _OLDEST_PYTHON
    advice = "install Python 3.11 or newer and run `make setup` again" if is_old else ""
    return _finding("Python", advice, worse=PartHealth.FAILED, found=sys.executable, version=platform.python_version())


def _home(home: Path) -> Diagnosis:
    probe = home / f".doctor-{uuid.uuid4().hex}"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as exc:
        advice = f"{exc}; make it writable or set REPLAYWRIGHT_HOME"
        return _finding("Home", advice, worse=PartHealth.FAILED, found=str(home))
    is_open = home.stat().st_mode & 0o077
    return _finding("Home", f"others on this machine can read it: chmod 700 {home}" if is_open else "", found=str(home))


def _disk(home: Path) -> Diagnosis:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    is_low = free < _LOW_DISK_BYTES
    advice = f"free some space under {place}, or set REPLAYWRIGHT_HOME to another disk" if is_low else ""
    return _finding("Disk", advice, found=f"{free / 1024**3:.1f} GiB free")


def _chromium(configured: Path | None) -> Diagnosis:
    try:
        chromium = find_chromium(configured, install=False)
    except ChromiumMissing as exc:
        return _finding(
            "Chromium",
            "run `make setup`, install the package chromium, or set REPLAYWRIGHT_CHROMIUM to a path",
            worse=PartHealth.FAILED,
            found="" if configured is None else str(configured),
            attempts=tuple(str(exc).splitlines()[1:]),
        )
    return _finding("Chromium", found=str(chromium.path), version=chromium.version, attempts=chromium.attempts)


def _sandbox(settings: Settings) -> Diagnosis:
    if settings.chromium_sandbox:
        return _finding("Sandbox", found="on")
    return _finding("Sandbox", f"pages run without Chromium's own sandbox: {settings.why_no_sandbox}", found="off")


async def _temporal(settings: Settings) -> Diagnosis:
    if (at := _temporal_at(settings)) is not None:
        failure = await why_temporal_fails(at)
        advice = f"{failure}; start the server, or check TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE" if failure else ""
        address = at.temporal_address or ""
        return _finding("Temporal", advice, worse=PartHealth.FAILED, found=address, reachable=not failure)
    binary = await asyncio.to_thread(find_temporal)
    if binary is None:
        return _finding(
            "Temporal", "the SDK will download a dev server at the first start; install the Temporal CLI to avoid that"
        )
    return _finding("Temporal", found=str(binary.path), version=binary.version)


def _temporal_ui(settings: Settings) -> tuple[Diagnosis, ...]:
    """Check that the Temporal of the local stack is guarded; nothing for one that is configured."""
    if settings.temporal_address is not None:
        return ()
    if why := why_not_apart():
        return (_finding("Temporal UI", why),)
    return (_finding("Temporal UI", found="in a network of its own; `replaywright up` prints its address"),)


async def _search_attributes(settings: Settings) -> tuple[Diagnosis, ...]:
    """Check that the namespace knows our attributes; nothing where there is no Temporal yet, or it does not say."""
    if (at := _temporal_at(settings)) is None:
        return ()
    try:
        known = await known_attributes(await connect_client(at))
    except (RuntimeError, ValueError, SettingsInvalid):  # that is said where Temporal is looked at
        return ()
    if known is None:
        return ()
    missing = lacking(known)
    found = f"{len(SEARCH_ATTRIBUTES) - len(missing)} of {len(SEARCH_ATTRIBUTES)} known to {at.temporal_namespace!r}"
    if not missing:
        return (_finding("Search attributes", found=found),)
    remedy = missing_message(missing, namespace=at.temporal_namespace, address=at.temporal_address or "")
    return (_finding("Search attributes", f"runs go on without, and are harder to find: {remedy}", found=found),)


async def _versions(settings: Settings) -> tuple[Diagnosis, ...]:
    """Check that all runs have workers of their version; nothing where no worker has a version."""
    if (at := _temporal_at(settings)) is None:
        return ()
    try:
        versions = await versions_of(await connect_client(at), at)
    except (RPCError, RuntimeError, ValueError, SettingsInvalid):  # that is said where Temporal is looked at
        return ()
    if settings.build_id is None and all(version.build_id == UNVERSIONED for version in versions):
        return ()
    concerns = [version.concern for version in versions if version.concern]
    mine = next((version.state for version in versions if version.build_id == settings.build_id), None)
    if settings.build_id is not None and mine not in (VersionState.CURRENT, VersionState.RAMPING):
        how = f"is {mine}" if mine is not None else "is that of no worker yet"
        concerns.append(
            f"REPLAYWRIGHT_BUILD_ID {settings.build_id!r} {how}: `replaywright admin versions` lists what is there"
        )
    found = ", ".join(f"{version.build_id} {version.state}" for version in versions)
    return (_finding("Versions", "; ".join(concerns), found=found),)


def _temporal_at(settings: Settings) -> Settings | None:
    """The settings with the address of the Temporal that is there; None where none is."""
    running = read_running(settings.home)
    address = settings.temporal_address or (running.temporal_address if running else None)
    if address is None:
        return None
    own = {"temporal_tls": False} if settings.temporal_address is None else {}
    return settings.model_copy(update={"temporal_address": address, **own})


def _redis_url(settings: Settings) -> str | None:
    """Return the address of the Redis that is there; None where none is."""
    running = read_running(settings.home)
    return settings.redis_url or (running.redis_url if running else None)


async def _redis(settings: Settings) -> Diagnosis:
    if (url := _redis_url(settings)) is not None:
        return await _redis_at(url)
    binary = await asyncio.to_thread(find_redis)
    if binary is None:
        advice = "run `make setup`, install the package redis-server, or set REPLAYWRIGHT_REDIS_URL"
        return _finding("Redis", advice, worse=PartHealth.FAILED)
    return _finding("Redis", found=str(binary.path), version=binary.version)


async def _redis_at(url: str) -> Diagnosis:
    found = without_password(url)
    client = open_redis(url, client_name="replaywright-doctor")
    try:
        report = await check_store(client)
    finally:
        await client.aclose()
    if any(finding.code == "unreachable" for finding in report.findings):
        advice = f"{report.findings[0].message}; start the server, or check REPLAYWRIGHT_REDIS_URL"
        return _finding("Redis", advice, worse=PartHealth.FAILED, found=found, reachable=False)
    worse = PartHealth.FAILED if any(finding.level == "error" for finding in report.findings) else PartHealth.WARNING
    advice = "; ".join(f"{finding.message}: {finding.remedy}" for finding in report.findings)
    return _finding("Redis", advice, worse=worse, found=found, version=report.version, reachable=True)


async def _integrity(settings: Settings) -> Diagnosis:
    """Check that records in Redis are signed, and that none was refused."""
    try:
        signer = await asyncio.to_thread(signer_of, settings, make=False)
    except SettingsInvalid as exc:
        return _finding("Integrity", str(exc), worse=PartHealth.FAILED)
    if settings.unsigned:
        advice = "UNSIGNED: whoever can write to Redis can make runs act; unset REPLAYWRIGHT_UNSIGNED and set keys"
        return _finding("Integrity", advice, found="unsigned")
    ids = ", ".join(signer.key_ids)
    if refused := await _refused(settings):
        advice = (
            f"{refused} records in Redis were refused: somebody else writes there; see `replaywright admin cache stats`"
        )
        return _finding("Integrity", advice, found=f"signed with {ids}")
    return _finding("Integrity", found=f"signed with {ids}" if ids else "a key will be made")


async def _refused(settings: Settings) -> int:
    """Return the number of refused records of this tenant; 0 where that cannot be read."""
    if (url := _redis_url(settings)) is None:
        return 0
    client = open_redis(url, client_name="replaywright-doctor")
    try:
        found = await counted(client, settings.tenant)
    except StoreUnavailable:  # that Redis does not answer is said where it belongs
        return 0
    finally:
        await client.aclose()
    return sum(int(value) for value in found.values() if value.isdigit())


def _confidentiality(settings: Settings) -> Diagnosis:
    try:
        codec, artifacts = codec_keys_of(settings), artifact_keys_of(settings, make=False)
    except SettingsInvalid as exc:
        return _finding("Encryption", str(exc), worse=PartHealth.FAILED)
    own = not artifacts and settings.artifacts_url is None
    encrypted = {"payloads": bool(codec), "artifacts": bool(artifacts) or own}
    found = ", ".join(f"{what} {'encrypted' if sealed else 'in clear'}" for what, sealed in encrypted.items())
    if settings.temporal_address is not None and not codec:
        advice = (
            "payloads in Temporal are clear text: "
            "set REPLAYWRIGHT_CODEC_KEYS to what `replaywright admin keys new` prints"
        )
        return _finding("Encryption", advice, found=found)
    return _finding("Encryption", found=found)


def _operators_files(settings: Settings) -> tuple[Diagnosis, ...]:
    """Check the operator's policy with its secrets, and the file of sessions; nothing for what is not set.

    The secrets are looked up as a worker on this machine would.
    """

    def policy(path: Path) -> None:
        read = operators_policy(path)
        secrets = EnvironmentSecrets(os.environ, settings.home)
        upstream_routes(read, secrets)
        site_certificates(read, secrets, is_remote=settings.browser_endpoint is not None)

    findings = []
    for name, path, check in (("Policy", settings.policy, policy), ("Sessions", settings.sessions, read_site_sessions)):
        if path is None:
            continue
        try:
            check(path)
        except InputInvalid as exc:
            findings.append(_finding(name, f"no worker starts: {exc}", worse=PartHealth.FAILED, found=str(path)))
        else:
            findings.append(_finding(name, found=str(path)))
    return tuple(findings)


def _artifacts(settings: Settings) -> Diagnosis:
    """Check that other hosts that serve the same Temporal find the artifacts."""
    server = (settings.temporal_address or "localhost").rpartition(":")[0].strip("[]") or "localhost"
    if settings.artifacts_url is not None or server in _HERE:
        return _finding("Artifacts", found=settings.artifacts)
    advice = (
        "they are on this host alone, and Temporal is elsewhere: a run cannot be brought back on another host, where "
        "its checkpoints are not found; set REPLAYWRIGHT_ARTIFACTS_URL to a store that all hosts share"
    )
    return _finding("Artifacts", advice, found=settings.artifacts)


async def _model(settings: Settings, environment: Mapping[str, str]) -> Diagnosis:
    if settings.model is None:
        return _finding(
            "Model",
            "none is configured, so nothing new can be learned: set REPLAYWRIGHT_MODEL, for example to "
            "openai:gpt-5-mini, and the provider's key",
        )
    provider = settings.model.partition(":")[0]
    variable, address = _PROVIDERS.get(provider, ("", ""))
    base = (settings.model_base_url or address).rstrip("/")
    key = environment.get(variable, "") if variable else ""
    if variable and not key and settings.model_base_url is None:
        return _finding("Model", f"set {variable}", worse=PartHealth.FAILED, found=settings.model)
    if not base:
        advice = f"the provider {provider!r} is not one that can be checked here"
        return _finding("Model", advice, found=settings.model)
    failure = await _why_model_fails(base, provider, key)
    found = f"{settings.model} at {base}"
    return _finding("Model", failure, worse=PartHealth.FAILED, found=found, reachable=not failure)


async def _why_model_fails(base: str, provider: str, key: str) -> str:
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"} if provider == "anthropic" else {}
    if key and provider != "anthropic":
        headers = {"Authorization": f"Bearer {key}"}
    try:
        async with httpx.AsyncClient(timeout=_MODEL_TIMEOUT_S) as client:
            answer = await client.get(f"{base}/models", headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        return f"{base} cannot be reached ({type(exc).__name__}): check network, proxy and REPLAYWRIGHT_MODEL_BASE_URL"
    if answer.status_code in {401, 403}:
        return f"the server refuses the key (status {answer.status_code})"
    return f"the server answers with status {answer.status_code}" if answer.status_code >= 500 else ""


async def _telemetry(settings: Settings) -> Diagnosis:
    try:
        options = telemetry_options(settings, is_worker=True)
    except SettingsInvalid as exc:
        return _finding("Telemetry", str(exc))
    served = "" if settings.metrics_address is None else f"Prometheus at {settings.metrics_address}"
    if not options.traces_endpoint:
        return _finding("Telemetry", found=served or "off")
    failure = await _why_collector_fails(options.traces_endpoint)
    advice = failure and f"{failure}; start the collector, or check OTEL_EXPORTER_OTLP_ENDPOINT"
    found = ", ".join(filter(None, (without_password(options.traces_endpoint), served)))
    return _finding("Telemetry", advice, found=found, reachable=not failure)


async def _why_collector_fails(endpoint: str) -> str:
    """Return why a collector takes no spans, without sending any; empty when it takes them."""
    try:
        async with httpx.AsyncClient(timeout=_MODEL_TIMEOUT_S) as client:
            answer = await client.post(endpoint, content=b"", headers={"content-type": "application/x-protobuf"})
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        return f"the collector cannot be reached ({type(exc).__name__}), so traces are lost; runs go on without"
    if answer.is_success or answer.status_code in {401, 403}:  # who it lets in, the headers of OTLP say
        return ""
    return f"the collector answers with status {answer.status_code}"


def _fonts() -> Diagnosis:
    for folder in _FONT_FOLDERS:
        for pattern in ("*.ttf", "*.otf", "*.ttc"):
            if font := next(Path(folder).rglob(pattern), None):
                return _finding("Fonts", found=str(font.parent))
    return _finding(
        "Fonts", "no fonts: pages work, pictures show boxes for letters; install fonts-dejavu and fonts-noto-cjk"
    )
