"""Functions that a script brings with it, each only if it is used."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Helper:
    """One function in the language of the script."""

    text: str
    types: tuple[str, ...] = ()
    """Names to import from Playwright."""
    imports: tuple[str, ...] = ()
    """Import lines of the standard library."""
    others: tuple[str, ...] = ()
    """Helpers that this one calls."""

    @property
    def lines(self) -> list[str]:
        """The function's lines."""
        return self.text.strip("\n").split("\n")


def with_others(catalogue: Mapping[str, Helper], used: Iterable[str]) -> list[str]:
    """List the used helpers and those that they call, in the order of the catalogue."""
    wanted = set(used)
    for name in list(wanted):
        wanted |= set(catalogue[name].others)
    return [name for name in catalogue if name in wanted]
