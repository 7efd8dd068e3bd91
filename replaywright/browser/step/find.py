"""Finding the element of a step, or the reason why none is certain."""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.input import pointer, scrolling
from replaywright.browser.reading import frames, snapshots
from replaywright.browser.step import overrides
from replaywright.browser.step.attempt import SILENCE_S, Ready
from replaywright.browser.step.step_context import StepContext
from replaywright.domain.locating.matching import (
    ACCEPT,
    ACCEPT_COMMIT,
    ElementCandidate,
    MatchDecision,
    comparable,
    decide_identified,
    decide_similar,
    may_be_declared,
    without_content,
)
from replaywright.domain.page.observed import ElementProbe, ProbeResult
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.step.outcomes import Lookup
from replaywright.errors import ActionFailed

_NETWORK_S = 5.0
"""Wait of a settled page for pending requests that may bring the element."""
_MISS_S = 2.0
"""Wait of a settled page before the look-up is a miss. It may have been at rest since before the look-up began."""
_QUERY_S = 4.0
"""The same for an element that the task declares itself: nothing else could find it."""
_FILLED_S = 5.0
"""Wait for a page that is empty or loading, before a model is shown it: pages fill themselves by timers."""
_LOOK_AGAIN_S = 0.25


@dataclass(frozen=True)
class FoundElement:
    """An element that can take the input."""

    lookup: Lookup
    frame: Frame
    ready: Ready


@dataclass(frozen=True)
class MissedElement:
    """A look-up without an element; nothing was touched."""

    lookup: Lookup
    snapshot: Snapshot | None = None


@dataclass(frozen=True)
class _Foreseen:
    """What comparing has found on a page that did not rest yet; it holds if nothing has changed there since."""

    decision: MatchDecision
    read_at: float
    """When the page began to be read; monotonic seconds."""


class Finder:
    """One look-up. The page agent finds candidates and prepares the element; the decision is made here."""

    def __init__(self, context: StepContext, spec: dict[str, Any]) -> None:
        self._step = context
        self._tabs = context.tabs
        self._work = work = context.work
        self._expectation = context.expectation
        self._attempt = context.attempt
        self._deadline = context.deadline
        self._spec = spec
        self._is_read = spec["need"] == "read"
        self._tab: Tab = context.tabs.current
        self._frame: Frame = self._tab.main
        self._target = work.target
        self._recorded: Target | None = None
        """The recording, once another element was chosen: it still goes first."""
        self._is_rejected = False
        """What the page takes for the recorded element was found to be another: it goes first no more."""
        self._looked_at_once = False
        self._looked_at = -math.inf
        """When the page's list of candidates was last weighed; monotonic seconds."""
        self._foreseen: _Foreseen | None = None
        self._healed: Lookup | None = None
        self._chosen: Lookup | None = None
        """Reason for the candidate that is being made ready; None when the page was certain itself."""
        self._offer = 0
        self._lookup = Lookup(reason="not_found", entry_version=work.entry_version)
        self._context = ""
        self._compared = False
        self._searched = False
        self._is_still = False
        """The page agent is to make nothing ready yet: a picture is being taken."""
        self._rules = overrides.RuleSchedule()

    async def find(self) -> FoundElement | MissedElement:
        """Look until the element is certain and ready, or certainly missing.

        Raises:
            ActionFailed: the element is there and cannot take the input, or the page does not answer.
        """
        if self._work.query is None and self._target is None:
            await self._step.until_rest()
            return await self._missed(Lookup(reason="no_entry", entry_version=self._work.entry_version))
        frame = await self._where()
        if frame is None:  # no frame at the path: it may be described differently now
            self._compared = True
            return await self._compare_or_miss() or MissedElement(self._lookup)
        self._begin(frame)
        while not self._deadline.passed:
            count = self._attempt.message_count
            await self._tabs.until(lambda: self._has_news(count), min(self._pause(), self._rules.pause()))  # noqa: B023
            if self._is_still and not self._step.is_pictured:
                self._is_still = False
                self._tab.notify(self._frame, script_for("move", self._attempt.token))
            if self._frame.context != self._context:
                await self._begin_again()
                continue
            outcome = await self._evaluate()
            if isinstance(outcome, MissedElement):
                await self._step.until_pictured()
            if isinstance(outcome, MissedElement) and await self._scrolled_to(outcome):
                outcome = await self._evaluate()
            if outcome is not None:
                return outcome
            if await self._is_overridden():
                break
        return await self._out_of_time()

    async def _is_overridden(self) -> bool:
        """Return whether the element is covered or missing and an override rule applies: then stop waiting."""
        attempt = self._attempt
        missing = attempt.settled_at if attempt.settled and not attempt.candidates else None
        stuck = attempt.blocked if attempt.blocked is not None and attempt.blocked.reason == "covered" else missing
        if not self._work.overrides or not self._rules.are_due_to_be_asked(stuck):
            return False
        return bool(await overrides.due(self._tabs.current, self._work.overrides))

    # ------------------------------------------------------------------------------------------- one look

    async def _where(self) -> Frame | None:
        """Wait for the frame of the recording and return it."""
        if self._target is not None and self._target.frame:
            path = self._target.frame
            until = Deadline(self._deadline.left(_MISS_S))
            while (frame := await frames.find(self._tab, path)) is None or not frame.context:
                known = len(self._tab.worlds())
                if not await self._tabs.until(lambda: len(self._tab.worlds()) != known, until.left()):  # noqa: B023
                    break
            return frame if frame is not None and frame.context else None
        if self._work.query is not None and self._work.query.frame is not None:
            return await self._declared_frame(self._work.query.frame)
        await self._tabs.until(lambda: bool(self._tab.main.context), self._deadline.left())
        return self._tab.main

    async def _declared_frame(self, path: tuple[str, ...]) -> Frame | None:
        """Wait for a frame that the task names and return it; the first of several."""
        until = Deadline(self._deadline.left(_QUERY_S))

        def first() -> Frame | None:
            named = self._expectation.named.of(self._tab, path) or ()
            return next((frame for frame in self._tab.worlds() if frame.id in named), None)

        while (frame := first()) is None and not until.passed:
            await self._tabs.until(lambda: first() is not None, until.left(_LOOK_AGAIN_S))
        return frame

    def _begin(self, frame: Frame) -> None:
        self._frame = frame
        self._context = frame.context
        self._chosen = None
        self._attempt.restart()
        self._attempt.frame_id = frame.id
        self._attempt.path = self._target.frame if self._target is not None else ()
        if not frame.context:
            return
        self._ask_other_frames()
        self._is_still = self._step.is_pictured
        query = None if self._work.query is None else self._work.query.model_dump(by_alias=True, exclude_none=True)
        spec = {**self._spec, "attempt": self._attempt.token, "query": query, "still": self._is_still}
        spec["recorded"] = _looked_for(self._recorded)
        spec["target"] = None if query else _looked_for(self._target)
        spec["probes"] = self._expectation.probe_specs
        self._attempt.expect_answer(frame)
        self._tab.notify(frame, script_for("begin", spec), secret=bool(self._spec.get("text")))
        self._expectation.ask(self._tab)

    async def _begin_again(self) -> None:
        """Start again in the new document: the old one is gone, and nothing was touched."""
        await self._tabs.until(
            lambda: bool(self._frame.context) or self._frame.id not in self._tab.frames, self._deadline.left()
        )
        frame = self._frame if self._frame.context else await self._where()
        if frame is not None and frame.context:
            self._begin(frame)

    def _has_news(self, count: int) -> bool:
        is_told = self._attempt.message_count != count or self._frame.context != self._context
        may_move = self._is_still and not self._step.is_pictured
        return is_told or may_move or self._has_only_loaded()

    def _pause(self) -> float:
        """Return the time until the next decision without news."""
        attempt = self._attempt
        if not attempt.settled:
            return self._deadline.left()
        ends = attempt.settled_at + self._patience_left()
        return self._deadline.left(max(0.0, ends - time.monotonic()) + 0.005)

    def _patience_left(self) -> float:
        if self._work.query is not None:
            return min(_QUERY_S, self._work.timeout_ms / 2000)
        return _MISS_S if self._compared or self._healed is not None else 0.0

    async def _evaluate(self) -> FoundElement | MissedElement | None:
        """Return the outcome of the messages so far; None to wait for more."""
        attempt = self._attempt
        if attempt.failed:
            raise ActionFailed("agent_failed", f"the page could not be searched: {attempt.failed}", dispatched=False)
        if attempt.ready is not None:
            return await self._judge_ready(attempt.ready)
        if attempt.candidates:
            decision = self._decide(attempt.candidates)
            self._lookup = decision.lookup
            if decision.chosen is not None:
                if self._chosen is None or self._offer != attempt.offers:
                    self._chosen, self._offer = decision.lookup, attempt.offers
                    self._tab.notify(self._frame, script_for("choose", attempt.token, decision.chosen.index))
                return None
        if attempt.blocked is not None or not attempt.settled:
            return await self._compared_at_once()
        if self._work.query is not None and not attempt.candidates:
            if await self._move_to_other_frame():
                return None
            self._lookup = self._decide_declared(()).lookup
        if time.monotonic() < attempt.settled_at + self._patience_left():
            return None
        if self._tab.traffic.busy() and time.monotonic() < attempt.settled_at + _NETWORK_S:
            await self._tabs.until(lambda: not self._tab.traffic.busy(), _NETWORK_S)
            attempt.settled_at, self._foreseen = time.monotonic(), None
            return None
        return await self._compare_or_miss()

    async def _judge_ready(self, ready: Ready) -> FoundElement | MissedElement | None:
        """Decide on the element that the page has made ready."""
        if ready.is_recorded and self._recorded is not None:
            self._target, self._recorded, self._healed, self._chosen = self._recorded, None, None, None
        await self._others_answered()
        decision = self._decide(ready.candidates)
        if decision.chosen is not None and decision.chosen.index == ready.index:
            return await self._found(decision.lookup if self._chosen is None else self._chosen, ready)
        self._attempt.ready = None  # certain for the page, not for the decision here
        self._is_rejected = True
        self._lookup = decision.lookup
        self._compared = True
        self._tab.notify(self._frame, script_for("cancel"))
        return await self._compare_or_miss()

    def _decide(self, candidates: tuple[ElementCandidate, ...]) -> MatchDecision:
        if self._work.query is not None or self._target is None:
            return self._decide_declared(candidates)
        decision = decide_identified(self._target, candidates, self._work.entry_version)
        if decision.chosen is None and self._is_read:
            read = [one.model_copy(update={"target": without_content(one.target)}) for one in candidates]
            decision = decide_identified(without_content(self._target), read, self._work.entry_version)
        if decision.lookup.healed and not self._work.heal:
            return MatchDecision(decision.lookup.model_copy(update={"hit": False, "reason": "heal_off"}))
        return decision

    def _decide_declared(self, candidates: tuple[ElementCandidate, ...]) -> MatchDecision:
        query, recorded = self._work.query, self._work.recorded
        lookup = Lookup(tier="query", candidates=len(candidates), entry_version=self._work.entry_version)
        elsewhere = sum(self._matches_elsewhere().values())
        if len(candidates) == 1 and not elsewhere:
            if query and recorded and not may_be_declared(recorded, candidates[0].target, query, is_read=self._is_read):
                return MatchDecision(lookup.model_copy(update={"reason": "disagrees"}))
            return MatchDecision(lookup.model_copy(update={"hit": True, "score": 1.0}), candidates[0])
        several = len(candidates) + elsewhere > 1
        return MatchDecision(lookup.model_copy(update={"reason": "ambiguous" if several else "not_found"}))

    # ------------------------------------------------------------------- a declared element in other frames

    def _ask_other_frames(self) -> None:
        """Have the other frames count their matches: a declared element must be unique on the page."""
        query, attempt = self._work.query, self._attempt
        if query is None or len(self._tab.worlds()) < 2:
            return
        probe = ElementProbe(query=query)
        if probe not in attempt.probes:
            attempt.probes = (*attempt.probes, probe)
            attempt.asked.clear()

    def _matches_elsewhere(self) -> dict[str, int]:
        """Return the number of matches in other frames that have answered, of those that count, by frame id."""
        probes, query = self._attempt.probes, self._work.query
        if query is None or ElementProbe(query=query) not in probes:
            return {}
        position = probes.index(ElementProbe(query=query))
        named = None if query.frame is None else self._expectation.named.of(self._tab, query.frame) or ()
        counts: dict[str, int] = {}
        for frame in self._tab.worlds():
            asked = self._attempt.asked.get(frame.id)
            if (
                frame is not self._frame
                and (named is None or frame.id in named)
                and asked is not None
                and asked.answers is not None
            ):
                counts[frame.id] = asked.answers[position].count
        return {frame_id: count for frame_id, count in counts.items() if count}

    async def _others_answered(self) -> None:
        """Wait for the other frames' counts, not for long: a frame that hangs must not hold up the step."""
        if self._work.query is None or len(self._tab.worlds()) < 2:
            return

        def answered() -> bool:
            asked = [self._attempt.asked.get(frame.id) for frame in self._tab.worlds() if frame is not self._frame]
            return all(one is not None and one.answers is not None for one in asked)

        await self._tabs.until(answered, self._deadline.left(SILENCE_S))

    async def _move_to_other_frame(self) -> bool:
        """Move the look-up to another frame if it alone has a match; return whether it moved."""
        before = self._attempt.probes
        self._ask_other_frames()
        self._expectation.ask(self._tab)
        if self._attempt.probes != before:  # frames have come since it began
            self._begin(self._frame)
            return True
        await self._others_answered()
        elsewhere = self._matches_elsewhere()
        if list(elsewhere.values()) != [1]:
            return False
        self._tab.notify(self._frame, self._expectation.script)  # it only counts from now on
        self._attempt.expect_answer(self._frame)
        self._begin(self._tab.frames[next(iter(elsewhere))])
        return True

    # -------------------------------------------------------------------------------------------- the end

    async def _found(self, lookup: Lookup, ready: Ready) -> FoundElement:
        if self._healed is not None:
            lookup = self._healed
        if self._frame is not self._tab.main:
            path = await frames.path_of(self._tab, self._frame)
            target = ready.target.model_copy(update={"frame": path})
            ready = replace(ready, target=target)
        return FoundElement(lookup, self._frame, ready)

    # ---------------------------------------------------------------------------------------- not certain

    async def _compare_or_miss(self) -> FoundElement | MissedElement | None:
        """Compare the target with every element of the page, as its identifiers found nothing, or give up."""
        target = self._target
        if target is None or self._work.query is not None or self._healed is not None:
            return await self._missed(self._lookup)
        foreseen, self._foreseen = self._foreseen, None
        if foreseen is not None and self._has_rested_since(foreseen.read_at):
            return await self._go_on_with(target, foreseen.decision)
        snapshot = await self._read()
        decision = self._compare(target, snapshot)
        if decision.chosen is not None:
            return await self._go_on_with(target, decision)
        lookup = self._lookup if self._lookup.candidates else decision.lookup
        if decision.lookup.reason == "heal_off":
            lookup = decision.lookup
        if self._compared or not self._context:
            is_shown = snapshot is not None and _is_filled(snapshot) and self._work.shown is None
            return MissedElement(lookup, snapshot if is_shown else await self._read_filled())
        self._compared = True  # it may only be late: listen a little longer, then compare once more
        return None

    def _has_only_loaded(self) -> bool:
        """Return whether the page may be compared by now, and has got nothing but documents since it was looked at.

        What else it has got, it draws a moment later: the agent says so.
        """
        has_drawn = self._chosen is None and self._tab.traffic.brought_at <= self._looked_at
        return has_drawn and self._may_be_compared()

    def _may_be_compared(self) -> bool:
        """Return whether the page is to be compared for the first time, and nothing is on its way to it."""
        attempt, tab = self._attempt, self._tab
        if self._looked_at_once or self._target is None or self._work.query is not None or self._healed is not None:
            return False
        has_looked = attempt.candidates is not None and attempt.ready is None and attempt.blocked is None
        return has_looked and not (attempt.settled or tab.is_loading or tab.traffic.busy())

    async def _compared_at_once(self) -> FoundElement | MissedElement | None:
        """Compare before the page has rested, if no more is on its way.

        A step that must not be repeated waits, as what was recorded may be late; what was found holds then if nothing
        has changed since.
        """
        target = self._target
        self._looked_at = read_at = time.monotonic()
        if target is None or not self._may_be_compared():
            return None
        self._looked_at_once = True
        decision = self._compare(target, await self._read(notes=False))
        if decision.chosen is None:
            return None
        if self._step.before_dispatch is None:
            return await self._go_on_with(target, decision)
        self._foreseen = _Foreseen(decision, read_at)
        return None

    def _has_rested_since(self, moment: float) -> bool:
        """Return whether nothing has changed since then in the page; of what its frames show, nobody has been told."""
        return self._attempt.resting_since < moment and len(self._tab.worlds()) == 1

    async def _go_on_with(self, recorded: Target, decision: MatchDecision) -> FoundElement | MissedElement:
        """Go on with an element that looks like the recorded one, which goes first if it comes before any input."""
        assert decision.chosen is not None
        self._healed, self._target = decision.lookup, decision.chosen.target
        self._recorded = None if self._is_rejected else recorded
        return await self.find()

    def _compare(self, target: Target, snapshot: Snapshot | None) -> MatchDecision:
        needs_input = self._spec["need"] not in ("read", "scroll", "hover")
        candidates = comparable(snapshot.elements if snapshot else (), needs_input=needs_input)
        accept = ACCEPT if self._step.before_dispatch is None else ACCEPT_COMMIT
        decision = decide_similar(target, candidates, self._work.entry_version, accept)
        if decision.chosen is None or self._work.heal:
            return decision
        return MatchDecision(decision.lookup.model_copy(update={"hit": False, "healed": False, "reason": "heal_off"}))

    async def _scrolled_to(self, missed: MissedElement) -> bool:
        """Scroll through lists, which may create rows on the way; return whether there is something to decide."""
        is_placed = self._work.query is not None and self._work.query.is_placed  # lists shift what they show
        ended = self._searched or is_placed or self._healed is not None or missed.lookup.reason == "ambiguous"
        if ended or not self._frame.context:
            return False
        self._searched = True
        self._begin(self._frame)

        def is_enough() -> bool:
            decision = self._decide(self._attempt.candidates or ())
            return decision.chosen is not None or decision.lookup.reason == "ambiguous"

        return await scrolling.search(
            self._tabs, self._tab, self._frame, self._attempt, is_enough=is_enough, deadline=self._deadline
        )

    async def _missed(self, lookup: Lookup) -> MissedElement:
        snapshot = await self._read_filled()
        if self._work.query is not None and lookup.reason == "not_found" and self._frame.context:
            lookup = lookup.model_copy(update={"hidden": await self._hidden(self._work.query)})
        return MissedElement(lookup, snapshot)

    async def _hidden(self, query: ElementQuery) -> int:
        """Return how many elements that nobody can see are as the task declares, in the frame that was searched."""
        probe = ElementProbe(query=query, in_dom=True).model_dump(by_alias=True, exclude_none=True)
        try:
            answers = await self._tab.call(self._frame, script_for("probe", [probe]), timeout_s=SILENCE_S)
        except CdpFailed:
            return 0
        return ProbeResult.model_validate(answers[0]).count

    async def _read_filled(self) -> Snapshot | None:
        """Read the page for whoever is to name the element; wait for one that is empty, or says it is loading.

        One that was shown before, in vain, is waited for to become another, and to have all that it asks for: there is
        no third look.
        """
        until = Deadline(self._deadline.left(_FILLED_S))
        patience = Deadline(self._deadline.left(self._work.patience_ms / 1000))
        shown = self._work.shown

        def may_change(snapshot: Snapshot, before: Snapshot | None) -> bool:
            if not _is_filled(snapshot):
                return not until.passed
            if shown is None:
                return False
            is_known = snapshot.controls == shown.controls
            changes = not is_known and (before is None or snapshot.controls != before.controls)
            growing = (changes or self._tab.traffic.is_growing) and not until.passed
            return growing or (is_known and not patience.passed)

        before, snapshot = None, await self._read(about=self._work.step.instruction)
        while snapshot is not None and may_change(snapshot, before):
            await self._tabs.until(lambda: False, until.left(_LOOK_AGAIN_S))
            before, snapshot = snapshot, await self._read(about=self._work.step.instruction)
        return snapshot

    async def _read(self, about: str | None = None, *, notes: bool = True) -> Snapshot | None:
        typed, patience_s = self._step.environment.typed, max(snapshots.FRAME_TIMEOUT_S, self._deadline.left())
        try:
            return await snapshots.take(self._tab, typed, about=about, notes=notes, patience_s=patience_s)
        except CdpFailed as exc:
            if exc.timed_out:
                raise ActionFailed("timeout", "the page does not answer", dispatched=False) from None
            return None

    async def _out_of_time(self) -> FoundElement | MissedElement:
        blocked = self._attempt.blocked
        if blocked is not None:
            message = pointer.refusal(self._work.step, blocked.reason, blocked.by)
            raise ActionFailed(blocked.reason, message or why_blocked(blocked.reason, blocked.by), dispatched=False)
        if not self._attempt.message_count:
            state = "does not answer" if self._tab.main.loaded else "did not finish loading in time"
            raise ActionFailed("timeout", f"the page {state}", dispatched=False)
        return await self._missed(self._lookup)


def _looked_for(target: Target | None) -> dict[str, Any] | None:
    """Return an element for the page agent to look for."""
    return None if target is None else target.model_dump(by_alias=True, exclude={"frame", "heard"})


def _is_filled(snapshot: Snapshot) -> bool:
    """Return True if the page has something to act on, and shows no sign that it is loading."""
    shown = [element for element in snapshot.elements if element.visible]
    return any(element.actionable for element in shown) and all(e.target.role != "progressbar" for e in shown)


def why_blocked(reason: str, by: str) -> str:
    """Return the meaning of a `blocked` message in words."""
    texts = {
        "invisible": "the element is not visible",
        "disabled": "the element is disabled",
        "covered": f"the element is covered by {by or 'something else'}",
        "moving": "the element does not stop moving",
        "readonly": "the field is read-only: what opens on a click may set it",
        "not_editable": f"the element takes no text{f': {by}' if by else ''}",
        "too_long": f"the field takes at most {by} characters, and the value is longer",
        "no_such_value": f"the field does not take this value: {by}",
        "radio": "a radio button cannot be cleared; choose another one of its group instead",
        "not_expandable": "the element does not say whether it is open (aria-expanded, <details>, popover): use click",
        "no_list": f"nothing says that {by} is a list of options: type into it or click it, then click the option",
        "not_choosable": "the list does not keep what is chosen in it",
        "takes_folders": "the field takes a folder, and only files are uploaded",
        "takes_one_file": f"the field takes one file, and the step names {by}",
        "no_such_option": f"the list has no such option{f'; it has {by}' if by else ''}",
    }
    return texts.get(reason, f"the element cannot take the input: {reason}")
