"""Asking the site whether a step took effect: after it has settled, in a tab of its own, more than once."""

import logging
import time
from asyncio import sleep
from dataclasses import dataclass

from replaywright.domain.locating.filling import filled_step
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.predicates import Predicate, fill_predicate, named_parameters
from replaywright.domain.proof.reconciling import APART_S, NEGATIVES, PAUSES_S, WAIT_MS, Answer, answer_of
from replaywright.domain.run.commands import StepContext
from replaywright.domain.task.steps import Reconcile
from replaywright.errors import ActionFailed
from replaywright.ports.browser import BrowserSession, SiteAnswer, Work

_log = logging.getLogger("replaywright.reconciling")


@dataclass(frozen=True)
class Finding:
    """Result of asking the site."""

    answer: Answer
    reason: str
    """Reason of the last answer."""
    asked: int
    """Number of questions."""
    results: tuple[PredicateResult, ...] = ()
    url: str = ""


async def settle(total_ms: int, passed_ms: int, since: float) -> None:
    """Wait until what had left before the old writer was stopped can be seen; `since` is monotonic, in seconds."""
    left_s = (total_ms - passed_ms) / 1000 - (time.monotonic() - since)
    if left_s > 0:
        await sleep(left_s)


async def ask_site(browser: BrowserSession, reconcile: Reconcile, asked: StepContext) -> Finding:
    """Ask until one answer says yes, or enough of them say no, or too many say nothing.

    Raises:
        SessionLost: the browser is gone.
    """
    named = frozenset().union(*map(named_parameters, reconcile.expect))
    if any(not asked.values.get(name, "").strip() for name in named):
        return Finding("unknown", "empty_parameter", 0)  # nothing would be looked for, and found
    works, expect = _works(reconcile, asked), _expected(reconcile, asked)
    negatives, count, pauses = 0, 0, iter(PAUSES_S)
    while True:
        seen = await browser.ask_site(works, expect)
        count += 1
        answer, reason = answer_of(expect, seen.results, seen.void, seen.incomplete)
        _log.info("step %d: asked the site (%d): %s, %s", asked.sequence, count, answer, reason)
        negatives += answer == "no"
        if answer == "yes" or negatives >= NEGATIVES:
            return _finding(answer, reason, count, seen)
        pause = APART_S if answer == "no" else next(pauses, None)
        if pause is None:
            return _finding("unknown", reason, count, seen)
        await sleep(pause)


async def answer_once(browser: BrowserSession, reconcile: Reconcile, asked: StepContext) -> Finding:
    """Ask once; nothing is decided on the answer.

    Raises:
        SessionLost: the browser is gone.
    """
    expect = _expected(reconcile, asked)
    seen = await browser.ask_site(_works(reconcile, asked), expect)
    answer, reason = answer_of(expect, seen.results, seen.void, seen.incomplete)
    return _finding(answer, reason, 1, seen)


async def go_there(browser: BrowserSession, reconcile: Reconcile, asked: StepContext) -> None:
    """Bring the run's own page to where the site shows the effect: it is not where the step led.

    Raises:
        SessionLost: the browser is gone.
    """
    try:
        for work in _works(reconcile, asked):
            await browser.perform(work)
    except ActionFailed as exc:
        _log.warning("step %d took effect, but its page could not be opened: %s", asked.sequence, exc)


def _expected(reconcile: Reconcile, asked: StepContext) -> tuple[Predicate, ...]:
    filled = (fill_predicate(predicate, asked.values) for predicate in reconcile.expect)
    return tuple(
        each if each.within_ms is not None else each.model_copy(update={"within_ms": WAIT_MS}) for each in filled
    )


def _works(reconcile: Reconcile, asked: StepContext) -> list[Work]:
    return [
        Work(
            step=step,
            query=getattr(step, "target", None),
            expect=step.expect,
            timeout_ms=step.timeout_ms,
        )
        for step in (filled_step(step, asked.values) for step in reconcile.steps)
    ]


def _finding(answer: Answer, reason: str, count: int, seen: SiteAnswer) -> Finding:
    return Finding(answer, reason, count, seen.results, seen.url)
