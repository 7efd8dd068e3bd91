"""Redaction of secret values from everything that is stored, shown or sent.

A value is found literally, percent-encoded, JSON- or HTML-escaped (also twice, in part, in either case), in
hexadecimal, and in Base64 at each of the three alignments. It becomes `{{secret:NAME}}`.

Values with at least eight letters and digits (`BARE`) are also found by these alone, in either case and backwards,
whatever separates them: pages spread values over elements, insert invisible characters, and drop punctuation in file
names and addresses. Long ones (`LONG`), such as keys, are found in this way only. `apart` finds values that span
consecutive texts. Parts of a value are not searched: half a password cannot be told from a word.

A value below four characters is replaced only as a whole word, and not in Base64 or hexadecimal: "7" occurs in every
number, and a secret that short can be guessed anyway. Longer ones are replaced everywhere, even where they occur by
chance: a hole in a text is a nuisance, a leaked value is a loss.
"""

import base64
import html.entities
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHORT = 4
"""Shorter values are replaced only as whole words."""

BARE = 8
"""Values with at least so many letters and digits are also found by these alone."""
LONG = 1024
"""Values with more letters and digits are found by these alone, also of their Base64 and hexadecimal forms, unless
letters and digits themselves are escaped: a pattern of each character's encodings takes a millisecond for each, which
for a key with its certificates is seconds."""
HIDDEN = "***"
"""Replacement of a text that shows a part of a value."""
_LETTERS = re.compile(
    r"<[^<>]{0,300}>|%(?:25)*[0-9A-Fa-f]{2}|\\+(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[bfnrt])|&[#\w;]{2,32};|([^\W_]+)"
)
"""Runs of letters and digits outside tags and escapes."""
_LITERAL = re.compile(r"([^\W_]+)")
"""The same for values that contain apparent tags or escapes."""
_ASCII = re.compile(r"[A-Za-z0-9]+")

_NAMED_ENTITIES: dict[str, list[str]] = {}
for _entity, _meaning in html.entities.html5.items():
    if _entity.endswith(";"):
        _NAMED_ENTITIES.setdefault(_meaning, []).append(_entity)

_JSON_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "'": "'"}

_WORD_BEFORE = r"(?:(?<!\w)|(?<=\\[bfnrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""Start of a word; the last character of a preceding escape does not belong to it."""
_WORD_AFTER = r"(?!\w)"


class Redactor:
    """Replaces values of secrets by their names; it holds a compiled pattern for each value."""

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        """Take pairs of name and value; a name may have several values, empty values are ignored."""
        known = sorted({(name, value) for name, value in secrets if value}, key=lambda pair: (-len(pair[1]), pair))
        # A lookahead also finds overlapping matches.
        self._patterns = [
            (name, re.compile(f"(?=({_pattern(value)}))")) for name, value in known if not _is_long(value)
        ]
        self._exact = {value: name for name, value in reversed(known)}
        self._bare = {
            (view, order): name
            for name, whole in reversed(known)
            for value in (whole, *(_encoded(whole) if _is_long(whole) else ()))
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
        """Replace the values in `text`; overlapping ones together, by the longest one's name."""
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
        """Find the values whose letters and digits are spread over the text."""
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
        """Hide the texts of a list that show a value only together, one after the other."""
        places = [place for place, text in enumerate(texts) if isinstance(text, str) and text.strip()]
        if len(places) > 1:
            for at in apart([texts[place] for place in places], lambda text: self.text(text) != text):
                texts[places[at]] = HIDDEN
        return texts

    def data(self, value: Any) -> Any:
        """Redact JSON-like data including keys. A number that *is* a value becomes a text."""
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
    """Replace the values of `secrets` (name to value), in any encoding, by `{{secret:NAME}}`."""
    return Redactor(secrets.items()).text(text)


def _merged(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Merge overlapping spans, named for the longest of them."""
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


def _is_long(value: str) -> bool:
    return len(value) > LONG and len(_bare(value, ascii_only=False)) > LONG


def _encoded(value: str) -> Iterator[str]:
    """Yield Base64 of a value, without the characters that depend on its neighbours, and hexadecimal."""
    data = value.encode("utf-8", "surrogatepass")
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + data).decode()
        yield text[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]
    yield data.hex()


def _pattern(value: str) -> str:
    plain = "".join(_character(character) for character in value)
    if len(value) < SHORT:
        return f"{_WORD_BEFORE}{plain}{_WORD_AFTER}"
    data = value.encode("utf-8", "surrogatepass")
    forms = [plain, *(_base64(data, shift) for shift in range(3)), _hexadecimal(data)]
    return "|".join(forms)


@dataclass(frozen=True)
class _Bare:
    """The letters and digits of a text in lower case, joined."""

    text: str
    starts: tuple[int, ...]
    """Starts of the runs in `text`."""
    places: tuple[int, ...]
    """Starts of the runs in the original text."""

    @classmethod
    def of(cls, text: str, kind: re.Pattern[str]) -> "_Bare":
        """Read the text by `_LETTERS`, `_LITERAL`, or `_ASCII` (without escapes, ASCII only)."""
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
        """Yield the places of `sought` in the original text."""
        at = self.text.find(sought)
        while at >= 0:
            yield self._place(at), self._place(at + len(sought) - 1) + 1
            at = self.text.find(sought, at + 1)

    def _place(self, at: int) -> int:
        run = bisect_right(self.starts, at) - 1
        return self.places[run] + at - self.starts[run]


def _letters(text: str, kind: re.Pattern[str]) -> str | None:
    """Return `_Bare.of`'s text ten times as fast; None if that needs the runs."""
    joined = "".join((_LETTERS if kind is _ASCII else kind).findall(text))
    lowered = joined.lower()
    if joined.isascii() or (kind is not _ASCII and len(lowered) == len(joined) and "\u03a3" not in joined):
        return lowered
    return None  # the lower case of some letters is longer, and that of a capital sigma depends on where its run ends


def _bare(value: str, *, ascii_only: bool) -> str:
    letters = (one for one in value if one.isalnum() and (one.isascii() or not ascii_only))
    return "".join(one.lower() if len(one.lower()) == 1 else one for one in letters)


def apart(texts: Sequence[str], shows: Callable[[str], bool]) -> frozenset[int]:
    """Return the indexes of consecutive texts that show a secret only together.

    Args:
        texts: Texts that show no secret by themselves.
        shows: Returns True if a text shows a secret.
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
    r"""Return a pattern of all encodings of a character; itself last: `%`, `&` and `\` also begin escapes."""
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
    """Return the Base64 characters of `data` alone, with `shift` bytes before it in its first group of three.

    An edge character with bits of a neighbour may be anything; it is included, so that all bits of `data` are covered.
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
