"""A replay beside a plain Playwright script: same flow, same site, same locators and checks, interleaved.

    make bench-replay                 # 12 rounds
    make bench-replay ARGS="--rounds 30"

Both are timed from the moment their browser is ready to the last check: starting and closing browsers is left out.
The script uses the CSS selectors that the learning run recorded, waits for the same conditions as the task file's
expectations and keeps nothing; Replaywright runs with Temporal, Redis, ledger, trace and verification on.
"""

import argparse
import asyncio
import json
import re
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from playwright.async_api import Browser, Page, async_playwright
from rich.console import Console
from rich.table import Table
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from cache.connection import open_redis
from cache.steps import RedisStepStore
from demo.main_job import MAILS, TASK_FILE
from demo.stage import Stage
from replaywright.cli.follow import handle_of
from replaywright.cli.starting import Order, start
from replaywright.cli.taskfile import new_run_id, read_task
from replaywright.domain.outcomes import Costs, StepOutcome
from replaywright.domain.predicates import Predicate, TextContains, UrlContains, ValueEquals
from replaywright.domain.steps import Fill, Goto, SelectOption, Step, names_element
from replaywright.domain.tasks import Task, bind_parameters
from replaywright.domain.templates import fill
from replaywright.domain.text import normalise
from replaywright.errors import StackFailed
from replaywright.settings import load_settings

LIMIT_MS = 10_000
PARTS = ("redis", "recording", "locating", "acting", "verifying")
"""What a step's own costs tell; the rest of its time is Temporal's."""
CHROMIUM_ARGUMENTS = ("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync")


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


@dataclass(frozen=True)
class Span:
    """One activity, from scheduled to completed, in seconds; `costs` for browser actions."""

    begun: float
    ended: float
    costs: Costs


class Script:
    """The flow as somebody would write it by hand with Playwright."""

    def __init__(self, task: Task, values: Mapping[str, str], selectors: Mapping[str, str], password: str) -> None:
        self._task = task
        self._values = values
        self._selectors = selectors
        self._password = password

    async def run(self, page: Page) -> float:
        """Run once; returns milliseconds from the first navigation to the last check."""
        begun = time.perf_counter()
        for step in self._task.steps:
            await self._step(page, step)
            await self._check(page, step.expect)
        await self._check(page, self._task.verify)
        return (time.perf_counter() - begun) * 1000

    async def _step(self, page: Page, step: Step) -> None:
        if isinstance(step, Goto):
            await page.goto(fill(step.url, self._values), wait_until="domcontentloaded")
            return
        element = page.locator(self._selectors[normalise(step.instruction)])
        match step:
            case Fill(value=value):
                await element.fill(fill(value, self._values, lambda _name: self._password))
            case SelectOption(wanted=labels):
                await element.select_option(label=[fill(label, self._values) for label in labels])
            case _:
                await element.click()

    async def _check(self, page: Page, expect: Iterable[Predicate]) -> None:
        for predicate in expect:
            match predicate:
                case UrlContains(url_contains=text):
                    wanted = fill(text, self._values)
                    await page.wait_for_url(re.compile(re.escape(wanted)), wait_until="domcontentloaded")
                case TextContains(text_contains=text):
                    await page.get_by_text(fill(text, self._values)).first.wait_for()
                case ValueEquals(value_equals=text):
                    focused = await page.evaluate(
                        "text => [...document.querySelectorAll('input, textarea, select')].some("
                        "e => e.value === text || e.selectedOptions?.[0]?.label === text)",
                        fill(text, self._values),
                    )
                    if not focused:
                        raise StackFailed(f"the script's field does not hold {text!r}")
                case _:
                    raise StackFailed(f"the script has no check for {predicate!r}")


async def selectors_of(stage: Stage) -> dict[str, str]:
    """The CSS selector that the learning run recorded for each instruction."""
    client = open_redis(stage.place.settings.redis_url or "")
    try:
        entries = await RedisStepStore(client).entries(tenant=stage.place.settings.tenant)
    finally:
        await client.aclose()
    return {normalise(info.entry.instruction): info.entry.css for info in entries if info.entry.css}


async def replay(stage: Stage, task: Task, values: dict[str, str], shares: Shares | None) -> tuple[float, int]:
    """Run the task once; returns milliseconds from "browser open" to "verified", and the model calls."""
    order = Order(task, values, new_run_id(task, values))
    await start(stage.place, order)
    handle = handle_of(stage.place.client, order.run_id)
    result = await handle.result()
    history = await handle.fetch_history()
    spans = await activity_spans(stage, history)
    window = (spans["run.finish"][-1].ended - spans["session.open"][0].ended) * 1000
    if shares is not None:
        _share(spans, shares)
    return window, result.totals.usage.calls


async def activity_spans(stage: Stage, history: WorkflowHistory) -> dict[str, list[Span]]:
    """Per activity type: when each was scheduled and completed, in seconds, and the step outcome it returned."""
    scheduled: dict[int, tuple[str, float]] = {}
    spans: dict[str, list[Span]] = {}
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            name = event.activity_task_scheduled_event_attributes.activity_type.name
            scheduled[event.event_id] = (name, _seconds(event))
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            completed = event.activity_task_completed_event_attributes
            name, begun = scheduled[completed.scheduled_event_id]
            costs = Costs()
            if name.startswith("browser."):
                converter = stage.place.client.data_converter
                [outcome] = await converter.decode(completed.result.payloads, [StepOutcome])
                costs = outcome.costs
            spans.setdefault(name, []).append(Span(begun, _seconds(event), costs))
    return spans


def _seconds(event: HistoryEvent) -> float:
    return event.event_time.seconds + event.event_time.nanos / 1e9


def _share(spans: dict[str, list[Span]], shares: Shares) -> None:
    steps = sorted(
        (span for name, found in spans.items() if name.startswith("browser.") for span in found), key=lambda s: s.ended
    )
    before = spans["session.open"][0].ended
    for span in steps:
        costs = span.costs
        known = {name: getattr(costs, f"{name}_ms") for name in PARTS}
        shares.temporal.append(max(0.0, (span.ended - before) * 1000 - costs.total_ms))
        for name, value in known.items():
            getattr(shares, name).append(value)
        shares.other.append(max(0.0, costs.total_ms - sum(known.values())))
        shares.evaluations.append(costs.evaluations)
        shares.round_trips.append(costs.redis_round_trips)
        before = span.ended


def p95(values: Sequence[float]) -> float:
    """The 95th percentile (nearest rank)."""
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]


async def measure(rounds: int, console: Console) -> dict[str, float]:
    """Learn once, then measure both contenders round by round."""
    task = read_task(str(TASK_FILE))
    script_ms: list[float] = []
    replay_ms: list[float] = []
    shares = Shares()
    calls = 0
    async with Stage(load_settings(), tell=console.print) as stage, async_playwright() as playwright:
        values = bind_parameters(task, {"base_url": stage.webmail, **MAILS["1"]})
        await replay(stage, task, values, None)
        selectors = await selectors_of(stage)
        console.print(f"learned {len(selectors)} of {sum(map(names_element, task.steps))} elements; {rounds} rounds")
        settings = stage.place.settings
        browser = await playwright.chromium.launch(
            executable_path=str(settings.chromium),
            args=[*CHROMIUM_ARGUMENTS, *([] if settings.chromium_sandbox else ["--no-sandbox"])],
        )
        script = Script(task, values, selectors, stage.password)
        await _once(browser, script)  # both begin warm
        for _ in range(rounds):
            script_ms.append(await _once(browser, script))
            window, used = await replay(stage, task, values, shares)
            replay_ms.append(window)
            calls += used
        await browser.close()
        sent = len(stage.sent())
    return _shown(console, script_ms, replay_ms, shares, calls=calls, sent=sent)


async def _once(browser: Browser, script: Script) -> float:
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(LIMIT_MS)
    try:
        return await script.run(await context.new_page())
    finally:
        await context.close()


def _shown(
    console: Console, script_ms: list[float], replay_ms: list[float], shares: Shares, *, calls: int, sent: int
) -> dict[str, float]:
    table = Table(title="the demo's flow, milliseconds, browser start excluded")
    for column in ("contender", "median", "p95", "min", "ratio"):
        table.add_column(column, justify="left" if column == "contender" else "right")
    base = statistics.median(script_ms)
    for name, values in (("Playwright script", script_ms), ("Replaywright replay", replay_ms)):
        median = statistics.median(values)
        row = (median, p95(values), min(values))
        table.add_row(name, *(f"{value:.0f}" for value in row), f"{median / base:.2f}")
    console.print(table)
    parts = Table(title="where a replayed step's time goes, milliseconds per step")
    for column in ("part", "median", "mean"):
        parts.add_column(column, justify="left" if column == "part" else "right")
    for name in ("temporal", *PARTS, "other"):
        values = getattr(shares, name)
        parts.add_row(name, f"{statistics.median(values):.1f}", f"{statistics.mean(values):.1f}")
    console.print(parts)
    figures = {
        "ratio": round(statistics.median(replay_ms) / base, 3),
        "script_ms": round(base, 1),
        "script_p95_ms": round(p95(script_ms), 1),
        "replay_ms": round(statistics.median(replay_ms), 1),
        "replay_p95_ms": round(p95(replay_ms), 1),
        "evaluations_per_step": round(statistics.mean(shares.evaluations), 3),
        "redis_round_trips_per_step": round(statistics.mean(shares.round_trips), 3),
        "redis_round_trips_max": max(shares.round_trips),
        "model_calls": calls,
        "rounds": len(script_ms),
        "mails": sent,
    }
    for name in ("temporal", *PARTS, "other"):
        figures[f"{name}_ms_per_step"] = round(statistics.mean(getattr(shares, name)), 2)
    return figures


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="how often each contender runs (default: %(default)s)")
    given = parser.parse_args()
    figures = asyncio.run(measure(max(10, given.rounds), Console()))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
