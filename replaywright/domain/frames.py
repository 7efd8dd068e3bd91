"""What a skill's sentences say, and whether another sentence says the same of other values.

A sentence is read when *every* part of it is accounted for: as a word of the skill's own sentences (or one that means
the same), as a word that says nothing, or as the value of a parameter. What is left over is a further demand, which
nobody has learned to meet. Where a value belongs is told by the words beside it, as in the skill's sentences, and by
its type; where both leave a choice, the sentence is ambiguous.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from replaywright.domain import goal_lists as lists
from replaywright.domain.goals import meanings_of, tokens_of, words_for
from replaywright.domain.skills import Skill
from replaywright.domain.tasks import Parameter
from replaywright.domain.words import FREE, Concept, Kind, Sort, Token

_STOPS = frozenset(",;.!?，；。！？、()（）")
_COLONS = frozenset(":：")
_MADE_BY = frozenset(lists.MADE_BY.split())


@dataclass(frozen=True)
class Slot:
    """A parameter, and the words that stand beside its value in the skill's sentences."""

    name: str
    parameter: Parameter
    left: frozenset[Concept]
    right: frozenset[Concept]
    names: frozenset[Concept]
    """What the parameter is called: by its own name, and by the words beside it."""
    is_owner: bool = False
    """It says whose thing it is that the skill is about: "{{name}}'s request", {{name}}的申请."""


@dataclass(frozen=True)
class Asked:
    """What one of a skill's sentences says that must not be left out."""

    objects: frozenset[Concept]
    """All of these, or none where the values tell enough."""
    words: tuple[frozenset[Concept], ...]
    """Of each of these one meaning."""


@dataclass(frozen=True)
class Frame:
    """All that a skill's sentences say."""

    slots: tuple[Slot, ...]
    acts: frozenset[Concept]
    objects: frozenset[Concept]
    allowed: frozenset[Concept]
    """What may be said beside the values."""
    plurals: frozenset[Concept]
    """Things that its sentences name in the plural: elsewhere a plural asks for more than one."""
    implied: frozenset[Concept]
    """What goes without saying where the skill's act is asked for."""
    asked: tuple["Asked", ...]
    """What each of the skill's sentences has that another one must have, too."""

    @cached_property
    def is_of_many(self) -> bool:
        """Whether it is done to all that there are: "all mails", 来自某人的邮件, whose noun has no number."""
        return (Sort.QUALIFIER, "all") in self.allowed or any(
            (Sort.DIRECTION, "from") in slot.left and slot.right & self.objects for slot in self.slots
        )

    @cached_property
    def spellings(self) -> tuple[tuple[str, Concept], ...]:
        """Words of Latin letters that may be said, for those that are spelt nearly the same."""
        found = {
            (word, concept)
            for concept in self.allowed
            for word in (words_for(concept) or (concept[1],))
            if len(word) > 3 and word.isascii() and word.isalpha()
        }
        found |= {(f"{word}s", concept) for word, concept in found if concept in self.plurals}
        return tuple(sorted(found))


def frame_of(skill: Skill) -> Frame:
    """What a skill's sentences say."""
    patterns = skill.patterns or ((skill.task.goal,) if skill.task.goal else ())
    acts = _of_sort(skill.verbs, Sort.ACT)
    objects = _of_sort(skill.objects, Sort.THING)
    read = [tokens_of(pattern) for pattern in patterns]
    if not acts:
        acts = frozenset(_first_acts(read))
    names = {thing for _, thing in objects}
    acts |= {
        (Sort.ACT, same)
        for (act, thing), others in lists.SAME_FOR.items()
        if (Sort.ACT, act) in acts and thing in names
        for same in others
    }
    left: dict[str, set[Concept]] = {}
    right: dict[str, set[Concept]] = {}
    owners: set[str] = set()
    said: list[list[frozenset[Concept]]] = []
    plurals: set[Concept] = set()
    for tokens in read:
        words: list[frozenset[Concept]] = []
        for index, token in enumerate(tokens):
            if token.kind is Kind.SLOT:
                left.setdefault(token.text, set()).update(_beside(tokens, index, -1))
                right.setdefault(token.text, set()).update(_beside(tokens, index, 1))
                owners |= {token.text} if _is_owner(tokens, index) else set()
            elif token.concepts:
                words.append(_resolved(token, acts | objects))
                plurals |= set(token.concepts if token.is_plural else ())
        said.append(words)
    slots = tuple(
        Slot(
            name,
            parameter,
            frozenset(left.get(name, ())),
            frozenset(right.get(name, ())),
            _called(
                _names(name) | _attributes(left.get(name, ()), right.get(name, set()) - _others(left, name)),
                left.get(name, ()),
            ),
            name in owners and parameter.type == "text",
        )
        for name, parameter in skill.task.parameters.items()
    )
    cues = frozenset[Concept]().union(*(slot.left | slot.right for slot in slots))
    hints = frozenset(concept for concept in cues if concept[0] in {Sort.DIRECTION, Sort.ATTRIBUTE, Sort.UNKNOWN})
    named = frozenset[Concept]().union(*(slot.names for slot in slots))
    everything = frozenset[Concept]().union(*(word for words in said for word in words))
    implied = frozenset(_concept(name) for _, act in acts for name in lists.IMPLIED.get(act, ()))
    excused = acts | objects | hints | named
    asked = tuple(
        Asked(
            objects=objects & frozenset[Concept]().union(*words),
            words=tuple(
                word
                for word in words
                if any(sort is Sort.QUALIFIER for sort, _ in word)
                or (not word & excused and any(sort in {Sort.UNKNOWN, Sort.ACT} for sort, _ in word))
            ),
        )
        for words in said
    )
    allowed = acts | objects | hints | named | everything | implied
    return Frame(slots, acts, objects, allowed, frozenset(plurals), implied, asked)


def _is_owner(tokens: tuple[Token, ...], at: int) -> bool:
    """Whether a thing that people make comes after a value and 的 or 's."""
    if at + 2 >= len(tokens) or tokens[at + 1].word not in {"的", "'s", "提交的"}:
        return False
    return any(sort is Sort.THING and name in _MADE_BY for sort, name in tokens[at + 2].concepts)


def _concept(listed: str) -> Concept:
    sort, _, name = listed.partition(":")
    return Sort(sort), name


def _of_sort(words: Iterable[str], sort: Sort) -> frozenset[Concept]:
    found: set[Concept] = set()
    for word in words:
        for token in tokens_of(word):
            of_sort = [concept for concept in token.concepts if concept[0] is sort]
            found |= {*(of_sort or token.concepts)[:1]}
    return frozenset(found)


def _first_acts(read: Iterable[tuple[Token, ...]]) -> Iterable[Concept]:
    for tokens in read:
        for token in tokens:
            acts = [concept for concept in token.concepts if concept[0] is Sort.ACT]
            if acts:
                yield acts[0]
                break


def _resolved(token: Token, known: frozenset[Concept]) -> frozenset[Concept]:
    """What a word of a pattern means: what the skill is known to do, else its likeliest meaning."""
    meanings = frozenset(token.concepts)
    return meanings & known or frozenset(c for c in meanings if c[0] is not Sort.ACT) or meanings


def _names(name: str) -> frozenset[Concept]:
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").lower()
    found: set[Concept] = set()
    for word in (words, *words.split()):
        found |= {concept for concept in meanings_of(word) if concept[0] is not Sort.ACT}
    return frozenset(found)


def _others(left: Mapping[str, set[Concept]], name: str) -> set[Concept]:
    """The words before the values of the other parameters."""
    return {concept for other, concepts in left.items() if other != name for concept in concepts}


def _attributes(*beside: Iterable[Concept]) -> frozenset[Concept]:
    """Words that name a value on whichever side of it they stand: "2026-05-01 入住", "入住日期 2026-05-01"."""
    return frozenset(concept for words in beside for concept in words if concept[0] is Sort.ATTRIBUTE)


def _called(names: frozenset[Concept], left: Iterable[Concept]) -> frozenset[Concept]:
    """With what goes along: where to is the recipient, where from the sender, and a place is where something is in."""
    beside = {name for _, name in (*names, *left)}
    found = set(names)
    found |= {(Sort.DIRECTION, direction) for name, direction in lists.BEGINS_ENDS if (Sort.ATTRIBUTE, name) in names}
    for direction, attribute in lists.GOES_ALONG:
        if beside & {direction, attribute}:
            found |= {(Sort.DIRECTION, direction), (Sort.ATTRIBUTE, attribute)}
    return frozenset(found)


def _beside(tokens: tuple[Token, ...], index: int, step: int) -> frozenset[Concept]:
    """What is said next to a value: words that say nothing are passed over, free directions taken along."""
    found: set[Concept] = set()
    at = index + step
    while 0 <= at < len(tokens):
        token = tokens[at]
        at += step
        if token.kind is Kind.MARK or token.is_filler or token.is_measure:
            if token.text in _STOPS or (step > 0 and token.text in _COLONS):
                break
            continue
        if token.kind is not Kind.WORD:
            break
        found |= set(token.concepts)
        if not token.is_free:
            if step < 0 and any(sort is Sort.THING for sort, _ in token.concepts):
                found |= _direction_before(tokens, at)
            break
    is_named = any(sort is Sort.ATTRIBUTE for sort, _ in found)
    return frozenset(found - FREE if is_named and step < 0 else found)


def _direction_before(tokens: tuple[Token, ...], at: int) -> frozenset[Concept]:
    """The direction before a thing that a value is of: "to the event “Sync”"."""
    while at >= 0 and tokens[at].is_filler:
        at -= 1
    return (
        frozenset(concept for concept in tokens[at].concepts if concept[0] is Sort.DIRECTION)
        if at >= 0
        else frozenset()
    )
