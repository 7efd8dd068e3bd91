"""Fakes of what recall needs from the world."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from replaywright.domain.recall.choosing import SkillChoice
from replaywright.domain.recall.recall import Outcome, RecallRecord
from replaywright.domain.run.scope import Usage
from replaywright.domain.skill.skills import Skill
from replaywright.errors import ModelFailed
from replaywright.ports.models import ChosenSkill


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
        """Return all that is kept; see the port."""
        return list(self.records.get(tenant, []))


@dataclass
class FakeSkillChooser:
    """Answers with a given choice; keeps what it was asked."""

    answer: SkillChoice = field(default_factory=SkillChoice)
    fail: ModelFailed | None = None
    asked: list[tuple[str, tuple[Skill, ...]]] = field(default_factory=list)

    async def choose(self, *, goal: str, offers: Sequence[Skill]) -> ChosenSkill:
        """Give the choice; see the port."""
        self.asked.append((goal, tuple(offers)))
        if self.fail is not None:
            raise self.fail
        usage = Usage(calls=1, input_tokens=100, output_tokens=10, model="fake")
        return ChosenSkill(skill=self.answer.skill, values=self.answer.values, usage=usage)
