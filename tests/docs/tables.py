"""Markdown of what the code declares: tables of fields with type, default and the sentence below them."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from pydantic import AliasChoices, BaseModel

NOTICE: Final = "<!-- Made of the code by `make docs`: change the code, then run it again. -->"


def page(title: str, *parts: str) -> str:
    """A page of these parts, with an empty line between them."""
    return "\n\n".join((f"# {title}", NOTICE, *(part.strip("\n") for part in parts))) + "\n"


def docstring(described: object) -> str:
    """All of it, without its indentation."""
    return inspect.cleandoc(described.__doc__ or "")


def first_paragraph(described: object) -> str:
    """The beginning of it, on one line."""
    return " ".join(docstring(described).split("\n\n", maxsplit=1)[0].split())


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; cells lose their line breaks, and bars in them are escaped."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def sentences(described: type) -> dict[str, str]:
    """The string below each field of a model, or each member of an enumeration, its bases' first."""
    found: dict[str, str] = {}
    for part in reversed(described.__mro__):
        if issubclass(part, BaseModel | Enum) and part.__module__.partition(".")[0] in _OURS:
            found |= _of_class(part)
    return found


_OURS = frozenset({"activities", "cache", "replaywright", "workflows"})


def _of_class(described: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(described))).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = inspect.cleandoc(text)
    return found


def fields_table(
    model: type[BaseModel], *, leave_out: Iterable[str] = (), links: Mapping[str, str] | None = None
) -> str:
    """The fields of a model by their JSON names; for `links` see `types_of`."""
    types = types_of(model, links or {})
    said = sentences(model)
    rows = []
    for name, field in model.model_fields.items():
        if name in leave_out:
            continue
        default = "required" if field.is_required() else default_of(field.get_default(call_default_factory=True))
        rows.append((f"`{field.alias or name}`", types[name], default, said.get(name, "")))
    return table(("field", "type", "default", "meaning"), rows)


def types_of(model: type[BaseModel], links: Mapping[str, str]) -> dict[str, str]:
    """What each field takes, in words. A model is linked where `links` says; `Name…` in it stands for the whole union
    that begins with the model `Name`, as Markdown."""
    schema = model.model_json_schema(by_alias=True)
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    shown: Mapping[str, Any] = definitions[model.__name__] if "$ref" in schema else schema
    names = _Types(links, definitions)
    return {name: names.of(shown["properties"][_json_name(model, name)]) for name in model.model_fields}


def _json_name(model: type[BaseModel], name: str) -> str:
    field = model.model_fields[name]
    match field.validation_alias:
        case AliasChoices(choices=[str(first), *_]):
            return first
        case _:
            return field.alias or name


def default_of(value: Any) -> str:
    """A default as a cell shows it; a model whose fields all have theirs is an empty object."""
    match value:
        case None | "" | () | []:
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case Enum():
            return f"`{value.value}`"
        case BaseModel() | dict():
            return "`{}`"
        case float():
            return f"`{value:g}`"
        case _:
            return f"`{value}`"


@dataclass(frozen=True)
class _Types:
    links: Mapping[str, str]
    definitions: Mapping[str, Any]

    def of(self, schema: Mapping[str, Any]) -> str:
        match schema:
            case {"$ref": str(reference)}:
                return self._named(reference)
            case {"const": value}:
                return f"`{value}`"
            case {"enum": list(values)}:
                return ", ".join(f"`{value}`" if value else "empty" for value in values)
            case {"oneOf": [{"$ref": str(first)}, *_]} if _name(first) + "…" in self.links:
                return self.links[_name(first) + "…"]
            case {"anyOf": list(parts)} | {"oneOf": list(parts)} | {"allOf": list(parts)}:
                return " or ".join(dict.fromkeys(self.of(part) for part in parts if part.get("type") != "null"))
            case {"type": "array" | "object"}:
                return self._several(schema)
            case _:
                return _plain(schema)

    def _several(self, schema: Mapping[str, Any]) -> str:
        match schema:
            case {"items": dict(items)}:
                return f"list of {self.of(items)}{_limits(schema, 'minItems', 'maxItems')}"
            case {"additionalProperties": dict(values)}:
                return f"mapping of names to {self.of(values)}"
            case {"type": kind}:
                return "list" if kind == "array" else "mapping"
            case _:
                return "any"

    def _named(self, reference: str) -> str:
        name = _name(reference)
        if name in self.links:
            return f"[{name}]({self.links[name]})"
        definition = self.definitions[name]
        return self.of(definition) if {"enum", "oneOf"} & definition.keys() else name


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _plain(schema: Mapping[str, Any]) -> str:
    match schema:
        case {"type": "string", "format": "path"}:
            return "path"
        case {"type": "string", "format": "date-time"}:
            return "time (ISO 8601)"
        case {"type": "string"}:
            return f"text{_limits(schema, 'minLength', 'maxLength')}"
        case {"type": "boolean"}:
            return "`true` or `false`"
        case {"type": "integer" | "number" as kind}:
            return f"{'whole number' if kind == 'integer' else 'number'}{_limits(schema, 'minimum', 'maximum')}"
        case _:
            return "any"


def _limits(schema: Mapping[str, Any], least: str, most: str) -> str:
    unit = {"minItems": " items", "minLength": " characters"}.get(least, "")
    low, high = schema.get(least), schema.get(most)
    said = {
        (False, False): f", more than {_number(schema['exclusiveMinimum'])}" if "exclusiveMinimum" in schema else "",
        (True, False): f", at least {_number(low)}{unit}" if low is not None else "",
        (False, True): f", at most {_number(high)}{unit}" if high is not None else "",
        (True, True): f", {_number(low)} to {_number(high)}{unit}" if low is not None and high is not None else "",
    }[low is not None, high is not None]
    return "" if (least, low) in (("minLength", 1), ("minItems", 1)) and high is None else said


def _number(value: float | None) -> str:
    return "" if value is None else str(int(value)) if value == int(value) else f"{value:g}"
