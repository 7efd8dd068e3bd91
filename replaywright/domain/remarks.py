"""Clauses that tell what led to a task ("I lost my wallet!", 会计在催), and tags before it ("[FIN-88]"): no demands.

A clause is passed over only where something shows that it is told: who or what, and what happened to it or how it is.
It has no value, nothing that the skill's sentences say, no wish, no number, no condition and no negation: all of these
may change what is asked for.
"""

import re
from collections.abc import Iterator, Sequence

from replaywright.domain import remark_lists as lists
from replaywright.domain.frames import Frame
from replaywright.domain.goals import meanings_of
from replaywright.domain.words import VALUES, Concept, Kind, Sort, Token, folded, is_act

_ENDS = frozenset(",;.!?，；。！？…()（）:：-—")
_DEMANDS = frozenset(lists.DEMANDS.split())
_COUNTS = frozenset(lists.COUNTS.split())
_SUBJECTS = frozenset(lists.SUBJECTS.split())
_PERSONS = frozenset(lists.PERSONS.split())
_STATES = frozenset(lists.STATES.split())
_PAST = frozenset(lists.PAST.split())
_ONGOING = frozenset(lists.ONGOING.split())
_STARTS = tuple(start.strip() for start in lists.STARTS.strip().split(","))
_HAN_ENDS = tuple(sorted(lists.HAN_ENDS.split(), key=len, reverse=True))
_HAN_SLIPS = frozenset(lists.HAN_SLIPS.split())
_ABOUT_TIME = frozenset({"yesterday", "today", "again", "just", "once", "昨天", "今天", "已经", "刚", "刚刚", "刚才"})
_PERSONAL = frozenset({"i", "we", "he", "she", "they", "someone", "somebody", "我", "我们", "他", "她", "他们"})
_COPULAS = frozenset(["is", "are", "was", "were", "been", "i'm", "we're", "he's", "she's", "it's", "they're", "'s"])
_BARE = frozenset(["i'm", "i've", "we've", "we're", "he's", "she's", "it's", "they're"])
_BESIDE_STATES = frozenset(lists.BESIDE_STATES.split())
_WHERE = frozenset(lists.WHERE.split())
"""After what was asked for, a remark with one of these may say more of it: "we met at the station"."""
_GREETINGS = frozenset(lists.GREETINGS.split())
_LONGEST = 14
"""Words of a remark."""
_LONGEST_HAN = 12
"""Signs of one."""
_HAN = re.compile("[\u3400-\u9fff]")
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TAG_WORDS = frozenset(lists.TAG_WORDS.split())


def clauses(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """First and last but one token of each clause."""
    begin = 0
    for index, token in enumerate(tokens):
        if token.kind is Kind.MARK and token.text in _ENDS:
            if index > begin:
                yield begin, index
            begin = index + 1
    if begin < len(tokens):
        yield begin, len(tokens)


def remarks(sentence: str, tokens: Sequence[Token], frame: Frame, takes_long_text: bool) -> frozenset[int]:
    """The tokens of all remarks.

    Args:
        sentence: That the tokens are of.
        tokens: Of the sentence.
        frame: What the skill's sentences say.
        takes_long_text: Whether a value without quotes may be a text that reads like a remark: then one is passed over
            only before anything that the skill's sentences say.
    """
    found: set[int] = set()
    said = False
    all_clauses = list(clauses(tokens))
    for begin, end in all_clauses:
        clause = tokens[begin:end]
        is_told = not (takes_long_text and said) and _is_remark(sentence, clause, frame, not said)
        if len(all_clauses) > 1 and (is_told or (not begin and all(token.word in _GREETINGS for token in clause))):
            found |= set(range(begin, end))
        else:
            said = said or any(set(token.concepts) & frame.allowed or token.kind in VALUES for token in clause)
    return frozenset(found)


def _is_remark(sentence: str, clause: Sequence[Token], frame: Frame, is_first: bool) -> bool:
    text = folded(sentence[clause[0].start : clause[-1].end])
    if any(not _may_be_told(token, frame) for token in clause):
        return False
    if _HAN.search(text):
        return _is_told_in_chinese(text, clause)
    words = _WORDS.findall(text)
    if not words or len(words) > _LONGEST or set(words) & (_DEMANDS | _COUNTS):
        return False
    acts = frozenset(act for word in words for act in _stems(word)) & frame.acts
    return not acts and _is_told_in_english(words, clause, is_first)


def _may_be_told(token: Token, frame: Frame) -> bool:
    if token.kind in VALUES or token.kind is Kind.SLOT or token.is_negation:
        return False
    if token.is_join and token.word not in _ABOUT_TIME:
        return False
    if token.kind is Kind.MARK or not token.concepts:
        return True
    concepts = frozenset(token.concepts)
    if any(sort is Sort.QUALIFIER for sort, _ in concepts):
        return False
    telling = frozenset(concept for concept in concepts if concept[0] is not Sort.DIRECTION)
    # Whom it is told of may be one of those that the skill is about; what is done and to what may not.
    return not telling & frame.allowed or token.word in _PERSONS


def _stems(word: str) -> tuple[Concept, ...]:
    """The acts of a word in any of its forms."""
    stem = word.removesuffix("ing")
    forms = (word, *((stem, stem + "e", stem[:-1]) if stem != word else ()))
    return tuple(concept for form in forms if form for concept in meanings_of(form) if concept[0] is Sort.ACT)


def _is_told_in_english(words: Sequence[str], clause: Sequence[Token], is_first: bool) -> bool:
    text = " ".join(words)
    if any(text.startswith(start) for start in _STARTS):
        return not any(is_act(token) for token in clause)
    words = words[1:] if words[0] in {"so", "well", "and", "but", "as"} else words
    first = clause[0].text
    is_named = (first[:1].isupper() and clause[0].start == 0) or first[:1].isupper()
    has_subject = bool(words) and (words[0] in _SUBJECTS or words[0] in _PERSONS or is_named)
    if not has_subject or len(words) < 2:
        return False
    is_personal = words[0] in _PERSONAL | _BARE or bool(set(words[:3]) & _PERSONS)
    for at, word in enumerate(words):
        rest = words[at + 1 :]
        if (word in _COPULAS or word.endswith("'s")) and set(rest) & _STATES:
            return {each.removesuffix("'s") for each in rest} <= _STATES | _PERSONS | _BESIDE_STATES
        if word in _ONGOING and at and (is_personal or words[0] in _SUBJECTS):
            return set(rest) <= _ONGOING | _BESIDE_STATES
    has_happened = any(word in _PAST or (word.endswith("ed") and len(word) > 4) for word in words[1:])
    return has_happened and (is_first or not set(words) & _WHERE)


def _is_told_in_chinese(text: str, clause: Sequence[Token]) -> bool:
    plain = text.strip(" 呢啊呀啦嘛哦哈吧")
    if len(plain) > _LONGEST_HAN or {token.word for token in clause} & (_DEMANDS | _COUNTS - {"都"}) - {
        "要",
        "等",
        "将",
    }:
        return False
    if any(sign in plain for sign in "两二三四五六七八九十百千半双每各仅只最把帮请不没别再又另先才"):
        return False
    if plain.endswith(_HAN_ENDS) and plain not in {"急", "满"}:
        return not any(is_act(token) for token in clause if token.text not in "要用看来查审等") or plain.startswith(
            "刚"
        )
    if "要" in plain or "等" in plain:
        return False
    if not plain.endswith("了"):
        return plain.startswith("刚") and plain.endswith(("回来", "回", "到", "完"))
    acts = [index for index, token in enumerate(clause) if is_act(token)]
    slips = all(index + 1 < len(clause) and clause[index + 1].text[0] in _HAN_SLIPS for index in acts)
    has_subject = any(folded(token.text) in _PERSONS | _PERSONAL for token in clause[: acts[0]]) if acts else True
    return len(plain) > 2 and (slips or has_subject)


# -------------------------------------------------------------------------------------------------- tags


def tags(tokens: Sequence[Token]) -> frozenset[int]:
    """The tokens of a tag before the task: "[FIN-88]", "Ticket 4711:", 待办：, "1."."""
    return frozenset(range(_bracketed(tokens) or _headed(tokens))) if tokens else frozenset()


def _bracketed(tokens: Sequence[Token]) -> int:
    closing = {"[": "]", "【": "】", "(": ")", "（": "）"}.get(tokens[0].text)
    end = next((index for index, token in enumerate(tokens) if token.text == closing), 0)
    if not closing or not 1 < end <= 4 or end == len(tokens) - 1:
        return 0
    return end + 1 if all(_is_tag(token) for token in tokens[1:end]) else 0


def _headed(tokens: Sequence[Token]) -> int:
    """A number of a list ("1."), or what kind of note it is ("Task 12:")."""
    if tokens[0].kind is Kind.NUMBER and len(tokens) > 2 and tokens[1].text in {".", ")", "、"}:
        return 2 if tokens[0].text.isdigit() and len(tokens[0].text) < 3 else 0
    end = next((index for index, token in enumerate(tokens[:4]) if token.text in {":", "："}), 0)
    if not end or end == len(tokens) - 1 or tokens[0].word not in _TAG_WORDS:
        return 0
    return end + 1 if all(_is_tag(token) for token in tokens[:end]) else 0


def _is_tag(token: Token) -> bool:
    is_number = token.kind in {Kind.CODE, Kind.NUMBER} or (token.kind is Kind.MARK and token.text in "#-_/")
    return is_number or token.word in _TAG_WORDS
