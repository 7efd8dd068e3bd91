"""How well a skill, or a step of one, went of late, in the bounds that runs go by."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from replaywright.domain.skill.skills import Rate
from replaywright.domain.skill.weak_steps import ASK_BELOW, ENOUGH, WARN_BELOW, StepRate

Level: TypeAlias = Literal["good", "warns", "asks", "unknown"]

_WORDS: dict[Level, str] = {
    "good": "healthy",
    "warns": f"fails often: below {WARN_BELOW:.0%}".replace("%", " %"),
    "asks": f"fails too often: below {ASK_BELOW:.0%}".replace("%", " %"),
    "unknown": f"fewer than {ENOUGH} runs",
}


@dataclass(frozen=True)
class SuccessRate:
    """What recent runs say."""

    level: Level
    share: float | None
    """Of the recent ones that succeeded, 0 to 1."""
    recent: tuple[bool, ...]

    @property
    def words(self) -> str:
        """The level in words."""
        return _WORDS[self.level] if self.recent else "no runs yet"


def health_of(rate: Rate) -> SuccessRate:
    """The health that this rate means."""
    known = StepRate(done=sum(rate.recent), of=len(rate.recent))
    level: Level = "asks" if known.asks else "warns" if known.warns else "good" if known.of >= ENOUGH else "unknown"
    return SuccessRate(level, rate.rolling, rate.recent)
