"""What somebody else wrote, changed or moved in Redis is not acted on, and is told."""

import asyncio
import json
import logging
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.skill.recall import RecallActivities
from activities.skill.skill_runs import SkillRunActivities
from cache.alerts import counted
from cache.connection import Client
from cache.keys import entry_key, overrides_key, skill_changes_key, skill_key, skill_statuses_key, trace_key
from cache.overrides import RedisOverrides
from cache.recalls import RedisRecalls
from cache.signing.signing_existing import Existing
from cache.skills import RedisSkills
from cache.steps import RedisStepStore
from replaywright.cli.skills.skill_run import runnable
from replaywright.cli.skills.skill_store import KnowledgeBase
from replaywright.domain.recall.recall import RecallRequest
from replaywright.domain.run.skill_runs import NewestRequest
from replaywright.domain.secrets.signing import Key, Signer
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.skills import Skill, SkillRun, SkillStatus
from replaywright.domain.step.overrides import OverrideRule
from replaywright.errors import InputInvalid
from tests.unit.skills import skill

KEY, OLD, STRANGE = Key("k2", b"2" * 32), Key("k1", b"1" * 32), Key("k2", b"x" * 32)
SIGNER = Signer((KEY,))
TENANT = "acme"
CONTENT = "c" * 64

Withdrawal = Callable[[RedisSkills, str], Coroutine[Any, Any, None]]


@pytest.fixture
def store(client: Client) -> RedisStepStore:
    return RedisStepStore(client, signer=SIGNER)


def entry(key: str = CONTENT, note: str = "", **fields: Any) -> ActionCacheEntry:
    return ActionCacheEntry.model_validate(
        {"content_key": key, "action_type": "click", "tag": "button", "name": "Send", "note": note, **fields}
    )


def rule(name: str) -> OverrideRule:
    return OverrideRule.model_validate(
        {
            "name": name,
            "when": {"visible": {"name": "Accept"}},
            "do": [{"action": "click", "instruction": "accept", "target": {"name": "Accept"}}],
        }
    )


async def learn(store: RedisStepStore, one: ActionCacheEntry, run: str = "run-1", tenant: str = TENANT) -> None:
    await store.keep(tenant=tenant, run_id=run, entry=one)
    assert (await store.promote(tenant=tenant, run_id=run, content_keys=[one.content_key]))[0] == 1


async def used(
    store: RedisStepStore, key: str = CONTENT, run: str = "", tenant: str = TENANT
) -> ActionCacheEntry | None:
    known = await store.look_up(tenant=tenant, lineage="l", run_id=run, fingerprint="", content_key=key)
    return known.entry


async def test_what_was_signed_is_used(store: RedisStepStore) -> None:
    await store.keep(tenant=TENANT, run_id="run-1", entry=entry())

    assert await used(store, run="run-1") is not None
    assert await store.promote(tenant=TENANT, run_id="run-1", content_keys=[CONTENT]) == (1, 0)
    assert await store.promote(tenant=TENANT, run_id="run-1", content_keys=[CONTENT]) == (1, 0)
    assert await used(store) is not None


async def test_a_candidate_that_was_altered_or_written_by_nobody_is_given_to_no_run(
    client: Client, store: RedisStepStore
) -> None:
    await store.keep(tenant=TENANT, run_id="run-1", entry=entry(note="good"))
    await RedisStepStore(client).keep(tenant=TENANT, run_id="run-2", entry=entry(note="unsigned"))

    async def found() -> list[str]:
        given = await store.candidates(tenant=TENANT, run_id="run-3", content_keys=[CONTENT])
        return [candidate.note for candidate in given]

    assert await found() == ["good"]
    await client.execute_command("HSET", entry_key(TENANT, CONTENT), "1:run", "run-9")
    assert await found() == []


async def test_an_unsigned_recording_is_a_miss_and_an_alert(
    client: Client, store: RedisStepStore, caplog: pytest.LogCaptureFixture
) -> None:
    await learn(RedisStepStore(client), entry())

    with caplog.at_level(logging.ERROR):
        known = await store.look_up(tenant=TENANT, lineage="l", run_id="", fingerprint="", content_key=CONTENT)
        await used(store)

    assert known.entry is None
    assert "unsigned" in known.refused
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert entry_key(TENANT, CONTENT) in caplog.text
    told = await counted(client, TENANT)
    assert told["entry"] == "1"
    assert CONTENT in told["last"]


@pytest.mark.parametrize("status", ["candidate", "retired", "suspect"])
async def test_a_version_that_nobody_promoted_is_not_used_whatever_its_status_says(
    client: Client, store: RedisStepStore, status: str
) -> None:
    await learn(store, entry())
    key = entry_key(TENANT, CONTENT)
    await store.keep(tenant=TENANT, run_id="run-2", entry=entry(note="not verified"))
    await client.execute_command("HSET", key, "1:status", status, "2:status", "active")

    assert await used(store) is None
    assert await used(store, run="run-3") is None


async def test_a_seal_does_not_count_for_another_version(client: Client, store: RedisStepStore) -> None:
    await learn(store, entry())
    await store.keep(tenant=TENANT, run_id="run-1", entry=entry(note="not verified"))
    key = entry_key(TENANT, CONTENT)
    [seal] = await client.execute_command("HMGET", key, "1:seal")
    await client.execute_command("HSET", key, "2:status", "active", "2:seal", seal)

    found = await used(store)

    assert found is None


async def test_an_altered_candidate_is_not_promoted_and_the_one_before_is(
    client: Client, store: RedisStepStore
) -> None:
    await store.keep(tenant=TENANT, run_id="run-1", entry=entry(note="good"))
    await store.keep(tenant=TENANT, run_id="run-1", entry=entry(note="bad"))
    key = entry_key(TENANT, CONTENT)
    [text] = await client.execute_command("HMGET", key, "2:json")
    await client.execute_command("HSET", key, "2:json", text.replace(b"Send", b"Sell"))

    assert await store.promote(tenant=TENANT, run_id="run-1", content_keys=[CONTENT]) == (1, 0)
    found = await used(store)
    assert found is not None
    assert found.note == "good"


async def test_a_held_candidate_is_not_promoted_by_who_lets_go_of_it_in_redis(
    client: Client, store: RedisStepStore
) -> None:
    await store.keep(tenant=TENANT, run_id="run-1", entry=entry(hold=True))
    await client.execute_command("HSET", entry_key(TENANT, CONTENT), "1:hold", "")

    assert await store.promote(tenant=TENANT, run_id="run-1", content_keys=[CONTENT]) == (0, 0)


async def test_of_several_keys_the_first_signs_and_all_verify(client: Client) -> None:
    await learn(RedisStepStore(client, signer=Signer((OLD,))), entry())

    both, new = Signer((KEY, OLD)), Signer((KEY,))
    assert await used(RedisStepStore(client, signer=both)) is not None
    assert await used(RedisStepStore(client, signer=new)) is None
    assert await used(RedisStepStore(client, signer=Signer((STRANGE, OLD)))) is not None

    existing = Existing(client, TENANT, both)
    survey = await existing.look()
    assert await existing.sign(survey.names) == 1
    assert await used(RedisStepStore(client, signer=new)) is not None
    assert await used(RedisStepStore(client, signer=Signer((STRANGE,)))) is None


# ------------------------------------------------------------------------------------------------- skills


def active(**fields: Any) -> Skill:
    return skill(status=SkillStatus.ACTIVE, **fields)


async def status_of(skills: RedisSkills, name: str, version: int | None = None) -> SkillStatus | None:
    found = await skills.get(TENANT, name, version)
    return None if found is None else found.status


async def kept_of(client: Client, name: str) -> dict[str, bytes]:
    """The two keys that hold a skill's statuses, as DUMP writes them."""
    keys = (skill_key(TENANT, name), skill_statuses_key(TENANT, name))
    return {key: dumped for key in keys if (dumped := await client.dump(key)) is not None}


async def failed(skills: RedisSkills, name: str) -> None:
    await skills.note_run(TENANT, name, SkillRun(run_id="x", version=1, succeeded=False, steps_done=0, failed_step=0))


async def retired(skills: RedisSkills, name: str) -> None:
    assert await skills.set_status(TENANT, name, 1, SkillStatus.RETIRED, who="me", reason="withdrawn")


async def replaced(skills: RedisSkills, name: str) -> None:
    await skills.save(TENANT, active(run_id="r2"), who="r2")


async def deleted(skills: RedisSkills, name: str) -> None:
    assert await skills.delete(TENANT, name, who="me")


@pytest.mark.parametrize("status", [one for one in SkillStatus if one is not SkillStatus.RETIRED])
@pytest.mark.parametrize("withdraw", [retired, replaced])
async def test_a_status_that_somebody_wrote_without_the_key_counts_as_retired(
    client: Client, withdraw: Withdrawal, status: SkillStatus
) -> None:
    skills = RedisSkills(client, signer=SIGNER)
    name = (await skills.save(TENANT, active(), who="r1")).name
    await withdraw(skills, name)
    await client.execute_command("HSET", skill_key(TENANT, name), "1:status", status.value)

    assert await status_of(skills, name, 1) is SkillStatus.RETIRED


@pytest.mark.parametrize("withdraw", [retired, replaced, deleted, failed])
async def test_a_record_that_is_put_back_whole_does_not_run(
    client: Client, withdraw: Withdrawal, caplog: pytest.LogCaptureFixture
) -> None:
    skills = RedisSkills(client, signer=SIGNER)
    name = (await skills.save(TENANT, active(), who="r1")).name
    before = await kept_of(client, name)
    await withdraw(skills, name)
    after = await kept_of(client, name)
    own, beside = before

    for put_back in (own, beside):  # one of the two; the other is as it is now
        for key, dumped in {**after, put_back: before[put_back]}.items():
            await client.restore(key, 0, dumped, replace=True)
        for changed in ({}, {"1:status": "active"}):
            for field, value in changed.items():
                await client.execute_command("HSET", own, field, value)
            found = {await status_of(skills, name), await status_of(skills, name, 1)}
            listed = await RedisSkills(client, signer=SIGNER).all(TENANT)  # one that remembers nothing
            assert found <= {SkillStatus.RETIRED, None}
            assert {one.status for one in listed} <= {SkillStatus.RETIRED}
    assert "INTEGRITY" in caplog.text


async def test_a_withdrawn_skill_that_is_put_back_is_refused_by_its_name(client: Client) -> None:
    skills = RedisSkills(client, signer=SIGNER)
    name = (await skills.save(TENANT, active(), who="r1")).name
    own = skill_key(TENANT, name)
    before = (await kept_of(client, name))[own]
    base, scheduled = KnowledgeBase(skills, TENANT), SkillRunActivities(skills, RedisStepStore(client))
    assert (await runnable(base, name, None)).status is SkillStatus.ACTIVE
    await retired(skills, name)
    await client.restore(own, 0, before, replace=True)

    with pytest.raises(InputInvalid, match="was retired"):
        await runnable(base, name, None)
    with pytest.raises(InputInvalid, match="was retired"):
        await ActivityEnvironment().run(scheduled.newest_version, NewestRequest(tenant=TENANT, name=name))


async def test_without_the_second_key_nothing_runs_until_a_person_restores_it(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    skills, other = RedisSkills(client, signer=SIGNER), RedisSkills(client, signer=SIGNER)
    name = (await skills.save(TENANT, active(), who="r1")).name
    await client.delete(skill_statuses_key(TENANT, name))

    assert await status_of(skills, name) is SkillStatus.RETIRED
    assert [one.status for one in await other.all(TENANT)] == [SkillStatus.RETIRED]
    assert "replaywright skills restore" in caplog.text
    await failed(skills, name)
    assert await status_of(skills, name) is SkillStatus.RETIRED

    assert await skills.set_status(TENANT, name, 1, SkillStatus.ACTIVE, who="me", reason="looked at")
    assert await status_of(skills, name) is SkillStatus.ACTIVE
    assert [one.status for one in await other.all(TENANT)] == [SkillStatus.ACTIVE]


async def test_a_change_after_a_record_was_put_back_revives_nothing(client: Client) -> None:
    skills = RedisSkills(client, signer=SIGNER)
    name = (await skills.save(TENANT, active(), who="r1")).name
    before = await kept_of(client, name)
    await retired(skills, name)
    own, beside = before
    await client.restore(own, 0, before[own], replace=True)
    await client.delete(beside)

    await skills.save(TENANT, skill(run_id="r2"), who="r2")

    assert await status_of(skills, name, 1) is SkillStatus.RETIRED
    assert await status_of(skills, name) is SkillStatus.CANDIDATE


async def test_a_list_that_a_worker_remembers_recalls_no_withdrawn_skill(client: Client) -> None:
    skills, withdrawing = RedisSkills(client, signer=SIGNER), RedisSkills(client, signer=SIGNER)
    one = await skills.save(TENANT, active(), who="r1")
    goal = "send a mail to ada@example.com"
    request = RecallRequest(tenant=TENANT, goal=goal, url=one.site, run_id="r", secrets=("PASSWORD",))
    recalling = RecallActivities(skills, RedisRecalls(client))
    first = await ActivityEnvironment().run(recalling.recall, request)
    stamps = await client.dump(skill_changes_key(TENANT))
    await retired(withdrawing, one.name)
    assert stamps is not None
    await client.restore(skill_changes_key(TENANT), 0, stamps, replace=True)
    assert [kept.status for kept in await skills.all(TENANT, one.site)] == [SkillStatus.ACTIVE]

    again = await ActivityEnvironment().run(recalling.recall, request)

    assert first.decision == "accept"
    assert (again.decision, again.reason, again.skill) == ("abstain", "not_active", None)


async def test_statuses_are_signed_with_the_key_that_comes_next(client: Client) -> None:
    old = RedisSkills(client, signer=Signer((OLD,)))
    name = (await old.save(TENANT, active(), who="r1")).name
    await replaced(old, name)
    existing = Existing(client, TENANT, Signer((KEY, OLD)))

    survey = await existing.look()
    assert await existing.sign(survey.names) == 2

    new = RedisSkills(client, signer=SIGNER)
    assert [await status_of(new, name, version) for version in (1, 2)] == [SkillStatus.RETIRED, SkillStatus.ACTIVE]


async def test_statuses_that_do_not_agree_are_not_signed_anew(client: Client) -> None:
    old = RedisSkills(client, signer=Signer((OLD,)))
    name = (await old.save(TENANT, active(), who="r1")).name
    own, beside = before = await kept_of(client, name)
    await retired(old, name)
    existing = Existing(client, TENANT, Signer((KEY, OLD)))

    await client.restore(own, 0, before[own], replace=True)
    assert ((survey := await existing.look()).to_sign, survey.refused) == ({}, {"skill": 1})
    await client.delete(beside)
    assert ((survey := await existing.look()).to_sign, survey.refused) == ({}, {"skill": 1})
    await client.execute_command("HDEL", own, "statuses")
    assert ((survey := await existing.look()).to_sign, survey.refused) == ({}, {"skill": 1})


async def test_a_number_that_is_given_twice_has_one_version(client: Client) -> None:
    skills = RedisSkills(client, signer=SIGNER)
    name = (await skills.save(TENANT, active(run_id="r1"), who="r1")).name
    key = skill_key(TENANT, name)
    fields = ["1:json", "1:run", "1:id", "1:sig"]
    old = await client.execute_command("HMGET", key, *fields)
    await deleted(skills, name)
    await client.execute_command("HDEL", key, "last")
    assert (await skills.save(TENANT, active(run_id="r2"), who="r2")).version == 1
    assert await status_of(skills, name) is SkillStatus.ACTIVE

    await client.execute_command("HSET", key, *(part for pair in zip(fields, old, strict=True) for part in pair))

    assert await status_of(skills, name) is None


async def test_a_skill_that_was_altered_cannot_be_activated(client: Client) -> None:
    skills = RedisSkills(client, signer=SIGNER)
    saved = await skills.save(TENANT, skill(status=SkillStatus.CANDIDATE), who="r1")
    key = skill_key(TENANT, saved.name)
    [text] = await client.execute_command("HMGET", key, "1:json")
    await client.execute_command("HSET", key, "1:json", text[:-1] + b',"x":1}')

    assert not await skills.set_status(TENANT, saved.name, 1, SkillStatus.ACTIVE, who="me", reason="")
    assert (await counted(client, TENANT))["skill"] == "1"


async def test_two_who_save_at_once_both_get_a_number_that_is_signed(client: Client) -> None:
    skills = RedisSkills(client, signer=SIGNER)

    saved = await asyncio.gather(*(skills.save(TENANT, skill(), who=f"r{number}") for number in range(8)))

    assert sorted(one.version for one in saved) == list(range(1, 9))
    for number in range(1, 9):
        assert await skills.get(TENANT, saved[0].name, number) is not None


# ------------------------------------------------------------------------------------- what was there before


async def test_what_was_kept_before_there_were_keys_is_signed_when_that_is_asked_for(client: Client) -> None:
    unsigned, lineage = RedisStepStore(client), {"tenant": TENANT, "lineage": "run/1"}
    await learn(unsigned, entry())
    await unsigned.append_trace(**lineage, line={"kind": "note", "text": "é"})
    await RedisSkills(client).save(TENANT, skill(status=SkillStatus.ACTIVE), who="r1")
    await RedisSkills(client).save(TENANT, skill(status=SkillStatus.ACTIVE), who="r2")
    await RedisOverrides(client).put(TENANT, [rule("a")])
    await learn(unsigned, entry(), tenant="other")
    store, skills = RedisStepStore(client, signer=SIGNER), RedisSkills(client, signer=SIGNER)
    overrides = RedisOverrides(client, signer=SIGNER)
    assert await skills.get(TENANT, skill().name) is None
    assert await overrides.rules(TENANT) == ()
    assert await store.trace(**lineage) == []
    existing = Existing(client, TENANT, SIGNER)

    survey = await existing.look()
    assert await used(store) is None
    assert survey.to_sign == {"entry": 1, "skill": 2, "override": 1, "trace": 1}
    assert await existing.sign(survey.names) == 5

    assert (await existing.look()).to_sign == {}
    assert await used(store) is not None
    assert await skills.get(TENANT, skill().name) is not None
    assert len(await overrides.rules(TENANT)) == 1
    assert len(await store.trace(**lineage)) == 1
    assert await used(store, tenant="other") is None


async def test_nothing_makes_an_altered_record_trusted(client: Client, store: RedisStepStore) -> None:
    await learn(store, entry())
    key = entry_key(TENANT, CONTENT)
    await store.keep(tenant=TENANT, run_id="run-2", entry=entry(note="not verified"))
    await client.execute_command("HSET", key, "2:status", "active", "1:run", "run-9")
    existing = Existing(client, TENANT, SIGNER)

    survey = await existing.look()

    assert (survey.to_sign, survey.refused) == ({}, {"entry": 2})
    assert await existing.sign({f"{key} version 1", f"{key} version 2"}) == 0
    assert await used(store) is None


# ----------------------------------------------------------------------------------------------- at random

Fields = dict[bytes, bytes]
BATCH = 250


def _mangled(rng: random.Random, value: bytes) -> bytes:
    """Another value."""
    if not value:
        return rng.choice([b"1", b"x", b"\xff"])
    at = rng.randrange(len(value))
    return rng.choice(
        [
            value[:at] + bytes([value[at] ^ (1 << rng.randrange(8))]) + value[at + 1 :],
            value[:at],
            value + rng.choice([b" ", b"}", b"0", b"\x00"]),
            value[:at] + value[at : at + 1] + value[at:],
        ]
    )


def _attacked(rng: random.Random, own: Fields, others: Sequence[Fields], signed: Sequence[bytes]) -> Fields:
    """The fields with one of those that are `signed` changed, taken away, or copied from another record."""
    name = rng.choice(list(signed))
    changed = dict(own)
    match rng.randrange(3):
        case 0:
            changed[name] = _mangled(rng, own.get(name, b""))
        case 1:
            changed.pop(name, None)
        case _:
            other = rng.choice(list(others))
            # A whole record of another name, or one field of it.
            changed = dict(other) if rng.random() < 0.5 else {**own, name: other.get(name, b"")}
    return changed


async def _used_of(reading: Sequence[Coroutine[Any, Any, object]]) -> int:
    """How many of them find something; a few at a time, for each takes a connection."""
    found = 0
    for start in range(0, len(reading), 50):
        found += sum(one is not None for one in await asyncio.gather(*reading[start : start + 50]))
    return found


async def _forged_entries(client: Client, rng: random.Random, count: int) -> int:
    """How many of so many forged entries are used."""
    store = RedisStepStore(client, signer=SIGNER)
    keys = [f"{number:064x}" for number in range(BATCH)]
    for tenant in (TENANT, "other"):
        for key in keys:
            await learn(store, entry(key, note=f"{tenant} {key}"), tenant=tenant)
    names = [*(entry_key(TENANT, key) for key in keys), *(entry_key("other", key) for key in keys)]
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.execute_command("HGETALL", name)
    own: list[Fields] = await pipe.execute()
    signed = [b"1:json", b"1:run", b"1:sig", b"1:seal"]
    taken = 0
    for _ in range(count // BATCH):
        pipe = client.pipeline(transaction=False)
        for number, name in enumerate(names[:BATCH]):
            forged = own[number]
            while forged == own[number]:
                forged = _attacked(rng, own[number], [*own[:number], *own[number + 1 :]], signed)
                if rng.random() < 0.1:  # as another version
                    forged = {k.replace(b"1:", b"2:"): v for k, v in own[number].items()} | {b"versions": b"2"}
            pipe.execute_command("DEL", name)
            pipe.execute_command("HSET", name, *(part for pair in forged.items() for part in pair))
        await pipe.execute()
        taken += await _used_of([used(store, key) for key in keys])
    return taken


async def _run_by_name(skills: RedisSkills, name: str) -> Skill | None:
    found = await skills.get(TENANT, name)
    return found if found is not None and found.status is not SkillStatus.RETIRED else None


async def _forged_skills(client: Client, rng: random.Random, count: int) -> int:
    skills = RedisSkills(client, signer=SIGNER)
    names = [f"skill-{number}" for number in range(BATCH)]
    for tenant in (TENANT, "other"):
        for name in names:
            await skills.save(tenant, skill(name=name, status=SkillStatus.ACTIVE, run_id="r"), who="r")
    keys = [*(skill_key(TENANT, name) for name in names), *(skill_key("other", name) for name in names)]
    own: list[Fields] = [await client.execute_command("HGETALL", key) for key in keys]
    signed = [b"1:json", b"1:run", b"1:id", b"1:sig", b"1:status", b"statuses"]
    taken = 0
    for _ in range(count // BATCH):
        pipe = client.pipeline(transaction=False)
        for number, key in enumerate(keys[:BATCH]):
            forged = own[number]
            while forged == own[number] or forged.get(b"1:json") is None:
                forged = _attacked(rng, own[number], [*own[:number], *own[number + 1 :]], signed)
            pipe.execute_command("DEL", key)
            pipe.execute_command("HSET", key, *(part for pair in forged.items() for part in pair))
        await pipe.execute()
        taken += await _used_of([_run_by_name(skills, name) for name in names])
    return taken


async def _forged_rules(client: Client, rng: random.Random, count: int) -> int:
    overrides = RedisOverrides(client, signer=SIGNER)
    names = [f"rule-{number}" for number in range(BATCH)]
    for tenant in (TENANT, "other"):
        await overrides.put(tenant, [rule(name) for name in names])
    own: Fields = await client.execute_command("HGETALL", overrides_key(TENANT))
    other: Fields = await client.execute_command("HGETALL", overrides_key("other"))
    taken = 0
    for _ in range(count // BATCH):
        forged: Fields = {}
        for name, value in own.items():
            text, _, signature = value.partition(b"\n")
            elsewhere = own[rng.choice([some for some in own if some != name])]
            choice = rng.randrange(5)
            forged[name] = (
                _mangled(rng, text) + b"\n" + signature,
                text + b"\n" + _mangled(rng, signature),
                text,
                elsewhere,
                other[name],
            )[choice]
        await client.execute_command("HSET", overrides_key(TENANT), *(part for pair in forged.items() for part in pair))
        taken += len(await overrides.rules(TENANT))
    return taken


async def _forged_lines(client: Client, rng: random.Random, count: int) -> int:
    store = RedisStepStore(client, signer=SIGNER)
    for tenant, lineage in ((TENANT, "l"), (TENANT, "m"), ("other", "l")):
        for number in range(BATCH):
            await store.append_trace(
                tenant=tenant, lineage=lineage, line={"kind": "note", "sequence": number, "text": "t"}
            )
    key = trace_key(TENANT, "l")
    own = [json.loads(line) for line in await client.execute_command("LRANGE", key, 0, -1)]
    elsewhere = [
        json.loads(line)
        for where in (trace_key(TENANT, "m"), trace_key("other", "l"))
        for line in await client.execute_command("LRANGE", where, 0, -1)
    ]
    taken = 0
    changes: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
        0: lambda line: {**line, "sequence": line["sequence"] + rng.randrange(1, 9)},
        1: lambda line: {**line, "text": "u"},
        2: lambda line: {name: value for name, value in line.items() if name != "sig"},
        3: lambda line: {**line, "sig": {**line["sig"], "by": line["sig"]["by"][:-1]}},
        4: lambda line: {**line, "sig": {**line["sig"], "after": "0/0"}},
        5: lambda _: rng.choice(elsewhere),
        6: lambda line: {**line, "more": 1},
    }
    for _ in range(count // BATCH):
        forged = [changes[rng.randrange(len(changes))](line) for line in own]
        await client.execute_command("DEL", key)
        await client.execute_command("RPUSH", key, *(json.dumps(line) for line in forged))
        taken += len(await store.trace(tenant=TENANT, lineage="l"))
    return taken


@pytest.mark.parametrize(
    ("forge", "count"),
    [(_forged_entries, 4_000), (_forged_skills, 2_000), (_forged_rules, 2_000), (_forged_lines, 2_000)],
)
async def test_of_ten_thousand_forged_records_none_is_used(
    client: Client,
    forge: Callable[[Client, random.Random, int], Any],
    count: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL)

    assert await forge(client, random.Random(7), count) == 0


async def test_a_line_that_stands_twice_is_used_once(client: Client, store: RedisStepStore) -> None:
    await store.append_trace(tenant=TENANT, lineage="l", line={"kind": "note"})
    [line] = await client.execute_command("LRANGE", trace_key(TENANT, "l"), 0, -1)
    await client.execute_command("RPUSH", trace_key(TENANT, "l"), line)

    assert len(await store.trace(tenant=TENANT, lineage="l")) == 1
