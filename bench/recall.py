"""Recall: which skill a sentence means, with which values, or none.

`python -m bench.recall [--failures] [--files NAMES] [--sizes 100,10000,100000]
[--model PROVIDER:NAME [--base-url URL]]`, or `make bench-recall`. First patterns alone decide. Then a stand-in for the
model answers rightly, then stand-ins answer as wrongly as they can. With `--model` a real model takes the place of the
one that answers rightly.
"""

import argparse
import asyncio
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.recall_adversary import ADVERSARIES
from bench.recall_set import FILES, Sentence, load
from replaywright.domain.common.lists import list_of
from replaywright.domain.recall.choosing import SkillChoice
from replaywright.domain.recall.patterns import places_of
from replaywright.domain.recall.ranking import Ranked, SkillIndex
from replaywright.domain.recall.recall import RecallRequest
from replaywright.domain.recall.recalling import SEVERAL, Recaller, SkillCandidate, decided, decided_by_choice, offered
from replaywright.domain.run.approvals import is_confirmed
from replaywright.domain.skill.skills import Recall, Skill
from replaywright.domain.task.actions import Effect
from replaywright.errors import ModelFailed
from replaywright.llm.chooser import ModelSkillChooser

STAND_IN = "stand-in"
AT_A_TIME = 8
"""Calls of a real model that are under way at once."""
Chooser = Callable[[Sentence, Sequence[Ranked]], Awaitable[SkillChoice]]


@dataclass(frozen=True)
class Answer:
    """A sentence, and the recall that was decided on for it."""

    sentence: Sentence
    recall: Recall
    asked: bool = False
    """A model was asked."""

    @property
    def is_accepted(self) -> bool:
        """A skill was taken."""
        return self.recall.skill is not None

    @property
    def is_right_skill(self) -> bool:
        """It is the one that was meant."""
        return self.recall.skill is not None and self.recall.skill.name == self.sentence.skill

    @property
    def is_exact(self) -> bool:
        """Its values are right as well."""
        return self.is_right_skill and tuple(sorted(self.recall.values.items())) == self.sentence.values

    @property
    def is_confirmed(self) -> bool:
        """A person is asked before it is run, as by default."""
        skill = self.recall.skill
        return skill is not None and self.recall.by_model and is_confirmed(skill, Effect.COMMIT)

    @property
    def has_consequences(self) -> bool:
        """The skill that was taken commits something."""
        return self.recall.skill is not None and is_confirmed(self.recall.skill, Effect.COMMIT)

    @property
    def is_invented(self) -> bool:
        """A value does not stand in the sentence."""
        skill = self.recall.skill
        if skill is None:
            return False
        kinds = {name: each.type for name, each in skill.task.parameters.items()}
        texts = {
            f"{name} {number}": text
            for name, value in self.recall.values.items()
            if kinds[name] != "choice"  # a choice may be told by a word of it
            for number, text in enumerate(list_of(value) if kinds[name] == "list" else (value,))
        }
        return len(places_of(self.sentence.text, texts)) < len(texts)


def considered(recaller: Recaller, sentence: Sentence) -> tuple[RecallRequest, list[SkillCandidate], Recall]:
    request = RecallRequest(tenant="bench", goal=sentence.text, url=sentence.site + "/")
    candidates = recaller.consider(request)
    return request, candidates, decided(candidates)


async def answered(recaller: Recaller, sentence: Sentence, choose: Chooser) -> Answer:
    """Decide as `skill.recall` does, with a model that answers so."""
    request, candidates, recall = considered(recaller, sentence)
    offers = offered(candidates)
    if recall.skill is not None or recall.reason == SEVERAL or not offers:
        return Answer(sentence, recall)
    return Answer(sentence, decided_by_choice(request, candidates, await choose(sentence, offers)), asked=True)


async def right_stand_in(sentence: Sentence, offers: Sequence[Ranked]) -> SkillChoice:
    """Choose the skill that is meant, if it is offered, with the values that the sentence gives it."""
    if any(one.skill.name == sentence.skill for one in offers):
        return SkillChoice(skill=sentence.skill, values=dict(sentence.said))
    return SkillChoice()


def real(model: ModelSkillChooser) -> Chooser:
    """Ask a real model, about a few sentences at a time. One that does not answer chooses none, and is told."""
    from activities.skill.recall import offer_of  # noqa: PLC0415 - the workers' code is not needed without a model

    places = asyncio.Semaphore(AT_A_TIME)

    async def choose(sentence: Sentence, offers: Sequence[Ranked]) -> SkillChoice:
        async with places:
            try:
                return await model.choose(goal=sentence.text, offers=tuple(map(offer_of, offers)))
            except ModelFailed as exc:
                print(f"the model did not answer: {exc}")
                return SkillChoice()

    return choose


# ------------------------------------------------------------------------------------------------------ figures


@dataclass(frozen=True)
class Figures:
    """Counts and shares of one set of sentences."""

    sentences: int
    meant: int
    """Sentences that mean a skill."""
    wrong_accepts: int
    """Accepted where the right answer was to abstain, or another skill."""
    right_accepts: float
    """Share of those that mean a skill for which just that skill was accepted."""
    parameters_exact: float
    """Share of the right accepts with exactly the right values."""
    asked: int
    """Sentences about which a model was asked."""


def figures(answers: Sequence[Answer]) -> Figures:
    taken = [one for one in answers if one.is_accepted]
    right = [one for one in taken if one.is_right_skill]
    meant = sum(bool(one.sentence.skill) for one in answers)
    return Figures(
        len(answers),
        meant,
        len(taken) - len(right),
        len(right) / meant if meant else 1.0,
        sum(one.is_exact for one in right) / len(right) if right else 1.0,
        sum(one.asked for one in answers),
    )


def report(
    title: str, patterns: Sequence[Answer], small: Sequence[Answer], who: str, key: Callable[[Sentence], str]
) -> None:
    print(f"\n{'':26} | {'patterns alone':^21} | {f'small call by {who}':^29}")
    print(f"{title:14} {'count':>5} {'meant':>5} | {_HEADS} | {'asked':>7} {_HEADS}")
    groups = sorted({key(one.sentence) for one in patterns})
    for group in (*(each for each in groups if each != "all"), "all"):
        alone = figures([one for one in patterns if group in (key(one.sentence), "all")])
        helped = figures([one for one in small if group in (key(one.sentence), "all")])
        begin = f"{group:14} {alone.sentences:5} {alone.meant:5}"
        print(f"{begin} | {_cells(alone)} | {helped.asked:7} {_cells(helped)}")


_HEADS = "wrong   right   exact"


def _cells(found: Figures) -> str:
    shares = (f"{share:7.1%}" if found.meant else "      -" for share in (found.right_accepts, found.parameters_exact))
    return " ".join((f"{found.wrong_accepts:5}", *shares))


def in_the_first_three(recaller: Recaller, sentences: Iterable[Sentence]) -> float:
    """Return the share of sentences that mean a skill which is among the three most similar ones."""
    meant = [one for one in sentences if one.skill]
    found = sum(
        any(each.skill.name == one.skill for each in recaller.index.rank(one.text, one.site, 3)) for one in meant
    )
    return found / len(meant) if meant else 1.0


def attacked(recaller: Recaller, sentences: Sequence[Sentence]) -> dict[str, int]:
    """Count what stand-ins reach that answer as wrongly as they can."""
    print(f"\n{'':36}   tried | {'taken':^43} | {'and not confirmed':^18}")
    print(f"{STAND_IN + ' that answers':36} {'':7} | wrong skill  invented value  wrong values  | that commit  reads")
    sums: Counter[str] = Counter()
    for name, attack in ADVERSARIES.items():
        found: Counter[str] = Counter()
        for sentence in sentences:
            request, candidates, recall = considered(recaller, sentence)
            if recall.skill is not None or recall.reason == SEVERAL:
                continue
            for choice in attack(sentence, offered(candidates)):
                one = Answer(sentence, decided_by_choice(request, candidates, choice), asked=True)
                found["tried"] += 1
                if not one.is_accepted or one.is_exact:
                    continue
                found["wrong skill"] += not one.is_right_skill
                found["invented"] += one.is_invented
                found["values"] += one.is_right_skill
                if not one.is_confirmed:
                    found["commits" if one.has_consequences else "reads"] += 1
                    kind = "wrong_skills_run_unconfirmed" if one.has_consequences else "wrong_reads_run"
                    sums[kind] += not one.is_right_skill
        sums["invented_values_accepted"] += found["invented"]
        print(
            f"  {name:34} {found['tried']:7} | {found['wrong skill']:11} {found['invented']:15} {found['values']:13}  |"
            f" {found['commits']:11} {found['reads']:6}"
        )
    names = ("invented_values_accepted", "wrong_skills_run_unconfirmed", "wrong_reads_run")
    return {name: sums[name] for name in names}


# ------------------------------------------------------------------------------------------------------- timing


def synthetic(count: int, seed: int = 7) -> list[Skill]:
    """Make `count` skills on one site: the set's own, and others that differ from these by two words."""
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
    """Measure for each size: milliseconds of one recall (median), and seconds to build the index."""
    _, sentences = load()
    found = {}
    for size in sizes:
        skills = synthetic(size)
        begun = time.perf_counter()
        recaller = Recaller(SkillIndex(skills))
        built = time.perf_counter() - begun
        times = []
        for sentence in sentences[: 2 * 60 : 2]:
            request = RecallRequest(tenant="bench", goal=sentence.text, url=skills[0].site)
            begun = time.perf_counter()
            decided(recaller.consider(request))
            times.append((time.perf_counter() - begun) * 1000)
        found[size] = statistics.median(times), built
    return found


def list_failures(answers: Sequence[Answer]) -> None:
    """Print what is not as it should be."""
    for one in answers:
        if one.is_accepted != bool(one.sentence.skill) or (one.is_accepted and not one.is_exact):
            taken = f"{one.recall.skill.name} {one.recall.values}" if one.recall.skill else one.recall.reason
            print(f"{one.sentence.category}: {one.sentence.text}")
            print(f"    wanted {one.sentence.skill or 'to abstain'} {dict(one.sentence.values)}; got {taken}")


# --------------------------------------------------------------------------------------------------------- main


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--failures", action="store_true", help="list what went wrong; whoever reads it has read them")
    parser.add_argument("--files", default="", help="only the sentences of these, by commas")
    parser.add_argument("--sizes", default="100,10000,100000", help="numbers of skills to time recall at")
    parser.add_argument("--model", default="", help="ask this model, PROVIDER:NAME, instead of the stand-in")
    parser.add_argument("--base-url", help="another server that speaks the provider's dialect")
    given = parser.parse_args()
    files = given.files.split(",") if given.files else FILES
    if unknown := sorted(set(files) - set(FILES)):
        parser.error(f"--files: {unknown[0]} is none of {', '.join(FILES)}")
    sizes = [int(size) for size in given.sizes.split(",") if size]
    asyncio.run(_bench(files, given.model, given.base_url, failures=given.failures, sizes=sizes))


async def _bench(
    files: Sequence[str], model: str, base_url: str | None, *, failures: bool, sizes: Sequence[int]
) -> None:
    skills, sentences = load(files)
    recaller = Recaller(SkillIndex(skills))
    who = model or STAND_IN
    print(f"{len(skills)} skills, {len(sentences)} sentences; the small call is answered by: {who}")
    patterns = [Answer(sentence, considered(recaller, sentence)[2]) for sentence in sentences]
    if model:
        chooser = ModelSkillChooser(model, base_url=base_url)
        try:
            choose = real(chooser)
            small = list(await asyncio.gather(*(answered(recaller, sentence, choose) for sentence in sentences)))
        finally:
            await chooser.close()
    else:
        small = [await answered(recaller, sentence, right_stand_in) for sentence in sentences]
    if failures:
        list_failures(small)
    report("part", patterns, small, who, lambda sentence: sentence.part)
    report("category", patterns, small, who, lambda sentence: sentence.category)
    first_three = in_the_first_three(recaller, sentences)
    print(f"\nthe skill that is meant is among the three most similar ones: {first_three:.1%}")
    found = attacked(recaller, sentences)
    times = timing(sizes)
    if times:
        print("\nskills on one site   recall (median)   index built in")
    for size, (spent, built) in times.items():
        print(f"  {size:17,} {spent:13.1f} ms {built:13.1f} s")
    print(json.dumps(summary(patterns, small, found) | {"small_call_by": who} | _told(times)))


def _told(times: Mapping[int, tuple[float, float]]) -> dict[str, object]:
    return {"recall_ms": {str(size): round(spent, 2) for size, (spent, _) in times.items()}}


def summary(patterns: Sequence[Answer], small: Sequence[Answer], attacks: Mapping[str, int]) -> dict[str, object]:
    """Join the figures that count."""
    alone, helped = figures(patterns), figures(small)
    return {
        "sentences": alone.sentences,
        "wrong_accepts": alone.wrong_accepts,
        "right_accepts": round(alone.right_accepts, 4),
        "wrong_accepts_with_model": helped.wrong_accepts,
        "right_accepts_with_model": round(helped.right_accepts, 4),
        "parameters_exact": round(helped.parameters_exact, 4),
        "small_calls": helped.asked,
        **attacks,
    }


if __name__ == "__main__":
    main()
