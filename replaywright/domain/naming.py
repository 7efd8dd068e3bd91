"""What values are said to be where the words for it do not stand right beside them, and names of people."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replaywright.domain import goal_lists as lists
from replaywright.domain import remark_lists
from replaywright.domain.words import VALUES, Concept, Kind, Sort, Token

_BETWEEN = frozenset(lists.BETWEEN.split())
_BOTH = frozenset({"both", "都", "均", "同样", "一样", "都是", "均为"})
_DASHES = frozenset("-–—~～")
_PERSONS = frozenset(remark_lists.PERSONS.split())
_SURNAMES = frozenset(lists.SURNAMES_HAN.split())
_NO_SURNAMES = tuple(lists.NO_SURNAMES.split())
_PURPOSES = tuple(lists.PURPOSES.split())
_NO_NAMES = frozenset(lists.WEEKDAYS.split())
_FROM = frozenset({(Sort.DIRECTION, "from")})
_TO = frozenset({(Sort.DIRECTION, "to"), (Sort.DIRECTION, "into")})
_IBAN = re.compile(r"[A-Za-z]{2}\d{2}[A-Za-z0-9]{10,30}")
_LONGEST_PERSON = 4
"""Signs of a person's name in Chinese."""
_WORDS_OF_NAME = 3
_LONGEST_WORD = 6
"""Signs of a word of a list."""


@dataclass(frozen=True)
class Labels:
    """What is said of values by position of their tokens."""

    single: Mapping[int, frozenset[Concept]] = field(default_factory=dict)
    """Of each of several values its name, where names and values are told one after the other."""
    shared: Mapping[int, tuple[frozenset[Concept], ...]] = field(default_factory=dict)
    """Of a value that several names have."""
    words: frozenset[int] = frozenset()
    """The words that say so: "both", 都."""


def labels_of(tokens: Sequence[Token], names: frozenset[Concept]) -> Labels:
    """Names that stand together, and the values that follow: "subject and body “x” and “y”", 主题和内容都是“x”."""
    single: dict[int, frozenset[Concept]] = {}
    shared: dict[int, tuple[frozenset[Concept], ...]] = {}
    words: set[int] = set()
    at = 0
    while at < len(tokens):
        found, end = _run_of_names(tokens, at, names)
        if len(found) < 2:
            at = max(end, at + 1)
            continue
        values, both, at = _values_after(tokens, end)
        if len(values) == len(found):
            single |= dict(zip(values, found, strict=True))
        elif len(values) == 1 and both:
            shared[values[0]] = tuple(found)
            words |= both
        else:
            single |= {index: frozenset() for index in values}
    return Labels(single, shared, frozenset(words))


def _run_of_names(tokens: Sequence[Token], at: int, names: frozenset[Concept]) -> tuple[list[frozenset[Concept]], int]:
    found: list[frozenset[Concept]] = []
    end = at
    joined, is_list = True, False
    for index in range(at, len(tokens)):
        token = tokens[index]
        named = frozenset(token.concepts[:1]) & names
        if token.kind is Kind.WORD and joined and any(sort is Sort.ATTRIBUTE for sort, _ in named):
            found.append(named)
            end, joined = index + 1, False
        elif token.word in _BETWEEN and found:
            joined, is_list = True, is_list or token.word not in {",", "，", ";", "；"}
        elif not (token.is_filler and found):
            break
    return (found, end) if is_list else (found[:1], end)


def _values_after(tokens: Sequence[Token], at: int) -> tuple[list[int], set[int], int]:
    values: list[int] = []
    both: set[int] = set()
    while at < len(tokens):
        token = tokens[at]
        if token.kind in VALUES:
            values.append(at)
        elif token.word in _BOTH and not values:
            both.add(at)
        elif not (token.is_filler or token.word in _BETWEEN or token.text in ":：" or _is_as(token)):
            break
        at += 1
    return values, both, at


def _is_as(token: Token) -> bool:
    return token.kind is Kind.WORD and token.word in {"为", "作为", "as", "叫", "写", "填"}


def listed_words(tokens: Sequence[Token], at: int) -> tuple[tuple[int, int], ...]:
    """First and last but one tokens of the single words from `at` on that are a list: "ui, regression and api"."""
    found: list[tuple[int, int]] = []
    while at < len(tokens):
        end = _listed_word(tokens, at)
        if end == at:
            break
        found.append((at, end))
        at = end
        while at < len(tokens) and tokens[at].word in _BETWEEN:
            at += 1
        if at == end:
            break
    return tuple(found)


def _listed_word(tokens: Sequence[Token], at: int) -> int:
    """The end of one word of a list."""
    token = tokens[at]
    if token.kind is Kind.CODE:
        return at + 1
    if not token.text.isascii():
        return _listed_signs(tokens, at)
    sorts = {sort for sort, _ in token.concepts}
    is_word = token.kind is Kind.WORD and token.word not in _BETWEEN and bool(sorts)
    return at if not is_word or token.is_join or token.is_negation or sorts & {Sort.DIRECTION, Sort.ACT} else at + 1


def _listed_signs(tokens: Sequence[Token], at: int) -> int:
    """The end of one word of a list in a script without spaces: a space, a mark or 和 ends it."""
    end = at
    while end < len(tokens) and tokens[end].kind is Kind.WORD and tokens[end].word not in _BETWEEN:
        if tokens[end].text.isascii() or (end > at and tokens[end].start > tokens[end - 1].end):
            break
        end += 1
    word = tokens[at:end]
    is_named = any(sort is Sort.UNKNOWN for token in word for sort, _ in token.concepts)
    is_more = any(
        token.is_join or token.is_negation or sort in {Sort.DIRECTION, Sort.ACT}
        for token in word
        for sort, _ in token.concepts
    )
    length = tokens[end - 1].end - tokens[at].start if end > at else 0
    return end if is_named and not is_more and length <= _LONGEST_WORD else at


def ranges_of(tokens: Sequence[Token]) -> Mapping[int, frozenset[Concept]]:
    """Which values are where from and where to by a dash or an arrow between two of one kind: "9:00-10:00"."""
    found: dict[int, frozenset[Concept]] = {}
    for at in range(1, len(tokens) - 1):
        before, token, after = tokens[at - 1 : at + 2]
        if before.kind not in VALUES or after.kind is not before.kind:
            continue
        is_dash = token.text in _DASHES and before.kind in {Kind.TIME, Kind.DATE}
        if is_dash or is_arrow(token):
            is_chain = at - 1 in found
            found[at - 1] = frozenset() if is_chain else _FROM
            found[at + 1] = frozenset() if is_chain else _TO
    return found


def is_arrow(token: Token) -> bool:
    """Whether a token is an arrow to the right."""
    return token.kind is Kind.WORD and not token.text[0].isalnum() and token.concepts[:1] == ((Sort.DIRECTION, "to"),)


def dashes_of(tokens: Sequence[Token]) -> frozenset[int]:
    """The signs between the two ends of a range that say something elsewhere: "9:00~10:00"."""
    found = ranges_of(tokens)
    return frozenset(at for at in range(1, len(tokens) - 1) if at - 1 in found and at + 1 in found)


def appositions(tokens: Sequence[Token]) -> frozenset[int]:
    """Who somebody is beside his address: "my colleague a@x.com", "Ann Lee <a@x.com>", "the account DE02…"."""
    found: set[int] = set()
    for at, token in enumerate(tokens):
        if token.kind is Kind.CODE and at and tokens[at - 1].word in {"account", "账户", "帐户", "账号"}:
            found |= {at - 1} if _IBAN.fullmatch(token.text) else set()
        if token.kind is not Kind.EMAIL:
            continue
        opening = tokens[at - 1].text if at else ""
        closing = {"(": ")", "（": "）", "<": ">", "＜": "＞", "[": "]"}.get(opening)
        is_closed = closing is not None and at + 1 < len(tokens) and tokens[at + 1].text == closing
        end = at - 1 if is_closed else at
        begin = _name_before(tokens, end, is_closed)
        if is_closed and begin < end:
            found |= {*range(begin, end), at - 1, at + 1}
        elif not is_closed:
            found |= set(range(begin, end))
        elif opening in "<＜":
            found |= {at - 1, at + 1}
    return frozenset(found)


def _name_before(tokens: Sequence[Token], end: int, is_closed: bool) -> int:
    """Where the name of a person that ends before the token `end` begins."""
    begin = end
    while begin and end - begin < (2 * _WORDS_OF_NAME if is_closed else 1):
        token = tokens[begin - 1]
        is_person = token.word in _PERSONS
        is_name = is_closed and token.kind is Kind.WORD and all(sort is Sort.UNKNOWN for sort, _ in token.concepts)
        is_name = is_name and bool(token.concepts) and (token.text[0].isupper() or not token.text.isascii())
        if not (is_person or is_name) or token.is_join or token.is_negation or token.is_measure:
            break
        begin -= 1
    before = tokens[begin - 1] if begin else None
    # "Ann and Bob <bob@x.com>" names somebody else as well.
    is_one_of_several = before is not None and (before.word in _BETWEEN or before.is_join)
    return end if is_one_of_several else begin


def is_name_of_person(text: str) -> bool:
    """Whether a text without quotes may be a person's name: by its first sign in Chinese, else by its capitals."""
    if re.search("[\u3400-\u9fff]", text):
        is_one = text[0] in _SURNAMES and 1 < len(text) <= _LONGEST_PERSON and text.isalpha()
        return (is_one or "·" in text) and not text.startswith(_NO_SURNAMES) and not text.endswith(_PURPOSES)
    words = text.lower().split()
    return not set(words) & _NO_NAMES and not (text.isupper() and len(text) > 1)
