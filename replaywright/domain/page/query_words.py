"""Conditions on elements in words, for messages."""

from collections.abc import Mapping
from typing import Any, Final

from replaywright.domain.common.text import EDGE, shorten, without_icons
from replaywright.domain.page.targets import ElementQuery

_SHOWN: Final = 40
"""Characters of a text that a message shows."""


def words_of_query(query: ElementQuery) -> str:
    """Return the condition in words: `button "Save", within (row "Ann")`."""
    return words_of_fields(query.model_dump(exclude_defaults=True))


def words_of_fields(given: Mapping[str, Any]) -> str:
    """Return the fields of a condition in words."""
    rest = {field: value for field, value in given.items() if field not in ("role", "name", "substring")}
    told = [f"{field.replace('_', ' ')} {_value(value)}" for field, value in rest.items()]
    role, name = given.get("role"), given.get("name")
    if name:
        told.insert(0, f"{role or 'name'} {quoted(name)}")
    elif role:
        told.insert(0, str(role))
    return ", ".join(told)


def quoted(text: object) -> str:
    """Return a text of a page as a few words on one line in double quotes, which it cannot end."""
    return f'"{plain_words(text)}"'


def plain_words(text: object, limit: int = _SHOWN) -> str:
    """Shorten a text of a page to a few words on one line without double quotes."""
    return shorten(" ".join(without_icons(str(text)).replace(EDGE, "").replace('"', "'").split()), limit)


def _value(value: object) -> str:
    match value:
        case str():
            return quoted(value)
        case Mapping():
            return f"({words_of_fields(value)})"
        case list() | tuple():
            return " or ".join(_value(each) for each in value)
        case _:
            return str(value)
