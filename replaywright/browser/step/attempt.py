"""The page agent's attempt at a step, and the evaluation of the step's expectation."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replaywright.browser.devtools.cdp import CdpSession
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.reading.named_frames import NamedFrames
from replaywright.domain.locating.matching import ElementCandidate
from replaywright.domain.page.observed import AssertionContext, ElementState, PredicateResult, Probe, ProbeResult
from replaywright.domain.page.targets import Box, FrameStep, Target
from replaywright.domain.predicate.evaluation import CustomPredicate, evaluate
from replaywright.domain.predicate.predicates import Predicate, probes_of

SILENCE_S = 1.0
"""A frame that has not answered after this long is not waited for: it hangs, or shows no document of its own."""
RENEW_S = 100.0
"""The agent stops reporting after two minutes when nobody asks again."""


@dataclass(frozen=True)
class Ready:
    """An element that can take the input."""

    index: int
    candidates: tuple[ElementCandidate, ...]
    target: Target
    """Fresh description of the element."""
    point: tuple[float, float] | None
    state: Mapping[str, Any]
    extracted: Mapping[str, Any] | None = None
    is_recorded: bool = False
    """It is the element as it was recorded, which has come after another was chosen that looks like it."""
    place: tuple[Box, float, float] | None = None
    """Visible box in the frame's viewport when it was found, and the scroll position; None if nothing was visible."""


@dataclass(frozen=True)
class Blocked:
    """Why an element cannot take the input yet."""

    reason: str
    by: str
    final: bool = False
    """True if no change of the page can be expected to resolve it."""


@dataclass
class AskedDocument:
    """A document that was asked for its answers."""

    context: str
    since: float
    answers: tuple[ProbeResult, ...] | None = None
    by_itself: bool = False
    """True for a document that answers by an injected script, without being asked."""


@dataclass(eq=False)
class PageAttempt:
    """The agent's messages about one attempt so far, over all frames."""

    token: int
    probes: tuple[Probe, ...] = ()
    frame_id: str = ""
    """The frame that the element is looked for in; the others only answer probes."""
    path: tuple[FrameStep, ...] = ()
    """Path of the frame in which the attempt began: it goes into every description from there."""
    candidates: tuple[ElementCandidate, ...] | None = None
    offers: int = 0
    """Number of candidate lists so far: each has its own numbering."""
    settled: bool = False
    settled_at: float = 0.0
    resting_since: float = math.inf
    """When something had last changed in the document, or was entered, by the latest list; not earlier than that was.
    Monotonic seconds."""
    ready: Ready | None = None
    blocked: Blocked | None = None
    pressed: bool = False
    """True after the button went down on the dragged element."""
    undropped: bool = False
    """True when the page did not accept the drop."""
    landed: bool = False
    intercepted: Blocked | None = None
    value_ok: bool | None = None
    changed: bool = False
    """True when the page changed after the input, ticking clocks apart."""
    state: Mapping[str, Any] = field(default_factory=dict)
    uploaded: tuple[tuple[str, int], ...] | None = None
    """Names and sizes of the files that a field or a drop was given; None while it was given none."""
    failed: str = ""
    wants: list[Mapping[str, Any]] = field(default_factory=list)
    """Trusted input that the agent asks for on the way, oldest first; see docs/internals/page-agent.md."""
    on_ready: Callable[[Frame, Ready], None] | None = None
    """Called at once, before the agent goes on by itself."""
    message_count: int = 0
    """Number of messages so far."""
    asked: dict[str, AskedDocument] = field(default_factory=dict)
    """By frame id."""

    def take(self, frame: Frame, message: Mapping[str, Any]) -> None:
        """Remember one message."""
        if message["type"] == "observed":
            if len(message["probes"]) == len(self.probes):
                self._answer(frame, message["probes"])
            self.changed = self.changed or bool(message.get("changed"))
            if frame.id == self.frame_id:
                self.value_ok = message.get("valueOk", self.value_ok)
                self.state = message.get("state") or self.state
        elif frame.id == self.frame_id or message["type"] == "failed":
            self._take_news(frame, message)

    def _take_news(self, frame: Frame, message: Mapping[str, Any]) -> None:
        self.message_count += 1
        match message["type"]:
            case "candidates" | "settled":
                self.candidates = self._candidates(message)
                self.offers += 1
                self.blocked = None
                self.resting_since = time.monotonic() - message["restedMs"] / 1000
                self.settled = message["type"] == "settled" or bool(message.get("settled"))
                if self.settled and not self.settled_at:
                    self.settled_at = time.monotonic()
            case "ready":
                self._take_ready(frame, message)
            case "blocked":
                self.blocked = Blocked(message["reason"], str(message.get("by") or ""), bool(message.get("final")))
            case "pressed":
                self.pressed = True
            case "undropped":
                self.undropped = True
            case "wants":
                self.wants.append(message)
                self.blocked = None
            case "landed":
                self.landed = True
            case "intercepted":
                self.intercepted = Blocked("intercepted", str(message.get("by") or ""))
            case "uploaded":
                self.uploaded = tuple((file["name"], int(file["size"])) for file in message["files"])
            case "failed":
                self.failed = str(message["reason"])
            case _:
                pass

    def _take_ready(self, frame: Frame, message: Mapping[str, Any]) -> None:
        if message["target"] is None:
            return
        point = message.get("point")
        self.ready = Ready(
            index=message["index"],
            candidates=self._candidates(message),
            target=self._placed(message["target"]),
            point=(point["x"], point["y"]) if point else None,
            state=message.get("state") or {},
            extracted=message.get("extracted"),
            is_recorded=bool(message.get("isRecorded")),
            place=_place(message.get("place")),
        )
        if message["before"] is not None:
            self._answer(frame, message["before"])
        if self.on_ready is not None:
            self.on_ready(frame, self.ready)

    def _candidates(self, message: Mapping[str, Any]) -> tuple[ElementCandidate, ...]:
        return tuple(
            ElementCandidate(index=data["index"], tier=data["tier"], target=self._placed(data["target"]))
            for data in message.get("candidates") or ()
        )

    def _placed(self, data: Mapping[str, Any]) -> Target:
        target = Target.model_validate(data)
        return target.model_copy(update={"frame": self.path}) if self.path else target

    def _answer(self, frame: Frame, data: Sequence[Mapping[str, Any]]) -> None:
        answers = tuple(ProbeResult.model_validate(answer) for answer in data)
        asked = self.asked.setdefault(frame.id, AskedDocument(frame.context, time.monotonic()))
        asked.context = frame.context
        asked.by_itself = False
        asked.answers = answers

    def expect_answer(self, frame: Frame, *, by_itself: bool = False) -> None:
        """Note that the present document of `frame` was asked, or answers by itself."""
        self.asked[frame.id] = AskedDocument(frame.context, time.monotonic(), by_itself=by_itself)

    def renew(self, frame: Frame) -> None:
        """Discard all answers of `frame` from before the input."""
        self.asked[frame.id] = AskedDocument(frame.context, time.monotonic())
        self.landed = self.pressed = self.undropped = False
        self.intercepted = None
        self.blocked = None
        self.wants.clear()
        self.value_ok = None
        self.changed = False
        self.state = {}
        self.uploaded = None

    def restart(self) -> None:
        """Forget all about the element; a new look-up begins."""
        self.candidates = None
        self.settled = False
        self.settled_at = 0.0
        self.ready = None
        self.blocked = None
        self.intercepted = None


def _place(data: Mapping[str, Any] | None) -> tuple[Box, float, float] | None:
    if data is None:
        return None
    left, top = data["left"], data["top"]
    box = Box(x=left, y=top, width=data["right"] - left, height=data["bottom"] - top)
    return box, data["scrollX"], data["scrollY"]


@dataclass(eq=False)
class Expectation:
    """The predicates of a step and what the frames of a tab have answered to them."""

    predicates: tuple[Predicate, ...]
    attempt: PageAttempt
    secrets: Sequence[str] = ()
    custom: Mapping[str, CustomPredicate] = field(default_factory=dict)
    preloaded: CdpSession | None = None
    """CDP session whose new documents answer without being asked."""
    named: NamedFrames = field(default_factory=NamedFrames)
    """Frames that queries name."""

    @classmethod
    def of(
        cls,
        predicates: Sequence[Predicate],
        token: int,
        secrets: Sequence[str] = (),
        custom: Mapping[str, CustomPredicate] | None = None,
    ) -> "Expectation":
        """Return an expectation with a new attempt that asks the probes of `predicates`."""
        return cls(tuple(predicates), PageAttempt(token, probes_of(predicates)), secrets, custom or {})

    @property
    def probe_specs(self) -> list[dict[str, Any]]:
        """Return the probes in the agent's format."""
        return [probe.model_dump(by_alias=True, exclude_none=True) for probe in self.attempt.probes]

    @property
    def script(self) -> str:
        """Return the script that makes a document report its answers."""
        return script_for("watch", self.attempt.token, self.probe_specs)

    def ask(self, tab: Tab, *, watch: bool = False) -> None:
        """Ask every document of `tab` that has not been asked yet; with `watch` even if only for what changes there."""
        if not self.attempt.probes and not watch:
            return
        for frame in tab.worlds():
            asked = self.attempt.asked.get(frame.id)
            if asked is None or asked.context != frame.context or time.monotonic() - asked.since > RENEW_S:
                is_new = asked is None or asked.context != frame.context
                by_itself = is_new and frame.cdp is self.preloaded and not frame.restored
                self.attempt.expect_answer(frame, by_itself=by_itself)
                if not by_itself:
                    tab.notify(frame, self.script)
            elif asked.by_itself and asked.answers is None and time.monotonic() - asked.since > SILENCE_S:
                self.attempt.expect_answer(frame)
                tab.notify(frame, self.script)

    def is_watching(self, tab: Tab) -> bool:
        """Return whether every document of `tab` that was asked has answered."""
        asked = (self.attempt.asked.get(frame.id) for frame in tab.worlds())
        return all(one is None or one.answers is not None for one in asked)

    def context(self, tab: Tab) -> AssertionContext | None:
        """Return the context for `tab`; None while an answer is pending."""
        if not self.attempt.probes:
            return AssertionContext(url=tab.url, title=tab.title)
        answers: dict[str, tuple[ProbeResult, ...]] = {}
        for frame in tab.worlds():
            asked = self.attempt.asked.get(frame.id)
            if asked is None or asked.context != frame.context:
                return None
            if asked.answers is not None:
                answers[frame.id] = asked.answers
            elif time.monotonic() - asked.since < SILENCE_S or frame is tab.main:
                return None
        if not answers:
            return None
        together: list[tuple[Probe, ProbeResult]] = []
        for number, probe in enumerate(self.attempt.probes):
            meant = self.named.of(tab, probe.frame) if probe.frame else answers.keys()
            if meant is None:
                return None
            parts = [each[number] for frame_id, each in answers.items() if frame_id in meant]
            together.append((probe, self._masked(joined(parts))))
        return AssertionContext(url=tab.url, title=tab.title, probes=tuple(together))

    def _masked(self, answer: ProbeResult) -> ProbeResult:
        if not any(secret in state.value for secret in self.secrets for state in answer.elements):
            return answer
        kept = tuple(
            state.model_copy(update={"value": ""}) if any(s in state.value for s in self.secrets) else state
            for state in answer.elements
        )
        return answer.model_copy(update={"elements": kept})

    def verdicts(self, tab: Tab, seen: Mapping[str, Any] | None = None) -> tuple[PredicateResult, ...]:
        """Return one verdict per predicate; all failed with `no_answer` while the page has not answered.

        `seen` holds the rest of the context: responses, downloads and dialogs of the step.
        """
        if not self.predicates:
            return ()
        context = self.context(tab)
        if context is None:
            details = {"url": tab.url[:200]}
            return tuple(
                PredicateResult(
                    passed=False, reason="no_answer", details=details, decided=False, required=predicate.is_required
                )
                for predicate in self.predicates
            )
        context = context.model_copy(update=seen or {})
        return tuple(evaluate(predicate, context, self.custom) for predicate in self.predicates)


def joined(answers: Sequence[ProbeResult]) -> ProbeResult:
    """Return a page's answer from those of its frames in document order."""
    if len(answers) == 1:
        return answers[0]
    elements: list[ElementState] = [state for answer in answers for state in answer.elements]
    nearest = [text for answer in answers for text in answer.nearest]
    count = sum(answer.count for answer in answers)
    return ProbeResult(
        count=count,
        in_view=sum(answer.in_view for answer in answers),
        elements=tuple(elements[:3]),
        nearest=() if count else tuple(nearest[:3]),
    )
