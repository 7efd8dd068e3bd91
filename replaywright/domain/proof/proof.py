"""What shows that a step did its work: that its predicates *became* true, or what the browser saw it cause."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.step.outcomes import Evidence, Proof, UnsafeRequest
from replaywright.domain.task.actions import ACTIONS, Cause, Effect
from replaywright.domain.task.steps import Goto, Step, action_of


def needs_proof(step: Step) -> bool:
    """Whether the step only sets something off: what it was to lead to cannot be seen on its element."""
    return ACTIONS[action_of(step)].needs_proof


def effect_seen(step: Step, evidence: Evidence) -> Effect:
    """Effect of a step by what the browser sent.

    What a page sends beside a step whose outcome is read back (analytics, a draft that is saved) is no effect of the
    step: performed again, it enters what is there. Only what has left the page with the request is gone.
    """
    left = Cause.NEW_DOCUMENT in evidence.causes and any(request.kind == "request" for request in evidence.requests)
    if ACTIONS[action_of(step)].is_read_back and (isinstance(step, Goto) or not left):
        return Effect.READ
    return evidence.observed_effect


def proof_of(
    before: Sequence[PredicateResult], after: Sequence[PredicateResult], evidence: Evidence, *, changed: bool, url: str
) -> Proof:
    """What shows that a press did something.

    `before` and `after` are the verdicts on the same predicates; one that held before already proves nothing. `changed`
    is whether the page at `url` shows something else than before the press. What is sent to be counted proves nothing.
    """
    if any(was.decided and not was.passed and now.passed for was, now in zip(before, after, strict=False)):
        return Proof.BECAME_TRUE
    if any(request.kind != "beacon" and is_same_site(request.url or url, url) for request in evidence.requests):
        return Proof.RESPONSE
    if any(cause is not Cause.NOTHING for cause in evidence.causes):
        return Proof.CAUSE
    return Proof.CHANGE if changed else Proof.NONE


def refused_by(evidence: Evidence, url: str) -> UnsafeRequest | None:
    """A request of the step that the page's own site answered with an error, if it answered none with success."""
    if any(0 < request.status < 400 for request in _of_site(evidence, url)):
        return None
    failed = failed_requests(evidence, url)
    return next((request for request in failed if is_open(request)), failed[0]) if failed else None


def failed_requests(evidence: Evidence, url: str) -> tuple[UnsafeRequest, ...]:
    """What the step sent to the page's own site and was answered with an error, or not at all as the connection broke.

    Not what was answered with success when it was sent again.
    """
    sent = _of_site(evidence, url)
    done = {(request.method, request.url) for request in sent if 0 < request.status < 400}
    failed = (request for request in sent if request.status >= 400 or request.broken)
    return tuple(request for request in failed if (request.method, request.url) not in done)


def unanswered(evidence: Evidence, url: str) -> tuple[UnsafeRequest, ...]:
    """What the step sent to the page's own site, and what of it nobody knows the outcome of."""
    return tuple(request for request in _of_site(evidence, url) if not (request.status or request.broken))


def is_answered(evidence: Evidence) -> bool:
    """Say if the step was seen to send something, and all of it was answered."""
    sent = [request for request in evidence.requests if request.kind != "beacon"]
    return bool(sent) and all(request.status for request in sent)


def _of_site(evidence: Evidence, url: str) -> list[UnsafeRequest]:
    """Beacons, and what goes to other sites, are left out: they count, and what they count is not the task's affair."""
    return [r for r in evidence.requests if r.kind in ("request", "worker") and is_same_site(r.url, url)]


def is_open(request: UnsafeRequest) -> bool:
    """Whether a request that failed may have taken effect all the same (RFC 9110, section 15)."""
    return request.broken or request.status >= 500 or request.status == 408


def is_same_site(left: str, right: str) -> bool:
    """Whether two addresses belong together: the same host, or hosts right below the same domain or one another."""
    one, other = (urlsplit(url).hostname or "" for url in (left, right))
    if one == other or one.endswith(f".{other}") or other.endswith(f".{one}"):
        return True
    parents = {host.partition(".")[2] for host in (one, other)}
    return len(parents) == 1 and "." in parents.pop() and not one[-1:].isdigit()
