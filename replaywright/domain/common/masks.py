"""Text as a person sees it: without the characters that do not show."""

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cf", "Mn", "Me", "Cn"})
"""Kinds of characters that stand in a word without being seen: joiners, marks, tags, variation selectors."""


def seen(text: str) -> str:
    """`text` without the characters that do not show, in the forms that are usual: `Ｄｅｌ\u00adete` is `Delete`."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text)
    return "".join(char for char in plain if unicodedata.category(char) not in _UNSEEN or char == "\u3099")
