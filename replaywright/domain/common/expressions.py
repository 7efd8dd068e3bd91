r"""Regular expressions from files, run by RE2 in linear time and bounded memory.

RE2 has neither look-around nor back references. `\d`, `\w`, `\s` and `\b` mean ASCII, `\p{L}` any letter, and `$` the
end of the text only. A pattern matches anywhere in the text, and is case-sensitive unless it begins with `(?i)`.
"""

from typing import Any, Final

import re2  # type: ignore[import-untyped]

PATTERN_LIMIT: Final = 1_000
"""Characters of a pattern in a file."""
TEXT_LIMIT: Final = 20_000
"""Characters of a text that are searched."""
_MEMORY: Final = 512 * 1024
"""Bytes for a pattern's program and its automaton; RE2 keeps 128 of them."""
_REMEDIES: Final = (
    ("invalid perl operator: (?=", "look-around is not supported; match what stands there, or write two conditions"),
    ("invalid perl operator: (?!", "look-around is not supported; write a second condition with not_ or none_of"),
    ("invalid perl operator: (?<", "look-around is not supported; match what stands there, or write two conditions"),
    ("invalid escape sequence: \\Z", "write \\z for the end of the text"),
    ("invalid perl operator: (?P", "back references are not supported; write the part out twice"),
    ("invalid named capture group: (?P=", "back references are not supported; write the part out twice"),
    ("bad repetition operator", "possessive repetition is not supported; leave out the second character"),
    ("invalid repetition size", "repetitions may come to 1000 in all; use * or +"),
    ("pattern too large", "use fewer repetitions and alternatives"),
)


class Unusable(ValueError):
    """A pattern that RE2 refuses, with the reason and the remedy."""


def check(pattern: str) -> None:
    """Check that RE2 accepts the pattern.

    Raises:
        Unusable: RE2 refuses it.
    """
    if len(pattern) > PATTERN_LIMIT:
        shown = pattern[:40]
        raise Unusable(f"a regular expression has {PATTERN_LIMIT} characters at most; shorten {shown!r}…")
    _compiled(pattern)


def found_in(pattern: str, text: str) -> bool:
    """Return True if the pattern matches anywhere in the text.

    Raises:
        Unusable: RE2 refuses the pattern; with the values of its parameters it may be too large.
    """
    return _compiled(pattern).search(_searchable(text)) is not None


def part_found(pattern: str, text: str) -> str | None:
    """Return the match of the first group, or of the whole pattern without groups; None without a match.

    Raises:
        Unusable: RE2 refuses the pattern.
    """
    compiled = _compiled(pattern)
    match = compiled.search(_searchable(text))
    if match is None:
        return None
    return str(match.group(1 if compiled.groups else 0) or "")


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern, options)
    except UnicodeEncodeError:
        raise Unusable(f"not a regular expression (it has half a character): {pattern!r}") from None
    except re2.error as exc:
        reason = exc.args[0].decode("utf-8", "replace") if isinstance(exc.args[0], bytes) else str(exc)
        raise Unusable(f"not a regular expression of RE2 ({reason}): {_remedy(reason)}") from None


def _remedy(reason: str) -> str:
    for beginning, remedy in _REMEDIES:
        if reason.startswith(beginning):
            return remedy
    if reason.startswith("invalid escape sequence: \\") and reason[-1:].isdigit():
        return "back references are not supported; write the part out twice"
    return "correct the pattern; its syntax is at https://github.com/google/re2/wiki/Syntax"


def _searchable(text: str) -> str:
    return text[:TEXT_LIMIT].encode("utf-8", "replace").decode("utf-8")
