"""Recent success rate of a skill or step, rated by the thresholds that runs use."""

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
    """Success rate of the recent runs."""

    level: Level
    share: float | None
    """Share of the recent runs that succeeded, 0 to 1."""
    recent: tuple[bool, ...]

    @property
    def words(self) -> str:
        """Description of the level."""
        return _WORDS[self.level] if self.recent else "no runs yet"


def health_of(rate: Rate) -> SuccessRate:
    """Rate a skill or step by its recent runs."""
    known = StepRate(done=sum(rate.recent), of=len(rate.recent))
    level: Level = "asks" if known.asks else "warns" if known.warns else "good" if known.of >= ENOUGH else "unknown"
    return SuccessRate(level, rate.rolling, rate.recent)
