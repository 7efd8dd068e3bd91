"""The verdict on a step that acted: done, failed, or done with warnings."""

from collections.abc import Callable
from dataclasses import dataclass

from replaywright.domain.common.durations import clock_of
from replaywright.domain.common.text import shorten
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.predicates import Predicate, judges_responses
from replaywright.domain.predicate.unmet import unmet_message
from replaywright.domain.proof.proof import effect_seen, failed_requests, refused_by, unanswered, without_asides
from replaywright.domain.proof.witness import Sending, Witness, as_recorded, witness_of
from replaywright.domain.step.outcomes import SENT_TWICE, SERVER_ERROR, UNANSWERED, UNPROVEN, Proof, UnsafeRequest
from replaywright.domain.task.steps import Fill, Goto, Paste, Scroll, Step, Type
from replaywright.ports.browser import Report

WARNING_LIMIT = 300
"""Characters of a warning."""
WARNINGS_KEPT = 4


@dataclass(frozen=True)
class Judge:
    """Judges one step by what it was to lead to."""

    step: Step
    """Filled in."""
    derived: tuple[Predicate, ...]
    """Expectations beside its own `expect`, filled in."""
    is_known_commit: bool
    """True: it has consequences by declaration or observation, not only for want of knowledge."""
    url: str = ""
    """Address of the page before the step."""
    recorded: tuple[Sending, ...] = ()
    """Requests that it sent when it was recorded."""
    masked: Callable[[str], str] = str
    """Takes values and secrets out of addresses that are compared with these."""

    def fault(self, report: Report) -> tuple[str, str] | None:
        """Return why the step failed, as reason and message; None when nothing speaks against it."""
        unmet = failing(report.after)
        if unmet is not None:
            return unmet.reason, f"not as expected: {unmet_message(unmet)}"
        contradiction = self._contradiction(report)
        if contradiction is not None and not isinstance(self.step, _QUIET):
            reason, message = contradiction
            return reason, f"{message}, whatever the page shows; if that is as it should be, expect response_status"
        differs = failing([result.model_copy(update={"required": True}) for result in self.on_derived(report)])
        if _is_unproven(report) and differs is not None and not self.step.expect:
            return differs.reason, f"last time it led to something else: {unmet_message(differs)}"
        if _is_unproven(report) and self._must_be_proven(report):
            return UNPROVEN, "nothing shows that it did anything: no request, no change of the page, no expectation met"
        return None

    @property
    def is_declared(self) -> bool:
        """True if the author declares consequences, and does not take the page's word for them."""
        return self.step.needs_witness

    def witness(self, report: Report) -> Witness | None:
        """Return the witness of the step's effect other than the page that it acted in."""
        declared = len(self.step.expect)
        return witness_of(
            as_recorded(report.evidence, self.recorded, self.masked),
            self.step.expect,
            report.before[:declared],
            report.after[:declared],
            urls=(self.url, report.url),
            is_fresh=report.is_fresh,
            is_waited=report.is_waited,
        )

    def refused(self, report: Report) -> UnsafeRequest | None:
        """Return a request of the step that its site refused, if it answered none with success."""
        evidence = as_recorded(report.evidence, self.recorded, self.masked)
        if self.is_declared:
            evidence = without_asides(evidence, is_waited=report.is_waited)
        return refused_by(evidence, report.url)

    def warnings(self, report: Report) -> tuple[str, ...]:
        """Return the warnings on a step that was done."""
        warnings = [UNPROVEN] if _is_unproven(report) else []
        declared, derived = len(self.step.expect), self.on_derived(report)
        decided = (result for result in derived if result.decided)  # others: of renamed ones
        results = (*report.after[:declared], *decided, *report.after[declared + len(derived) :])
        optional = (result for result in results if not (result.passed or result.required))
        warnings += [f"{result.reason}: {shorten(str(result.details), WARNING_LIMIT)}" for result in optional]
        warnings += [f"{SENT_TWICE}: {_sendings(request)}" for request in self._sent_twice(report)[:1]]
        if self._hears_servers(report):
            failed = failed_requests(report.evidence, report.url)
            warnings += [f"{SERVER_ERROR}: {_answer_to(request)}" for request in failed]
            warnings += [f"{UNANSWERED}: {r.method} {r.url}" for r in unanswered(report.evidence, report.url)]
        return tuple(warnings[:WARNINGS_KEPT])

    def _sent_twice(self, report: Report) -> list[UnsafeRequest]:
        """Return requests of a step with consequences that its page had sent before."""
        repeats = self.step.effect is not None and self.step.effect.repeatable
        if repeats or effect_seen(self.step, report.evidence).repeatable:
            return []
        return [request for request in report.evidence.requests if request.equal_sent_at]

    def on_derived(self, report: Report) -> tuple[PredicateResult, ...]:
        """Return the verdicts on the expectations that were derived while the step was learned."""
        declared = len(self.step.expect)
        return report.after[declared : declared + len(self.derived)]

    def _contradiction(self, report: Report) -> tuple[str, str] | None:
        """Return what the servers' answers say against the step's success, as reason and message."""
        if not self._hears_servers(report):
            return None
        refused = self.refused(report)
        if refused is not None:
            return SERVER_ERROR, _answer_to(refused)
        if report.page_fault:
            status = report.page_fault.removeprefix("http_")
            fault = "could not be opened" if status == report.page_fault else f"answered with status {status}"
            return report.page_fault, f"the step led to {report.url}, which {fault}"
        return None

    def _hears_servers(self, report: Report) -> bool:
        """Tell if the servers' answers count: the step does not judge them itself."""
        return report.acted and not judges_responses(self.step.expect)

    def _must_be_proven(self, report: Report) -> bool:
        """Tell if the step fails without proof: not if, as when it was recorded, it is only counted by the site."""
        return self.is_known_commit and (self.step.effect is not None or not report.evidence.requests)


_QUIET = (Fill, Type, Paste, Scroll, Goto)
"""Steps whose own work is seen in the page: what scripts send meanwhile is none of it."""


def _answer_to(request: UnsafeRequest) -> str:
    how = f"was answered with status {request.status}" if request.status else "got no answer: the connection broke"
    return f"{request.method} {request.url} {how}"


def _sendings(request: UnsafeRequest) -> str:
    first, second = clock_of(request.equal_sent_at), clock_of(request.sent_at)
    return f"{request.method} {request.url} was sent at {first} and, the same again, at {second} (UTC)"


def _is_unproven(report: Report) -> bool:
    return report.acted and report.proof is Proof.NONE
