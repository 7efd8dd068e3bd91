"""Proof of a step: predicates that *became* true, or consequences that the browser observed."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.step.outcomes import Evidence, Proof, UnsafeRequest
from replaywright.domain.task.actions import ACTIONS, Cause, Effect
from replaywright.domain.task.steps import Goto, Step, action_of


def needs_proof(step: Step) -> bool:
    """Return True if the step's own element cannot show its result."""
    return ACTIONS[action_of(step)].needs_proof


def is_input(step: Step) -> bool:
    """Return True if the step enters or presses something: its page may send because of it, also later."""
    spec = ACTIONS[action_of(step)]
    return bool(spec.need) and spec.effect is not Effect.READ


def shows_itself(step: Step) -> bool:
    """Return True if the step's own result can contradict that it was done with the right element."""
    return ACTIONS[action_of(step)].is_read_back or any(predicate.is_required for predicate in step.expect)


def effect_seen(step: Step, evidence: Evidence) -> Effect:
    """Return the effect of a step by the requests that the browser sent.

    Requests beside a step whose outcome is read back (analytics, a saved draft) are no effect of it: a repetition
    enters the same value. A request that left the page is.
    """
    left = Cause.NEW_DOCUMENT in evidence.causes and any(request.kind == "request" for request in evidence.requests)
    if ACTIONS[action_of(step)].is_read_back and (isinstance(step, Goto) or not left):
        return Effect.READ
    return evidence.observed_effect


def proof_of(
    before: Sequence[PredicateResult], after: Sequence[PredicateResult], evidence: Evidence, *, changed: bool, url: str
) -> Proof:
    """Return the proof that a press had a consequence.

    `before` and `after` are the verdicts on the same predicates; one that held before proves nothing, and neither does
    a beacon. `changed` means that the page at `url` differs from before the press.
    """
    if any(was.decided and not was.passed and now.passed for was, now in zip(before, after, strict=False)):
        return Proof.BECAME_TRUE
    if any(request.kind != "beacon" and is_same_site(request.url or url, url) for request in evidence.requests):
        return Proof.RESPONSE
    if any(cause is not Cause.NOTHING for cause in evidence.causes):
        return Proof.CAUSE
    return Proof.CHANGE if changed else Proof.NONE


def refused_by(evidence: Evidence, url: str) -> UnsafeRequest | None:
    """Return a request that the page's own site refused, if it answered none with success."""
    if any(0 < request.status < 400 for request in _of_site(evidence, url)):
        return None
    failed = failed_requests(evidence, url)
    return next((request for request in failed if is_open(request)), failed[0]) if failed else None


def without_asides(evidence: Evidence, *, is_waited: bool) -> Evidence:
    """Return the evidence without requests that say nothing of the step, or not yet: see `UnsafeRequest`."""
    kept = (each for each in evidence.requests if each.is_of_step or (is_waited and not each.aside))
    return evidence.model_copy(update={"requests": tuple(kept)})


def failed_requests(evidence: Evidence, url: str) -> tuple[UnsafeRequest, ...]:
    """Return the requests to the page's own site that failed or whose connection broke.

    Those that succeeded when sent again are left out.
    """
    sent = _of_site(evidence, url)
    done = {(request.method, request.url) for request in sent if 0 < request.status < 400}
    failed = (request for request in sent if request.status >= 400 or request.broken)
    return tuple(request for request in failed if (request.method, request.url) not in done)


def unanswered(evidence: Evidence, url: str) -> tuple[UnsafeRequest, ...]:
    """Return the requests to the page's own site without a known outcome."""
    return tuple(request for request in _of_site(evidence, url) if not (request.status or request.broken))


def is_answered(evidence: Evidence) -> bool:
    """Return True if the step sent requests and all were answered."""
    sent = [request for request in evidence.requests if request.kind != "beacon"]
    return bool(sent) and all(request.status for request in sent)


def _of_site(evidence: Evidence, url: str) -> list[UnsafeRequest]:
    """Return the requests to the own site, without beacons, which only count visits."""
    return [r for r in evidence.requests if r.kind in ("request", "worker") and is_same_site(r.url, url)]


def is_open(request: UnsafeRequest) -> bool:
    """Return True if a failed request may still have taken effect (RFC 9110, section 15)."""
    return request.broken or request.status >= 500 or request.status == 408


def is_same_site(left: str, right: str) -> bool:
    """Return True for the same host, and for hosts directly below the same domain or each other."""
    one, other = (urlsplit(url).hostname or "" for url in (left, right))
    if one == other or one.endswith(f".{other}") or other.endswith(f".{one}"):
        return True
    parents = {host.partition(".")[2] for host in (one, other)}
    return len(parents) == 1 and "." in parents.pop() and not one[-1:].isdigit()
