"""Where the values of a sentence begin and end: in quotes, of a shape of their own, and without either."""

import re
from collections.abc import Iterable, Sequence

from replaywright.domain import goal_lists as lists
from replaywright.domain.choices import choice_of, is_whole
from replaywright.domain.evidence import LEAST_EVIDENCE, OPPOSED, Evidence
from replaywright.domain.frames import Slot
from replaywright.domain.goals import has_type
from replaywright.domain.naming import (
    is_arrow,
    is_name_of_person,
    listed_words,
)
from replaywright.domain.words import FREE, VALUES, Kind, Sort, is_act

LONGEST_VALUE = 16
"""Words of a value that has no quotes."""
_NEVER_FIRST = frozenset(lists.NEVER_FIRST.split())
_PARTS_OF_SPEECH = frozenset("的地得了着把将被")
_STOPS = frozenset(",;.!?，；。！？、()（）")
_COLONS = frozenset(":：")
_PARTICLES = frozenset(lists.PARTICLES.split())
_BETWEEN = frozenset(lists.BETWEEN.split())
_SURNAMES = frozenset(lists.SURNAMES.split())
_PERSON_ACTS = frozenset((Sort.ACT, act) for act in ("assign", "approve", "reject"))
_DEFINITE = frozenset(lists.DEFINITE.split())
_NOBODY = frozenset(lists.NOBODY.split())
_CALLED = frozenset((Sort.ATTRIBUTE, name) for name in ("name", "title", "code"))
_NAMING = frozenset({(Sort.ATTRIBUTE, "name"), (Sort.ATTRIBUTE, "title")})
_MANNERS = frozenset(lists.MANNERS.split())
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LEAST_PHONE = 7
"""Digits that a number has more than, where nothing says that it is somebody's."""
_LONGEST_CHOICE = 5
"""Words of a choice."""
LONGEST_NAME = 4
"""Signs of a value without quotes in a script without spaces, where nothing marks its ends."""
_TYPED = {
    "email": frozenset({Kind.EMAIL, Kind.QUOTED}),
    "date": frozenset({Kind.DATE, Kind.QUOTED}),
    "number": frozenset({Kind.NUMBER, Kind.QUOTED}),
    "choice": VALUES,
}
_NUMERAL = re.compile(rf"(?!{'|'.join(lists.PLACES_WITH_NUMERALS.split())})[{''.join(lists.NUMERALS.split())}]")
"""A word that begins with a numeral says how many, and is no name: 五星级."""
_SELDOM = frozenset({Kind.NUMBER, Kind.DATE, Kind.EMAIL, Kind.URL})
"""Values that are taken for free text only where the words beside them say so."""


class Values(Evidence):
    """The values that a sentence may have for each parameter of a frame."""

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
        is_named = bool(self._left_of(at, since) & (slot.left | slot.names) - FREE)
        if kind in {Kind.WORD, Kind.CODE}:
            words = listed_words(self.tokens, at)
            named = at - 1 if at and self.tokens[at - 1].text in _COLONS else at
            is_after_name = is_named and any(sort is Sort.THING for sort, _ in self._spoken(named, -1) & slot.left)
            is_told = is_after_name or (
                self._is_end(words) and (self._are_people(words, at, since, slot) or self._are_labels(words, at, slot))
            )
            if words and is_told and all(self._is_clear_word(*word) for word in words):
                yield words[-1][1], 2.0
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
        if cues > 0 and (is_named or kind in {Kind.QUOTED, Kind.EMAIL}):
            yield end, cues + 1.0

    def _is_end(self, words: Sequence[tuple[int, int]]) -> bool:
        """Whether a clause ends with the last word of a list."""
        end = words[-1][1] if words else 0
        while words and end < len(self.tokens) and self.tokens[end].is_filler:
            end += 1
        return end == len(self.tokens) or self.tokens[end].text in _STOPS

    def _are_people(self, words: Sequence[tuple[int, int]], at: int, since: int, slot: Slot) -> bool:
        """Whether a list is of names of people, told right after where to: "to Ann and Bob", 给王芳、李雷."""
        is_to = any(sort is Sort.DIRECTION and name == "to" for sort, name in self._left_of(at, since) & slot.left)
        return is_to and all(
            end == begin + 1
            and all(sort is Sort.UNKNOWN for sort, _ in self.tokens[begin].concepts)
            and (self.tokens[begin].text[0].isupper() or not self.tokens[begin].text.isascii())
            and is_name_of_person(self.tokens[begin].text)
            for begin, end in words
        )

    def _are_labels(self, words: Sequence[tuple[int, int]], at: int, slot: Slot) -> bool:
        """Whether a list is told after "with" or "as" where its name is the verb: "label issue 5 with ui and api"."""
        verb = next((index for index, token in enumerate(self.tokens) if not token.is_filler), 0)
        verbal = {name for _, name in self.meant[verb] & slot.left if name in lists.VERBAL}
        is_with = at > 0 and self.tokens[at - 1].word in {"with", "as"}
        is_other = any(
            self.tokens[begin].word in _MANNERS or {name for _, name in self.meant[begin]} & verbal
            for begin, _ in words
        )
        return bool(verbal) and is_with and not is_other

    def _is_clear_word(self, at: int, end: int) -> bool:
        """Whether a word of a list without quotes is a name, and not which or how many there are."""
        return not any(
            index in self.harmless
            or token.is_filler
            or token.is_chat
            or token.is_participle
            or token.word in _NOBODY
            or (end < len(self.tokens) and self.tokens[end].kind is Kind.NUMBER)
            for index, token in enumerate(self.tokens[at:end], at)
        )

    def _choices(self, at: int, since: int, slot: Slot) -> Iterable[tuple[int, float]]:
        choices = slot.parameter.choices
        for end in range(at + 1, min(at + _LONGEST_CHOICE, len(self.tokens)) + 1):
            if self.tokens[end - 1].kind not in {Kind.WORD, Kind.MARK, *VALUES}:
                return
            said = "".join(token.text for token in self.tokens[at:end])
            if choice_of(said, choices) is None:
                continue
            cues = self._cues(at, end, since, slot)
            if cues > 0 or (cues != OPPOSED and is_whole(said, choices)):
                yield end, 2.0 + cues

    def refused(self, left: Iterable[int], slot: Slot) -> str:
        """What of all that is left over stands where the slot's choice is told; empty for nothing."""
        return next(
            (
                self.tokens[index].text
                for index in left
                if self.labels.single.get(index, self._left_of(index, 0)) & (slot.left | slot.names) - FREE
                or self._label_after(index + 1) & slot.names
            ),
            "",
        )

    def _single(self, at: int, since: int, slot: Slot) -> float | None:
        token, kind = self.tokens[at], slot.parameter.type
        cues = self._cues(at, at + 1, since, slot)
        if cues == OPPOSED:
            return None
        if kind == "text":
            is_phone = (
                token.kind is Kind.NUMBER and len(token.text) > _LEAST_PHONE and (Sort.ATTRIBUTE, "phone") in slot.names
            )
            if ((token.kind in _SELDOM and not is_phone) or self._is_heading(at)) and cues <= 0:
                return None
            return cues + {Kind.QUOTED: 1.0}.get(token.kind, 0.5)
        if token.kind not in _TYPED[kind] or not has_type(token.text, kind):
            return None
        return cues + (1.5 if token.kind is not Kind.QUOTED else 0.5)

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
            if _NUMERAL.match("".join(each.text for each in self.tokens[at:end])):
                continue
            if self.frame.acts & _PERSON_ACTS and slot.parameter.type == "text":
                text = "".join(each.text for each in self.tokens[at:end])
                if _HAN.search(text) and not is_name_of_person(text):
                    continue
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
            or before.text in {"个", "把", "将"}
        ):
            return 0.0
        return 0.0 if self.meant[at - 1] & (slot.left | slot.names) else 1.0

    def _is_clear(self, index: int, first: int, slot: Slot) -> bool:
        """Whether a token may be part of a value without quotes that begins with the token `first`."""
        token = self.tokens[index]
        if token.kind is not Kind.WORD:
            return token.kind is Kind.NUMBER and not self._is_number_of(index, first)
        if (
            index in self.harmless
            or is_arrow(token)
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
        is_compound = index > first and self.sentence[self.tokens[index - 1].end : token.start] in {"-", "‑"}
        if begins.text[0].isupper() and first and not self._is_sought(first, slot):
            # A name in capitals ends with its last one: "Madrid economy class" is more than a name.
            return token.text[0].isupper() or is_compound or (index > first and token.word in _PARTICLES)
        is_weighty = sorts & {Sort.QUALIFIER, Sort.DIRECTION} and token.word != "of"
        return is_compound or not (is_weighty or (Sort.ACT in sorts and sorts <= {Sort.ACT, Sort.UNKNOWN}))

    def _is_number_of(self, index: int, first: int) -> bool:
        """Whether a number belongs to another thing ("account 1234", "group 5"), and to no name: "called Project 7"."""
        before = self.tokens[index - 1]
        is_of_thing = index > first and any(sort is Sort.THING for sort, _ in before.concepts)
        return is_of_thing and not (before.text[0].isupper() and self._left_of(first, 0) & _NAMING)

    def _is_sought(self, first: int, slot: Slot) -> bool:
        """Whether an abbreviation begins what an act is done to, and no name in capitals: "search for USB sticks"."""
        text = self.tokens[first].text
        beside = slot.left - FREE
        is_object = bool(beside & self.frame.acts) and all(sort is not Sort.DIRECTION for sort, _ in beside)
        return is_object and len(text) > 1 and text.isupper() and len(self.frame.slots) == 1

    def _is_counted(self, at: int) -> bool:
        """A measure word after a number, or after what is done ("发封邮件")."""
        if not self.tokens[at].is_measure or not at:
            return False
        before = self.tokens[at - 1]
        return before.kind is Kind.NUMBER or (is_act(before) and self.tokens[at].text not in _SURNAMES)
