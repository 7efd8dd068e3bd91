"""Output for people on a terminal and for programs on standard output.

Text from pages, models and files passes `plain` first: it can neither colour, move the cursor nor reorder a line.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from replaywright.domain.common.text import plain as _plain
from replaywright.domain.common.text import still_lines
from replaywright.domain.run.runs import Progress, StepLine
from replaywright.domain.step.outcomes import Status
from replaywright.domain.trace import saying

_MARKS = {
    Status.DONE: ("✓", "green"),
    Status.MISSED: ("?", "yellow"),
    Status.UNMET: ("✗", "red"),
    Status.REFUSED: ("✗", "red"),
    Status.BLOCKED: ("⊘", "magenta"),
    Status.IN_DOUBT: ("!", "yellow"),
}
_ASCII_MARKS = {"✓": "+", "✗": "x", "⊘": "#", "…": "..."}

plain = _plain
count, duration, how_found = saying.count, saying.duration, saying.how_found
is_stand_in, model_name, totals_line = saying.is_stand_in, saying.model_name, saying.totals_line


def standard_output() -> Console:
    """Return a console for results. It is new each time, so that captured output works."""
    return Console(highlight=False, markup=False, emoji=False)


def standard_error() -> Console:
    """Return a console for errors, and for progress if standard output is read by a program."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def for_people(*, json: bool) -> Console:
    """Choose the stream on which people are told how it goes."""
    return standard_error() if json else standard_output()


def print_line(text: str, *, style: str = "", console: Console | None = None) -> None:
    """Print one line, never wrapped, so that other programs can search it. Leading spaces are kept."""
    indent = " " * (len(text) - len(text.lstrip(" ")))
    (console or standard_output()).print(Text(indent + plain(text), style=style), soft_wrap=True)


def print_line_as_is(text: str, console: Console | None = None) -> None:
    """Print one line with all its spaces; its parts have passed `plain`."""
    (console or standard_output()).print(Text(text), soft_wrap=True)


def print_progress(text: str) -> None:
    """Print a progress message on standard error."""
    print_line(text, style="dim", console=standard_error())


def warn(text: str) -> None:
    """Print a warning on standard error."""
    print_line(text, style="yellow", console=standard_error())


def print_error(text: str) -> None:
    """Print an error on standard error."""
    print_line(text, style="red", console=standard_error())


def print_json(data: Any, *, indent: int | None = None) -> None:
    """Print one JSON document on standard output."""
    standard_output().print(Text(json.dumps(data, ensure_ascii=True, indent=indent)), soft_wrap=True)


def print_result(text: str, data: Mapping[str, Any], *, json: bool, style: str = "") -> None:
    """Print the result of a command: `data` as JSON, or else `text`."""
    if json:
        print_json(data)
    else:
        print_line(text, style=style)


def json_text(data: Any) -> str:
    """Data as a JSON file: as it reads, one field a line."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def print_file(text: str) -> None:
    """Write a file to standard output: unchanged for a program, with control characters disarmed on a terminal."""
    sys.stdout.write(still_lines(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def time_text(unix: float) -> str:
    """Format a Unix time for people; empty for 0."""
    return datetime.fromtimestamp(unix).astimezone().strftime("%Y-%m-%d %H:%M") if unix else ""


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[str] = (),
    console: Console | None = None,
) -> None:
    """Print a table of texts that may come from anywhere; where nobody watches, as wide as it needs to be.

    `right` names the columns of numbers.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        is_number = column in right
        justify: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(column, justify=justify, no_wrap=is_number, overflow="fold", vertical="top")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(plain(str(cell))) for cell in row))
    target = console or standard_output()
    if not target.is_terminal:
        target.width = 400
    target.print(table)


def print_list(
    listed: Mapping[str, Sequence[Any]],
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    json: bool,
    nothing: str = "",
    right: Sequence[str] = (),
) -> None:
    """Print what a command lists: `listed` as JSON, or else the rows as a table, or that there is nothing."""
    if json:
        print_json(listed)
    elif nothing and not rows:
        print_line(nothing)
    else:
        print_table(columns, rows, right=right)


def mark(status: Status, console: Console) -> Text:
    """Return the sign for the status of a step."""
    sign, colour = _MARKS[status]
    return Text(fitting(sign, console), style=colour)


def step_text(line: StepLine, console: Console) -> Text:
    """Format a finished step as one line."""
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
    """Build the live view of a run: its last steps, its current action, and its counts."""
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


def fitting(text: str, console: Console) -> str:
    """Return `text`, or its ASCII form if the terminal's encoding cannot show it."""
    try:
        text.encode(console.encoding)
    except (LookupError, UnicodeEncodeError):
        return "".join(_ASCII_MARKS.get(character, character) for character in text)
    return text
