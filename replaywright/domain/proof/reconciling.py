"""Finding out on the site whether a step took effect: what an answer is worth, and what several of them amount to."""

from collections.abc import Sequence
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.predicates import NotExists, OfPlace, Predicate
from replaywright.domain.task.steps import Reconcile

IN_FLIGHT_MS = 2_000
"""How long what has left the browser may be on its way to the site; what the site then needs is its lag."""
APART_S = 0.6
"""Between two answers that there is nothing."""
NEGATIVES = 2
"""So many answers that there is nothing mean that there is none: one may come from a server that lags behind."""
PAUSES_S = (1.0, 2.0, 4.0)
"""Before the site is asked again after an answer that says nothing; after the last one it is not asked any more."""
WAIT_MS = 2_000
"""How long a page at rest is given to show what is expected, unless the expectation says so itself."""
ANSWER_MS = 10_000
"""How long a page is given beyond its steps' own time to come to rest."""
OVERHEAD_MS = 10_000
"""For the tab, and for what hangs."""

SIGNED_OUT = NotExists(not_exists=ElementQuery(css="input[type=password]"), within_ms=0)
"""Expected of every page that is asked: one that wants a password is not the one that was asked for."""

Answer: TypeAlias = Literal["yes", "no", "unknown"]


def time_limit_ms(reconcile: Reconcile) -> int:
    """How long one asking of the site takes at most."""
    return sum(step.timeout_ms for step in reconcile.steps) + ANSWER_MS + OVERHEAD_MS


def total_limit_ms(reconcile: Reconcile) -> int:
    """How long asking it as often as it may take takes at most."""
    times = NEGATIVES + len(PAUSES_S)
    return times * time_limit_ms(reconcile) + int(1000 * (sum(PAUSES_S) + NEGATIVES * APART_S))


def is_asked_page(asked: str, url: str) -> bool:
    """Whether the page at `url` is the one that was asked for: elsewhere the site has led to another one.

    Queries may change on the way, and so may a fragment that is a place in the page; one that is a route may not.
    """
    one, other = urlsplit(asked), urlsplit(url)
    routes = [part.fragment if part.fragment[:1] in ("/", "!") else "" for part in (one, other)]
    same_path = (one.path.rstrip("/") or "/") == (other.path.rstrip("/") or "/")
    return one.netloc.lower() == other.netloc.lower() and same_path and routes[0] == routes[1]


def answer_of(
    expect: Sequence[Predicate], results: Sequence[PredicateResult], void: str, incomplete: str
) -> tuple[Answer, str]:
    """What an answer says, and why; `expect` and `results` in the same order.

    Only the page that was asked for says anything, whatever it shows. That something is not there it says only when all
    of it came, and when it could be told.
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
