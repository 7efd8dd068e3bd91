"""Requests that carry what was entered, told from those that pages send beside them.

Many pages count presses, or say that they are alive, at their own site. Such a request is answered well whatever became
of the press. What a form sends has some of what was entered in it.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_plus

from replaywright.domain.common.text import normalise

_SHORTEST = 3
"""Letters and digits of a text that is looked for: shorter ones stand in anything."""
_JOINED = 8
"""Letters and digits of a text that is also found with other signs between them, or none."""
_WORDS_KEPT = 12
_TEXTS_KEPT = 20
_WORD = re.compile(r"[^\W_]+")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[bfnrt])")
_TAG = re.compile(r"<[^<>]{0,300}>")


@dataclass(frozen=True)
class Sought:
    """Texts of which one has to be found in what is sent."""

    texts: tuple[tuple[str, ...], ...]
    """The words of each."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Sought":
        """Take texts that are long enough to be told from others."""
        words = (tuple(_words(text)[:_WORDS_KEPT]) for text in texts)
        return cls(tuple(each for each in words if len("".join(each)) >= _SHORTEST))

    def and_also(self, text: str) -> "Sought":
        """Look for one text more; of very many the latest are kept."""
        return Sought((*self.texts, *Sought.of([text]).texts)[-_TEXTS_KEPT:])

    def __bool__(self) -> bool:
        return bool(self.texts)

    def without(self, sent: str) -> "Sought":
        """Leave out those that were sent."""
        if not self.texts:
            return self
        words = _words(_decoded(sent))
        return Sought(tuple(text for text in self.texts if not _stands_in(text, words)))

    def lacks(self, request: Mapping[str, Any]) -> bool:
        """Return whether a request of the DevTools protocol carries none of them, though there are some.

        Encodings of forms, JSON and HTML are undone. Of one whose body is not told nobody knows.
        """
        body = request.get("postData")
        if not self.texts or (body is None and request.get("hasPostData")):
            return False
        return self.without(f"{request['url']} {body or ''}") == self


NOTHING: Final = Sought(())


def _words(text: str) -> list[str]:
    return _WORD.findall(normalise(text).casefold())


def _stands_in(text: Sequence[str], words: Sequence[str]) -> bool:
    if f" {' '.join(text)} " in f" {' '.join(words)} ":
        return True
    joined = "".join(text)
    return len(joined) >= _JOINED and joined in "".join(words)


def _decoded(sent: str) -> str:
    """Undo the encodings of forms, JSON and HTML."""
    plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", unquote_plus(sent))
    return _TAG.sub(" ", html.unescape(plain))
