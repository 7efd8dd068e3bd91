"""`{{parameter}}`, `{{item.Column}}`, `{{secret:NAME}}` and `{{totp:NAME}}` in texts.

Filling is one pass: a parameter's value is never read as a template again, so a value that contains
`{{secret:PASSWORD}}` stays those characters and reaches no secret.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from replaywright.domain.common.text import EDGE
from replaywright.errors import InputInvalid

ITEM_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
"""What a parameter, and an item of a list, may be called."""
_PLACE = re.compile(rf"\{{\{{\s*(?:(secret|totp):\s*)?({ITEM_NAME}(?:\.[^{{}}]*[^{{}}\s])?)\s*\}}\}}")

_BRACES = re.compile(r"\{\{[^{}]*\}\}")

_LONG = 3
"""Characters from which on a value is hardly found in a text by chance."""

Part: TypeAlias = str | Mapping[str, str]
"""A literal, or `{"secret": NAME}`, or `{"totp": NAME}`."""


@dataclass(frozen=True)
class Place:
    """A `{{…}}` in a text: what it stands for, and its name (of an item's cell with the column: `invoice.State`)."""

    kind: Literal["parameter", "secret", "totp"]
    name: str


def split(text: str) -> tuple[str | Place, ...]:
    """`text` as its literals and places in their order, without empty literals."""
    parts: list[str | Place] = []
    at = 0
    for match in _PLACE.finditer(text):
        kind: Literal["parameter", "secret", "totp"] = (
            "secret" if match[1] == "secret" else "totp" if match[1] == "totp" else "parameter"
        )
        parts += [text[at : match.start()], Place(kind, match[2])]
        at = match.end()
    return tuple(part for part in (*parts, text[at:]) if part)


def parameters_in(text: str) -> frozenset[str]:
    """Names of the parameters that `text` uses."""
    return frozenset(match[2] for match in _PLACE.finditer(text) if match[1] is None)


def secrets_in(text: str) -> frozenset[str]:
    """Names of the secrets that `text` uses, also of those that one-time passwords are made of."""
    return frozenset(match[2] for match in _PLACE.finditer(text) if match[1] is not None)


def totps_in(text: str) -> frozenset[str]:
    """Names of the secrets whose one-time passwords `text` uses."""
    return frozenset(match[2] for match in _PLACE.finditer(text) if match[1] == "totp")


def lone_parameter(text: str) -> str | None:
    """The parameter that is all of `text`; None for any other text."""
    found = _PLACE.fullmatch(text.strip())
    return None if found is None or found[1] is not None else found[2]


def with_secrets(value: Any, secret: Callable[[str], str]) -> Any:
    """JSON-like data with the values of the secrets that it names; parameters stay as they are."""
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
    """The first `{{…}}` in `text` that names neither a parameter nor a secret, such as `{{to-name}}`; None without."""
    return next((match[0] for match in _BRACES.finditer(text) if not _PLACE.fullmatch(match[0])), None)


def texts_of(value: Any) -> Iterable[str]:
    """All strings inside JSON-like data."""
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
    """`text` with its parameters' values; secrets through `secret`, or left as they are without one.

    One-time passwords come from `totp`, or are left in the same way.

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
    """Like `fill`, for a text that is looked for in others: each value is found as whole words only (`text.contains`).

    Raises:
        InputInvalid: `text` uses a parameter that has no value.
    """
    return fill(text, {name: f"{EDGE}{value}{EDGE}" if value else value for name, value in values.items()})


def fill_canonical(text: str, values: Mapping[str, str]) -> str | list[Part]:
    """Like `fill`, in a form where a secret's reference cannot be confused with text that looks like one.

    A plain string when no secret is used, else the list of its parts: what a fingerprint is made of.
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
    """`text` with the values of the parameters `names` replaced by their names, longest value first.

    Values shorter than three characters are left alone, as they occur everywhere by chance; those of the parameters
    `naming`, which say what `text` is about, are replaced where they stand as a word of their own.
    """
    named = frozenset(naming)
    found = {
        value: name
        for name in sorted({*names, *named}, reverse=True)
        if len(value := values.get(name, "")) >= _LONG or (value and name in named)
    }
    if not found:
        return text
    # One pass: a name that was put in is not searched for the next value.
    longest_first = sorted(found, key=lambda value: (-len(value), value))
    places = "|".join(re.escape(value) if len(value) >= _LONG else _as_word(value) for value in longest_first)
    return re.sub(places, lambda match: "{{" + found[match[0]] + "}}", text)


def _as_word(value: str) -> str:
    before, after = (r"(?<!\w)" if value[0].isalnum() else ""), (r"(?!\w)" if value[-1].isalnum() else "")
    return before + re.escape(value) + after
