"""OpenTelemetry's providers, exporters and the Prometheus endpoint of one process.

Nothing of this may slow a run or make it fail: what is written goes into bounded queues that threads of their own
empty, what does not fit is dropped, a collector that does not answer is told of once a minute, and at the end whatever
is left has two seconds to leave.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import (
    SERVICE_INSTANCE_ID,
    SERVICE_NAME,
    SERVICE_VERSION,
    OTELResourceDetector,
    Resource,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from prometheus_client import CollectorRegistry, start_http_server

from replaywright import __version__
from replaywright.errors import SettingsInvalid
from replaywright.observing import observed_by
from replaywright.telemetry import catalogue
from replaywright.telemetry.interceptor import TelemetryInterceptor
from replaywright.telemetry.listening import TelemetryListener
from replaywright.telemetry.metrics import Metrics
from replaywright.telemetry.options import TelemetryOptions
from replaywright.telemetry.spans import SCOPE, ChosenIds, Spans
from replaywright.telemetry.temporal import TemporalMetrics

_log = logging.getLogger("replaywright.telemetry")

FLUSH_S = 2.0
"""Limit for the last export when a process ends."""
TELL_EVERY_S = 60.0
"""Interval between warnings that the collector accepts nothing."""
_EXPORTERS = "opentelemetry"
"""The logger of all of OpenTelemetry."""


class Telemetry:
    """Everything that measures in this process."""

    def __init__(self, options: TelemetryOptions, redact: Callable[[str], str], *, is_worker: bool) -> None:
        """Only a worker is counted: what commands do is too short-lived for a counter.

        Raises:
            SettingsInvalid: the address for Prometheus cannot be listened on.
        """
        resource = _resource(options)
        self._quiet = _Quiet(options.traces_endpoint or options.metrics_endpoint)
        self._providers: list[TracerProvider | MeterProvider] = []
        self._exporters: list[OTLPSpanExporter | OTLPMetricExporter] = []
        self._server: Any = None
        self._is_measuring = False
        self.metrics_url = ""
        """Address of the metrics for Prometheus; empty for none."""
        self.spans = self._traced(options, resource, redact)
        self.metrics = self._counted(options, resource) if is_worker else None
        self.temporal = None if self.metrics is None else TemporalMetrics(self.metrics)
        self.interceptor = TelemetryInterceptor(self.spans, self.metrics)

    def _traced(self, options: TelemetryOptions, resource: Resource, redact: Callable[[str], str]) -> Spans | None:
        if not options.traces_endpoint:
            return None
        exporter = OTLPSpanExporter(endpoint=options.traces_endpoint)
        provider = TracerProvider(resource=resource, shutdown_on_exit=False, id_generator=ChosenIds())
        provider.add_span_processor(BatchSpanProcessor(exporter))
        self._providers.append(provider)
        self._exporters.append(exporter)
        return Spans(provider, redact)

    def _counted(self, options: TelemetryOptions, resource: Resource) -> Metrics | None:
        readers: list[MetricReader] = []
        if options.metrics_address is not None:
            registry = CollectorRegistry()
            readers.append(PrometheusMetricReader(registry=registry, scope_info_enabled=False))
            self._serve(options.metrics_address, registry)
        if options.metrics_endpoint:
            exporter = OTLPMetricExporter(endpoint=options.metrics_endpoint)
            readers.append(PeriodicExportingMetricReader(exporter))
            self._exporters.append(exporter)
        if not readers:
            return None
        provider = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        self._providers.append(provider)
        return Metrics(provider.get_meter(SCOPE, __version__))

    def _serve(self, address: tuple[str, int], registry: CollectorRegistry) -> None:
        host, port = address
        try:
            self._server, _ = start_http_server(port, host, registry)
        except OSError as exc:
            raise SettingsInvalid(
                f"REPLAYWRIGHT_METRICS_ADDRESS: {host}:{port} cannot be listened on ({exc.strerror or exc}): give "
                "every worker process of this machine a port of its own, or port 0 for any that is free"
            ) from exc
        self.metrics_url = f"http://{host}:{self._server.server_port}/metrics"

    @contextlib.asynccontextmanager
    async def measuring(self) -> AsyncIterator[None]:
        """Listen to what this process tells until the block ends; then let what is left leave.

        Inside of another such block it does nothing more.
        """
        if self._is_measuring:
            yield
            return
        self._is_measuring = True
        looking = None if self.temporal is None else asyncio.create_task(self.temporal.keep_looking())
        try:
            with observed_by(TelemetryListener(self.spans, self.metrics)):
                yield
        finally:
            if looking is not None:
                looking.cancel()
            await asyncio.to_thread(self.close)

    def watch_browsers(self, count: Callable[[], int]) -> Callable[[], None]:
        """Measure how many browsers there are, until what comes back is called."""
        return (lambda: None) if self.metrics is None else self.metrics.watch(catalogue.BROWSERS, count)

    def close(self) -> None:
        """Let what is left leave, for two seconds at most; called twice, it does nothing."""
        providers, self._providers = self._providers, []
        if not providers:
            return
        if self.temporal is not None:
            self.temporal.look()
        ending = threading.Thread(target=self._end, args=(providers,), name="telemetry-ends", daemon=True)
        ending.start()
        ending.join(FLUSH_S)
        if ending.is_alive():
            self._quiet.mute()
            for exporter in self._exporters:
                exporter.shutdown()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _end(self, providers: list[TracerProvider | MeterProvider]) -> None:
        for provider in providers:
            # OpenTelemetry raises a bare Exception for a reader that is late: nobody is left who could do anything.
            with contextlib.suppress(Exception):
                provider.shutdown()
        self._quiet.leave()


def _resource(options: TelemetryOptions) -> Resource:
    """Return the resource of this process; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence."""
    own = {SERVICE_NAME: "replaywright", SERVICE_VERSION: __version__}
    if options.instance:
        own[SERVICE_INSTANCE_ID] = options.instance
    return Resource.create({**own, **OTELResourceDetector().detect().attributes})


class _Quiet(logging.Handler):
    """Takes what OpenTelemetry logs: the first line, and one more each minute with how many there were."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(logging.WARNING)
        parts = urlsplit(endpoint)
        self._endpoint = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # it may hold a password
        self._said_at, self._unsaid = float("-inf"), 0
        logger = logging.getLogger(_EXPORTERS)
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the record on, if it is time."""
        now = time.monotonic()
        self._unsaid += 1
        if now - self._said_at < TELL_EVERY_S:
            return
        more = f" ({self._unsaid} times since it was last said)" if self._unsaid > 1 else ""
        self._said_at, self._unsaid = now, 0
        _log.warning("telemetry is not exported to %s: %s%s", self._endpoint, record.getMessage(), more)

    def mute(self) -> None:
        """Say nothing more: what is still busy is given up."""
        self._said_at = float("inf")

    def leave(self) -> None:
        """Let OpenTelemetry log as before, if nobody else listens."""
        logger = logging.getLogger(_EXPORTERS)
        logger.removeHandler(self)
        logger.propagate = not any(isinstance(handler, _Quiet) for handler in logger.handlers)
