"""Whether a sentence says what a skill's sentences say, of other values: its best account by a frame.

See `replaywright.domain.frames` for what a frame is.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from replaywright.domain import chat_lists
from replaywright.domain import goal_lists as lists
from replaywright.domain.chat_lists import phrases
from replaywright.domain.choices import choice_of
from replaywright.domain.frames import Frame
from replaywright.domain.goals import tokens_of
from replaywright.domain.harmless import is_inside, is_taken_out
from replaywright.domain.lists import list_value
from replaywright.domain.moods import is_question, is_told
from replaywright.domain.naming import is_arrow, listed_words
from replaywright.domain.patterns import is_quoted, places_of
from replaywright.domain.valued import Values
from replaywright.domain.words import VALUES, Concept, Kind, Sort, Token, is_act, is_thing

LEAST_MARGIN = 0.75
"""Of the evidence for where the values belong: with less between two readings, the sentence is ambiguous."""
_STOPS = frozenset(",;.!?，；。！？、()（）")
_COLONS = frozenset(":：")
_REASON = (Sort.ATTRIBUTE, "reason")
_DISPOSE = (Sort.ACT, "dispose")
_STARTS = frozenset({(Sort.DIRECTION, "from")})
_LABELS_ONLY = frozenset((Sort.ATTRIBUTE, name) for name in lists.LABELS_ONLY.split())
_WISHES = frozenset(lists.WISHES.split())
_BEEN = frozenset(lists.BEEN.split())
_HAVING = frozenset(lists.HAVING.split())
_WANTING = frozenset(lists.WANTING.split())
_HAVE_IT = frozenset(phrases(chat_lists.HAVE_IT))
_DOERS = frozenset(lists.DOERS.split())
_ALL = (Sort.QUALIFIER, "all")
_TO = frozenset({(Sort.DIRECTION, "to"), (Sort.DIRECTION, "into")})
_EVERYTHING = frozenset(lists.EVERYTHING.split())
_BETWEEN = frozenset(lists.BETWEEN.split())
_LIST = (Sort.THING, "list")
_INTO = (Sort.DIRECTION, "into")
_PUTTING = frozenset({(Sort.ACT, "create"), (Sort.ACT, "insert"), (Sort.ACT, "move")})
_FILE = re.compile(r"[\w\-.]*[^\W\d_][\w\-]*\.[A-Za-z]{2,4}\d?")
_HASHES = frozenset("#№")
Span: TypeAlias = tuple[str, int, int]
"""A parameter's name, and the first and last but one token of its value."""
_Parse: TypeAlias = tuple[float, tuple[Span, ...], tuple[int, ...]]
"""Evidence, where the values are, and the tokens that are left over."""
_LEFT_OVER = -10.0
_MISSING = -6.0


@dataclass(frozen=True)
class Reading:
    """The best account of a sentence by a frame."""

    values: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Parameters without a value."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Of parameters without a value what stands in its place and is none of the choices."""
    left_over: tuple[Token, ...] = ()
    """What the frame does not account for."""
    is_ambiguous: bool = False
    said: frozenset[Concept] = frozenset()
    """What was said beside the values."""
    begins_with: frozenset[Concept] = frozenset()
    is_question: bool = False
    is_told: bool = False
    """It says what somebody has done or does."""
    has_number: bool = False
    """A value has the sign of a number before it: "#12"."""
    has_file: bool = False
    """A value is the name of a file."""
    has_everything: bool = False
    """All there is of a kind is meant by one word: "everything"."""
    has_many: bool = False
    """A thing is named in the plural, or in a language that has none."""


class _Reader(Values):
    """One sentence read by one frame."""

    def __init__(
        self, sentence: str, tokens: tuple[Token, ...], frame: Frame, fixed: Mapping[tuple[int, int], str]
    ) -> None:
        super().__init__(sentence, tokens, frame, fixed)
        self.out_of_place = frozenset(
            at for at in range(len(tokens)) if is_inside(tokens, at) or is_taken_out(tokens, at, frame)
        )
        """Words that say something where they stand, though elsewhere they would not."""
        self.known: dict[tuple[int, int, int], tuple[_Parse, ...]] = {}

    @property
    def may_act(self) -> bool:
        """Whether any word could be what the skill does; else the sentence need not be read."""
        known = self.frame.acts | self.frame.objects
        return any(meant & known for meant in self.meant)

    def best(self) -> tuple[_Parse, ...]:
        """The best accounts of the whole sentence."""
        return self._from(0, 0, 0)

    def _from(self, at: int, taken: int, since: int) -> tuple[_Parse, ...]:
        """The best accounts of the tokens from `at`, where the slots `taken` have a value, the last before `since`."""
        if at == len(self.tokens):
            missing = [
                slot
                for index, slot in enumerate(self.frame.slots)
                if not taken >> index & 1 and slot.parameter.default is None
            ]
            return ((_MISSING * len(missing), (), ()),)
        key = (at, taken, since)
        if key not in self.known:
            self.known[key] = _few(self._options(at, taken, since))
        return self.known[key]

    def _options(self, at: int, taken: int, since: int) -> Iterable[_Parse]:
        token = self.tokens[at]
        if at in self.told:
            yield from self._from(at + 1, taken, since)
            return
        is_out_of_place = at in self.out_of_place
        if (
            token.kind is Kind.MARK
            or (token.is_filler and not is_out_of_place)
            or (at in self.harmless and not is_out_of_place)
            or self._is_counted(at)
        ):
            yield from self._from(at + 1, taken, since)
        elif not is_out_of_place and self._is_explained(at):
            for score, spans, left in self._from(at + 1, taken, since):
                yield score + 0.2, spans, left
        else:
            for score, spans, left in self._from(at + 1, taken, since):
                yield score + _LEFT_OVER, spans, (at, *left)
        if at in self.labels.shared:
            yield from self._shared(at, taken)
            return
        for index, slot in enumerate(self.frame.slots):
            if taken >> index & 1:
                continue
            for end, evidence in self._ends(at, since, slot):
                for score, spans, left in self._from(end, taken | 1 << index, end):
                    yield score + evidence, ((slot.name, at, end), *spans), left

    def _shared(self, at: int, taken: int) -> Iterable[_Parse]:
        """One value that several parameters have: 主题和内容都是“早”."""
        names = self.labels.shared[at]
        several = [
            [index for index, slot in enumerate(self.frame.slots) if slot.names & name and not taken >> index & 1]
            for name in names
        ]
        indices = [found[0] for found in several if len(found) == 1]
        slots = [self.frame.slots[index] for index in indices]
        is_each = len(set(indices)) == len(names)
        if is_each and all(self._single(at, at, slot) is not None or slot.parameter.type == "text" for slot in slots):
            for score, spans, left in self._from(at + 1, taken | sum(1 << index for index in indices), at + 1):
                yield score + 3.0 * len(slots), (*((slot.name, at, at + 1) for slot in slots), *spans), left

    def _is_explained(self, at: int) -> bool:
        token = self.tokens[at]
        if is_arrow(token):
            return True
        if self.meant[at] & _LABELS_ONLY and not self.meant[at] & self.frame.acts:
            return self._names_next(at)
        if self.meant[at] & {_REASON, _DISPOSE}:
            return self._is_reason(at)
        if token.is_participle:
            return self._is_wished(at)
        if self.meant[at] & _STARTS and any(slot.is_owner for slot in self.frame.slots) and self._owns_before(at + 1):
            return True
        is_many = bool(set(token.concepts) & self.frame.plurals) or self.frame.is_of_many
        if token.is_plural and not is_many and _LIST not in self.frame.objects:
            is_counted = at > 0 and self.tokens[at - 1].kind is Kind.NUMBER
            return self._is_collection(at) or (is_counted and bool(self.meant[at] & self.frame.allowed))
        is_all = _ALL in self.meant[at] and self.frame.is_of_many
        known = self.meant[at] & self.frame.allowed
        return bool(known or token.is_soft or token.is_free or is_all or self._is_place(at))

    def _is_collection(self, at: int) -> bool:
        """Whether a plural is what something becomes one of: "add “Ann” to the contacts"."""
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        is_end = after is None or after.kind is Kind.MARK or (after.is_free and after.word != "of")
        puts_there = self.frame.acts & _PUTTING and _TO & self._spoken(at, -1)
        return is_end and bool(puts_there and self.meant[at] & self.frame.objects)

    def _names_next(self, at: int) -> bool:
        """Whether a value follows that this word names: "start: 9:00"."""
        at += 1
        while at < len(self.tokens) and (self.tokens[at].is_filler or self.tokens[at].text in _COLONS):
            at += 1
        return at < len(self.tokens) and self.tokens[at].kind in VALUES

    def _is_reason(self, at: int) -> bool:
        """A clause of its own that says why: "the card is lost, …". What is to be done stands in another one."""
        if _DISPOSE in self.meant[at] and _DISPOSE not in self.frame.implied:
            return False
        begin, end = at, at + 1
        while begin and self.tokens[begin - 1].text not in _STOPS:
            begin -= 1
        while end < len(self.tokens) and self.tokens[end].text not in _STOPS:
            end += 1
        clause = [index for index in range(begin, end) if index != at]
        is_condition = any(token.kind is Kind.WORD and token.word == "就" for token in self.tokens)
        acts = [index for index in clause if is_act(self.tokens[index])]
        return not is_condition and not any(not self.meant[index] & self.frame.objects for index in acts)

    def _is_wished(self, at: int) -> bool:
        """Whether a participle is what is to be done ("I want it closed"), not what is or what something is like."""
        if not self.meant[at] & self.frame.acts:
            return False
        begin = at
        while begin and self.tokens[begin - 1].text not in _STOPS:
            begin -= 1
        said = [token for token in self.tokens[begin:at] if token.kind is Kind.WORD]
        words = {word for token in said for word in token.word.split()}
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        is_attribute = after is not None and (
            after.kind in VALUES or any(sort in {Sort.THING, Sort.UNKNOWN} for sort, _ in after.concepts)
        )
        is_of_thing = any(token.kind in VALUES for token in self.tokens[begin:at]) or any(
            sort is Sort.THING for token in said for sort, _ in token.concepts
        )
        is_asked = any(token.word in _HAVE_IT for token in said)
        is_to_be = any(token.word.endswith("to be") for token in said)
        is_asked = is_asked or ("get" in words and not words & (_DOERS | {"got"}))
        is_had = words & _HAVING and not words & _WANTING and not is_asked and not is_to_be
        is_done = words & _BEEN or is_had or self.tokens[at - 1].word in _DOERS
        return (
            bool(words & _WISHES or is_asked or (is_to_be and words & (_WANTING | _HAVING)))
            and not is_done
            and is_of_thing
            and not is_attribute
        )

    def _is_place(self, at: int) -> bool:
        """Where something is put ("add to the cart"), or what everything of its kind is in ("in my calendar")."""
        objects = {name for _, name in self.frame.objects}
        if _INTO in self.meant[at]:
            beside = self._spoken(at, 1)
            return bool(self.frame.acts & _PUTTING and beside & self.frame.objects)
        holds = {name for _, thing in self.meant[at] for name in lists.CONTAINERS.get(thing, ())}
        return bool(holds & objects) and any(
            sort is Sort.DIRECTION for step in (-1, 1) for sort, _ in self._spoken(at, step)
        )


def _few(options: Iterable[_Parse]) -> tuple[_Parse, ...]:
    """The best, and those that put the values elsewhere."""
    best: dict[tuple[Span, ...], _Parse] = {}
    for option in options:
        if option[1] not in best or option[0] > best[option[1]][0]:
            best[option[1]] = option
    return tuple(sorted(best.values(), key=lambda parse: -parse[0])[:4])


def read(sentence: str, frame: Frame, values: Mapping[str, str] | None = None) -> Reading:
    """The best account of a sentence by a frame.

    Args:
        sentence: As it was given.
        frame: What a skill's sentences say.
        values: Those of the parameters, if something else has read them: each must stand in the sentence.
    """
    fixed: dict[tuple[int, int], str] = {}
    if values is not None:
        for name, (start, end) in places_of(sentence, values).items():
            in_quotes = is_quoted(sentence, start, end)
            fixed[(start - 1, end + 1) if in_quotes else (start, end)] = name
    tokens = tokens_of(sentence, tuple(sorted(fixed)))
    reader = _Reader(sentence, tokens, frame, fixed)
    if not reader.may_act:
        words = (token for token in tokens if token.kind is Kind.WORD)
        return Reading(left_over=tuple(token for token in words if token.is_negation or is_act(token)))
    parses = reader.best()
    _, spans, left = parses[0]
    given = _values(sentence, tokens, spans, frame)
    given |= {
        slot.name: values[slot.name]
        for slot in frame.slots
        if values is not None and slot.parameter.type == "list" and slot.name in given and slot.name in values
    }
    is_ambiguous = any(
        parses[0][0] - score < LEAST_MARGIN and _values(sentence, tokens, other, frame) != given
        for score, other, _ in parses[1:]
    )
    inside = {index for _, start, end in spans for index in range(start, end)}
    beside = [index for index in range(len(tokens)) if index not in inside and index not in reader.told]
    spoken = [index for index in beside if tokens[index].concepts]
    for slot in frame.slots:
        if slot.name not in given and slot.parameter.default is not None:
            given[slot.name] = slot.parameter.default
    missing = [slot for slot in frame.slots if slot.name not in given]
    refused = {slot.name: reader.refused(left, slot) for slot in missing if slot.parameter.type == "choice"}
    return Reading(
        values=given,
        missing=tuple(slot.name for slot in missing),
        refused={name: text for name, text in refused.items() if text},
        left_over=tuple(tokens[index] for index in left),
        is_ambiguous=is_ambiguous,
        said=frozenset[Concept]().union(*(reader.meant[index] for index in beside)),
        begins_with=reader.meant[spoken[0]] if spoken else frozenset(),
        has_many=any(
            tokens[index].is_plural or (not tokens[index].text.isascii() and is_thing(tokens[index]))
            for index in beside
        ),
        has_everything=any(tokens[index].word in _EVERYTHING for index in beside),
        has_file=any(_FILE.fullmatch(value) for value in given.values()),
        has_number=any(start and tokens[start - 1].text in _HASHES for _, start, _ in spans),
        is_question=is_question([tokens[index] for index in beside]),
        is_told=is_told([tokens[index] for index in beside if tokens[index].kind is Kind.WORD]),
    )


def _values(sentence: str, tokens: tuple[Token, ...], spans: Iterable[Span], frame: Frame) -> dict[str, str]:
    parameters = {slot.name: slot.parameter for slot in frame.slots}
    found = {}
    for name, start, end in spans:
        parameter = parameters[name]
        alone = tokens[start]
        if parameter.type == "list":
            found[name] = list_value(_texts(sentence, tokens, start, end))
            continue
        if alone.kind is Kind.FIXED and is_quoted(sentence, alone.start + 1, alone.end - 1):
            text = sentence[alone.start + 1 : alone.end - 1]
        else:
            text = alone.text if end == start + 1 else sentence[alone.start : tokens[end - 1].end]
        found[name] = (choice_of(text, parameter.choices) or text) if parameter.type == "choice" else text
    return found


def _texts(sentence: str, tokens: tuple[Token, ...], start: int, end: int) -> list[str]:
    """The values of a list, or its words where it has none in quotes or of a shape of their own."""
    is_mixed = any(token.kind is Kind.WORD and token.word not in _BETWEEN for token in tokens[start:end])
    if tokens[start].kind in VALUES and not is_mixed:
        return [token.text for token in tokens[start:end] if token.kind in VALUES]
    return [sentence[tokens[at].start : tokens[last - 1].end] for at, last in listed_words(tokens, start)]
