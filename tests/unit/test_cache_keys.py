"""Keys of different owners never meet, and what belongs together lies in one slot."""

import re

from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from cache import scripts
from cache.keys import acts_key, check_key, entry_key, index_key, ledger_key, trace_key

NAMES = st.text(alphabet=st.one_of(st.sampled_from("a:{}/%\u00fc\ud800\U0001f600 7B"), st.characters()), max_size=6)


def all_keys(tenant: str, first: str, second: str) -> dict[str, tuple[str, ...]]:
    """Every key that these names can make, with the names that it is to stand for."""
    return {
        ledger_key(tenant, first, second): ("ledger", tenant, first, second),
        trace_key(tenant, first): ("trace", tenant, first),
        entry_key(tenant, first): ("entry", tenant, first),
        index_key(tenant): ("index", tenant),
    }


@given(st.tuples(NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES))
def test_different_names_never_share_a_key(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    ours, theirs = all_keys(*one), all_keys(*other)

    assert len(ours) == len(theirs) == 4
    for key in ours.keys() & theirs.keys():
        assert ours[key] == theirs[key]


@given(NAMES, NAMES, NAMES)
def test_every_key_has_one_tag_and_ascii_only(tenant: str, lineage: str, fingerprint: str) -> None:
    for key in [*all_keys(tenant, lineage, fingerprint), check_key(fingerprint)]:
        assert re.fullmatch(r"rw:1:\{[A-Za-z0-9_.~%/-]*\}:[A-Za-z0-9_.~%:-]+", key)


@given(NAMES, NAMES, NAMES, NAMES)
def test_a_lineage_lies_in_one_slot(tenant: str, lineage: str, one: str, other: str) -> None:
    keys = [
        ledger_key(tenant, lineage, one),
        ledger_key(tenant, lineage, other),
        trace_key(tenant, lineage),
        acts_key(tenant, lineage),
    ]

    assert len({key_slot(key.encode()) for key in keys}) == 1


def test_a_name_that_closes_the_tag_stays_inside_it() -> None:
    assert ledger_key("acme", "a}:trace{", "f:1") == "rw:1:{acme/a%7D%3Atrace%7B}:ledger:f%3A1"
    assert trace_key("acme/shop", "x") != trace_key("acme", "shop/x")


def test_every_script_touches_one_key_and_only_the_intent_another_beside_it() -> None:
    every = [value for value in vars(scripts).values() if isinstance(value, scripts.Script)]

    assert len(every) == 11
    for script in every:
        keys = set(re.findall(r"KEYS\[(\d+)\]", re.sub(r"--.*", "", script.source)))
        assert keys == ({"1", "2"} if script is scripts.INTEND else {"1"})
        assert scripts.Command(script, "k", ("a",)).short == ("EVALSHA", script.digest, 1, "k", "a")
        assert scripts.Command(script, "k", ("a",)).full == ("EVAL", script.source, 1, "k", "a")
    assert scripts.Command(scripts.INTEND, "k", ("a",), ("b",)).short == (
        "EVALSHA",
        scripts.INTEND.digest,
        2,
        "k",
        "b",
        "a",
    )
    assert scripts.Command(scripts.INTEND, "k", ("a",), ("b",)).full == (
        "EVAL",
        scripts.INTEND.source,
        2,
        "k",
        "b",
        "a",
    )
