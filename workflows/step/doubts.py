"""Steps that were lost or are in doubt: recovered from, resolved by what is known, by a person if need be."""

from dataclasses import dataclass, replace
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import policies
from workflows.people.person import Person
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.session.recovery import Recovery
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed
from workflows.step.rulings import MESSAGE_LIMIT, contradicted, explained

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.proof.doubt_words import in_words
    from replaywright.domain.proof.probing import SiteProbe
    from replaywright.domain.proof.proof import is_answered
    from replaywright.domain.proof.reconciling import IN_FLIGHT_MS, total_limit_ms
    from replaywright.domain.requests.commands import BY_REQUESTS
    from replaywright.domain.run.commands import StepContext
    from replaywright.domain.run.commit_requests import (
        NOT_ON_SITE,
        NOTHING_LEFT,
        UNDISPATCHED,
        PersonVerdict,
        Resolution,
        ResolveRequest,
        SettleRequest,
    )
    from replaywright.domain.step.outcomes import AWAITED, INTEGRITY, Status, StepOutcome
    from replaywright.domain.task.actions import Effect
    from replaywright.domain.task.questions import QuestionKind, Verdict
    from replaywright.domain.trace.details import summary

PROPOSED_LIMIT_MS = total_limit_ms(SiteProbe(url="http://any.example/", shows=("x",)).as_reconcile())
"""Time limit of a proposed probe of the site, which all have the same shape."""
ASSUMED = "assumed_done"
"""Reason, and warning, of a step that counts as done because its task says so, not because anybody knows."""
EARLIER_RUN = "earlier_run"
"""Reason why the page proves nothing of a step in doubt: another run left it so, in another browser."""
EARLIER_CHAIN = "earlier_chain"
"""The same, of a step under another chain of steps."""
RETRIED = "retried_in_doubt"
"""Warning of a step that was performed again although it may have taken effect before."""
BY_PERSON = "person"
"""Reason of a step of which a person has said what became of it."""
ACTED_IN = (NOTHING_LEFT, NOT_ON_SITE, RETRIED, BY_PERSON)
"""Reasons of steps that did not take effect, and whose attempt may have acted in the page that is there."""
UNKNOWN_WARNINGS = (ASSUMED, RETRIED, INTEGRITY)
"""Prefixes of the warnings about steps in doubt."""


@dataclass(frozen=True)
class Doubt:
    """The attempt in doubt: where it was made, and what is known of it."""

    session_id: str
    """Only the browser that it was made in can tell of it."""
    epoch: int
    """0 when the ledger told of it."""
    lost: bool = False
    contradicted: str = ""
    answered: bool = False
    """True: the site has answered all requests that it was seen to send."""


@dataclass
class Rounds:
    """Counts of attempts that were found not to have taken effect."""

    dispatched: int = 0
    undispatched: int = 0
    """Those of which it was certain that nothing had left the browser."""
    retried: int = 0

    def count(self, resolution: Resolution) -> None:
        """Note one more."""
        if resolution.reason not in UNDISPATCHED:
            self.dispatched += 1
        elif resolution.reason == NOTHING_LEFT:
            self.undispatched += 1
        self.retried += resolution.reason == RETRIED

    def over(self) -> str:
        """Return the reason why it is not performed once more; empty if it is."""
        if self.dispatched >= policies.COMMIT_ROUNDS:
            return f"was verified absent after {self.dispatched} dispatches"
        if self.undispatched >= policies.UNDISPATCHED_ROUNDS:
            return f"nothing of it left the browser in {self.undispatched} attempts"
        return ""

    def warned(self, outcome: StepOutcome) -> StepOutcome:
        """The outcome, with a warning if it may be the second one."""
        if not self.retried or outcome.status is not Status.DONE:
            return outcome
        text = f"{RETRIED}: performed again {self.retried} times although it may have taken effect (on_unknown: retry)"
        return outcome.model_copy(update={"warnings": (text, *outcome.warnings)})


class Doubts:
    """Performs attempts until their outcome is certain."""

    def __init__(self, context: RunContext, browser: Browser, person: Person, recovery: Recovery) -> None:
        self._context = context
        self._browser = browser
        self._person = person
        self._recovery = recovery
        self.at_hand: Attempt | None = None
        """The step under way, until it is done."""

    async def decided(self, attempt: Attempt) -> StepOutcome:
        """An outcome that is not in doubt: losses are recovered from, doubts resolved, by a person if need be."""
        rounds, waits, losses = Rounds(), 0, 0
        while True:
            self._context.board.check_stops()
            doubt = Doubt(session_id=self._browser.ref.session_id, epoch=self._browser.epoch)
            has_acted = False
            try:
                outcome = await attempt.perform()
                if outcome.reason == AWAITED:
                    has_acted = True
                    outcome = await self._awaited(attempt, outcome)
            except ActivityError as error:
                self._context.board.check_stops()
                losses += 1
                lost = policies.is_loss(error)
                doubtful = not (lost or attempt.may_repeat) and policies.leaves_doubt(error)
                if not (lost or doubtful) or losses > policies.LOSSES_PER_STEP:
                    raise
                await self._recovery.recover()
                attempt.after_loss()
                if attempt.may_repeat or (policies.never_began(error) and not has_acted):
                    continue
                outcome = StepOutcome(
                    status=Status.IN_DOUBT,
                    reason="worker_lost" if lost else "broke_off",
                    fingerprint=attempt.fingerprint,
                    effect=Effect.COMMIT,
                )
                doubt = replace(doubt, lost=True)
            if outcome.reason == "store_unavailable" and waits < policies.STORE_TRIES:
                waits += 1
                self._context.board.doing = f"{attempt.title}: waiting for Redis"
                await workflow.sleep(policies.STORE_PAUSE, summary="wait for Redis: no intent can be written")
                attempt.after_wait()
                continue
            if outcome.status is not Status.IN_DOUBT:
                await self._lead_on(attempt, outcome)
                return rounds.warned(outcome)
            if outcome.reason.startswith("ledger_"):  # not this attempt's doubt
                doubt = replace(doubt, epoch=0)
                if self._is_of_requests and not attempt.was_lost:
                    doubt = replace(doubt, session_id="", contradicted=EARLIER_RUN)
            doubt = replace(doubt, contradicted=contradicted(outcome), answered=is_answered(outcome.evidence))
            resolution = await self._resolved(attempt, doubt)
            if resolution.outcome is not None:
                return rounds.warned(resolution.outcome)
            rounds.count(resolution)
            if limit := rounds.over():
                return outcome.model_copy(update={"status": Status.REFUSED, "message": limit})
            self._browser.raise_epoch()
            attempt.disproved = resolution.reason == NOTHING_LEFT
            attempt.retry("commit", outcome)

    @property
    def _is_of_requests(self) -> bool:
        """True if an earlier run of the lineage may have done a step without a page."""
        return self._context.run.task.tier == "requests"

    async def _lead_on(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """Go to where the site shows a step that was done without a page: the page here did not lead on with it."""
        is_elsewhere = outcome.from_ledger and outcome.reason == BY_REQUESTS and not outcome.effect.repeatable
        if self._is_of_requests and is_elsewhere and attempt.step.reconcile is not None:
            await self._resolved(attempt, Doubt(session_id="", epoch=0, contradicted=EARLIER_RUN))

    async def _awaited(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome:
        """Wait for the request of a step that nobody has seen yet; go on in a new browser if its page was left."""
        self._context.board.check_stops()
        self._context.show(f"{attempt.title}: {attempt.waits_for}")
        outcome = await attempt.await_request(outcome)
        if outcome.left and outcome.status is Status.UNMET:
            self._context.board.check_stops()
            try:
                await self._recovery.leave()
            except TaskFailed as failure:
                raise TaskFailed(outcome.reason, f"{explained(attempt, outcome)}; {failure}") from failure
        return outcome

    async def resolved(
        self, attempt: Attempt, contradicted: str, session_id: str = "", *, answered: bool = False
    ) -> Resolution:
        """Decide whether a commit step that an earlier run left in doubt took effect.

        Args:
            attempt: the step.
            contradicted: why the browser that there is cannot tell of it; empty if it is the one it was done in.
            session_id: of the browser that the earlier run left; empty where it left none.
            answered: the site has answered all that was sent.
        """
        return await self._resolved(attempt, Doubt(session_id, 0, contradicted=contradicted, answered=answered))

    async def _resolved(self, attempt: Attempt, doubt: Doubt) -> Resolution:
        """Resolve a commit step in doubt: with its outcome if it took effect, without if it certainly did not."""
        self._context.board.check_stops()
        self._context.show(f"{attempt.title}: verifying its effect")
        self._browser.raise_epoch()
        resolution = await self._told(attempt, doubt)
        fenced = attempt.step_context()
        attempt.after_loss()
        if resolution.verdict == "undecidable":
            resolution = await self._undecidable(attempt, fenced, resolution.reason)
        if resolution.verdict == "not_done":
            attempt.settled = fenced.run.epoch
        if resolution.verdict == "not_done" and resolution.reason in ACTED_IN and self._is_in_its_browser(doubt):
            await self._recovery.leave()
        return resolution

    async def _told(self, attempt: Attempt, doubt: Doubt) -> Resolution:
        """Return what is known of the step, once none of its requests is in flight, or its time is up."""
        over = workflow.now() + timedelta(milliseconds=self._in_flight_ms(attempt))
        asked, sign_ins = 1, policies.SIGN_INS_PER_STEP if self._recovery.signing_in.is_used else 0
        while True:
            manner = {"is_patient": workflow.now() < over, "may_sign_in": sign_ins > 0}
            resolution = await self._verified(attempt, doubt, asked, manner)
            if resolution.verdict == "signed_out":
                sign_ins -= 1
                asked += 1
                await self._recovery.sign_in_again()
                continue
            if resolution.verdict != "in_flight":
                return resolution
            self._context.show(
                f"{attempt.title}: {in_words(resolution.reason)}; asked again until {over:%H:%M:%S} (UTC)"
            )
            self._context.board.check_stops()
            pause = min(policies.ASK_AGAIN * asked, policies.ASK_AGAIN_MOST, max(over - workflow.now(), timedelta()))
            await workflow.sleep(pause, summary=f"request of step {attempt.sequence + 1} in flight")
            asked += 1

    async def _verified(self, attempt: Attempt, doubt: Doubt, asked: int, manner: dict[str, bool]) -> Resolution:
        """Check ledger, keeper, page and site once."""
        reconcile = attempt.step.reconcile
        asking_ms = PROPOSED_LIMIT_MS if reconcile is None else total_limit_ms(reconcile)
        limit = timedelta(milliseconds=asking_ms + self._settle_ms(attempt))
        again = "" if asked == 1 else f"-{asked}"
        return await self._recovery.read(
            lambda: self._browser.call(
                "effect.verify",
                self._request(attempt, doubt).model_copy(update=manner),
                Resolution,
                activity_id=attempt.activity_id(f"verify-e{self._browser.epoch}{again}"),
                summary=summary(attempt.sequence, f"verify its effect: {attempt.title}"),
                limit=policies.READ_LIMIT + limit,
            ),
        )

    def _in_flight_ms(self, attempt: Attempt) -> int:
        """Return how long the site is polled while the step's request is unanswered."""
        own = None if attempt.step.reconcile is None else attempt.step.reconcile.in_flight_ms
        return self._context.run.task.in_flight_ms if own is None else own

    def _settle_ms(self, attempt: Attempt) -> int:
        """Return how long the site may take to show the last request that can have left."""
        own = None if attempt.step.reconcile is None else attempt.step.reconcile.site_lag_ms
        return IN_FLIGHT_MS + (self._context.run.task.site_lag_ms if own is None else own)

    def _is_in_its_browser(self, doubt: Doubt) -> bool:
        """Say if the run still has the browser, and the page, that the attempt in doubt was made in."""
        return self._browser.adopted and self._browser.ref.session_id == doubt.session_id

    def _request(self, attempt: Attempt, doubt: Doubt) -> ResolveRequest:
        return ResolveRequest(
            action=attempt.step_context(),
            adopted=self._is_in_its_browser(doubt),
            contradicted=doubt.contradicted,
            doubted=doubt.epoch,
            doubted_session=doubt.session_id,
            settled=attempt.settled,
            answered=doubt.answered,
            lost=doubt.lost,
            began_at=self._context.left_at,
            witness=self._context.state.witness if doubt.lost and doubt.session_id in self._browser.ended else "",
            settle_ms=self._settle_ms(attempt),
            settled_ms=self._browser.stopped_for_ms if doubt.lost else 0,
        )

    async def _undecidable(self, attempt: Attempt, asked: StepContext, reason: str) -> Resolution:
        """Apply the task's `on_unknown` to a step whose effect cannot be determined."""
        wanted = attempt.step.on_unknown or "ask"
        if wanted == "ask":
            return await self._ask_person(attempt, asked, reason)
        text = f"step {attempt.sequence + 1} ({attempt.title}) may or may not have taken effect ({in_words(reason)})"
        if wanted == "fail":
            raise TaskFailed("undecidable", f"{text}, and on_unknown is fail: look at the site before it is run again")
        who = f"the task file (on_unknown: {wanted})"
        answer: Verdict = "done" if wanted == "assume_done" else "retry"
        verdict = PersonVerdict(sequence=attempt.sequence, verdict=answer, who=who, why=reason)
        await self._person.settled(attempt, SettleRequest(action=asked, verdict=verdict))
        if answer == "retry":
            return Resolution(verdict="not_done", reason=RETRIED)
        return Resolution(verdict="done", reason=ASSUMED, outcome=_done(attempt, ASSUMED, f"{text}: assumed done"))

    async def _ask_person(self, attempt: Attempt, asked: StepContext, reason: str) -> Resolution:
        text = (
            f"step {attempt.sequence + 1} ({attempt.title}) may or may not have taken effect ({in_words(reason)}): "
            "look at the site, then answer"
        )
        question = attempt.question(QuestionKind.DOUBT, text, ("done", "not_done", "retry", "abandon"))
        verdict = await self._person.asked(question)
        await self._person.settled(attempt, SettleRequest(action=asked, verdict=verdict))
        if verdict.verdict == "abandon":
            raise TaskFailed("abandoned", f"{verdict.by} abandoned the step in doubt: {verdict.why}")
        if verdict.verdict in ("not_done", "retry"):
            return Resolution(verdict="not_done", reason=BY_PERSON)
        outcome = _done(attempt, BY_PERSON, f"{verdict.by} says that it took effect: {verdict.why}")
        return Resolution(verdict="done", reason=BY_PERSON, outcome=outcome)


def _done(attempt: Attempt, reason: str, message: str) -> StepOutcome:
    warnings = (f"{ASSUMED}: {message}"[:MESSAGE_LIMIT],) if reason == ASSUMED else ()
    return StepOutcome(
        status=Status.DONE,
        reason=reason,
        message=message,
        fingerprint=attempt.fingerprint,
        effect=Effect.COMMIT,
        warnings=warnings,
    )
