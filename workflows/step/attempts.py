"""One step on its way through its attempts: what is asked of `perform_action`, and under which activity id."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from temporalio import workflow

from workflows import policies
from workflows.session.browser import Browser

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill, parameters_in
    from replaywright.domain.page.targets import Target
    from replaywright.domain.predicate.predicates import Predicate
    from replaywright.domain.run.runs import (
        AWAIT,
        ActionRequest,
        Mode,
        Proposal,
        RunInput,
        SealedCode,
        Usage,
        step_title,
    )
    from replaywright.domain.step.outcomes import Status, StepOutcome
    from replaywright.domain.step.press_grants import Consent
    from replaywright.domain.task.actions import effect_of
    from replaywright.domain.task.steps import Approve, Extract, ForEach, Goto, Step, action_of, names_element
    from replaywright.domain.trace.details import element_summary, summary


WHY_LIMIT = 300
"""Characters of what an attempt came to, as it is told to the trace, the planner and people."""

NOT_DONE_AGAIN = (Approve, Extract, ForEach)
"""Steps that leave nothing in a page: to bring a new browser to where the run is, they are left out."""


class Attempt:
    """A step with its fingerprint; knows how often it was tried and why."""

    begun: ActionRequest | None = None
    """What was asked when it was last performed; None before."""
    is_elsewhere = False
    """Whether the page is not the one to be expected; see `ActionRequest.is_elsewhere`."""
    signs_in = False
    """Whether it belongs to the task's own signing in; see `ActionRequest.signs_in`."""

    settled: int = 0
    """Epoch up to which all attempts are settled: none of them is in doubt."""

    def __init__(
        self,
        browser: Browser,
        run: RunInput,
        *,
        lineage: str,
        sequence: int,
        step: Step,
        mark: str,
        next_step: Step | None,
        previous: str | None = None,
        override: str = "",
        act: str = "",
        values: Mapping[str, str] | None = None,
        item: str = "",
    ) -> None:
        """`values` are those of the run unless the step is of an item of a list, and `item` says of which."""
        self._browser = browser
        self._run = run
        self._lineage = lineage
        self._next_step = next_step
        self._previous = previous
        self._proposed: Target | None = None
        self._usage = Usage()
        self._recovered = False
        self._waited = False
        self._suffix = ""
        self._tries = 0
        self._overruled = ""
        self._kind = self._why = ""
        self.looked_again = False
        """Whether it was looked once more if what is expected came true late."""
        self.tried: tuple[str, ...] = ()
        """What became of the attempts before this one, oldest first."""
        self.override = override
        """The override rule that the step belongs to, with how often it was performed by now: `NAME-2`."""
        self.spent: tuple[str, ...] = ()
        """Override rules that are not to be looked for."""
        self.disproved = False
        """Whether nothing of an earlier attempt left the browser, whatever its page shows."""
        self.values = dict(run.values if values is None else values)
        """Of the parameters, for this step."""
        self._item = item
        self.act = act
        """What the step does, wherever it stands; empty for a step of a rule."""
        self.ahead = ""
        """What is recorded of the step's element, in few words; empty where that is not known before it is done."""
        self.weak: Literal["ask", "warn"] = "warn"
        """Whether it is begun if it failed too often of late."""
        self.redo = ""
        """Under which fingerprint the lineage did the same, when a person wants it done again."""
        self.code: SealedCode | None = None
        """What a person gave for the step."""
        self.consent: Consent | None = None
        """What stands behind the step, if a model may choose what is pressed."""
        self.checkpoint = False
        """Whether a checkpoint is due after the step."""
        self.verify: tuple[Predicate, ...] = ()
        """What the run is to end with, if this is its last step."""
        self.earlier = ""
        """Digest of the newest checkpoint."""
        self.came_to: StepOutcome | None = None
        """What was last known to have become of the step; None while it is performed."""
        self.sequence, self.step, self.mark = sequence, step, mark
        self.may_repeat = effect_of(action_of(step), step.effect, None).repeatable
        """Whether the step may simply be performed again when it was lost on the way."""

    @property
    def title(self) -> str:
        """The step as it reads in the UI."""
        return step_title(self.step) + (f" [{self._item}]" if self._item else "")

    def again(self, kind: str, after: StepOutcome | None = None, *, proposal: Proposal | None = None) -> None:
        """Prepare another attempt `after` the one that came to this; its `kind` shows in the activity id."""
        self._tries += 1
        self._suffix = f"-{kind}{self._tries}"
        self._kind = kind
        if after is not None:
            self._why = why_of(after)
            self.tried = (*self.tried, self._why)
        if proposal is not None:
            self._proposed, self._usage, self._overruled = proposal.target, proposal.usage, proposal.overruled

    def anew(self, kind: str, after: StepOutcome) -> None:
        """Prepare an attempt that begins from the beginning: nothing that was proposed before is taken over."""
        self._proposed, self._usage, self._overruled, self._recovered = None, Usage(), "", False
        self.looked_again = False
        self.again(kind, after)

    def after_loss(self) -> None:
        """Prepare another attempt after the worker or browser was lost: the ledger is asked first."""
        self._recovered, self._waited = True, False
        self.again("resume")

    def after_wait(self) -> None:
        """Prepare another attempt after one that dispatched nothing, because the store was away."""
        self._waited = True
        self.again("redis")

    def activity_id(self, purpose: str = "") -> str:
        """Sequence and fingerprint, so that replaying a history checks the fingerprints too."""
        override = self.override and f"override-{self.override}-"
        return f"{self.sequence + 1:04d}-{override}{self.mark[:12]}{self._suffix}{purpose and '-' + purpose}"

    def request(self, *, reapply: bool = False) -> ActionRequest:
        """What is asked of the activity now."""
        return ActionRequest(
            run_id=workflow.info().workflow_id,
            lineage=self._lineage,
            tenant=self._run.tenant,
            task=self._run.task.task,
            session=self._browser.ref,
            sequence=self.sequence,
            step=self.step,
            values=self.values,
            fingerprint=self.mark,
            epoch=self._browser.epoch,
            mode=self._run.mode,
            heal=self._run.heal,
            proposed=self._proposed,
            usage=self._usage,
            next_step=None if reapply else self._next_step,
            verify=() if reapply else self.verify,
            recovered=self._recovered,
            waited=self._waited,
            disproved=self.disproved,
            reapply=reapply,
            checkpoint=self.checkpoint,
            earlier=self.earlier,
            override=self.override.rpartition("-")[0],
            spent=self.spent,
            overruled=self._overruled,
            attempt=self._kind,
            why=self._why,
            previous=self._previous,
            act=self.act,
            redo=self.redo,
            weak=self.weak,
            code=self.code,
            item=self._item,
            site=begun_at(self._run),
            policy=self._run.task.policy,
            late_ms=self.late_ms,
            used=self._browser.meter.used,
            pictures=self._run.pictures,
            consent=self._consent,
            is_elsewhere=self.is_elsewhere,
            signs_in=self.signs_in,
        )

    @property
    def _consent(self) -> Consent | None:
        """What stands behind the step, if a model chose it or its element."""
        chosen = self.consent is not None and (self.consent.is_planned or self._proposed is not None)
        return self.consent if chosen else None

    @property
    def overruled(self) -> str:
        """How a preference rule changed the model's pick."""
        return self._overruled

    async def perform(self) -> StepOutcome:
        """Perform the step once; for a commit step, that means one dispatch at most.

        Raises:
            ActivityError: the worker or the browser was lost, or something failed that no retry mends.
        """
        rule = self.override and f"override {self.override}: "
        said = summary(self.sequence, f"{rule}{self.title}", self._found_by(), self._why and f"after: {self._why}")
        self.begun, self.came_to = self.request(), None
        self.came_to = outcome = await self._call(self.activity_id(), self.begun, said)
        self._browser.meter.note(outcome)
        if not (outcome.from_ledger or outcome.reason.startswith("ledger_")):
            self._browser.adopted = True  # whatever is in doubt now was done in the page that is there
        return outcome

    def was_elsewhere(self, outcome: StepOutcome) -> bool:
        """Whether the step was done in a page that is gone with its browser: the one that is there now has not seen it.

        A worker that was held up may record it when the run has gone on with another browser already.
        """
        told = outcome.from_ledger and outcome.status is Status.DONE and outcome.effect.repeatable
        is_elsewhere = self._recovered and not self._browser.adopted
        return told and is_elsewhere and not isinstance(self.step, NOT_DONE_AGAIN)

    async def look_again(self, unmet: StepOutcome) -> StepOutcome:
        """Whether what is expected has come true meanwhile: the step as done, else `unmet`. Nothing is done."""
        self.looked_again = True
        asked = {"recheck": unmet, "attempt": "recheck", "why": why_of(unmet)}
        request = self.request().model_copy(update=asked)
        said = summary(self.sequence, self.title, "looking again", f"after: {why_of(unmet)}")
        return await self._call(self.activity_id("recheck1"), request, said)

    @property
    def late_ms(self) -> int:
        """How long after its input the request of the step is waited for."""
        return self._run.task.late_ms if self.step.late_ms is None else self.step.late_ms

    async def await_request(self, ended: StepOutcome) -> StepOutcome:
        """The step's outcome when the request has been waited for that nobody has seen yet. Nothing is done.

        Raises:
            ActivityError: the worker or the browser was lost.
        """
        request = self.request().model_copy(update={"awaited": ended, "attempt": "await"})
        awaiting_ms = 2 * self.step.timeout_ms + self.late_ms
        return await self._browser.call(
            AWAIT,
            request,
            StepOutcome,
            activity_id=self.activity_id("await"),
            summary=summary(self.sequence, self.title, self.waits_for),
            limit=timedelta(milliseconds=awaiting_ms) + policies.MARGIN,
            retry_policy=policies.ONCE,
        )

    @property
    def waits_for(self) -> str:
        """What the step waits for when it has ended, for people."""
        return f"waiting for the request of step {self.sequence + 1}, up to {self.late_ms / 1000:g} s"

    async def reapply(self) -> StepOutcome:
        """Do a repeatable step again: in a rebuilt browser, or where a menu closed; not recorded as a new outcome."""
        activity_id = f"{self.sequence + 1:04d}-reapply-e{self._browser.epoch}{self._suffix}"
        said = summary(self.sequence, self.title, "again, to bring the page to where it was")
        return await self._call(activity_id, self.request(reapply=True), said)

    def _found_by(self) -> str:
        """How the step's element will be found, as far as that is known before."""
        if not names_element(self.step):
            return ""
        if self._proposed is not None:
            return f"{element_summary(self._proposed)}, named by the model"
        if getattr(self.step, "target", None) is not None:
            return "as declared"
        if self._run.mode is Mode.LEARN:
            return "to be learned"
        return f"replays {self.ahead}" if self.ahead else ""

    async def _call(self, activity_id: str, request: ActionRequest, said: str) -> StepOutcome:
        outcome = await self._browser.call(
            f"browser.{self.step.action}",
            request,
            StepOutcome,
            activity_id=activity_id,
            summary=said,
            limit=timedelta(milliseconds=self.step.timeout_ms) + policies.MARGIN,
            retry_policy=policies.REPEATABLE if self.may_repeat else policies.ONCE,
        )
        if outcome.checkpoint is not None:
            self._browser.taken.append(outcome.checkpoint)
        return outcome


def why_of(outcome: StepOutcome) -> str:
    """What an attempt came to, in one line."""
    said = [outcome.status.value, outcome.reason.replace("_", " "), outcome.message]
    return ": ".join(dict.fromkeys(filter(None, said)))[:WHY_LIMIT]


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
