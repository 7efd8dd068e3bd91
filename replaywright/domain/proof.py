"""What shows that a step did its work: that its predicates *became* true, or what the browser saw it cause."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from replaywright.domain.actions import Cause
from replaywright.domain.observed import PredicateResult
from replaywright.domain.outcomes import Evidence, Proof, UnsafeRequest
from replaywright.domain.steps import Click, DoubleClick, Drag, Press, Step


def needs_proof(step: Step) -> bool:
    """Whether the step only sets something off: what it was to lead to cannot be seen on its element."""
    return isinstance(step, Click | DoubleClick | Drag | Press)


def proof_of(
    before: Sequence[PredicateResult], after: Sequence[PredicateResult], evidence: Evidence, *, changed: bool
) -> Proof:
    """What shows that a press did something.

    `before` and `after` are the verdicts on the same predicates; one that held before already proves nothing. `changed`
    is whether the page shows something else than before the press.
    """
    if any(was.decided and not was.passed and now.passed for was, now in zip(before, after, strict=False)):
        return Proof.BECAME_TRUE
    if evidence.requests:
        return Proof.RESPONSE
    if any(cause is not Cause.NOTHING for cause in evidence.causes):
        return Proof.CAUSE
    return Proof.CHANGE if changed else Proof.NONE


def refused_by(evidence: Evidence, url: str) -> UnsafeRequest | None:
    """A request of the step that the page's own site answered with an error, if it answered none with success.

    Beacons, and what goes to other sites, are left out: they count, and what they count is not the task's business.
    """
    answered = [
        request
        for request in evidence.requests
        if request.kind == "request" and request.status and is_same_site(request.url, url)
    ]
    if not answered or any(request.status < 400 for request in answered):
        return None
    return next((request for request in answered if is_open(request)), answered[0])


def is_open(request: UnsafeRequest) -> bool:
    """Whether a request that was answered with an error may have taken effect all the same (RFC 9110, section 15)."""
    return request.status >= 500 or request.status == 408


def is_same_site(left: str, right: str) -> bool:
    """Whether two addresses belong together: the same host, or hosts right below the same domain or one another."""
    one, other = (urlsplit(url).hostname or "" for url in (left, right))
    if one == other or one.endswith(f".{other}") or other.endswith(f".{one}"):
        return True
    parents = {host.partition(".")[2] for host in (one, other)}
    return len(parents) == 1 and "." in parents.pop() and not one[-1:].isdigit()
