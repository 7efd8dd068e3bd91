"""Runs of the same task beside each other, as bars."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from replaywright.domain.trace.run_view import RunNumbers, RunView, StepView
from replaywright.domain.trace.saying import duration

SHOWN = 20
"""Runs in a chart, the newest."""
WIDTH, HEIGHT, TOP = 300.0, 96.0, 14.0
_GAP = 0.25
STRIP = 1000.0
LONGEST_STRIP = 400
"""Steps that are shown in the strip at most; more could not be told apart."""


@dataclass(frozen=True)
class Bar:
    """One run in a chart, or one step in the strip."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    said: str


@dataclass(frozen=True)
class Chart:
    """One measure of the runs."""

    title: str
    latest: str
    """Measure of this run, in words."""
    change: str
    """Against the run before it, in words."""
    bars: tuple[Bar, ...]
    said: str
    """The whole in one sentence, for those who do not see it."""


def charts_of(view: RunView) -> tuple[Chart, ...]:
    """Seconds, model calls and tokens of the runs of this task; none without an earlier one."""
    if not view.facts.earlier:
        return ()
    runs = compared(view)
    return (
        _chart("Duration", runs, lambda run: run.seconds, duration),
        _chart("Model calls", runs, lambda run: float(run.calls), lambda value: f"{value:,.0f}"),
        _chart("Tokens", runs, lambda run: float(run.tokens), lambda value: f"{value:,.0f}"),
    )


def compared(view: RunView) -> tuple[RunNumbers, ...]:
    """Return the runs to compare, oldest first, this one last."""
    earlier = sorted(view.facts.earlier, key=lambda run: run.started)[-(SHOWN - 1) :]
    return (*earlier, view.numbers)


def _chart(
    title: str, runs: Sequence[RunNumbers], value_of: Callable[[RunNumbers], float], words: Callable[[float], str]
) -> Chart:
    values = [value_of(run) for run in runs]
    most = max(values) or 1.0
    slot = min(WIDTH / len(runs), 40.0)
    bars = []
    for place, (run, value) in enumerate(zip(runs, values, strict=True)):
        high = max((HEIGHT - TOP) * value / most, 2.0)
        tone = "this" if run.is_this else "ok" if run.status == "done" else "bad"
        x, y = place * slot + slot * _GAP / 2, HEIGHT - high
        message = f"{run.run_id}: {words(value)}, {run.status.replace('_', ' ')}"
        bars.append(Bar(round(x, 2), round(y, 2), round(slot * (1 - _GAP), 2), round(high, 2), tone, message))
    message = f"{title} of {len(runs)} runs, oldest first: {', '.join(map(words, values))}."
    return Chart(title, words(values[-1]), _change(values), tuple(bars), message)


def _change(values: Sequence[float]) -> str:
    """Describe the change of the measure since the first run shown."""
    first, last = values[0], values[-1]
    if first == last:
        return "the same as in the first run shown"
    if not last:
        return "none any more"
    if not first:
        return "none in the first run shown"
    ratio = first / last
    return f"{ratio:.1f} times less than in the first run" if ratio > 1 else f"{1 / ratio:.1f} times the first run's"


def strip_of(steps: Sequence[StepView], tone_of: Callable[[StepView], str]) -> tuple[Bar, ...]:
    """Lay out the steps as one bar, each with a width in proportion to its duration."""
    if not 1 < len(steps) <= LONGEST_STRIP:
        return ()
    least = STRIP / len(steps) / 4
    total = sum(step.seconds for step in steps)
    room = STRIP - least * len(steps)
    bars, x = [], 0.0
    for step in steps:
        wide = least + (room * step.seconds / total if total else room / len(steps))
        message = f"Step {step.number}: {duration(step.seconds)}"
        bars.append(Bar(round(x, 2), 0, round(max(wide - 1.5, 0.5), 2), 14, tone_of(step), message))
        x += wide
    return tuple(bars)
