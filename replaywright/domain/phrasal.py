"""Acts whose words do not stand together, or in another form: "pass … on", 归个档, "would you mind closing"."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from replaywright.domain import goal_lists as lists
from replaywright.domain.words import Concept, Kind, Sort, Token

Meanings: TypeAlias = Callable[[str], tuple[Concept, ...]]
"""What a listed word or phrase means; empty for one on no list."""

_PARTICLES = frozenset(lists.VERB_PARTICLES.split())
_STOPS = frozenset(",;.!?，；。！？、()（）")
_GERUND_AFTER = frozenset(lists.GERUND_AFTER.split())
_ADDING = frozenset({"add", "put", "include", "加", "加入", "加到", "添加", "添加到", "加为", "添加为"})
_ATTENDING = frozenset(lists.ATTENDING.split())
_ASKING = frozenset({"please", "pls", "plz", "kindly"})
_WROTE = frozenset({"sent", "wrote", "sends", "emailed", "mailed"})
_CHANGING = frozenset({"改", "改为", "改成", "更改为", "修改为", "变更为", "换成"})
_NAMES = frozenset({"名字", "名称", "文件名", "名"})
_ME = frozenset({"me", "us"})
_NEEDING = frozenset({"need", "want", "needs", "wants"})
_FARTHEST = 14
"""Tokens between an act and its particle."""


def acts_of(word: str, meanings: Meanings) -> tuple[Concept, ...]:
    """The acts among the meanings of a word."""
    return tuple(concept for concept in meanings(word) if concept[0] is Sort.ACT)


def reworded(tokens: Sequence[Token], meanings: Meanings) -> list[Token]:
    """The tokens, where an act in another form means what its plain form does."""
    found = list(tokens)
    for at, token in enumerate(tokens):
        if token.kind is not Kind.WORD:
            continue
        _say_more(tokens, found, at, meanings)
        if not token.text.isascii():
            continue
        if (plain := _plain_form(tokens, at)) is not None:
            found[at] = plain
            continue
        particle, _, to = token.word.partition(" ")  # "over to" is one token
        if (
            particle in _PARTICLES
            and to in {"", "to"}
            and (begin := _begun(tokens, at, particle, to, meanings)) is not None
        ):
            acts = acts_of(f"{tokens[begin].word} {particle}", meanings)
            found[begin] = replace(tokens[begin], concepts=acts, is_soft=False)
            found[at] = replace(token, concepts=((Sort.DIRECTION, "to"),) if to else (), is_join=False)
        elif token.word in _NEEDING and (gone := _gone(tokens, at)):
            for index in gone:
                found[index] = replace(tokens[index], concepts=(), is_negation=False, is_join=False)
            found[at] = replace(token, concepts=acts_of("don't need it anymore", meanings), is_soft=False)
        elif token.word.endswith("ing") and at and _asks_for_gerund(tokens, at):
            acts = tuple(dict.fromkeys(c for stem in _stems(token.word) for c in acts_of(stem, meanings)))
            if acts:
                found[at] = replace(token, concepts=acts)
    return found


def _say_more(tokens: Sequence[Token], found: list[Token], at: int, meanings: Meanings) -> None:
    """Lets an act mean what it comes to with words that stand elsewhere: to invite, to rename."""
    token = tokens[at]
    if token.word in _ADDING and (guests := _added_guests(tokens, at)) is not None:
        for index in guests:
            found[index] = replace(found[index], concepts=())
        found[at] = replace(token, concepts=(*acts_of("invite", meanings), *token.concepts))
    elif token.word in _CHANGING and any(one.word in _NAMES for one in tokens[:at]):
        found[at] = replace(token, concepts=(*acts_of("rename", meanings), *token.concepts))


def _added_guests(tokens: Sequence[Token], at: int) -> tuple[int, ...] | None:
    """The words that say what somebody is who is added to an event; None where nobody is.

    "add a@x.com to the event", 把 a@x.com 加为日程的嘉宾.
    """
    is_of_event = any((Sort.THING, "event") in token.concepts for token in tokens)
    after = tokens[at + 1 : at + 3]
    is_direct = len(after) == 2 and after[0].kind is Kind.EMAIL and after[1].word == "to"
    if not is_of_event or not any(token.kind is Kind.EMAIL for token in tokens):
        return None
    said = tuple(
        index
        for index, token in enumerate(tokens)
        if index > at and token.word in _ATTENDING and _is_what_for(tokens, index)
    )
    return said if said or is_direct else None


def _is_what_for(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word says what somebody becomes: "as a guest", 为嘉宾, 日程“复盘”的嘉宾."""
    if tokens[at].text.isascii():
        return "as" in {token.word for token in tokens[max(at - 2, 0) : at]}
    return tokens[at - 1].word in {"的", "为", "作为", "成"} | _ADDING


def _is_sender_before(tokens: Sequence[Token], at: int) -> bool:
    """Whether somebody's address stands before what he sent to whoever asks: "everything that a@x.com sent me"."""
    before = tokens[at - 1] if at else None
    after = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if before is not None and before.kind is Kind.WORD and before.word in {"has", "have", "had"} and at > 1:
        before = tokens[at - 2]
    return before is not None and before.kind is Kind.EMAIL and after in _ME


def _plain_form(tokens: Sequence[Token], at: int) -> Token | None:
    """A participle that says where something is from ("a@x.com sent me") or is an order ("please sent"), as such."""
    if tokens[at].word in _WROTE and _is_sender_before(tokens, at):
        return replace(tokens[at], concepts=((Sort.DIRECTION, "from"),), is_participle=False)
    if tokens[at].is_participle and at and _is_please(tokens[at - 1]):
        return replace(tokens[at], is_participle=False)
    return None


def _is_please(token: Token) -> bool:
    """Whether a word asks for what follows, so that a participle after it is no report: "please sent a mail"."""
    if token.kind is not Kind.WORD or token.concepts:
        return False
    return token.word in _ASKING or (token.word.startswith("pl") and not token.is_soft)


def _begun(tokens: Sequence[Token], at: int, particle: str, to: str, meanings: Meanings) -> int | None:
    """Where the act stands that a particle belongs to: "call order 5 off", "pass the mail “X” on to …"."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    is_last = bool(to) or after is None or after.text in _STOPS or after.word in {"to", "please", "pls"}
    if not is_last or tokens[at - 1 if at else 0].kind is Kind.SLOT:
        return None
    for index in range(at - 2, max(at - _FARTHEST, -1), -1):
        token = tokens[index]
        if token.kind is Kind.MARK and token.text in _STOPS:
            return None
        if token.kind is Kind.WORD and token.text.isascii() and acts_of(f"{token.word} {particle}", meanings):
            return index
    return None


def _gone(tokens: Sequence[Token], at: int) -> tuple[int, ...]:
    """The other words of "I don't need the file “x” anymore", where `at` is "need"; none of another sentence."""
    before = tokens[at - 1].word if at else ""
    is_not = before in {"don't", "dont", "doesn't"}
    begin = (
        at - 1 if is_not else at - 2 if at > 1 and before == "not" and tokens[at - 2].word in {"do", "does"} else None
    )
    if begin is None:
        return ()
    for index in range(at + 1, min(at + _FARTHEST, len(tokens))):
        token = tokens[index]
        if token.kind is Kind.MARK and token.text in _STOPS:
            break
        two = f"{token.word} {tokens[index + 1].word}" if index + 1 < len(tokens) else ""
        if token.word in {"anymore", "any more", "any longer"}:
            return (*range(begin, at), index)
        if two in {"any more", "any longer"}:
            return (*range(begin, at), index, index + 1)
    return ()


def _asks_for_gerund(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word is what somebody is asked whether he would mind it."""
    index = at - 1
    while index > 0 and tokens[index].is_filler and tokens[index].word.split()[-1] not in _GERUND_AFTER:
        index -= 1
    return tokens[index].kind is Kind.WORD and tokens[index].word.split()[-1] in _GERUND_AFTER


def _stems(gerund: str) -> tuple[str, ...]:
    stem = gerund.removesuffix("ing")
    doubled = stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] else stem
    return (stem, stem + "e", doubled)
