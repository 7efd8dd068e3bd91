"""Keys of codes in Redis: one for each question, which expires, and never the code."""

import pytest

from cache.codes import RedisCodes
from cache.connection import Client
from replaywright.errors import CodeLost
from replaywright.sealing.envelope import sealed

ASKED = {"tenant": "acme", "run_id": "pay/1", "question": "3-1"}


async def test_a_code_is_read_with_its_key_until_that_is_deleted_and_redis_never_has_it(client: Client) -> None:
    codes = RedisCodes(client)
    box = sealed("123456", await codes.offer(**ASKED, ttl_s=60), "pay/1/3-1")

    assert await codes.read(**ASKED, sealed=box) == "123456"
    [key] = await client.execute_command("KEYS", "*")
    assert b"123456" not in await client.execute_command("GET", key)
    assert 0 < await client.execute_command("PTTL", key) <= 60_000

    await codes.forget(**ASKED)
    with pytest.raises(CodeLost, match="is gone"):
        await codes.read(**ASKED, sealed=box)


async def test_a_code_for_another_question_run_or_tenant_is_not_read(client: Client) -> None:
    codes = RedisCodes(client)
    public = await codes.offer(**ASKED, ttl_s=60)
    others = [{**ASKED, name: other} for name, other in (("question", "4-2"), ("run_id", "pay/2"), ("tenant", "evil"))]
    for other in others:
        await codes.offer(**other, ttl_s=60)

    for other in others:
        with pytest.raises(CodeLost, match="cannot be read"):
            await codes.read(**other, sealed=sealed("123456", public, "pay/1/3-1"))
