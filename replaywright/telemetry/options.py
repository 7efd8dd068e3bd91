"""Options of telemetry; without OpenTelemetry, so that a process without telemetry does not load it."""

from dataclasses import dataclass

TRACES, METRICS = "/v1/traces", "/v1/metrics"
"""Paths of the signals below a collector's address, by the OTLP specification."""


@dataclass(frozen=True)
class TelemetryOptions:
    """Destinations of telemetry."""

    traces_endpoint: str = ""
    """OTLP endpoint for spans, over HTTP; empty for none."""
    metrics_endpoint: str = ""
    """OTLP endpoint for metrics."""
    metrics_address: tuple[str, int] | None = None
    """Address for Prometheus; None for none."""
    instance: str = ""
    """Instance id of this process within the service."""

    @property
    def is_wanted(self) -> bool:
        """Return True if any destination is set."""
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
