"""Replaywright's own replay in each of its modes, and where a replayed step's time goes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowFailureError, WorkflowHistory

from bench.replaying.contest import Failed, Learned, Window
from bench.replaying.flow import Flow
from cache.connection import open_redis
from cache.steps import RedisStepStore
from demo.main_job import MAILS
from demo.stage import Stage
from replaywright import __version__
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.common.text import normalise
from replaywright.domain.requests.commands import ACTIVITY, WITHOUT_PAGE
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode, Usage
from replaywright.domain.step.outcomes import Costs, StepOutcome

Manner = Literal["default", "healed", "learn", "requests"]
"""As it comes, on a site that has changed since the run before, with a model for every element, or without a page."""

PARTS = ("redis", "recording", "locating", "acting", "verifying")
"""What a step's own costs tell; the rest of its time is Temporal's."""
HEALED = "Replaywright, redesigned site"
BY_REQUESTS = "Replaywright, tier: requests"
_LEARNING_ROUNDS = 2
_MAILS_LEARNED = ("1", "2")
_SKINS = ("classic", "modern")


@dataclass
class Shares:
    """Where the milliseconds of the replayed steps went, over all rounds."""

    temporal: list[float] = field(default_factory=list)
    redis: list[float] = field(default_factory=list)
    recording: list[float] = field(default_factory=list)
    locating: list[float] = field(default_factory=list)
    acting: list[float] = field(default_factory=list)
    verifying: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    evaluations: list[int] = field(default_factory=list)
    round_trips: list[int] = field(default_factory=list)

    def add(self, spans: Mapping[str, list["Span"]]) -> None:
        """The steps of one run."""
        before = spans["session.open"][-1].ended
        for span in sorted(_steps(spans), key=lambda span: span.ended):
            costs = span.costs
            known = {name: getattr(costs, f"{name}_ms") for name in PARTS}
            self.temporal.append(max(0.0, (span.ended - before) * 1000 - costs.total_ms))
            for name, value in known.items():
                getattr(self, name).append(value)
            self.other.append(max(0.0, costs.total_ms - sum(known.values())))
            self.evaluations.append(costs.evaluations)
            self.round_trips.append(costs.redis_round_trips)
            before = span.ended

    @property
    def parts(self) -> dict[str, list[float]]:
        """The milliseconds per step of each part."""
        return {name: getattr(self, name) for name in ("temporal", *PARTS, "other")}


@dataclass(frozen=True)
class Span:
    """One activity, from scheduled to completed, in seconds; `costs` for browser actions.

    `verified` if it answers that all of the task's final predicates hold.
    """

    begun: float
    ended: float
    costs: Costs
    verified: bool


@dataclass(frozen=True)
class Ran:
    """One run, from "browser open" to "verified"."""

    window: Window
    usage: Usage
    heals: int
    spans: Mapping[str, list[Span]]

    @property
    def ms(self) -> float:
        """The window's length."""
        return (self.window.ended - self.window.begun) * 1000


async def run_once(flow: Flow, *, mode: Mode = Mode.AUTO) -> Ran:
    """Run the task to its end.

    Raises:
        Failed: the run ended in another way than done.
    """
    place = flow.stage.place
    order = Order(flow.task, dict(flow.values), new_run_id(flow.task, dict(flow.values)), mode=mode)
    await start(place, order)
    handle = handle_of(place.client, order.run_id)
    try:
        result: RunResult = await handle.result()
    except WorkflowFailureError as error:
        raise Failed(str(error.cause)) from error
    if not result.succeeded:
        raise Failed(f"{result.reason}: {result.message}")
    spans = await _activity_spans(flow.stage, await handle.fetch_history())
    sent = spans.get(ACTIVITY, [])
    begun = sent[-1].begun if result.note == WITHOUT_PAGE else spans["session.open"][-1].ended
    window = Window(begun, min(span.ended for span in _all(spans) if span.verified))
    return Ran(window, result.totals.usage, result.totals.heals, spans)


class Replaywright:
    """A contestant."""

    version = __version__
    base = False
    verifies = "one match and its identity before each action; what the task expects after it; the final state"
    keeps = "each step in Temporal's history; ledger, trace and statistics in Redis; the intent before a commit step"

    def __init__(self, flow: Flow, manner: Manner, first: Ran) -> None:
        """`first`: the run that has filled the cache, for all of them."""
        self.name = {
            "default": "Replaywright",
            "healed": HEALED,
            "learn": "Replaywright, learning (stand-in)",
            "requests": BY_REQUESTS,
        }[manner]
        self.most_rounds: int | None = _LEARNING_ROUNDS if manner == "learn" else None
        self.replays = manner != "learn"
        self.shares = Shares()
        self.steps = flow.task.steps
        self._flow = flow
        if manner == "healed":  # with recordings of its own: the others hit
            self._flow = replace(flow, task=flow.task.model_copy(update={"task": f"{flow.task.task}-redesigned"}))
        if manner == "requests":
            self._flow = replace(flow, task=flow.task.model_copy(update={"tier": "requests"}))
            self.verifies = (
                "each response: status, kind, address, the parts used; what the task expects, in the responses"
            )
            self.keeps = (
                "one activity in Temporal's history; ledger and trace in Redis; the intent before a commit step"
            )
        self._first = first
        self._manner = manner
        self._calls = 0
        self._skin = _SKINS[1]
        self._is_warm = False

    async def learn(self) -> Learned | None:
        """What the first run has learned; the requests behind the steps are learned of two more, with other values."""
        if self._manner == "requests":
            for number in _MAILS_LEARNED:
                await self._flow.clear()
                await run_once(replace(self._flow, values={**self._flow.values, **MAILS[number]}))
        return Learned(self._first.usage.calls, self._first.usage.input_tokens)

    def model_calls(self) -> int:
        """Of all runs."""
        return self._calls

    async def run(self) -> Window:
        """Do the flow by the real stack."""
        stage, mode = self._flow.stage, Mode.LEARN if self._manner == "learn" else Mode.AUTO
        if self._manner == "healed":
            self._skin = next(skin for skin in _SKINS if skin != self._skin)
            await stage.redesign(self._skin)
        try:
            ran = await run_once(self._flow, mode=mode)
        finally:
            await stage.redesign(_SKINS[0])
        if self._manner == "healed" and self._is_warm and ran.heals < len(self._flow.task.steps) // 2:
            raise Failed(f"only {ran.heals} elements had changed")
        self._calls += ran.usage.calls
        if self._manner == "requests" and "session.open" in ran.spans and self._is_warm:
            await self._flow.clear()  # one run in twenty goes through the page, to see if the site has changed
            return await self.run()
        if self.replays and self._is_warm and self._manner != "requests":
            self.shares.add(ran.spans)
        self._is_warm = True
        return ran.window


async def selectors_of(stage: Stage) -> dict[str, str]:
    """The CSS selector that the learning run recorded for each instruction."""
    client = open_redis(stage.place.settings.redis_url or "")
    try:
        entries = await RedisStepStore(client).entries(tenant=stage.place.settings.tenant)
    finally:
        await client.aclose()
    return {normalise(info.entry.instruction): info.entry.css for info in entries if info.entry.css}


async def _activity_spans(stage: Stage, history: WorkflowHistory) -> dict[str, list[Span]]:
    """Per activity type: when each was scheduled and completed, and what a browser action cost."""
    scheduled: dict[int, tuple[str, float]] = {}
    spans: dict[str, list[Span]] = {}
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            name = event.activity_task_scheduled_event_attributes.activity_type.name
            scheduled[event.event_id] = (name, _seconds(event))
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            completed = event.activity_task_completed_event_attributes
            name, begun = scheduled[completed.scheduled_event_id]
            costs, verified = Costs(), name in ("run.finish", ACTIVITY)
            if name.startswith("browser."):
                converter = stage.place.client.data_converter
                [outcome] = await converter.decode(completed.result.payloads, [StepOutcome])
                costs, verified = outcome.costs, outcome.verification is not None
            spans.setdefault(name, []).append(Span(begun, _seconds(event), costs, verified))
    return spans


def _all(spans: Mapping[str, list[Span]]) -> Iterable[Span]:
    return (span for found in spans.values() for span in found)


def _steps(spans: Mapping[str, list[Span]]) -> Iterable[Span]:
    return (span for name, found in spans.items() if name.startswith("browser.") for span in found)


def _seconds(event: HistoryEvent) -> float:
    return event.event_time.seconds + event.event_time.nanos / 1e9
