"""Texts as literals and comments of the languages: whatever they hold, nothing of them is read as code."""

import re
import textwrap
from collections.abc import Iterator
from typing import Final

_DIRECTIVES: Final = re.compile(
    r"(?i)(@ts|no(?=qa)|no(?=sec)|(?:type|fmt|ruff|flake8|isort|mypy|pyright|pyre|pylint|yapf|pragma)(?=:))(?:-|\w*:?)"
)
"""Comments that would suppress a compiler, formatter or linter."""
_PYTHON_SHORT: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def python_string(text: str) -> str:
    """Write a Python literal, in the quotes that need fewer backslashes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + python_body(text, quote) + quote


def python_body(text: str, quote: str, *, formatted: bool = False) -> str:
    """Escape a text for between quotes; in an f-string, double its braces."""
    return "".join(_python_character(character, quote, formatted=formatted) for character in text)


def _python_character(character: str, quote: str, *, formatted: bool) -> str:
    if character == quote:
        return f"\\{quote}"
    if formatted and character in "{}":
        return character * 2
    if character in _PYTHON_SHORT:
        return _PYTHON_SHORT[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def python_raw(text: str) -> str:
    """Write a literal for a regular expression, raw if possible."""
    is_plain = text.isprintable() and '"' not in text and not text.endswith("\\")
    return f'r"{text}"' if "\\" in text and is_plain else python_string(text)


def typescript_string(text: str) -> str:
    """Write a TypeScript literal, in the quotes that need fewer backslashes."""
    quote = '"' if text.count("'") > text.count('"') else "'"
    return quote + typescript_body(text, quote) + quote


def typescript_body(text: str, quote: str) -> str:
    """Escape a text for between quotes; between backticks, without anything that begins an expression."""
    return "".join(_typescript_character(character, quote) for character in text)


def _typescript_character(character: str, quote: str) -> str:
    if character == quote or (quote == "`" and character == "$"):
        return f"\\{character}"
    if character in _PYTHON_SHORT:
        return _PYTHON_SHORT[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\u{{{code:x}}}"


def plain(text: str) -> str:
    """Clean a text for a comment: one line of visible characters, in their order."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def comment_lines(text: str, mark: str, width: int) -> Iterator[str]:
    """Wrap a text into comments that begin with `mark`, of at most `width` characters where words allow."""
    told = _DIRECTIVES.sub(lambda found: found[0].replace(found[1], f"{found[1]} "), plain(text))
    lines = textwrap.wrap(told, max(width, 30), break_long_words=False, break_on_hyphens=False)
    yield from (f"{mark} {line}" for line in lines or [""])


def docstring_text(text: str) -> str:
    """Clean a text for a docstring: nothing in it ends it or is an escape."""
    return plain(text).replace("\\", "/").replace('"', "'")


def regex_escaped(text: str) -> str:
    """Escape a text for a literal match, in the syntax that Python and JavaScript share."""
    return re.sub(r"[.^$*+?{}\[\]\\|()]", r"\\\g<0>", text)
