"""What verification adds to a replayed step whose expectation already holds: the same steps, with and without.

    make bench-verify
    make bench-verify ARGS="--rounds 60 --elements 10000"

A real Chromium, one page with as many elements as asked for, and steps that are replayed as the activities replay them:
their element was recorded, and what they set off is known. Every step is performed without an expectation and with one
of each kind, in turn, so that all of them meet the same page and the same machine. What is expected holds all along. A
figure is the median, over the rounds, of what the step took more than without an expectation in the same round.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table

from bench.chromium import connection_to, launched
from bench.environments import serve_folder
from bench.generated import large_page
from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.task.steps import Step
from replaywright.errors import StackFailed
from replaywright.ports.browser import Work

NONE = "none"
CONTROLS = """<section aria-label="Controls">
<p data-testid="state">Ready, off</p>
<button id="toggle" aria-label="Toggle the state">Toggle</button>
<label>Comment <input id="comment"></label> <label><input type="checkbox" id="copy"> Keep a copy</label>
<label>Fixed <input value="as it was"></label>
</section>
<script>
  const state = document.querySelector("[data-testid=state]");
  document.querySelector("#toggle").onclick = () => {
    state.textContent = state.textContent.endsWith("off") ? "Ready, on" : "Ready, off";
  };
</script>"""
"""Put before everything else in the page, so that the controls are in view."""
EXPECTATIONS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    NONE: (),
    "url_contains": ({"url_contains": "/page"},),
    "text_contains": ({"text_contains": "Ready"},),
    "exists": ({"exists": {"role": "button", "name": "Toggle the state"}},),
    "not_exists": ({"not_exists": {"role": "alert"}},),
    "visible": ({"visible": {"test_id": "state"}},),
    "count": ({"count": {"role": "button", "name": "Toggle the state"}, "equals": 1},),
    "value_equals": ({"value_equals": "as it was", "of": {"label": "Fixed"}},),
    "enabled": ({"enabled": {"label": "Comment"}},),
    "three": (
        {"url_contains": "/page"},
        {"text_contains": "Ready"},
        {"exists": {"role": "button", "name": "Toggle the state"}},
    ),
}
"""What is expected of the steps, by kind; all of it holds before them and after them."""
_STEP: TypeAdapter[Step] = TypeAdapter(Step)
_PREDICATE: TypeAdapter[Predicate] = TypeAdapter(Predicate)


class _Walk:
    """A step that is performed again and again, each time with something to do."""

    def __init__(self, name: str, query: Mapping[str, str], actions: Sequence[Mapping[str, str]]) -> None:
        self.name = name
        self._query = ElementQuery.model_validate(query)
        self._actions = actions
        self._turn = 0
        self._recorded: Target | None = None

    async def perform(self, session: ChromiumSession, expect: Sequence[Mapping[str, Any]]) -> float:
        """Once, as it is replayed; how long it took, in milliseconds.

        Raises:
            StackFailed: it did nothing, or what is expected does not hold.
        """
        action = self._actions[self._turn % len(self._actions)]
        self._turn += 1
        step = _STEP.validate_python({"instruction": "the element", "expect": expect, **action})
        begun = time.perf_counter()
        report = await session.perform(
            Work(
                step=step,
                text=action.get("value", ""),
                target=self._recorded,
                query=None if self._recorded else self._query,
                expect=tuple(_PREDICATE.validate_python(one) for one in expect),
                causes=() if self._recorded else None,
            )
        )
        taken = (time.perf_counter() - begun) * 1000
        if not report.acted or any(not verdict.passed for verdict in report.after):
            raise StackFailed(f"the step {self.name!r} was not done with {expect}: {report.lookup}, {report.after}")
        self._recorded = report.target
        return taken


def walks() -> tuple[_Walk, ...]:
    """The steps that are measured."""
    return (
        _Walk("click", {"role": "button", "name": "Toggle the state"}, ({"action": "click"},)),
        _Walk(
            "fill",
            {"label": "Comment"},
            ({"action": "fill", "value": "one"}, {"action": "fill", "value": "another"}),
        ),
        _Walk("check", {"label": "Keep a copy"}, ({"action": "check"}, {"action": "uncheck"})),
    )


@dataclass
class Times:
    """Milliseconds of one step with one kind of expectation."""

    taken: list[float] = field(default_factory=list)
    added: list[float] = field(default_factory=list)
    """More than the same step took without one in the same round."""


@asynccontextmanager
async def _opened(text: str) -> AsyncIterator[ChromiumSession]:
    async with launched() as browser:
        context = await browser.new_context(viewport={"width": 1280, "height": 900})
        session = ChromiumSession(browser, context, await connection_to(browser))
        await session.open()
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "page.html").write_text(text, encoding="utf-8")
            with serve_folder(Path(folder)) as address:
                opening = _STEP.validate_python({"action": "goto", "url": f"{address}/page.html"})
                await session.perform(Work(step=opening))
                yield session
        await session.detach()


async def measure(rounds: int, elements: int, console: Console) -> dict[str, Any]:
    """Perform all steps with every kind of expectation, `rounds` times, and show what that took."""
    steps, kinds = walks(), tuple(EXPECTATIONS)
    times = {(step.name, kind): Times() for step in steps for kind in kinds}
    async with _opened(page_of(elements)) as session:
        for step in steps:
            for kind in kinds:  # the page and the agent begin warm
                await step.perform(session, EXPECTATIONS[kind])
        for number in range(rounds):
            first = number % len(kinds)
            for step in steps:
                # Nobody always comes first.
                order = kinds[first:] + kinds[:first]
                taken = {kind: await step.perform(session, EXPECTATIONS[kind]) for kind in order}
                for kind, value in taken.items():
                    times[step.name, kind].taken.append(value)
                    times[step.name, kind].added.append(value - taken[NONE])
    return shown(console, times, rounds, elements)


def page_of(elements: int) -> str:
    """A page of about so many elements, with the controls that the steps are about."""
    return large_page(elements).replace("<body>", f"<body>{CONTROLS}", 1)


def shown(console: Console, times: Mapping[tuple[str, str], Times], rounds: int, elements: int) -> dict[str, Any]:
    """The table, and the figures of the last line."""
    table = Table(title=f"replayed steps on a page of {elements} elements, milliseconds, median of {rounds} rounds")
    for column in ("step", "expectation", "with", "without", "added"):
        table.add_column(column, justify="right" if column in ("with", "without", "added") else "left")
    added: dict[str, list[float]] = {}
    for (step, kind), one in times.items():
        without = statistics.median(times[step, NONE].taken)
        if kind == NONE:
            continue
        added.setdefault(kind, []).extend(one.added)
        cells = (statistics.median(one.taken), without, statistics.median(one.added))
        table.add_row(step, kind, *(f"{value:.1f}" for value in cells))
    console.print(table)
    medians = {kind: round(statistics.median(values), 2) for kind, values in added.items()}
    return {
        "added_ms": round(statistics.median([value for values in added.values() for value in values]), 2),
        "added_ms_most": max(medians.values()),
        "added_ms_by_kind": medians,
        "step_ms": {
            step: round(statistics.median(one.taken), 1) for (step, kind), one in times.items() if kind == NONE
        },
        "rounds": rounds,
        "elements": elements,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rounds", type=int, default=40, help="how often each step is performed (default: %(default)s)"
    )
    parser.add_argument(
        "--elements", type=int, default=1_000, help="about how many elements the page has (default: %(default)s)"
    )
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"--rounds: {given.rounds} is too few; give at least 1")
    if given.elements < 500:
        parser.error(f"--elements: {given.elements} is too few for a page with everything on it; give at least 500")
    console = Console() if sys.stdout.isatty() else Console(width=120)
    print(json.dumps(asyncio.run(measure(given.rounds, given.elements, console))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
