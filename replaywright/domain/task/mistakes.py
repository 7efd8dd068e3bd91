"""Mistakes in what people write: each with its place, its line, what was expected, and the nearest known name."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from replaywright.domain.common.text import near, shorten
from replaywright.domain.predicate.predicates import KINDS
from replaywright.domain.task.actions import Action
from replaywright.errors import Mistakes

_SHOWN = 60
"""Characters of a name in a message."""
_Place: TypeAlias = "tuple[str | int, ...]"
_TRUTHS = {True: "yes, on or true", False: "no, off or false"}
"""Words that YAML reads as a truth value."""
_EXPECTED = {
    "string_type": "should be a text",
    "tuple_type": "should be a list",
    "dict_type": "should be a mapping",
    "model_type": "should be a mapping",
}


class Source(str):
    """Name of a file, with the lines of its text."""

    __slots__ = ("line_of",)

    line_of: Callable[[Sequence[str | int]], int]
    """Return the line of the value at a place, such as `("steps", 0, "value")`, or of the nearest one around it."""

    def __new__(cls, name: str, line_of: Callable[[Sequence[str | int]], int]) -> Self:
        """Name a file whose lines are known."""
        one = super().__new__(cls, name)
        one.line_of = line_of
        return one


def mistakes_of(error: ValidationError, model: type, source: str, *, whole: str = "the file") -> Mistakes:
    """Return all mistakes in the order of the text. `whole` stands for no field.

    Args:
        error: From the validation of data as `model`.
        model: Names the fields that are known at each place.
        source: Begins each line; a `Source` adds the number of the line.
    """
    known = _Known(model)
    found: list[tuple[int, str]] = []
    for each in _causes(error.errors()):
        place = tuple(part for part, is_tag in _parts(each["loc"]) if not is_tag)
        line = source.line_of(place) if isinstance(source, Source) else 0
        found.append((line, f"{_text_of(place) or whole}: {_remedy(each, known)}"))
    found.sort(key=lambda one: one[0])
    return Mistakes([f"{source}:{line}: {text}" if line else f"{source}: {text}" for line, text in found])


class _Known:
    """Field names of a model, by place."""

    def __init__(self, model: type) -> None:
        self._model = model

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return self._model.model_json_schema() if issubclass(self._model, BaseModel) else {}

    def near(self, location: _Place) -> str:
        """Ask for the known name that is nearest to the last one of `location`; empty if none is."""
        *places, (name, _) = _parts(location)
        nodes = list(self._resolved([self._schema]))
        for part, is_tag in places:
            nodes = [node for node in nodes if _is_tagged(node, part)] if is_tag else self._inside(nodes, part)
        names = sorted({field for node in nodes for field in node.get("properties", {})})
        return near(str(name), names)

    def _inside(self, nodes: list[dict[str, Any]], part: str | int) -> list[dict[str, Any]]:
        if isinstance(part, int):
            return list(self._resolved(node["items"] for node in nodes if "items" in node))
        inner = [node["properties"][part] for node in nodes if part in node.get("properties", {})]
        more = [node["additionalProperties"] for node in nodes if isinstance(node.get("additionalProperties"), dict)]
        return list(self._resolved(inner or more))

    def _resolved(self, nodes: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the nodes without references and alternatives."""
        for node in nodes:
            if "$ref" in node:
                yield from self._resolved([self._schema["$defs"][node["$ref"].rpartition("/")[2]]])
            elif alternatives := node.get("anyOf") or node.get("oneOf"):
                yield from self._resolved(alternatives)
            else:
                yield node


def _is_tagged(node: dict[str, Any], tag: str | int) -> bool:
    """Return True if `node` is the schema of the action or condition that is called `tag`."""
    fields = node.get("properties", {})
    return fields.get("action", {}).get("const") == tag if tag in list(Action) else tag in fields


def _remedy(error: ErrorDetails, known: _Known) -> str:
    """Return the expected value, and the found one if it is short."""
    given = error.get("input")
    match error["type"]:
        case "extra_forbidden":
            return "unknown field; " + (known.near(error["loc"]) or "see `replaywright admin schema`")
        case "union_tag_not_found":
            return f"action is missing; expected one of: {', '.join(Action)}"
        case "union_tag_invalid":
            named, expected = shorten(error["ctx"]["tag"], _SHOWN), error["ctx"]["expected_tags"].replace("'", "")
            return f"unknown action {named!r}; {near(named, expected.split(', ')) or f'expected one of: {expected}'}"
        case "predicate_unknown" if isinstance(given, dict) and (nearest := _nearest_kind(given)):
            return f"unknown condition; {nearest}"
        case "missing":
            return "this field is required"
        case "string_type" if isinstance(given, bool | int | float):
            found = (
                f"YAML reads {_TRUTHS[given]} as a truth value"
                if isinstance(given, bool)
                else f"this is a number, {given!r}"
            )
            return f"should be a text, and {found}: write it in quotes"
    message = _EXPECTED.get(error["type"], str(error["msg"]).removeprefix("Value error, ").removeprefix("Input "))
    found = "nothing" if given is None else repr(given)
    shown = f", found {found}" if isinstance(given, str | int | float | None) and len(repr(given)) <= _SHOWN else ""
    return shorten(message, 20 * _SHOWN) + ("" if error["type"] == "value_error" else shown)


def _nearest_kind(given: dict[Any, Any]) -> str:
    return next(filter(None, (near(str(key), KINDS) for key in given)), "")


def _parts(location: _Place) -> Iterator[tuple[str | int, bool]]:
    """Yield the parts of a place, and for each whether it is the tag of a union, which is no field of the file."""
    tag_follows = False
    for part in location:
        is_tag = tag_follows and (part in KINDS or part in list(Action))
        yield part, is_tag
        tag_follows = not is_tag and (isinstance(part, int) or part in ("not_", "when"))


def _text_of(place: _Place) -> str:
    """Write a place as text, such as `steps[0].expect[1]`; empty for the whole file."""
    text = ""
    for part in place:
        name = shorten(str(part), _SHOWN)
        name = name if name.isprintable() else repr(name)
        text += f"[{part}]" if isinstance(part, int) else f".{name}" if text else name
    return text


def _causes(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Drop consequences of other errors: a list with a wrong item is also reported as too short."""
    within = [error["loc"] for error in errors]
    return [
        error
        for error in errors
        if error["type"] != "too_short"
        or not any(len(loc) > len(error["loc"]) and loc[: len(error["loc"])] == error["loc"] for loc in within)
    ]
