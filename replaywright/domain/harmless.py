"""Words that say nothing where they stand, though elsewhere they would: 发过去, "because …", 早上 8:30."""

from collections.abc import Sequence

from replaywright.domain import chat_lists, remark_lists
from replaywright.domain import goal_lists as lists
from replaywright.domain.frames import Frame
from replaywright.domain.words import VALUES, Kind, Sort, Token, is_act, is_thing

_COMPLEMENTS = frozenset(chat_lists.COMPLEMENTS.split())
_MORNING = frozenset(chat_lists.MORNING.split())
_REASONING = frozenset(chat_lists.phrases(chat_lists.REASONING))
_GREETINGS = frozenset(chat_lists.GREETINGS.split())
_SUBJECTS = frozenset({"i", "we", "it", "he", "she", "they", "我", "我们", "它", "他", "她"})
_DISPOSE = (Sort.ACT, "dispose")
_DELETE = (Sort.ACT, "delete")
_FROM = (Sort.DIRECTION, "from")
_REASON = (Sort.ATTRIBUTE, "reason")
_TELLING = frozenset(lists.TELLING_VERBS.split())
_LIMITS = frozenset(f"{remark_lists.DEMANDS} {remark_lists.COUNTS}".split())
_PURPOSES = frozenset(lists.PURPOSES.split()) | frozenset(chat_lists.phrases(lists.PURPOSE_PHRASES))
_ASSIGN = (Sort.ACT, "assign")
_OUT_OF = frozenset(lists.OUT_OF.split())
_OUT_FROM = frozenset(chat_lists.phrases(lists.OUT_FROM))
_LOOKING = frozenset(lists.LOOKING.split())
_THAT_DAY = frozenset(lists.THAT_DAY.split())
_PUTTING = frozenset({(Sort.ACT, "create"), (Sort.ACT, "insert")})
_PLACES = frozenset((Sort.THING, name) for name in ("cart", "folder", "list", "calendar", "mailbox"))
_LONGEST_PLACE = 5
"""Words that tell where something is as it is."""
_IN_PLACE = frozenset({"calendar", "mailbox", "cart", "shop", "list"})


def harmless(tokens: Sequence[Token], frame: Frame, takes_long_text: bool) -> frozenset[int]:
    """The tokens that say nothing where they stand.

    Args:
        tokens: Of the sentence.
        frame: What the skill's sentences say.
        takes_long_text: Whether a value may be a text that tells reasons itself.
    """
    found = {index for index in range(len(tokens)) if _is_harmless(tokens, index, frame)}
    for index, token in enumerate(tokens):
        if _REASON in token.concepts:
            found |= _beside_state(tokens, index)
    if not takes_long_text:
        for index, token in enumerate(tokens):
            if token.word in _REASONING:
                found |= _reason(tokens, index)
    return frozenset(found)


def _is_harmless(tokens: Sequence[Token], at: int, frame: Frame) -> bool:
    token, before = tokens[at], tokens[at - 1] if at else None
    if token.kind is not Kind.WORD:
        return False
    after = next((one for one in tokens[at + 1 :] if not (one.is_filler or one.is_free)), None)
    if before is not None and (said := _says_nothing_after(before, token, tokens[at + 1 :])) is not None:
        return said
    if token.word in _PURPOSES:
        is_after_name = before is not None and before.kind is Kind.WORD and not is_act(before)
        return is_after_name and _ASSIGN in frame.acts
    if token.word == "them":
        return frame.is_of_many or any(slot.parameter.type == "list" for slot in frame.slots)
    if token.word == "快":
        return after is not None and is_act(after) and tokens[at + 1] is after
    if token.word == "都":
        return frame.is_of_many and after is not None and is_act(after)
    return _tells_place_or_time(tokens, at, frame, after)


def _tells_place_or_time(tokens: Sequence[Token], at: int, frame: Frame, after: Token | None) -> bool:
    """Whether a word only tells what a value or the act says anyway: 早上 8:30, "delete … from the list"."""
    token = tokens[at]
    if token.word in _MORNING:
        return _is_before_noon(tokens, at)
    if _FROM in token.concepts and _DELETE in frame.acts and after is not None:
        return any(name in _IN_PLACE for _, name in after.concepts)
    return False


def _says_nothing_after(before: Token, token: Token, rest: Sequence[Token]) -> bool | None:
    """Whether a word says nothing after the one before it (发过去, 附言写, "a" + "b"); None for other words."""
    if token.word in _COMPLEMENTS:
        return is_act(before) and before.end == token.start and not before.text.isascii()
    if token.word in _TELLING:
        is_value = bool(rest) and (rest[0].kind in VALUES or rest[0].text in {":", "："})
        return is_value and any(sort is Sort.ATTRIBUTE for sort, _ in before.concepts)
    if token.word in _LOOKING:
        return before.kind is Kind.EMAIL and all(one.kind is Kind.MARK or one.is_filler for one in rest)
    if token.word in _THAT_DAY:
        return before.kind is Kind.DATE
    if token.word == "上":
        return before.end == token.start and is_thing(before)
    if token.word == "+":
        return before.kind in VALUES and bool(rest) and rest[0].kind is before.kind
    return None


def _is_before_noon(tokens: Sequence[Token], at: int) -> bool:
    """Whether the next value is a time of the morning as it is written."""
    for token in tokens[at + 1 :]:
        if token.kind is Kind.TIME:
            hour = token.text.partition(":")[0].partition("点")[0]
            return hour.isdigit() and 5 <= int(hour) < 12
        if token.kind is not Kind.WORD or not (token.is_filler or any(s is Sort.DIRECTION for s, _ in token.concepts)):
            return False
    return False


def _reason(tokens: Sequence[Token], at: int) -> frozenset[int]:
    """A clause that says why, up to the next mark; none where it has a value, or anything that could be a demand."""
    end = at + 1
    while end < len(tokens) and tokens[end].kind is not Kind.MARK:
        end += 1
    clause = tokens[at + 1 : end]
    if not clause or any(
        token.kind in VALUES or token.is_join or _may_demand(tokens, at + 1 + index)
        for index, token in enumerate(clause)
    ):
        return frozenset()
    return frozenset(range(at, end))


def _beside_state(tokens: Sequence[Token], at: int) -> frozenset[int]:
    """Where and since when something is as it is, up to the next mark: "is fixed on prod"."""
    end = at + 1
    while end < len(tokens) and tokens[end].kind is Kind.WORD and not tokens[end].is_join:
        end += 1
    rest = tokens[at + 1 : end]
    is_whole = end == len(tokens) or tokens[end].kind is Kind.MARK
    words = {word for token in rest for word in token.word.split()}
    is_place = all(all(sort in {Sort.DIRECTION, Sort.UNKNOWN} for sort, _ in token.concepts) for token in rest)
    if not rest or not is_whole or not is_place or words & _LIMITS or any(token.is_negation for token in rest):
        return frozenset()
    return frozenset(range(at + 1, end)) if len(rest) <= _LONGEST_PLACE else frozenset()


def _may_demand(tokens: Sequence[Token], at: int) -> bool:
    """Whether an act is more than what somebody does or did: "it takes too long"."""
    token = tokens[at]
    is_done = token.is_plural or token.is_participle or tokens[at - 1].word.split()[-1:] in [[one] for one in _SUBJECTS]
    return is_act(token) and _DISPOSE not in token.concepts and not is_done


def is_taken_out(tokens: Sequence[Token], at: int, frame: Frame) -> bool:
    """Whether something is taken out of where the skill puts it: 移出归档, "out of the archive"."""
    token = tokens[at]
    if token.word in _OUT_OF:
        before = frozenset(tokens[at - 1].concepts) if at else frozenset()
        acts = frozenset(concept for concept in before if concept[0] is Sort.ACT)
        return bool(acts & frame.implied) and not acts & frame.acts
    if token.word not in _OUT_FROM:
        return False
    after = next((one for one in tokens[at + 1 :] if not (one.is_filler or one.is_free)), None)
    if after is None or after.kind is not Kind.WORD:
        return False
    place = frozenset(after.concepts)
    return bool(place & frame.acts) or bool(frame.acts & _PUTTING and place & frame.objects & _PLACES)


def is_inside(tokens: Sequence[Token], at: int) -> bool:
    """Whether a greeting stands where none is said: right after a word that says something."""
    before = tokens[at - 1] if at else None
    is_greeting = tokens[at].word in _GREETINGS
    return is_greeting and before is not None and before.kind is Kind.WORD and not before.is_filler
