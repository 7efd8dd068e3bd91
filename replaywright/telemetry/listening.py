"""The listener of a process: what is told becomes metrics and spans."""

from opentelemetry.trace import SpanKind

from replaywright.domain.run.scope import Usage
from replaywright.observing import ModelRequested
from replaywright.telemetry.gen_ai import span_attributes, span_name
from replaywright.telemetry.metrics import Metrics
from replaywright.telemetry.spans import Spans


class TelemetryListener:
    """An `Observer` that tells the metrics and the spans, as far as there are any."""

    def __init__(self, spans: Spans | None, metrics: Metrics | None) -> None:
        self._spans = spans
        self._metrics = metrics

    def redis_asked(self, operation: str, seconds: float, *, ok: bool) -> None:
        """See `Observer`."""
        if self._metrics is not None:
            self._metrics.redis_asked(operation, seconds, ok=ok)

    def model_asked(self, role: str, model: str, usage: Usage, seconds: float, *, ok: bool) -> None:
        """See `Observer`."""
        if self._metrics is not None:
            self._metrics.model_asked(role, model, usage, seconds, ok=ok)

    def model_requested(self, request: ModelRequested) -> None:
        """See `Observer`."""
        if self._metrics is not None:
            self._metrics.model_requested(request)
        if self._spans is not None:
            self._spans.record(
                span_name(request),
                begun_ns=request.begun_ns,
                seconds=request.seconds,
                attributes=span_attributes(request),
                failed=request.error,
                kind=SpanKind.CLIENT,
            )

    def signed_in(self, session: str, *, ok: bool) -> None:
        """See `Observer`."""
        if self._metrics is not None:
            self._metrics.signed_in(session, ok=ok)

    def not_masked(self, what: str) -> None:
        """See `Observer`."""
        if self._metrics is not None:
            self._metrics.not_masked(what)
