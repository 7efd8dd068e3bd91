"""What is known of the requests of a task: kept whole, for one tenant, and not used if somebody altered it."""

from typing import Any

import pytest

from cache.alerts import counted
from cache.connection import Client
from cache.keys import recipe_key
from cache.recipes import LIMIT, RedisRecipes
from replaywright.domain.requests.recipes import Knowledge
from replaywright.domain.secrets.signing import Key, Signer
from replaywright.errors import ValueTooLarge
from tests.unit.test_requests import TWO, known_of

SIGNER = Signer((Key("k2", b"2" * 32),))
KNOWN = known_of(*TWO)
OURS: dict[str, Any] = {"tenant": "acme", "key": "k"}


@pytest.fixture
def recipes(client: Client) -> RedisRecipes:
    return RedisRecipes(client, signer=SIGNER)


async def test_what_is_kept_is_known_to_its_tenant_alone(recipes: RedisRecipes) -> None:
    assert KNOWN.recipe is not None
    await recipes.keep(**OURS, knowledge=KNOWN)
    assert await recipes.known(**OURS) == KNOWN
    assert await recipes.known(tenant="another", key="k") == Knowledge()
    assert await recipes.known(tenant="acme", key="l") == Knowledge()


async def test_what_was_altered_or_moved_or_written_by_nobody_is_not_used_and_is_reported(
    client: Client, recipes: RedisRecipes
) -> None:
    await recipes.keep(**OURS, knowledge=KNOWN)
    name = recipe_key("acme", "k")
    text: bytes = await client.execute_command("GET", name)
    places = {
        name: text.replace(b"{{subject}}", b"all of it__"),
        recipe_key("acme", "moved"): text,
        recipe_key("acme", "unsigned"): text.rpartition(b"\n")[0] + b"\n",
        recipe_key("another", "k"): text,
    }
    assert places[name] != text
    for place, content in places.items():
        await client.execute_command("SET", place, content)
    found = [
        await recipes.known(tenant=tenant, key=key)
        for tenant, key in (("acme", "k"), ("acme", "moved"), ("acme", "unsigned"), ("another", "k"))
    ]
    assert found == [Knowledge()] * 4
    assert [(await counted(client, tenant))["recipe"] for tenant in ("acme", "another")] == ["3", "1"]


async def test_what_is_too_large_is_refused_and_what_was_known_stays(recipes: RedisRecipes) -> None:
    await recipes.keep(**OURS, knowledge=KNOWN)
    with pytest.raises(ValueTooLarge, match="at most 1048576"):
        await recipes.keep(**OURS, knowledge=Knowledge(why_not="é" * (LIMIT // 2)))
    assert await recipes.known(**OURS) == KNOWN
