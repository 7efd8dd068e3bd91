"""Text as a person sees it, without invisible characters."""

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cf", "Mn", "Me", "Cn"})
"""Categories of characters that are invisible inside a word: joiners, marks, tags, variation selectors."""


def seen(text: str) -> str:
    """Drop invisible characters and normalise compatibility forms: `Ｄｅｌ\u00adete` is `Delete`."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text)
    return "".join(char for char in plain if unicodedata.category(char) not in _UNSEEN or char == "\u3099")
