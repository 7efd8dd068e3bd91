"""A run whose steps are local activities is told like one whose steps are not: report, dashboard, trace and spans."""

import dataclasses
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest

from replaywright.cli.evidence.offline import replay
from replaywright.cli.evidence.run_facts import view_of
from replaywright.cli.evidence.trace import exported, histories_of
from replaywright.cli.runs.follow import handle_of, progress_of
from replaywright.cli.runs.starting import Order, start
from replaywright.domain.audit import audit
from replaywright.domain.histories import calls_of
from replaywright.domain.run_view import RunView
from replaywright.domain.runs import Mode
from replaywright.settings import Settings, load_settings
from replaywright.stack import stop_worker
from replaywright.stack.telemetry import end_command_telemetry
from tests.e2e.lab import Lab
from tests.telemetry.collector import Collector, Received, collecting

STEPS = 10
"""Of these one has consequences: a regular activity in any case."""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="module")
def lab_settings(collector: Collector) -> Settings:
    return load_settings(otlp_endpoint=collector.url)


@pytest.fixture(scope="module", autouse=True)
async def _ended() -> AsyncIterator[None]:
    yield
    end_command_telemetry()


async def performed(lab: Lab, *, local_steps: bool) -> Order:
    """A replay that was followed to its end."""
    order = dataclasses.replace(lab, local_steps=local_steps).order(mode=Mode.REPLAY)
    await start(lab.place, order)
    ending = await lab.follow(order)
    assert ending.status == "done", ending
    return order


def of_run(collector: Collector, order: Order) -> list[Received]:
    return [span for span in collector.spans if span.attributes.get("replaywright.run.id") == order.run_id]


def shape(view: RunView) -> list[object]:
    """What a report says of each step, without times and what is drawn anew for each run."""
    told: list[object] = [view.facts.status, view.facts.missing, [(one.area, one.title) for one in view.facts.history]]
    for step in view.steps:
        told.append((step.sequence, step.action, step.instruction, step.effect, [one.title for one in step.events]))
        for tried in step.attempts:
            found = (tried.lookup.tier, tried.lookup.reason)
            told.append((tried.kind, tried.status, tried.verdict, found, tried.costs.total_ms > 0))
    return told


async def test_report_progress_trace_and_spans_say_the_same_of_local_steps_as_of_regular_ones(
    lab: Lab, collector: Collector
) -> None:
    await lab.served()

    orders = [await performed(lab, local_steps=near) for near in (False, True)]

    client, shapes, kinds, lines = lab.place.client, [], [], []
    for order in orders:
        execution = await client.get_workflow_handle(order.run_id).describe()
        shapes.append(shape(await view_of(lab.place, execution)))
        [history] = await histories_of(lab.place, execution)
        steps = [call for call in calls_of(history.events) if call.activity_type.startswith("browser.")]
        kinds.append(Counter(call.is_local for call in steps))
        progress = await progress_of(handle_of(client, order.run_id))
        assert progress is not None
        lines.append([(line.sequence, line.title.split(" = ")[0], line.status) for line in progress.lines])
        text, _ = await exported(lab.place, execution)
        assert audit(text).findings == ()
        assert (await replay(history)).differences == ()
        lab.assert_one_right_mail(order)
    await stop_worker(lab.stage.worker)
    end_command_telemetry()
    spans = [Counter((span.name, span.failed) for span in of_run(collector, order)) for order in orders]

    assert kinds == [{False: STEPS}, {False: 1, True: STEPS - 1}]
    assert shapes[0] == shapes[1]
    assert lines[0] == lines[1]
    assert spans[1] - spans[0] == {("session.here", ""): 1, ("session.hear", ""): 1}
    assert spans[0] - spans[1] == Counter()
