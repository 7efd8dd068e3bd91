"""Alignment of a sentence with a pattern: each word matches a word or belongs to a value.

A value replaces `{{parameter}}`. It is a quotation, or its form marks it as a value (an address, a number, a code, a
date, one of the choices), and it has the parameter's type. Free words are no values: without knowing the language,
their end is unknown.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from replaywright.domain.common.lists import list_value
from replaywright.domain.common.sentences import VALUES, Sentence, Token, TokenKind, sentence_of
from replaywright.domain.recall.choices import choice_of, is_whole
from replaywright.domain.task.tasks import Parameter, checked_value
from replaywright.errors import InputInvalid

Values = dict[str, str]
_GROUPS = 8
"""Maximum groups of digits in one text, as in a telephone number or an IBAN."""

_SIGNS = "+-\u2212\u2010\u2011"
"""Signs before a number: a signed number differs from the number alone."""


def aligned(pattern: str, parameters: Mapping[str, Parameter], sentence: Sentence) -> list[Values]:
    """Return the alignments of a sentence with a pattern: none, one, or the first two."""
    parts = sentence_of(pattern)
    found: list[Values] = []
    if not _may_align(parts, sentence):
        return found
    for taken in _ways(parts.tokens, sentence.tokens, 0, 0, parameters):
        values = _joined(taken, parameters)
        if values is not None and values not in found:
            found.append(values)
        if len(found) > 1:
            break
    return found


def resembles(pattern: str, sentence: Sentence) -> bool:
    """Return True if the sentence aligns with the pattern when slots take any words."""
    parts, tokens = sentence_of(pattern).tokens, sentence.tokens
    reached = {0}
    for part in parts:
        if part.kind is TokenKind.SLOT:
            reached = set(range(min(reached) + 1, len(tokens) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(tokens) and _is_same(part, tokens[at])}
        if not reached:
            return False
    return len(tokens) in reached


def has_type(value: str, parameter: Parameter) -> bool:
    """Return True if the parameter accepts the value."""
    try:
        checked_value("value", parameter, value)
    except InputInvalid:
        return False
    return bool(value.strip())


def values_in(pattern: str) -> frozenset[str]:
    """Return the values inside a pattern, in their comparison form."""
    return frozenset(token.plain for token in sentence_of(pattern).tokens if token.kind in VALUES)


def _may_align(parts: Sentence, sentence: Sentence) -> bool:
    """Reject quickly what cannot align: most sentences with most patterns."""
    if sentence.asks and not parts.asks:
        return False
    if not any(part.kind is TokenKind.WORD for part in parts.tokens):  # it would match every sentence of its form
        return False
    wanted = {part.plain for part in parts.tokens if part.kind is not TokenKind.SLOT}
    return wanted <= {token.plain for token in sentence.tokens}


def _ways(
    parts: Sequence[Token], tokens: Sequence[Token], at: int, begin: int, parameters: Mapping[str, Parameter]
) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield the slots' values, in slot order, for every alignment of the rest."""
    if at == len(parts):
        if begin == len(tokens):
            yield ()
        return
    part = parts[at]
    if part.kind is not TokenKind.SLOT:
        if begin < len(tokens) and _is_same(part, tokens[begin]):
            yield from _ways(parts, tokens, at + 1, begin + 1, parameters)
        return
    parameter = parameters.get(part.text)
    if parameter is None:
        return
    for end, value in _taken(tokens, begin, parameter):
        for rest in _ways(parts, tokens, at + 1, end, parameters):
            yield ((part.text, value), *rest)


def _is_same(part: Token, token: Token) -> bool:
    return part.plain == token.plain and (part.kind is TokenKind.QUOTED) == (token.kind is TokenKind.QUOTED)


def _taken(tokens: Sequence[Token], begin: int, parameter: Parameter) -> Iterator[tuple[int, str]]:
    """Yield the values that begin at a token, each with the index after it."""
    if parameter.type == "list":
        for end in range(begin, len(tokens)):
            if tokens[end].kind not in VALUES:
                return
            yield end + 1, list_value([token.text for token in tokens[begin : end + 1]])
    elif parameter.type == "choice":
        for end in range(begin + 1, min(len(tokens), begin + _longest(parameter.choices)) + 1):
            text = _between(tokens, begin, end)
            if is_whole(text, parameter.choices) and (choice := choice_of(text, parameter.choices)) is not None:
                yield end, choice
    elif begin < len(tokens) and tokens[begin].kind in VALUES:
        text = tokens[begin].text
        if has_type(text, parameter) and not (parameter.type == "number" and text[0] in _SIGNS):
            yield begin + 1, text
        if parameter.type == "text":
            for end in range(begin + 1, min(len(tokens), begin + _GROUPS)):
                if not (_has_digits(tokens[end - 1]) and _has_digits(tokens[end]) and _is_near(tokens, end)):
                    return
                yield end + 1, _between(tokens, begin, end + 1)


def _has_digits(token: Token) -> bool:
    return token.kind in {TokenKind.NUMBER, TokenKind.CODE} and any(each.isdigit() for each in token.text)


def _is_near(tokens: Sequence[Token], at: int) -> bool:
    """Return True if exactly one space precedes the token."""
    return tokens[at].start - tokens[at - 1].end == 1


def _between(tokens: Sequence[Token], begin: int, end: int) -> str:
    """Return the text of the tokens, with single spaces for gaps."""
    words = tokens[begin:end]
    found = words[0].text
    for before, token in pairwise(words):
        found += (" " if token.start > before.end else "") + token.text
    return found


@lru_cache(maxsize=1024)
def _longest(choices: tuple[str, ...]) -> int:
    return max(len(sentence_of(choice).tokens) for choice in choices)


def _joined(taken: Sequence[tuple[str, str]], parameters: Mapping[str, Parameter]) -> Values | None:
    """Join the values of list slots; None if a parameter has two values, or a required one none."""
    values: Values = {}
    for name, value in taken:
        if name in values and parameters[name].type == "list":
            values[name] = f"{values[name][:-1]}, {value[1:]}"
        elif values.setdefault(name, value) != value:
            return None
    missing = [name for name, one in parameters.items() if one.default is None and name not in values]
    return None if missing else values
