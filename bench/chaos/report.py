"""Tables and figures of the chaos programme."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.chaos.runs import Told


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value below which this share of all lies, by rank; None of none."""
    ordered = sorted(values)
    return None if not ordered else ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _row(name: str, told: Sequence[Told]) -> list[str]:
    recovery = [one.recovery_s for one in told if one.recovery_s is not None]
    counts = (
        len(told),
        sum(one.fired for one in told),
        sum(one.is_duplicate for one in told),
        sum(one.is_lost for one in told),
        sum(one.is_false_success for one in told),
        sum(one.is_misreported for one in told),
        sum(one.status == "stuck" for one in told),
        sum(bool(one.waited) for one in told),
        sum(one.waited_in_vain for one in told),
        sum(one.model_calls for one in told),
    )
    return [name, *map(str, counts), _seconds(_median(recovery)), _seconds(percentile(recovery, 0.95))]


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


COLUMNS = (
    "runs",
    "fired",
    "duplicates",
    "lost",
    "false success",
    "misreported",
    "stuck",
    "waiting",
    "in vain",
    "model calls",
    "recovery s",
    "p95",
)


def show(console: Console, told: Sequence[Told]) -> None:
    """One table by point, one by fault, one by behaviour, one of every pair that was run, and the bound."""
    groups: tuple[tuple[str, Callable[[Told], str]], ...] = (
        ("point × fault", lambda one: f"{one.cell.point} × {one.cell.fault}"),
        ("point", lambda one: one.cell.point),
        ("fault", lambda one: one.cell.fault),
        ("behaviour", lambda one: one.cell.behaviour.name),
    )
    for title, key in groups:
        table = Table(title=f"by {title}")
        table.add_column(title)
        for column in COLUMNS:
            table.add_column(column, justify="right")
        for name in sorted({key(one) for one in told}):
            table.add_row(*_row(name, [one for one in told if key(one) == name]))
        table.add_section()
        table.add_row(*_row("all", told))
        console.print(table)
    if told and not any(one.is_duplicate for one in told):
        share = min(1.0, 3 / len(told))
        bound = f"0 duplicates in {len(told)} runs: with 95 % confidence fewer than {share:.2%} (rule of three)"
        console.print(bound)


def figures(planned: int, told: Sequence[Told], seconds: float) -> dict[str, Any]:
    """The last line."""
    recovery = [one.recovery_s for one in told if one.recovery_s is not None]
    median, late = _median(recovery), percentile(recovery, 0.95)
    return {
        "planned": planned,
        "fired": sum(one.fired for one in told),
        "runs": len(told),
        "duplicates": sum(one.is_duplicate for one in told),
        "lost": sum(one.is_lost for one in told),
        "false_successes": sum(one.is_false_success for one in told),
        "misreported": sum(one.is_misreported for one in told),
        "stuck": sum(one.status == "stuck" for one in told),
        "waiting": sum(bool(one.waited) for one in told),
        "waiting_in_vain": sum(one.waited_in_vain for one in told),
        "model_calls": sum(one.model_calls for one in told),
        "recovery_s": None if median is None else round(median, 2),
        "recovery_p95_s": None if late is None else round(late, 2),
        "behaviours": {
            behaviour.name: sum(one.fired for one in told if one.cell.behaviour == behaviour)
            for behaviour in dict.fromkeys(one.cell.behaviour for one in told)
        },
        "bound": round(min(1.0, 3 / len(told)), 4) if told else None,
        "seconds": round(seconds, 1),
    }
