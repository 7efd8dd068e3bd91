"""What a run tells whoever measures: one trace, each fact once, whatever replays and losses there are."""

import asyncio
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client.parser import text_string_to_metric_families
from temporalio.client import Client, WorkflowFailureError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep, Proposal
from replaywright.domain.run.commit_requests import Resolution
from replaywright.domain.run.scope import Usage
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.telemetry import catalogue
from replaywright.telemetry.options import TelemetryOptions
from replaywright.telemetry.provider import Telemetry
from tests.telemetry.collector import Collector, Received, collecting, uncatalogued
from tests.workflows.scripted import (
    BUTTON,
    Script,
    after_goto,
    done,
    lost,
    missed,
    run_of,
    scripted,
    start,
)
from tests.workflows.test_browser_task import FILL, GOTO, SEND
from workflows.plugin import WorkflowPlugin

CLICK = {"action": "click", "instruction": "the next link", "effect": "idempotent"}
FOUND = Lookup(hit=True, tier="role_name", entry_version=1, score=1.0)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector
    assert uncatalogued(collector.spans) == []


@asynccontextmanager
async def watched(environment: WorkflowEnvironment, collector: Collector) -> AsyncIterator[tuple[Client, Telemetry]]:
    """A client that is measured, until the block ends; then everything has come."""
    options = TelemetryOptions(
        traces_endpoint=f"{collector.url}/v1/traces",
        metrics_endpoint=f"{collector.url}/v1/metrics",
        metrics_address=("127.0.0.1", 0),
    )
    telemetry = Telemetry(options, str, is_worker=True)
    assert telemetry.temporal is not None
    async with telemetry.measuring():
        client = await Client.connect(
            environment.client.service_client.config.target_host,
            plugins=[WorkflowPlugin()],
            interceptors=[telemetry.interceptor],
            runtime=telemetry.temporal.runtime,
        )
        yield client, telemetry


def counted(telemetry: Telemetry, metric: catalogue.Metric, **labels: str) -> float:
    """What Prometheus is told of it: the sum over all series with these labels."""
    with urllib.request.urlopen(telemetry.metrics_url) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    wanted = {metric.prometheus, f"{metric.prometheus}_count"}
    return sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.name in wanted and labels.items() <= sample.labels.items()
    )


def found(request: CommandOnStep) -> StepOutcome:
    return done(request, lookup=FOUND, url="http://site/inbox?of=ada")


def attribute(span: Received, name: str) -> object:
    return span.attributes.get(f"replaywright.{name}")


async def test_a_run_is_one_trace_from_its_start_to_its_last_activity(
    temporal_env: WorkflowEnvironment, collector: Collector
) -> None:
    script = Script(perform=after_goto(lambda request, _call: found(request)))

    async with watched(temporal_env, collector) as (client, _), scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, CLICK))
        await handle.result()

    [started], [run] = collector.named("run.start"), collector.named("run")
    steps = {attribute(span, "step.sequence"): span for span in collector.named("step")}
    [click] = collector.named("browser.click")
    assert {span.trace for span in collector.spans} == {started.trace}
    assert (started.parent, run.parent) == ("", started.id)
    assert [span.parent for _, span in sorted(steps.items(), key=str)] == [run.id, run.id]
    assert click.parent == steps[2].id
    assert {span.parent for span in collector.spans if span.name in ("session.open", "run.finish")} == {run.id}
    assert {attribute(span, "run.id") for span in collector.spans} == {handle.id}
    assert {span.service for span in collector.spans} == {"replaywright"}
    assert attribute(run, "site") == "site"
    assert run.begun_ns <= steps[1].begun_ns <= click.begun_ns <= click.ended_ns
    assert steps[2].ended_ns <= run.ended_ns


async def test_a_steps_spans_say_how_it_went(temporal_env: WorkflowEnvironment, collector: Collector) -> None:
    script = Script(perform=after_goto(lambda request, _call: found(request)))

    async with watched(temporal_env, collector) as (client, _), scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, CLICK))).result()

    step, [click] = collector.named("step")[-1], collector.named("browser.click")
    expected = {
        "site": "site",
        "step.sequence": 2,
        "step.action": "click",
        "step.outcome": "done",
        "step.effect": "idempotent",
        "lookup.tier": "role_name",
        "step.fingerprint": script.performed[1].context.fingerprint[:12],
    }
    assert {name: attribute(step, name) for name in expected} == expected
    assert {name: attribute(click, name) for name in expected} == expected
    assert attribute(step, "step.how") == "replayed"
    assert attribute(click, "activity.attempt") == 1


@pytest.mark.parametrize("cached", [0, 100])
async def test_replaying_tells_nothing_again(
    temporal_env: WorkflowEnvironment, collector: Collector, cached: int
) -> None:
    """Without a cache every task of the workflow replays all that was before."""
    script = Script(perform=after_goto(lambda request, _call: found(request)))

    async with (
        watched(temporal_env, collector) as (client, telemetry),
        scripted(client, script, cached=cached) as queue,
    ):
        await (await start(client, queue, run_of(GOTO, FILL, CLICK))).result()
        steps = counted(telemetry, catalogue.STEPS)
        runs = counted(telemetry, catalogue.RUNS, status="done", mode="auto")

    assert (steps, runs) == (3, 1)
    assert [attribute(span, "step.sequence") for span in collector.named("step")] == [1, 2, 3]
    assert len({span.id for span in collector.spans}) == len(collector.spans)
    assert len(collector.named("run")) == 1


async def test_a_run_that_survives_a_loss_stays_one_trace(
    temporal_env: WorkflowEnvironment, collector: Collector
) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if call == 0:
            raise lost()
        return found(request)

    script = Script(perform=after_goto(perform))

    async with watched(temporal_env, collector) as (client, telemetry), scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, CLICK))).result()
        adopted = counted(telemetry, catalogue.RECOVERY_DURATION, kind="adopted")
        lost_ones = counted(telemetry, catalogue.ATTEMPTS, status="lost")
        retries = counted(telemetry, catalogue.RETRIES, action="click", kind="resume")

    step, [recovery] = collector.named("step")[-1], collector.named("recovery")
    first, second = collector.named("browser.click")
    [recovering] = collector.named("session.recover")
    assert len({span.trace for span in collector.spans}) == 1
    assert {first.parent, second.parent, recovery.parent} == {step.id}
    assert recovering.parent == recovery.id
    assert first.failed == "SessionLost"
    assert (adopted, lost_ones, retries) == (1, 1, 1)


async def test_a_run_that_continues_as_new_is_one_span(temporal_env: WorkflowEnvironment, collector: Collector) -> None:
    script = Script(perform=after_goto(lambda request, _call: found(request)))

    async with watched(temporal_env, collector) as (client, telemetry), scripted(client, script) as queue:
        run = run_of(GOTO, *[FILL] * 4, steps_per_history=2)
        await (await start(client, queue, run)).result()
        runs = counted(telemetry, catalogue.RUNS)

    [run_span] = collector.named("run")
    assert runs == 1
    assert {span.parent for span in collector.named("step")} == {run_span.id}
    assert run_span.begun_ns <= min(span.begun_ns for span in collector.named("step"))
    assert len({span.trace for span in collector.spans}) == 1


async def test_whoever_starts_a_run_without_telemetry_leaves_it_a_trace_of_its_own(
    temporal_env: WorkflowEnvironment, collector: Collector
) -> None:
    script = Script(perform=lambda request, _call: found(request))
    address = temporal_env.client.service_client.config.target_host
    plain = await Client.connect(address, plugins=[WorkflowPlugin()])

    async with watched(temporal_env, collector) as (client, _), scripted(client, script) as queue:
        await (await start(plain, queue, run_of(GOTO))).result()

    [run] = collector.named("run")
    assert run.parent == ""
    assert {span.trace for span in collector.spans} == {run.trace}
    assert not collector.named("run.start")


async def test_what_leads_to_an_element_is_counted_by_tier_and_reason(
    temporal_env: WorkflowEnvironment, collector: Collector
) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.sequence == 1 and call == 0:
            return missed("ambiguous")
        if request.context.sequence == 1:
            return done(request, lookup=FOUND.model_copy(update={"from_model": True}))
        return done(request, lookup=FOUND.model_copy(update={"healed": True, "tier": "similarity"}))

    script = Script(perform=after_goto(perform))
    script.propose = lambda _request: Proposal(target=BUTTON, usage=Usage(calls=1))

    async with watched(temporal_env, collector) as (client, telemetry), scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, CLICK, CLICK))).result()
        healed = counted(telemetry, catalogue.LOOKUPS, outcome="healed", tier="similarity", reason="none")
        misses = counted(telemetry, catalogue.LOOKUPS, outcome="miss", tier="none", reason="ambiguous")
        lookups = counted(telemetry, catalogue.LOOKUPS)
        heals = counted(telemetry, catalogue.HEALS, tier="similarity")
        fallbacks = counted(telemetry, catalogue.FALLBACKS, reason="ambiguous")
        how = [counted(telemetry, catalogue.STEPS, action="click", how=one) for one in ("healed", "model")]

    assert (healed, misses, lookups, heals, fallbacks, how) == (1, 1, 2, 1, 1, [1, 1])


async def test_a_step_of_which_nobody_knows_is_counted_and_the_run_is_one_that_failed(
    temporal_env: WorkflowEnvironment, collector: Collector
) -> None:
    doubtful = StepOutcome(status=Status.IN_DOUBT, reason="gate_cut", effect=Effect.COMMIT)
    script = Script(perform=after_goto(lambda _request, _call: doubtful))
    script.verify = lambda _request: Resolution(verdict="undecidable", reason="not_seen")

    async with watched(temporal_env, collector) as (client, telemetry), scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, {**SEND, "on_unknown": "fail"}))
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        unknown = counted(telemetry, catalogue.UNKNOWN, action="click")
        doubted = counted(telemetry, catalogue.DOUBTS, action="click", verdict="undecidable")
        steps = counted(telemetry, catalogue.STEPS, action="click", outcome="failed")
        runs = counted(telemetry, catalogue.RUNS, status="failed")

    [run] = collector.named("run")
    assert (unknown, doubted, steps, runs) == (1, 1, 1, 1)
    assert (run.failed, attribute(run, "run.status")) == ("undecidable", "failed")


async def test_a_run_that_is_cancelled_is_told_as_that(temporal_env: WorkflowEnvironment, collector: Collector) -> None:
    begun = asyncio.Event()

    async def performing(_request: CommandOnStep, _call: int) -> StepOutcome:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    script = Script(performing=performing)

    async with watched(temporal_env, collector) as (client, telemetry), scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO))
        await begun.wait()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        runs = counted(telemetry, catalogue.RUNS, status="cancelled")
        steps = counted(telemetry, catalogue.STEPS, outcome="cancelled")

    assert (runs, steps) == (1, 1)
    assert attribute(collector.named("run")[0], "run.status") == "cancelled"


async def test_a_history_is_the_same_with_telemetry_and_without(
    temporal_env: WorkflowEnvironment, collector: Collector
) -> None:
    script = Script(perform=after_goto(lambda request, _call: found(request)))

    async with watched(temporal_env, collector) as (client, _), scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, CLICK))
        await handle.result()
        history = await handle.fetch_history()

    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin()]).replay_workflow(history)
    assert replayed.replay_failure is None


async def test_queues_temporal_and_assertions_are_measured(
    temporal_env: WorkflowEnvironment, collector: Collector
) -> None:
    script = Script(perform=lambda request, _call: found(request))

    async with watched(temporal_env, collector) as (client, telemetry), scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO))).result()
        assert telemetry.temporal is not None
        telemetry.temporal.look()
        waits = {kind: counted(telemetry, catalogue.QUEUE_WAIT, queue=kind) for kind in catalogue.QUEUES}
        starts = counted(telemetry, catalogue.TEMPORAL_DURATION, operation="StartWorkflowExecution")
        other = counted(telemetry, catalogue.TEMPORAL_DURATION, operation=catalogue.OTHER)

    assert all(waits[kind] for kind in ("workflow", "browser", "session"))
    assert (starts, other) == (1, 0)
