"""The knowledge base on the real server: what is damaged, what is remembered, and what many do at once."""

import asyncio
import json
import logging
from typing import Any

import pytest

from cache.connection import Client
from cache.keys import (
    claim_key,
    skill_changes_key,
    skill_history_key,
    skill_key,
    skill_statistics_key,
    skills_key,
)
from cache.skills import RedisSkills
from replaywright.domain.skill.skills import Rate, SkillStatistics, SkillStatus
from replaywright.errors import StoreUnavailable, ValueTooLarge
from tests.unit.skills import SITE, run, skill

T = "acme"
ACTIVE = SkillStatus.ACTIVE
KEY = skill_key(T, "send-mail")


@pytest.fixture
def skills(client: Client) -> RedisSkills:
    return RedisSkills(client)


async def scripts_run(client: Client) -> int:
    info: dict[str, Any] = await client.info("commandstats")
    calls: int = info["cmdstat_evalsha"]["calls"]
    return calls


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("1:json", "{not json"), "version 1 cannot be used"),
        (("1:status", "superb"), "'superb' is not a valid SkillStatus"),
        (("1:at", "yesterday"), "could not convert"),
    ],
)
async def test_a_damaged_skill_is_left_out_with_a_warning_that_names_its_key(
    skills: RedisSkills, client: Client, caplog: pytest.LogCaptureFixture, change: tuple[str, str], why: str
) -> None:
    await skills.save(T, skill(), who="ada")
    whole = await skills.save(T, skill("other"), who="ada")
    await client.hset(KEY, *change)

    with caplog.at_level(logging.WARNING):
        found = (await skills.get(T, "send-mail"), await skills.record(T, "send-mail"), await skills.all(T))

    assert found == (None, None, (whole,))
    [line] = [record.getMessage() for record in caplog.records]
    assert KEY in line
    assert why in line


@pytest.mark.parametrize("version", [2, None])
async def test_a_skill_of_another_schema_is_left_out(
    skills: RedisSkills, client: Client, caplog: pytest.LogCaptureFixture, version: int | None
) -> None:
    await skills.save(T, skill(), who="ada")
    stored = json.loads(await client.hget(KEY, "1:json") or "")
    stored.pop("schemaVersion")
    newer = stored if version is None else {**stored, "schemaVersion": version}
    await client.hset(KEY, "1:json", json.dumps(newer))

    assert await skills.all(T, SITE) == ()
    assert "schema version" in caplog.text


async def test_a_skill_whose_key_is_of_another_type_is_left_out_and_replaced_when_it_is_saved(
    skills: RedisSkills, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await skills.save(T, skill(), who="ada")
    await client.delete(KEY)
    await client.set(KEY, "something else")

    assert await skills.get(T, "send-mail") is None
    assert await skills.all(T) == ()
    await skills.note_run(T, "send-mail", run())
    assert not await skills.set_status(T, "send-mail", 1, ACTIVE, who="ada", reason="")
    assert (await skills.save(T, skill(), who="ada")).version == 1
    assert len(await skills.all(T)) == 1
    assert KEY in caplog.text


async def test_statistics_and_history_that_are_damaged_are_left_out_and_begun_anew(
    skills: RedisSkills, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    saved = await skills.save(T, skill(), who="ada")
    await client.hset(skill_statistics_key(T, "send-mail"), "runs", "many")
    await client.rpush(skill_history_key(T, "send-mail"), "no json")

    damaged = await skills.record(T, "send-mail")
    await client.set(skill_statistics_key(T, "send-mail"), "x")
    await client.set(skill_history_key(T, "send-mail"), "x")
    of_other_types = await skills.record(T, "send-mail")
    await skills.note_run(T, "send-mail", run())
    anew = await skills.record(T, "send-mail")

    assert damaged is not None
    assert (damaged.skill, damaged.statistics) == (saved, SkillStatistics())
    assert [change.what for change in damaged.history] == ["created"]
    assert of_other_types is not None
    assert of_other_types.history == ()
    assert anew is not None
    assert anew.statistics.runs == Rate(succeeded=1, recent=(True,))
    assert skill_statistics_key(T, "send-mail") in caplog.text
    assert skill_history_key(T, "send-mail") in caplog.text


@pytest.mark.parametrize("key", [skills_key(T), skill_changes_key(T)])
async def test_with_a_damaged_list_nothing_is_changed_and_the_error_names_the_key(
    skills: RedisSkills, client: Client, key: str
) -> None:
    saved = await skills.save(T, skill(), who="ada")
    await client.delete(key)
    await client.set(key, "something else")

    with pytest.raises(StoreUnavailable, match="find out what wrote it") as error:
        await skills.save(T, skill(note="second"), who="ada")

    assert repr(key) in str(error.value)
    assert await skills.get(T, "send-mail") == saved
    assert await skills.all(T) in ((), (saved,))


async def test_without_stamps_the_list_is_read_anew_every_time(skills: RedisSkills, client: Client) -> None:
    await skills.save(T, skill(), who="ada")
    await skills.all(T)
    await client.delete(skill_changes_key(T))
    await client.hset(KEY, "1:status", "suspect")

    assert [one.status for one in await skills.all(T)] == [SkillStatus.SUSPECT]


async def test_a_list_that_did_not_change_is_answered_from_memory_and_of_one_that_did_only_what_changed(
    skills: RedisSkills, client: Client
) -> None:
    for number in range(5):
        await skills.save(T, skill(f"skill-{number}"), who="ada")
    await skills.save(T, skill("elsewhere", site="http://other.example"), who="ada")
    await skills.set_status(T, "elsewhere", 1, SkillStatus.SUSPECT, who="ada", reason="")  # loads the script
    first = await skills.all(T, SITE)

    before = await scripts_run(client)
    again = await skills.all(T, SITE)
    unchanged = await scripts_run(client)
    await skills.set_status(T, "elsewhere", 1, ACTIVE, who="ada", reason="")
    await skills.all(T, SITE)
    other = await scripts_run(client)
    await skills.set_status(T, "skill-3", 1, ACTIVE, who="ada", reason="")
    third = await skills.all(T, SITE)
    changed = await scripts_run(client)

    assert len(first) == 5
    assert again is first
    assert unchanged == before
    assert other == before + 1  # the change itself
    assert changed == other + 2  # the change, and one skill read
    assert [one.status.value for one in third].count("active") == 1


async def test_what_another_process_changed_is_seen_at_once(skills: RedisSkills, client: Client) -> None:
    other = RedisSkills(client)
    await skills.save(T, skill(), who="ada")
    await skills.all(T, SITE)

    await other.save(T, skill(status=ACTIVE), who="ben")
    second = [one.version for one in await skills.all(T, SITE)]
    await other.delete(T, "send-mail", who="ben")

    assert second == [2]
    assert await skills.all(T, SITE) == ()


async def test_an_emptied_server_is_an_empty_knowledge_base(skills: RedisSkills, client: Client) -> None:
    await skills.save(T, skill(), who="ada")
    await skills.all(T)
    await client.flushall()

    assert await skills.all(T) == ()
    await skills.save(T, skill(label="anew"), who="ada")
    assert [one.label for one in await skills.all(T)] == ["anew"]


async def test_versions_written_at_once_all_have_numbers_of_their_own(skills: RedisSkills) -> None:
    saved = await asyncio.gather(*(skills.save(T, skill(run_id=f"r{n}"), who=f"r{n}") for n in range(10)))
    activated = (skills.set_status(T, "send-mail", n, ACTIVE, who="ada", reason="") for n in range(1, 11))
    await asyncio.gather(*activated)

    found = [await skills.get(T, "send-mail", version) for version in range(1, 11)]
    assert sorted(one.version for one in saved) == list(range(1, 11))
    assert [one.status.value for one in found if one is not None].count("active") == 1


async def test_runs_noted_at_once_are_all_counted_and_each_once(skills: RedisSkills) -> None:
    await skills.save(T, skill(), who="ada")

    await asyncio.gather(*(skills.note_run(T, "send-mail", run(f"r{n % 20}")) for n in range(40)))

    found = await skills.record(T, "send-mail")
    assert found is not None
    assert found.statistics.runs.succeeded == 20


async def test_of_ten_that_claim_at_once_one_has_it(skills: RedisSkills) -> None:
    holders = await asyncio.gather(*(skills.claim(T, "send", f"r{n}", 60) for n in range(10)))

    assert len(set(holders)) == 1


async def test_a_claim_ends_by_itself_and_claiming_it_again_prolongs_it(skills: RedisSkills, client: Client) -> None:
    await skills.claim(T, "send", "r1", 10)
    first = await client.pttl(claim_key(T, "send"))
    await skills.claim(T, "send", "r1", 60)
    renewed = await client.pttl(claim_key(T, "send"))
    await client.delete(claim_key(T, "send"))  # what the server does when its time is over

    assert 0 < first <= 10_000 < renewed <= 60_000
    assert await skills.claim(T, "send", "r2", 60) == "r2"


async def test_a_skill_that_is_too_large_is_refused(skills: RedisSkills) -> None:
    with pytest.raises(ValueTooLarge, match=r"skill 'send-mail' has \d+ bytes as JSON, the limit is 262144"):
        await skills.save(T, skill(description="x" * 270_000), who="ada")


async def test_names_and_reasons_that_are_no_text_do_no_harm(skills: RedisSkills) -> None:
    await skills.save(T, skill(), who="a\udce4", reason='"\udcff\n')

    found = await skills.record(T, "send-mail")
    assert found is not None
    assert (found.history[0].who, found.history[0].reason) == ("a?", '"?\n')


async def test_nothing_of_a_skill_expires(skills: RedisSkills, client: Client) -> None:
    await skills.save(T, skill(), who="ada")
    await skills.note_run(T, "send-mail", run())

    keys = [key async for key in client.scan_iter(match="*")]

    assert len(keys) == 5
    assert [await client.ttl(key) for key in keys] == [-1] * 5
