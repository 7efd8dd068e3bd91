"""Phrases of a skill that a labeller wrote, checked: sentences that mean it, and sentences that only sound like it."""

from collections.abc import Callable, Iterable, Mapping

from replaywright.domain.common.sentences import Kind, sentence_of
from replaywright.domain.common.templates import malformed_in, parameters_in, secrets_in
from replaywright.domain.common.text import shorten
from replaywright.domain.recall.alignment import aligned, resembles
from replaywright.domain.recall.patterns import filled, places_of
from replaywright.domain.task.tasks import Parameter, Task

PHRASES_LIMIT = 60
"""Patterns of a skill, and near misses, that a labeller may write at most of each."""
_TEXT_LIMIT = 300
_LEAST_WORDS = 2
"""Words beside the values that a phrase needs, so that it does not stand for everything."""
_SAMPLES = {"email": "a{}@example.com", "number": "10{}", "date": "2024-01-1{}"}


class Phrases:
    """Collects phrases about a goal, and says why it refuses others."""

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
        """Take the sentences that mean the same as the goal: with every parameter, and aligned in one way only."""
        return self._kept(given, self._not_a_pattern)

    def near_misses(self, given: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
        """Take the sentences that do not mean it: those that neither the goal nor a pattern resembles."""
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
        if sum(token.kind is Kind.WORD for token in sentence_of(text).tokens) < _LEAST_WORDS:
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
        """Fill a pattern with other values."""
        samples = {
            name: one.choices[0] if one.choices else _SAMPLES.get(one.type, '"sample {}"').format(number)
            for number, (name, one) in enumerate(self._parameters.items())
        }
        return filled(pattern.replace('"', ""), samples)


def phrases_for(phrases: Iterable[str], task: Task, settled: Mapping[str, str], *, whole: bool) -> tuple[str, ...]:
    """Choose the phrases that fit the task, with values put in for slots that are `settled`.

    With `whole`, each has a slot for every parameter that needs a value.
    """
    needed = {name for name, one in task.parameters.items() if one.default is None} if whole else set()
    written = (filled(phrase, settled) for phrase in phrases)
    return tuple(each for each in written if needed <= parameters_in(each) <= task.parameters.keys())
