"""Who is given clear text by the codec server, and who is not."""

import base64
import json
import logging
from typing import Any

import httpx
import pytest
from temporalio.api.common.v1 import Payload

from replaywright.domain.secrets.secret_sites import is_loopback
from replaywright.domain.secrets.signing import Key
from replaywright.errors import InputInvalid
from replaywright.sealing.codec import SealedPayloads
from replaywright.sealing.codec_server import BODY_LIMIT, CodecServer, check_origin

KEY, STRANGE = Key("k1", b"1" * 32), Key("k9", b"9" * 32)
UI = "http://127.0.0.1:8233"
BASE = "http://127.0.0.1:8081"


async def sealed(key: Key = KEY) -> dict[str, Any]:
    [payload] = await SealedPayloads((key,)).encode(
        [Payload(metadata={"encoding": b"json/plain"}, data=b'"the canary"')]
    )
    told = {name: base64.b64encode(value).decode() for name, value in payload.metadata.items()}
    return {"payloads": [{"metadata": told, "data": base64.b64encode(payload.data).decode()}]}


def server(token: str = "") -> httpx.AsyncClient:
    hosts = None if token else ["127.0.0.1:8081", "localhost:8081"]
    app = CodecServer((KEY,), origins=[UI], hosts=hosts, token=token).app()
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE, headers={"Origin": UI})


async def test_the_uis_page_is_given_clear_text_and_a_line_is_left_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "replaywright.codec_server"):
        async with server() as client:
            answer = await client.post("/decode", json=await sealed(), headers={"X-Namespace": "default"})

    assert answer.status_code == 200
    [payload] = answer.json()["payloads"]
    assert base64.b64decode(payload["data"]) == b'"the canary"'
    assert answer.headers["access-control-allow-origin"] == UI
    assert answer.headers["cache-control"] == "no-store"
    [line] = [record.getMessage() for record in caplog.records if record.name == "replaywright.codec_server"]
    assert "POST /decode" in line
    assert "'default'" in line
    assert "200, 1 payloads" in line
    assert "canary" not in line


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:8234"}, 403),
        ({"Host": "evil.example:8081"}, 421),
    ],
)
async def test_pages_of_others_are_refused(headers: dict[str, str], status: int) -> None:
    async with server() as client:
        answer = await client.post("/decode", json=await sealed(), headers=headers)

    assert answer.status_code == status
    assert "payloads" not in answer.json()
    assert "access-control-allow-origin" not in answer.headers or headers.get("Origin") is None


async def test_a_browser_is_told_whose_pages_may_ask() -> None:
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-namespace"}
    async with server() as client:
        ours = await client.options("/decode", headers=asks)
        theirs = await client.options("/decode", headers={**asks, "Origin": "https://evil.example"})

    assert (ours.status_code, ours.headers["access-control-allow-origin"]) == (200, UI)
    assert (theirs.status_code, "access-control-allow-origin" in theirs.headers) == (400, False)


@pytest.mark.parametrize("given", ["", "Bearer wrong", "Basic secret", "secret", "Bearer secret2", "bearer é"])
async def test_without_the_token_nothing_is_decrypted(given: str) -> None:
    async with server(token="secret") as client:
        answer = await client.post("/decode", json=await sealed(), headers=[(b"Authorization", given.encode())])

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "payloads" not in answer.json()


async def test_with_the_token_it_is() -> None:
    async with server(token="secret") as client:
        answer = await client.post("/decode", json=await sealed(), headers={"Authorization": "Bearer secret"})

    assert answer.status_code == 200


async def test_nothing_is_encrypted_for_anybody() -> None:
    async with server() as client:
        answer = await client.post("/encode", json=await sealed())

    assert (answer.status_code, answer.json()) == (403, {"message": "this server only decodes"})


@pytest.mark.parametrize("body", ["", "[]", "null", "{", '{"payloads": 1}', '{"x": 1}'])
async def test_what_is_no_list_of_payloads_is_refused(body: str) -> None:
    async with server() as client:
        answer = await client.post("/decode", content=body)

    assert (answer.status_code, answer.json()["message"]) == (400, "expected a JSON object with a list of payloads")


async def test_a_key_that_is_not_known_is_named() -> None:
    async with server() as client:
        answer = await client.post("/decode", json=await sealed(STRANGE))

    assert answer.status_code == 422
    assert "encrypted with the key 'k9'" in answer.json()["message"]


async def test_a_request_has_a_limit() -> None:
    async with server() as client:
        answer = await client.post("/decode", content=json.dumps({"payloads": "x" * BODY_LIMIT}))

    assert answer.status_code == 413


@pytest.mark.parametrize("origin", ["", "evil.example", "file:///x", "http://a@b", "http://ui/path", "*", "null"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InputInvalid, match="expected the origin of the Temporal UI"):
        check_origin(origin)


def test_which_addresses_are_this_machines() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")] == [True] * 5
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", "")] == [False] * 5
