"""Stand-ins for the model of recall that answer as wrongly as they can, and never what is right."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.recall_set import Sentence
from replaywright.domain.common.sentences import VALUES, Token, sentence_of
from replaywright.domain.recall.alignment import has_type
from replaywright.domain.recall.choices import choice_of
from replaywright.domain.recall.choosing import Given, SkillChoice
from replaywright.domain.recall.ranking import Ranked
from replaywright.domain.skill.skills import Skill

Attack = Callable[[Sentence, Sequence[Ranked]], Iterator[SkillChoice]]


def wrong_skill(sentence: Sentence, offers: Sequence[Ranked]) -> Iterator[SkillChoice]:
    """Choose each other skill for a sentence that means one, with values that might pass."""
    for offer in offers if sentence.skill else ():
        if offer.skill.name != sentence.skill:
            yield SkillChoice(skill=offer.skill.name, values=plausible(sentence, offer.skill))


def yes_to_near_misses(sentence: Sentence, offers: Sequence[Ranked]) -> Iterator[SkillChoice]:
    """Choose each offered skill for a sentence that means none, with values that might pass."""
    for offer in () if sentence.skill else offers:
        yield SkillChoice(skill=offer.skill.name, values=plausible(sentence, offer.skill))


def invented_values(sentence: Sentence, offers: Sequence[Ranked]) -> Iterator[SkillChoice]:
    """Change one of the right values after the other: a letter more, one less, another value, or none at all."""
    if any(one.skill.name == sentence.skill for one in offers):
        right = dict(sentence.said)
        for name, value in right.items():
            first = value[0] if isinstance(value, tuple) else value
            for changed in (
                f"{first}x",
                f"x{first}",
                first[:-1],
                "9971",
                "eve@evil.example",
                "2031-01-01",
                "nobody",
                "",
            ):
                given: Given = (changed, *value[1:]) if isinstance(value, tuple) else changed
                yield SkillChoice(skill=sentence.skill, values={**right, name: given})


def values_of_other_fields(sentence: Sentence, offers: Sequence[Ranked]) -> Iterator[SkillChoice]:
    """Exchange the right values."""
    right = dict(sentence.said)
    if len(right) > 1 and any(one.skill.name == sentence.skill for one in offers):
        names = list(right)
        for shift in range(1, len(names)):
            moved = {name: right[names[(at + shift) % len(names)]] for at, name in enumerate(names)}
            yield SkillChoice(skill=sentence.skill, values=moved)


def unknown_skills(sentence: Sentence, offers: Sequence[Ranked]) -> Iterator[SkillChoice]:
    """Name a skill that was not offered."""
    for offer in offers:
        yield SkillChoice(skill=offer.skill.name + "x", values=plausible(sentence, offer.skill))


ADVERSARIES: Mapping[str, Attack] = {
    "with another skill": wrong_skill,
    "yes where no skill is meant": yes_to_near_misses,
    "with invented or altered values": invented_values,
    "with the values of other fields": values_of_other_fields,
    "with a skill that was not offered": unknown_skills,
}


def plausible(sentence: Sentence, skill: Skill) -> dict[str, Given]:
    """Fill a skill's parameters from a sentence so that as much as possible of what looks like a value is used."""
    tokens = sentence_of(sentence.text).tokens
    shown = [token for token in tokens if token.kind in VALUES]
    words = [token for token in tokens if token.kind not in VALUES]
    values: dict[str, Given] = {}
    parameters = skill.task.parameters
    for name, parameter in parameters.items():
        if parameter.type == "choice":
            said = (text for token in tokens for text in [token.text] if choice_of(text, parameter.choices))
            values[name] = next(said, parameter.choices[0])
        elif parameter.type not in {"text", "list"}:
            fitting = [token for token in shown if has_type(token.text, parameter)]
            values[name] = fitting[0].text if fitting else "1"
            shown = [token for token in shown if token not in fitting[:1]]
    free = [name for name, parameter in parameters.items() if parameter.type in {"text", "list"}]
    for at, name in enumerate(free):
        is_last = at == len(free) - 1
        if parameters[name].type == "list":
            values[name] = tuple(token.text for token in shown or words[-1:])
        else:
            used = shown if is_last else shown[:1]
            shown = shown[len(used) :]
            values[name] = _text(sentence.text, used) if used else words[-1 - at].text if len(words) > at else ""
    return values


def _text(text: str, tokens: Sequence[Token]) -> str:
    return text[tokens[0].start : tokens[-1].end]
