"""Tables and figures of the programme."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.truth.trials import Told

COUNTS: dict[str, Callable[[Told], bool]] = {
    "fired": lambda one: one.fired,
    "replayed": lambda one: one.hits > 0,
    "without_page": lambda one: one.without_page,
    "false_done": lambda one: one.is_false_done,
    "duplicates": lambda one: one.is_duplicate,
    "untold": lambda one: one.is_untold,
    "lost": lambda one: one.is_lost,
    "misreported": lambda one: one.is_misreported,
    "stuck": lambda one: one.status == "stuck",
    "asked": lambda one: bool(one.asked),
    "asked_needlessly": lambda one: bool(one.needless),
}


def show(console: Console, told: Sequence[Told]) -> None:
    """One table by behaviour, one by fault and point."""
    groups: tuple[tuple[str, Callable[[Told], str]], ...] = (
        ("behaviour", lambda one: one.cell.behaviour.name),
        ("fault and point", lambda one: f"{one.cell.fault} {one.cell.point}".strip()),
    )
    for title, key in groups:
        table = Table(title=f"by {title}")
        table.add_column(title)
        for column in ("runs", *(name.replace("_", " ") for name in COUNTS), "done", "seconds"):
            table.add_column(column, justify="right")
        for name in dict.fromkeys(map(key, told)):
            table.add_row(*_row(name, [one for one in told if key(one) == name]))
        table.add_section()
        table.add_row(*_row("all", told))
        console.print(table)


def _row(name: str, told: Sequence[Told]) -> list[str]:
    counts = [len(told), *(sum(map(holds, told)) for holds in COUNTS.values())]
    done = sum(one.status == "done" for one in told)
    return [name, *map(str, counts), str(done), f"{sum(one.took_s for one in told) / max(1, len(told)):.1f}"]


def figures(planned: int, told: Sequence[Told], seconds: float) -> dict[str, Any]:
    """The last line."""
    return {
        "behaviours": len({one.cell.behaviour.name for one in told}),
        "planned": planned,
        "runs": len(told),
        **{name: sum(map(holds, told)) for name, holds in COUNTS.items()},
        "seconds": round(seconds, 1),
    }
