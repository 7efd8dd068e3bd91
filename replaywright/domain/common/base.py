"""The base of everything that is stored or crosses a process boundary."""

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Record(BaseModel):
    """Frozen; unknown fields are ignored, so that workers of two versions can run side by side.

    JSON names are camelCase; both spellings are read.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        json_schema_serialization_defaults_required=True,
        defer_build=True,
    )


class Authored(BaseModel):
    """Frozen; written by people, so unknown fields are refused: a typo is an error with the field's name."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def build_schemas() -> None:
    """Build what each model validates and writes with now, and not when it is first used.

    A command uses few of them and begins a second sooner. What serves runs builds all before the first: Temporal's
    converter would otherwise build that of a workflow's input anew for each workflow.
    """
    for base in (Record, Authored):
        for model in _derived(base):
            model.model_rebuild()


def _derived(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _derived(model)
