"""Templates in texts: `{{parameter}}`, `{{item.Column}}`, `{{secret:NAME}}` and `{{totp:NAME}}`.

Filling is one pass: a parameter's value is never read as a template again, so a value that contains
`{{secret:PASSWORD}}` stays those characters and reaches no secret.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from replaywright.domain.common.text import EDGE, is_word_edge
from replaywright.errors import InputInvalid

SECRET_PREFIX = "REPLAYWRIGHT_SECRET_"  # noqa: S105 - a variable's prefix, no secret
"""`{{secret:NAME}}` is read on the worker from the environment variable with this prefix and NAME."""
ITEM_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
"""Pattern of the names of parameters and list items."""
_PLACE = re.compile(rf"\{{\{{\s*(?:(secret|totp):\s*)?({ITEM_NAME}(?:\.[^{{}}]*[^{{}}\s])?)\s*\}}\}}")

_BRACES = re.compile(r"\{\{[^{}]*\}\}")

LONG = 3
"""Shortest value that is unlikely to occur in a text by chance."""

Part: TypeAlias = str | Mapping[str, str]
"""A literal, or `{"secret": NAME}`, or `{"totp": NAME}`."""


@dataclass(frozen=True)
class Placeholder:
    """A `{{…}}` in a text: its kind and name (of a cell with its column: `invoice.State`)."""

    kind: str
    """`parameter`, `secret` or `totp`."""
    name: str


def split(text: str) -> tuple[str | Placeholder, ...]:
    """Split `text` into literals and placeholders, without empty literals."""
    parts: list[str | Placeholder] = []
    at = 0
    for match in _PLACE.finditer(text):
        parts += [text[at : match.start()], Placeholder(match[1] or "parameter", match[2])]
        at = match.end()
    return tuple(part for part in (*parts, text[at:]) if part)


def parameters_in(text: str) -> frozenset[str]:
    """Return the names of the parameters in `text`."""
    return frozenset(match[2] for match in _PLACE.finditer(text) if match[1] is None)


def secrets_in(text: str) -> frozenset[str]:
    """Return the names of the secrets in `text`, including those of one-time passwords."""
    return frozenset(match[2] for match in _PLACE.finditer(text) if match[1] is not None)


def totps_in(text: str) -> frozenset[str]:
    """Return the names of the secrets whose one-time passwords `text` uses."""
    return frozenset(match[2] for match in _PLACE.finditer(text) if match[1] == "totp")


def lone_parameter(text: str) -> str | None:
    """Return the parameter that is the whole `text`; None for any other text."""
    found = _PLACE.fullmatch(text.strip())
    return None if found is None or found[1] is not None else found[2]


def with_secrets(value: Any, secret: Callable[[str], str]) -> Any:
    """Fill the secrets in JSON-like data; parameters stay templates."""
    match value:
        case str():
            return _PLACE.sub(lambda found: secret(found[2]) if found[1] == "secret" else found[0], value)
        case Mapping():
            return {with_secrets(key, secret): with_secrets(inner, secret) for key, inner in value.items()}
        case list() | tuple():
            return [with_secrets(inner, secret) for inner in value]
        case _:
            return value


def malformed_in(text: str) -> str | None:
    """Return the first `{{…}}` that names no parameter or secret, such as `{{to-name}}`; None without one."""
    return next((match[0] for match in _BRACES.finditer(text) if not _PLACE.fullmatch(match[0])), None)


def texts_of(value: Any) -> Iterable[str]:
    """Yield all strings inside JSON-like data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_of(inner)


def fill(
    text: str,
    values: Mapping[str, str],
    secret: Callable[[str], str] | None = None,
    totp: Callable[[str], str] | None = None,
) -> str:
    """Fill the parameters' values, and secrets through `secret`; without it they stay templates.

    The same holds for one-time passwords and `totp`.

    Raises:
        InputInvalid: `text` uses a parameter that has no value.
    """

    def value(match: re.Match[str]) -> str:
        name = match[2]
        if match[1] is not None:
            source = secret if match[1] == "secret" else totp
            return match[0] if source is None else source(name)
        if name not in values:
            raise InputInvalid(f"parameter {name!r} has no value; pass it with --param {name}=…")
        return values[name]

    return _PLACE.sub(value, text)


def fill_wanted(text: str, values: Mapping[str, str]) -> str:
    """Like `fill`, for a text to search for: each value matches whole words only (`text.contains`).

    Raises:
        InputInvalid: `text` uses a parameter that has no value.
    """
    return fill(text, {name: f"{EDGE}{value}{EDGE}" if value else value for name, value in values.items()})


def fill_canonical(text: str, values: Mapping[str, str]) -> str | list[Part]:
    """Like `fill`, in a form that distinguishes a secret from text that looks like one.

    It returns a plain string without secrets, else the list of parts. Fingerprints are made of it.
    """
    parts: list[Part] = []
    at = 0
    for match in _PLACE.finditer(text):
        if match[1] is None:
            continue
        parts += [fill(text[at : match.start()], values), {match[1]: match[2]}]
        at = match.end()
    if not parts:
        return fill(text, values)
    return [*parts, fill(text[at:], values)]


def generalise(text: str, values: Mapping[str, str], names: Iterable[str], naming: Iterable[str] = ()) -> str:
    """Replace the values of the parameters `names` by their names, longest value first.

    Values shorter than three characters occur by chance, so they are replaced only for the parameters `naming`, which
    identify the subject of `text`, and only as whole words.
    """
    named = frozenset(naming)
    found = {
        value: name
        for name in sorted({*names, *named}, reverse=True)
        if len(value := values.get(name, "")) >= LONG or (value and name in named)
    }
    if not found:
        return text

    def named_value(match: re.Match[str]) -> str:
        is_word = is_word_edge(text, match.start()) and is_word_edge(text, match.end())
        return "{{" + found[match[0]] + "}}" if is_word or len(match[0]) >= LONG else match[0]

    # One pass: inserted names are not searched for further values.
    longest_first = sorted(found, key=lambda value: (-len(value), value))
    return re.sub("|".join(map(re.escape, longest_first)), named_value, text)
