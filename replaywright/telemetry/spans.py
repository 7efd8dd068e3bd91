"""Spans whose place in the trace is known before they are written.

A run outlives every process that works at it, so none of them can hold its span open. What a workflow is busy with is
written when it is over, by whichever worker is there then, with the time at which it began and an identity that every
worker computes alike: from the trace that the run was started in, or, where whoever started it has none, from the
run's own ids. So activities become part of it before it is written, and a loss in between leaves no second one.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from replaywright.observing import child_of
from replaywright.telemetry.measuring import Value

SCOPE = "replaywright"
"""Instrumentation scope of OpenTelemetry."""

_PROPAGATOR = TraceContextTextMapPropagator()
_chosen: ContextVar[tuple[int, int] | None] = ContextVar("chosen", default=None)


class ChosenIds(RandomIdGenerator):
    """Gives the span that is begun now the ids that it has to have."""

    def generate_span_id(self) -> int:
        """Return the chosen id, else a random one."""
        chosen = _chosen.get()
        return super().generate_span_id() if chosen is None else chosen[1]

    def generate_trace_id(self) -> int:
        """Return the chosen id, else a random one; asked only for a span without a parent."""
        chosen = _chosen.get()
        return super().generate_trace_id() if chosen is None else chosen[0]


class Spans:
    """Writes spans; secrets are taken out of whatever text they hold."""

    def __init__(self, provider: TracerProvider, redact: Callable[[str], str]) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(SCOPE)
        self._redact = redact

    def run_of(self, given: str, *ids: str) -> str:
        """Return the `traceparent` of a run that was started with the given one; without, of a trace of its own.

        The same for the same arguments, in every process.
        """
        if context_of(given) is not None:
            return child_of(given, "/".join(("run", *ids)))
        digest = hashlib.sha256("/".join(ids).encode()).hexdigest()
        decision = self._provider.sampler.should_sample(None, int(digest[:32], 16), "run").decision
        sampled = decision is Decision.RECORD_AND_SAMPLE
        return f"00-{digest[:32]}-{digest[32:48]}-{sampled:02x}"

    def write(
        self,
        name: str,
        *,
        parent: str,
        own: str,
        begun_ns: int,
        ended_ns: int,
        attributes: Mapping[str, Value],
        failed: str = "",
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        """Write a span that is over. Without a `parent` it is the root of its trace."""
        itself = context_of(own)
        if itself is None:
            return
        token = _chosen.set((itself.trace_id, itself.span_id))
        try:
            span = self._tracer.start_span(name, within(parent), kind, self._clean(attributes), start_time=begun_ns)
        finally:
            _chosen.reset(token)
        if failed:
            span.set_status(Status(StatusCode.ERROR, self._redact(failed)))
        span.end(max(begun_ns, ended_ns))

    def record(
        self,
        name: str,
        *,
        begun_ns: int,
        seconds: float,
        attributes: Mapping[str, Value],
        failed: str,
        kind: SpanKind,
    ) -> None:
        """Write a span that is over, as a child of the current one."""
        span = self._tracer.start_span(name, None, kind, self._clean(attributes), start_time=begun_ns)
        if failed:
            OpenSpan(span, self._redact).fail(failed)
        span.end(begun_ns + int(seconds * 1e9))

    @contextmanager
    def open(
        self, name: str, *, parent: str = "", attributes: Mapping[str, Value], kind: SpanKind
    ) -> Iterator["OpenSpan"]:
        """Open a span for the block; without a `parent` it is a child of the current one."""
        context = within(parent) if parent else None
        with self._tracer.start_as_current_span(
            name, context, kind, self._clean(attributes), record_exception=False, set_status_on_exception=False
        ) as span:
            yield OpenSpan(span, self._redact)

    def _clean(self, attributes: Mapping[str, Value]) -> dict[str, Value]:
        return {name: self._redact(value) if isinstance(value, str) else value for name, value in attributes.items()}


class OpenSpan:
    """A span that is under way."""

    def __init__(self, span: Span, redact: Callable[[str], str]) -> None:
        self._span = span
        self._redact = redact

    @property
    def traceparent(self) -> str:
        """Return the `traceparent` for child spans."""
        return traceparent_of(self._span.get_span_context())

    def say(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes."""
        for name, value in attributes.items():
            self._span.set_attribute(name, self._redact(value) if isinstance(value, str) else value)

    def fail(self, what: str) -> None:
        """Mark the span as failed; `what` is a name, as messages may hold texts of pages or persons."""
        self._span.set_status(Status(StatusCode.ERROR, what))
        self._span.set_attribute("error.type", what)


def within(traceparent: str) -> Context:
    """Return the context in which what is begun becomes part of that span; an empty one where it is none."""
    return _PROPAGATOR.extract({"traceparent": traceparent}, Context())


def traceparent_of(context: SpanContext) -> str:
    """Format it as W3C Trace Context."""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def context_of(traceparent: str) -> SpanContext | None:
    """Parse a `traceparent`; None if it is malformed."""
    context = get_current_span(within(traceparent)).get_span_context()
    return context if context.is_valid else None
