"""Waiting for what a step with consequences sends after it has ended, and leaving its page where nothing comes."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from activities.session.leaving import LEAVE_MS, LEFT_MS
from activities.step.commit import Commit
from activities.step.judging import Judge
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.proof import unanswered
from replaywright.domain.proof.witness import Sending, Witness, missing
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.step.outcomes import NO_CONTENT, Evidence, UnsafeRequest
from replaywright.domain.step.press_grants import kind_of
from replaywright.domain.task.actions import Cause
from replaywright.errors import ActionFailed, SessionLost
from replaywright.ports.browser import BrowserSession, Report

_CLOSING_MS = 200
"""Time that a page has to show what the run is to end with; after that an activity of its own looks at it."""
LOOK_MS = 3_000
"""Additional time that the page has to show what is expected, once its request is answered."""
_SLICE_MS = 250
"""Interval at which the keeper is asked what has left: nobody else sees requests of workers."""


@dataclass
class Waiting:
    """One step that has acted, and whose effect only its own page confirms so far."""

    browser: BrowserSession
    commit: Commit | None
    """None: its gate holds nothing, as the step may be repeated."""
    judge: Judge
    recorded: tuple[Sending, ...]
    """Requests that it sent by itself when it was recorded."""
    masked: Callable[[str], str]
    """Takes values and secrets out of the addresses that are compared with that."""
    late_ms: int
    """Time limit for its request."""
    answer_ms: int
    """Time limit for the answer."""
    verify: tuple[Predicate, ...] = ()
    """The run's final predicates where the step is its last one: they are of its page, which is left here."""

    async def report(self, report: Report) -> Report:
        """Return the report once somebody confirms the step, or there is nothing more to wait for.

        Where nobody has, the pages are left: some send only then. `left_at` says so. A page that did so when it was
        recorded has the same time before: what it does may depend on the run's values.
        """
        report = replace(await self._heard(report, self.late_ms), is_waited=True)
        if self.judge.is_declared and self.judge.witness(report) is None and not _is_under_way(report):
            at_end = await verdicts_at_end(self.browser, self.verify)
            left_at = time.time()
            await self.browser.leave(LEAVE_MS)
            report = await self._heard(replace(report, left_at=left_at, at_end=at_end), LEFT_MS)
        if report.left_at or failing(report.after) is None:
            return report
        return await self._with_the_keepers(await self.browser.look_again(report, LOOK_MS))

    async def _heard(self, report: Report, limit_ms: int) -> Report:
        """Return the report once it is confirmed or the time is up; answers under way have longer."""
        begun = time.monotonic()
        while True:
            passed_ms = (time.monotonic() - begun) * 1000
            left_ms = limit_ms - passed_ms
            if left_ms <= 0 and _is_under_way(report):
                left_ms = limit_ms + self.answer_ms - passed_ms
            if self._is_enough(report) or left_ms <= 0:
                return report
            report = await self._heard_next(report, int(min(left_ms, _SLICE_MS)))

    async def _heard_next(self, report: Report, limit_ms: int) -> Report:
        was_new = Cause.NEW_DOCUMENT in report.evidence.causes
        known = len(report.evidence.requests)

        def is_news(evidence: Evidence) -> bool:
            by_now = replace(report, evidence=evidence)
            return (len(evidence.requests) > known or not _is_under_way(by_now)) and self._is_enough(by_now)

        evidence = await self.browser.late(is_news, limit_ms)
        report = await self._with_the_keepers(replace(report, evidence=evidence))
        if Cause.NEW_DOCUMENT in evidence.causes and not was_new and not report.left_at:
            report = await self._with_the_keepers(await self.browser.look_again(report, LOOK_MS))
        return report

    def _is_enough(self, report: Report) -> bool:
        """Tell if the site or the keeper confirms the step, or the site refused it."""
        if self.judge.refused(report) is not None:
            return True
        witness = self.judge.witness(report)
        if missing(self.recorded, report.evidence, self.masked):
            return False
        return witness is not None and (witness is not Witness.SENT or bool(self.recorded) or bool(report.left_at))

    async def _with_the_keepers(self, report: Report) -> Report:
        """The report with requests that only the keeper saw: of workers, and of pages that were being left."""
        if self.commit is None:
            return report
        return replace(report, evidence=with_unheard(report.evidence, await self.commit.seen()))


async def verdicts_at_end(browser: BrowserSession, verify: Sequence[Predicate]) -> tuple[PredicateResult, ...]:
    """Return the verdicts on the run's final predicates on the page after its last step; empty if not all hold."""
    if not verify:
        return ()
    try:
        found = await browser.check(verify, _CLOSING_MS)
    except (ActionFailed, SessionLost):  # the step is done all the same; for whoever looks next to say
        return ()
    return found if failing(found) is None else ()


def _is_under_way(report: Report) -> bool:
    return bool(unanswered(report.evidence, report.url))


def with_unheard(evidence: Evidence, seen: GateSeen) -> Evidence:
    """The evidence with the requests that only the keeper saw."""
    heard = [request for request in evidence.requests if request.kind != "worker"]
    known = Counter(kind_of(request.method, request.url) for request in heard if request.kind != "served")
    unheard: list[UnsafeRequest] = []
    for sent in seen.sent:
        if sent.is_safe or not sent.method:
            continue
        kind = kind_of(sent.method, sent.url)
        if known[kind]:
            known[kind] -= 1
            continue
        is_broken = sent.ended_at is not None and sent.answered_at is None
        seen_as = UnsafeRequest(method=sent.method, url=sent.url, status=sent.status, kind="worker")
        aside = sent.kind in seen.aside
        more = {
            "broken": is_broken,
            "sent_at": sent.sent_at,
            "aside": aside,
            "empty": aside and sent.status in NO_CONTENT,
        }
        unheard.append(seen_as.model_copy(update=more))
    return evidence.model_copy(update={"requests": (*heard, *unheard)})
