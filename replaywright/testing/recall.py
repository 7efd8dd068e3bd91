"""Fakes of what recall needs from the world."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replaywright.domain.recall import Outcome, RecallRecord
from replaywright.domain.runs import Usage
from replaywright.domain.tasks import Parameter
from replaywright.errors import ModelFailed
from replaywright.ports import ReadValues


@dataclass
class FakeRecalls:
    """The `Recalls` of `replaywright.ports`, in memory."""

    records: dict[str, list[RecallRecord]] = field(default_factory=dict)

    async def note(self, tenant: str, record: RecallRecord) -> None:
        """Keep one decision; see the port."""
        known = self.records.setdefault(tenant, [])
        known[:] = [one for one in known if not record.run_id or one.run_id != record.run_id]
        known.append(record)

    async def note_outcome(self, tenant: str, run_id: str, outcome: Outcome) -> None:
        """Keep what became of it; see the port."""
        known = self.records.get(tenant, [])
        known[:] = [
            one.model_copy(update={"outcome": outcome}) if run_id and one.run_id == run_id else one for one in known
        ]

    async def recent(self, tenant: str) -> Sequence[RecallRecord]:
        """All that is kept; see the port."""
        return list(self.records.get(tenant, []))


@dataclass
class FakeParameterReader:
    """Answers with given values; keeps what it was asked."""

    values: dict[str, str] = field(default_factory=dict)
    fail: ModelFailed | None = None
    asked: list[str] = field(default_factory=list)

    async def read(self, *, goal: str, pattern: str, parameters: Mapping[str, Parameter]) -> ReadValues:
        """The values of the parameters; see the port."""
        del pattern
        self.asked.append(goal)
        if self.fail is not None:
            raise self.fail
        found = {name: self.values[name] for name in parameters if name in self.values}
        return ReadValues(values=found, usage=Usage(calls=1, input_tokens=100, output_tokens=10, model="fake"))


@dataclass
class FakeEmbedder:
    """Places each text at a given vector, and those that it does not know at the last axis."""

    vectors: dict[str, list[float]] = field(default_factory=dict)
    fail: ModelFailed | None = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text; see the port."""
        if self.fail is not None:
            raise self.fail
        return [self.vectors.get(text, [0.0, 0.0, 1.0]) for text in texts]
