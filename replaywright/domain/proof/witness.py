"""Who says that a step with consequences took effect: never the page alone that it acted in."""

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
"""How a request leaves that a page sends only when it is left."""
SENDINGS_KEPT: Final = 8
"""Requests that are kept with a step's recording."""
GRACE_MS: Final = 1_000
"""How much later than twice its recorded delay a request is waited for, where nobody has declared the step."""
LATE_MS: Final = 500
"""A request that leaves so long after the input is one that the page, not the input, has sent."""


class Witness(StrEnum):
    """What tells of a step's effect beside the page that it acted in."""

    ANSWER = "answer"
    """The page's own site answered a request of the step without an error."""
    DOCUMENT = "document"
    """A document that was loaded after the step shows what is expected, or a response is what was expected."""
    SENT = "sent"
    """Something left that has no answer, as messages and beacons have none, or that went to another site."""


class Sending(Record):
    """One request that a step sent when it was recorded: a replay waits for the same."""

    kind: RequestKind
    """Without the names of its fields."""
    via: str = "page"
    """page; worker: not the page's own, or sent while it was left; leaving: only when the page was left."""
    delay_ms: int = 0
    """How long after the input it left."""

    @property
    def is_late(self) -> bool:
        """Whether a step has ended before it leaves."""
        return self.via != "page" or self.delay_ms >= LATE_MS


def witness_of(
    evidence: Evidence,
    expect: Sequence[Predicate],
    before: Sequence[PredicateResult],
    after: Sequence[PredicateResult],
    *,
    urls: Iterable[str],
    is_fresh: bool,
) -> Witness | None:
    """Say who tells of the step's effect; None if only the page does that it acted in.

    `urls` are the page's addresses before and after the step. `before` and `after` are the verdicts on `expect`;
    `is_fresh` says that the latter are of a document that was loaded after the input.
    """
    own = tuple(urls)
    answered = [request for request in evidence.requests if 0 < request.status < 400]
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
    has_left = any(not request.broken and _is_of(request.url, own) for request in untold)
    return Witness.SENT if has_left else None


def sendings(
    evidence: Evidence, given_at: float, left_at: float = 0.0, redact: Callable[[str], str] = str
) -> tuple[Sending, ...]:
    """Requests of a step as they are recorded, one of each kind.

    `given_at` is when the input was given, `left_at` when its page was left, in seconds since 1970; 0: it was not.
    """
    found: dict[RequestKind, Sending] = {}
    for request in evidence.requests:
        is_left = bool(left_at) and request.sent_at >= left_at
        if not (is_telling(request) or (is_left and request.kind == "beacon")):
            continue
        delay_ms = max(0, int((request.sent_at - given_at) * 1000)) if request.sent_at and given_at else 0
        kind = kind_of(request.method, redact(request.url))
        via = LEAVING if is_left else "worker" if request.kind == "worker" else "page"
        found.setdefault(kind, Sending(kind=kind, via=via, delay_ms=delay_ms))
    return tuple(found.values())[:SENDINGS_KEPT]


def is_telling(request: UnsafeRequest) -> bool:
    """Tell whether a request may carry what the step is for: no beacon, and nothing of the document that came of it."""
    return request.kind in ("request", "worker", "websocket")


def missing(recorded: Iterable[Sending], evidence: Evidence, redact: Callable[[str], str] = str) -> tuple[Sending, ...]:
    """List what was recorded of a step and has not left yet; addresses are compared without secrets."""
    sent = {kind_of(request.method, redact(request.url)) for request in evidence.requests}
    return tuple(sending for sending in recorded if sending.kind not in sent)


_TELLING = frozenset({"request", "worker"})
"""Kinds of requests whose answers tell."""


def _is_of(url: str, own: Iterable[str]) -> bool:
    return any(is_same_site(_as_http(url), each) for each in own)


def _as_http(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(scheme=parts.scheme.replace("ws", "http")).geturl()


def _held(before: Sequence[PredicateResult], at: int) -> bool:
    return at < len(before) and before[at].decided and before[at].passed


def _is_of_a_response(predicate: Predicate) -> bool:
    """Whether it judges what a server sent to the step, not what a page shows."""
    return any(isinstance(part, ResponseStatus | Downloaded) for part in flattened(predicate))
