"""One step on its way through resolve, run and record."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from activities.policing import blocked_by
from activities.session.sessions import Attachment
from activities.step.awaiting import Waiting
from activities.step.commit import Commit
from activities.step.conditions import unmet
from activities.step.consent import Consenting
from activities.step.judging import Judge
from activities.step.learning import Lesson
from activities.step.records import recording_of, settled_outcome
from replaywright.domain.common.text import shorten
from replaywright.domain.locating.filling import filled_step, filled_target
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.predicates import Predicate, named_parameters
from replaywright.domain.proof.deriving import filled_expectations
from replaywright.domain.proof.late import LATE
from replaywright.domain.proof.proof import effect_seen, is_open, refused_by, unanswered
from replaywright.domain.proof.witness import GRACE_MS, Sending, Witness, missing
from replaywright.domain.run.redacted import redacted_outcome, redacted_results
from replaywright.domain.run.runs import (
    ActionRequest,
    Heal,
    Mode,
)
from replaywright.domain.secrets.secret_sites import RULE as SECRET_RULE
from replaywright.domain.skill.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.skill.weak_steps import WEAK_STEP, StepRate, rate_of
from replaywright.domain.step.fingerprints import (
    content_key,
    digest,
    fingerprint,
    naming_parameters,
    site_scope,
)
from replaywright.domain.step.outcomes import (
    AWAITED,
    BLOCKED,
    DONE_BEFORE,
    DOUBT_BEFORE,
    GATE_CUT,
    INTEGRITY,
    NOTHING_SENT,
    UNANSWERED,
    UNWITNESSED,
    WHEN,
    Costs,
    Departure,
    Evidence,
    Lookup,
    Proof,
    Status,
    StepOutcome,
)
from replaywright.domain.step.overrides import Due
from replaywright.domain.step.press_grants import UNGRANTED
from replaywright.domain.task.actions import Effect, effect_of, stronger
from replaywright.domain.task.steps import Goto, SolveCaptcha, VerificationCode, action_of, entering, names_element
from replaywright.domain.trace.details import element_summary
from replaywright.errors import (
    ActionFailed,
    DoneElsewhere,
    PolicyBlocked,
    ReplaywrightError,
    SessionLost,
    StoreUnavailable,
)
from replaywright.killpoints import enter, hit
from replaywright.ports import (
    BeforeDispatch,
    Known,
    Report,
    Work,
)

if TYPE_CHECKING:
    from activities.step.actions import Actions, Entered

_log = logging.getLogger("replaywright.actions")

_NOTHING_SEEN = Evidence()
WARNING_LIMIT = 300
"""Characters of a warning."""
WARNINGS_KEPT = 4
RECHECK_MS = 3_000
"""How much longer a page is given to show what is expected, before anything else is tried."""
CLOSING_MS = 200
"""How long a page is given to show what the run is to end with; after that an activity of its own looks at it."""
SEEN_MS = 1_000
"""How long a page is given to show that a repeatable step had taken effect before its worker was lost."""


_REMEDY = "give late_ms if it sends later, reconcile if the site shows it, or evidence: page if it sends nothing"


class _AlreadyCommitted(Exception):
    """The ledger answered an intent with the outcome of an earlier attempt."""

    def __init__(self, outcome: StepOutcome) -> None:
        super().__init__()
        self.outcome = outcome


class _Ungranted(Exception):
    """A request was thrown away that nobody had granted."""


class Performance:
    """One step on its way through resolve, run and record."""

    def __init__(self, actions: "Actions", request: ActionRequest, held: Attachment) -> None:
        self._actions = actions
        self._request = request
        self._held = held
        written = request.step
        if isinstance(written, VerificationCode | SolveCaptcha):
            written = entering(written, has_text=request.code is not None)
        self._step = filled_step(written, request.values)
        self._key = content_key(request.tenant, held.browser.url, request.step)
        self._left_at = self._url = held.browser.url
        self._site = actions.secrets.redact(site_scope(held.browser.url))
        self._started = time.perf_counter()
        self._began_s = time.monotonic()
        self._trips = 0
        self._redis_s = 0.0
        self._commit: Commit | None = None
        """Once its intent is written."""
        self._departure: Departure | None = None
        self._entry: ActionCacheEntry | None = None
        self._refused = ""
        """What is said of a recording that is not what was signed."""
        self._effect = Effect.COMMIT
        self._derived: tuple[Predicate, ...] = ()
        self._report: Report | None = None
        self._refused_event = asyncio.Event()
        self._following = ("", "")
        """Fingerprint and content key of the next step, once this one is done; empty where there is none."""

    @property
    def is_untouched(self) -> bool:
        """Whether it has certainly given no input yet: for that its intent has to be written."""
        return self._commit is None and self._gate() is not None

    @property
    def has_left(self) -> bool:
        """Whether its intent was dispatched: its request is on its way."""
        return self._commit is not None and self._commit.has_intent and self._commit.is_permitted

    async def outcome(self) -> StepOutcome:
        """What came of it; see `Actions.perform_action`."""
        try:
            return await self._outcome()
        except _Ungranted:
            return await self._ungranted(None)
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        """Stop listening at the gate, unless its request is still waited for."""
        if self._commit is not None and self._held.waiting is not self:
            await self._commit.leave()

    async def _outcome(self) -> StepOutcome:
        enter(self._request.sequence)
        hit("start")
        if self._request.reapply and await self._is_needless():
            return self._ended(Status.DONE, WHEN, "when does not hold in the new browser")
        return await self._looked_up()

    async def _looked_up(self) -> StepOutcome:
        try:
            known = await self._known()
        except StoreUnavailable as exc:
            if effect_of(action_of(self._step), self._request.step.effect, None).repeatable:
                raise
            return self._ended(Status.REFUSED, "store_unavailable", f"the ledger cannot be read: {exc}")
        if known.outcome is not None:
            return await self._actions.answered(self._request, known.outcome)
        recorded = (self._request.mode is not Mode.LEARN or self._request.reapply) and not self._request.override
        self._entry = known.entry if recorded else None
        self._refused = known.refused
        seen = None if self._entry is None else self._entry.effect
        self._effect = effect_of(action_of(self._step), self._request.step.effect, seen)
        if known.state == "DAMAGED":
            said = "the ledger's record of this step cannot be read: find out if it took effect, then delete the record"
            return self._ended(Status.REFUSED, "ledger_damaged", said)
        own = self._request.waited and known.state == "INTENT" and known.epoch == self._request.epoch
        if known.state not in ("", "NOT_DONE") and not own:
            # Whatever this attempt takes the step for: an earlier one took it for a commit.
            return self._ended(Status.IN_DOUBT, f"ledger_{known.state.lower()}", "an earlier attempt left its intent")
        if (refusal := self._actions.policing.on_request(self._request)) is not None:
            return await self._blocked(blocked_by(refusal))
        return await self._acted()

    async def _acted(self) -> StepOutcome:
        if self._request.weak == "ask" and not self._request.reapply and self._rate().asks:
            return self._ended(Status.REFUSED, WEAK_STEP, str(self._rate()))
        try:
            report = await self._performed()
        except (_AlreadyCommitted, DoneElsewhere) as signal:
            return await self._done_already(signal)
        except StoreUnavailable as exc:
            if self._effect.repeatable:
                raise
            return self._ended(Status.REFUSED, "store_unavailable", f"no intent could be written: {exc}")
        except ActionFailed as exc:
            if exc.reason == SECRET_RULE:
                return await self._blocked(PolicyBlocked(str(exc), rule=SECRET_RULE, dispatched=exc.dispatched))
            blocked = await self._refused_page(exc.reason, dispatched=exc.dispatched)
            return await (self._failed(exc) if blocked is None else self._blocked(blocked))
        except PolicyBlocked as exc:
            return await self._blocked(exc)
        hit("acted", self._request.sequence)
        sent = effect_seen(self._step, report.evidence) is not Effect.READ
        if (blocked := await self._refused_page(report.page_fault, dispatched=sent)) is not None:
            return await self._blocked(blocked)
        return await self._recorded(await self._actions.keep_files(report, self._held))

    async def _refused_page(self, fault: str, *, dispatched: bool) -> PolicyBlocked | None:
        """The rule for which the page that the step led to did not come; `fault` is how that looks to the browser."""
        if fault not in ("navigation_failed", "http_403", "timeout"):
            return None
        return await self._held.network.refusal_of(self._held.browser.wanted_url, self._began_s, dispatched=dispatched)

    def _rate(self) -> StepRate:
        """How the step went of late."""
        return rate_of("" if self._entry is None else self._entry.recent)

    def _weakness(self) -> tuple[str, ...]:
        """What is to be said of a step that failed too often of late, also where it was done now."""
        if not self._rate().warns:
            return ()
        said = f"{WEAK_STEP}: {self._rate()}"
        _log.warning("step %d (%s): %s", self._request.sequence + 1, self._request.step.action, said)
        return (said,)

    async def _is_needless(self) -> bool:
        """Whether the page does not ask any more for a step that it asked for: a banner that was agreed to."""
        return bool(self._step.when) and await unmet(self._held.browser, self._step) is not None

    async def _done_already(self, signal: _AlreadyCommitted | DoneElsewhere) -> StepOutcome:
        """The recorded outcome; of an act that the lineage has under another chain of steps, a refusal.

        Whether that is done again is for a person to say.
        """
        if isinstance(signal, _AlreadyCommitted):
            return await self._actions.answered(self._request, signal.outcome)
        earlier = signal.fingerprint
        known = await self._actions.known_of(self._request, earlier)
        reason = DONE_BEFORE if known.state == "COMMITTED" else DOUBT_BEFORE
        said = (
            "the same was done under another chain of steps" if reason == DONE_BEFORE else f"it is {known.state} there"
        )
        outcome = self._ended(Status.REFUSED, reason, f"step {earlier[:12]} of this lineage: {said}")
        await self._write(outcome, None)
        return outcome.model_copy(update={"earlier": earlier})

    async def _performed(self) -> Report:
        """Act on what was recorded; if that is not certain, on what the task itself declares, which needs no model.

        Only if it declares what the element is called, or if it is called nothing: an identifier alone may be that of
        something else by now, which a name, a label or a row that was recorded would have told. What is found so is as
        much of a heal as any other: the page is not what was recorded.
        """
        if isinstance(self._step, Goto):
            self._held.network.check(self._step.url)
        rules = await self._actions.rules_for(self._request, self._held.browser.url)
        entered = await self._actions.entered(self._request)
        work = await self._actions.coded(self._request, replace(self._work(entered), overrides=rules))
        begun = time.perf_counter()
        report = await self._given(work)
        declared = getattr(self._step, "target", None)
        replayed = work.target is not None and self._request.proposed is None
        left_ms = work.timeout_ms - int(_ms_since(begun))
        if report.lookup.hit or not (replayed and work.heal) or left_ms <= 0:
            return report
        if declared is None or work.target is None or not (declared.says_what_it_is or _is_nameless(work.target)):
            return report
        again = replace(work, target=None, query=declared, causes=None, timeout_ms=left_ms)
        second = await self._given(again)
        if not second.lookup.hit:
            return report
        return replace(
            second,
            lookup=second.lookup.model_copy(update={"healed": True}),
            evaluations=report.evaluations + second.evaluations,
            locating_ms=report.locating_ms + second.locating_ms,
        )

    async def _given(self, work: Work) -> Report:
        """Perform in the browser; broken off as soon as a request was thrown away that nobody had granted.

        Raises:
            _Ungranted: one was.
        """
        performing = asyncio.create_task(self._held.browser.perform(work, self._gate()))
        refused = asyncio.create_task(self._refused_event.wait())
        try:
            await asyncio.wait({performing, refused}, return_when=asyncio.FIRST_COMPLETED)
            if not performing.done():
                raise _Ungranted
            return await performing
        finally:
            refused.cancel()
            performing.cancel()
            await asyncio.gather(performing, refused, return_exceptions=True)  # told above, or moot

    async def _known(self) -> Known:
        begun = time.perf_counter()
        known, trips = await self._actions.look_up(self._request, self._key, self._held)
        self._spent(begun, trips)
        return Known(entry=known.entry, refused=known.refused) if self._request.reapply else known

    def _spent(self, begun: float, trips: int) -> None:
        self._redis_s += time.perf_counter() - begun
        self._trips += trips

    def _gate(self) -> BeforeDispatch | None:
        """What has to be done between finding and acting: for a commit step, writing its intent."""
        if not (self._effect.repeatable or self._request.reapply):
            return self._write_intent
        return self._watch if self._needs_grant else None

    @property
    def _needs_grant(self) -> bool:
        """Whether a model chose what is pressed: neither a signed recording of it nor what a person wrote is."""
        if self._request.consent is None:
            return False
        entry, proposed = self._entry, self._request.proposed is not None
        is_replayed = entry is not None and entry.status is EntryStatus.ACTIVE
        is_written = getattr(self._step, "target", None) is not None and (entry is None or entry.origin == "declared")
        return proposed or not (is_replayed or is_written)

    def _commit_on(self, target: Target | None, *, has_intent: bool = True) -> Commit:
        consent, consenting = self._request.consent, None
        if consent is not None and self._needs_grant:
            recorded = () if self._entry is None else self._entry.granted
            consenting = Consenting(
                consent,
                target,
                recorded,
                policing=self._actions.policing,
                browser=self._held.browser,
                secrets=self._actions.secrets,
            )
        commit = Commit(self._actions, self._request, self._held, consenting, has_intent=has_intent)
        commit.is_refused = self._refused_event
        return commit

    async def _watch(self, target: Target | None, _before: tuple[PredicateResult, ...]) -> None:
        """Hold what a repeatable step would send that nobody has granted; the ledger need not know of it."""
        commit = self._commit_on(target, has_intent=False)
        await commit.arm(None)
        self._commit = commit
        commit.begin()

    async def _write_intent(self, target: Target | None, before: tuple[PredicateResult, ...]) -> None:
        hit("located", self._request.sequence)
        commit = self._commit_on(target)
        held = held_of(before, len(self._step.expect))
        await commit.arm(held)
        hit("armed", self._request.sequence)
        begun = time.perf_counter()
        try:
            known = await self._actions.intend(self._request, held)
        except ReplaywrightError:
            await commit.withdraw()
            raise
        self._spent(begun, 1)
        if known.state == "COMMITTED":
            await commit.withdraw()
            raise _AlreadyCommitted(known.outcome or settled_outcome(self._request))
        self._commit = commit
        hit("intended", self._request.sequence)
        commit.begin()

    async def _is_cut(self) -> bool:
        """Whether the step's bytes were thrown away, whatever the page shows."""
        if self._commit is None:
            return False
        self._trips += bool(self._commit.redis_s)
        self._redis_s += self._commit.redis_s
        if self._commit.is_past:
            return False
        await self._note_departure()
        return self._departure is not None and self._departure.cut

    async def _note_departure(self) -> None:
        if self._commit is not None:
            self._departure = await self._commit.departure()

    @property
    def _refusal(self) -> str:
        said = "" if self._commit is None else self._commit.refusal
        return f"its bytes were not let go: {said or 'the time was up'}"

    async def _open_gate(self) -> None:
        """What the step came to is known: nothing has to be held any more."""
        if self._commit is not None:
            self._departure = await self._commit.open()

    def _work(self, entered: "Entered") -> Work:
        request, entry = self._request, self._entry
        self._derived = () if entry is None or request.proposed else filled_expectations(entry.derived, request.values)
        recorded = None if entry is None or not self._serves(entry) else entry.target
        target = request.proposed or (None if recorded is None else filled_target(recorded, request.values))
        declared = getattr(self._step, "target", None)
        return Work(
            step=self._step,
            text=entered.text,
            fingerprint=request.fingerprint,
            sensitive=bool(entered.secrets or entered.dialog_secrets),
            secrets=entered.secrets,
            dialog_text=entered.dialog_text,
            dialog_secrets=entered.dialog_secrets,
            target=target,
            query=declared if target is None else None,
            entry_version=0 if entry is None else entry.version,
            expect=(*self._step.expect, *self._derived),
            learning=entry is None or request.proposed is not None,
            causes=None if entry is None or request.proposed is not None else entry.causes,
            heal=request.heal is not Heal.OFF,
            skip_if_holds=self._may_be_done(),
            timeout_ms=self._step.timeout_ms,
            is_pictured=self._request.pictures is not Pictures.FAILURES,
            guard=self._actions.policing.of(request.policy).guard(request.used),
        )

    def _may_be_done(self) -> bool:
        """Whether what is expected of a commit step, if it holds beforehand, shows that just this was done already.

        Only an expectation that names a parameter can: "Sent" may be yesterday's.
        """
        step = self._request.step
        if not self._is_known_commit or step.always or self._request.reapply or self._request.disproved:
            return False
        return any(predicate.is_required and named_parameters(predicate) for predicate in step.expect)

    @property
    def _is_known_commit(self) -> bool:
        recorded = None if self._entry is None else self._entry.effect
        known = self._request.step.effect is not None or recorded is not None
        return known and not self._effect.repeatable

    def _judge(self) -> Judge:
        return Judge(self._step, self._derived, self._is_known_commit, self._url)

    def _serves(self, entry: ActionCacheEntry) -> bool:
        """Whether the recording is of the element that today's values name.

        An element that the task declares by its parameters is looked for as declared: nothing could say it better.
        """
        declared = getattr(self._request.step, "target", None)
        if declared is not None and naming_parameters(self._request.step):
            return False
        return all(digest(self._request.values.get(name, "")) == value for name, value in entry.bound.items())

    async def _failed(self, exc: ActionFailed) -> StepOutcome:
        message, seen = str(exc), self._held.browser.last_evidence
        if not exc.dispatched:
            await self._taken_back(f"refused: {exc.reason}")
            return await self._traced(self._ended(Status.REFUSED, exc.reason, message, seen=seen))
        await self._note_departure()
        status = Status.UNMET if self._effect.repeatable else Status.IN_DOUBT
        return await self._traced(self._ended(status, exc.reason, message, seen=seen))

    async def _blocked(self, exc: PolicyBlocked, report: Report | None = None) -> StepOutcome:
        """A rule forbade the step, or broke it off.

        A commit step of which something may have left the browser is in doubt all the same. Where there is a `report`,
        it was done, and only what it was done for was broken off: it is blocked, and its intent stays open for whoever
        resumes the run. Nothing is looked at and kept but the trace's line: the page is not what is wrong.
        """
        seen = self._held.browser.last_evidence if exc.dispatched else _NOTHING_SEEN
        if not exc.dispatched:
            await self._taken_back(f"blocked: {exc.rule}")
        left = exc.dispatched and not self._effect.repeatable
        if left:
            await self._note_departure()
        status = Status.IN_DOUBT if left and report is None else Status.BLOCKED
        told = f"{exc}; the step has taken effect all the same" if left and report is not None else str(exc)
        outcome = self._ended(status, BLOCKED, told, report, seen).model_copy(update={"rule": exc.rule})
        await self._write(outcome, None)
        return outcome

    async def _recorded(self, report: Report) -> StepOutcome:
        is_cut = await self._is_cut()
        if self._refused_event.is_set():
            return await self._ungranted(report)
        if is_cut:
            return await self._thrown_away(report)
        if names_element(self._step) and not report.lookup.hit:
            if await self._seen_after_loss():
                return await self._done(report)
            missed = self._ended(Status.MISSED, report.lookup.reason, "", report)
            return await self._traced(
                missed.model_copy(update={"snapshot": await self._actions.keep_snapshot(report.snapshot)})
            )
        if (forbidden := _forbidden_file(report)) is not None:
            return await self._blocked(forbidden, report)
        if self._is_to_be_awaited(report):
            self._report, self._held.waiting = report, self
            return self._ended(Status.IN_DOUBT, AWAITED, "nobody but its page has told of it yet", report)
        return await self._judged(report)

    async def _thrown_away(self, report: Report) -> StepOutcome:
        """Say that the gate did not let the bytes of the step go: whatever the page shows, they did not leave."""
        outcome = self._ended(Status.IN_DOUBT, GATE_CUT, self._refusal, report)
        return await self._traced(outcome.model_copy(update={"left": bool(report.left_at)}))

    def _is_to_be_awaited(self, report: Report) -> bool:
        """Whether the step has ended before anybody but its page could tell of it, or before it sent what it sends."""
        is_over = self._commit is None or not report.acted or refused_by(report.evidence, report.url) is not None
        if is_over or self._request.reapply:
            return False
        redact = self._actions.secrets.redact
        if missing((sending for sending in self._sends if sending.is_late), report.evidence, redact):
            return True
        judge = self._judge()
        witness = judge.witness(report) if judge.is_declared else Witness.ANSWER
        is_as_recorded = bool(self._sends) and not missing(self._sends, report.evidence, redact)
        return witness is None or (witness is Witness.SENT and not is_as_recorded)

    @property
    def _sends(self) -> tuple[Sending, ...]:
        """What the step sent when it was recorded."""
        return () if self._entry is None else self._entry.sends

    async def awaited(self, request: ActionRequest) -> StepOutcome:
        """The step's outcome when its request has been waited for."""
        report, commit = self._report, self._commit
        assert report is not None
        assert commit is not None
        self._request, self._started = request, time.perf_counter()
        judge = self._judge()
        late_ms = request.late_ms
        if not judge.is_declared:
            late_ms = min(late_ms, GRACE_MS + 2 * max(sending.delay_ms for sending in self._sends))
        waiting = Waiting(
            self._held.browser,
            commit,
            judge,
            recorded=self._sends,
            redact=self._actions.secrets.redact,
            late_ms=late_ms,
            answer_ms=self._step.timeout_ms,
        )
        try:
            report = await waiting.report(report)
            is_cut = await self._is_cut()
            if self._refused_event.is_set():
                return await self._ungranted(report)
            outcome = await (self._thrown_away(report) if is_cut else self._judged(report))
        except ActionFailed as exc:
            return await self._failed(exc)
        else:
            following = self._request.next_step
            if outcome.status is Status.DONE and report.left_at and not isinstance(following, Goto | None):
                await self._held.browser.come_back(report.url, self._step.timeout_ms)
            return outcome
        finally:
            await self._let_go()

    async def _judged(self, report: Report) -> StepOutcome:
        fault = self._judge().fault(report)
        if fault is None and self._is_unwitnessed(report):
            return await self._unwitnessed(report)
        if fault is None:
            await self._open_gate()
            return await (self._ungranted(report) if self._refused_event.is_set() else self._done(report))
        reason, message = fault
        sent = effect_seen(self._step, report.evidence) is not Effect.READ
        refused = refused_by(report.evidence, report.url)
        doubtful = not self._effect.repeatable and sent and (refused is None or is_open(refused))
        if doubtful:
            await self._note_departure()
        elif report.left_at:
            await self._shut("the page sent nothing that changes anything, and was left")
        else:
            await self._taken_back(
                "the page sent nothing that changes anything" if refused is None else "the site refused it"
            )
        outcome = self._ended(Status.IN_DOUBT if doubtful else Status.UNMET, reason, message, report)
        # A step that was taken for repeatable and sent something is not performed a second time either.
        raised = {"effect": stronger(self._effect, self._learned_effect(report))} if sent else {}
        kept = {"snapshot": await self._actions.keep_snapshot(report.snapshot)}
        self._report, self._held.unmet = report, self
        return await self._traced(outcome.model_copy(update={**raised, **kept, "left": bool(report.left_at)}))

    def _is_unwitnessed(self, report: Report) -> bool:
        judge = self._judge()
        is_asked = judge.is_declared and report.acted and self._commit is not None and not self._request.reapply
        return is_asked and judge.witness(report) is None

    async def _unwitnessed(self, report: Report) -> StepOutcome:
        """Nobody but the page that the step acted in says that it took effect.

        If nothing has left the browser, it has not, and the gate stays closed: the page may still be about to send.
        """
        seconds = f"{self._request.late_ms / 1000:g} s"
        if unanswered(report.evidence, report.url):
            said = f"the site has not answered what the step sent, within {seconds} and the step's own time"
            await self._note_departure()
            return await self._traced(self._ended(Status.IN_DOUBT, UNANSWERED, said, report))
        departure = await self._shut("")
        if departure.bytes_up:
            said = (
                f"nothing that changes anything left the page within {seconds}, and only the page says that it is done"
            )
            outcome = self._ended(Status.IN_DOUBT, UNWITNESSED, f"{said}: {_REMEDY}", report)
        else:
            await self._actions.release(self._request, NOTHING_SENT)
            said = f"the page sent nothing within {seconds} after the input, nor when it was left, whatever it says"
            outcome = self._ended(Status.UNMET, NOTHING_SENT, f"{said}: {_REMEDY}", report)
        return await self._traced(outcome.model_copy(update={"left": bool(report.left_at)}))

    async def _shut(self, why: str) -> Departure:
        """Close the gate for good, as the page may still be about to send; take the intent back if there is a `why`."""
        commit = self._commit
        assert commit is not None
        self._departure = departure = await commit.shut()
        if why and commit.has_intent:
            await self._actions.release(self._request, why)
        return departure

    async def _ungranted(self, report: Report | None) -> StepOutcome:
        """Refused: what it would have sent was thrown away, and nothing of it has left.

        The gate stays closed: the page may send it again by itself, and the run goes on in another browser.
        """
        commit = self._commit
        assert commit is not None
        await self._held.stop_loading()  # Chromium repeats by itself what was cut
        wanted = commit.wanted
        assert wanted is not None
        self._departure = await commit.departure()
        if commit.has_intent:
            await self._actions.release(self._request, f"{UNGRANTED}: {wanted.kind}")
        message = f"a model chose this press, and nobody has granted what it would send: {wanted.kind}"
        outcome = self._ended(Status.REFUSED, UNGRANTED, message, report, self._held.browser.last_evidence)
        return await self._traced(outcome.model_copy(update={"consequence": wanted}))

    async def _taken_back(self, why: str) -> None:
        """Open the gate, and take the intent back if there is one: nothing came of it."""
        if self._commit is None:
            return
        await self._open_gate()
        if self._commit.has_intent:
            await self._actions.release(self._request, why)

    def _is_marked(self, status: Status) -> bool:
        """Whether there may be a picture to mark the element in."""
        return status is not Status.DONE or self._request.pictures is not Pictures.FAILURES

    async def looked_again(self, request: ActionRequest) -> StepOutcome:
        """The step's outcome when what was expected has had some more time; nothing is done but looking."""
        report, unmet = self._report, request.recheck
        assert report is not None
        assert unmet is not None
        self._request, self._started = request, time.perf_counter()
        # Each has had the time that it names for itself.
        expect = [predicate.model_copy(update={"within_ms": None}) for predicate in self._step.expect]
        results = await self._held.browser.check(expect, RECHECK_MS)
        after = (*results, *report.after[len(self._step.expect) :])
        late = replace(report, after=after, proof=Proof.BECAME_TRUE, url=self._held.browser.url)
        lacking = failing(results)
        if lacking is not None or self._is_unwitnessed(late):
            said = UNWITNESSED if lacking is None else f"{lacking.reason}: {lacking.details}"
            said = shorten(self._actions.secrets.redact(said), WARNING_LIMIT)
            line = {"kind": "recheck", "sequence": request.sequence, "why": request.why, "said": said}
            await self._actions.trace(request, line)
            return unmet
        # Its intent, if there was one, was taken back under the next epoch; what is recorded now comes after that.
        self._request = request.model_copy(update={"epoch": request.epoch + 2 * (not unmet.effect.repeatable)})
        return await self._done(late, LATE)

    async def _seen_after_loss(self) -> bool:
        """Whether an attempt that was lost had got so far that its element is gone and its expectation holds."""
        if not (self._request.recovered and self._effect.repeatable and self._step.expect):
            return False
        results = await self._held.browser.check(self._step.expect, SEEN_MS)
        return failing(results) is None

    async def _done(self, report: Report, reason: str = "") -> StepOutcome:
        self._left_at = report.url or self._held.browser.url
        outcome = self._ended(Status.DONE, reason, "", report).model_copy(
            update={
                "effect": self._learned_effect(report) if report.acted else self._effect,
                "told_by": self._told_by(report),
                "left": bool(report.left_at),
                "already_done": names_element(self._step) and not report.acted and report.lookup.hit,
                "warnings": (*self._weakness(), *map(self._actions.secrets.redact, self._warnings(report))),
            }
        )
        if self._request.reapply:
            return outcome
        begun = time.perf_counter()
        lesson = Lesson(self._request, self._entry, self._key, self._site, self._actions.secrets)
        good_snapshot = "" if report.seen is None else await self._actions.keep_snapshot(report.seen.after)
        granted = () if self._commit is None else self._commit.granted
        entry = lesson.entry(report, self._judge().on_derived(report), good_snapshot, granted)
        outcome = outcome.model_copy(update={"granted": granted})
        known, (due, verification) = await asyncio.gather(self._write(outcome, entry), self._afterwards())
        spent = {"recording_ms": _ms_since(begun), "total_ms": _ms_since(self._started)}
        self._keep_ahead(known)
        await self._actions.forget_code(self._request)
        hit("recorded", self._request.sequence)
        told = {
            "costs": outcome.costs.model_copy(update=spent),
            "due": due,
            "verification": verification,
            "witness": known.witness,
        }
        if known.entry is not None and self._request.next_step is not None and names_element(self._request.next_step):
            told["ahead"] = element_summary(known.entry)
        if not outcome.effect.repeatable and outcome.lookup.from_model:
            told["snapshot"] = good_snapshot  # of what it led to, for whoever proposes a probe
        return outcome.model_copy(update=told)

    def _told_by(self, report: Report) -> str:
        """Who told that the step took effect; empty where nobody has to."""
        if self._step.evidence is not None:
            return self._step.evidence
        witness = self._judge().witness(report) if self._judge().is_declared and report.acted else None
        return "" if witness is None else witness.value

    def _warnings(self, report: Report) -> tuple[str, ...]:
        refused = (shorten(f"{INTEGRITY}: {self._refused}", WARNING_LIMIT),) if self._refused else ()
        return (*refused, *self._judge().warnings(report))

    async def _afterwards(self) -> tuple[tuple[Due, ...], tuple[PredicateResult, ...] | None]:
        """What the page asks for now that the step is done; and what was found of the final predicates if all hold."""
        due = await self._due(only_before=True)
        if not self._request.verify:
            return due, None
        try:
            found = await self._held.browser.check(self._request.verify, CLOSING_MS)
        except (ActionFailed, SessionLost):  # the step is done all the same; for whoever looks next to say
            return due, None
        return due, None if failing(found) is not None else redacted_results(found, self._actions.secrets)

    async def _due(self, *, only_before: bool = False) -> tuple[Due, ...]:
        """What rules ask for on the page as it is now; after a step that was done, those tried before a step."""
        browser = self._held.browser
        try:
            rules = await self._actions.rules_for(self._request, browser.url)
            asked = [rule for rule in rules if not only_before or rule.tried == "before_a_step"]
            return tuple(Due.of(rule) for rule in await browser.due(asked)) if asked else ()
        except SessionLost:  # that is for the next step to say: what became of this one is known
            return ()

    def _learned_effect(self, report: Report) -> Effect:
        """The effect by all that is known now: what was declared, recorded and seen."""
        recorded = None if self._entry is None else self._entry.effect
        observed = stronger(effect_seen(self._step, report.evidence), recorded or Effect.READ)
        return effect_of(action_of(self._step), self._request.step.effect, observed)

    def _keep_ahead(self, known: Known) -> None:
        self._held.prefetched.clear()
        if self._request.next_step is not None and known != Known():
            self._held.prefetched[self._following] = known

    def _next_keys(self, outcome: StepOutcome) -> tuple[str, str]:
        step = self._request.next_step
        assert step is not None
        mark = fingerprint(step, self._request.values, self._request.fingerprint, outcome.digest)
        return mark, content_key(self._request.tenant, self._left_at, step)

    async def _traced(self, outcome: StepOutcome) -> StepOutcome:
        """Record an outcome that is not the step's last word: evidence, trace; find what may clear the way."""
        outcome = await self._actions.failures.added(
            outcome, self._request, self._held.browser, expect=self._step.expect, entry=self._entry
        )
        await self._write(outcome, None)
        return outcome.model_copy(update={"due": await self._due()})

    async def _write(self, outcome: StepOutcome, entry: ActionCacheEntry | None) -> Known:
        witnessed, next_step = False, self._request.next_step
        if outcome.status is Status.DONE and next_step is not None:
            self._following = self._next_keys(outcome)
            witnessed = not effect_of(action_of(next_step), next_step.effect, None).repeatable
        recording = recording_of(self._request, outcome, trace=self._trace()).model_copy(
            update={
                "entry": entry,
                "witnessed": witnessed,
                "used_version": 0 if self._entry is None else self._entry.version,
                "next_fingerprint": self._following[0],
                "next_content_key": self._following[1],
            }
        )
        return await self._actions.write(recording)

    def _trace(self) -> dict[str, Any]:
        request = self._request
        told = {"override": request.override, "item": request.item}
        told |= {name: self._actions.secrets.redact(getattr(request, name)) for name in ("overruled", "why")}
        return {"site": self._site, **{key: value for key, value in told.items() if value}}

    def _with_departure(self, evidence: Evidence) -> Evidence:
        return evidence if self._departure is None else evidence.model_copy(update={"departure": self._departure})

    def _ended(
        self, status: Status, reason: str, message: str, report: Report | None = None, seen: Evidence = _NOTHING_SEEN
    ) -> StepOutcome:
        lookup = Lookup() if report is None else report.lookup
        if self._request.proposed is not None:
            lookup = lookup.model_copy(update={"from_model": True, "healed": False})
        if self._entry is not None:
            lookup = lookup.model_copy(update={"entry_version": self._entry.version})
        outcome = StepOutcome(
            status=status,
            reason=reason,
            message=message,
            fingerprint=self._request.fingerprint,
            content_key=self._key,
            effect=self._effect,
            lookup=lookup,
            evidence=self._with_departure(seen if report is None else report.evidence),
            predicates=() if report is None else report.after,
            proof=None if report is None else report.proof,
            url=self._held.browser.url if report is None or not report.url else report.url,
            box=None if report is None or not self._is_marked(status) else report.box,
            extracted=report.extracted if report is not None and status is Status.DONE else {},
            costs=Costs(
                evaluations=0 if report is None else report.evaluations,
                redis_round_trips=self._trips + 1,
                locating_ms=0.0 if report is None else round(report.locating_ms, 2),
                acting_ms=0.0 if report is None else round(report.acting_ms, 2),
                verifying_ms=0.0 if report is None else round(report.verifying_ms, 2),
                redis_ms=round(self._redis_s * 1000, 2),
                total_ms=_ms_since(self._started),
            ),
        )
        redacted = redacted_outcome(outcome, self._actions.secrets)
        return redacted.model_copy(update={"message": redacted.message[:500]})


def held_of(before: Sequence[PredicateResult], declared: int) -> tuple[int, ...] | None:
    """Which of the step's own expectations, the first `declared`, held before it; None if they were not asked."""
    if len(before) < declared:
        return None
    return tuple(index for index, result in enumerate(before[:declared]) if result.passed)


def _forbidden_file(report: Report) -> PolicyBlocked | None:
    """The error for a file that the step itself began to download, and that was broken off by a rule."""
    sent = report.evidence.observed_effect is not Effect.READ
    for file in report.evidence.files:
        if file.state == "blocked" and not file.earlier:
            return PolicyBlocked(
                f"{file.rule}: the download of {file.name!r} was broken off", rule=file.rule, dispatched=sent
            )
    return None


def _ms_since(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 2)


def _is_nameless(recorded: Target) -> bool:
    return not (recorded.name or recorded.label or recorded.row)
