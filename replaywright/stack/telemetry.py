"""Telemetry of this process, by its settings and OpenTelemetry's own variables; without them none of it is loaded."""

import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING

from replaywright.errors import SettingsInvalid
from replaywright.settings import Settings
from replaywright.telemetry.options import METRICS, TRACES, TelemetryOptions, parse_address

if TYPE_CHECKING:
    from replaywright.telemetry.provider import Telemetry

_PROTOCOL = "http/protobuf"


def telemetry_options(
    settings: Settings, environment: Mapping[str, str] = os.environ, *, is_worker: bool
) -> TelemetryOptions:
    """Return the destinations of this process's telemetry.

    Of OpenTelemetry's variables these are read here: OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER
    (`none`), the endpoints and protocols of one signal; its SDK reads the others (headers, time-outs, the sampler, …).

    Raises:
        SettingsInvalid: another protocol than OTLP over HTTP is asked for.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return TelemetryOptions()
    address = settings.metrics_address if is_worker else None
    return TelemetryOptions(
        traces_endpoint=_endpoint(settings, environment, "TRACES", TRACES),
        metrics_endpoint=_endpoint(settings, environment, "METRICS", METRICS) if is_worker else "",
        metrics_address=None if address is None else parse_address(address),
        instance=f"{socket.gethostname()}-{os.getpid()}" if is_worker else "",
    )


def _endpoint(settings: Settings, environment: Mapping[str, str], signal: str, path: str) -> str:
    if environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() == "none":
        return ""
    base = settings.otlp_endpoint
    found = environment.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or (base and base.rstrip("/") + path) or ""
    for name in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = environment.get(name, "")
        if found and protocol not in ("", _PROTOCOL):
            raise SettingsInvalid(
                f"{name}: {protocol!r} is not spoken: set it to {_PROTOCOL}, and the endpoint to the collector's port "
                "for OTLP over HTTP, usually 4318"
            )
    return found


def open_telemetry(settings: Settings, redact: Callable[[str], str], *, is_worker: bool) -> "Telemetry | None":
    """Open the telemetry of this process; None when none is configured.

    Raises:
        SettingsInvalid: a variable is wrong, or the address for Prometheus cannot be listened on.
    """
    options = telemetry_options(settings, is_worker=is_worker)
    if not options.is_wanted:
        return None
    # Here and not above: OpenTelemetry takes a quarter of a second to load.
    from replaywright.telemetry.provider import Telemetry  # noqa: PLC0415

    return Telemetry(options, redact, is_worker=is_worker)


@contextlib.asynccontextmanager
async def measuring(telemetry: "Telemetry | None") -> AsyncIterator[None]:
    """Measure until the block ends, if telemetry is configured."""
    if telemetry is None:
        yield
        return
    async with telemetry.measuring():
        yield


_of_commands: list["Telemetry"] = []


def command_telemetry(settings: Settings) -> "Telemetry | None":
    """Return the telemetry of a command: opened once, and ended by `end_command_telemetry`."""
    if not _of_commands and (made := open_telemetry(settings, str, is_worker=False)) is not None:
        _of_commands.append(made)
    return _of_commands[0] if _of_commands else None


def end_command_telemetry() -> None:
    """Send the measurements of a command, for two seconds at most."""
    while _of_commands:
        _of_commands.pop().close()
