"""The payload codec: what Temporal keeps of runs is encrypted before it leaves a client or worker.

Inputs, results, memos, headers, summaries, details, and messages and stack traces of failures go through it. Ids of
workflows and activities, types, names of queues, search attributes and times do not: they hold no values.
"""

import base64
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes, PayloadCodec

from replaywright.domain.secrets.signing import Key
from replaywright.errors import SealBroken
from replaywright.sealing.payloads import speaking_records

ENCODING = b"binary/encrypted"
KEY_ID = "encryption-key-id"


class SealedPayloads(PayloadCodec):
    """AES-256-GCM. The first key encrypts, all of them decrypt; clear text is let through."""

    def __init__(self, keys: Sequence[Key]) -> None:
        from replaywright.sealing.cipher import Cipher  # noqa: PLC0415 - only with keys, and every command comes here

        self._cipher = Cipher(keys, "temporal payload")

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt each payload as a whole, its metadata too."""
        return [self._sealed(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Return the payloads in clear.

        Raises:
            SealBroken: a key is not known here, or a payload was altered.
        """
        return [self._opened(payload) for payload in payloads]

    def _sealed(self, payload: Payload) -> Payload:
        return Payload(
            metadata={"encoding": ENCODING, KEY_ID: self._cipher.key_id.encode()},
            data=self._cipher.encrypt(payload.SerializeToString()),
        )

    def _opened(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != ENCODING:
            return payload
        key_id = payload.metadata.get(KEY_ID, b"").decode("utf-8", "replace")
        try:
            return Payload.FromString(self._cipher.decrypt(payload.data, key_id))
        except SealBroken as exc:
            raise SealBroken(f"a payload in Temporal cannot be read: {exc}; see REPLAYWRIGHT_CODEC_KEYS") from exc
        except DecodeError as exc:
            raise SealBroken("a payload in Temporal is no payload inside") from exc

    def opened_events(self, events: Any) -> Any:
        """Return the events of a history, as JSON, with every payload and failure in them readable.

        Raises:
            SealBroken: a key is not known here, or a payload was altered.
        """
        match events:
            case list():
                return [self.opened_events(one) for one in events]
            case {"metadata": {"encoding": str(encoding)}} if _is_sealed(encoding):
                return self._opened_json(events["metadata"], str(events.get("data", "")))
            case dict():
                return _with_attributes({name: self.opened_events(one) for name, one in events.items()})
            case _:
                return events

    def _opened_json(self, metadata: Mapping[str, Any], data: str) -> dict[str, Any]:
        given = {name: base64.b64decode(value) for name, value in metadata.items()}
        payload = self._opened(Payload(metadata=given, data=base64.b64decode(data)))
        opened = {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()}
        return {"metadata": opened, "data": base64.b64encode(payload.data).decode()}


def converter_of(keys: Sequence[Key]) -> DataConverter:
    """Return the converter of our payloads; it encrypts if there are keys."""
    return sealed(speaking_records(), keys)


def sealed(converter: DataConverter, keys: Sequence[Key]) -> DataConverter:
    """Return the same converter with our codec, if there are keys and it has none of its own."""
    if not keys or converter.payload_codec is not None:
        return converter
    return dataclasses.replace(
        converter,
        payload_codec=SealedPayloads(keys),
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )


def _is_sealed(encoding: str) -> bool:
    return encoding == base64.b64encode(ENCODING).decode()


def _with_attributes(value: dict[str, Any]) -> dict[str, Any]:
    """Return a failure with its message and stack trace where they were before they were encoded."""
    attributes = value.get("encodedAttributes")
    if not isinstance(attributes, dict) or "data" not in attributes:
        return value
    try:
        decoded = json.loads(base64.b64decode(attributes["data"]))
    except ValueError:  # sealed by another codec
        return value
    rest = {name: one for name, one in value.items() if name != "encodedAttributes"}
    stack_trace = decoded.get("stack_trace")
    return {**rest, "message": decoded.get("message", ""), **({"stackTrace": stack_trace} if stack_trace else {})}
