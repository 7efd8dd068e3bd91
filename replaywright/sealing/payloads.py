"""The form in which records go to Temporal: as JSON, without the fields that have their default.

What callers read, in any language, is written whole: results of runs and batches, and answers to queries and updates.
"""

import dataclasses
from typing import Any

from pydantic_core import SchemaSerializer
from pydantic_core.core_schema import any_schema
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)

from replaywright.domain.common.base import Record

_SERIALIZER = SchemaSerializer(any_schema())


class _JsonPayloads(PydanticJSONPlainPayloadConverter):
    """JSON without defaults: a history has half the bytes, and Temporal's UI shows what there is to say."""

    def to_payload(self, value: Any) -> Payload | None:
        """See base class."""
        is_whole = isinstance(value, Record) and value.is_published
        data = _SERIALIZER.to_json(value, by_alias=True, exclude_defaults=not is_whole)
        return Payload(metadata={"encoding": self.encoding.encode()}, data=data)


class RecordPayloads(CompositePayloadConverter):
    """Converts as Temporal's converter for Pydantic does, except that defaults are left out."""

    def __init__(self) -> None:
        """Take the place of Temporal's converter of JSON."""
        given = DefaultPayloadConverter.default_encoding_payload_converters
        super().__init__(*(_JsonPayloads() if isinstance(one, JSONPlainPayloadConverter) else one for one in given))


def speaking_records(given: DataConverter | None = None) -> DataConverter:
    """Return the converter with our payloads; a team's own payload converter stays."""
    converter = given or DataConverter.default
    if converter.payload_converter_class is not DefaultPayloadConverter:
        return converter
    return dataclasses.replace(converter, payload_converter_class=RecordPayloads)
