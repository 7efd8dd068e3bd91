"""Secrets whose value is a word that pages and people use anyway, such as `password`.

Redaction hides such a word wherever it stands, in labels of fields, too. Where a text was written by who does not know
the secret, the word is let stand.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

_WORD = re.compile(r"[^\W\d_]+")
_SECRET = re.compile(r"\{\{secret:(\w+)\}\}")


def is_word(value: str) -> bool:
    """Return True if a secret's value is a single word of letters."""
    return value.isalpha()


def common_words(blind: Iterable[str], redact: Callable[[str], str]) -> frozenset[str]:
    """Return the names of the secrets whose value is a word of texts that were written by who does not know it."""
    words = frozenset(word for text in blind for word in _WORD.findall(text))
    found = (_SECRET.fullmatch(redact(word)) for word in words)
    return frozenset(match[1] for match in found if match is not None)


def other_secrets(texts: Sequence[str], redacted: Sequence[str], common: frozenset[str]) -> bool:
    """Return True if the `redacted` texts hide other secrets than those whose value is a common word."""
    if len(texts) != len(redacted):
        return True
    for text, without in zip(texts, redacted, strict=True):
        if text != without and not _hidden(text, without) <= common:
            return True
    return False


def _hidden(text: str, without: str) -> frozenset[str]:
    """Return the names of what is hidden; of a part of a value, its own text, which is no name."""
    found = Counter(_SECRET.findall(without)) - Counter(_SECRET.findall(text))
    return frozenset(found) or frozenset({without})
