"""Facts of a run in few words, for terminal, report and dashboard."""

from datetime import timedelta

from replaywright.domain.run.runs import Totals
from replaywright.domain.run.spending import money_said
from replaywright.domain.step.outcomes import Lookup


def how_found(lookup: Lookup, *, from_ledger: bool = False, already_done: bool = False) -> str:
    """Return in few words how the element of a step was found; empty for a step on the page as a whole."""
    if from_ledger:
        return "done before"
    if already_done:
        return "already done"
    if lookup.from_model:
        return "model"
    if lookup.candidate_of:
        return "candidate"
    if lookup.healed:
        return f"healed: {lookup.tier} {lookup.score:.2f}"
    if lookup.hit:
        return "declared" if lookup.tier == "query" else lookup.tier
    return f"miss: {lookup.reason}" if lookup.reason else ""


def duration(length: timedelta | float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`, `3 d 4 h`."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def count(number: int, one: str, many: str = "") -> str:
    """Format a count: `1 step`, `2 steps`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """Format a size, as `812 bytes`, `4.1 kB` or `2.0 MB`."""
    if number < 1000:
        return f"{number} bytes"
    return f"{number / 1000:.1f} kB" if number < 1_000_000 else f"{number / 1_000_000:.1f} MB"


def totals_line(totals: Totals) -> str:
    """Return the counts of a run as one line."""
    parts = [
        count(totals.steps, "step"),
        count(totals.hits, "hit"),
        count(totals.heals, "heal"),
        count(totals.fallbacks, "fallback"),
    ]
    parts += [f"{totals.learned} learned"] if totals.learned else []
    parts += [f"{totals.from_ledger} done before"] if totals.from_ledger else []
    parts += [f"{totals.skipped} skipped"] if totals.skipped else []
    parts += [count(totals.recoveries, "recovery", "recoveries")] if totals.recoveries else []
    parts += [count(totals.overrides, "override")] if totals.overrides else []
    parts += [f"{totals.overruled} overruled"] if totals.overruled else []
    parts += [count(totals.warnings, "warning")] if totals.warnings else []
    parts += [count(totals.plans, "revised plan")] if totals.plans else []
    usage = totals.usage
    asked = count(usage.calls, "model call")
    if usage.calls:
        tokens = f"{usage.input_tokens + usage.output_tokens} tokens"
        asked += f" ({', '.join(filter(None, (tokens, money_said(usage), model_name(usage.model))))})"
    return ", ".join([*parts, asked])


def model_name(name: str) -> str:
    """Return the displayed name of the model; a stand-in is marked as such."""
    return f"{name} – a stand-in, no language model" if is_stand_in(name) else name or "unnamed model"


def is_stand_in(name: str) -> bool:
    """Return True for the demo's own model."""
    return "stand-in" in name or "standin" in name
