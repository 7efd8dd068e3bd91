"""Words as a person reads them, whatever characters they are made of.

A page can write "Delete" so that no comparison of letters finds it: with letters of another script that look the same,
with signs between the letters that do not show, spaced out, turned round, or with digits for letters. These are the
readings of such a text that are compared with lists of words; the text itself is always among them. A reading that
makes no sense is harmless there, as it is in no list.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_LOOK_ALIKES: Final = str.maketrans(
    dict(zip("аеорсухіїјѕһԁԛԝɡոѵӏЬкмтвнг", "aeopcyxiijshdqwgnvlbkmtbhr", strict=True))
    | dict(zip("АВЕКМНОРСТУХІЈЅԌԚԜӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abekmhopctyxijsgqwlabezhikmnoptyx", strict=True))
    | dict(zip("αεικνορτυχγωʟɑɩοꞮ⁄", "aeikvoptuxywlaioi/", strict=True))
    | dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijkmnoprstuvwyz", strict=True))
)
"""Letters that look like a Latin one: the frequent ones of Cyrillic, Greek and small capitals (after Unicode's list of
confusables)."""
_DIGITS: Final = str.maketrans("013457@$!|", "oleastasil")
_PICTURES: Final = str.maketrans({"🗑": " delete ", "❌": " delete ", "💸": " transfer ", "🛒": " buy "})
_NO_GAP: Final = frozenset({"Cf", "Mn", "Me", "Cn"})
"""Kinds of characters that stand in a word without being seen: joiners, marks, tags, variation selectors."""
_TURNED: Final = frozenset("\u202e\u202d\u2067\u202b")
"""What may show letters in another order than the one they are written in."""
_SIGN_INSIDE: Final = re.compile(r"(?<=[^\W\d_])[^\w\s/](?=[^\W\d_])")
_SPACED: Final = re.compile(r"(?<!\w)(?:[^\W\d_][\s._·-]{1,3}){3,}[^\W\d_](?!\w)")
_MIXED: Final = re.compile(r"[^\W\d_]*[013457@$!|][^\W_]*[^\W\d_]")


def seen(text: str) -> str:
    """`text` without the characters that do not show, in the forms that are usual: `Ｄｅｌ\u00adete` is `Delete`."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text)
    return "".join(char for char in plain if unicodedata.category(char) not in _NO_GAP or char == "\u3099")


@lru_cache(maxsize=8192)
def unmasked(text: str) -> tuple[str, ...]:
    """All readings of a text, each once; the text as it is comes first."""
    return tuple(dict.fromkeys(_readings(text)))


def _readings(text: str) -> Iterator[str]:
    yield text
    plain = seen(text).translate(_PICTURES)
    yield plain
    latin = plain.translate(_LOOK_ALIKES)
    yield latin
    for one in {plain, latin}:
        yield _SIGN_INSIDE.sub("", one)
        yield _SPACED.sub(lambda match: re.sub(r"[\s._·-]", "", match[0]), one)
        yield _MIXED.sub(lambda match: match[0].translate(_DIGITS), one)
    if _TURNED & set(text):
        yield latin[::-1]
