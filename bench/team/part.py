"""A part of the measurement: a function that returns its figures, and the figures that are wanted."""

import argparse
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

Tell = Callable[[str], None]
"""Prints how far a part is."""
Figures = Mapping[str, float]


@dataclass(frozen=True)
class AtLeast:
    """A figure that is not to be smaller."""

    floor: float


Wanted = float | str | AtLeast
"""Exactly a number, as much as another figure of the part, or at least so much."""


@dataclass(frozen=True)
class Part:
    """One part; its figures have names that no other part has."""

    measured: Callable[[argparse.Namespace, Tell], Awaitable[Figures]]
    """Is given the options of the programme."""
    wanted: Mapping[str, Wanted]
    """By the name of the figure; other figures are only told."""


def holds(figures: Figures, name: str, wanted: Wanted) -> bool:
    """Return True if the figure is as it is wanted."""
    if isinstance(wanted, AtLeast):
        return figures[name] >= wanted.floor
    return figures[name] == (figures[wanted] if isinstance(wanted, str) else wanted)


def shown(wanted: Wanted | None) -> str:
    """Return what is wanted, as the table says it."""
    if isinstance(wanted, AtLeast):
        return f"at least {wanted.floor:g}"
    return "" if wanted is None else f"{wanted:g}" if isinstance(wanted, float | int) else f"= {wanted}"


def count(text: str) -> int:
    """Return an option's number of 1 or more.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 or more")
    return int(text)


def share(text: str) -> float:
    """Return an option's share, from 0 up to 1.

    Raises:
        ArgumentTypeError: it is none.
    """
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < 1:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 up to 1")
