"""The payload codec: what Temporal is given says nothing, and comes back as it was."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.exceptions import ApplicationError

from replaywright.domain.secrets.signing import Key
from replaywright.errors import SealBroken
from replaywright.sealing.cipher import Cipher
from replaywright.sealing.codec import KEY_ID, SealedPayloads, converter_of, sealed

KEY, OLD = Key("k2", b"2" * 32), Key("k1", b"1" * 32)
CODEC = SealedPayloads((KEY, OLD))
CLEAR = Payload(metadata={"encoding": b"json/plain", "messageType": b"canary"}, data=b'"canary"')


async def test_a_payload_is_sealed_with_its_metadata_and_comes_back() -> None:
    [once], [again] = await CODEC.encode([CLEAR]), await CODEC.encode([CLEAR])

    assert (once.metadata["encoding"], once.metadata[KEY_ID]) == (b"binary/encrypted", b"k2")
    assert b"canary" not in once.SerializeToString()
    assert once.data != again.data
    assert await CODEC.decode([once, again]) == [CLEAR, CLEAR]


async def test_what_was_written_before_there_was_a_codec_is_still_read() -> None:
    assert await CODEC.decode([CLEAR]) == [CLEAR]


async def test_the_first_key_encrypts_and_all_decrypt() -> None:
    [old] = await SealedPayloads((OLD,)).encode([CLEAR])

    assert await CODEC.decode([old]) == [CLEAR]
    with pytest.raises(SealBroken, match=r"with the key 'k1', and here are: k2; see REPLAYWRIGHT_CODEC_KEYS"):
        await SealedPayloads((KEY,)).decode([old])


@given(st.data())
def test_an_altered_message_is_refused(data: st.DataObject) -> None:
    cipher = Cipher((KEY,), "test")
    whole = cipher.encrypt(b"a message", b"bound")
    at, flip = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))
    altered = whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :]

    assert cipher.decrypt(whole, "k2", b"bound") == b"a message"
    for sealed_, bound_to in ((altered, b"bound"), (whole[:at], b"bound"), (whole, b"elsewhere")):
        with pytest.raises(SealBroken, match="altered"):
            cipher.decrypt(sealed_, "k2", bound_to)
    with pytest.raises(SealBroken, match="altered"):
        Cipher((KEY,), "another purpose").decrypt(whole, "k2", b"bound")


async def test_messages_and_stack_traces_of_failures_are_sealed_too() -> None:
    converter = converter_of((KEY,))
    try:
        raise ApplicationError("canary", "detail canary", type="ElementNotFound")
    except ApplicationError as error:
        failure = Failure()
        await converter.encode_failure(error, failure)

    assert b"canary" not in failure.SerializeToString()
    assert "test_codec" not in failure.stack_trace
    assert str(await converter.decode_failure(failure)) == "ElementNotFound: canary"


async def test_events_of_a_history_are_read_with_the_key() -> None:
    converter = converter_of((KEY,))
    [payload] = await converter.encode([{"a": 1}])
    told = {
        "metadata": {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()},
        "data": base64.b64encode(payload.data).decode(),
    }
    [message] = await converter.encode([{"message": "why", "stack_trace": "where"}])
    attributes = {
        "metadata": {name: base64.b64encode(value).decode() for name, value in message.metadata.items()},
        "data": base64.b64encode(message.data).decode(),
    }
    failure = {"message": "Encoded failure", "encodedAttributes": attributes, "cause": {"message": "x"}}

    [event] = CODEC.opened_events([{"input": {"payloads": [told]}, "failure": failure, "eventId": "1"}])

    assert json.loads(base64.b64decode(event["input"]["payloads"][0]["data"])) == {"a": 1}
    assert event["failure"] == {"message": "why", "stackTrace": "where", "cause": {"message": "x"}}
    assert event["eventId"] == "1"


def test_a_codec_of_ones_own_stays() -> None:
    own = converter_of((KEY,))

    assert sealed(own, (OLD,)) is own
    assert converter_of(()).payload_codec is None
