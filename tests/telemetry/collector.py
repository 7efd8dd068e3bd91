"""A stand-in for an OpenTelemetry collector: real OTLP over HTTP, decoded by OpenTelemetry's own definitions."""

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.docs.spans import SPANS


@dataclass(frozen=True)
class Received:
    """A span that came."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, object]
    begun_ns: int
    ended_ns: int
    failed: str
    service: str
    events: int


@dataclass
class Collector:
    """What came, in the order in which it did."""

    url: str = ""
    status: int = 200
    """What it answers."""
    bodies: list[bytes] = field(default_factory=list)
    _spans: list[Received] = field(default_factory=list)
    _metrics: set[str] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    busy: threading.Event | None = None
    """It answers nothing before this is set."""

    def take(self, path: str, body: bytes) -> None:
        with self._changed:
            self.bodies.append(body)
            if path == "/v1/traces":
                self._spans += _spans(ExportTraceServiceRequest.FromString(body))
            elif path == "/v1/metrics":
                self._metrics |= _names(ExportMetricsServiceRequest.FromString(body))
            else:
                raise AssertionError(f"nobody sends to {path}")
            self._changed.notify_all()

    @property
    def spans(self) -> list[Received]:
        with self._changed:
            return list(self._spans)

    @property
    def metrics(self) -> set[str]:
        with self._changed:
            return set(self._metrics)

    def named(self, name: str) -> list[Received]:
        """The spans of that name."""
        return [span for span in self.spans if span.name == name]


def _spans(request: ExportTraceServiceRequest) -> Iterator[Received]:
    for resource in request.resource_spans:
        service = str(_values(resource.resource.attributes)["service.name"])
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    name=span.name,
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    attributes=_values(span.attributes),
                    begun_ns=span.start_time_unix_nano,
                    ended_ns=span.end_time_unix_nano,
                    failed=span.status.message if span.status.code == span.status.STATUS_CODE_ERROR else "",
                    service=service,
                    events=len(span.events),
                )


def _values(attributes: Iterable[KeyValue]) -> dict[str, object]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: AnyValue) -> object:
    if value.WhichOneof("value") == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, value.WhichOneof("value") or "string_value")


def _names(request: ExportMetricsServiceRequest) -> set[str]:
    return {
        metric.name
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port of loopback."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["content-type"] == "application/x-protobuf"
            if collector.busy is not None:
                collector.busy.wait()
            if collector.status == 200:
                collector.take(self.path, body)
            self.send_response(collector.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collector
    finally:
        if collector.busy is not None:
            collector.busy.set()
        server.shutdown()
        server.server_close()
        thread.join()


def uncatalogued(spans: Iterable[Received]) -> list[str]:
    """What spans say, or are called, that is not in the reference."""
    known = {kind.name: {attribute.name for attribute in kind.attributes} for kind in SPANS}
    wrong = []
    for span in spans:
        allowed = known.get("chat <model>" if span.name.startswith("chat ") else span.name)
        if allowed is None and re.fullmatch(r"[a-z]+\.[a-z_]+", span.name):
            allowed = known["<activity>"]
            if span.name.startswith("browser."):
                allowed = allowed | known["browser.<action>"]
        wrong += [f"{span.name}: {name}" for name in span.attributes if name not in (allowed or ())]
        wrong += [span.name] if allowed is None else []
    return wrong
