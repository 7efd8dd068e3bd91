"""Patterns of RE2 as JavaScript and Python read them: Playwright compares in JavaScript, Python tests cells."""

import re
from typing import Final

from replaywright.domain.common.templates import Placeholder, split
from replaywright.export.code import Regex, Text

_PLACED: Final = "\ue000{}\ue001"
"""Stands for a parameter while the pattern around it is read; no page has such characters in an address."""
_INLINE_FLAGS: Final = re.compile(r"^\(\?([a-zA-Z]+)\)")
_TOKEN: Final = re.compile(r"\\(?:x\{|[\s\S])|\[\^?\]?|\]|\(\?P?<\w+>|\(\?:|\(\?|[\s\S]")
_ASCII: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
"""Classes of RE2 that hold other characters in Python or JavaScript, as they stand inside brackets."""
_PLAIN_ESCAPES: Final = frozenset("fnrtvdwDWbB")
"""Escapes that RE2 and JavaScript read alike."""


def contained(template: str, *, ignore_case: bool = False) -> Regex:
    """Return a pattern that finds the template's text."""
    return Regex((Text(split(template)),), ignore_case)


def shared(template: str) -> Regex | None:
    """Return a task's pattern (RE2) as JavaScript reads it; values that are searched for stand in its places.

    None where RE2 alone has its like. The flag `i` may stand at its beginning.
    """
    pieces = split(template)
    places = [piece for piece in pieces if isinstance(piece, Placeholder)]
    numbers = iter(range(len(places)))
    source = "".join(_PLACED.format(next(numbers)) if isinstance(piece, Placeholder) else piece for piece in pieces)
    ignore_case = False
    if flags := _INLINE_FLAGS.match(source):
        if set(flags[1]) - {"i"}:
            return None
        ignore_case, source = True, source[flags.end() :]
    translated = _translated(source)
    if translated is None:
        return None
    source = translated
    parts: list[str | Text] = []
    for number, piece in enumerate(re.split("\ue000\\d+\ue001", source)):
        parts += [Text((places[number - 1],)), piece] if number else [piece]
    return Regex(tuple(part for part in parts if part != ""), ignore_case)


def in_python(template: str) -> str | None:
    """Return a pattern (RE2) as Python's `re` reads it, flags at its beginning included; None where it has no like."""
    flags = _INLINE_FLAGS.match(template)
    if flags and set(flags[1]) - {"i"}:
        return None
    translated = _translated(template[flags.end() :] if flags else template, python=True)
    return None if translated is None else (flags[0] if flags else "") + translated


def _translated(source: str, *, python: bool = False) -> str | None:
    """Return the pattern without its flags, part by part; None for a part that RE2 alone has."""
    written: list[str] = []
    inside = False
    for part in _TOKEN.findall(source):
        if inside:
            piece = part if part[0] not in "\\[" else _inside(part, python=python)
            inside = part != "]"
        else:
            piece = _outside(part, python=python)
            inside = part[0] == "["
        if piece is None:
            return None
        written.append(piece)
    return "".join(written)


def _outside(part: str, *, python: bool) -> str | None:
    if part[0] == "[":
        return part.replace("]", r"\]")
    if part.startswith("(?"):
        return part if part == "(?:" else "(" if part.endswith(">") else None
    if part == "$":
        return r"\Z" if python else "$"
    if part[0] != "\\":
        return part
    letter = part[1:]
    if letter in ("A", "z"):
        return "^" if letter == "A" else r"\Z" if python else "$"
    if letter in ("b", "B") and python:
        return f"(?a:{part})"
    if letter.lower() in _ASCII and (python or letter.lower() == "s"):
        return f"[{'^' if letter.isupper() else ''}{_ASCII[letter.lower()]}]"
    return _escape(part)


def _inside(part: str, *, python: bool) -> str | None:
    if part[0] == "[":  # `[:alpha:]` is RE2's alone
        return None
    letter = part[1:]
    if letter in _ASCII and (python or letter == "s"):
        return _ASCII[letter]
    if letter in "DW" and not python:
        return part
    return None if letter in "SDWbB" else _escape(part)


def _escape(part: str) -> str | None:
    letter = part[1:]
    if letter == "x" or letter in _PLAIN_ESCAPES or not letter[0].isascii() or not letter[0].isalnum():
        return part
    return None
