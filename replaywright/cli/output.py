"""What people read on a terminal and programs read from standard output.

Text from pages, models and files passes `plain` first: it can neither colour, move the cursor nor reorder a line.
"""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from replaywright.domain.outcomes import Lookup, Status
from replaywright.domain.runs import Progress, StepLine, Totals
from replaywright.domain.spending import money_said

_MARKS = {
    Status.DONE: ("✓", "green"),
    Status.MISSED: ("?", "yellow"),
    Status.UNMET: ("✗", "red"),
    Status.REFUSED: ("✗", "red"),
    Status.BLOCKED: ("⊘", "magenta"),
    Status.IN_DOUBT: ("!", "yellow"),
}
_ASCII_MARKS = {"✓": "+", "✗": "x", "⊘": "#", "…": "..."}


def standard_output() -> Console:
    """For results. Made anew each time: whoever captures standard output gets it."""
    return Console(highlight=False, markup=False, emoji=False)


def standard_error() -> Console:
    """For errors, and for progress when standard output belongs to a program."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def plain(text: str) -> str:
    """`text` on one line, without control and direction characters."""
    joined = " ".join(text.split())
    return "".join("�" if unicodedata.category(c) in {"Cc", "Cs"} or c in _DIRECTIONS else c for c in joined)


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def print_line(text: str, *, style: str = "", console: Console | None = None) -> None:
    """One line, never wrapped: it can be searched and cut by other programs. Spaces before it stay."""
    indent = " " * (len(text) - len(text.lstrip(" ")))
    (console or standard_output()).print(Text(indent + plain(text), style=style), soft_wrap=True)


def print_line_as_is(text: str, console: Console | None = None) -> None:
    """One line whose spaces stay; its parts have passed `plain`."""
    (console or standard_output()).print(Text(text), soft_wrap=True)


def say_error(text: str) -> None:
    """One line on standard error."""
    print_line(text, style="red", console=standard_error())


def print_json(data: Any, *, indent: int | None = None) -> None:
    """One JSON document on standard output."""
    standard_output().print(Text(json.dumps(data, ensure_ascii=True, indent=indent)), soft_wrap=True)


def json_text(data: Any) -> str:
    """Data as a JSON file: as it reads, one field a line."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def table(*columns: str, right: Iterable[str] = ()) -> Table:
    """An empty table in the one style that all commands use; `right` names the columns of numbers."""
    numbers = set(right)
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        is_number = column in numbers
        made.add_column(
            column, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold", vertical="top"
        )
    return made


def print_table(rows: Table, console: Console | None = None) -> None:
    """Print a table; where nobody watches, as wide as it needs to be."""
    target = console or standard_output()
    if not target.is_terminal:
        target.width = 400
    target.print(rows)


def cells(*values: object) -> tuple[Text, ...]:
    """Table cells of texts that may come from anywhere."""
    return tuple(value if isinstance(value, Text) else Text(plain(str(value))) for value in values)


def mark(status: Status, console: Console) -> Text:
    """A sign for how a step ended."""
    sign, colour = _MARKS[status]
    return Text(_fitting(sign, console), style=colour)


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


def step_text(line: StepLine, console: Console) -> Text:
    """A finished step as one line."""
    number = "" if line.kind == "note" else f" {line.sequence + 1:04d}"
    text = Text.assemble(mark(line.status, console), f"{number} {plain(line.title)}")
    if line.left_out:
        text.append(f"  (skipped: {plain(line.message)})", style="dim")
    elif how := how_found(line.lookup, from_ledger=line.from_ledger, already_done=line.already_done):
        text.append(f"  ({plain(how)})", style="yellow" if line.lookup.healed or line.lookup.from_model else "dim")
    if line.override:
        text.append(f"  [override {line.override}]", style="cyan")
    if line.overruled:
        text.append(f"  {plain(line.overruled)}", style="cyan")
    if line.message and line.status is not Status.DONE:
        text.append(f"  {plain(line.message)}", style="red")
    for warning in line.warnings:
        text.append(f"  warning: {plain(warning)}", style="yellow")
    return text


def progress_view(progress: Progress | None, note: str, console: Console, lines: int = 12) -> RenderableType:
    """The live view of a run: its last steps, what it is doing, and its counts."""
    view = Table.grid(padding=(0, 1))
    view.add_column(overflow="ellipsis", no_wrap=True)
    if progress is not None:
        for line in progress.lines[-lines:]:
            view.add_row(step_text(line, console))
        doing = progress.doing or progress.status
        view.add_row(Text(f"  {progress.step}/{progress.steps} {plain(doing)}", style="bold"))
        view.add_row(Text(f"  {totals_line(progress.totals)}", style="dim"))
    if note:
        view.add_row(Text(plain(note), style="yellow"))
    return view


def print_lines(lines: Sequence[StepLine], console: Console) -> None:
    """Steps, one a line."""
    for line in lines:
        console.print(step_text(line, console), soft_wrap=True)


def _fitting(text: str, console: Console) -> str:
    """`text`, or its ASCII form where the terminal's encoding cannot show it."""
    try:
        text.encode(console.encoding)
    except (LookupError, UnicodeEncodeError):
        return "".join(_ASCII_MARKS.get(character, character) for character in text)
    return text
