"""Acting in the browser: on what was recorded or proposed, else on what the task itself declares."""

import asyncio
import time
from dataclasses import replace

from activities.step.awaiting import LOOK_MS
from activities.step.credentials import Entered
from activities.step.step_gate import StepGate
from activities.step.underway import StepUnderway, ms_since
from replaywright.domain.locating.filling import filled_target
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.predicate.predicates import named_parameters
from replaywright.domain.proof.deriving import filled_expectations
from replaywright.domain.run.commands import Perform
from replaywright.domain.run.scope import Heal
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.fingerprints import naming_parameters
from replaywright.domain.task.steps import Goto
from replaywright.ports.browser import Report, Work


class Ungranted(Exception):
    """A request was thrown away that nobody had granted."""


class Acting:
    """Finds the element of a step and acts on it, once."""

    def __init__(self, at: StepUnderway, gate: StepGate) -> None:
        self._at = at
        self._gate = gate

    async def report(self) -> Report:
        """Act on what was recorded; if that is not certain, on what the task itself declares, which needs no model.

        What is found so must not contradict the recording, and is as much of a heal as any other: the page is not what
        was recorded. If several elements are as declared, that is why it was missed.

        Raises:
            Ungranted: a request was thrown away that nobody had granted.
        """
        at, tools = self._at, self._at.tools
        if isinstance(at.step, Goto):
            at.held.network.check(at.step.url)
        rules = await tools.rules_for(at.context, at.browser.url, at.command.spent)
        entered = await tools.credentials.entered(at.context)
        work = await tools.credentials.coded(at.command, replace(self._work(entered), overrides=rules))
        if isinstance(at.command, Perform) and at.command.shown:
            shown = await tools.failures.shown(at.command.shown)
            work = replace(work, shown=shown, patience_ms=at.command.patience_ms)
        if work.target is not None and not at.is_proposed:
            work = replace(work, target=await tools.credentials.named(work.target))
        begun = time.perf_counter()
        report = await self._performed(work)
        replayed = work.target is not None and not at.is_proposed
        left_ms = work.timeout_ms - int(ms_since(begun))
        if report.lookup.hit or not (replayed and work.heal) or left_ms <= 0:
            return report
        declared = at.declared
        if declared is None:
            return report
        again = replace(work, target=None, query=declared, recorded=work.target, causes=None, timeout_ms=left_ms)
        second = await self._performed(again)
        if not second.lookup.hit:
            return second if second.lookup.reason == "ambiguous" else report
        return replace(
            second,
            lookup=second.lookup.model_copy(update={"healed": True}),
            evaluations=report.evaluations + second.evaluations,
            locating_ms=report.locating_ms + second.locating_ms,
        )

    async def _performed(self, work: Work) -> Report:
        """Perform in the browser; broken off as soon as a request was thrown away that nobody had granted."""
        performing = asyncio.create_task(self._at.browser.perform(work, self._gate.before_dispatch()))
        refused = asyncio.create_task(self._gate.ungranted.wait())
        try:
            await asyncio.wait({performing, refused}, return_when=asyncio.FIRST_COMPLETED)
            if not performing.done():
                raise Ungranted
            return await performing
        finally:
            refused.cancel()
            performing.cancel()
            await asyncio.gather(performing, refused, return_exceptions=True)  # raised above, or moot

    def _work(self, entered: Entered) -> Work:
        at, context, entry = self._at, self._at.context, self._at.entry
        proposed = at.command.proposed
        # What another element of the same position led to is not expected of this one.
        is_unexpected = entry is None or proposed or (at.declared is not None and at.declared.is_placed)
        at.derived = () if entry is None or is_unexpected else filled_expectations(entry.derived, context.values)
        recorded = None if entry is None or not self._serves(entry) else entry.target
        target = proposed or (None if recorded is None else filled_target(recorded, context.values))
        return Work(
            step=at.step,
            text=entered.text,
            fingerprint=context.fingerprint,
            sensitive=bool(entered.secrets or entered.dialog_secrets),
            secrets=entered.secrets,
            dialog_text=entered.dialog_text,
            dialog_secrets=entered.dialog_secrets,
            target=target,
            query=at.declared if target is None else None,
            entry_version=0 if entry is None else entry.version,
            looks=at.looks,
            expect=() if at.looks else (*at.step.expect, *at.derived),
            learning=at.is_new,
            relearning=at.is_relearned,
            causes=None if at.is_new or entry is None else entry.causes,
            heal=context.run.heal is not Heal.OFF,
            skip_if_holds=self._may_be_done(),
            signs_in=context.signs_in,
            is_consequential=at.is_consequential,
            proof_ms=LOOK_MS if at.is_known_commit else Work.proof_ms,
            keeps_entries=not at.is_new and entry is not None and entry.keeps_entries,
            timeout_ms=at.step.timeout_ms,
            is_pictured=context.run.pictures is not Pictures.FAILURES,
            picturing=at.held.picturing,
            records=context.sequence if isinstance(at.command, Perform) and at.command.records else None,
            guard=at.tools.policing.of(context.run.policy).guard(context.run.used),
        )

    def _may_be_done(self) -> bool:
        """Tell if an expectation of a commit step that holds beforehand shows that just this was done already.

        Only one that names a parameter can: "Sent" may be yesterday's. One that held before the step when it was
        recorded tells nothing: the rows of a search stand in the whole list as well.
        """
        step, command, entry = self._at.context.step, self._at.command, self._at.entry
        if not self._at.is_known_commit or step.always or not isinstance(command, Perform) or command.disproved:
            return False
        if entry is not None and entry.held_before:
            return False
        return any(predicate.is_required and named_parameters(predicate) for predicate in step.expect)

    def _serves(self, entry: ActionCacheEntry) -> bool:
        """Tell if the recording is of the element that today's values name.

        An element that the task declares by its parameters or its position is looked for as declared: nothing could say
        it better, and the recording is of the element that was there then.
        """
        context, declared = self._at.context, self._at.declared
        if declared is not None and (declared.is_placed or naming_parameters(context.step)):
            return False
        return entry.is_for(context.values)
