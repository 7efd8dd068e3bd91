"""Files of rows: parsed before a batch begins, and written with the results.

A file of rows is CSV whose first line names the task's parameters. All faults are reported before a batch begins, with
line, column, value and remedy.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from replaywright.domain.batch.batches import Row, RowEnd
from replaywright.domain.common.durations import iso_of
from replaywright.domain.common.elsewhere import MOST_ROWS
from replaywright.domain.common.text import shorten
from replaywright.domain.task.tasks import Parameter, Task, bind_parameters, checked_value
from replaywright.errors import InputInvalid

_DELIMITERS = (",", ";", "\t")
_SHOWN = 60
"""Characters of a value in a message."""
_MORE_SHOWN = 4
"""Further faults in a message."""
_CELL_LIMIT = 1_000_000
"""Characters of a cell that the CSV reader accepts; the limits of tasks have their own messages."""
RESULT_COLUMNS = (
    "row",
    "line",
    "status",
    "reason",
    "message",
    "step",
    "seconds",
    "ended",
    "run",
    "commits",
    "extracted",
)
"""Columns of a file of results before the values of the row."""


def read_rows(data: bytes, source: str, task: Task, common: Mapping[str, str]) -> list[Row]:
    """Parse a CSV file into rows with all values; `common` has the values without a column.

    The file is UTF-8. Cells may be quoted, empty lines are skipped, and an empty cell means the parameter's default.
    The separator is the one that the header has most of: comma, semicolon or tab.

    Raises:
        InputInvalid: the first faults with file, line, column, value and remedy, and the number of further ones.
    """
    text = _text(data, source)
    records = _records(text, source)
    header_line, header = next(records, (1, []))
    columns = _columns(header, f"{source}:{header_line}", task, common)
    rows: list[Row] = []
    faults: list[str] = []
    for line, cells in records:
        if len(rows) + len(faults) == MOST_ROWS:
            raise InputInvalid(
                f"{source}:{line}: more than {MOST_ROWS:,} rows; split the file, and begin a batch for each"
            )
        try:
            values = _values(cells, columns, task)
            rows.append(Row(number=len(rows) + 1, line=line, values=bind_parameters(task, {**common, **values})))
        except InputInvalid as exc:
            faults.append(f"{source}:{line}: {exc}")
    if faults:
        more = len(faults) - 1 - _MORE_SHOWN
        shown = "; ".join(faults[: 1 + _MORE_SHOWN])
        raise InputInvalid(f"{shown}{f'; and {more} more such lines' if more > 0 else ''}; nothing was begun")
    if not rows:
        raise InputInvalid(f"{source}: it has no rows below the header; write one line for each")
    return rows


def _text(data: bytes, source: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise InputInvalid(
            f"{source}:{line}: byte {data[exc.start]:#04x} is no UTF-8; save the file as CSV in UTF-8"
        ) from exc
    if "\x00" in text:
        line = text[: text.index("\x00")].count("\n") + 1
        raise InputInvalid(f"{source}:{line}: a NUL character; save the file as CSV in UTF-8")
    return text


def _records(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-empty records with their first lines."""
    csv.field_size_limit(_CELL_LIMIT)
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as exc:
            raise InputInvalid(
                f"{source}:{line}: not CSV: {exc}; a cell with quotes, commas or line breaks stands in double quotes, "
                "and a quote in it is doubled"
            ) from exc
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield line, cells


def _columns(header: Sequence[str], place: str, task: Task, common: Mapping[str, str]) -> list[str]:
    """Return the parameters of the columns.

    Raises:
        InputInvalid: one is unknown, repeated, given otherwise, or missing.
    """
    known = ", ".join(sorted(task.parameters)) or "none"
    columns = [name.strip() for name in header]
    if not columns:
        raise InputInvalid(f"{place}: the file is empty; its first line names the parameters: {known}")
    for number, name in enumerate(columns, 1):
        if not name:
            raise InputInvalid(f"{place}: column {number} has no name; the task has the parameters: {known}")
        if name in task.secrets:
            raise InputInvalid(
                f"{place}: column {name!r} is a secret of the task; secrets are never in rows: take the column out, "
                f"and set REPLAYWRIGHT_SECRET_{name} where the worker runs"
            )
        if name not in task.parameters:
            raise InputInvalid(
                f"{place}: column {name!r} is no parameter of task {task.task!r}, which has: {known}; rename the "
                "column, or take it out"
            )
        if columns.count(name) > 1:
            raise InputInvalid(f"{place}: column {name!r} is there twice; take one out")
        if name in common:
            raise InputInvalid(f"{place}: column {name!r} is given by --param, too; say it in one place")
    given = {*columns, *common}
    missing = [name for name, each in task.parameters.items() if each.default is None and name not in given]
    if missing:
        raise InputInvalid(
            f"{place}: no column {missing[0]!r}, which task {task.task!r} needs; add it, or give one value for all "
            f"rows with --param {missing[0]}=…" + (f" (missing, too: {', '.join(missing[1:])})" if missing[1:] else "")
        )
    return columns


def _values(cells: Sequence[str], columns: Sequence[str], task: Task) -> dict[str, str]:
    """Return the values of a record; an empty cell has none.

    Raises:
        InputInvalid: the number of cells is wrong, or a value is invalid.
    """
    if len(cells) != len(columns):
        raise InputInvalid(
            f"{len(cells)} cells where the header has {len(columns)} columns; put a cell that holds the separator in "
            "double quotes, and leave cells without a value empty"
        )
    values: dict[str, str] = {}
    for name, cell in zip(columns, cells, strict=True):
        parameter = task.parameters[name]
        if not cell.strip():
            _require_default(name, parameter)
            continue
        if "{{secret:" in cell.replace(" ", ""):
            raise InputInvalid(
                f"column {name!r}: {shorten(cell, _SHOWN)!r} names a secret; secrets are never in rows: enter it by a "
                "step of the task"
            )
        try:
            values[name] = checked_value(name, parameter, cell)
        except InputInvalid as exc:
            raise InputInvalid(f"column {name!r}: {exc}; correct the cell") from exc
    return values


def _require_default(name: str, parameter: Parameter) -> None:
    if parameter.default is None:
        hint = f", for example {parameter.example!r}" if parameter.example else ""
        raise InputInvalid(
            f"column {name!r}: '' where a value is needed{hint}; fill it in, or give the parameter a default in the "
            "task (`default: ''` lets it be empty)"
        )


def repeated(rows: Iterable[Row]) -> list[tuple[Row, Row]]:
    """Return pairs of a row and an earlier one with the same values."""
    first: dict[tuple[tuple[str, str], ...], Row] = {}
    found = []
    for row in rows:
        known = first.setdefault(tuple(sorted(row.values.items())), row)
        if known is not row:
            found.append((row, known))
    return found


# ---------------------------------------------------------------------------------------------- results


def result_of(row: Row, end: RowEnd | None) -> dict[str, Any]:
    """Return the result of a row; without an end it is open."""
    if end is None:
        return {"row": row.number, "line": row.line, "status": "open", "values": dict(row.values)}
    return {
        "row": row.number,
        "line": row.line,
        "status": end.status,
        "reason": end.reason,
        "message": end.message,
        "step": None if end.failed_step is None else end.failed_step + 1,
        "seconds": end.seconds,
        "ended": iso_of(end.ended),
        "run": end.run_id,
        "commits": [{**line.model_dump(mode="json"), "step": line.step + 1} for line in end.commits],
        "extracted": end.extracted,
        "values": dict(row.values),
    }


def as_json_line(result: Mapping[str, Any]) -> str:
    """Return one result as a line of JSON."""
    return json.dumps(result, ensure_ascii=False) + "\n"


def as_csv(columns: Sequence[str]) -> tuple[str, Callable[[Mapping[str, Any]], str]]:
    """Return the header of a CSV file of results and a function that makes its lines.

    `columns` are those of the values. A cell that a spreadsheet would read as a formula begins with an apostrophe.
    """

    def line(cells: Iterable[Any]) -> str:
        held = io.StringIO(newline="")
        csv.writer(held, lineterminator="\r\n").writerow([_cell(each) for each in cells])
        return held.getvalue()

    def result_line(result: Mapping[str, Any]) -> str:
        values = result["values"]
        return line([*(result.get(name) for name in RESULT_COLUMNS), *(values.get(name, "") for name in columns)])

    return line([*RESULT_COLUMNS, *columns]), result_line


def _cell(value: Any) -> Any:
    match value:
        case None:
            return ""
        case dict() | list():
            return "" if not value else json.dumps(value, ensure_ascii=False)
        case str() if value[:1] in ("=", "+", "-", "@", "\t", "\r") and not _is_number(value):
            return f"'{value}"
        case _:
            return value


def _is_number(text: str) -> bool:
    return text[1:].replace(".", "", 1).replace(",", "", 1).isdecimal()
