"""What real workers send to a collector and tell Prometheus of real runs."""

import json
import re
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from demo.stage import PASSWORD_SECRET
from replaywright.cli.runs.starting import Order
from replaywright.domain.run.scope import Mode
from replaywright.settings import Settings, load_settings
from replaywright.stack import stop_worker
from replaywright.stack.telemetry import end_command_telemetry
from replaywright.telemetry import catalogue
from tests.e2e.lab import Lab
from tests.leaks import Place, leaks
from tests.telemetry.collector import Collector, Received, collecting, uncatalogued

pytestmark = pytest.mark.slow

RARE = {
    catalogue.HEALS,
    catalogue.MASK_FAILURES,
    catalogue.MODEL_COST,
    catalogue.RECOVERY_DURATION,
    catalogue.RETRIES,
    catalogue.DOUBTS,
    catalogue.UNKNOWN,
    catalogue.CANARIES,
    catalogue.CANARY_SUCCESS,
    catalogue.SIGN_INS,
    catalogue.SESSION_ENTRIES,
    catalogue.SESSION_WAIT,
    catalogue.CODES,
}
"""What learning and replaying one task leads to none of; `tests.telemetry` and `tests.workflows` have them."""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="module")
def lab_settings(collector: Collector) -> Settings:
    return load_settings(otlp_endpoint=collector.url, metrics_address="127.0.0.1:0", log_format="json")


@pytest.fixture(scope="module")
async def lab(own_lab: Lab) -> Lab:
    """A stage of its own, with these settings."""
    return own_lab


@pytest.fixture(scope="module", autouse=True)
async def _ended() -> AsyncIterator[None]:
    yield
    end_command_telemetry()


def families(log: Path) -> dict[str, Metric]:
    """What Prometheus is told by the worker with this log."""
    [address] = re.findall(r"metrics for Prometheus are at (http://127\.0\.0\.1:\d+/metrics)", log.read_text())
    with urllib.request.urlopen(address) as answer:
        return {family.name: family for family in text_string_to_metric_families(answer.read().decode())}


def of_run(collector: Collector, order: Order) -> list[Received]:
    """The spans of a run, which are one trace."""
    spans = [span for span in collector.spans if span.attributes.get("replaywright.run.id") == order.run_id]
    assert len({span.trace for span in spans}) == 1
    return spans


@pytest.mark.long
async def test_a_replay_is_traced_from_the_client_to_the_browser_and_counted_by_the_catalogue(
    lab: Lab, collector: Collector
) -> None:
    order = lab.order(mode=Mode.REPLAY)
    await lab.served()

    await lab.run(order)
    told = families(lab.stage.worker_logs[-1])
    await stop_worker(lab.stage.worker)
    end_command_telemetry()

    spans = of_run(collector, order)
    by_id = {span.id: span for span in spans}
    [run], [started] = ([span for span in spans if span.name == name] for name in ("run", "run.start"))
    clicks = [span for span in spans if span.name == "browser.click"]
    assert run.parent == started.id
    assert {by_id[click.parent].name for click in clicks} == {"step"}
    assert {click.attributes["replaywright.lookup.tier"] for click in clicks} <= set(catalogue.TIER.values)
    assert uncatalogued(collector.spans) == []
    by_family = {one.prometheus.removesuffix("_total"): one for one in catalogue.METRICS}
    assert told.keys() - {"target_info"} <= by_family.keys()
    assert {by_family[name] for name in by_family.keys() - told.keys()} <= RARE
    assert {one.name for one in {*catalogue.METRICS} - RARE} <= collector.metrics
    for name, family in told.items():
        for sample in family.samples if name in by_family else ():
            assert_foreseen(by_family[name], sample.labels)


def assert_foreseen(metric: catalogue.Metric, given: dict[str, str]) -> None:
    """The labels are the metric's, and say nothing that no set has."""
    needed = {label.prometheus for label in metric.labels if not label.is_optional}
    assert needed <= given.keys() - {"le"} <= {label.prometheus for label in metric.labels}
    for label in metric.labels:
        value = given.get(label.prometheus, "")
        assert not label.is_closed or value in label.values or (label.is_optional and not value), (metric.name, given)


async def test_no_secret_is_in_spans_metrics_or_logs(lab: Lab, collector: Collector) -> None:
    places = [Place(f"otlp {number}", body) for number, body in enumerate(collector.bodies)]
    logs = [line for log in lab.stage.worker_logs for line in log.read_text().splitlines()]
    places.append(Place("log", "\n".join(logs).encode()))

    assert collector.bodies
    assert leaks(places, {PASSWORD_SECRET: lab.stage.password}) == []
    assert any(json.loads(line).get("run") for line in logs if line.startswith("{"))


@pytest.mark.long
async def test_a_run_that_survives_its_worker_is_one_trace(lab: Lab, collector: Collector) -> None:
    order = lab.order(mode=Mode.REPLAY)
    await lab.served()

    await lab.killed_at("acted", 3, order)
    await lab.follow(order)
    await stop_worker(lab.stage.worker)
    end_command_telemetry()

    lab.assert_one_right_mail(order)
    spans = of_run(collector, order)
    names = [span.name for span in spans]
    assert (names.count("run"), names.count("recovery")) == (1, 1)
    assert uncatalogued(spans) == []
