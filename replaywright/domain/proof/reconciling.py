"""Reconciliation: evaluation of the answers that a site gives about the effect of a step."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.predicates import NotExists, OfPlace, Predicate
from replaywright.domain.task.steps import Reconcile

IN_FLIGHT_MS = 2_000
"""Time for a sent request to reach the site; the site's own time is its lag."""
APART_S = 0.6
"""Pause between two negative answers."""
NEGATIVES = 2
"""Negative answers that count as no: a single one may come from a server that lags behind."""
PAUSES_S = (1.0, 2.0, 4.0)
"""Pauses after answers without information; after the last one the site is not asked again."""
WAIT_MS = 2_000
"""Default patience of an expectation while the page is at rest."""
ANSWER_MS = 10_000
"""Time for a page to come to rest beyond its steps' own time."""
OVERHEAD_MS = 10_000
"""Time for the tab, and for hanging requests."""

SIGNED_OUT_ANSWERS: Final = frozenset({"sign_in_page", "led_elsewhere", "http_401", "http_403"})
"""Reasons why an answer is void that mean: not signed in. A site that is down says nothing about that."""
SIGNED_OUT = NotExists(not_exists=ElementQuery(css="input[type=password]"), within_ms=0)
"""Expectation on every page: one with a password field is not the requested one."""

Answer: TypeAlias = Literal["yes", "no", "unknown"]


def time_limit_ms(reconcile: Reconcile) -> int:
    """Return the limit of one attempt to ask the site."""
    return sum(step.timeout_ms for step in reconcile.steps) + ANSWER_MS + OVERHEAD_MS


def total_limit_ms(reconcile: Reconcile) -> int:
    """Return the limit of all attempts together."""
    times = NEGATIVES + len(PAUSES_S)
    return times * time_limit_ms(reconcile) + int(1000 * (sum(PAUSES_S) + NEGATIVES * APART_S))


def is_asked_page(asked: str, url: str) -> bool:
    """Return True if `url` is the requested page, not one that the site redirected to.

    Queries and fragments may differ, except a fragment that is a route.
    """
    one, other = urlsplit(asked), urlsplit(url)
    routes = [part.fragment if part.fragment[:1] in ("/", "!") else "" for part in (one, other)]
    same_path = (one.path.rstrip("/") or "/") == (other.path.rstrip("/") or "/")
    return one.netloc.lower() == other.netloc.lower() and same_path and routes[0] == routes[1]


def answer_of(
    expect: Sequence[Predicate], results: Sequence[PredicateResult], void: str, incomplete: str
) -> tuple[Answer, str]:
    """Return the answer and its reason; `expect` and `results` have the same order.

    Only the requested page counts. Absence counts only on a complete page and with a decided verdict.
    """
    if void:
        return "unknown", void
    lacking = failing(results)
    if lacking is None and results:
        return "yes", "holds"
    for predicate, result in zip(expect, results, strict=False):
        if result.fails and isinstance(predicate, OfPlace):
            return "unknown", "led_elsewhere"
    if incomplete:
        return "unknown", incomplete
    if lacking is None or not any(result.fails and result.decided for result in results):
        return "unknown", "undecided"
    return "no", lacking.reason
