"""What came out, as a table in the terminal, as Markdown, as a chart and as one JSON object."""

import html
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.replaying.contest import Result, p95, ratio, ratios
from bench.replaying.ours import BY_REQUESTS, HEALED, Replaywright
from bench.replaying.peers import Peer

_COLUMNS = ("contestant", "version", "rounds", "median ms", "p95 ms", "ratio", "model calls", "tokens of the first run")
_BAR, _ROW, _LEFT, _RIGHT = 360, 30, 260, 110


def show(results: Sequence[Result], console: Console) -> None:
    """Print the table, what each looks at and keeps, who was left out, and where our time goes."""
    table = Table(title="one mail by the demo's webmail; ratios to checked Playwright, round by round")
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column in _COLUMNS[:2] else "right")
    for row in _rows(results):
        table.add_row(*row)
    console.print(table)
    for line in _remarks(results):
        console.print(line, highlight=False)
    if parts := _parts(results):
        shares = Table(title="where a step of a replay spends its time, milliseconds per step")
        for column in ("part", "median", "mean"):
            shares.add_column(column, justify="left" if column == "part" else "right")
        for name, values in parts.items():
            shares.add_row(name, f"{statistics.median(values):.1f}", f"{statistics.mean(values):.1f}")
        console.print(shares)


def write(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write `replay.md` and `replay.svg`; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    page, chart = folder / "replay.md", folder / "replay.svg"
    page.write_text(_markdown(results), encoding="utf-8")
    chart.write_text(_chart(results), encoding="utf-8")
    return [page, chart]


def figures(results: Sequence[Result], *, rounds: int) -> dict[str, object]:
    """What the last line tells."""
    told = ratios(results)
    by_name = {result.contestant.name: result for result in results}
    ours = by_name.get("Replaywright")
    given: dict[str, object] = {
        "ratio": _rounded(told.get("Replaywright")),
        "ratio_healed_to_hit": _rounded(_healed_to_hit(by_name)),
        "ratio_requests": _rounded(told.get(BY_REQUESTS)),
        "peers": {name: _rounded(value) for name, value in told.items() if isinstance(by_name[name].contestant, Peer)},
        "skipped": {result.contestant.name: result.skipped for result in results if result.skipped},
        "failed_runs": sum(len(each.failures) for each in results if not isinstance(each.contestant, Peer)),
        "failed_peer_runs": sum(len(each.failures) for each in results if isinstance(each.contestant, Peer)),
        "rounds": rounds,
        "load": round(os.getloadavg()[0], 2),
    }
    if ours is None or not isinstance(ours.contestant, Replaywright):
        return given
    given["model_calls"] = ours.model_calls
    if ours.times:
        given["steps_per_second"] = round(len(ours.contestant.steps) * 1000 / statistics.median(ours.times), 1)
        given["p95_ms"] = round(p95(ours.times), 1)
        given["median_ms"] = round(statistics.median(ours.times), 1)
    if ours.contestant.shares.evaluations:
        shares = ours.contestant.shares
        given["evaluations_per_step"] = round(statistics.mean(shares.evaluations), 3)
        given["redis_round_trips_per_step"] = round(statistics.mean(shares.round_trips), 3)
        given |= {f"{name}_ms_per_step": round(statistics.mean(values), 2) for name, values in shares.parts.items()}
    return given


def _healed_to_hit(by_name: Mapping[str, Result]) -> float | None:
    """Return how much longer a run takes that heals every element, round by round."""
    healed, hit = by_name.get(HEALED), by_name.get("Replaywright")
    return None if healed is None or hit is None else ratio(healed, hit)


def _rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    told = ratios(results)
    rows: list[tuple[str, ...]] = []
    for result in sorted(results, key=lambda result: statistics.median(result.times) if result.times else float("inf")):
        who, times = result.contestant, result.times
        if result.skipped:
            continue
        ms = (f"{statistics.median(times):.0f}", f"{p95(times):.0f}") if times else ("none done", "")
        first = result.learned
        rows.append(
            (
                who.name,
                who.version,
                str(len(times)),
                *ms,
                f"{told[who.name]:.2f}" if who.name in told else "",
                str(result.model_calls),
                f"{first.prompt_tokens:,} ({first.model_calls} calls)" if first else "",
            )
        )
    return rows


def _remarks(results: Sequence[Result]) -> list[str]:
    took_part = [result for result in results if not result.skipped]
    lines = [
        f"{result.contestant.name}: verifies {result.contestant.verifies}; keeps {result.contestant.keeps}."
        for result in took_part
    ]
    lines += [f"{result.contestant.name}: skipped: {result.skipped}" for result in results if result.skipped]
    lines += [f"{result.contestant.name}: not timed: {failure}" for result in took_part for failure in result.failures]
    return lines


def _parts(results: Sequence[Result]) -> Mapping[str, list[float]]:
    for result in results:
        if isinstance(result.contestant, Replaywright) and result.contestant.shares.temporal:
            return result.contestant.shares.parts
    return {}


def _markdown(results: Sequence[Result]) -> str:
    lines = ["# A replay beside Playwright and other tools", ""]
    lines += [f"Load average of the machine at the end: {os.getloadavg()[0]:.1f}.", ""]
    lines += [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * 2}{'--:|' * (len(_COLUMNS) - 2)}"]
    lines += [f"| {' | '.join(row)} |" for row in _rows(results)]
    lines += ["", "![ratios](replay.svg)", "", *(f"- {remark}" for remark in _remarks(results)), ""]
    if parts := _parts(results):
        lines += ["| part of a step | median ms | mean ms |", "|---|--:|--:|"]
        lines += [
            f"| {name} | {statistics.median(values):.1f} | {statistics.mean(values):.1f} |"
            for name, values in parts.items()
        ]
    return "\n".join(lines) + "\n"


def _chart(results: Sequence[Result]) -> str:
    """Bars of the ratios, the longest as wide as the chart; a line where checked Playwright is."""
    told = sorted(ratios(results).items(), key=lambda pair: pair[1])
    longest = max((value for _, value in told), default=1.0)
    height = _ROW * (len(told) + 1)
    bars = []
    for number, (name, value) in enumerate(told):
        y, width = _ROW * number + 10, max(1.0, value / longest * _BAR)
        colour = "#2563eb" if name.startswith("Replaywright") else "#9ca3af"
        bars.append(
            f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{html.escape(name)}</text>'
            f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="20" fill="{colour}"/>'
            f'<text x="{_LEFT + width + 6:.1f}" y="{y + 14}">{value:.2f}</text>'
        )
    one = _LEFT + _BAR / longest
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _BAR + _RIGHT}" height="{height}" role="img" '
        f'aria-label="time of a run as a ratio to checked Playwright" font-family="sans-serif" font-size="13">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(bars)}'
        f'<line x1="{one:.1f}" x2="{one:.1f}" y1="4" y2="{height - _ROW + 8}" stroke="#dc2626" stroke-dasharray="4 3"/>'
        f"</svg>\n"
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
