"""One step on its way through its attempts: what is asked of `perform_action`, and under which activity id."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict

from temporalio import workflow

from workflows import policies
from workflows.calls import ask
from workflows.run.context import RunContext
from workflows.session.browser import Browser, attached

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill, parameters_in
    from replaywright.domain.predicate.predicates import Predicate
    from replaywright.domain.run.commands import (
        AWAIT,
        Await,
        Perform,
        Proposal,
        Reapply,
        Recheck,
        SealedCode,
        StepContext,
    )
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.run.scope import Mode, RunScope
    from replaywright.domain.run.views import TraceLine
    from replaywright.domain.step.outcomes import LEFT_OUT, Status, StepOutcome
    from replaywright.domain.step.press_grants import Consent
    from replaywright.domain.task.actions import effect_of
    from replaywright.domain.task.questions import Ask, QuestionKind, Verdict
    from replaywright.domain.task.steps import Approve, Extract, ForEach, Goto, Step, action_of, names_element
    from replaywright.domain.trace.details import element_summary, summary


WHY_LIMIT = 300
"""Characters of what an attempt came to, as it is told to the trace, the planner and people."""

NOT_DONE_AGAIN = (Approve, Extract, ForEach)
"""Steps that leave nothing in a page: to bring a new browser to where the run is, they are left out."""


class _Input(TypedDict):
    """Fields of `InputCommand`."""

    context: StepContext
    proposal: Proposal | None
    consent: Consent | None
    code: SealedCode | None
    spent: tuple[str, ...]
    late_ms: int
    recovered: bool


@dataclass(kw_only=True, eq=False)
class Attempt:
    """A step on its way through its attempts; knows how often it was tried and why."""

    browser: Browser
    context: RunContext
    sequence: int
    step: Step
    fingerprint: str
    values: Mapping[str, str]
    """Parameters of the step: those of the run, and of its item."""
    next_step: Step | None = None
    occurrence: int = 1
    """See `StepContext.occurrence`; of the next step `next_occurrence`."""
    next_occurrence: int = 1
    previous: str | None = None
    override: str = ""
    """The override rule that the step belongs to, with how often it was performed by now: `NAME-2`."""
    act: str = ""
    """Identity of the action, independent of its place in the plan; empty for a step of a rule."""
    item: str = ""
    """The item of a list that the step is of."""
    is_elsewhere: bool = False
    """See `StepContext.is_elsewhere`."""
    is_signed_in: bool = False
    """See `StepContext.is_signed_in`."""
    signs_in: bool = False
    """See `StepContext.signs_in`."""
    ahead: str = ""
    """Short description of the element as recorded; empty where that is not known before the step is done."""
    weak: Literal["ask", "warn"] = "warn"
    """True: a person is asked before the step is begun if it failed too often of late."""
    consent: Consent | None = None
    """Consent behind the step, if a model may choose what is pressed."""
    checkpoint: bool = False
    """True: a checkpoint is due after the step."""
    earlier: str = ""
    """Digest of the newest checkpoint."""
    verify: tuple[Predicate, ...] = ()
    """Final predicates of the run, if this is its last step."""

    begun: RunScope | None = None
    """Session and epoch of the last attempt; None before the first."""
    came_to: StepOutcome | None = None
    """Last known outcome of the step; None while it is performed."""
    settled: int = 0
    """Epoch up to which no attempt is in doubt."""
    looked_again: bool = False
    """True: the expectations were checked once more."""
    shown: str = ""
    """Page on which the model found no element of the step; empty before that."""
    patience_ms: int = 0
    """See `Perform.patience_ms`."""
    rerouted: bool = False
    """True: the model was asked because a recording no longer led to the element."""
    vain: StepOutcome | None = None
    """First outcome of a step that acted in vain, and that was performed once more."""
    tried: tuple[str, ...] = ()
    """Outcomes of the attempts before this one, oldest first."""
    spent: tuple[str, ...] = ()
    """Override rules that are not to be looked for."""
    looks: bool = False
    """See `Perform.looks`."""
    disproved: bool = False
    """True: nothing of an earlier attempt left the browser, whatever its page shows."""
    redo: str = ""
    """Fingerprint under which the lineage did the same, when a person wants it done again."""
    code: SealedCode | None = None
    """Code that a person gave for the step."""
    _proposal: Proposal | None = None
    _recovered: bool = False
    _waited: bool = False
    _suffix: str = ""
    _tries: int = 0
    _kind: str = ""
    _why: str = ""

    @property
    def may_repeat(self) -> bool:
        """Return True if the step may simply be performed again when it was lost on the way."""
        return effect_of(action_of(self.step), self.step.effect, None).repeatable

    @property
    def was_lost(self) -> bool:
        """Return True if an earlier attempt of this run was lost."""
        return self._recovered

    @property
    def title(self) -> str:
        """The step as it reads in the UI."""
        return self.step.title + (f" [{self.item}]" if self.item else "")

    def retry(self, kind: str, after: StepOutcome | None = None, *, proposal: Proposal | None = None) -> None:
        """Prepare another attempt `after` the one that came to this; its `kind` shows in the activity id."""
        self._tries += 1
        self._suffix = f"-{kind}{self._tries}"
        self._kind = kind
        if after is not None:
            self._why = why_of(after)
            self.tried = (*self.tried, self._why)
        if proposal is not None:
            self._proposal = proposal

    def look_for_another_page(self, after: StepOutcome, asked: timedelta) -> None:
        """Prepare an attempt on another page than the one on which the model, `asked` for so long, found nothing."""
        self.shown = after.snapshot
        self.patience_ms = max(0, round((policies.LATE_PAGE - asked) / timedelta(milliseconds=1)))
        self.retry("late", after)

    def line(self, outcome: StepOutcome) -> TraceLine:
        """Return the line of an outcome on the board."""
        return TraceLine(
            sequence=self.sequence,
            title=self.title,
            status=outcome.status,
            lookup=outcome.lookup,
            from_ledger=outcome.from_ledger,
            already_done=outcome.already_done,
            warnings=outcome.warnings,
            message=self.message_of(outcome),
            artifacts=outcome.artifacts,
            left_out=outcome.reason if outcome.reason in LEFT_OUT else "",
            rule=outcome.rule,
            override=self.override.rpartition("-")[0],
            overruled=self.overruled,
            fingerprint=self.fingerprint,
            reason=outcome.reason,
            effect=outcome.effect,
            url=outcome.url,
            tried=self.tried,
            predicates=tuple(each for each in outcome.predicates if each.fails),
            milliseconds=outcome.costs.total_ms,
        )

    def message_of(self, outcome: StepOutcome) -> str:
        """Return the message of a step's outcome: of one that was performed once more, it begins with the first."""
        first = self.vain
        if first is None or outcome.status is Status.DONE or outcome.message == first.message:
            return outcome.message
        return f"{first.message}; performed once more: {why_of(outcome)}"

    def note(self, outcome: StepOutcome) -> None:
        """Show an outcome on the board, and keep the files that it saved."""
        self.context.keep_files(outcome)
        self.came_to = outcome
        self.context.board.add(self.line(outcome))

    def question(self, kind: QuestionKind, text: str, answers: tuple[Verdict, ...], **more: Any) -> Ask:
        """Return a question about the step."""
        return Ask(kind=kind, text=text, sequence=self.sequence, title=self.title, answers=answers, **more)

    def restart(self, kind: str, after: StepOutcome) -> None:
        """Prepare an attempt from the beginning, without what was proposed before."""
        self._proposal, self._recovered, self.vain = None, False, None
        self.looked_again = self.rerouted = False
        self.shown = ""
        self.retry(kind, after)

    def after_loss(self) -> None:
        """Prepare another attempt after the worker or browser was lost: the ledger is asked first."""
        self._recovered, self._waited = True, False
        self.retry("resume")

    def after_wait(self) -> None:
        """Prepare another attempt after one that dispatched nothing, because the store was away."""
        self._waited = True
        self.retry("redis")

    def activity_id(self, purpose: str = "") -> str:
        """Sequence and fingerprint, so that replaying a history checks the fingerprints too."""
        override = self.override and f"override-{self.override}-"
        return f"{self.sequence + 1:04d}-{override}{self.fingerprint[:12]}{self._suffix}{purpose and '-' + purpose}"

    def step_context(self) -> StepContext:
        """Return the step, and the attempt that is made at it now."""
        run = self.context.run
        return StepContext(
            run=RunScope(
                run_id=self.context.run_id,
                lineage=self.context.lineage,
                tenant=run.tenant,
                task=run.task.task,
                owner=self.context.owner,
                session=self.browser.ref,
                epoch=self.browser.epoch,
                mode=run.mode,
                heal=run.heal,
                site=begun_at(run),
                policy=run.task.policy,
                used=self.context.used,
                pictures=run.pictures,
                newest_checkpoint=self.earlier,
            ),
            sequence=self.sequence,
            step=self.step,
            values=dict(self.values),
            fingerprint=self.fingerprint,
            act=self.act,
            previous=self.previous,
            override=self.override.rpartition("-")[0],
            item=self.item,
            occurrence=self.occurrence,
            attempt=self._kind,
            why=self._why,
            checkpoint=self.checkpoint,
            is_elsewhere=self.is_elsewhere,
            is_signed_in=self.is_signed_in,
            signs_in=self.signs_in,
        )

    def _perform(self) -> Perform:
        return Perform(
            **self._input(),
            next_step=self.next_step,
            next_occurrence=self.next_occurrence,
            verify=self.verify,
            weak=self.weak,
            redo=self.redo,
            shown=self.shown,
            patience_ms=self.patience_ms,
            waited=self._waited,
            looks=self.looks,
            disproved=self.disproved,
            records=self.context.run.task.tier == "requests",
        )

    def _input(self) -> _Input:
        """Return the fields of every command that may give input."""
        return _Input(
            context=self.step_context(),
            proposal=self._proposal,
            consent=self._consent,
            code=self.code,
            spent=self.spent,
            late_ms=self.late_ms,
            recovered=self._recovered,
        )

    @property
    def overruled(self) -> str:
        """Change that a preference rule made to the model's pick."""
        return "" if self._proposal is None else self._proposal.overruled

    @property
    def _consent(self) -> Consent | None:
        """Consent that the step needs, if a model chose it or its element."""
        chosen = self.consent is not None and (self.consent.is_planned or self._proposal is not None)
        return self.consent if chosen else None

    async def perform(self) -> StepOutcome:
        """Perform the step once; for a commit step, that means one dispatch at most.

        Raises:
            ActivityError: the worker or the browser was lost, or something failed that no retry mends.
        """
        rule = self.override and f"override {self.override}: "
        what = summary(self.sequence, f"{rule}{self.title}", self._found_by(), self._why and f"after: {self._why}")
        command = self._perform()
        self.begun, self.came_to = command.context.run, None
        self.came_to = outcome = await self._call(self.activity_id(), command, what)
        self.context.change(used=self.context.state.used.after(outcome))
        if not (outcome.from_ledger or outcome.reason.startswith("ledger_")):
            self.browser.adopted = True  # whatever is in doubt now was done in the page that is there
        return outcome

    def was_elsewhere(self, outcome: StepOutcome) -> bool:
        """Return whether the step was done in a page that is gone: the browser that is there now has not seen it.

        A worker that was held up may record it when the run has gone on with another browser already.
        """
        recorded = outcome.from_ledger and outcome.status is Status.DONE and outcome.effect.repeatable
        is_elsewhere = self._recovered and not self.browser.adopted
        return recorded and is_elsewhere and not isinstance(self.step, NOT_DONE_AGAIN)

    def was_misled(self, outcome: StepOutcome) -> bool:
        """Return whether another run's candidate led nowhere without harm, so that the model is asked after all.

        The step, whose author declares no consequences, sent nothing, neither now nor in that run.
        """
        proposal = self._proposal
        is_candidate = proposal is not None and proposal.target is not None and proposal.sent_nothing
        is_harmless = self.step.effect is None and not outcome.evidence.requests
        return is_candidate and is_harmless and outcome.status is Status.UNMET and bool(outcome.snapshot)

    async def look_again(self, unmet: StepOutcome) -> StepOutcome:
        """Check again for what is expected; return the step as done, else `unmet`. Does nothing to the page."""
        self.looked_again = True
        context = self.step_context().model_copy(update={"attempt": "recheck", "why": why_of(unmet)})
        what = summary(self.sequence, self.title, "recheck", f"after: {why_of(unmet)}")
        return await self._call(self.activity_id("recheck1"), Recheck(context=context, unmet=unmet), what)

    @property
    def late_ms(self) -> int:
        """Time after its input within which the step's request may come."""
        return self.context.run.task.late_ms if self.step.late_ms is None else self.step.late_ms

    async def await_request(self, ended: StepOutcome) -> StepOutcome:
        """The step's outcome when the request has been waited for that nobody has seen yet. Nothing is done.

        Raises:
            ActivityError: the worker or the browser was lost.
        """
        context = self.step_context().model_copy(update={"attempt": "await"})
        awaiting_ms = 2 * self.step.timeout_ms + self.late_ms
        return await self.browser.call(
            AWAIT,
            Await(context=context, ended=ended),
            StepOutcome,
            activity_id=self.activity_id("await"),
            summary=summary(self.sequence, self.title, self.waits_for),
            limit=timedelta(milliseconds=awaiting_ms) + policies.MARGIN,
            retry_policy=policies.ONCE,
        )

    @property
    def waits_for(self) -> str:
        """Description of the wait for the step's late request."""
        return f"waiting for the request of step {self.sequence + 1}, up to {self.late_ms / 1000:g} s"

    async def reapply(self, why: str = "again, to restore the page") -> StepOutcome:
        """Do a repeatable step again: in a rebuilt browser, or where a menu closed; not recorded as a new outcome."""
        activity_id = f"{self.sequence + 1:04d}-reapply-e{self.browser.epoch}{self._suffix}"
        what = summary(self.sequence, self.title, why)
        return await self._call(activity_id, Reapply(**self._input()), what)

    def _found_by(self) -> str:
        """Return how the step's element will be found, as far as that is known before."""
        if not names_element(self.step):
            return ""
        if self._proposal is not None and self._proposal.target is not None:
            by = "another run's candidate" if self._proposal.candidate_of else "named by the model"
            return f"{element_summary(self._proposal.target)}, {by}"
        if getattr(self.step, "target", None) is not None:
            return "as declared"
        if self.context.run.mode is Mode.LEARN:
            return "to be learned"
        return f"replays {self.ahead}" if self.ahead else ""

    async def _call(self, activity_id: str, command: Perform | Reapply | Recheck, what: str) -> StepOutcome:
        limit = timedelta(milliseconds=self.step.timeout_ms) + policies.MARGIN
        terms = attached(limit, policies.REPEATABLE if self.may_repeat else policies.ONCE)
        name, queue = f"browser.{self.step.action}", self.browser.ref.queue
        outcome = await ask(name, command, StepOutcome, terms, activity_id=activity_id, summary=what, queue=queue)
        if outcome.checkpoint is not None:
            self.browser.taken.append(outcome.checkpoint)
        return outcome


def why_in_short(outcome: StepOutcome) -> str:
    """Return an attempt's outcome in a few words, for a summary."""
    return f"{outcome.status.value}: {outcome.reason.replace('_', ' ')}" if outcome.reason else why_of(outcome)


def why_of(outcome: StepOutcome) -> str:
    """Return an attempt's outcome in one line."""
    parts = [outcome.status.value, outcome.reason.replace("_", " "), outcome.message]
    return ": ".join(dict.fromkeys(filter(None, parts)))[:WHY_LIMIT]


def begun_at(run: RunInput) -> str:
    """The address that whoever asked for the run wants it to begin at; empty when that is said nowhere.

    Of a recalled skill that is the one of the sentence, not the skill's own. No later step says it: a model may have
    written it.
    """
    begins = run.state.goal.begins if run.state.goal is not None else None
    task, values = (run.task, run.values) if begins is None else (begins.task, begins.values)
    first = task.steps[0] if task.steps else None
    url = task.url or (first.url if isinstance(first, Goto) else "")
    return fill(url, values) if parameters_in(url) <= values.keys() else ""
