"""What a sentence is: an order, or a question, or a report of what has happened."""

from itertools import pairwise

from replaywright.domain import goal_lists as lists
from replaywright.domain.words import Kind, Sort, Token, is_act

_QUESTIONS = frozenset(lists.QUESTIONS.split())
_POLITE = frozenset(lists.POLITE_QUESTIONS.split())
_POLITE_HAN = frozenset(word for word in _POLITE if not word.isascii())
_MAY = frozenset(lists.MAY.split())
_SELF = frozenset({"i", "we"})
_ASKING = frozenset(lists.ASKING.split())
_DISPOSE = (Sort.ACT, "dispose")
_TELLERS = frozenset(lists.TELLERS.split())


def is_question(tokens: list[Token]) -> bool:
    """Whether it asks something: by its first word, 吗, an interrogative anywhere, or the mark at its end."""
    said = [token.word for token in tokens if token.kind is Kind.WORD]
    is_polite = any(_POLITE & set(word.split()) for word in said) or any(
        word in token.word for token in tokens if token.is_chat for word in _POLITE_HAN
    )
    asks = "吗" in said or (bool(tokens) and tokens[-1].word in {"?", "？"})
    is_mine = any((one in _MAY and other in _SELF) or (one == "我" and other in _MAY) for one, other in pairwise(said))
    return (
        (asks and (is_mine or not is_polite))
        or bool(said and tokens[0].start == 0 and said[0] in _QUESTIONS)
        or bool(_ASKING & set(said))
    )


def is_told(said: list[Token]) -> bool:
    """Whether it says what happened: "we deleted", 我把它删除了, 被删除; 把它删了 and 删了吧 are orders."""
    told = False
    for one, other in pairwise(said):
        if is_act(other) and _DISPOSE not in other.concepts and one.word in _TELLERS and one.text.isascii():
            return True
        if is_act(other) and one.word == "被":
            return True
        told |= is_act(one) and other.word == "了"
    words = {token.word for token in said}
    told |= bool(said) and said[-1].word == "了"
    is_order = any(
        token.word in {"把", "将"} and (not index or said[index - 1].word not in _TELLERS)
        for index, token in enumerate(said)
    )
    return told and not is_order and not words & (_POLITE | {"吧"})
