"""Words as a person reads them, whatever characters they are made of: a model that obeys pages sees through these."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from replaywright.domain.common.masks import seen

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
_TURNED: Final = frozenset("\u202e\u202d\u2067\u202b")
"""What may show letters in another order than the one they are written in."""
_SIGN_INSIDE: Final = re.compile(r"(?<=[^\W\d_])[^\w\s/](?=[^\W\d_])")
_SPACED: Final = re.compile(r"(?<!\w)(?:[^\W\d_][\s._·-]{1,3}){3,}[^\W\d_](?!\w)")
_MIXED: Final = re.compile(r"[^\W\d_]*[013457@$!|][^\W_]*[^\W\d_]")


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
