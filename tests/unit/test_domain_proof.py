"""What shows that a press did something, and what speaks against it whatever the page says."""

import pytest

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.proof.proof import (
    effect_seen,
    failed_requests,
    is_open,
    is_same_site,
    proof_of,
    refused_by,
    unanswered,
)
from replaywright.domain.step.outcomes import Evidence, Proof, UnsafeRequest
from replaywright.domain.task.actions import Cause, Effect
from tests.unit.staged import step

HELD, NOT_YET = PredicateResult(passed=True, reason="holds"), PredicateResult(passed=False, reason="text_missing")
UNTOLD = PredicateResult(passed=False, reason="no_answer", decided=False)
URL = "https://shop.example/cart"


def post(status: int, url: str = "https://shop.example/order", kind: str = "request") -> UnsafeRequest:
    return UnsafeRequest(method="POST", url=url, status=status, kind=kind)


@pytest.mark.parametrize(
    ("before", "after", "evidence", "changed", "proof"),
    [
        ((NOT_YET,), (HELD,), Evidence(), False, Proof.BECAME_TRUE),
        ((HELD,), (HELD,), Evidence(), False, Proof.NONE),
        ((HELD, NOT_YET), (HELD, HELD), Evidence(), False, Proof.BECAME_TRUE),
        ((UNTOLD,), (HELD,), Evidence(), False, Proof.NONE),
        ((NOT_YET,), (NOT_YET,), Evidence(), False, Proof.NONE),
        ((), (HELD,), Evidence(), False, Proof.NONE),
        ((HELD,), (HELD,), Evidence(requests=(post(200),)), False, Proof.RESPONSE),
        ((HELD,), (HELD,), Evidence(requests=(post(200, kind="beacon"),)), False, Proof.NONE),
        ((HELD,), (HELD,), Evidence(requests=(post(200, url="https://count.example/hit"),)), False, Proof.NONE),
        ((HELD,), (HELD,), Evidence(causes=(Cause.NEW_DOCUMENT,)), False, Proof.CAUSE),
        ((HELD,), (HELD,), Evidence(causes=(Cause.NOTHING,)), False, Proof.NONE),
        ((HELD,), (HELD,), Evidence(causes=(Cause.NOTHING,)), True, Proof.CHANGE),
    ],
)
def test_only_what_became_true_or_was_caused_proves_a_press(
    before: tuple[PredicateResult, ...],
    after: tuple[PredicateResult, ...],
    evidence: Evidence,
    changed: bool,
    proof: Proof,
) -> None:
    assert proof_of(before, after, evidence, changed=changed, url=URL) is proof


@pytest.mark.parametrize(
    ("requests", "refused"),
    [
        ((), None),
        ((post(200),), None),
        ((post(302),), None),
        ((post(0),), None),
        ((post(500),), 500),
        ((post(422),), 422),
        ((post(422), post(503)), 503),
        ((post(422), post(200)), None),
        ((post(500, kind="beacon"),), None),
        ((post(404, kind="following"),), None),
        ((post(500, url="https://count.example/hit"),), None),
        ((post(500, url="https://api.shop.example/order"),), 500),
        ((post(500, url="https://api.shop.example/order"), post(200, url="https://count.example/hit")), 500),
    ],
)
def test_an_error_of_the_pages_own_site_speaks_against_the_step(
    requests: tuple[UnsafeRequest, ...], refused: int | None
) -> None:
    found = refused_by(Evidence(requests=requests), URL)

    assert (None if found is None else found.status) == refused


def test_what_failed_beside_a_success_is_told_unless_it_was_sent_again() -> None:
    collected, order = post(500, url="https://shop.example/collect"), post(200)
    again = (post(503), order)
    lost = UnsafeRequest(method="POST", url="https://shop.example/order", broken=True)

    assert failed_requests(Evidence(requests=(collected, order)), URL) == (collected,)
    assert failed_requests(Evidence(requests=again), URL) == ()
    assert refused_by(Evidence(requests=(lost,)), URL) == lost
    assert is_open(lost)
    assert unanswered(Evidence(requests=(post(0), lost, order)), URL) == (post(0),)


@pytest.mark.parametrize(
    ("status", "is_open_now"), [(400, False), (404, False), (408, True), (422, False), (500, True)]
)
def test_a_refusal_is_final_and_a_failure_is_open(status: int, is_open_now: bool) -> None:
    assert is_open(post(status)) is is_open_now


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("https://shop.example/a", "https://shop.example/b", True),
        ("https://www.shop.example/", "https://api.shop.example/", True),
        ("https://shop.example/", "https://api.shop.example/", True),
        ("https://shop.example/", "https://other.example/", False),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:9000/", True),
        ("http://10.0.0.1/", "http://11.0.0.1/", False),
        ("about:blank", "https://shop.example/", False),
    ],
)
def test_addresses_of_one_site_are_told_from_others(left: str, right: str, same: bool) -> None:
    assert is_same_site(left, right) is is_same_site(right, left) is same


LOADED = (Cause.NEW_DOCUMENT,)


@pytest.mark.parametrize(
    ("action", "causes", "kind", "effect"),
    [
        ("fill", (), "request", Effect.READ),
        ("fill", (), "beacon", Effect.READ),
        ("fill", LOADED, "following", Effect.READ),
        ("fill", LOADED, "request", Effect.COMMIT),
        ("goto", LOADED, "request", Effect.READ),
        ("click", (), "request", Effect.COMMIT),
        ("click", (), "beacon", Effect.COMMIT),
    ],
)
def test_what_a_page_sends_beside_a_step_that_is_read_back_is_no_effect_of_it(
    action: str, causes: tuple[Cause, ...], kind: str, effect: Effect
) -> None:
    more = {"fill": {"value": "x"}, "goto": {"url": URL}, "click": {}}[action]

    assert effect_seen(step(action, "it", **more), Evidence(causes=causes, requests=(post(200, kind=kind),))) is effect
