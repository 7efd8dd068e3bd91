"""Taking secret values out of everything that is kept, shown or sent.

A value is found in whatever common clothing it wears: as it is, percent-encoded, JSON- or HTML-escaped (also twice,
also only in part, in upper or lower case: every character may be escaped or not), in hexadecimal, and inside Base64 at
each of the three alignments. What is found becomes `{{secret:NAME}}`.

Values with at least eight letters and digits (`BARE`) are also found by these alone, whatever stands between them, in
upper or lower case, and backwards: pages spread values over elements, put invisible characters into them, and leave
signs out of file names and addresses. `apart` finds those that stand in several texts which a page shows one after the
other. A part of a value is not looked for: a page that shows half a password is not told from one that shows a word.

Short values are the difficulty. Below four characters, a value is replaced only where it stands as a word of its own,
and not inside Base64 or hexadecimal: "7" occurs in every number, and a text without its sevens is no use to anybody.
A secret that short is a code that can be guessed anyway. From four characters on it is replaced everywhere, also where
the same characters stand by chance: a text with a hole is a nuisance, a leaked value is a loss.
"""

import base64
import html.entities
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHORT = 4
"""Values with fewer characters are replaced only as whole words."""

BARE = 8
"""Values with at least so many letters and digits are also found by these alone."""
HIDDEN = "***"
"""In place of a text that shows a part of a value."""
_LETTERS = re.compile(
    r"<[^<>]{0,300}>|%(?:25)*[0-9A-Fa-f]{2}|\\+(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[bfnrt])|&[#\w;]{2,32};|([^\W_]+)"
)
"""Runs of letters and digits; tags and escapes are none."""
_LITERAL = re.compile(r"([^\W_]+)")
"""The same where what looks like a tag or an escape is part of the value itself."""
_ASCII = re.compile(r"[A-Za-z0-9]+")

_NAMED_ENTITIES: dict[str, list[str]] = {}
for _entity, _meaning in html.entities.html5.items():
    if _entity.endswith(";"):
        _NAMED_ENTITIES.setdefault(_meaning, []).append(_entity)

_JSON_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "'": "'"}

_WORD_BEFORE = r"(?:(?<!\w)|(?<=\\[bfnrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""The start of a word; the last character of an escape in front of it belongs to no word."""
_WORD_AFTER = r"(?!\w)"


class Redactor:
    """Replaces the values of secrets by their names. Made once, used often: it holds a compiled pattern per value."""

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        """Know pairs of name and value; one name may have several values, empty values are left out."""
        known = sorted({(name, value) for name, value in secrets if value}, key=lambda pair: (-len(pair[1]), pair))
        # A lookahead finds matches that overlap each other, too.
        self._patterns = [(name, re.compile(f"(?=({_pattern(value)}))")) for name, value in known]
        self._exact = {value: name for name, value in reversed(known)}
        self._bare = {
            (view, order): name
            for name, value in reversed(known)
            for view in (_LITERAL, _LETTERS, _ASCII)
            if len(bare := _bare(value, ascii_only=view is _ASCII)) >= BARE
            and (view is not _ASCII or not value.isascii())
            for order in (bare, bare[::-1])
        }
        self._kinds = {kind for kind, _ in self._bare}
        self._shortest = min((len(sought) for _, sought in self._bare), default=0)
        names = "|".join(re.escape(name) for name in {name for name, _ in known})
        self._placeholder = re.compile(rf"\{{\{{secret:(?:{names})\}}\}}") if known else None

    def text(self, text: str) -> str:
        """`text` without the values. Where they overlap, all that they cover is replaced by the longest one's name."""
        found = [
            (match.start(1), match.end(1), name)
            for name, pattern in self._patterns
            for match in pattern.finditer(text)
            if match.end(1) > match.start(1)
        ] + self._spread(text)
        if not found or self._placeholder is None:
            return text
        kept = [(match.start(), match.end()) for match in self._placeholder.finditer(text)]
        found = [span for span in found if not any(start <= span[0] and span[1] <= end for start, end in kept)]
        parts: list[str] = []
        at = 0
        for start, end, name in _merged(found):
            parts += [text[at:start], "{{secret:", name, "}}"]
            at = end
        return "".join([*parts, text[at:]])

    def _spread(self, text: str) -> list[tuple[int, int, str]]:
        """Where the letters and digits of a value stand, with the value's name."""
        if not self._bare or len(text) < self._shortest:
            return []
        letters = {kind: _letters(text, kind) for kind in self._kinds}
        views: dict[re.Pattern[str], _Bare] = {}
        found: list[tuple[int, int, str]] = []
        for (kind, sought), name in self._bare.items():
            known = letters[kind]
            if known is not None and sought not in known:
                continue
            view = views.get(kind) or views.setdefault(kind, _Bare.of(text, kind))
            found += [(start, end, name) for start, end in view.spans(sought)]
        return found

    def texts(self, texts: list[Any]) -> list[Any]:
        """A list without those of its texts that only together show a value, one after the other."""
        places = [place for place, text in enumerate(texts) if isinstance(text, str) and text.strip()]
        if len(places) > 1:
            for at in apart([texts[place] for place in places], lambda text: self.text(text) != text):
                texts[places[at]] = HIDDEN
        return texts

    def data(self, value: Any) -> Any:
        """JSON-like data without the values, in keys too. A number that *is* a secret's value becomes a text."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.data(key): self.data(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return self.texts([self.data(inner) for inner in value])
        if isinstance(value, int | float) and not isinstance(value, bool) and str(value) in self._exact:
            return "{{secret:" + self._exact[str(value)] + "}}"
        return value


def redact(text: str, secrets: Mapping[str, str]) -> str:
    """`text` with the values of `secrets` (name to value), however they are encoded, replaced by `{{secret:NAME}}`."""
    return Redactor(secrets.items()).text(text)


def redact_data(value: Any, secrets: Mapping[str, str]) -> Any:
    """Like `redact`, for JSON-like data: mappings with their keys, lists, texts, numbers."""
    return Redactor(secrets.items()).data(value)


def _merged(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Spans that overlap made one, named for the longest of them."""
    merged: list[tuple[int, int, str]] = []
    longest = 0
    for start, end, name in sorted(found, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first, last, kept = merged[-1]
            merged[-1] = (first, max(last, end), name if end - start > longest else kept)
            longest = max(longest, end - start)
        else:
            merged.append((start, end, name))
            longest = end - start
    return merged


def _pattern(value: str) -> str:
    plain = "".join(_character(character) for character in value)
    if len(value) < SHORT:
        return f"{_WORD_BEFORE}{plain}{_WORD_AFTER}"
    data = value.encode("utf-8", "surrogatepass")
    forms = [plain, *(_base64(data, shift) for shift in range(3)), _hexadecimal(data)]
    return "|".join(forms)


@dataclass(frozen=True)
class _Bare:
    """The letters and digits of a text, one after the other, in lower case."""

    text: str
    starts: tuple[int, ...]
    """Where in `text` each run begins."""
    places: tuple[int, ...]
    """Where that run begins in the text that it was made of."""

    @classmethod
    def of(cls, text: str, kind: re.Pattern[str]) -> "_Bare":
        """As `_LETTERS`, `_LITERAL` or, without escapes and without all that is not ASCII, `_ASCII` reads it."""
        runs: list[str] = []
        starts: list[int] = []
        places: list[int] = []
        size = 0
        for match in (_LETTERS if kind is _ASCII else kind).finditer(text):
            if match[1] is None:
                continue
            for run in _ASCII.finditer(match[1]) if kind is _ASCII and not match[1].isascii() else (match,):
                word = run[0].lower()
                if len(word) != len(run[0]):
                    word = run[0]
                runs.append(word)
                starts.append(size)
                places.append(match.start() + (run.start() if run is not match else 0))
                size += len(word)
        return cls("".join(runs), tuple(starts), tuple(places))

    def spans(self, sought: str) -> Iterator[tuple[int, int]]:
        """Where `sought` stands in the text that this was made of."""
        at = self.text.find(sought)
        while at >= 0:
            yield self._place(at), self._place(at + len(sought) - 1) + 1
            at = self.text.find(sought, at + 1)

    def _place(self, at: int) -> int:
        run = bisect_right(self.starts, at) - 1
        return self.places[run] + at - self.starts[run]


def _letters(text: str, kind: re.Pattern[str]) -> str | None:
    """What `_Bare.of` has as its text, ten times as fast; None where that has to be worked out run by run."""
    joined = "".join((_LETTERS if kind is _ASCII else kind).findall(text))
    lowered = joined.lower()
    if joined.isascii() or (kind is not _ASCII and len(lowered) == len(joined) and "\u03a3" not in joined):
        return lowered
    return None  # the lower case of some letters is longer, and that of a capital sigma depends on where its run ends


def _bare(value: str, *, ascii_only: bool) -> str:
    letters = (one for one in value if one.isalnum() and (one.isascii() or not ascii_only))
    return "".join(one.lower() if len(one.lower()) == 1 else one for one in letters)


def apart(texts: Sequence[str], shows: Callable[[str], bool]) -> frozenset[int]:
    """Places of those texts, shown one after the other, that only together show a secret.

    Args:
        texts: Texts of which none does so by itself.
        shows: Whether a text shows a secret.
    """
    found: set[int] = set()
    begin = 0
    while begin < len(texts) and shows("\n".join(texts[begin:])):
        low, high = begin + 1, len(texts)
        while low < high:  # the first end at which a secret is complete
            middle = (low + high) // 2
            low, high = (low, middle) if shows("\n".join(texts[begin:middle])) else (middle + 1, high)
        end, first, last = low, begin, low - 1
        while first < last:  # the last beginning from which it is still whole
            middle = (first + last + 1) // 2
            first, last = (middle, last) if shows("\n".join(texts[middle:end])) else (first, middle - 1)
        found.update(range(first, end))
        begin = end
    return frozenset(found)


def _character(character: str) -> str:
    r"""Every way in which a character of a value may be written; itself last: `%`, `&` and `\` also begin escapes."""
    data = character.encode("utf-8", "surrogatepass")
    code = ord(character)
    forms = [
        "".join(rf"%(?:25)*{_any_case(f'{byte:02x}')}" for byte in data),
        _json_escape(code),
        rf"&(?:amp;)*\#(?:0*{code}|[xX]0*{_any_case(f'{code:x}')});",
    ]
    if character in _JSON_SHORT:
        forms.append(rf"\\+{re.escape(_JSON_SHORT[character])}")
    if character == " ":
        forms.append(r"\+")
    forms += [rf"&(?:amp;)*{re.escape(name)}" for name in _NAMED_ENTITIES.get(character, ())]
    return f"(?:{'|'.join([*forms, re.escape(character)])})"


def _json_escape(code: int) -> str:
    utf16 = chr(code).encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(utf16[at : at + 2], "big") for at in range(0, len(utf16), 2)]
    forms = ["".join(rf"\\+u{_any_case(f'{unit:04x}')}" for unit in units), rf"\\+U{_any_case(f'{code:08x}')}"]
    if code <= 0xFF:
        forms.append(rf"\\+x{_any_case(f'{code:02x}')}")
    return "|".join(forms)


def _any_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


def _base64(data: bytes, shift: int) -> str:
    """The characters that Base64 makes of `data` alone when `shift` bytes stand before it in the last group of three.

    A character at an edge that also holds bits of a neighbour may be anything; with it, all of `data`'s bits go.
    """
    bits_before, bits = shift * 8, (shift + len(data)) * 8
    text = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
    first, last = -(-bits_before // 6), bits // 6
    any_character = r"(?:[A-Za-z0-9+/_-]|%2[BbFf])"
    before = f"{any_character}?" if bits_before % 6 else ""
    after = f"{any_character}?(?:=|%3[Dd]){{0,2}}" if bits % 6 else ""
    line_break = r"(?:\\r|\\n|\r|\n)*"
    core = line_break.join(_base64_character(character) for character in text[first:last])
    return f"{before}{core}{after}"


def _base64_character(character: str) -> str:
    match character:
        case "+":
            return r"(?:[+ -]|%2[Bb])"
        case "/":
            return r"(?:\\*/|_|%2[Ff])"
        case _:
            return character


def _hexadecimal(data: bytes) -> str:
    return "".join(_any_case(f"{byte:02x}") for byte in data)
