"""Regular expressions as Python and JavaScript both read them: Playwright compares in the browser's."""

import re
from typing import Final

from replaywright.domain.templates import Place, split
from replaywright.export.code import Pattern, Text

_PLACED: Final = "\ue000{}\ue001"
"""Stands for a parameter while the pattern around it is read; no page has such characters in an address."""
_INLINE_FLAGS: Final = re.compile(r"^\(\?([a-zA-Z]+)\)")
_NOT_SHARED: Final = re.compile(r"\(\?(?:[aiLmsux-]*[:)]|#|\(|>)|[*+?}]\+|\\[NG]")
"""Flags inside of a pattern, comments, conditions, atomic groups, possessive repetition."""


def contained(template: str, *, ignore_case: bool = False) -> Pattern:
    """That the template's text is contained."""
    return Pattern((Text(split(template)),), ignore_case)


def shared(template: str) -> Pattern | None:
    """A pattern of the task, in whose places stand values that are searched for as they are.

    None if only Python has its like. The flag `i` may stand at its beginning.
    """
    pieces = split(template)
    places = [piece for piece in pieces if isinstance(piece, Place)]
    numbers = iter(range(len(places)))
    source = "".join(_PLACED.format(next(numbers)) if isinstance(piece, Place) else piece for piece in pieces)
    ignore_case = False
    if flags := _INLINE_FLAGS.match(source):
        if set(flags[1]) - {"i"}:
            return None
        ignore_case, source = True, source[flags.end() :]
    source = source.replace("(?P<", "(?<").replace(r"\A", "^").replace(r"\Z", "$")
    source = re.sub(r"\(\?P=(\w+)\)", r"\\k<\1>", source)
    if _NOT_SHARED.search(re.sub(r"\\\\", "", source)):
        return None
    parts: list[str | Text] = []
    for number, piece in enumerate(re.split("\ue000\\d+\ue001", source)):
        parts += [Text((places[number - 1],)), piece] if number else [piece]
    return Pattern(tuple(part for part in parts if part != ""), ignore_case)
