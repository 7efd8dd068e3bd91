"""Where connections may go: patterns as people write them, and what is decided by them."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.policy.effective import Effective
from replaywright.domain.policy.host_rules import SITE, host_rules, network_policy, site_rules
from replaywright.domain.policy.policy_hosts import named, narrowed
from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.session.network_policy import (
    HostRules,
    NetworkPolicy,
    OwnService,
    RefusedHost,
    decide,
    describe,
    most_refused,
)
from replaywright.domain.task.policy import Hosts, Policy
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.errors import InputInvalid
from replaywright.testing.keepers import ANYWHERE

PUBLIC = "93.184.216.34"


def policy(*allow: str, deny: tuple[str, ...] = (), own: tuple[OwnService, ...] = ()) -> NetworkPolicy:
    return NetworkPolicy(
        rules=(host_rules("policy 'test'", Hosts(allow=allow, deny=deny), is_operators=True),), own=own
    )


def allows(network: NetworkPolicy, host: str, port: int = 443, address: str | None = None) -> bool:
    return decide(network, host, port, address).is_allowed


def task(url: str, **fields: object) -> Task:
    steps = [{"action": "click", "instruction": "Go"}]
    return parse_task({"task": "t", "url": url, "steps": steps, **fields}, "t.yaml")


# ---- patterns ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "host", "port", "allowed"),
    [
        ("shop.example", "shop.example", 443, True),
        ("shop.example", "shop.example", 80, True),
        ("shop.example", "SHOP.example.", 443, True),
        ("shop.example", "shop.example", 8443, False),
        ("shop.example", "www.shop.example", 443, False),
        ("shop.example", "shop.example.evil.example", 443, False),
        ("shop.example", "evilshop.example", 443, False),
        ("shop.example:8443", "shop.example", 8443, True),
        ("shop.example:8443", "shop.example", 443, False),
        ("shop.example:*", "shop.example", 25, True),
        ("*.shop.example", "cdn.shop.example", 443, True),
        ("*.shop.example", "a.b.shop.example", 443, True),
        ("*.shop.example", "shop.example", 443, False),
        ("*.shop.example", "evilshop.example", 443, False),
        ("*.shop.example:8080", "cdn.shop.example", 8080, True),
        ("Bücher.example", "xn--bcher-kva.example", 443, True),
        ("*", "anything.example", 443, True),
        ("*", "anything.example", 8080, False),
        ("*:*", "anything.example", 8080, True),
        (PUBLIC, PUBLIC, 443, True),
        (PUBLIC, "93.184.216.35", 443, False),
        ("93.184.216.0/24:8080", "93.184.216.77", 8080, True),
        ("[2606:4700::1111]", "2606:4700::1111", 443, True),
        ("[2606:4700::]/32:8443", "[2606:4700::1]", 8443, True),
    ],
)
def test_a_pattern_allows_what_it_says_and_nothing_else(pattern: str, host: str, port: int, allowed: bool) -> None:
    assert allows(policy(pattern), host, port) is allowed


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        " ",
        "https://shop.example",
        "shop.example/path",
        "*shop.example",
        "shop.*",
        "a..b",
        "shop.example:0",
        "shop.example:65536",
        "shop.example:http",
        "10.0.0.0/33",
        "2606:4700::1",
        "10.0.0.1/8",
        "300.1.1.1",
        "0x7f.1",
        "[::1",
        "user@shop.example",
        "shop.example=",
        "shop.example=evil",
        "10.0.0.1=10.0.0.1",
    ],
)
def test_what_is_no_pattern_is_refused_with_its_field(pattern: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        host_rules("policy", Hosts.model_construct(allow=("ok.example", pattern)), "policy.hosts")

    assert str(refused.value).startswith(f"policy.hosts.allow[1]: {pattern[:100]!r} is no pattern of hosts: ")


def test_what_is_denied_is_denied_whatever_allows_it_on_every_port_and_at_every_name() -> None:
    network = policy("*:*", deny=("*.evil.example", "evil.example", "93.184.216.0/24"))

    assert not allows(network, "evil.example", 8080)
    assert not allows(network, "a.evil.example")
    assert not allows(network, "elsewhere.example", 443, PUBLIC)
    assert allows(network, "elsewhere.example", 443, "93.184.217.1")


def test_every_author_has_to_allow_it() -> None:
    operator = host_rules("policy 'acme'", Hosts(allow=("*.acme.example",)))
    [network, elsewhere] = [
        NetworkPolicy(rules=(operator, *network_policy(task(url), {}).rules))
        for url in ("https://shop.acme.example/", "https://shop.example/")
    ]

    assert allows(network, "shop.acme.example")
    assert not allows(network, "other.acme.example")
    assert decide(elsewhere, "shop.example", 443).rule == "policy 'acme': hosts.allow"


def test_without_rules_nothing_is_allowed() -> None:
    assert not allows(NetworkPolicy(), "shop.example")


# ---- addresses -----------------------------------------------------------------------------------------------------

SPECIAL = {
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "10.0.0.1": "private",
    "172.31.255.255": "private",
    "192.168.1.1": "private",
    "169.254.1.1": "link-local",
    "169.254.169.254": "metadata",
    "169.254.170.2": "metadata",
    "168.63.129.16": "metadata",
    "100.100.100.200": "metadata",
    "192.0.0.192": "metadata",
    "100.64.0.1": "shared",
    "224.0.0.251": "multicast",
    "239.255.255.250": "multicast",
    "255.255.255.255": "reserved",
    "240.0.0.1": "reserved",
    "198.18.0.1": "reserved",
    "203.0.113.1": "reserved",
    "192.88.99.1": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fec0::1": "private",
    "fc00::1": "private",
    "fd12:3456::1": "private",
    "fd00:ec2::254": "metadata",
    "ff02::fb": "multicast",
    "2001:db8::1": "reserved",
    "100::1": "reserved",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:10.0.0.1": "private",
    "::ffff:169.254.169.254": "metadata",
    "::127.0.0.1": "tunnelled",
    "::ffff:0:127.0.0.1": "tunnelled",
    "2002:7f00:1::": "tunnelled",
    "2002:5db8:d822::1": "tunnelled",
    "2001:0:7f00:1::": "tunnelled",
    "64:ff9b::127.0.0.1": "loopback",
    "64:ff9b::169.254.169.254": "metadata",
    "64:ff9b:1::10.0.0.1": "tunnelled",
}


@pytest.mark.parametrize("address", SPECIAL)
def test_no_name_leads_to_an_address_that_is_not_public(address: str) -> None:
    network = policy("*:*", "shop.example")

    assert describe(address) == SPECIAL[address]
    assert not allows(network, "shop.example", 443, address)
    assert not allows(network, address, 443, address)
    assert decide(network, "shop.example", 443, address).rule == "addresses"


@pytest.mark.parametrize("address", [PUBLIC, "2606:4700::1111", "::ffff:93.184.216.34", "64:ff9b::93.184.216.34"])
def test_a_public_address_is_none_of_these(address: str) -> None:
    assert describe(address) == ""
    assert allows(policy("shop.example"), "shop.example", 443, address)


@pytest.mark.parametrize("address", [each for each in SPECIAL if "%" not in each])
def test_an_address_that_is_named_is_allowed_where_it_is_named_and_for_no_name(address: str) -> None:
    shown = f"[{address}]" if ":" in address else address
    network = policy(f"{shown}:8080", "shop.example:8080")

    assert allows(network, address, 8080, address)
    assert not allows(network, address, 8081, address)
    assert not allows(network, "shop.example", 8080, address)


def test_a_name_leads_to_addresses_that_are_not_public_only_where_its_rule_says_so() -> None:
    network = policy("wiki.corp=10.1.0.0/16,fd00::/8", "*.corp:8080=10.1.2.3", "other.example")

    assert allows(network, "wiki.corp", 443, "10.1.200.1")
    assert allows(network, "wiki.corp", 443, "fd00::7")
    assert not allows(network, "wiki.corp", 443, "10.2.0.1")
    assert not allows(network, "wiki.corp", 8080, "10.1.200.1")
    assert allows(network, "git.corp", 8080, "10.1.2.3")
    assert not allows(network, "other.example", 443, "10.1.2.3")


def test_metadata_is_only_allowed_by_its_very_address() -> None:
    assert not allows(policy("169.254.0.0/16", "*:*"), "169.254.169.254", 80, "169.254.169.254")
    assert not allows(policy("meta.example=169.254.0.0/16"), "meta.example", 80, "169.254.169.254")
    assert allows(policy("169.254.169.254"), "169.254.169.254", 80, "169.254.169.254")


def test_localhost_means_this_machine_and_no_other_name_does() -> None:
    network = policy("localhost:8000")

    assert allows(network, "localhost", 8000, "127.0.0.1")
    assert allows(network, "localhost", 8000, "::1")
    assert not allows(network, "localhost", 8000, "10.0.0.1")
    assert not allows(network, "127.0.0.1", 8000, "127.0.0.1")


def test_a_refusal_tells_the_line_that_would_allow_it() -> None:
    network = policy("shop.example")

    assert "add 'cdn.example' to hosts.allow" in decide(network, "cdn.example", 443).reason
    assert "add 'cdn.example:8443' to hosts.allow" in decide(network, "cdn.example", 8443).reason
    assert decide(network, "shop.example", 443, "10.0.0.7").reason == (
        "shop.example:443 leads to 10.0.0.7, a private address; "
        "allow it: replaywright admin hosts allow shop.example=10.0.0.7"
    )
    assert decide(policy("*:*"), "::1", 9000, "::1").reason == (
        "[::1]:9000 is an address of this machine; allow it: replaywright admin hosts allow '[::1]:9000'"
    )
    assert decide(policy("*:*"), "localhost", 80).reason == (
        "localhost:80 is an address of this machine; allow it: replaywright admin hosts allow localhost"
    )


addresses = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))
names = st.sampled_from(["shop.example", "a.shop.example", "evil.example", "localhost", "10.0.0.1", "[::1]"])
patterns = st.sampled_from(["*:*", "shop.example", "*.shop.example:*", "10.0.0.0/8", "[::1]:80", "localhost"])


@given(addresses)
def test_what_the_library_knows_as_not_global_is_never_reached_by_a_name(
    address: IPv4Address | IPv6Address,
) -> None:
    if not address.is_global or address.is_multicast:
        assert not allows(policy("*:*", "shop.example"), "shop.example", 443, str(address))


@given(st.ip_addresses(v=4))
def test_every_form_of_an_address_is_judged_as_the_address_or_refused(address: IPv4Address) -> None:
    number = int(address)
    forms = [f"::ffff:{address}", str(IPv6Address((0x64FF9B << 96) | number))]
    tunnels = [str(IPv6Address((0x2002 << 112) | (number << 80))), f"2001:0:{PUBLIC_HEX}::{_obfuscated(number)}"]

    assert [describe(form) for form in forms] == [describe(str(address))] * 2
    assert all(describe(form) for form in tunnels)


PUBLIC_HEX = "5db8:d822"


def _obfuscated(number: int) -> str:
    flipped = number ^ 0xFFFFFFFF
    return f"{flipped >> 16:x}:{flipped & 0xFFFF:x}"


@given(st.lists(patterns, max_size=4), st.lists(patterns, max_size=2), names, st.integers(1, 65535), addresses)
def test_more_rules_that_deny_never_allow_more_and_an_address_never_more_than_its_host(
    allow: list[str], deny: list[str], host: str, port: int, address: IPv4Address | IPv6Address
) -> None:
    network = policy(*allow, deny=tuple(deny))

    if allows(network, host, port, str(address)):
        assert allows(network, host, port)
        assert allows(policy(*allow), host, port, str(address))
    if deny and allows(network, host, port):
        assert not any(host_rule(each, "f", denies=True).covers_host(host, None) for each in deny)


@given(st.text(max_size=30), st.integers(), st.text(max_size=30))
def test_whatever_is_asked_there_is_an_answer(host: str, port: int, address: str) -> None:
    for network in (policy("*:*", "shop.example"), ANYWHERE, NetworkPolicy()):
        assert decide(network, host, port).is_allowed in (True, False)
        try:
            ip_address(address.strip("[]").partition("%")[0])
        except ValueError:
            assert not allows(network, host, port, address)


@given(st.text(max_size=40))
def test_a_pattern_is_read_or_refused_as_bad_input(pattern: str) -> None:
    told = pattern
    try:
        told = host_rule(pattern, "hosts.allow[0]").text
    except InputInvalid as exc:
        told = str(exc)

    assert told == pattern.strip() or told.startswith("hosts.allow[0]: ")


# ---- own services --------------------------------------------------------------------------------------------------

OWN = (OwnService(name="Redis", host="127.0.0.1", port=6379), OwnService(name="Temporal", host="temporal", port=7233))


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::ffff:127.0.0.1"])
def test_no_range_leads_to_a_service_of_ours(address: str) -> None:
    network = policy("127.0.0.0/8:*", "[::]/0:*", "0.0.0.0/0:*", "localhost:*", own=OWN)

    assert decide(network, address, 6379, address).rule in ("own-service", "addresses")
    assert decide(network, "localhost", 6379, "127.0.0.1").rule == "own-service"
    assert allows(network, "127.0.0.1", 6380, "127.0.0.1")


def test_a_service_of_ours_is_reached_where_it_is_named_with_its_port() -> None:
    assert allows(policy("127.0.0.1:6379", own=OWN), "127.0.0.1", 6379, "127.0.0.1")
    assert not allows(policy("temporal:*=10.0.0.2", own=OWN), "temporal", 7233, "10.0.0.2")
    assert allows(policy("temporal:7233=10.0.0.2", own=OWN), "temporal", 7233, "10.0.0.2")


@pytest.mark.parametrize("granted", ["127.0.0.0/8:*", "127.0.0.1:6379"])
def test_neither_a_tasks_own_address_nor_a_grant_opens_a_service_of_ours(granted: str) -> None:
    asked = network_policy(task("http://127.0.0.1:6379/", policy={"hosts": {"allow": ["127.0.0.1:6379"]}}), {})
    network = asked.model_copy(update={"own": OWN, "granted": (host_rule(granted, "hosts"),)})

    assert decide(network, "127.0.0.1", 6379, "127.0.0.1").rule == "own-service"


# ---- addresses that are not public ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "hosts", "grant"),
    [
        ("http://127.0.0.1:8030/", None, "127.0.0.1:8030"),
        ("http://localhost:8030/", None, "localhost:8030"),
        ("http://[::1]:8030/", None, "[::1]:8030"),
        ("http://10.1.2.3/", None, "10.1.2.0/24"),
        ("http://169.254.169.254/", None, "169.254.169.254"),
        ("https://shop.example/", "10.1.0.0/16:8080", "10.0.0.0/8:*"),
        ("https://shop.example/", "wiki.corp=10.1.2.3", "wiki.corp=10.1.2.0/24"),
        ("{{base}}/", None, "127.0.0.1:8030"),
    ],
)
def test_a_task_that_names_an_address_that_is_not_public_needs_the_operators_word(
    url: str, hosts: str | None, grant: str
) -> None:
    asked = task(
        url, parameters={"base": {"description": "where"}}, policy={"hosts": {"allow": [hosts]}} if hosts else None
    )
    values = {"base": "http://127.0.0.1:8030"}

    def refused(operator: Policy | None, *granted: str) -> list[str]:
        rules = [host_rule(each, "hosts") for each in granted]
        found = named(Effective(operator, asked.policy), asked, asked.steps, values, rules)
        return [each.refusal.message for each in found if each.refusal is not None]

    (reason,) = refused(None)
    assert reason.startswith("addresses: ")
    assert "; allow it: replaywright admin hosts allow " in reason
    assert refused(None, "192.168.0.0/16:*", "other.corp=10.0.0.0/8", "127.0.0.1:8031") == [reason]
    assert refused(None, grant) == []
    assert refused(Policy.model_validate({"hosts": {"allow": ["*:*", grant]}})) == []
    assert refused(Policy.model_validate({"hosts": {"allow": ["*:*", "wiki.corp"]}})) == [reason]
    assert refused(Policy.model_validate({"hosts": {"deny": ["evil.example"]}})) == [reason]


def test_a_wide_grant_does_not_hold_for_metadata() -> None:
    network = network_policy(task("http://169.254.169.254/"), {})
    wide = network.model_copy(update={"granted": (host_rule("169.254.0.0/16", "hosts"),)})

    assert decide(wide, "169.254.169.254", 80).rule == "addresses"


def test_what_a_run_says_in_the_operators_name_does_not_count() -> None:
    forged = HostRules(name="task", allow=(host_rule("127.0.0.1:6379", "hosts"),), is_operators=True)
    asked = NetworkPolicy(rules=(forged,), granted=forged.allow, own=())

    network = narrowed(asked, None, ()).model_copy(update={"own": OWN})

    assert decide(network, "127.0.0.1", 6379, "127.0.0.1").rule == "addresses"
    assert not network.granted


# ---- the task's own site -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "host", "port", "address", "allowed"),
    [
        ("https://shop.example/a", "shop.example", 443, PUBLIC, True),
        ("https://shop.example/a", "shop.example", 80, PUBLIC, True),
        ("https://shop.example/a", "www.shop.example", 443, PUBLIC, True),
        ("https://www.shop.example/a", "shop.example", 443, PUBLIC, True),
        ("https://www.example/", "example", 443, PUBLIC, False),
        ("https://shop.example/a", "cdn.shop.example", 443, PUBLIC, False),
        ("https://shop.example/a", "evil.example", 443, PUBLIC, False),
        ("https://shop.example/a", "shop.example", 8443, PUBLIC, False),
        ("https://shop.example/a", "shop.example", 443, "10.0.0.1", False),
        ("https://shop.example:8443/a", "shop.example", 8443, PUBLIC, True),
        ("https://shop.example:8443/a", "shop.example", 443, PUBLIC, False),
        ("http://127.0.0.1:8000/a", "127.0.0.1", 8000, "127.0.0.1", True),
        ("http://127.0.0.1:8000/a", "127.0.0.1", 8001, "127.0.0.1", False),
        ("http://127.0.0.1:8000/a", "127.0.0.2", 8000, "127.0.0.2", False),
        ("http://127.0.0.1:8000/a", "shop.example", 8000, "127.0.0.1", False),
        ("http://localhost:8000/a", "localhost", 8000, "::1", True),
        ("http://[::1]:8000/a", "::1", 8000, "::1", True),
        ("http://10.1.2.3/a", "10.1.2.3", 80, "10.1.2.3", True),
        ("http://intranet/", "intranet", 80, "10.1.2.3", False),
        ("http://2130706433:8000/", "127.0.0.1", 8000, "127.0.0.1", False),
        ("https://shop.example@evil.example/", "evil.example", 443, PUBLIC, False),
    ],
)
def test_a_task_reaches_its_own_site(url: str, host: str, port: int, address: str, allowed: bool) -> None:
    granted = tuple(host_rule(each, "hosts") for each in ("127.0.0.0/8:*", "[::1]:*", "localhost:*", "10.1.2.3"))
    network = network_policy(task(url), {}).model_copy(update={"granted": granted})

    assert allows(network, host, port, address) is allowed


def test_every_address_that_a_task_opens_is_its_own_also_in_lists_and_probes() -> None:
    asked = {
        "steps": [{"action": "goto", "url": "https://mail.example/sent"}],
        "expect": [{"text_contains": "Sent"}],
    }
    steps = [
        {"action": "goto", "url": "{{base}}/start"},
        {"action": "click", "instruction": "Send", "effect": "commit", "reconcile": asked},
        {
            "action": "for_each",
            "item": "page",
            "values": ["a"],
            "steps": [
                {"action": "goto", "url": "https://list.example/{{page}}"},
                {"action": "goto", "url": "https://open.example/x"},
            ],
        },
    ]
    whole = task("https://shop.example/", steps=steps, parameters={"base": {}})

    found = {rule.host for rule in site_rules(whole, {"base": "https://base.example"})}

    assert {"shop.example", "base.example", "mail.example", "open.example"} <= found
    assert "list.example" not in found  # which address that is depends on an item


def test_a_tasks_wishes_are_added_to_its_site_and_its_traffic_is_limited() -> None:
    hosts = {"allow": ["cdn.example"], "deny": ["www.shop.example"]}
    wishes = {"hosts": hosts, "traffic": {"up_mb": 1, "down_mb": 2}}
    network = network_policy(task("https://shop.example/", policy=wishes), {})

    assert allows(network, "shop.example")
    assert allows(network, "cdn.example")
    assert not allows(network, "www.shop.example")
    assert (network.up_bytes, network.down_bytes) == (1024 * 1024, 2 * 1024 * 1024)
    assert decide(network_policy(task("https://shop.example/"), {}), "a.example", 443).rule == f"{SITE}: hosts.allow"


def test_a_policy_survives_its_way_through_json() -> None:
    network = policy("*.shop.example:8443", "wiki.corp=10.0.0.0/8", deny=("evil.example",), own=OWN)

    assert NetworkPolicy.model_validate_json(network.model_dump_json()) == network
    assert NetworkPolicy.model_validate_json(network.model_dump_json(by_alias=True)) == network


def test_what_was_refused_most_often_is_told_first_and_once() -> None:
    def refused(host: str, count: int) -> RefusedHost:
        return RefusedHost(host=host, port=443, rule="own site: hosts.allow", count=count)

    told = most_refused((refused("a", 1), refused("b", 5), refused("a", 6)), limit=1)

    assert [(each.host, each.count) for each in told] == [("a", 7)]


def test_rules_without_an_author_that_allows_are_no_way_around() -> None:
    network = NetworkPolicy(rules=(*policy("*:*").rules, HostRules(name="empty")))

    assert not allows(network, "shop.example")
