"""Everything that is kept in Redis, in a cluster of three nodes, and an address that does not fit the server."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from cache.alerts import Alerts, counted
from cache.codes import RedisCodes
from cache.connection import CONNECTIONS, Client, check_store, nodes_of, open_redis
from cache.overrides import RedisOverrides
from cache.recalls import RedisRecalls
from cache.references import referenced
from cache.signing.signing_existing import Existing
from cache.steps import RedisStepStore
from replaywright.domain.recall.recall import RecallRecord
from replaywright.domain.secrets.signing import Fault, Key, Signer
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.overrides import OverrideRule
from replaywright.domain.task.actions import Action
from replaywright.errors import CodeLost, SettingsInvalid, StoreUnavailable
from replaywright.settings import load_settings
from replaywright.stack.doctor import PartHealth, diagnose

T = "acme"
SIGNER = Signer([Key("k1", b"1" * 32)])
LINEAGES = tuple(f"order-{number}" for number in range(12))
"""So many that every node has some."""


@pytest.fixture
async def client(cluster_url: str) -> AsyncIterator[Client]:
    client = open_redis(cluster_url)
    yield client
    await client.aclose()


async def test_the_start_check_asks_every_node_and_knows_them_afterwards(
    client: Client, cluster_nodes: tuple[int, ...]
) -> None:
    report = await check_store(client)

    assert report.findings == ()
    assert report.address == f"cluster 127.0.0.1:{cluster_nodes[0]}"
    assert nodes_of(client) == sorted(("127.0.0.1", port) for port in cluster_nodes)


async def test_lineages_and_entries_lie_on_all_nodes_and_are_found_again(
    client: Client, cluster_nodes: tuple[int, ...]
) -> None:
    store = RedisStepStore(client)
    for number, lineage in enumerate(LINEAGES):
        entry = ActionCacheEntry(
            content_key=f"{number:064x}", action_type=Action.CLICK, tag="a", good_snapshot=f"{number:064d}"
        )
        await store.append_trace(tenant=T, lineage=lineage, line={"kind": "note", "picture": f"{number:064x}"})
        await store.keep(tenant=T, run_id="run", entry=entry)

    sizes = []
    for port in cluster_nodes:
        node = open_redis(f"redis://127.0.0.1:{port}/0")
        sizes.append(await node.execute_command("DBSIZE"))
        await node.aclose()
    assert min(sizes) > 0
    assert [len(await store.trace(tenant=T, lineage=lineage)) for lineage in LINEAGES] == [1] * len(LINEAGES)
    assert len(await store.entries(tenant=T)) == len(LINEAGES)
    assert await referenced(client, [(T, lineage) for lineage in LINEAGES]) >= {f"{3:064x}", f"{11:064x}"}
    survey = await Existing(client, T, SIGNER).look()
    assert survey.to_sign == {"entry": len(LINEAGES), "trace": len(LINEAGES)}
    assert await Existing(client, T, SIGNER).sign(survey.names) == 2 * len(LINEAGES)


async def test_codes_rules_recalls_and_alerts_are_kept(client: Client) -> None:
    codes, rules, recalls, alerts = RedisCodes(client), RedisOverrides(client), RedisRecalls(client), Alerts(client)
    rule = OverrideRule.model_validate(
        {
            "name": "consent",
            "when": {"visible": {"name": "Accept"}},
            "do": [{"action": "click", "instruction": "accept", "target": {"name": "Accept"}}],
        }
    )

    await codes.offer(tenant=T, run_id="run", question="q-1", ttl_s=60)
    await rules.put(T, [rule])
    await recalls.note(T, RecallRecord(run_id="run", decision="accept"))
    alerts.report(T, "entry", "e1", Fault.ALTERED)
    await alerts.flush()

    await codes.forget(tenant=T, run_id="run", question="q-1")
    with pytest.raises(CodeLost):
        await codes.read(tenant=T, run_id="run", question="q-1", sealed="x")
    assert [kept.name for kept in await rules.rules(T)] == ["consent"]
    assert [kept.run_id for kept in await recalls.recent(T)] == ["run"]
    assert (await counted(client, T))["entry"] == "1"


async def test_a_node_that_is_named_as_a_single_server_is_refused_with_the_remedy(
    cluster_nodes: tuple[int, ...], cluster_url: str
) -> None:
    plain = open_redis(cluster_url.replace("redis+cluster", "redis"))
    store = RedisStepStore(plain)

    report = await check_store(plain)
    refused = await asyncio.gather(
        *(store.append_trace(tenant=T, lineage=lineage, line={"kind": "note"}) for lineage in LINEAGES),
        return_exceptions=True,
    )
    await plain.aclose()

    told = [error for error in refused if error is not None]
    assert told
    assert all(isinstance(error, StoreUnavailable) for error in told)
    assert re.search(r"MOVED \d+ 127\.0\.0\.1:\d+; it is a node of a cluster: .*redis\+cluster://", str(told[0]))
    assert [finding.code for finding in report.findings] == ["cluster_node"]
    assert (report.findings[0].level, report.findings[0].forbids_commits) == ("error", False)
    assert "redis+cluster://" in report.findings[0].remedy


async def test_a_single_server_that_is_named_as_a_cluster_is_refused_with_the_remedy(redis_url: str) -> None:
    client = open_redis(redis_url.replace("redis://", "redis+cluster://"))

    with pytest.raises(StoreUnavailable, match="it is no cluster: begin its address with redis://"):
        await RedisStepStore(client).append_trace(tenant=T, lineage="l", line={"kind": "note"})
    await client.aclose()


def test_a_database_of_a_cluster_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="names a database, and a cluster has none"):
        open_redis("redis+cluster://127.0.0.1:7000/3")


async def test_doctor_looks_at_a_cluster_and_at_a_node_that_is_named_as_a_single_server(cluster_url: str) -> None:
    node = cluster_url.replace("redis+cluster", "redis")

    found = [
        next(each for each in await diagnose(load_settings(redis_url=url)) if each.component == "Redis")
        for url in (cluster_url, node)
    ]

    assert [each.health for each in found] == [PartHealth.OK, PartHealth.FAILED]
    assert "redis+cluster://" in found[1].advice


async def test_more_at_once_than_connections_wait_for_one(client: Client, redis_url: str) -> None:
    single = open_redis(redis_url)
    for each in (client, single):
        store = RedisStepStore(each)
        lines = [store.append_trace(tenant=T, lineage=f"l-{number}", line={"kind": "note"}) for number in range(300)]

        await asyncio.gather(*lines)

        assert len(await store.trace(tenant=T, lineage="l-299")) == 1
    listed = await single.execute_command("CLIENT", "LIST", "TYPE", "NORMAL")
    assert len(listed.splitlines()) <= CONNECTIONS
    await single.aclose()
