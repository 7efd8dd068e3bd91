"""Witnesses of a step with consequences: sources other than the page that it acted in."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.predicates import Downloaded, Predicate, ResponseStatus, flattened
from replaywright.domain.proof.proof import is_same_site
from replaywright.domain.step.outcomes import Evidence, UnsafeRequest
from replaywright.domain.step.press_grants import RequestKind, kind_of

LEAVING: Final = "leaving"
"""Value of `via` for a request that the page sends only when it is left."""
LATER: Final = "later"
"""Value of `via` for a request that the page sent after another input, which may have caused it as well."""
SENDINGS_KEPT: Final = 8
"""Requests kept with a step's recording."""
GRACE_MS: Final = 1_000
"""Waiting time beyond twice the recorded delay of a request, for undeclared steps."""
LATE_MS: Final = 500
"""Delay after the input from which a request counts as sent by the page, not the input."""


class Witness(StrEnum):
    """Sources that confirm a step."""

    ANSWER = "answer"
    """A success answer of the page's own site to a request of the step."""
    DOCUMENT = "document"
    """An expectation that holds in a document loaded after the step, or in a response."""
    SENT = "sent"
    """A request without an answer (messages, beacons), or to another site."""


class Sending(Record):
    """A recorded request of a step; a replay waits for the same."""

    kind: RequestKind
    """Kind of the request, without field names and without the run's values."""
    via: str = "page"
    """page; worker (also while the page was left); leaving (only then); later (after another input)."""
    delay_ms: int = 0
    """Delay after the input."""
    aside: bool = False
    """The step sent nothing that was surely its own (see `UnsafeRequest.is_of_step`): a replay takes this for it."""

    @property
    def is_late(self) -> bool:
        """True if the step ends before it is sent."""
        return self.via != "page" or self.delay_ms >= LATE_MS


def witness_of(
    evidence: Evidence,
    expect: Sequence[Predicate],
    before: Sequence[PredicateResult],
    after: Sequence[PredicateResult],
    *,
    urls: Iterable[str],
    is_fresh: bool,
    is_waited: bool = False,
) -> Witness | None:
    """Return the witness of the step's effect; None if only its own page shows it.

    `urls` are the page's addresses before and after the step. `before` and `after` are the verdicts on `expect`;
    `is_fresh` says that the latter are of a document that was loaded after the input. `is_waited` says that nothing
    else came within the time of the step: then an answer counts, too, if it has content and no request carried what
    was entered.
    """
    own = tuple(urls)
    requests = [request for request in evidence.requests if request.is_of_step]
    if is_waited and not any(request.kind in _TELLING for request in requests):
        requests = [request for request in evidence.requests if not (request.aside and request.empty)]
    answered = [request for request in requests if 0 < request.status < 400]
    if any(request.kind in _TELLING and _is_of(request.url, own) for request in answered):
        return Witness.ANSWER
    if any(
        (is_fresh or _is_of_a_response(predicate)) and now.passed and now.required and not _held(before, at)
        for at, (predicate, now) in enumerate(zip(expect, after, strict=False))
    ):
        return Witness.DOCUMENT
    if any(request.kind in ("request", "worker") for request in answered):
        return Witness.SENT
    untold = [request for request in evidence.requests if request.kind in ("beacon", "websocket")]
    has_left = any(request.is_of_step and not request.broken and _is_of(request.url, own) for request in untold)
    return Witness.SENT if has_left else None


def sendings(
    evidence: Evidence, given_at: float, left_at: float = 0.0, masked: Callable[[str], str] = str
) -> tuple[Sending, ...]:
    """Return the requests of a step to record, one of each kind; what may be the page's own if there is nothing else.

    `given_at` is when the input was given, `left_at` when its page was left, in seconds since 1970; 0: it was not.
    """
    found: dict[RequestKind, Sending] = {}
    is_told = any(is_telling(request) and request.is_of_step for request in evidence.requests)
    for request in evidence.requests:
        is_left = bool(left_at) and request.sent_at >= left_at
        if is_told and not request.is_of_step:
            continue
        if not (is_telling(request) or (is_left and request.kind == "beacon")):
            continue
        delay_ms = max(0, int((request.sent_at - given_at) * 1000)) if request.sent_at and given_at else 0
        kind = kind_of(request.method, masked(request.url))
        via = LEAVING if is_left else "worker" if request.kind == "worker" else "page"
        found.setdefault(kind, Sending(kind=kind, via=via, delay_ms=delay_ms, aside=not request.is_of_step))
    return tuple(found.values())[:SENDINGS_KEPT]


def is_telling(request: UnsafeRequest) -> bool:
    """Return True if the request may carry the step's purpose: no beacon, no later subresource."""
    return request.kind in ("request", "worker", "websocket")


def missing(recorded: Iterable[Sending], evidence: Evidence, masked: Callable[[str], str] = str) -> tuple[Sending, ...]:
    """Return recorded requests that have not been sent yet; addresses are compared without values and secrets."""
    sent = {kind_of(request.method, masked(request.url)) for request in evidence.requests}
    return tuple(sending for sending in recorded if sending.kind not in sent)


def as_recorded(evidence: Evidence, recorded: Iterable[Sending], masked: Callable[[str], str] = str) -> Evidence:
    """Return the evidence with the recorded requests counted as the step's own."""
    own = {sending.kind: sending.aside for sending in recorded}

    def known(request: UnsafeRequest) -> UnsafeRequest:
        is_aside = own.get(kind_of(request.method, masked(request.url)))
        if is_aside is None or request.is_of_step:
            return request
        return request.model_copy(update={"unsure": False, "aside": request.aside and not is_aside})

    return evidence.model_copy(update={"requests": tuple(map(known, evidence.requests))}) if own else evidence


_TELLING = frozenset({"request", "worker"})
"""Kinds of requests whose responses are significant."""


def _is_of(url: str, own: Iterable[str]) -> bool:
    return any(is_same_site(_as_http(url), each) for each in own)


def _as_http(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(scheme=parts.scheme.replace("ws", "http")).geturl()


def _held(before: Sequence[PredicateResult], at: int) -> bool:
    return at < len(before) and before[at].decided and before[at].passed


def _is_of_a_response(predicate: Predicate) -> bool:
    """Return True if the predicate judges a response to the step, not the page."""
    return any(isinstance(part, ResponseStatus | Downloaded) for part in flattened(predicate))
