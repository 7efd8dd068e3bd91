"""Tables that are sorted by the column that the reader chose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column that can be sorted by."""

    key: str
    label: str
    value: Callable[[Row], Any]
    """Sort key of a row."""
    is_number: bool = False


@dataclass(frozen=True)
class Heading:
    """The head of a column as it is shown."""

    key: str
    label: str
    is_number: bool
    sorted: Literal["", "ascending", "descending"]
    order: Literal["", "down"]
    """Order that a click asks for."""


@dataclass(frozen=True)
class Ordered(Generic[Row]):
    """A table's rows in the order that was asked for, and its heads."""

    rows: Sequence[Row]
    headings: Sequence[Heading]


def ordered(rows: Sequence[Row], columns: Sequence[Column[Row]], given: Mapping[str, str]) -> Ordered[Row]:
    """Sort the rows by the column that `sort` names; `order` may be `down`. Without `sort`, keep their order."""
    chosen = next((column for column in columns if column.key == given.get("sort")), None)
    down = given.get("order") == "down"
    headings = []
    for column in columns:
        is_chosen = column is chosen
        # Of numbers the largest are looked for first.
        first_down = column.is_number and not is_chosen
        headings.append(
            Heading(
                column.key,
                column.label,
                column.is_number,
                sorted=("descending" if down else "ascending") if is_chosen else "",
                order="down" if first_down or (is_chosen and not down) else "",
            )
        )
    found = rows if chosen is None else sorted(rows, key=chosen.value, reverse=down)
    return Ordered(found, headings)
