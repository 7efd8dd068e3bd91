"""How the facts of a run read in few words, wherever people read them: terminal, report, dashboard."""

from datetime import timedelta

from replaywright.domain.run.runs import Totals
from replaywright.domain.run.spending import money_said
from replaywright.domain.step.outcomes import Lookup


def how_found(lookup: Lookup, *, from_ledger: bool = False, already_done: bool = False) -> str:
    """How the element of a step was found, in few words; empty for a step on the page as a whole."""
    if from_ledger:
        return "done before"
    if already_done:
        return "already done"
    if lookup.from_model:
        return "model"
    if lookup.healed:
        return f"healed: {lookup.tier} {lookup.score:.2f}"
    if lookup.hit:
        return "declared" if lookup.tier == "query" else lookup.tier
    return f"miss: {lookup.reason}" if lookup.reason else ""


def duration(length: timedelta | float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`, `3 d 4 h`."""
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
    """`1 step`, `2 steps`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def totals_line(totals: Totals) -> str:
    """The counts of a run as one line."""
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
        cost = money_said(usage)
        told = [
            f"{usage.input_tokens + usage.output_tokens} tokens",
            *([cost] if cost else []),
            model_name(usage.model),
        ]
        asked += f" ({', '.join(told)})"
    return ", ".join([*parts, asked])


def model_name(name: str) -> str:
    """The model as it is shown; the stand-in never passes for a model."""
    return (
        f"{name or 'unnamed model'} – a stand-in, no language model" if is_stand_in(name) else name or "unnamed model"
    )


def is_stand_in(name: str) -> bool:
    """Whether this is the model that the demo serves itself."""
    return "stand-in" in name or "standin" in name
