"""Comparison and presentation of visible text: what looks the same compares equal."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_ICON = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
"""Glyphs of icon fonts."""
_SPACE = re.compile(r"\s+")
EDGE = "\u2060"
"""Word joiner around a parameter's value in a text to search for: there only whole words match. `normalise` drops it,
so it does not affect equality."""
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
"""Scripts without spaces between words or before particles, as Unicode's character names begin."""
_HYPHENS = "-\u2010\u2011"
_LIVE = re.compile(r"(?=://)|(?<=www)(?=\.)|(?=@)|(?<=\])(?=[(\[])|(?<=<)(?=[a-z/!?])", re.IGNORECASE)
_LINKED = re.compile(r"(?=://)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)


def normalise(text: str) -> str:
    """Apply NFKC, drop invisible characters and icon glyphs, unify quotes and spaces, fold case.

    A text of icon glyphs alone keeps them: they are what is seen. The page script has the same function (`normalise`
    in `browser/page/text.js`); a test compares the two.
    """
    if text.isascii():
        return _SPACE.sub(" ", text).strip().lower()
    shown = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).translate(_QUOTES)
    return _SPACE.sub(" ", without_icons(shown)).strip().lower()


def without_icons(text: str) -> str:
    """Drop icon glyphs, unless there is nothing else to see."""
    words = _ICON.sub("", text)
    return words if words.strip() else text


def contains(haystack: str, needle: str) -> bool:
    """Return True if `haystack` has `needle` after normalisation; with an `EDGE`, only as whole words.

    The page script has the same function (`contains` in `browser/page/text.js`); a test compares the two.
    """
    return found_whole(normalise(haystack), normalise(needle), needle)


def found_whole(haystack: str, needle: str, marked: str) -> bool:
    """Return True if `haystack` has `needle` literally; `marked` is the needle with its edges."""
    opens, closes = marked.strip().startswith(EDGE), marked.strip().endswith(EDGE)
    at = haystack.find(needle)
    while needle and at >= 0:
        starts = not opens or is_word_edge(haystack, at)
        if starts and (not closes or is_word_edge(haystack, at + len(needle))):
            return True
        at = haystack.find(needle, at + 1)
    return not needle


def is_word_edge(text: str, at: int) -> bool:
    """Return True if a word may begin or end before the character at `at`.

    A hyphen between word characters is part of the word, and so is a point or comma between digits: `n-1` is no word
    of `n-1-b`, nor `12` of `12.50`.
    """
    if not 0 < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if _is_word_part(before) and _is_word_part(after):
        return any(unicodedata.name(c, "").startswith(_UNSPACED) for c in (before, after))
    return not (_joins(text, at - 1) or _joins(text, at))


def _is_word_part(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"


def _joins(text: str, at: int) -> bool:
    """Return True if the character at `at` is a mark that stands inside a word."""
    mark, around = text[at], (text[at - 1 : at], text[at + 1 : at + 2])
    if mark in _HYPHENS:
        return all(c and _is_word_part(c) for c in around)
    return mark in ".," and all(c.isdecimal() for c in around)


def unmarked(text: str) -> str:
    """Remove the edges of values."""
    return text.replace(EDGE, "")


def tokens(text: str) -> frozenset[str]:
    """Return the words of the normalised text; in scripts without spaces, its characters."""
    return frozenset(re.findall(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W_]+", normalise(text)))


def shorten(text: str, limit: int = 80) -> str:
    """Cut the text to `limit` characters, with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def inert(text: str) -> str:
    """Return `text` on one line with Markdown and HTML escaped.

    An invisible word joiner breaks addresses of pages and people, which Temporal's UI would turn into links.
    """
    escaped = re.sub(r"([\\`*_\[\]<>#|~!&])", r"\\\1", " ".join(text.split()))
    return _LINKED.sub("\u2060", escaped)


def unlinked(text: str) -> str:
    """Return `text` on one line, readable both as plain text and as Markdown.

    An invisible word joiner breaks links, pictures and tags.
    """
    return _LIVE.sub("\u2060", " ".join(text.split()))


def code_span(text: str) -> str:
    """Return `text` on one line as Markdown code."""
    line = " ".join(text.split())
    if not line:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


_MARKS = dict.fromkeys(map(ord, "\u061c\u200e\u200f"), "�")
"""Direction marks, which a line of output may have and a page of HTML may not."""
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """Return `text` on one line, without control and direction characters."""
    return still(" ".join(text.split()))


def still_lines(text: str) -> str:
    """Replace control and direction characters of a text of several lines."""
    return "\n".join(map(still, text.split("\n"))).translate(_MARKS)


def still(line: str) -> str:
    """Replace control and direction characters of a line, except tabs."""
    return "".join(
        "�" if c != "\t" and (unicodedata.category(c) in {"Cc", "Cs"} or c in _DIRECTIONS) else c for c in line
    )


def css_attribute(name: str, value: str) -> str:
    """Write a CSS selector `[name="value"]`, whatever the value holds."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\a ").replace("\r", "\\d ")
    return f'[{name}="{escaped}"]'


def near(name: str, known: Iterable[str]) -> str:
    """Return `did you mean …?` for the known name that is nearest; empty if none is."""
    alike = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.7)
    return f"did you mean {alike[0]!r}?" if alike else ""
