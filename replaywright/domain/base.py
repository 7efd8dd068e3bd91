"""The base of everything that is stored or crosses a process boundary."""

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
    )


class Authored(BaseModel):
    """Frozen; written by people, so unknown fields are refused: a typo is an error with the field's name."""

    model_config = ConfigDict(frozen=True, extra="forbid")
