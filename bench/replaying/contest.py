"""Rounds in which every contestant does the flow once; what is timed, and when it counts."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class Skipped(Exception):
    """A contestant cannot take part; the message says why."""


class Failed(Exception):
    """A run did not do the flow; the message says what is missing."""


@dataclass(frozen=True)
class Window:
    """From the first action to the end that the contestant itself tells, in seconds since the epoch."""

    begun: float
    ended: float


@dataclass(frozen=True)
class Learned:
    """What the first run took from a model."""

    model_calls: int
    prompt_tokens: int


class Site(Protocol):
    """Where the effect is seen."""

    async def clear(self) -> None:
        """Forget what was sent."""

    async def arrived(self) -> float:
        """When the mail was accepted, in seconds since the epoch.

        Raises:
            Failed: it was not, or not just this one, or more than once.
        """


class Contestant(Protocol):
    """One way of doing the flow again and again."""

    name: str
    version: str
    verifies: str
    """What it looks at before it goes on."""
    keeps: str
    """What is there to be read after a run."""
    base: bool
    """Whether the others' times are told as ratios to this one's."""
    most_rounds: int | None
    """It takes part in so many rounds only. None: in all."""
    replays: bool
    """Whether a run must do without a model."""

    async def learn(self) -> Learned | None:
        """Do what must be done once; None if there is nothing to learn.

        Raises:
            Skipped: it cannot take part.
        """

    def model_calls(self) -> int:
        """Model calls so far, counted where they are answered."""

    async def run(self) -> Window:
        """Do the flow once; starting and closing its browser is not in the window.

        Raises:
            Failed: it says itself that it did not do it.
        """


@dataclass
class Result:
    """What came of one contestant."""

    contestant: Contestant
    learned: Learned | None = None
    skipped: str = ""
    ms: dict[int, float] = field(default_factory=dict)
    """By round; a run that failed has none."""
    model_calls: int = 0
    """During the timed runs."""
    failures: list[str] = field(default_factory=list)

    @property
    def times(self) -> list[float]:
        """The times of all rounds that were done."""
        return list(self.ms.values())


Tell = Callable[[str], None]


async def hold(contestants: Sequence[Contestant], site: Site, *, rounds: int, tell: Tell) -> list[Result]:
    """Let each learn, warm up with a run that is not timed, and then take turns; the order turns round too."""
    results = [Result(contestant) for contestant in contestants]
    for result in results:
        try:
            result.learned = await result.contestant.learn()
            await _run(result.contestant, site)
        except Skipped as reason:
            result.skipped = str(reason)
            tell(f"{result.contestant.name}: skipped: {reason}")
        except Failed as reason:
            result.failures.append(f"before the first round: {reason}")
            tell(f"{result.contestant.name}: failed before the first round: {reason}")
    racing = [result for result in results if not result.skipped]
    for number in range(rounds):
        begun = time.monotonic()
        at = number % len(racing) if racing else 0
        for result in (*racing[at:], *racing[:at]):
            most = result.contestant.most_rounds
            if most is None or number < most:
                await _timed(result, site, number, tell)
        tell(f"round {number + 1} of {rounds}: {time.monotonic() - begun:.0f} s")
    return results


async def _timed(result: Result, site: Site, number: int, tell: Tell) -> None:
    """One run, timed if it did the flow, and without a model where it must."""
    contestant = result.contestant
    before = contestant.model_calls()
    try:
        ms = await _run(contestant, site)
    except Failed as reason:
        result.failures.append(f"round {number + 1}: {reason}")
        tell(f"{contestant.name}: round {number + 1} failed: {reason}")
        return
    finally:
        result.model_calls += (calls := contestant.model_calls() - before)
    if calls and contestant.replays:
        result.failures.append(f"round {number + 1}: {calls} model calls")
        tell(f"{contestant.name}: round {number + 1} failed: a replay made {calls} model calls")
        return
    result.ms[number] = ms


async def _run(contestant: Contestant, site: Site) -> float:
    """Milliseconds from the first action until the run was over and the site had the mail.

    Raises:
        Failed: the site did not get just this mail, once.
    """
    await site.clear()
    window = await contestant.run()
    arrived = await site.arrived()
    return (max(window.ended, arrived) - window.begun) * 1000


def ratio(result: Result, base: Result) -> float | None:
    """The median of the ratios round by round: what slows a whole round down falls out."""
    pairs = [ms / base.ms[number] for number, ms in result.ms.items() if number in base.ms]
    return statistics.median(pairs) if pairs else None


def ratios(results: Sequence[Result]) -> Mapping[str, float]:
    """Name to ratio, of all that were timed; empty where the base was not."""
    base = next((result for result in results if result.contestant.base and result.ms), None)
    if base is None:
        return {}
    found = {result.contestant.name: ratio(result, base) for result in results}
    return {name: value for name, value in found.items() if value is not None}


def p95(values: Sequence[float]) -> float:
    """The 95th percentile (nearest rank)."""
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]
