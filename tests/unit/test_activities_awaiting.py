"""A step with consequences is done when somebody other than its own page says so: late, as it is left, or never."""

from typing import Any

import pytest

from activities.step.awaiting import with_unheard
from replaywright.browser.devtools.evidence import Recorder, TabTraffic
from replaywright.domain.proof.carrying import Sought
from replaywright.domain.proof.proof import unanswered
from replaywright.domain.proof.witness import Sending, Witness, as_recorded, witness_of
from replaywright.domain.run.commands import Perform
from replaywright.domain.session.commit_gate import GateSeen, SentRequest
from replaywright.domain.step.outcomes import Evidence, Status, StepOutcome, UnsafeRequest
from replaywright.domain.step.press_grants import kind_of
from replaywright.domain.task.actions import Effect
from replaywright.errors import Fenced
from replaywright.testing.browser import FakeElement
from tests.unit.staged import COMPOSE, HELP, POST, SENT, Stage, but, of_run, request, step

SAYS_SENT = step("click", "the send button", effect="commit", expect=[{"text_contains": "Message sent"}])
NOT_YET = step("click", "the send button", effect="commit", expect=[{"text_contains": "Not yet there"}])


@pytest.fixture
def stage() -> Stage:
    """A page that says "Message sent" at once, and has sent nothing by then."""
    staged = Stage()
    staged.site.pages[COMPOSE].elements["help"] = FakeElement(HELP, shows="Message sent")
    return staged


def asked(effect: Effect = Effect.COMMIT, **fields: object) -> Perform:
    wanted = SAYS_SENT.model_copy(update={"effect": effect, **fields})
    return request(wanted, proposed=HELP, late_ms=1_000)


async def test_a_request_that_comes_late_is_waited_for_and_recorded_with_its_delay(stage: Stage) -> None:
    stage.site.late = [POST]

    outcome = await stage.perform(asked())

    [entry] = await stage.versions(outcome)
    assert (outcome.status, outcome.told_by, outcome.left) == (Status.DONE, "answer", False)
    assert [(str(sending.kind.path), sending.via) for sending in entry.sends] == [("/send", "page")]
    assert await stage.state(asked()) == "COMMITTED"


async def test_the_page_s_own_word_is_no_witness_and_nothing_that_left_is_certainly_not_done(stage: Stage) -> None:
    outcome = await stage.perform(but(asked(), late_ms=0))

    assert (outcome.status, outcome.reason, outcome.left) == (Status.UNMET, "nothing_sent", True)
    assert "late_ms" in outcome.message
    assert await stage.state(asked()) == "NOT_DONE"
    assert stage.gate.current is not None
    assert stage.gate.current.is_closed  # the page may still be about to send


async def test_what_a_page_sends_as_it_is_left_is_its_request(stage: Stage) -> None:
    stage.site.leaving = [UnsafeRequest(method="POST", url=POST.url, kind="beacon", sent_at=4e9)]
    first = await stage.perform(but(asked(), late_ms=0))
    [entry] = await stage.versions(first)

    assert (first.status, first.told_by, first.left) == (Status.DONE, "sent", True)
    assert [sending.via for sending in entry.sends] == ["leaving"]


async def test_a_page_that_sent_as_it_was_left_has_its_time_in_a_replay_as_it_may_send_by_itself_now(
    stage: Stage,
) -> None:
    stage.site.leaving = [UnsafeRequest(method="POST", url=POST.url, kind="beacon", sent_at=4e9)]
    first = but(asked(), late_ms=0)
    await stage.learn(first)
    stage.site.late, stage.site.leaving = [POST], []

    outcome = await stage.perform(of_run("r2", but(first, late_ms=1_000, proposed=None)))

    assert (outcome.status, outcome.told_by, outcome.left) == (Status.DONE, "answer", False)


async def test_what_is_sent_only_as_a_page_is_left_is_not_missed_in_a_step_that_nobody_declared(stage: Stage) -> None:
    stage.site.leaving = [UnsafeRequest(method="POST", url=POST.url, kind="beacon", sent_at=4e9)]
    first = but(asked(), late_ms=0)
    await stage.learn(first)
    undeclared = but(first, step=SAYS_SENT.model_copy(update={"effect": Effect.IDEMPOTENT}), proposed=None)

    outcome = await stage.perform(of_run("r2", undeclared))

    assert (outcome.status, outcome.warnings) == (Status.DONE, ())


async def test_a_run_that_goes_on_after_its_page_was_left_goes_on_where_it_was(stage: Stage) -> None:
    stage.site.leaving = [UnsafeRequest(method="POST", url=POST.url, kind="beacon", sent_at=4e9)]
    following = but(asked(), late_ms=0, next_step=step("click", "the help"))

    outcome = await stage.perform(following)

    assert (outcome.status, outcome.left) == (Status.DONE, True)
    assert stage.browser.url == COMPOSE


async def test_a_run_that_ends_with_leaving_its_page_is_verified_on_it_before(stage: Stage) -> None:
    stage.site.leaving = [UnsafeRequest(method="POST", url=POST.url, kind="beacon", sent_at=4e9)]

    outcome = await stage.perform(but(asked(), late_ms=0, verify=SAYS_SENT.expect))

    assert (outcome.status, outcome.left) == (Status.DONE, True)
    assert [result.passed for result in outcome.verification or ()] == [True]


async def test_a_run_whose_left_page_does_not_verify_comes_back_to_it_to_be_verified_in_time(stage: Stage) -> None:
    stage.site.leaving = [UnsafeRequest(method="POST", url=POST.url, kind="beacon", sent_at=4e9)]

    outcome = await stage.perform(but(asked(), late_ms=0, verify=NOT_YET.expect))

    assert (outcome.status, outcome.left, outcome.verification) == (Status.DONE, True, None)
    assert stage.browser.url == COMPOSE


async def test_a_page_that_the_step_itself_has_led_to_is_not_asked_for_again(stage: Stage) -> None:
    stage.site.pages[COMPOSE].elements["help"] = FakeElement(HELP, goes_to=SENT)
    stage.site.leaving = [UnsafeRequest(method="POST", url=POST.url, kind="beacon", sent_at=4e9)]
    following = but(asked(expect=()), late_ms=0, next_step=step("click", "the help"))

    outcome = await stage.perform(following)

    assert (outcome.status, outcome.left) == (Status.DONE, True)
    assert stage.browser.url == "about:blank"


async def test_what_the_ledger_does_not_let_go_as_the_page_is_left_is_in_doubt_and_not_over(stage: Stage) -> None:
    stage.site.leaving = [UnsafeRequest(method="POST", url=POST.url, kind="beacon", sent_at=4e9)]
    stage.store.fails["dispatch"] = [Fenced("the intent is gone")]

    outcome = await stage.perform(but(asked(), late_ms=0))

    assert (outcome.status, outcome.reason, outcome.left) == (Status.IN_DOUBT, "gate_cut", True)
    assert "the intent is gone" in outcome.message


async def test_late_and_refused_by_the_site_it_was_not_done(stage: Stage) -> None:
    stage.site.late = [POST.model_copy(update={"status": 422})]

    outcome = await stage.perform(asked())

    assert (outcome.status, outcome.reason) == (Status.UNMET, "server_error")
    assert await stage.state(asked()) == "NOT_DONE"


async def test_what_is_not_answered_is_in_doubt_and_its_gate_stays_as_it_is(stage: Stage) -> None:
    stage.site.late = [POST.model_copy(update={"status": 0})]

    outcome = await stage.perform(but(asked(timeout_ms=500), late_ms=0))

    assert (outcome.status, outcome.reason) == (Status.IN_DOUBT, "unanswered")
    assert await stage.state(asked()) == "DISPATCHED"
    assert stage.gate.current is not None
    assert not stage.gate.current.is_closed


COUNT = POST.model_copy(update={"url": f"{COMPOSE}/counted", "status": 204, "aside": True, "empty": True})
"""A site's own count of presses, on a page where something was entered that it does not carry."""


async def test_a_count_of_presses_is_no_witness_and_what_was_entered_is_waited_for(stage: Stage) -> None:
    stage.site.late = [COUNT, POST]

    outcome = await stage.perform(asked())
    [entry] = await stage.versions(outcome)

    assert (outcome.status, outcome.told_by, outcome.left) == (Status.DONE, "answer", False)
    assert [str(sending.kind.path) for sending in entry.sends] == ["/send"]  # a replay does not wait for the count


async def test_where_nothing_but_a_count_was_sent_the_step_is_in_doubt_whatever_its_page_says(stage: Stage) -> None:
    stage.site.late = [COUNT]

    outcome = await stage.perform(but(asked(), late_ms=0))

    assert (outcome.status, outcome.reason) == (Status.IN_DOUBT, "unwitnessed")


async def test_a_beacon_that_carries_nothing_of_what_was_entered_is_no_witness(stage: Stage) -> None:
    stage.site.late = [COUNT.model_copy(update={"kind": "beacon", "status": 0})]

    outcome = await stage.perform(but(asked(), late_ms=300))

    assert (outcome.status, outcome.reason) == (Status.IN_DOUBT, "unwitnessed")


async def test_a_count_that_its_site_refuses_refuses_nothing(stage: Stage) -> None:
    stage.site.late = [COUNT.model_copy(update={"status": 404}), POST]

    outcome = await stage.perform(asked())

    assert (outcome.status, outcome.told_by) == (Status.DONE, "answer")


UNSURE = COUNT.model_copy(update={"aside": False, "empty": False, "unsure": True})


@pytest.mark.parametrize("late", [[UNSURE, POST], [UNSURE]], ids=["sent later", "nothing else"])
async def test_what_may_be_the_page_s_own_is_no_witness_before_the_time_is_over(
    stage: Stage, late: list[UnsafeRequest]
) -> None:
    stage.site.late = [*late]

    outcome = await stage.perform(but(asked(), late_ms=1_000 * len(late)))

    assert (outcome.told_by, outcome.left, len(outcome.evidence.requests)) == ("answer", False, len(late))


@pytest.mark.parametrize(
    ("later", "status"), [([POST], Status.DONE), ([], Status.UNMET)], ids=["sent later", "nothing else"]
)
async def test_what_may_be_the_page_s_own_refuses_nothing_before_the_time_is_over(
    stage: Stage, later: list[UnsafeRequest], status: Status
) -> None:
    stage.site.late = [UNSURE.model_copy(update={"status": 404}), *later]

    outcome = await stage.perform(asked())

    assert (outcome.status, outcome.reason) == (status, "" if later else "server_error")


@pytest.mark.parametrize(
    ("request_seen", "was_aside", "is_of_step"),
    [(UNSURE, False, True), (UNSURE, True, True), (COUNT, True, True), (COUNT, False, False)],
)
def test_a_replay_knows_what_was_recorded_as_the_step_s(
    request_seen: UnsafeRequest, was_aside: bool, is_of_step: bool
) -> None:
    recorded = (Sending(kind=kind_of("POST", COUNT.url), aside=was_aside),)

    [known] = as_recorded(Evidence(requests=(request_seen,)), recorded).requests

    assert known.is_of_step is is_of_step


async def test_an_answer_with_content_counts_after_all_where_nothing_else_came_and_a_replay_takes_it_at_once(
    stage: Stage,
) -> None:
    told = COUNT.model_copy(update={"status": 200, "empty": False})
    stage.site.late = [told]
    first = but(asked(), late_ms=300)
    entry = await stage.learn(first)
    stage.site.late = [told]

    replayed = await stage.perform(of_run("r2", but(first, late_ms=60_000, proposed=None)))

    assert (replayed.status, replayed.told_by, replayed.left) == (Status.DONE, "answer", False)
    assert [sending.aside for sending in entry.sends] == [True]


async def test_evidence_page_takes_the_page_s_word_and_the_outcome_says_so(stage: Stage) -> None:
    outcome = await stage.perform(asked(evidence="page"))

    assert (outcome.status, outcome.told_by) == (Status.DONE, "page")


async def test_a_recorded_late_request_is_waited_for_in_a_step_that_nobody_declared(stage: Stage) -> None:
    stage.site.late = [POST]
    first = asked()
    await stage.learn(first)
    undeclared = but(first, step=SAYS_SENT.model_copy(update={"effect": None}), proposed=None, lineage="l2")
    stage.site.late = [POST]

    outcome: StepOutcome = await stage.perform(of_run("r2", undeclared))

    assert outcome.status is Status.DONE


@pytest.mark.parametrize("declared", [{"effect": Effect.IDEMPOTENT}, {"effect": Effect.COMMIT, "evidence": "page"}])
async def test_what_a_step_sent_when_it_was_recorded_is_waited_for_whatever_its_author_says(
    stage: Stage, declared: dict[str, Any]
) -> None:
    stage.site.late = [POST]
    first = asked()
    await stage.learn(first)
    again = but(first, step=SAYS_SENT.model_copy(update=declared), proposed=None)
    stage.site.late = [POST]

    outcome = await stage.perform(of_run("r2", again))

    assert (outcome.status, outcome.warnings) == (Status.DONE, ())
    assert [each.url for each in outcome.evidence.requests] == [POST.url]


async def test_what_is_not_sent_any_more_is_told(stage: Stage) -> None:
    stage.site.late = [POST]
    first = asked()
    await stage.learn(first)
    again = but(first, step=SAYS_SENT.model_copy(update={"evidence": "page"}), proposed=None)

    outcome = await stage.perform(of_run("r2", again))

    assert outcome.status is Status.DONE
    assert outcome.warnings == ("not_sent: POST https://mail.example:443/send, which it sent when it was recorded",)


def test_a_witness_is_not_given_up_for_what_cannot_be_undone() -> None:
    with pytest.raises(ValueError, match="a page's own word is only enough for effect: commit"):
        step("click", "pay", effect="irreversible", evidence="page")


def served_by_its_worker() -> Recorder:
    """What was seen of a request that the page's own service worker has answered."""
    recorder, traffic = Recorder("top", "top"), TabTraffic()
    sent = {"method": "POST", "url": POST.url, "headers": {}}
    answer = {"url": POST.url, "status": 202, "mimeType": "text/plain", "fromServiceWorker": True}
    recorder.on_event(traffic, "Network.requestWillBeSent", {"requestId": "1", "type": "Fetch", "request": sent})
    recorder.on_event(traffic, "Network.responseReceived", {"requestId": "1", "type": "Fetch", "response": answer})
    return recorder


def test_what_a_service_worker_answers_is_no_word_of_the_site() -> None:
    recorder = served_by_its_worker()

    evidence = recorder.evidence()

    assert [(request.kind, request.status) for request in evidence.requests] == [("served", 202)]
    assert recorder.responses == []
    assert witness_of(evidence, (), (), (), urls=(POST.url,), is_fresh=False) is None


def test_a_request_is_beside_the_step_if_it_carries_none_of_what_was_entered_and_is_no_form_s() -> None:
    recorder, traffic = Recorder("top", "top", Sought.of(["a parcel for Ada"])), TabTraffic()
    requests = [("Fetch", "press"), ("Ping", "alive"), ("Fetch", "subject=a+parcel+for+Ada"), ("Document", "token=1")]
    for number, (kind, body) in enumerate(requests):
        sent = {"method": "POST", "url": POST.url, "headers": {}, "postData": body}
        answer = {"url": POST.url, "status": 200, "mimeType": "text/plain", "headers": {"Content-Length": "0"}}
        params = {"requestId": str(number), "type": kind}
        recorder.on_event(traffic, "Network.requestWillBeSent", {**params, "request": sent})
        recorder.on_event(traffic, "Network.responseReceived", {**params, "response": answer})

    told = [(request.aside, request.empty) for request in recorder.evidence().requests]

    assert told == [(True, True), (True, True), (False, False), (False, False)]


def test_where_nothing_was_entered_it_is_unsure_what_was_sent_before_or_is_answered_with_nothing() -> None:
    usual = frozenset({f"POST {POST.url}", "POST https://mail.example/alive"})
    recorder, traffic = Recorder("top", "top", usual=usual), TabTraffic()
    requests = [
        ("POST", POST.url, "Fetch", 200),
        ("POST", POST.url, "Document", 200),
        ("POST", "https://mail.example/alive", "Ping", 200),
        ("POST", "https://mail.example/approved", "Fetch", 200),
        ("POST", "https://mail.example/approved", "Fetch", 204),
        ("DELETE", "https://mail.example/mails/7", "Fetch", 204),
    ]
    for number, (method, url, kind, status) in enumerate(requests):
        params = {"requestId": str(number), "type": kind}
        sent = {"method": method, "url": url, "headers": {}}
        answer = {"url": url, "status": status, "mimeType": "text/plain", "headers": {}}
        recorder.on_event(traffic, "Network.requestWillBeSent", {**params, "request": sent})
        recorder.on_event(traffic, "Network.responseReceived", {**params, "response": answer})

    assert [request.unsure for request in recorder.evidence().requests] == [True, False, True, False, True, False]


@pytest.mark.parametrize(("is_answered", "is_awaited"), [(True, False), (False, True)])
def test_an_answer_whose_page_has_led_on_is_not_awaited_any_more(is_answered: bool, is_awaited: bool) -> None:
    recorder, traffic = Recorder("top", "top"), TabTraffic()
    sent = {"method": "POST", "url": POST.url, "headers": {}}
    events = [("requestWillBeSent", {"requestId": "1", "loaderId": "1", "type": "Document", "request": sent})]
    answer = {"url": POST.url, "status": 200, "mimeType": "text/html"}
    if is_answered:
        events.append(("responseReceived", {"requestId": "1", "type": "Document", "response": answer}))
    for name, params in events:
        traffic.on_event(f"Network.{name}", params, 1.0)
        recorder.on_event(traffic, f"Network.{name}", params)

    before = recorder.awaits_answer(traffic, POST.url)
    traffic.leave("1")

    assert (before, recorder.awaits_answer(traffic, POST.url)) == (True, is_awaited)
    assert not traffic.busy()


def test_what_a_service_worker_then_sends_is_told_by_the_keeper() -> None:
    sent = SentRequest(method="POST", url=POST.url, sent_at=1.0, answered_at=2.0, status=200)

    evidence = with_unheard(served_by_its_worker().evidence(), GateSeen("one", 1, "permitted", sent=(sent,)))

    assert [request.kind for request in evidence.requests] == ["served", "worker"]
    assert witness_of(evidence, (), (), (), urls=(POST.url,), is_fresh=False) is Witness.ANSWER


def test_a_service_worker_s_own_request_has_the_answer_that_the_keeper_saw() -> None:
    recorder = served_by_its_worker()
    recorder.sent_elsewhere("POST", POST.url, by_worker=True)
    sent = SentRequest(method="POST", url=POST.url, sent_at=1.0, answered_at=2.0, status=200)

    evidence = with_unheard(recorder.evidence(), GateSeen("one", 1, "permitted", sent=(sent,)))

    assert [(request.kind, request.status) for request in evidence.requests] == [("served", 202), ("worker", 200)]
    assert unanswered(evidence, POST.url) == ()
