"""Base classes of records that are stored or cross a process boundary."""

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, RootModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema
from pydantic_core.core_schema import to_string_ser_schema


class Record(BaseModel):
    """A frozen record that ignores unknown fields, so that workers of two versions can run side by side.

    JSON names are camelCase; both spellings are read. Temporal gets no fields with their defaults
    (`replaywright.sealing.payloads`), unless the record is published: a default that changes changes what was written
    before.
    """

    is_published: ClassVar[bool] = False
    """Callers in any language read it: it is written whole."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        json_schema_serialization_defaults_required=True,
        defer_build=True,
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Have tags such as `kind` written also where defaults are left out: a union is told apart by them.

        Pydantic leaves out no field with a serializer of its own.
        """
        schema = handler(source)
        for each in _fields_of(handler.resolve_ref_schema(schema)):
            match each:
                case {"type": "default", "schema": {"type": "literal", "expected": [str()]}}:
                    each["serialization"] = to_string_ser_schema()
        return schema


def _fields_of(schema: Any) -> list[dict[str, Any]]:
    """Return the schemas of a model's fields; none where the schema is of another type."""
    while schema["type"] != "model-fields":
        if "schema" not in schema:
            return []
        schema = schema["schema"]
    return [field["schema"] for field in schema["fields"].values()]


class Authored(BaseModel):
    """A frozen record that people write. Unknown fields are refused: a typo is an error with the field's name."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


_Root = TypeVar("_Root")


class LateRoot(RootModel[_Root]):
    """A frozen record that is one value. `RootModel[…]` itself would build the value's schema where it is written."""

    model_config = ConfigDict(frozen=True, defer_build=True)


def build_schemas() -> None:
    """Build the schema of each model now instead of at its first use.

    A command needs few of them and starts a second sooner without. A worker builds all before the first run: Temporal's
    converter would otherwise build a workflow's input schema for each workflow. Records come last: they hold the
    others, and what is not built yet is built again for each of its holders, which takes three times as long.
    """
    for base in (RootModel, Authored, Record):
        for model in _derived(base):
            model.model_rebuild()


def _derived(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _derived(model)


def first_fault(error: ValueError) -> str:
    """Return place and reason of the first fault, without the value."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}".lstrip(": ")
    return str(error)
