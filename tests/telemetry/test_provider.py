"""A process with telemetry: what it sends and serves, and that a collector which is not there costs nothing."""

import logging
import socket
import threading
import urllib.request
from collections.abc import Iterator

import pytest
from opentelemetry.trace import SpanKind
from prometheus_client.parser import text_string_to_metric_families

from replaywright.errors import SettingsInvalid
from replaywright.observing import observer
from replaywright.settings import load_settings
from replaywright.stack.telemetry import measuring, open_telemetry, telemetry_options
from replaywright.telemetry import catalogue, provider
from replaywright.telemetry.options import TelemetryOptions
from replaywright.telemetry.provider import Telemetry
from replaywright.telemetry.spans import context_of
from tests.telemetry.collector import Collector, collecting

PREVIOUS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
DROPPED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def sending_to(url: str) -> TelemetryOptions:
    return TelemetryOptions(traces_endpoint=f"{url}/v1/traces", metrics_endpoint=f"{url}/v1/metrics")


def written(telemetry: Telemetry, parent: str = PREVIOUS) -> str:
    """A span of a run, and where it says that it is."""
    assert telemetry.spans is not None
    own = telemetry.spans.run_of(parent, "default", "run-1", "first")
    telemetry.spans.write("run", parent=parent, own=own, begun_ns=10, ended_ns=20, attributes={"a": "of s3cret"})
    return own


# ------------------------------------------------------------------------------------------- sending


async def test_what_is_measured_has_left_when_the_block_ends(collector: Collector) -> None:
    telemetry = Telemetry(sending_to(collector.url), lambda text: text.replace("s3cret", "***"), is_worker=True)

    async with telemetry.measuring():
        own = written(telemetry)
        observer().not_masked("picture")

    [span] = collector.spans
    assert (span.trace, span.id, span.parent) == (PREVIOUS[3:35], own[36:52], PREVIOUS[36:52])
    assert (span.begun_ns, span.ended_ns) == (10, 20)
    assert span.attributes == {"a": "of ***"}
    assert "replaywright.secrets.mask_failures" in collector.metrics


async def test_the_same_run_has_the_same_place_in_every_process(collector: Collector) -> None:
    one, other = (Telemetry(sending_to(collector.url), str, is_worker=True) for _ in range(2))

    for given in (PREVIOUS, "", "no traceparent"):
        assert one.spans is not None
        assert other.spans is not None
        own = one.spans.run_of(given, "default", "run-1", "first")
        assert own == other.spans.run_of(given, "default", "run-1", "first")
        assert own != one.spans.run_of(given, "default", "run-1", "second")
        assert context_of(own) is not None
        assert (own[:35] == PREVIOUS[:35]) == (given == PREVIOUS)
    one.close()
    other.close()


async def test_a_trace_that_its_caller_does_not_record_is_not_recorded(collector: Collector) -> None:
    telemetry = Telemetry(sending_to(collector.url), str, is_worker=True)

    async with telemetry.measuring():
        written(telemetry, DROPPED)
        assert telemetry.spans is not None
        with telemetry.spans.open("run.start", parent=DROPPED, attributes={}, kind=SpanKind.CLIENT) as span:
            assert span.traceparent.endswith("-00")

    assert collector.spans == []


async def test_the_names_of_the_standard_variables_win(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=mails,service.instance.id=blue")
    telemetry = Telemetry(sending_to(collector.url), str, is_worker=True)

    async with telemetry.measuring():
        written(telemetry)

    assert collector.spans[0].service == "mails"


# ------------------------------------------------------------------------------ a collector that is not there


def nobody() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.mark.parametrize(
    "how",
    ["hangs", pytest.param("refuses", marks=pytest.mark.long), pytest.param("fails", marks=pytest.mark.long)],
)
async def test_a_collector_that_takes_nothing_neither_waits_nor_floods_the_log(
    collector: Collector, how: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600")  # whoever waited for the collector would wait for ever
    if how == "hangs":
        collector.busy = threading.Event()
    if how == "fails":
        collector.status = 503
    telemetry = Telemetry(sending_to(nobody() if how == "refuses" else collector.url), str, is_worker=True)

    with caplog.at_level(logging.WARNING):
        async with telemetry.measuring():
            assert not logging.getLogger("opentelemetry").propagate  # what it says itself reaches no handler
            for _ in range(3_000):  # more than fit into the queue
                written(telemetry)

    told = [record for record in caplog.records if record.name.startswith("replaywright")]
    assert len(told) <= 1
    assert all("telemetry is not exported to http://127.0.0.1:" in record.getMessage() for record in told)


def test_that_nothing_is_exported_is_said_once_a_minute_with_how_often(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("replaywright.telemetry.provider.time.monotonic", lambda: now[0])
    telemetry = Telemetry(TelemetryOptions(traces_endpoint="http://us:pass@collector/v1/traces"), str, is_worker=False)
    log = logging.getLogger("opentelemetry.exporter")

    for _ in range(5):
        log.warning("no route to %s", "collector")
    now[0] += provider.TELL_EVERY_S
    log.warning("no route to %s", "collector")
    telemetry.close()

    first, second = (one.getMessage() for one in caplog.records if one.name == "replaywright.telemetry")
    assert first == "telemetry is not exported to http://collector/v1/traces: no route to collector"
    assert second == f"{first} (5 times since it was last said)"


# ---------------------------------------------------------------------------------------- Prometheus


def told_prometheus(telemetry: Telemetry) -> dict[str, float]:
    with urllib.request.urlopen(telemetry.metrics_url) as answer:
        text = answer.read().decode()
    return {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


async def test_prometheus_is_answered_at_a_free_port_until_the_end() -> None:
    telemetry = Telemetry(TelemetryOptions(metrics_address=("127.0.0.1", 0)), str, is_worker=True)

    async with telemetry.measuring():
        stop = telemetry.watch_browsers(lambda: 3)
        with_browsers = told_prometheus(telemetry)
        stop()
        without = told_prometheus(telemetry)

    assert (with_browsers["replaywright_browsers"], without["replaywright_browsers"]) == (3, 0)
    with pytest.raises(OSError, match="refused"):
        told_prometheus(telemetry)


def test_an_address_that_another_worker_has_is_refused_with_a_remedy() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(SettingsInvalid, match=rf"METRICS_ADDRESS: 127\.0\.0\.1:{port} .*port 0"):
            Telemetry(TelemetryOptions(metrics_address=("127.0.0.1", port)), str, is_worker=True)


def test_prometheus_knows_each_metric_by_the_name_in_the_catalogue() -> None:
    for metric in catalogue.METRICS:
        assert metric.prometheus.startswith(("replaywright_", "gen_ai_"))
        assert metric.prometheus.endswith("_total") == (metric.kind is catalogue.MetricKind.COUNTER)
        assert metric.prometheus.endswith("_seconds") == (metric.unit == "s")


# ------------------------------------------------------------------------------------------- settings


def test_without_an_address_there_is_no_telemetry() -> None:
    assert open_telemetry(load_settings(), str, is_worker=True) is None


async def test_measuring_nothing_is_possible() -> None:
    async with measuring(None):
        observer().not_masked("picture")


def test_the_standard_variables_say_where_telemetry_goes() -> None:
    settings = load_settings(otlp_endpoint="http://collector:4318/", metrics_address="0.0.0.0:9464")

    worker = telemetry_options(settings, {}, is_worker=True)
    command = telemetry_options(settings, {}, is_worker=False)

    assert worker.traces_endpoint == command.traces_endpoint == "http://collector:4318/v1/traces"
    assert (worker.metrics_endpoint, worker.metrics_address) == ("http://collector:4318/v1/metrics", ("0.0.0.0", 9464))
    assert (command.metrics_endpoint, command.metrics_address) == ("", None)


@pytest.mark.parametrize(
    ("variables", "traces", "metrics"),
    [
        ({"OTEL_TRACES_EXPORTER": "none"}, "", "http://collector:4318/v1/metrics"),
        ({"OTEL_METRICS_EXPORTER": "none"}, "http://collector:4318/v1/traces", ""),
        ({"OTEL_SDK_DISABLED": "true"}, "", ""),
        (
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://tempo:4318/here"},
            "http://tempo:4318/here",
            "http://collector:4318/v1/metrics",
        ),
    ],
)
def test_a_signal_can_be_sent_elsewhere_or_not_at_all(variables: dict[str, str], traces: str, metrics: str) -> None:
    options = telemetry_options(load_settings(otlp_endpoint="http://collector:4318"), variables, is_worker=True)

    assert (options.traces_endpoint, options.metrics_endpoint) == (traces, metrics)


def test_another_protocol_is_refused_with_a_remedy() -> None:
    settings = load_settings(otlp_endpoint="http://collector:4317")

    with pytest.raises(SettingsInvalid, match=r"OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' is not spoken.*4318"):
        telemetry_options(settings, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, is_worker=True)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("REPLAYWRIGHT_METRICS_ADDRESS", "9464", "expected host:port"),
        ("REPLAYWRIGHT_METRICS_ADDRESS", "localhost:http", "expected host:port"),
        ("REPLAYWRIGHT_METRICS_ADDRESS", "localhost:70000", "expected host:port"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "begins with http:// or https://"),
        ("REPLAYWRIGHT_LOG_FORMAT", "xml", "'text' or 'json'"),
    ],
)
def test_a_wrong_setting_is_refused(variable: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(SettingsInvalid, match=said) as refused:
        load_settings()
    assert value in str(refused.value)
