"""A fake of the `RowEnds` port."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from replaywright.domain.batch.batches import RowEnd
from replaywright.errors import StoreUnavailable


@dataclass
class FakeRowEnds:
    """The `RowEnds` of `replaywright.ports`, in memory."""

    kept: dict[tuple[str, str], dict[int, RowEnd]] = field(default_factory=dict)
    is_away: bool = False
    """While set, every method raises `StoreUnavailable`."""

    async def note(self, tenant: str, batch: str, ends: Sequence[RowEnd]) -> None:
        """Keep these; see the port."""
        self._must_answer()
        self.kept.setdefault((tenant, batch), {}).update({end.number: end for end in ends})

    async def ends(self, tenant: str, batch: str, numbers: Sequence[int]) -> dict[int, RowEnd]:
        """Those that have ended; see the port."""
        self._must_answer()
        kept = self.kept.get((tenant, batch), {})
        return {number: kept[number] for number in numbers if number in kept}

    def _must_answer(self) -> None:
        if self.is_away:
            raise StoreUnavailable("the fake store is away")
