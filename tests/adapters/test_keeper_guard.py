"""The network policy in the keeper's proxy: what it refuses, what it remembers of that, where it stops the traffic."""

import asyncio
import itertools
from collections.abc import Callable

import pytest

from replaywright.domain.session.network_policy import NetworkPolicy, OwnService
from replaywright.keeper.gate.guard import REFUSED_LIMIT
from replaywright.reaching import Resolver
from tests.adapters.networks import LOOPBACK, network, rules
from tests.adapters.test_keeper_proxy import Rig, Site, rig

PUBLIC = "93.184.216.34"


def resolving(*answers: list[str]) -> Resolver:
    """A name server stand-in: one answer after the other, the last for ever."""
    following = itertools.chain(answers, itertools.repeat(answers[-1]))

    async def resolve(_host: str, _port: int) -> list[str]:
        return next(following)

    return resolve


def get(host: str, port: int) -> bytes:
    return b"GET http://%s:%d/?token=s3cret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % (host.encode(), port)


def connect(host: str, port: int) -> bytes:
    return b"CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n\r\n" % (host.encode(), port)


async def test_a_refusal_is_answered_with_its_rule_and_remembered_with_its_count() -> None:
    async with rig() as it:
        plain = await it.ask(get("evil.example", 80))
        tunnels = [await it.ask(connect("evil.example", 443)) for _ in range(2)]
        seen = it.guard.seen(float("-inf"))

    assert plain.startswith(b"HTTP/1.1 403 ")
    assert b"evil.example:80 is blocked by the rule test: hosts.allow" in plain
    assert all(tunnel.startswith(b"HTTP/1.1 403 ") for tunnel in tunnels)
    told = [(each.host, each.port, each.rule, each.count) for each in seen.refused]
    assert told == [("evil.example", 80, "test: hosts.allow", 1), ("evil.example", 443, "test: hosts.allow", 2)]
    assert "s3cret" not in seen.model_dump_json()


async def test_a_page_that_asks_for_hosts_without_end_fills_no_memory() -> None:
    async with rig() as it:
        for number in range(REFUSED_LIMIT + 5):
            await it.ask(get(f"h{number}.example", 80))
        seen = it.guard.seen(float("-inf"))

    assert (len(seen.refused), seen.more) == (REFUSED_LIMIT, 5)


@pytest.mark.parametrize(
    "answers",
    [
        [["127.0.0.1"]],
        [[PUBLIC, "127.0.0.1"]],
        [["127.0.0.1", PUBLIC]],
        [["::ffff:127.0.0.1"]],
        [["::1", "127.0.0.1"]],
        [["169.254.169.254"]],
        [["0.0.0.0"]],
        [["64:ff9b::7f00:1"]],
    ],
)
@pytest.mark.parametrize("ask", [get, connect])
async def test_a_name_server_leads_no_allowed_name_to_an_address_inside(
    answers: list[list[str]], ask: Callable[[str, int], bytes]
) -> None:
    async with rig(policy=network("good.example:*"), resolver=resolving(*answers)) as it:
        answer = await it.ask(ask("good.example", it.site.port))

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"the rule addresses:" in answer
    assert it.site.got == []


async def test_a_name_that_changes_its_address_between_two_requests_is_judged_each_time() -> None:
    named = network("good.example:*=127.0.0.1")
    async with rig(policy=named, resolver=resolving(["127.0.0.1"], ["127.0.0.2"])) as it:
        first = await it.ask(get("good.example", it.site.port))
        second = await it.ask(get("good.example", it.site.port))

    assert first.endswith(b"ok")
    assert second.startswith(b"HTTP/1.1 403 ")
    assert len(it.site.got) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "127.9.9.9"])
async def test_no_form_of_loopback_leads_to_a_service_of_ours(host: str) -> None:
    site = Site()
    async with rig(site, policy=LOOPBACK) as it:
        own = (OwnService(name="Redis", host="127.0.0.1", port=site.port),)
        it.guard.policy = LOOPBACK.model_copy(update={"own": own})
        answers = [await it.ask(get(host, site.port)), await it.ask(connect(host, site.port))]

    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 403"] * 2
    assert site.got == []


def with_own(*services: OwnService, networks: tuple[str, ...] = ()) -> NetworkPolicy:
    """Everything on loopback and in private networks is allowed but for these."""
    wide = network("127.0.0.0/8:*", "10.0.0.0/8:*", "[::]/0:*", "*:*", "evil.example:*=127.0.0.0/8,10.0.0.0/8")
    return wide.model_copy(update={"own": services, "own_networks": networks})


@pytest.mark.parametrize("address", ["10.7.0.2", PUBLIC])
@pytest.mark.parametrize("ask", [get, connect])
async def test_a_second_name_of_a_service_of_ours_leads_there_no_more_than_the_first(
    ask: Callable[[str, int], bytes], address: str
) -> None:
    redis = OwnService(name="Redis", host="redis-ledger", port=6379)
    names = {"redis-ledger": [address], "evil.example": [address]}

    async def resolve(host: str, _port: int) -> list[str]:
        return names[host]

    async with rig(policy=with_own(redis), resolver=resolve) as it:
        answers = [await it.ask(ask(host, 6379)) for host in names]

    assert [b"own-service" in answer for answer in answers] == [True, True], answers


async def test_a_service_that_has_moved_is_refused_at_its_new_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replaywright.keeper.gate.guard._ADDRESSES_S", 0.0)
    addresses = iter([["10.7.0.2"], ["10.7.0.3"]])

    async def resolve(host: str, _port: int) -> list[str]:
        return next(addresses) if host == "redis-ledger" else ["10.7.0.3"]

    async with rig(policy=with_own(OwnService(name="Redis", host="redis-ledger", port=6379)), resolver=resolve) as it:
        await it.guard.learn_own(6379, resolve)
        answer = await it.ask(get("evil.example", 6379))

    assert b"own-service" in answer


async def test_while_nobody_knows_where_a_service_of_ours_is_no_private_address_is_reached_at_its_port() -> None:
    async def resolve(host: str, _port: int) -> list[str]:
        if host == "redis-ledger":
            raise OSError("no such name")
        return ["10.7.0.2"]

    async with rig(policy=with_own(OwnService(name="Redis", host="redis-ledger", port=6379)), resolver=resolve) as it:
        answer = await it.ask(get("evil.example", 6379))

    assert b"own-service" in answer


async def test_nothing_in_a_network_of_ours_is_reached() -> None:
    async with rig(policy=with_own(networks=("10.7.0.0/16",)), resolver=resolving(["10.7.0.9"])) as it:
        answers = [await it.ask(get("evil.example", 8080)), await it.ask(connect("evil.example", 22))]

    assert all(b"own-service" in answer for answer in answers)


def limited(*, up_bytes: int | None = None, down_bytes: int | None = None) -> NetworkPolicy:
    return NetworkPolicy(rules=(rules("127.0.0.0/8:*"),), up_bytes=up_bytes, down_bytes=down_bytes)


async def test_what_would_go_over_the_limit_is_not_sent_and_says_so() -> None:
    async with rig(policy=limited(up_bytes=2000)) as it:
        small = await it.ask(it.post())
        large = await it.ask(it.post(b"x" * 4000))
        it.guard.policy = limited(up_bytes=it.black_box.bytes_up)
        after = await it.ask(it.get())
        seen = it.guard.seen(float("-inf"))

    assert small.endswith(b"ok")
    assert large.startswith(b"HTTP/1.1 403 ")
    assert after.startswith(b"HTTP/1.1 403 ")
    assert b"traffic.up_mb" in after
    assert {each.rule for each in seen.refused} == {"traffic.up_mb"}
    assert sum(map(len, it.site.got)) <= 2000


async def test_an_answer_that_goes_over_the_limit_is_cut_and_so_is_all_that_follows() -> None:
    large = Site(answer=b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000)
    async with rig(large, policy=limited(down_bytes=100_000)) as it:
        first = await _until_cut(it)
        second = await it.ask(it.get())

    assert len(first) <= 100_200
    assert b"traffic.down_mb" in second


async def test_a_tunnel_is_cut_at_the_limit() -> None:
    site = Site(answer=b"y" * 50_000, waits_for=b"go")
    async with rig(site, policy=limited(down_bytes=1000)) as it:
        reader, writer = await it.tunnel()
        writer.write(b"go")
        came = b""
        try:
            async with asyncio.timeout(5):
                while data := await reader.read(65536):
                    came += data
        except ConnectionError:
            pass
        writer.close()

    assert len(came) <= 1000
    assert it.connections()[0].refused is not None


async def _until_cut(it: Rig) -> bytes:
    reader, writer = await it.connect()
    writer.write(it.get())
    came = b""
    try:
        async with asyncio.timeout(5):
            while data := await reader.read(65536):
                came += data
    except ConnectionError:
        pass
    writer.close()
    return came
