"""What telemetry needs to know; without OpenTelemetry, so that a process without telemetry does not load it."""

from dataclasses import dataclass

TRACES, METRICS = "/v1/traces", "/v1/metrics"
"""Paths of the signals below a collector's address, by the OTLP specification."""


@dataclass(frozen=True)
class TelemetryOptions:
    """Where telemetry goes."""

    traces_endpoint: str = ""
    """Where spans are sent, by OTLP over HTTP; empty for nowhere."""
    metrics_endpoint: str = ""
    """Where metrics are sent."""
    metrics_address: tuple[str, int] | None = None
    """Where Prometheus is answered; None for nowhere."""
    instance: str = ""
    """What tells this process from others of the same service."""

    @property
    def is_wanted(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.traces_endpoint or self.metrics_endpoint) or self.metrics_address is not None


def parse_address(text: str) -> tuple[str, int]:
    """`host:port`, or `[::1]:port`.

    Raises:
        ValueError: it is something else.
    """
    host, separator, port = text.rpartition(":")
    if not (separator and host and port.isascii() and port.isdecimal() and int(port) <= 65535):
        raise ValueError("expected host:port, for example 127.0.0.1:9464")
    return host.removeprefix("[").removesuffix("]"), int(port)
