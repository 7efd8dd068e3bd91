"""How alike sentences are, values left out: it ranks the skills that are looked at, and decides nothing.

A sentence is a bag of its words, of what they mean in either language, and of the types of its values, weighted by how
seldom each is among the skills (tf-idf, cosine). With an embedding, the mean of both similarities ranks.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from replaywright.domain.goals import meanings_of, respelt, tokens_of
from replaywright.domain.skills import Skill
from replaywright.domain.words import VALUES, Kind

_VALUE_WEIGHT = 0.3
"""Of a value's type, beside a word."""
_UNSEEN_WEIGHT = 0.3
"""Of a word that no skill has: it may be part of a value without quotes."""
_TYPES = {Kind.EMAIL: "email", Kind.DATE: "date", Kind.NUMBER: "number"}

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Ranked:
    """A skill and how alike its most similar sentence is, 0 to 1."""

    skill: Skill
    score: float
    pattern: str


def features_of(sentence: str, types: Mapping[str, str] | None = None) -> dict[str, float]:
    """Words, meanings and value types with their weights; `types` are those of a pattern's parameters."""
    found: Counter[str] = Counter()
    for token in tokens_of(sentence):
        if token.kind is Kind.SLOT:
            found["v:" + (types or {}).get(token.text, "text")] += 1
        elif token.kind in VALUES:
            found["v:" + _TYPES.get(token.kind, "text")] += 1
        elif token.kind is Kind.WORD and token.concepts:
            spelt = [concept for word in respelt(token.word) for concept in meanings_of(word)[:2]]
            found.update({f"{sort}:{meaning}" for sort, meaning in spelt or token.concepts[:2]})
            found["w:" + token.word] += 1
    return {
        name: (1 + math.log(count)) * (_VALUE_WEIGHT if name.startswith("v:") else 1.0) for name, count in found.items()
    }


def patterns_of(skill: Skill) -> tuple[str, ...]:
    """The sentences that mean a skill."""
    goal = skill.task.goal
    return skill.patterns or ((goal,) if goal else (skill.label or skill.name,))


class SkillIndex:
    """The skills of a tenant, ready to be ranked; built once, read often. Does not change."""

    def __init__(self, skills: Sequence[Skill], embedded: Mapping[str, Sequence[float]] | None = None) -> None:
        """`embedded` holds the embedding of each pattern, by its text; those without are ranked by words alone."""
        self.skills = tuple(skills)
        rows = [(number, pattern) for number, skill in enumerate(skills) for pattern in patterns_of(skill)]
        self._rows = rows
        sites = {site: number for number, site in enumerate(sorted({skill.site for skill in skills}))}
        self._sites = sites
        self._site_of_row = np.array([sites[skills[number].site] for number, _ in rows], dtype=np.int32)
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
        self._vectors = _unit_rows([embedded.get(pattern) for _, pattern in rows]) if embedded else None

    def similarities(self, sentence: str, embedding: Sequence[float] | None = None) -> Vector:
        """Of every row (a pattern of a skill), 0 to 1."""
        bag = features_of(sentence)
        weighted = {name: weight * self._idf.get(name, self._most * _UNSEEN_WEIGHT) for name, weight in bag.items()}
        norm = math.sqrt(sum(weight * weight for weight in weighted.values())) or 1.0
        scores = np.zeros(len(self._rows), dtype=np.float32)
        for name, weight in weighted.items():
            if name in self._postings:
                places, weights = self._postings[name]
                scores[places] += weights * np.float32(weight / norm)
        if embedding is not None and self._vectors is not None:
            vectors, has_vector = self._vectors
            query = np.asarray(embedding, dtype=np.float32)
            alike = vectors @ (query / (float(np.linalg.norm(query)) or 1.0))
            scores = np.where(has_vector, (scores + np.clip(alike, 0, 1)) / 2, scores)
        return scores

    def rank(
        self, sentence: str, site: str | None, count: int, embedding: Sequence[float] | None = None
    ) -> tuple[Ranked, ...]:
        """The most similar skills, best first; with a `site`, of that site and of none."""
        if not self._rows:
            return ()
        scores = self.similarities(sentence, embedding)
        if site is not None:
            wanted = [self._sites[each] for each in (site, "") if each in self._sites]
            scores = np.where(np.isin(self._site_of_row, wanted), scores, np.float32(-1))
        # A skill may have several rows among the best: a few more are taken than are wanted.
        taken = min(len(scores), 4 * count)
        best = np.argpartition(-scores, taken - 1)[:taken]
        found: dict[int, Ranked] = {}
        for row in sorted(best.tolist(), key=lambda row: (-float(scores[row]), row)):
            number, pattern = self._rows[row]
            score = float(scores[row])
            if score >= 0 and number not in found and len(found) < count:
                found[number] = Ranked(self.skills[number], min(score, 1.0), pattern)
        return tuple(found.values())


def _unit_rows(given: Sequence[Sequence[float] | None]) -> tuple[Vector, npt.NDArray[np.bool_]]:
    size = next((len(row) for row in given if row), 0)
    rows = np.zeros((len(given), size), dtype=np.float32)
    has = np.zeros(len(given), dtype=np.bool_)
    for number, row in enumerate(given):
        if row:
            rows[number] = row
            has[number] = True
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32), has
