"""What is counted for what happened: each fact once, under labels of closed sets."""

import ast
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from cache.scripts import SCRIPTS
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Target
from replaywright.domain.run.commands import Perform, Proposal, Recheck, StepContext
from replaywright.domain.run.commit_requests import Resolution, ResolveRequest
from replaywright.domain.run.model_requests import ProposeRequest
from replaywright.domain.run.runs import Finished, RunResult, Totals
from replaywright.domain.run.scope import RunScope, Usage
from replaywright.domain.session.sessions import SessionRef
from replaywright.domain.site_session.codes import FetchCode, FetchedCode
from replaywright.domain.site_session.commands import EnterSiteSession, SessionEntered
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import Click, Goto, Step
from replaywright.observing import ModelRequested, RecoveryTold, StepTold, observed_by, observer
from replaywright.telemetry import catalogue, interceptor
from replaywright.telemetry.gen_ai import span_attributes, span_name
from replaywright.telemetry.measuring import Ran, attributes, measured
from tests.docs.spans import SPANS
from tests.telemetry.told import Remembering

ROOT = Path(__file__).parents[2]
CLICK = Click(action="click", instruction="the send button")
HIT = Lookup(hit=True, tier="hash", entry_version=3)


SESSION = SessionRef(session_id="s", host="h", queue="q", host_queue="hq", directory="/d", epoch=1)
RUN = RunScope(
    run_id="run-1",
    lineage="run-1",
    tenant="default",
    task="a task with free text",
    session=SESSION,
    epoch=1,
    site="http://user@site.example:8080/path?secret=1",
)


def asked(step: Step = CLICK, attempt: str = "", proposal: Proposal | None = None) -> Perform:
    context = StepContext(run=RUN, sequence=3, step=step, fingerprint="f" * 64, attempt=attempt)
    return Perform(context=context, proposal=proposal)


def outcome(**fields: object) -> StepOutcome:
    return StepOutcome.model_validate({"status": Status.DONE, "effect": Effect.READ, "lookup": HIT, **fields})


def ran(result: object, request: object = None, attempt: int = 1) -> Ran:
    return Ran(asked() if request is None else request, result, 0.5, attempt)


def said(one: Ran) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    return {(told.metric.name.removeprefix("replaywright."), frozenset(told.labels.items())) for told in measured(one)}


def labels(**given: str) -> frozenset[tuple[str, str]]:
    return frozenset(given.items())


# ------------------------------------------------------------------------------------------- steps


def test_what_the_ledger_answers_is_not_counted_again() -> None:
    assert said(ran(outcome(from_ledger=True))) == set()


def test_an_attempt_that_came_to_nothing_is_counted_as_lost() -> None:
    assert ("attempts", labels(action="click", status="lost")) in said(ran(None))


def test_what_is_only_asked_for_elsewhere_is_no_fault() -> None:
    elsewhere = ApplicationError("not here", type="Elsewhere", category=ApplicationErrorCategory.BENIGN)

    assert interceptor.is_benign(elsewhere)
    assert not interceptor.is_benign(ApplicationError("gone", type="SessionLost"))
    assert interceptor.kind_of(ApplicationError("gone", type="SessionLost")) == "SessionLost"
    assert interceptor.kind_of(TimeoutError("the page said this")) == "TimeoutError"


def test_a_second_try_of_temporals_is_a_retry_and_a_look_again_is_no_attempt() -> None:
    looked_again = said(
        ran(outcome(), Recheck(context=asked(attempt="recheck").context, unmet=outcome(status=Status.UNMET)))
    )

    assert ("retries", labels(action="click", kind="activity")) in said(ran(outcome(), attempt=2))
    assert ("retries", labels(action="click", kind="recheck")) in looked_again
    assert "attempts" not in {name for name, _ in looked_again}


@pytest.mark.parametrize(
    ("lookup", "expected"),
    [
        (HIT, {"outcome": "hit", "tier": "hash", "reason": "none"}),
        (HIT.model_copy(update={"healed": True}), {"outcome": "healed", "tier": "hash", "reason": "none"}),
        (Lookup(hit=True, tier="query"), {"outcome": "declared", "tier": "query", "reason": "none"}),
        (Lookup(reason="low_score", tier="similarity"), {"outcome": "miss", "tier": "none", "reason": "low_score"}),
    ],
)
def test_a_lookup_is_counted_by_what_led_to_the_element_or_why_nothing_did(
    lookup: Lookup, expected: dict[str, str]
) -> None:
    found = [told for told in measured(ran(outcome(lookup=lookup))) if told.metric is catalogue.LOOKUPS]

    assert [told.labels for told in found] == [expected]


@pytest.mark.parametrize(
    ("request_", "result"),
    [
        (asked(step=Goto(action="goto", url="http://site/")), outcome()),
        (asked(proposal=Proposal(target=Target(tag="button"))), outcome()),
        (asked(), outcome(status=Status.REFUSED, reason="store_unavailable", lookup=Lookup())),
    ],
)
def test_what_looked_for_nothing_is_no_lookup(request_: Perform, result: StepOutcome) -> None:
    assert "cache.lookups" not in {name for name, _ in said(ran(result, request_))}


def test_a_heal_counts_where_the_step_was_done_on_what_it_found() -> None:
    healed = HIT.model_copy(update={"healed": True, "tier": "similarity"})

    assert ("heals", labels(tier="similarity")) in said(ran(outcome(lookup=healed)))
    assert "heals" not in {name for name, _ in said(ran(outcome(lookup=healed, status=Status.UNMET)))}


def test_predicates_are_counted_by_what_was_found_of_them() -> None:
    results = (
        PredicateResult(passed=True, reason="holds"),
        PredicateResult(passed=False, reason="text_missing"),
        PredicateResult(passed=False, reason="none_found", decided=False),
    )

    for one in (ran(outcome(predicates=results)), ran(Finished(predicates=results))):
        found = [told.labels["result"] for told in measured(one) if told.metric is catalogue.ASSERTIONS]
        assert found == ["holds", "fails", "undecided"]


def test_a_model_is_counted_as_asked_for_an_element_once_however_often_the_activity_is_tried() -> None:
    request = ProposeRequest(
        run_id="r", lineage="r", sequence=1, instruction="x", action="click", snapshot="s", missed=HIT
    )

    assert said(ran(Proposal(), request)) == {("fallbacks", labels(reason="unmet"))}
    assert said(ran(Proposal(), request, attempt=2)) == set()


# --------------------------------------------------------------------------------------- attributes


def test_a_spans_attributes_hold_no_address_and_nothing_that_a_page_or_a_person_wrote() -> None:
    told = attributes(ran(outcome(message="the page says hello", url="http://site.example/inbox?q=1", reason="unmet")))

    assert told["replaywright.site"] == "site.example"
    assert told["replaywright.step.fingerprint"] == "f" * 12
    assert not {"the page says hello", "the send button", "a task with free text"} & set(map(str, told.values()))
    assert not any("?" in str(value) or "user@" in str(value) for value in told.values())


# ---------------------------------------------------------------------------------------- catalogue


def test_a_value_outside_of_a_closed_set_is_other() -> None:
    remembering = Remembering()

    remembering.metrics.redis_asked("a name\nthat a server made up", 0.1, ok=True)

    assert remembering.value("replaywright.redis.duration", operation="other", result="ok") == 1


def test_an_open_label_cannot_grow_without_end() -> None:
    remembering = Remembering()

    for number in range(100):
        remembering.metrics.model_asked("executor", f"openai:{number}", Usage(calls=1), 0.1, ok=True)

    models = {dict(told)["model"] for name, told in remembering.series if name == "replaywright.model.calls"}
    assert len(models) == 21
    assert "other" in models


def test_labels_that_a_metric_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="has the labels"):
        Remembering().metrics.add(catalogue.RUNS, 1, status="done")


def test_a_model_that_answered_at_the_second_request_failed_once() -> None:
    remembering = Remembering()
    usage = Usage(calls=2, input_tokens=100, output_tokens=10, cost_usd=0.25, priced=2)

    remembering.metrics.model_asked("planner", "openai:x", usage, 1.5, ok=True)

    of = {"role": "planner", "model": "openai:x"}
    assert remembering.value("replaywright.model.calls", **of, result="ok") == 1
    assert remembering.value("replaywright.model.calls", **of, result="failed") == 1
    assert remembering.value("replaywright.model.tokens", **of, direction="input") == 100
    assert remembering.value("replaywright.model.cost", **of) == 0.25


def test_whoever_listens_is_told_and_nobody_after_the_block() -> None:
    remembering = Remembering()

    with observed_by(remembering.metrics):
        observer().not_masked("picture")
    observer().not_masked("picture")

    assert remembering.value("replaywright.secrets.mask_failures", what="picture") == 1


CODE = FetchCode(run_id="r", tenant="t", source="ada-mail", since=0.0, number=1)


def entering(waited_s: float | None = None) -> EnterSiteSession:
    return EnterSiteSession(session=SESSION, epoch=1, tenant="t", name="crm", waited_s=waited_s)


@pytest.mark.parametrize(
    ("entered", "result"),
    [
        (SessionEntered(number=1, held=True), "held"),
        (SessionEntered(number=1, why="the site asks to sign in"), "expired"),
        (SessionEntered(why="nobody signs in before 12:00", is_refused=True), "refused"),
    ],
)
def test_a_session_that_is_entered_tells_how_that_went_and_how_long_the_run_had_waited(
    entered: SessionEntered, result: str
) -> None:
    waited = ("session.wait", labels(session="crm"))
    entries = ("session.entries", labels(session="crm", result=result))

    assert said(ran(entered, entering(waited_s=2.5))) == {entries, waited}
    assert said(ran(entered, entering())) == {entries}


def test_a_code_that_did_not_come_counts_and_one_that_is_brought_does_not() -> None:
    found = {("codes", labels(source="ada-mail", result="found"))}
    missing = {("codes", labels(source="ada-mail", result="missing"))}

    assert said(ran(FetchedCode(question="code-1", sealed="x"), CODE)) == found
    assert said(ran(FetchedCode(why="no code came to ada-mail within 2min"), CODE)) == missing
    assert said(ran(FetchedCode(), CODE)) == set()


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (RunResult(succeeded=True), "intact"),
        (RunResult(succeeded=True, totals=Totals(heals=1)), "drifted"),
        (RunResult(succeeded=False, reason="not_found"), "broken"),
        (RunResult(succeeded=False, reason="navigation_failed"), "unjudged"),
        (None, "unjudged"),
    ],
)
def test_a_canary_says_what_became_of_its_page(result: RunResult | None, outcome: str) -> None:
    assert interceptor.canary_outcome(result) == outcome


def test_the_last_success_of_a_canary_is_the_time_of_one_that_went_through() -> None:
    remembering = Remembering()

    remembering.metrics.canary_ended("invoices", "intact", 1000.0)
    remembering.metrics.canary_ended("invoices", "broken", 2000.0)

    assert remembering.value("replaywright.canary.last_success", skill="invoices") == 1000
    assert remembering.value("replaywright.canary.runs", skill="invoices", outcome="broken") == 1


REQUESTED = ModelRequested(
    role="executor",
    provider="mistral",
    model="mistral-large",
    begun_ns=10**9,
    seconds=0.5,
    host="models.example",
    temperature=0.0,
    input_tokens=120,
    output_tokens=8,
    answered_by="mistral-large-2026",
    finish_reason="stop",
)


def test_a_request_to_a_model_is_measured_by_the_conventions_for_generative_ai() -> None:
    remembering = Remembering()
    failed = replace(REQUESTED, error="ModelUnavailable", input_tokens=0, output_tokens=0)

    remembering.metrics.model_requested(REQUESTED)
    remembering.metrics.model_requested(failed)

    of = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "mistral_ai",
        "gen_ai.request.model": "mistral-large",
    }
    assert {one: count for one, count in remembering.series.items() if one[0].startswith("gen_ai")} == {
        ("gen_ai.client.operation.duration", frozenset(of.items())): 1,
        ("gen_ai.client.operation.duration", frozenset({**of, "error.type": "ModelUnavailable"}.items())): 1,
        ("gen_ai.client.token.usage", frozenset({**of, "gen_ai.token.type": "input"}.items())): 1,
        ("gen_ai.client.token.usage", frozenset({**of, "gen_ai.token.type": "output"}.items())): 1,
    }


def test_the_span_of_a_request_says_what_is_known_by_the_names_of_the_conventions() -> None:
    assert span_name(REQUESTED) == "chat mistral-large"
    assert span_attributes(REQUESTED) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "mistral_ai",
        "gen_ai.request.model": "mistral-large",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.response.model": "mistral-large-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 8,
        "server.address": "models.example",
        "replaywright.model.role": "executor",
    }


def everything(remembering: Remembering) -> None:
    """Tell one example of all that there is, through what tells it in a worker."""
    metrics = remembering.metrics
    doubt = ResolveRequest(action=asked().context, adopted=True)
    propose = ProposeRequest(run_id="r", lineage="r", sequence=1, instruction="x", action="click", snapshot="s")
    healed = outcome(lookup=HIT.model_copy(update={"healed": True}))
    checked = Finished(predicates=(PredicateResult(passed=True, reason="holds"),))
    activities: Iterable[Ran] = (
        ran(healed, asked(attempt="retry")),
        ran(checked),
        ran(Proposal(), propose),
        ran(Resolution(verdict="undecidable"), doubt),
        ran(SessionEntered(number=1, held=True), entering(waited_s=2.5)),
        ran(FetchedCode(sealed="x"), CODE),
    )
    for one in activities:
        for told in measured(one):
            metrics.add(told.metric, told.value, **told.labels)
    place = {"parent": "", "own": "", "begun_ns": 0, "ended_ns": 10**9, "run_id": "r"}
    metrics.told(
        StepTold(
            **place,  # type: ignore[arg-type]  # of two types, one for each name
            site="site",
            sequence=1,
            action="click",
            effect="read",
            outcome="done",
            how="replayed",
            tier="hash",
            reason="",
            fingerprint="f",
        )
    )
    metrics.told(RecoveryTold(**place, kind="adopted"))  # type: ignore[arg-type]  # likewise
    metrics.run_ended(status="done", mode="auto", seconds=1)
    metrics.model_asked("executor", "openai:x", Usage(calls=1, cost_usd=0.1, priced=1), 1, ok=True)
    metrics.model_requested(REQUESTED)
    metrics.signed_in("crm", ok=True)
    metrics.canary_ended("invoices", "intact", 1e9)
    metrics.redis_asked("record", 0.001, ok=True)
    metrics.not_masked("picture")
    metrics.watch(catalogue.BROWSERS, lambda: 2)
    metrics.add(catalogue.QUEUE_WAIT, 0.1, queue=interceptor.queue_kind("replaywright-browser"))
    metrics.add(catalogue.TEMPORAL_DURATION, 0.1, operation="StartWorkflowExecution")


def test_all_metrics_of_the_catalogue_are_emitted_and_no_value_of_them_is_unforeseen() -> None:
    remembering = Remembering()

    everything(remembering)

    assert remembering.names == {one.name for one in catalogue.METRICS}
    assert not [told for _, told in remembering.series if "other" in dict(told).values()]


def test_every_metric_and_span_of_the_catalogue_is_used_by_code_and_code_uses_no_other() -> None:
    """By the names in the sources: nothing else can make an instrument, or a span with a name of its own."""
    metrics = {name for name in dir(catalogue) if isinstance(getattr(catalogue, name), catalogue.Metric)}
    used: set[str] = set()
    spans: set[str] = set()
    for file in [*(ROOT / "replaywright" / "telemetry").glob("*.py"), ROOT / "worker.py"]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "catalogue":
                used.add(node.attr)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SPANNING:
                told = [one.value for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant)]
                spans |= {name for name in told if isinstance(name, str)}

    assert metrics - used == set()
    assert {getattr(catalogue, name) for name in metrics} == set(catalogue.METRICS)
    assert spans == {kind.name for kind in SPANS if "<" not in kind.name}


SPANNING = ("open", "write")
"""What makes a span (`replaywright.telemetry.spans`)."""


def test_each_script_is_an_operation_of_redis() -> None:
    assert {script.name for script in SCRIPTS} | {"read", "write", "ping"} == set(catalogue.REDIS_OPERATIONS)


@pytest.mark.parametrize(
    ("queue", "kind"),
    [
        ("replaywright@acme-browser", "browser"),
        ("replaywright-model", "model"),
        ("replaywright-host-blue", "host"),
        ("replaywright-worker-0123456789ab", "session"),
    ],
)
def test_a_queue_is_told_by_what_it_is_for(queue: str, kind: str) -> None:
    assert interceptor.queue_kind(queue) == kind
