"""Checks of a labeller's phrases: patterns that mean a skill, and near misses."""

from collections.abc import Callable, Iterable, Mapping

from replaywright.domain.common.sentences import TokenKind, sentence_of
from replaywright.domain.common.templates import malformed_in, parameters_in, secrets_in
from replaywright.domain.common.text import shorten
from replaywright.domain.recall.alignment import aligned, resembles
from replaywright.domain.recall.patterns import filled, places_of
from replaywright.domain.task.tasks import Parameter, Task

PHRASES_LIMIT = 60
"""Maximum patterns, and maximum near misses, of a labeller."""
_TEXT_LIMIT = 300
_LEAST_WORDS = 2
"""Minimum words beside values, so that a phrase does not match everything."""
_SAMPLES = {"email": "a{}@example.com", "number": "10{}", "date": "2024-01-1{}"}


class Phrases:
    """Collector of valid phrases and of the reasons against others."""

    def __init__(
        self,
        goal: str,
        parameters: Mapping[str, Parameter],
        values: Mapping[str, str],
        is_secret: Callable[[str], bool],
    ) -> None:
        self._goal = goal
        self._parameters = parameters
        self._values = values
        self._is_secret = is_secret
        self.refused: list[str] = []

    def patterns(self, given: Iterable[str]) -> tuple[str, ...]:
        """Keep sentences that mean the goal: with every parameter, and only one alignment."""
        return self._kept(given, self._not_a_pattern)

    def near_misses(self, given: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
        """Keep sentences with another meaning: neither the goal nor a pattern resembles them."""
        meant = [sentence_of(self._goal), *(sentence_of(self._sample(each)) for each in patterns)]
        return self._kept(
            given, lambda text: "it would refuse the goal" if any(resembles(text, each) for each in meant) else ""
        )

    def _kept(self, given: Iterable[str], objection: Callable[[str], str]) -> tuple[str, ...]:
        kept: dict[tuple[str, ...], str] = {}
        for text in (" ".join(str(each).split()) for each in given):
            form = tuple(token.plain for token in sentence_of(text).tokens)
            if form in kept or len(kept) == PHRASES_LIMIT:
                continue
            if why := self._not_a_phrase(text) or objection(text):
                self.refused.append(f"{shorten(text, 60)!r}: {why}")
            else:
                kept[form] = text
        return tuple(kept.values())

    def _not_a_phrase(self, text: str) -> str:
        if len(text) > _TEXT_LIMIT:
            return f"is longer than {_TEXT_LIMIT} characters"
        if malformed_in(text) or not parameters_in(text) <= self._parameters.keys():
            return "has a slot that is no parameter"
        if secrets_in(text) or self._is_secret(text):
            return "holds a secret"
        if sum(token.kind is TokenKind.WORD for token in sentence_of(text).tokens) < _LEAST_WORDS:
            return "has too few words of its own"
        return ""

    def _not_a_pattern(self, text: str) -> str:
        if parameters_in(text) != self._parameters.keys():
            return "leaves out a parameter"
        if places_of(text, {name: value for name, value in self._values.items() if value.strip()}):
            return "has a value of the goal"
        ways = aligned(text, self._parameters, sentence_of(self._sample(text)))
        return "" if len(ways) == 1 else "its values could be told apart in no way, or in several"

    def _sample(self, pattern: str) -> str:
        """Fill a pattern with sample values."""
        samples = {
            name: one.choices[0] if one.choices else _SAMPLES.get(one.type, '"sample {}"').format(number)
            for number, (name, one) in enumerate(self._parameters.items())
        }
        return filled(pattern.replace('"', ""), samples)


def phrases_for(phrases: Iterable[str], task: Task, settled: Mapping[str, str], *, whole: bool) -> tuple[str, ...]:
    """Return the phrases that fit the task, with `settled` slots filled.

    With `whole`, each must have a slot for every required parameter.
    """
    needed = {name for name, one in task.parameters.items() if one.default is None} if whole else set()
    written = (filled(phrase, settled) for phrase in phrases)
    return tuple(each for each in written if needed <= parameters_in(each) <= task.parameters.keys())
