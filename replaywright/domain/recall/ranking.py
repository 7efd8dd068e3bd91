"""Ranking of skills by similarity to a sentence without its values. It selects candidates only.

A sentence is a bag of words, word parts (three letters, or two characters of a script without spaces) and value forms,
compared by tf-idf and cosine.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from replaywright.domain.common.sentences import VALUES, TokenKind, sentence_of
from replaywright.domain.skill.skills import Skill, patterns_of

_VALUE_WEIGHT = 0.3
"""Weight of a value's form relative to a word."""
_PART_WEIGHT = 0.3
"""Weight of a part of a word."""
_UNSEEN_WEIGHT = 0.3
"""Weight of a word that no skill has: it may belong to an unquoted value."""
_PART = 3

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Ranked:
    """A skill, its pattern most similar to a sentence, and the similarity, 0 to 1."""

    skill: Skill
    score: float
    pattern: str


def features_of(sentence: str, types: Mapping[str, str] | None = None) -> dict[str, float]:
    """Return the weighted words, word parts and value forms; `types` are a pattern's parameters."""
    found: Counter[str] = Counter()
    tokens = sentence_of(sentence).tokens
    for token in tokens:
        if token.kind is TokenKind.SLOT:
            kind = (types or {}).get(token.text, "")
            found[f"v:{kind if kind in {'email', 'number'} else 'text'}"] += 1
        elif token.kind in VALUES:
            found[f"v:{token.kind if token.kind in {TokenKind.EMAIL, TokenKind.NUMBER} else 'text'}"] += 1
        elif token.kind is TokenKind.WORD:
            word = token.plain
            found["w:" + word] += 1
            found.update("p:" + word[at : at + _PART] for at in range(len(word) - _PART))
    for one, other in pairwise(tokens):
        both_words = one.kind is other.kind is TokenKind.WORD
        if both_words and len(one.text) == len(other.text) == 1 and one.end == other.start:
            found["w:" + one.plain + other.plain] += 1
    weights = {"v": _VALUE_WEIGHT, "p": _PART_WEIGHT}
    return {name: (1 + math.log(count)) * weights.get(name[0], 1.0) for name, count in found.items()}


def _rows_of(skill: Skill) -> tuple[str, ...]:
    """Return the compared sentences of a skill: its patterns and its label."""
    return tuple(dict.fromkeys((*patterns_of(skill), skill.label or skill.name)))


class SkillIndex:
    """Immutable index of a tenant's skills for ranking."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills = tuple(skills)
        rows = [(number, pattern) for number, skill in enumerate(skills) for pattern in _rows_of(skill)]
        self._rows = rows
        firsts = [row for row, (number, _) in enumerate(rows) if not row or rows[row - 1][0] != number]
        self._firsts = np.array(firsts, dtype=np.int64)
        sites = {site: number for number, site in enumerate(sorted({skill.site for skill in skills}))}
        self._sites = sites
        self._site_of_skill = np.array([sites[skill.site] for skill in skills], dtype=np.int32)
        bags = [
            features_of(pattern, {name: each.type for name, each in skills[number].task.parameters.items()})
            for number, pattern in rows
        ]
        counts = Counter(name for bag in bags for name in bag)
        self._idf = {name: math.log(1 + len(rows) / count) for name, count in counts.items()}
        self._most = math.log(1 + len(rows))
        postings: dict[str, tuple[list[int], list[float]]] = {name: ([], []) for name in counts}
        for row, bag in enumerate(bags):
            weighted = {name: weight * self._idf[name] for name, weight in bag.items()}
            norm = math.sqrt(sum(weight * weight for weight in weighted.values())) or 1.0
            for name, weight in weighted.items():
                postings[name][0].append(row)
                postings[name][1].append(weight / norm)
        self._postings = {
            name: (np.array(places, dtype=np.int64), np.array(weights, dtype=np.float32))
            for name, (places, weights) in postings.items()
        }

    def similarities(self, sentence: str) -> Vector:
        """Return the similarity of a sentence with each row (a pattern of a skill), 0 to 1."""
        bag = features_of(sentence)
        weighted = {name: weight * self._idf.get(name, self._most * _UNSEEN_WEIGHT) for name, weight in bag.items()}
        norm = math.sqrt(sum(weight * weight for weight in weighted.values())) or 1.0
        scores = np.zeros(len(self._rows), dtype=np.float32)
        for name, weight in weighted.items():
            if name in self._postings:
                places, weights = self._postings[name]
                scores[places] += weights * np.float32(weight / norm)
        return scores

    def rank(self, sentence: str, site: str | None, count: int) -> tuple[Ranked, ...]:
        """Return the most similar skills, best first; with a `site`, of that site and of none."""
        if not self._rows:
            return ()
        rows = self.similarities(sentence)
        scores = np.maximum.reduceat(rows, self._firsts)
        if site is not None:
            wanted = [self._sites[each] for each in (site, "") if each in self._sites]
            scores = np.where(np.isin(self._site_of_skill, wanted), scores, np.float32(-1))
        taken = min(len(scores), count)
        best = np.argpartition(-scores, taken - 1)[:taken]
        ranked = sorted(best.tolist(), key=lambda number: (-float(scores[number]), number))
        return tuple(self._ranked(number, rows) for number in ranked if scores[number] >= 0)

    def _ranked(self, number: int, rows: Vector) -> Ranked:
        first = int(self._firsts[number])
        end = int(self._firsts[number + 1]) if number + 1 < len(self._firsts) else len(rows)
        row = first + int(np.argmax(rows[first:end]))
        return Ranked(self.skills[number], min(float(rows[row]), 1.0), self._rows[row][1])
