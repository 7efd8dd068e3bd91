"""What the words beside a value of a sentence say for its being the value of a parameter."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from replaywright.domain import goal_lists as lists
from replaywright.domain.cues import is_bounded, is_elsewhere, is_opposite, weight
from replaywright.domain.frames import Frame, Slot
from replaywright.domain.goals import is_listed, is_misspelt, tokens_of
from replaywright.domain.harmless import harmless
from replaywright.domain.naming import (
    appositions,
    dashes_of,
    is_name_of_person,
    labels_of,
    ranges_of,
)
from replaywright.domain.remarks import remarks, tags
from replaywright.domain.words import FREE, VALUES, Concept, Kind, Sort, Token

_AS = frozenset({"as", "作为", "当作"})
_STOPS = frozenset(",;.!?，；。！？、()（）")
_COLONS = frozenset(":：")
_CLOSING = frozenset(lists.CLOSING.split())
_ENDS = frozenset((Sort.DIRECTION, name) for name in ("to", "into"))
_STARTS = frozenset({(Sort.DIRECTION, "from")})
_CALLED = frozenset((Sort.ATTRIBUTE, name) for name in ("name", "title", "code"))
LEAST_EVIDENCE = 1.0
"""Of the words beside a value without quotes."""
_LONG_TEXT = frozenset({(Sort.ATTRIBUTE, "body"), (Sort.ATTRIBUTE, "description")})
_HASHES = frozenset("#№")
_NUMBERED = frozenset(lists.NUMBERED.split())
OPPOSED = -100.0
"""Of a value that the words beside it say is another one's."""


@dataclass(frozen=True)
class _Common:
    """What is the same of a sentence for every frame: positions of tokens."""

    tags: frozenset[int]
    apposed: frozenset[int]
    dashes: frozenset[int]
    ranges: Mapping[int, frozenset[Concept]]


@lru_cache(maxsize=256)
def _common(sentence: str, fixed: tuple[tuple[int, int], ...]) -> _Common:
    tokens = tokens_of(sentence, fixed)
    return _Common(tags(tokens), appositions(tokens), dashes_of(tokens), ranges_of(tokens))


class Evidence:
    """One sentence beside one frame: what its words mean there, and where they place its values."""

    def __init__(
        self, sentence: str, tokens: tuple[Token, ...], frame: Frame, fixed: Mapping[tuple[int, int], str]
    ) -> None:
        self.sentence = sentence
        self.tokens = tokens
        self.frame = frame
        self.fixed = fixed
        self.meant = tuple(self._meant(token) for token in tokens)
        is_long = any(self._is_long(slot) for slot in frame.slots)
        texts = sum(slot.parameter.type == "text" for slot in frame.slots)
        is_dictated = is_long and sum(token.kind is Kind.QUOTED for token in tokens) < texts
        common = _common(sentence, tuple(sorted(fixed)))
        self.told = common.tags | remarks(sentence, tokens, frame, is_dictated)
        """Tokens of tags and remarks: no value stands in them."""
        self.apposed = common.apposed
        self.harmless = harmless(tokens, frame, is_long) | self.told | self.apposed | common.dashes
        self.named = frozenset[Concept]().union(*(slot.names for slot in frame.slots))
        self.labels = labels_of(tokens, self.named)
        self.harmless |= self.labels.words
        self.ranges = common.ranges

    def _meant(self, token: Token) -> frozenset[Concept]:
        """What of the frame a word stands for; a typing error of a longer word is that word."""
        if token.kind is not Kind.WORD or token.is_negation:
            return frozenset(token.concepts)
        meant = frozenset(token.concepts)
        if not meant & self.frame.allowed and token.concepts and token.concepts[0][0] is Sort.UNKNOWN:
            meant |= _nearly(token.word, self.frame.spellings)
        return meant

    def _spoken(self, at: int, step: int) -> frozenset[Concept]:
        """What the next word that says something means."""
        at += step
        while 0 <= at < len(self.tokens) and self.tokens[at].is_filler:
            at += step
        return self.meant[at] if 0 <= at < len(self.tokens) else frozenset()

    def _may_range(self, at: int, slot: Slot) -> bool:
        """Whether a value at one end of a range or an arrow may be the slot's: where to is not where from."""
        is_end, is_start = bool(self.ranges[at] & _ENDS), bool(self.ranges[at] & _STARTS)
        takes_end = bool((slot.left | slot.names) & _ENDS)
        any_end = any((other.left | other.names) & _ENDS for other in self.frame.slots)
        if not is_end and not is_start:
            return False
        return not any_end or takes_end == is_end

    def _is_pointed_at(self, end: int) -> bool:
        """Whether a value stands before what it is the number of: "7781 这个订单", "7781 号订单"."""
        return end < len(self.tokens) and self.tokens[end].word in {
            "号",
            "这个",
            "那个",
            "这张",
            "那张",
            "这封",
            "那封",
        }

    def _is_heading(self, at: int) -> bool:
        """Whether a code before the whole task ("FIN-88: transfer …") may be no more than its number elsewhere."""
        is_first = at == 0 and self.tokens[at].kind is Kind.CODE and len(self.tokens) > 1
        return is_first and self.tokens[1].text in _COLONS and len(self.frame.slots) > 1

    def _cues(self, at: int, end: int, since: int, slot: Slot) -> float:
        """What the words beside a value say for its being the slot's; negative when they name another one."""
        if at in self.labels.single:
            return 3.0 if self.labels.single[at] & slot.names else OPPOSED
        before = self._left_of(at, since)
        after = self._right_of(end)
        if at in self.ranges and end == at + 1:
            if not self._may_range(at, slot):
                return OPPOSED
            if self.ranges[at] & (slot.left | slot.names):
                before = self.ranges[at] | (before if before & slot.names else frozenset())
        if slot.is_owner and self._is_owner(at, end, before, after):
            return LEAST_EVIDENCE + 0.5
        if self._is_opposed(before, slot):
            return OPPOSED
        evidence = max(weight(before & (slot.left | slot.names)), weight(self._label_after(end) & slot.names), 0.0)
        evidence += 0.6 * weight(after & slot.right)
        if before & self.frame.objects and slot.names & _CALLED:
            evidence = max(evidence, self._appended(at, end))
        if self._is_numbered(at, slot) or (self._is_pointed_at(end) and after & slot.left & self.frame.objects):
            evidence = max(evidence, LEAST_EVIDENCE)
        return evidence - self._evidence_for_others(end, before, slot)

    def _is_opposed(self, before: frozenset[Concept], slot: Slot) -> bool:
        """Whether the words before a value say that it is not the slot's."""
        known = slot.left | slot.names
        if is_opposite(before, known):
            return True
        if slot.parameter.type in {"number", "date"} and is_bounded(before, known):
            return True
        if slot.parameter.type == "text" and is_elsewhere(before, known):
            return True
        others = [other for other in self.frame.slots if other is not slot]
        is_named = any(sort is Sort.ATTRIBUTE for other in others for sort, _ in before & other.names)
        return is_named and self._names_another(before, slot)

    def _names_another(self, before: frozenset[Concept], slot: Slot) -> bool:
        """Whether the words before a value name the value of another parameter."""
        if before & (slot.left | slot.names):
            return False
        beside = [before & (other.left | other.names) for other in self.frame.slots if other is not slot]
        return any(each - FREE and weight(each) >= 2 for each in beside)

    def _evidence_for_others(self, end: int, before: frozenset[Concept], slot: Slot) -> float:
        """What the words beside a value say for its being another one's."""
        others = [other for other in self.frame.slots if other is not slot]
        found = 2.0 if self._names_another(before, slot) else 0.0
        called = self._spoken(end - 1, 1) - slot.right - slot.names
        if not before & slot.names and any(
            sort is Sort.ATTRIBUTE for other in others for sort, _ in called & other.right & other.names
        ):
            found += 2
        into = before & FREE - slot.left - slot.right
        if into and before & self.frame.objects and any(into & other.left for other in others):
            found += 1
        return found

    def _is_numbered(self, at: int, slot: Slot) -> bool:
        """Whether the sign of a number stands before the value of a thing that has numbers."""
        has_sign = at > 0 and self.tokens[at - 1].text in _HASHES
        return has_sign and any(thing in _NUMBERED for _, thing in slot.left)

    def _is_owner(self, at: int, end: int, before: frozenset[Concept], after: frozenset[Concept]) -> bool:
        """Whether a name says whose it is: "Ann Lee's request", "the request from Ann Lee", 李雷的申请."""
        text = "".join(token.text for token in self.tokens[at:end])
        is_name = is_name_of_person(text) and (not text.isascii() or self.tokens[at].text[0].isupper())
        if not is_name:
            return False
        if before & self.frame.objects or {name for _, name in before} & {"from", "of", "by"}:
            return self._owns_before(at)
        begin = at
        while begin and self.tokens[begin - 1].is_filler:
            begin -= 1
        is_begin = not begin or self.tokens[begin - 1].text in _STOPS
        is_sure = not text.isascii() or end - at > 1 or begin > 0
        return is_begin and is_sure and bool(after & self.frame.objects)

    def _owns_before(self, at: int) -> bool:
        """Whether a thing of the skill's and "from", "of" or "by" stand right before."""
        found: list[frozenset[Concept]] = []
        for index in range(at - 1, -1, -1):
            if self.tokens[index].kind is not Kind.WORD or len(found) == 2:
                break
            if not self.tokens[index].is_filler:
                found.append(self.meant[index])
        is_of = len(found) == 2 and bool({name for _, name in found[0]} & {"from", "of", "by"})
        return is_of and bool(found[1] & self.frame.objects)

    def _appended(self, at: int, end: int) -> float:
        """Evidence of a name that stands right after the thing it is of: "create folder Old"."""
        token = self.tokens[at]
        is_name = token.kind in VALUES or token.text[0].isupper() or not token.text.isascii()
        is_apart = at > 0 and (token.start > self.tokens[at - 1].end or self.tokens[at - 1].text in _COLONS)
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
            if index in self.apposed:
                continue
            if token.kind is not Kind.WORD or self._is_label_of_left(index) or self._is_named_behind(index, at):
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

    def _is_named_behind(self, index: int, at: int) -> bool:
        """Whether values stand before their names, and a name belongs to the last one: "5月1日入住5月3日退房"."""
        names = [self.meant[each] & self.named if each < len(self.meant) else frozenset() for each in (index, at + 1)]
        is_behind = index > 1 and self.tokens[index - 1].kind in VALUES
        if not is_behind or not all(any(sort is Sort.ATTRIBUTE for sort, _ in each) for each in names):
            return False
        return not any(sort is Sort.ATTRIBUTE for sort, _ in self.meant[index - 2] & self.named)

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

    @staticmethod
    def _is_long(slot: Slot) -> bool:
        return bool((slot.left | slot.names) & _LONG_TEXT)


def _nearly(word: str, spellings: Iterable[tuple[str, Concept]]) -> frozenset[Concept]:
    """Meanings of the words that a typing error makes of this one; it says so only of words on no list."""
    if is_listed(word):
        return frozenset()
    return frozenset(concept for spelling, concept in spellings if is_misspelt(word, spelling))
