"""A task done by its requests: each answer of the site, and what follows from it for ledger, page and run."""

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import pytest
from temporalio.testing import ActivityEnvironment

from activities.requests.running import RequestActivities
from activities.vault import Vault
from replaywright.domain.requests.commands import BY_REQUESTS, RequestsRun, RunRequests, TaskRequests, is_sampled
from replaywright.domain.requests.exchanges import Exchange, Request, SiteResponse
from replaywright.domain.requests.recipes import Knowledge
from replaywright.domain.requests.sketching import ShownRun
from replaywright.domain.secrets.starts import UnsignedStarts
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.step.fingerprints import acts_of, fingerprint
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.trace import step_line
from replaywright.errors import (
    Fenced,
    PolicyBlocked,
    ReplaywrightError,
    RequestInDoubt,
    RequestNotSent,
    StoreUnavailable,
)
from replaywright.ports.ledger import Known, Recording
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeSecrets, FakeStarts
from tests.unit.test_requests import SITE, TWO, Site, known_of, shown, task

SEND = 3
VALUES = {"subject": "Friday", "priority": "Low"}
Answered = SiteResponse | ReplaywrightError | None


class Client:
    """Speaks to the site of the test; the request with consequences is answered as said."""

    def __init__(self, site: Site, answer: Answered, *, stays_away: bool = False) -> None:
        self.site, self.answer, self.stays_away = site, answer, stays_away
        self.bytes_up = self.bytes_down = 0
        self.under_way = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Keep nothing."""

    async def send(
        self,
        request: Request,
        *,
        before_send: Callable[[], Awaitable[None]] | None = None,
        refusal: Callable[[str], str] = lambda _origin: "",
    ) -> SiteResponse:
        if before_send is None:
            return self.site.answer(request)
        if isinstance(self.answer, RequestNotSent):
            raise self.answer
        await before_send()
        if self.stays_away:
            self.under_way.set()
            await asyncio.Event().wait()
        if isinstance(self.answer, ReplaywrightError):
            raise self.answer
        answer = self.site.answer(request)
        return self.answer or answer

    def add_cookies(self, cookies: Iterable[Mapping[str, Any]]) -> None:
        """Keep nothing."""

    def cookie(self, url: str, name: str) -> str | None:
        return None


class Recipes:
    """The store of what is known of one task."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge

    async def known(self, *, tenant: str, key: str) -> Knowledge:
        return self.knowledge

    async def keep(self, *, tenant: str, key: str, knowledge: Knowledge) -> None:
        self.knowledge = knowledge


@dataclasses.dataclass
class Bench:
    """The activity on fakes, with what two runs have shown."""

    answer: Answered = None
    knowledge: Knowledge = dataclasses.field(default_factory=lambda: known_of(*TWO))
    site: Site = dataclasses.field(default_factory=lambda: Site("ccc3"))
    stays_away: bool = False
    limit_s: float = 90

    def __post_init__(self) -> None:
        self.store = FakeStepStore()
        self.client = Client(self.site, self.answer, stays_away=self.stays_away)
        vault = Vault(FakeSecrets(), FakeStarts(), UnsignedStarts.TRUST)
        self.activities = RequestActivities(self.store, Recipes(self.knowledge), self, NetworkPolicy(), vault)
        own = task()
        self.request = RunRequests(
            run_id="run-1",
            tenant="t",
            lineage="run-1",
            requests=TaskRequests(task="send", key="k", plan=own.steps, values=VALUES, verify=own.verify),
            epoch=1,
            acts=acts_of(own.steps, VALUES),
            network=NetworkPolicy(),
        )

    def open(
        self, policy: NetworkPolicy, *, cookies: Iterable[Mapping[str, Any]] = (), timeout_s: float = 30.0
    ) -> Client:
        return self.client

    def environment(self) -> ActivityEnvironment:
        environment = ActivityEnvironment()
        limit = timedelta(seconds=self.limit_s)
        environment.info = dataclasses.replace(environment.info, start_to_close_timeout=limit)
        return environment

    async def run(self) -> RequestsRun:
        ran: Awaitable[RequestsRun] = self.environment().run(self.activities.run_requests, self.request)
        return await ran

    async def lost(self) -> RequestsRun:
        ran: Awaitable[RequestsRun] = self.environment().run(self.activities.lost_requests, self.request)
        return await ran

    async def state(self) -> tuple[str, int]:
        """State and epoch of the ledger's record of the step with consequences."""
        acts = await self.store.acts(tenant="t", lineage="run-1")
        mark = acts.get(self.request.acts[SEND], "")
        known = await self.store.look_up(tenant="t", lineage="run-1", run_id="", fingerprint=mark, content_key="")
        return known.state, known.epoch

    async def lines(self) -> list[tuple[int, str]]:
        """Steps in the trace."""
        lines = await self.store.trace(tenant="t", lineage="run-1")
        return [(line["sequence"], line["status"]) for line in lines if line["kind"] == "step"]


def page(status: int, *, redirects: int = 0) -> SiteResponse:
    return SiteResponse(status, "http://shop.test/send", {"content-type": "text/html"}, "<p>?</p>", redirects)


async def test_an_answer_as_it_was_is_recorded_as_done() -> None:
    bench = Bench()
    ran = await bench.run()
    assert (ran.status, ran.reason, ran.sent) == ("done", "", 2)
    assert [outcome.status for outcome in ran.outcomes] == [Status.DONE] * 4
    assert [fields["subject"] for fields in bench.site.sent] == ["Friday"]
    assert await bench.state() == ("COMMITTED", 1)
    assert sorted(await bench.lines()) == [(step, "done") for step in range(4)]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (RequestNotSent("no connection"), "no connection"),
        (page(403), r"the site refused its request \(403\)"),
        (page(422), r"the site refused its request \(422\)"),
        (PolicyBlocked("too many bytes", rule="network"), ""),
    ],
)
async def test_what_certainly_had_no_effect_is_taken_back_for_the_page(answer: Answered, why: str) -> None:
    bench = Bench(answer)
    if isinstance(answer, PolicyBlocked):
        with pytest.raises(Exception, match="too many bytes"):
            await bench.run()
    else:
        ran = await bench.run()
        assert (ran.status, ran.outcomes) == ("page", ())
        assert why.replace("\\", "") in ran.reason
    assert await bench.state() == ("NOT_DONE", 2)


@pytest.mark.parametrize(
    "answer",
    [
        RequestInDoubt("it closed the connection without an answer"),
        page(408),
        page(500),
        page(502),
        page(403, redirects=1),
        page(404, redirects=2),
        page(200),
        PolicyBlocked("a redirect leads elsewhere", rule="network", dispatched=True),
    ],
)
async def test_whatever_may_have_had_an_effect_is_in_doubt(answer: Answered) -> None:
    bench = Bench(answer)
    ran = await bench.run()
    assert (ran.status, [outcome.status for outcome in ran.outcomes]) == ("open", [Status.DONE] * 3 + [Status.IN_DOUBT])
    assert ran.outcomes[-1].evidence.departure is not None
    assert ran.outcomes[-1].evidence.departure.permitted_at
    assert await bench.state() == ("DISPATCHED", 1)


@pytest.mark.parametrize("method", ["intend", "dispatch"])
@pytest.mark.parametrize("error", [StoreUnavailable("away"), Fenced("another one owns it")])
async def test_nothing_is_sent_that_the_ledger_does_not_let_go(method: str, error: ReplaywrightError) -> None:
    bench = Bench()
    bench.store.fails[method] = [error]
    ran = await bench.run()
    assert (ran.status, bench.site.sent) == ("page", [])
    assert str(error) in ran.reason
    assert (await bench.state())[0] in ("", "NOT_DONE")


async def test_an_intent_that_cannot_be_taken_back_stays_open_for_the_page_to_find() -> None:
    bench = Bench(page(403))
    bench.store.fails["fence"] = [StoreUnavailable("away")]
    assert (await bench.run()).status == "page"
    assert await bench.state() == ("DISPATCHED", 1)


async def test_what_an_earlier_attempt_did_is_not_done_again() -> None:
    bench = Bench()
    await bench.run()
    ran = await bench.run()
    assert (ran.status, len(bench.site.sent)) == ("page", 1)
    assert "the ledger has the step already" in ran.reason


async def test_an_outcome_that_cannot_be_recorded_goes_to_the_run_alone() -> None:
    bench = Bench()
    bench.store.fails["record"] = [StoreUnavailable("away")]
    assert (await bench.run()).status == "done"
    assert await bench.state() == ("DISPATCHED", 1)


async def test_what_is_unexpected_before_the_step_with_consequences_is_for_the_page_and_nothing_is_intended() -> None:
    bench = Bench(site=Site("ccc3", action="/other"))
    ran = await bench.run()
    assert (ran.status, bench.site.sent) == ("page", [])
    assert "not there any more" in ran.reason
    assert await bench.state() == ("", 0)


@pytest.mark.parametrize("knowledge", [Knowledge(), known_of(TWO[0])])
async def test_without_a_recipe_the_page_does_it_without_a_word(knowledge: Knowledge) -> None:
    assert await Bench(knowledge=knowledge).run() == RequestsRun(status="page")


async def test_a_value_that_no_run_has_had_is_for_the_page_which_says_so() -> None:
    bench = Bench()
    values = {**VALUES, "subject": ""}
    requests = bench.request.requests.model_copy(update={"values": values})
    bench.request = bench.request.model_copy(update={"requests": requests})
    ran = await bench.run()
    assert (ran.status, bench.site.sent) == ("page", [])
    assert ran.reason == "no run through the page has had such a value of {{subject}}"


async def test_a_site_that_is_too_slow_for_the_activity_is_left_to_the_page_before_anything_is_intended() -> None:
    bench = Bench(limit_s=30)
    ran = await bench.run()
    assert (ran.status, bench.site.sent, await bench.state()) == ("page", [], ("", 0))
    assert "too slow" in ran.reason


async def test_a_run_that_is_ended_while_its_request_is_under_way_hears_that_it_is_in_doubt() -> None:
    bench = Bench(stays_away=True)
    environment = bench.environment()
    running = asyncio.ensure_future(environment.run(bench.activities.run_requests, bench.request))
    await bench.client.under_way.wait()
    environment.cancel()
    ran = await running
    assert (ran.status, ran.outcomes[-1].status) == ("open", Status.IN_DOUBT)
    assert "the run was ended" in ran.reason


async def test_of_a_lost_worker_the_step_with_consequences_is_in_doubt_and_what_was_read_before_is_kept() -> None:
    bench = Bench(RequestInDoubt("lost"))
    seen = await bench.run()
    lost = await bench.lost()
    assert (lost.status, lost.outcomes[-1].reason) == ("open", "worker_lost")
    assert [outcome.digest for outcome in lost.outcomes] == [outcome.digest for outcome in seen.outcomes]
    assert lost.outcomes[-1].fingerprint == seen.outcomes[-1].fingerprint


class Killed(Exception):
    """The worker ends here."""


async def killed(bench: Bench, *, permitted: bool) -> None:
    """Run until the ledger is asked for its permit, or has given it; then the next attempt is told what it said."""
    dispatch, said = bench.store.dispatch, list[Any]()

    async def asked(*, tenant: str, lineage: str, fingerprint: str, epoch: int, attempt: str) -> None:
        if permitted:
            await dispatch(tenant=tenant, lineage=lineage, fingerprint=fingerprint, epoch=epoch, attempt=attempt)
        raise Killed

    bench.store.dispatch = asked  # type: ignore[method-assign]
    environment = bench.environment()
    environment.on_heartbeat = lambda *details: said.append(details)
    with pytest.raises(Killed):
        await environment.run(bench.activities.run_requests, bench.request)
    bench.store.dispatch = dispatch  # type: ignore[method-assign]
    bench.request = bench.request.model_copy(update={"witness": said[-1][1]})


async def test_a_request_that_the_ledger_has_not_let_go_when_its_worker_was_lost_has_not_left_and_never_will() -> None:
    bench = Bench()
    await killed(bench, permitted=False)
    lost = await bench.lost()
    assert (lost.status, lost.outcomes) == ("page", ())
    assert await bench.state() == ("NOT_DONE", 2)
    acts = await bench.store.acts(tenant="t", lineage="run-1")
    with pytest.raises(Fenced):
        await bench.store.dispatch(
            tenant="t", lineage="run-1", fingerprint=acts[bench.request.acts[SEND]], epoch=1, attempt="a"
        )


async def test_a_request_that_was_let_go_when_its_worker_was_lost_is_in_doubt() -> None:
    bench = Bench()
    await killed(bench, permitted=True)
    lost = await bench.lost()
    assert (lost.status, lost.outcomes[-1].reason) == ("open", "worker_lost")


async def test_a_ledger_that_may_have_lost_its_permit_does_not_say_that_nothing_has_left() -> None:
    bench = Bench()
    await killed(bench, permitted=False)
    bench.store.process = "restarted"
    assert (await bench.lost()).status == "open"


async def test_a_run_that_is_ended_while_the_answer_is_recorded_tells_that_it_may_have_been_sent() -> None:
    bench = Bench()
    environment = bench.environment()
    recorded = bench.store.record

    async def record(recording: Recording) -> Known:
        environment.cancel()
        await asyncio.sleep(0)
        return await recorded(recording)

    bench.store.record = record  # type: ignore[method-assign]
    ran = await environment.run(bench.activities.run_requests, bench.request)
    assert (ran.status, ran.outcomes[-1].status) == ("open", Status.IN_DOUBT)
    assert len(bench.site.sent) == 1


async def test_of_a_worker_that_was_lost_with_its_outcome_recorded_the_ledger_has_that() -> None:
    bench = Bench()
    seen = await bench.run()
    assert (await bench.lost()).outcomes[-1] == seen.outcomes[SEND]


async def test_what_was_read_before_the_step_with_consequences_outlives_the_worker() -> None:
    bench = Bench(RequestInDoubt("lost"))
    await bench.run()
    read = StepOutcome(status=Status.DONE, reason=BY_REQUESTS, extracted={"number": "17"})
    more = {"task": "send", "attempt": BY_REQUESTS}
    line = step_line(read, sequence=2, title="", run_id="run-1", epoch=1, given={}, more=more)
    await bench.store.append_lines(tenant="t", lineage="run-1", lines=[line])
    before = await bench.lost()
    assert before.outcomes[2].extracted == {"number": "17"}
    plan = bench.request.requests.plan
    mark = ""
    for index in range(SEND + 1):
        mark = fingerprint(plan[index], VALUES, mark, before.outcomes[index - 1].digest if index else "")
    assert before.outcomes[SEND].fingerprint == mark


def test_one_run_in_twenty_is_sampled_and_the_same_run_always_is() -> None:
    sampled = [name for name in (f"run-{number}" for number in range(2000)) if is_sampled(name)]
    assert 60 < len(sampled) < 140
    assert all(is_sampled(name) for name in sampled)


class Later(Site):
    """Says in JSON what was sent, some questions late."""

    def __init__(self, token: str, late: int) -> None:
        super().__init__(token, note="Queued for")
        self.late, self.asked = late, 0

    def answer(self, request: Request) -> SiteResponse:
        if request.url != ASKED.url:
            return super().answer(request)
        self.asked += 1
        sent = [f"Sent to {fields['subject']}" for fields in self.sent] if self.asked > self.late else []
        return SiteResponse(200, request.url, {"content-type": "application/json"}, json.dumps({"log": sent}))


ASKED = Request("GET", "http://shop.test/api/log")


@pytest.mark.parametrize(("late", "status"), [(0, "done"), (2, "done"), (10_000, "open")])
async def test_a_site_that_shows_what_it_has_accepted_a_little_later_is_asked_again(late: int, status: str) -> None:
    runs = []
    for token, values in (("aaa1", ("Monday",)), ("bbb2", ("Tuesday", "High"))):
        run = shown(site := Later(token, 0), *values)
        told = Exchange(SEND, "fetch", ASKED, site.answer(ASKED))
        runs.append(dataclasses.replace(run, exchanges=(*run.exchanges, told)))
    bench = Bench(knowledge=known_of(*runs), site=Later("ccc3", late), limit_s=36)

    ran = await bench.run()

    assert (ran.status, len(bench.site.sent)) == (status, 1)
    assert await bench.state() == ("COMMITTED" if status == "done" else "DISPATCHED", 1)


class Closed(Client):
    """The policy does not let the list be asked for."""

    async def send(self, request: Request, **more: Any) -> SiteResponse:
        if request.url.endswith("/list"):
            raise PolicyBlocked("it is not allowed", rule="network")
        return await super().send(request, **more)


async def test_a_rule_that_forbids_what_follows_leaves_the_step_that_was_sent_in_doubt() -> None:
    def listed(run: ShownRun) -> ShownRun:
        body = f"<p>Sent to {run.values['subject']}</p>"
        answer = SiteResponse(200, f"{SITE}/list", {"content-type": "text/html"}, body)
        asked = Exchange(SEND, "document", Request("GET", f"{SITE}/list"), answer, is_main=True)
        verify = task(verify=[{"url_contains": "/list"}]).verify
        return dataclasses.replace(run, exchanges=(*run.exchanges, asked), verify=verify)

    bench = Bench(knowledge=known_of(*map(listed, TWO)))
    bench.client = Closed(bench.site, None)
    ran = await bench.run()
    assert (ran.status, ran.outcomes[-1].status, len(bench.site.sent)) == ("open", Status.IN_DOUBT, 1)
    assert await bench.state() == ("DISPATCHED", 1)
