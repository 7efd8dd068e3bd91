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
from replaywright.domain.cues import is_bounded, is_elsewhere, is_opposite, weight
from replaywright.domain.frames import Frame, Slot
from replaywright.domain.goals import (
    FREE,
    VALUES,
    Concept,
    Kind,
    Sort,
    Token,
    folded,
    has_type,
    is_act,
    is_listed,
    is_misspelt,
    tokens_of,
)
from replaywright.domain.harmless import harmless, is_inside
from replaywright.domain.lists import list_value
from replaywright.domain.moods import is_question, is_told
from replaywright.domain.patterns import is_quoted, places_of

LEAST_MARGIN = 0.75
"""Of the evidence for where the values belong: with less between two readings, the sentence is ambiguous."""
LONGEST_VALUE = 16
"""Words of a value that has no quotes."""
_NEVER_FIRST = frozenset(lists.NEVER_FIRST.split())
_PARTS_OF_SPEECH = frozenset("的地得了着把将被")
_AS = frozenset({"as", "作为", "当作"})
_STOPS = frozenset(",;.!?，；。！？、()（）")
_COLONS = frozenset(":：")
_PARTICLES = frozenset(lists.PARTICLES.split())
_CLOSING = frozenset(lists.CLOSING.split())
_BETWEEN = frozenset(lists.BETWEEN.split())
_SURNAMES = frozenset(lists.SURNAMES.split())
_REASON = (Sort.ATTRIBUTE, "reason")
_DISPOSE = (Sort.ACT, "dispose")
_DEFINITE = frozenset(lists.DEFINITE.split())
_WISHES = frozenset(lists.WISHES.split())
_BEEN = frozenset(lists.BEEN.split())
_HAVING = frozenset(lists.HAVING.split())
_WANTING = frozenset(lists.WANTING.split())
_HAVE_IT = frozenset(phrases(chat_lists.HAVE_IT))
_DOERS = frozenset(lists.DOERS.split())
_NOBODY = frozenset(lists.NOBODY.split())
_LIST = (Sort.THING, "list")
_INTO = (Sort.DIRECTION, "into")
_PUTTING = frozenset({(Sort.ACT, "create"), (Sort.ACT, "insert"), (Sort.ACT, "move")})
_CALLED = frozenset((Sort.ATTRIBUTE, name) for name in ("name", "title", "code"))
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
LEAST_EVIDENCE = 1.0
"""Of the words beside a value without quotes."""
LONGEST_NAME = 4
"""Signs of a value without quotes in a script without spaces, where nothing marks its ends."""
_LONG_TEXT = frozenset({(Sort.ATTRIBUTE, "body"), (Sort.ATTRIBUTE, "description")})
_TYPED = {
    "email": frozenset({Kind.EMAIL, Kind.QUOTED}),
    "date": frozenset({Kind.DATE, Kind.QUOTED}),
    "number": frozenset({Kind.NUMBER, Kind.QUOTED}),
    "choice": VALUES,
}
_SELDOM = frozenset({Kind.NUMBER, Kind.DATE, Kind.EMAIL, Kind.URL})
"""Values that are taken for free text only where the words beside them say so."""


Span: TypeAlias = tuple[str, int, int]
"""A parameter's name, and the first and last but one token of its value."""


@dataclass(frozen=True)
class Reading:
    """The best account of a sentence by a frame."""

    values: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Parameters without a value."""
    left_over: tuple[Token, ...] = ()
    """What the frame does not account for."""
    is_ambiguous: bool = False
    said: frozenset[Concept] = frozenset()
    """What was said beside the values."""
    begins_with: frozenset[Concept] = frozenset()
    is_question: bool = False
    is_told: bool = False
    """It says what somebody has done or does."""


_Parse: TypeAlias = tuple[float, tuple[Span, ...], tuple[int, ...]]
"""Evidence, where the values are, and the tokens that are left over."""

_LEFT_OVER = -10.0
_MISSING = -6.0
_OPPOSED = -100.0


class _Reader:
    """One sentence read by one frame."""

    def __init__(self, tokens: tuple[Token, ...], frame: Frame, fixed: Mapping[tuple[int, int], str]) -> None:
        self.tokens = tokens
        self.frame = frame
        self.fixed = fixed
        self.known: dict[tuple[int, int, int], tuple[_Parse, ...]] = {}
        self.meant = tuple(self._meant(token) for token in tokens)
        self.harmless = harmless(tokens, frame, any(self._is_long(slot) for slot in frame.slots))

    def _meant(self, token: Token) -> frozenset[Concept]:
        """What of the frame a word stands for; a typing error of a longer word is that word."""
        if token.kind is not Kind.WORD or token.is_negation:
            return frozenset(token.concepts)
        meant = frozenset(token.concepts)
        if not meant & self.frame.allowed and token.concepts and token.concepts[0][0] is Sort.UNKNOWN:
            meant |= _nearly(token.word, self.frame.spellings)
        return meant

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
        is_out_of_place = is_inside(self.tokens, at)
        if (
            token.kind is Kind.MARK
            or (token.is_filler and not is_out_of_place)
            or at in self.harmless
            or self._is_counted(at)
        ):
            yield from self._from(at + 1, taken, since)
        elif not is_out_of_place and self._is_explained(at):
            for score, spans, left in self._from(at + 1, taken, since):
                yield score + 0.2, spans, left
        else:
            for score, spans, left in self._from(at + 1, taken, since):
                yield score + _LEFT_OVER, spans, (at, *left)
        for index, slot in enumerate(self.frame.slots):
            if taken >> index & 1:
                continue
            for end, evidence in self._ends(at, since, slot):
                for score, spans, left in self._from(end, taken | 1 << index, end):
                    yield score + evidence, ((slot.name, at, end), *spans), left

    def _is_explained(self, at: int) -> bool:
        token = self.tokens[at]
        if self.meant[at] & {_REASON, _DISPOSE}:
            return self._is_reason(at)
        if token.is_participle:
            return self._is_wished(at)
        is_many = bool(set(token.concepts) & self.frame.plurals) or self.frame.is_of_many
        if token.is_plural and not is_many and _LIST not in self.frame.objects:
            return at > 0 and self.tokens[at - 1].kind is Kind.NUMBER and bool(self.meant[at] & self.frame.allowed)
        return bool(self.meant[at] & self.frame.allowed or token.is_soft or token.is_free or self._is_place(at))

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
        return not is_condition and not any(is_act(self.tokens[index]) for index in clause)

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
        is_of_thing = any(sort is Sort.THING for token in said for sort, _ in token.concepts)
        is_asked = any(token.word in _HAVE_IT for token in said)
        is_had = words & _HAVING and not words & _WANTING and not is_asked
        is_done = words & _BEEN or is_had or self.tokens[at - 1].word in _DOERS
        return bool(words & _WISHES or is_asked) and not is_done and is_of_thing and not is_attribute

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

    def _spoken(self, at: int, step: int) -> frozenset[Concept]:
        """What the next word that says something means."""
        at += step
        while 0 <= at < len(self.tokens) and self.tokens[at].is_filler:
            at += step
        return self.meant[at] if 0 <= at < len(self.tokens) else frozenset()

    def _is_counted(self, at: int) -> bool:
        """A measure word after a number, or after what is done ("发封邮件")."""
        if not self.tokens[at].is_measure or not at:
            return False
        before = self.tokens[at - 1]
        return before.kind is Kind.NUMBER or (is_act(before) and self.tokens[at].text not in _SURNAMES)

    def _ends(self, at: int, since: int, slot: Slot) -> Iterable[tuple[int, float]]:
        """Where a value of the slot that begins at a token may end, with the evidence for it."""
        token = self.tokens[at]
        if token.kind is Kind.FIXED:
            if self.fixed.get((token.start, token.end)) == slot.name:
                yield at + 1, 3.0
            return
        if slot.parameter.type == "list":
            yield from self._several(at, since, slot)
            return
        if slot.parameter.type == "choice":
            yield from self._choices(at, since, slot)
            return
        if token.kind in VALUES:
            evidence = self._single(at, since, slot)
            if evidence is not None:
                yield at + 1, evidence
        elif slot.parameter.type == "text" and token.kind is Kind.WORD:
            yield from self._unquoted(at, since, slot)

    def _several(self, at: int, since: int, slot: Slot) -> Iterable[tuple[int, float]]:
        """The values of a list: all that stand together, of one kind, with commas or "and" between them."""
        kind = self.tokens[at].kind
        if kind not in VALUES:
            return
        end = at + 1
        while True:
            following = end
            while following < len(self.tokens) and self.tokens[following].word in _BETWEEN:
                following += 1
            if following == end or following == len(self.tokens) or self.tokens[following].kind is not kind:
                break
            end = following + 1
        cues = self._cues(at, end, since, slot)
        if cues > 0:
            yield end, cues + 1.0

    def _choices(self, at: int, since: int, slot: Slot) -> Iterable[tuple[int, float]]:
        for end in range(at + 1, min(at + 5, len(self.tokens)) + 1):
            said = "".join(token.word for token in self.tokens[at:end])
            if any(said == folded(choice).replace(" ", "") for choice in slot.parameter.choices):
                cues = self._cues(at, end, since, slot)
                if cues != _OPPOSED:
                    yield end, 2.0 + cues

    def _single(self, at: int, since: int, slot: Slot) -> float | None:
        token, kind = self.tokens[at], slot.parameter.type
        cues = self._cues(at, at + 1, since, slot)
        if cues == _OPPOSED:
            return None
        if kind == "text":
            if token.kind in _SELDOM and cues <= 0:
                return None
            return cues + {Kind.QUOTED: 1.0}.get(token.kind, 0.5)
        if token.kind not in _TYPED[kind] or not has_type(token.text, kind):
            return None
        return cues + (1.5 if token.kind is not Kind.QUOTED else 0.5)

    def _cues(self, at: int, end: int, since: int, slot: Slot) -> float:
        """What the words beside a value say for its being the slot's; negative when they name another one."""
        before = self._left_of(at, since)
        after = self._right_of(end)
        evidence = max(weight(before & (slot.left | slot.names)), 0.0)
        evidence = max(evidence, weight(self._label_after(end) & slot.names))
        evidence += 0.6 * weight(after & slot.right)
        if is_opposite(before, slot.left | slot.names):
            return _OPPOSED
        if slot.parameter.type in {"number", "date"} and is_bounded(before, slot.left | slot.names):
            return _OPPOSED
        if slot.parameter.type == "text" and is_elsewhere(before, slot.left | slot.names):
            return _OPPOSED
        if before & self.frame.objects and slot.names & _CALLED:
            evidence = max(evidence, self._appended(at, end))
        others = [other for other in self.frame.slots if other is not slot]
        if not before & (slot.left | slot.names) and any(
            before & (other.left | other.names) - FREE and weight(before & (other.left | other.names)) >= 2
            for other in others
        ):
            evidence -= 2
            if any(sort is Sort.ATTRIBUTE for other in others for sort, _ in before & other.names):
                return _OPPOSED
        into = before & FREE - slot.left - slot.right
        if into and before & self.frame.objects and any(into & other.left for other in others):
            evidence -= 1
        return evidence

    def _appended(self, at: int, end: int) -> float:
        """Evidence of a name that stands right after the thing it is of: "create folder Old"."""
        token = self.tokens[at]
        is_name = token.kind in VALUES or token.text[0].isupper() or not token.text.isascii()
        is_apart = at > 0 and token.start > self.tokens[at - 1].end
        after = self.tokens[end] if end < len(self.tokens) else None
        is_closed = after is None or after.text in _STOPS or (token.text[0].isupper() and after.word in _CLOSING)
        return LEAST_EVIDENCE if is_name and is_apart and is_closed else 0.0

    def _is_set_apart(self, at: int) -> bool:
        """Whether a word of signs is the last one, with a space between it and the thing that it is the name of."""
        before = self.tokens[at - 1] if at else None
        is_last = all(token.kind is Kind.MARK for token in self.tokens[at + 1 :])
        return (
            before is not None
            and is_last
            and before.end < self.tokens[at].start
            and bool(self.meant[at - 1] & self.frame.objects)
        )

    def _left_of(self, at: int, since: int) -> frozenset[Concept]:
        found: set[Concept] = set()
        for index in range(at - 1, since - 1, -1):
            token = self.tokens[index]
            if token.kind is Kind.MARK and token.text in _STOPS:
                break
            if token.kind is Kind.MARK or token.is_filler or token.is_measure:
                continue
            if token.kind is not Kind.WORD or self._is_label_of_left(index):
                break
            found |= self.meant[index]
            if not token.is_free and not self.meant[index] & self.frame.implied:
                if self.meant[index] & self.frame.objects:
                    found |= {concept for concept in self._spoken(index, -1) if concept in FREE}
                break
        return frozenset(found)

    def _is_label_of_left(self, index: int) -> bool:
        """Whether a name belongs to the value before it: "'Agenda' as the subject"."""
        at = index - 1
        while at >= 0 and self.tokens[at].is_filler:
            at -= 1
        return at > 0 and self.tokens[at].word in _AS and self.tokens[at - 1].kind in VALUES

    def _label_after(self, end: int) -> frozenset[Concept]:
        """What a value is said to be right after it."""
        if end >= len(self.tokens) or self.tokens[end].word not in _AS:
            return frozenset()
        return frozenset(concept for concept in self._spoken(end, 1) if concept[0] is Sort.ATTRIBUTE)

    def _right_of(self, end: int) -> frozenset[Concept]:
        found: set[Concept] = set()
        for index in range(end, len(self.tokens)):
            token = self.tokens[index]
            if token.kind is Kind.MARK and token.text in _STOPS | _COLONS:
                break
            if token.kind is Kind.MARK or token.is_filler or token.is_measure:
                continue
            if token.kind is not Kind.WORD:
                break
            found |= self.meant[index]
            if not token.is_free:
                break
        return frozenset(found)

    def _unquoted(self, at: int, since: int, slot: Slot) -> Iterable[tuple[int, float]]:
        """Values of several words without quotes: only where words beside them say so, and never across a demand."""
        is_long = self._is_long(slot)
        if is_long and self._is_dictated(at, slot):
            yield self._sentence_end(), 3.0
        if (
            self._is_counted(at)
            or self._is_described(at)
            or (self._says_nothing(at) and not is_long)
            or not self._is_clear(at, at, slot)
        ):
            return
        for end in range(at + 1, min(at + LONGEST_VALUE, len(self.tokens)) + 1):
            token = self.tokens[end - 1]
            if token.kind is Kind.MARK and token.text in "-_/&+.'" and end - at > 1:
                continue
            if not self._is_clear(end - 1, at, slot):
                return
            if (self._says_nothing(end - 1) and not is_long) or not self._names_something(at, end):
                continue
            if not is_long and self._is_unmarked(at, end):
                continue
            evidence = self._cues(at, end, since, slot)
            evidence -= self._torn(at, slot) + self._owned(at, end)
            if evidence >= LEAST_EVIDENCE:
                yield end, evidence + 0.02 * (end - at)

    def _is_described(self, at: int) -> bool:
        """Whether a word tells what something is like, not what it is called: "to the new colleague"."""
        return at > 0 and self.tokens[at - 1].word in _DEFINITE and not self.tokens[at].text[0].isupper()

    def _sentence_end(self) -> int:
        end = len(self.tokens)
        return end - 1 if self.tokens[end - 1].kind is Kind.MARK and self.tokens[end - 1].text in _STOPS else end

    def _is_dictated(self, at: int, slot: Slot) -> bool:
        """Whether all from here to the end is one clause of text after its name and a colon: "正文：请提交"."""
        before = self.tokens[at - 1] if at else None
        if before is None or before.text not in _COLONS or not self._left_of(at, 0) & (slot.left | slot.names):
            return False
        rest = self.tokens[at : self._sentence_end()]
        return not any(
            token.is_join
            or token.is_negation
            or (token.kind is Kind.MARK and token.text in _STOPS | _COLONS)
            or token.kind not in {Kind.WORD, Kind.MARK, Kind.NUMBER}
            for token in rest
        )

    def _is_unmarked(self, at: int, end: int) -> bool:
        """Whether a value is too long to be a name, and nothing marks its end."""
        text = "".join(token.text for token in self.tokens[at:end])
        if len(text) <= LONGEST_NAME or not _HAN.search(text):
            return False
        after = self.tokens[end] if end < len(self.tokens) else None
        return after is not None and after.kind is not Kind.MARK and after.start == self.tokens[end - 1].end

    def _says_nothing(self, index: int) -> bool:
        """Whether a value without quotes does not begin or end here."""
        token = self.tokens[index]
        is_empty = token.is_filler and (token.text.isascii() or len(token.text) > 1)
        return token.word in _NEVER_FIRST or is_empty or (token.text.isascii() and token.is_free)

    def _names_something(self, at: int, end: int) -> bool:
        """Whether it is more than words that the skill's sentences have anyway."""
        return any(
            not self.tokens[index].is_filler and not self.meant[index] & self.frame.allowed for index in range(at, end)
        )

    def _owned(self, at: int, end: int) -> float:
        """Evidence against a value that has words of the skill's own sentences in it."""
        return float(sum(bool(self.meant[index] & self.frame.allowed - FREE) for index in range(at, end)))

    def _torn(self, at: int, slot: Slot) -> float:
        """Evidence against a value that begins within a run of signs, after one that tells nothing of its place."""
        before = self.tokens[at - 1] if at else None
        if (
            before is None
            or before.kind is not Kind.WORD
            or before.end != self.tokens[at].start
            or len(before.text) > 1
            or before.text == "个"
        ):
            return 0.0
        return 0.0 if self.meant[at - 1] & (slot.left | slot.names) else 1.0

    @staticmethod
    def _is_long(slot: Slot) -> bool:
        return bool((slot.left | slot.names) & _LONG_TEXT)

    def _is_clear(self, index: int, first: int, slot: Slot) -> bool:
        """Whether a token may be part of a value without quotes that begins with the token `first`."""
        token = self.tokens[index]
        if token.kind is not Kind.WORD:
            # "account 1234", "group 5" is another thing, and not a name.
            before = self.tokens[index - 1]
            is_of_thing = index > first and any(sort is Sort.THING for sort, _ in before.concepts)
            return token.kind is Kind.NUMBER and not is_of_thing
        if (
            index in self.harmless
            or (token.is_chat and not self._is_long(slot))
            or token.is_negation
            or token.is_join
            or token.is_participle
            or token.word in _NOBODY
        ):
            return False
        concepts = self.meant[index]
        sorts = {sort for sort, _ in concepts}
        if self._is_long(slot) and token.text.isascii():
            return not concepts & self.frame.acts
        if not token.text.isascii():
            before = self.tokens[index - 1]
            if index > first and not before.text.isascii() and before.end < token.start:
                return False
            is_name = index == first and self._is_set_apart(index) and bool(slot.names & _CALLED)
            is_other = is_name and not concepts & self.frame.allowed and Sort.ACT not in sorts
            return is_other or (token.word not in _PARTS_OF_SPEECH and sorts <= {Sort.UNKNOWN, Sort.DIRECTION})
        begins = self.tokens[first]
        if begins.text[0].isupper() and first:
            # A name in capitals ends with its last one: "Madrid economy class" is more than a name.
            return token.text[0].isupper() or (index > first and token.word in _PARTICLES)
        if sorts & {Sort.QUALIFIER, Sort.DIRECTION} and token.word != "of":
            return False
        return not (Sort.ACT in sorts and sorts <= {Sort.ACT, Sort.UNKNOWN})


def _few(options: Iterable[_Parse]) -> tuple[_Parse, ...]:
    """The best, and those that put the values elsewhere."""
    best: dict[tuple[Span, ...], _Parse] = {}
    for option in options:
        if option[1] not in best or option[0] > best[option[1]][0]:
            best[option[1]] = option
    return tuple(sorted(best.values(), key=lambda parse: -parse[0])[:4])


def _nearly(word: str, spellings: Iterable[tuple[str, Concept]]) -> frozenset[Concept]:
    """Meanings of the words that a typing error makes of this one; it says so only of words on no list."""
    if is_listed(word):
        return frozenset()
    return frozenset(concept for spelling, concept in spellings if is_misspelt(word, spelling))


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
    reader = _Reader(tokens, frame, fixed)
    if not reader.may_act:
        words = (token for token in tokens if token.kind is Kind.WORD)
        return Reading(left_over=tuple(token for token in words if token.is_negation or is_act(token)))
    parses = reader.best()
    _, spans, left = parses[0]
    several = frozenset(slot.name for slot in frame.slots if slot.parameter.type == "list")
    given = _values(sentence, tokens, spans, several)
    is_ambiguous = any(
        parses[0][0] - score < LEAST_MARGIN and _values(sentence, tokens, other, several) != given
        for score, other, _ in parses[1:]
    )
    inside = {index for _, start, end in spans for index in range(start, end)}
    beside = [index for index in range(len(tokens)) if index not in inside]
    spoken = [index for index in beside if tokens[index].concepts]
    for slot in frame.slots:
        if slot.name not in given and slot.parameter.default is not None:
            given[slot.name] = slot.parameter.default
    return Reading(
        values=given,
        missing=tuple(slot.name for slot in frame.slots if slot.name not in given),
        left_over=tuple(tokens[index] for index in left),
        is_ambiguous=is_ambiguous,
        said=frozenset[Concept]().union(*(reader.meant[index] for index in beside)),
        begins_with=reader.meant[spoken[0]] if spoken else frozenset(),
        is_question=is_question([tokens[index] for index in beside]),
        is_told=is_told([tokens[index] for index in beside if tokens[index].kind is Kind.WORD]),
    )


def _values(sentence: str, tokens: tuple[Token, ...], spans: Iterable[Span], several: frozenset[str]) -> dict[str, str]:
    found = {}
    for name, start, end in spans:
        alone = tokens[start]
        if name in several:
            found[name] = list_value([token.text for token in tokens[start:end] if token.kind in VALUES])
            continue
        if alone.kind is Kind.FIXED and is_quoted(sentence, alone.start + 1, alone.end - 1):
            found[name] = sentence[alone.start + 1 : alone.end - 1]
        else:
            found[name] = alone.text if end == start + 1 else sentence[alone.start : tokens[end - 1].end]
    return found
