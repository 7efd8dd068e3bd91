"""Sentences as tokens in any script: words, and parts whose form marks them as values.

The module knows no language. A word is a run of letters; in scripts without spaces each letter is a word. Quotations,
addresses, numbers and codes are values by their form alone. Common punctuation is ignored, a question mark is noted,
and every other character is a token that must be matched like a word.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

_JOINERS: Final = "\u200c\u200d"
_SILENT: Final = frozenset(",.;:!…·、。，；：！()[]【】<>|\"'“”„‟‘’‚‛«»‹›「」『』《》〈〉¡")
"""Punctuation without meaning."""
_ASKING: Final = frozenset("?¿؟՞⸮⁇⁈⁉")
_GLUE: Final = frozenset("._-/\\@#&+=~")
"""Characters that belong to a name or a number when they join two letters or digits."""
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u31ff\u3400-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Letters of scripts without spaces between words, and of Korean, which sets them freely."""

SLOT: Final = re.compile(r"\{\{\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_PAIRS: Final = ("““”", "„„“”", "««»", "»»«", "「「」", "『『』", "《《》")
"""Opening quotes, each followed by itself and those that close it; what is quoted has none of them."""
_QUOTED: Final = (
    r"\"[^\"]+\"|(?<![a0_])'(?:[^']|(?<=a)'(?=a))+'(?![a0_])|(?<![a0_])[‘‚](?:[^’‘]|(?<=a)’(?=a))+[’‘](?![a0_])|"
    + "|".join(f"{pair[0]}[^{pair[1:]}]+[{pair[2:]}]" for pair in _PAIRS)
)
QUOTES: Final = "\"'“”„‘’‚«»「」『』《》"
_SCAN: Final = re.compile(
    rf"(?P<slot>[{QUOTES}]?\{{\{{\s*[a_][a0_]*\s*\}}\}}[{QUOTES}]?)"
    rf"|(?P<quoted>{_QUOTED})"
    rf"|(?P<url>(?<![a0])(?:a[a0+.\-]*://|aaa\.(?=a))[^\s一{QUOTES}<>、。，；）)]*[^\s一{QUOTES}<>、。，；）).,;:!?])"
    r"|(?P<email>(?<![a0._%+\-@])[a0._%+\-]+@[a0](?:[a0\-]*[a0])?(?:\.[a0](?:[a0\-]*[a0])?)*)"
    r"|(?P<word>(?<![a0_])[+\-]?(?=0)0(?:[a0_]|[,:](?=0)|[./\\\-](?=[a0_]))*"
    r"|[a_][a0_]*(?:['’](?=a)[a0_]+|[./\\\-](?=[a0_])[a0_]+|(?<=0)[,:](?=0)[a0_]+)*)"
    r"|(?P<sign>一|\S)"
)
_NUMBER: Final = re.compile(r"[+\-]?\d+(?:[.,]\d+)*")


class TokenKind(StrEnum):
    """Form of a token."""

    WORD = "word"
    SIGN = "sign"
    """Another character than common punctuation."""
    SLOT = "slot"
    """`{{parameter}}` of a pattern, with its quotes."""
    QUOTED = "text"
    EMAIL = "email"
    URL = "url"
    NUMBER = "number"
    CODE = "code"
    """Digits with letters or signs, a date, or a name with dots or underscores such as a file name."""


VALUES: Final = frozenset({TokenKind.QUOTED, TokenKind.EMAIL, TokenKind.URL, TokenKind.NUMBER, TokenKind.CODE})
"""Kinds whose form marks them as values."""


@dataclass(frozen=True)
class Token:
    """A word, a value or a sign."""

    kind: TokenKind
    text: str
    """Text in the sentence: of a quotation the part between the quotes, of a slot the parameter's name."""
    start: int
    """Index of the text, without quotes."""
    end: int
    plain: str
    """Comparison form: without compatibility forms and letter case."""


@dataclass(frozen=True)
class Sentence:
    """A sentence in parts."""

    text: str
    tokens: tuple[Token, ...]
    asks: bool
    """True if it has a question mark outside quotations."""


def plain(text: str) -> str:
    """Remove compatibility forms and letter case."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text.replace("’", "'")).casefold())


@lru_cache(maxsize=8192)
def sentence_of(text: str) -> Sentence:
    """Tokenise a sentence or a pattern."""
    shadow = "".join(map(_shadow, text))
    tokens: list[Token] = []
    asks = False
    for match in _SCAN.finditer(shadow):
        start, end = match.span()
        part = text[start:end]
        match match.lastgroup:
            case "slot":
                slot = SLOT.search(part)
                assert slot is not None
                tokens.append(Token(TokenKind.SLOT, slot["name"], start, end, slot["name"]))
            case "quoted":
                inner = part[1:-1]
                tokens.append(Token(TokenKind.QUOTED, inner, start + 1, end - 1, plain(inner)))
            case "url" | "email" as kind:
                tokens.append(Token(TokenKind(kind), part, start, end, plain(part)))
            case "word":
                tokens.append(Token(_kind_of(shadow[start:end]), part, start, end, plain(part)))
            case _ if shadow[start] == "一":
                tokens.append(Token(TokenKind.WORD, part, start, end, plain(part)))
            case _ if shadow[start] in _ASKING:
                asks = True
            case _ if shadow[start] not in _SILENT and shadow[start] != "-":
                tokens.append(Token(TokenKind.SIGN, part, start, end, plain(part)))
            case _ if shadow[start] in _GLUE and _is_joined(shadow, start):
                tokens.append(Token(TokenKind.SIGN, part, start, end, plain(part)))
    return Sentence(text, tuple(tokens), asks)


def masked(text: str) -> str:
    """Replace each value by the name of its kind."""
    found = text
    for token in reversed(sentence_of(text).tokens):
        if token.kind in VALUES or token.kind is TokenKind.SLOT:
            found = f"{found[: token.start]}<{token.kind}>{found[token.end :]}"
    return found


def stands_alone(text: str, start: int, end: int) -> bool:
    """Return True if no letter or digit of the same word touches the part of the text."""
    around = ((start - 1, start), (end - 1, end))
    return not any(
        left >= 0 and right < len(text) and {_shadow(text[left]), _shadow(text[right])} <= {"a", "0", "_"}
        for left, right in around
    )


def _is_joined(shadow: str, at: int) -> bool:
    """Return True if the character stands between two letters or digits."""
    around = shadow[at - 1 : at] + shadow[at + 1 : at + 2]
    return len(around) == 2 and all(each in "a0一_" for each in around)


def _kind_of(shadow: str) -> TokenKind:
    if "0" in shadow:
        return TokenKind.NUMBER if _NUMBER.fullmatch(shadow) else TokenKind.CODE
    return TokenKind.CODE if any(each in shadow for each in "._\\") else TokenKind.WORD


@lru_cache(maxsize=8192)
def _shadow(character: str) -> str:
    """Return the class of a character: `a` letter, `一` letter of a script without spaces, `0` digit."""
    form = unicodedata.normalize("NFKC", character)
    form = form if len(form) == 1 else character
    category = unicodedata.category(form)
    if _UNSPACED.match(form) and category[0] in "LM":
        return "一"
    if category[0] in "LM" or character in _JOINERS:
        return "a"
    if category == "Nd":
        return "0"
    if category[0] == "Z" or character.isspace():
        return " "
    return "-" if category == "Pd" or form == "\u2212" else form
