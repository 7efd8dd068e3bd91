"""Keys of different owners never meet, and what belongs together lies in one slot."""

import re

from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from cache import scripts
from cache.keys import (
    acts_key,
    check_key,
    claim_key,
    entry_key,
    index_key,
    ledger_key,
    skill_changes_key,
    skill_history_key,
    skill_key,
    skill_statistics_key,
    skill_statuses_key,
    skills_key,
    trace_key,
)

NAMES = st.text(alphabet=st.one_of(st.sampled_from("a:{}/%\u00fc\ud800\U0001f600 7B"), st.characters()), max_size=6)


def all_keys(tenant: str, first: str, second: str) -> dict[str, tuple[str, ...]]:
    """Every key that these names can make, with the names that it is to stand for."""
    return {
        ledger_key(tenant, first, second): ("ledger", tenant, first, second),
        trace_key(tenant, first): ("trace", tenant, first),
        entry_key(tenant, first): ("entry", tenant, first),
        index_key(tenant): ("index", tenant),
        skill_key(tenant, first): ("skill", tenant, first),
        skill_statistics_key(tenant, first): ("skill-statistics", tenant, first),
        skill_history_key(tenant, first): ("skill-history", tenant, first),
        skill_statuses_key(tenant, first): ("skill-statuses", tenant, first),
        skills_key(tenant): ("skills", tenant),
        skill_changes_key(tenant): ("skill-changes", tenant),
        claim_key(tenant, first): ("claim", tenant, first),
    }


@given(st.tuples(NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES))
def test_different_names_never_share_a_key(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    ours, theirs = all_keys(*one), all_keys(*other)

    assert len(ours) == len(theirs) == 11
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


def test_what_changes_together_of_a_tenants_skills_lies_in_one_slot() -> None:
    tenant = "acme"
    makers = (skill_key, skill_statuses_key, skill_statistics_key, skill_history_key)
    of_one = [make(tenant, name) for make in makers for name in "ab"]
    keys = [*of_one, skills_key(tenant), skill_changes_key(tenant)]

    assert len(set(keys)) == 10
    assert len({key_slot(key.encode()) for key in keys}) == 1
    assert key_slot(skills_key("other").encode()) != key_slot(skills_key(tenant).encode())


def test_a_name_that_closes_the_tag_stays_inside_it() -> None:
    assert ledger_key("acme", "a}:trace{", "f:1") == "rw:1:{acme/a%7D%3Atrace%7B}:ledger:f%3A1"
    assert trace_key("acme/shop", "x") != trace_key("acme", "shop/x")


def test_a_script_touches_one_key_but_for_the_intent_and_those_of_a_skill() -> None:
    every = [value for value in vars(scripts).values() if isinstance(value, scripts.LuaScript)]
    changes = (scripts.SAVE_SKILL, scripts.SET_SKILL_STATUS, scripts.NOTE_SKILL_RUN, scripts.DELETE_SKILL)

    beside = (scripts.INTEND, scripts.FIND_SKILL, scripts.SIGN_SKILL)

    assert len(every) == 23
    for script in every:
        keys = set(re.findall(r"KEYS\[(\d+)\]", re.sub(r"--.*", "", script.source)))
        assert keys == {"1", *("23456" if script in changes else "2" if script in beside else "")}
        assert scripts.RedisCommand(script, "k", ("a",)).short == ("EVALSHA", script.digest, 1, "k", "a")
        assert scripts.RedisCommand(script, "k", ("a",)).full == ("EVAL", script.source, 1, "k", "a")
    assert scripts.RedisCommand(scripts.INTEND, "k", ("a",), ("b",)).short == (
        "EVALSHA",
        scripts.INTEND.digest,
        2,
        "k",
        "b",
        "a",
    )
    assert scripts.RedisCommand(scripts.INTEND, "k", ("a",), ("b",)).full == (
        "EVAL",
        scripts.INTEND.source,
        2,
        "k",
        "b",
        "a",
    )
