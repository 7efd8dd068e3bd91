"""Recall: which skill a sentence means, with which values, or none.

`python -m bench.recall [--failures] [--files NAMES] [--sizes 100,10000,100000]`, or `make bench-recall`. No model is
asked: what only a model could read counts as abstained.
"""

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.recall_set import BLIND, FILES, JUDGED, LOOKED_AT, Sentence, load
from replaywright.domain.recall import RecallRequest
from replaywright.domain.recalling import Recaller, decided
from replaywright.domain.similarity import SkillIndex
from replaywright.domain.skills import Recall, Skill

THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Answer:
    """What was recalled for one sentence."""

    sentence: Sentence
    recall: Recall
    needs_model: bool
    """It abstained, and a model could have read the values."""

    @property
    def is_accepted(self) -> bool:
        """Whether a skill was taken."""
        return self.recall.decision == "accept"

    @property
    def is_right_skill(self) -> bool:
        """Whether it is the one that was meant."""
        return self.recall.skill is not None and self.recall.skill.name == self.sentence.skill

    @property
    def is_exact(self) -> bool:
        """Whether its values are right as well."""
        return self.is_right_skill and tuple(sorted(self.recall.values.items())) == self.sentence.values

    @property
    def score(self) -> float:
        """Similarity of the skill that was taken."""
        name = self.recall.skill.name if self.recall.skill else ""
        return next((one.score for one in self.recall.considered if one.name == name), 0.0)


def answer(recaller: Recaller, sentence: Sentence) -> Answer:
    request = RecallRequest(tenant="bench", goal=sentence.text, url=sentence.site + "/")
    candidates = recaller.consider(request)
    recall = decided(candidates)
    return Answer(sentence, recall, recall.decision == "abstain" and any(one.is_readable for one in candidates))


@dataclass(frozen=True)
class Figures:
    """Of one set of sentences."""

    sentences: int
    wrong_accepts: int
    """Accepted where the right answer was to abstain, or another skill."""
    right_accepts: float
    """Share of the sentences that mean a skill for which just that skill was accepted."""
    parameters_exact: float
    """Of those, the share with exactly the right values."""
    needs_model: int


def figures(answers: Sequence[Answer], threshold: float = 0.0) -> Figures:
    taken = [one for one in answers if one.is_accepted and one.score >= threshold]
    right = [one for one in taken if one.is_right_skill]
    meant = [one for one in answers if one.sentence.skill]
    return Figures(
        len(answers),
        len(taken) - len(right),
        len(right) / len(meant) if meant else 1.0,
        sum(one.is_exact for one in right) / len(right) if right else 1.0,
        sum(one.needs_model for one in answers),
    )


def synthetic(count: int, seed: int = 7) -> list[Skill]:
    """`count` skills on one site: acts, objects and qualifiers of all kinds around the set's own sentences."""
    rng = random.Random(seed)
    own, _ = load()
    words = [f"{first}{second}" for first in _SYLLABLES for second in _SYLLABLES]
    site = own[0].site
    made = [skill.model_copy(update={"site": site}) for skill in own]
    while len(made) < count:
        base = rng.choice(own)
        word = " ".join(rng.sample(words, 2))
        patterns = tuple(f"{pattern} {word}" for pattern in base.patterns[:1])
        made.append(base.model_copy(update={"name": f"s{len(made)}", "site": site, "patterns": patterns}))
    return made[:count]


_SYLLABLES = (
    "ba",
    "ko",
    "lim",
    "tar",
    "ves",
    "nu",
    "pro",
    "quel",
    "shi",
    "zen",
    "dor",
    "fax",
    "gul",
    "hap",
    "jor",
    "wix",
)


def timing(sizes: Iterable[int]) -> dict[int, tuple[float, float]]:
    """For each size: milliseconds of one recall (median), and seconds to build the index."""
    _, sentences = load()
    found = {}
    for size in sizes:
        skills = synthetic(size)
        begun = time.perf_counter()
        recaller = Recaller(SkillIndex(skills))
        built = time.perf_counter() - begun
        asked = sentences[: 2 * 60 : 2]
        times = []
        for sentence in asked:
            request = RecallRequest(tenant="bench", goal=sentence.text, url=skills[0].site)
            begun = time.perf_counter()
            decided(recaller.consider(request))
            times.append((time.perf_counter() - begun) * 1000)
        found[size] = statistics.median(times), built
    return found


def report(name: str, answers: Sequence[Answer]) -> None:
    print(
        f"\n{name}: {len(answers)} sentences, {sum(bool(one.sentence.skill) for one in answers)} of them mean a skill"
    )
    print(
        f"  {'category':12} {'count':>5} {'wrong accepts':>14} {'right accepts':>14} {'exact':>7} {'for a model':>12}"
    )
    categories = Counter(one.sentence.category for one in answers)
    for category in (*sorted(categories), "all"):
        of_it = [one for one in answers if category in (one.sentence.category, "all")]
        found = figures(of_it)
        meant = sum(bool(one.sentence.skill) for one in of_it)
        share = f"{found.right_accepts:.1%}" if meant else "-"
        exact = f"{found.parameters_exact:.1%}" if meant else "-"
        print(f"  {category:12} {len(of_it):5} {found.wrong_accepts:14} {share:>14} {exact:>7} {found.needs_model:12}")


def list_failures(answers: Sequence[Answer]) -> None:
    """What is not as it should be."""
    for one in answers:
        if one.is_accepted != bool(one.sentence.skill) or (one.is_accepted and not one.is_exact):
            best = next((each for each in one.recall.considered if each.name == one.sentence.skill), None)
            taken = f"{one.recall.skill.name} {one.recall.values}" if one.recall.skill else one.recall.reason
            print(f"{one.sentence.category}: {one.sentence.text}")
            print(f"    wanted {one.sentence.skill or 'to abstain'} {dict(one.sentence.values)}")
            print(f"    got {taken}" + (f"; {best.reason} ({best.details}) {best.score}" if best else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--failures", action="store_true", help="list what went wrong in the parts that were looked at")
    parser.add_argument("--files", default="", help="only the sentences of these, by commas; they count as looked at")
    parser.add_argument("--sizes", default="100,10000,100000", help="numbers of skills to time recall at")
    given = parser.parse_args()
    files = given.files.split(",") if given.files else FILES
    if unknown := sorted(set(files) - set(FILES)):
        parser.error(f"--files: {unknown[0]} is none of {', '.join(FILES)}")
    skills, sentences = load(files)
    recaller = Recaller(SkillIndex(skills))
    parts: dict[str, list[Answer]] = {}
    for sentence in sentences:
        if given.files or not given.failures or sentence.part in LOOKED_AT:
            parts.setdefault(sentence.part, []).append(answer(recaller, sentence))
    if not given.failures:
        print(f"{len(skills)} skills, {len(sentences)} sentences; no model: what only one could read is abstained from")
    for name, of_it in parts.items():
        if given.failures:
            list_failures(of_it)
        report(name, of_it)
    if given.failures or given.files:
        return
    judged = tuple(_PREFIXES)
    print(f"\nleast score   wrong accepts, right accepts of {', '.join(judged)}")
    for threshold in THRESHOLDS:
        found = [figures(parts[name], threshold) for name in judged]
        print(f"  {threshold:9.1f}", *(f"{one.wrong_accepts:7} {one.right_accepts:6.1%}" for one in found))
    times = timing(int(size) for size in given.sizes.split(",") if size)
    if times:
        print("\nskills on one site   recall (median)   index built in")
    for size, (spent, built) in times.items():
        print(f"  {size:17,} {spent:13.1f} ms {built:13.1f} s")
    print(
        json.dumps(summary(parts) | {"recall_ms": {str(size): round(spent, 2) for size, (spent, _) in times.items()}})
    )


_PREFIXES = {
    JUDGED: "",
    **{part: part.lower().replace(" ", "_") + "_" for part in reversed(BLIND) if part != JUDGED},
    "held-out": "held_out_",
    "calibration": "calibration_",
}
"""Parts, and what the names of their figures begin with."""


def summary(parts: Mapping[str, Sequence[Answer]]) -> dict[str, float]:
    """The figures of the newest part without a prefix, those of the other parts with their name."""
    found: dict[str, float] = {}
    for part, prefix in _PREFIXES.items():
        of_it = figures(parts[part])
        found |= {
            f"{prefix}wrong_accepts": of_it.wrong_accepts,
            f"{prefix}right_accepts": round(of_it.right_accepts, 4),
            f"{prefix}parameters_exact": round(of_it.parameters_exact, 4),
            f"{prefix}sentences": of_it.sentences,
            f"{prefix}needs_model": of_it.needs_model,
        }
    return found


if __name__ == "__main__":
    main()
