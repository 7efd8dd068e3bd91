"""One step in the browser: find, act once, wait for the consequences, verify the expectation."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from replaywright.browser.devtools.channel import Frame, script_for
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.input import pointer, uploads
from replaywright.browser.input.dispatch import InputDispatch
from replaywright.browser.reading import extraction, frames
from replaywright.browser.step import consequences, hearing, page_steps
from replaywright.browser.step.attempt import Ready
from replaywright.browser.step.environment import StepEnvironment
from replaywright.browser.step.find import Finder, FoundElement, MissedElement
from replaywright.browser.step.step_context import StepContext
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import Box, Target
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.proof.deriving import Seen
from replaywright.domain.proof.proof import is_input, needs_proof, proof_of
from replaywright.domain.step.outcomes import Lookup, Proof
from replaywright.domain.task.actions import ACTIONS, effect_of
from replaywright.domain.task.steps import (
    Check,
    CloseTab,
    Expand,
    Extract,
    Fill,
    ForEach,
    GoBack,
    Goto,
    Paste,
    Press,
    Scroll,
    SelectOption,
    Switch,
    SwitchTab,
    Type,
    Upload,
    WaitFor,
    action_of,
    names_element,
)
from replaywright.errors import ActionFailed
from replaywright.killpoints import hit
from replaywright.ports.browser import BeforeDispatch, Report, Work

_STOPPED_TRIES = 3
"""Repetitions of a stopped press: pages shift while they are rendered."""

_SECOND_LOOK_S = 0.3
"""Interval between two readings of a page while learning."""
_STEADY_S = 0.15
"""Interval between two readings that have to agree."""
_STEADY_LIMIT_S = 2.0
"""Wait for them to agree: a clock on the page never does."""

UNRESPONSIVE_S = 10.0
"""Time beyond the step's budget for a browser that does not answer."""

_RETRIED_NEEDS = frozenset({"click", "check", "expand", "hover"})
"""Pointer inputs that may be repeated after a stop while the page has seen none of them."""

_Read = TypeVar("_Read")


def _extracted(result: FoundElement | MissedElement) -> object:
    return None if isinstance(result, MissedElement) else result.ready.extracted


def _as_first_seen(first: FoundElement, again: FoundElement | MissedElement) -> FoundElement | MissedElement:
    """Return what was found again; the same element as it was before it was scrolled to and given the focus."""

    def told(found: FoundElement) -> tuple[object, ...]:
        target = found.ready.target
        return found.frame, target.xpath, target.element_hash

    if isinstance(again, MissedElement) or told(first) != told(again):
        return again
    return replace(again, ready=replace(again.ready, target=first.ready.target, place=first.ready.place))


class StepRun:
    """Performs one `Work`."""

    def __init__(self, environment: StepEnvironment, work: Work, before_dispatch: BeforeDispatch | None) -> None:
        self.context = StepContext(environment, work, before_dispatch)
        self._dispatch = InputDispatch(self.context)
        self._evaluated = environment.tabs.counts.evaluations
        self._extracted: dict[str, Any] = {}
        self._begun = time.monotonic()
        self._found_at = 0.0
        self._acted_at = 0.0
        self._proof: Proof | None = None
        self._before: Snapshot | None = None
        self._box: Box | None = None

    @property
    def is_press(self) -> bool:
        """Return whether the step has effects that cannot be read from its element."""
        return needs_proof(self.context.step)

    async def perform(self) -> Report:
        """Perform the whole step within its budget; see `BrowserSession.perform`."""
        context = self.context
        context.tabs.attempt = context.attempt
        context.attempt.on_ready = self._on_ready
        if is_input(context.step) and not self.is_press:
            context.environment.debounces.watch(context.tab)
            context.environment.was_entered = True
            if not context.work.sensitive:
                context.environment.unsent.note(context.tabs.document, context.work.text)
        limit = asyncio.timeout(context.deadline.left() + UNRESPONSIVE_S)
        try:
            async with limit:
                await context.until_pictured(looks=names_element(context.step))
                if self.is_press:
                    await context.until_answered()
                return await (self._on_element() if names_element(context.step) else self._on_page())
        except TimeoutError:
            if not limit.expired():  # of the caller's `before_dispatch`
                raise
            seconds = context.work.timeout_ms / 1000
            message = f"the page did not answer within the step's {seconds:g} s"
            raise ActionFailed("timeout", message, dispatched=context.dispatched) from None
        finally:
            context.remove_preload()

    # ------------------------------------------------------------------------------------ on one element

    async def _on_element(self) -> Report:
        context, step = self.context, self.context.step
        spec = self._spec()
        environment = context.environment
        files: Sequence[Path] = ()
        if isinstance(step, Upload) and not context.work.looks:
            allowed = uploads.allowed(step.files, environment.upload_roots(), context.tabs.guard.uploads)
            files = await asyncio.to_thread(environment.copies.of, allowed)
        if isinstance(step, Extract | ForEach):
            result = await self._steadily(lambda: self._find(spec), _extracted)
        else:
            result = await self._find(spec)
            if self._may_be_early(result) and await hearing.waited(context, result):
                result = _as_first_seen(result, await self._find(spec))
        self._found_at = time.monotonic()
        if isinstance(result, MissedElement):
            return self._missed(result)
        context.frame = result.frame
        self._box = await self._boxed(result)
        if self._box is not None and environment.on_found is not None:
            environment.on_found(context.tab.main.loader, self._box)
        if context.work.looks:
            context.tab.notify(result.frame, script_for("cancel"))
            return await self._already_there(result, acted=False)
        if isinstance(step, Extract | ForEach):
            self._extracted = extraction.read(step, result.ready.extracted)
            return await self._already_there(result, acted=True)
        if result.ready.state.get("already") or self._held_before():
            return await self._already_there(result, acted=False)
        if is_input(step):
            target = result.ready.target.model_copy(update={"heard": await hearing.heard(context, result)})
            result = replace(result, ready=replace(result.ready, target=target))
        learning = context.work.learning or (context.work.relearning and not result.lookup.healed)
        if learning and needs_proof(step):
            self._before = await self.context.snapshot()
        acted = await self._act(spec, result, files)
        self._acted_at = time.monotonic()
        report = await self._verified(result.lookup, result.ready.target, acted=acted)
        return replace(report, seen=await self._seen()) if learning and failing(report.after) is None else report

    def _may_be_early(self, found: FoundElement | MissedElement) -> TypeGuard[FoundElement]:
        """Return whether the element is about to be given input, which its page may not hear yet."""
        is_given = isinstance(found, FoundElement) and not found.ready.state.get("already")
        return is_given and is_input(self.context.step) and not self.context.dispatched

    async def _boxed(self, found: FoundElement) -> Box | None:
        """Return the element's box in the page; in frames only for pictures, as that takes calls."""
        tab, place = self.context.tab, found.ready.place
        if place is None:
            return None
        if found.frame is tab.main:
            box, scroll_x, scroll_y = place
            return box.model_copy(update={"x": box.x + scroll_x, "y": box.y + scroll_y})
        return await frames.box_in_page(tab, found.frame, place[0]) if self.context.work.is_pictured else None

    async def _seen(self) -> Seen | None:
        """Return the page after the step, and again a moment later, to show spontaneous changes."""
        after, again = await self.context.snapshot(), None
        if after is None:
            return None
        if self._before is not None:
            await self.context.tabs.until(lambda: False, _SECOND_LOOK_S)
            again = await self.context.snapshot()
        return Seen(before=self._before, after=after, again=again)

    async def _act(self, spec: dict[str, Any], found: FoundElement, files: Sequence[Path]) -> bool:
        """Give the input and wait for its consequences; return False if none was needed."""
        context, dispatch = self.context, self._dispatch
        await dispatch.give(found, files)
        hit("given")
        tries = 0
        while dispatch.was_stopped and tries < self._tries_after_a_stop(dispatch):
            tries += 1
            found = await self._find_again(spec, found)
            if found.ready.state.get("already"):
                if dispatch.is_untouched:
                    return False
                break
            await dispatch.give(found, files)
        dispatch.require_landed()
        await consequences.follow(context)
        if consequences.is_seen_on_element(context):
            await self._require_effect(spec, found)
        return True

    async def _require_effect(self, spec: dict[str, Any], found: FoundElement) -> None:
        """Require the wanted value or state of the control; repeat the input where that may help."""
        context, dispatch = self.context, self._dispatch
        while not await consequences.took_effect(context):
            if not consequences.has_another_way(context, found.ready, dispatch.tries):
                consequences.require_effect(context)
                return
            dispatch.tries += 1
            found = await self._find_again(spec, found)
            if found.ready.state.get("already"):
                return
            await dispatch.give(found)
            dispatch.require_landed()

    def _spec(self) -> dict[str, Any]:
        context, step = self.context, self.context.step
        return {
            "need": ACTIONS[action_of(step)].need,
            "text": context.work.text if isinstance(step, Fill | Type | Paste) and not context.work.secrets else None,
            "secret": bool(context.work.secrets),
            "options": list(step.wanted) if isinstance(step, SelectOption) else None,
            **pointer.spec_of(step),
            "wanted": isinstance(step, Check | Expand) if isinstance(step, Switch) else None,
            "fields": extraction.field_specs(step.fields) if isinstance(step, Extract | ForEach) else None,
            "files": {"count": len(step.files), "drop": bool(step.drop)} if isinstance(step, Upload) else None,
            "always": step.always,
            "hold": context.holds,
            "probes": context.expectation.probe_specs,
            "before": needs_proof(step) or context.work.skip_if_holds,
            "settleMs": 250,
        }

    async def _find(self, spec: dict[str, Any]) -> FoundElement | MissedElement:
        self.context.attempt.asked.clear()  # the frame that was searched before has told of its element, not of others
        return await Finder(self.context, spec).find()

    async def _find_again(self, spec: dict[str, Any], first: FoundElement) -> FoundElement:
        context = self.context
        covering = context.attempt.intercepted
        result = await self._find(spec)
        if isinstance(result, MissedElement):
            if covering is None:
                consequences.require_effect(context)
                context.fail("gone", "the element was gone before the step had its effect")
            message = f"the input was stopped: it would have hit {covering.by}"
            raise ActionFailed("intercepted", message, dispatched=False)
        return FoundElement(first.lookup, result.frame, result.ready)

    def _tries_after_a_stop(self, dispatch: InputDispatch) -> int:
        """Return how often a stopped input may be repeated: a press that the page did not see has no effect."""
        step = self.context.step
        if ACTIONS[action_of(step)].need in _RETRIED_NEEDS and dispatch.is_untouched:
            return _STOPPED_TRIES
        return 1 if effect_of(action_of(step), step.effect, None).repeatable else 0

    def _on_ready(self, frame: Frame, ready: Ready) -> None:
        context = self.context
        context.frame = frame
        context.before = context.expectation.verdicts(context.tab)
        if ready.point is None and not context.holds and not ready.state.get("already"):
            context.go(frame)  # the agent goes on by itself: from here on, all events are consequences

    async def _already_there(self, found: FoundElement, *, acted: bool) -> Report:
        """Verify the expectation without any input."""
        self._acted_at = time.monotonic()
        return await self._verified(found.lookup, found.ready.target, acted=acted)

    def _held_before(self) -> bool:
        """Return whether the step is skipped because its expectation holds already."""
        before = self.context.before
        return self.context.work.skip_if_holds and bool(before) and failing(before) is None

    def _missed(self, missed: MissedElement) -> Report:
        context = self.context
        for frame in context.tab.worlds():
            if frame.id in context.attempt.asked:
                context.tab.notify(frame, script_for("cancel"))
        return self._report(missed.lookup, None, acted=False, snapshot=missed.snapshot)

    # ------------------------------------------------------------------------------------------ on the page

    async def _on_page(self) -> Report:
        self._found_at = time.monotonic()
        context, step = self.context, self.context.step
        match step:
            case WaitFor():
                if step.answers:  # it waits for what comes after the dialog
                    context.arm()
            case ForEach(values=tuple()):
                self._extracted = extraction.read(step, None)
            case Extract() | ForEach():
                self._extracted = await self._read_page(step)
            case SwitchTab():
                await page_steps.switch_tab(context, step)
            case CloseTab():
                await page_steps.close_tab(context)
            case Paste() | Press() | Scroll():
                await page_steps.touch(context, step)
            case Goto() | GoBack():
                await page_steps.navigate(context, step)
            case _:
                raise AssertionError(f"no page action: {step.action}")
        self._acted_at = time.monotonic()
        return await self._verified(Lookup(hit=True), None, acted=not isinstance(step, WaitFor))

    async def _read_page(self, step: Extract | ForEach) -> dict[str, Any]:
        context, tab = self.context, self.context.tab
        script = script_for("extract", context.attempt.token, extraction.field_specs(step.fields))

        async def reading() -> Mapping[str, Any]:
            await context.tabs.until(lambda: bool(tab.main.context), context.deadline.left())
            values: Mapping[str, Any] = await tab.call(tab.main, script, timeout_s=max(1.0, context.deadline.left()))
            return values

        return extraction.read(step, await self._steadily(reading, lambda values: values))

    async def _steadily(self, read: Callable[[], Awaitable[_Read]], values: Callable[[_Read], object]) -> _Read:
        """Read until two readings in a row have the same values, or no values; the last where the page never rests.

        A page that is drawn anew has the old beside the new for a moment.
        """
        context = self.context
        await context.until_rest()
        until, seen = Deadline(context.deadline.left(_STEADY_LIMIT_S)), await read()
        while (before := values(seen)) is not None:
            await context.tabs.until(lambda: False, _STEADY_S)
            await context.until_rest(until.left())  # what the page was about to ask for when it was read first
            seen = await read()
            if values(seen) == before or until.passed:
                break
        return seen

    # ----------------------------------------------------------------------------------------- afterwards

    async def look_again(self, report: Report, timeout_s: float) -> Report:
        """Return the step's report after up to `timeout_s` more for answers and expectations."""
        context, tabs = self.context, self.context.tabs
        tabs.recorder, tabs.attempt = context.recorder, context.attempt
        context.deadline = Deadline(timeout_s)
        try:
            late = await self._verified(report.lookup, report.target)
        finally:
            tabs.recorder = tabs.attempt = None
        return replace(late, before=report.before, seen=report.seen)

    async def _verified(self, lookup: Lookup, target: Target | None, *, acted: bool = True) -> Report:
        context = self.context
        recorder, environment = context.recorder, context.environment
        await self._downloaded()
        since = context.armed_at if context.dispatched else None
        patient = isinstance(context.step, WaitFor)
        after = await environment.verified(context.expectation, context.deadline, since=since, patient=patient)
        if since is not None and await consequences.await_answers(context):
            after = await environment.verified(context.expectation, context.deadline, since=since, patient=patient)
        if acted and needs_proof(context.step):
            self._proof = await self._proven(after)
            await self._downloaded()  # a download may have begun only now, and be the proof
        if recorder is not None:
            after = (*after, *environment.downloads.verdicts(recorder))
        verified_at = time.monotonic()
        snapshot: Snapshot | None = None
        if failing(after) is not None:
            snapshot = await self.context.snapshot()
        return self._report(lookup, target, acted=acted, after=after, snapshot=snapshot, verified_at=verified_at)

    async def _downloaded(self) -> None:
        """Wait until the step's downloads are complete, or its time is up."""
        context, recorder = self.context, self.context.recorder
        if recorder is not None:
            downloads = context.environment.downloads
            await context.tabs.until(lambda: not downloads.running(recorder), context.deadline.left())

    async def _proven(self, after: tuple[PredicateResult, ...]) -> Proof:
        """Wait a moment for proof that the press had an effect."""
        context, proof = self.context, Proof.NONE

        def shown() -> bool:
            nonlocal proof
            url = context.tabs.current.url
            proof = proof_of(context.before, after, context.evidence(), changed=context.attempt.changed, url=url)
            return proof is not Proof.NONE

        await context.tabs.until(shown, context.deadline.left(context.work.proof_ms / 1000))
        return proof

    def _report(
        self,
        lookup: Lookup,
        target: Target | None,
        *,
        acted: bool,
        after: tuple[PredicateResult, ...] = (),
        snapshot: Snapshot | None = None,
        verified_at: float = 0.0,
    ) -> Report:
        context = self.context
        tab = context.tabs.current
        found_at, acted_at = self._found_at or time.monotonic(), self._acted_at
        return Report(
            lookup=lookup,
            target=target,
            acted=acted,
            proof=self._proof,
            before=context.before,
            after=after,
            evidence=context.evidence(),
            given_at=context.given_at,
            keeps_entries=context.keeps_entries,
            is_fresh=context.is_fresh,
            downloads=context.environment.downloads.report(context.recorder),
            url=tab.url,
            title=tab.title,
            page_fault=consequences.page_fault(context) if acted else "",
            extracted=self._extracted,
            box=self._box,
            snapshot=snapshot,
            evaluations=context.tabs.counts.evaluations - self._evaluated,
            locating_ms=(found_at - self._begun) * 1000,
            acting_ms=max(0.0, acted_at - found_at) * 1000,
            verifying_ms=max(0.0, verified_at - acted_at) * 1000 if acted_at else 0.0,
        )
