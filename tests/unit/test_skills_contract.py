"""What every knowledge base keeps: the shipped fake, and the one in Redis on a real server."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from cache.connection import open_redis
from cache.skills import RedisSkills
from replaywright.domain.secrets.signing import Key, Signer
from replaywright.domain.skill.skills import HISTORY_KEPT, RECENT_RUNS, Rate, Skill, SkillStatus
from replaywright.ports.stores import Skills
from replaywright.testing.skills import FakeSkills
from tests.unit.skills import SITE, run, skill

ACTIVE, CANDIDATE, SUSPECT, RETIRED = (
    SkillStatus.ACTIVE,
    SkillStatus.CANDIDATE,
    SkillStatus.SUSPECT,
    SkillStatus.RETIRED,
)
T = "acme"

if TYPE_CHECKING:  # the type checker compares signatures

    def _ports(fake: FakeSkills, real: RedisSkills) -> None:
        _fake: Skills = fake
        _real: Skills = real


@pytest.fixture
def fake() -> Skills:
    return FakeSkills()


@pytest.fixture
async def real(redis_url: str) -> AsyncIterator[Skills]:
    async with open_redis(redis_url) as client:
        yield RedisSkills(client)


@pytest.fixture
async def clustered(cluster_url: str) -> AsyncIterator[Skills]:
    async with open_redis(cluster_url) as client:
        yield RedisSkills(client)


@pytest.fixture
async def signed(redis_url: str) -> AsyncIterator[Skills]:
    async with open_redis(redis_url) as client:
        yield RedisSkills(client, signer=Signer((Key("k1", b"1" * 32),)))


@pytest.fixture(params=["fake", "real", "signed", "clustered"])
def skills(request: pytest.FixtureRequest) -> Skills:
    found: Skills = request.getfixturevalue(request.param)
    return found


async def added(skills: Skills, *, status: SkillStatus = ACTIVE, name: str = "send-mail", note: str = "") -> Skill:
    return await skills.save(T, skill(name, status=status, note=note), who="ada")


async def statuses(skills: Skills, name: str = "send-mail") -> list[tuple[int, str]]:
    found = await skills.record(T, name)
    versions = () if found is None else found.versions
    read = [await skills.get(T, name, version) for version in versions]
    return [(one.version, one.status.value) for one in read if one is not None]


async def changes(skills: Skills, name: str = "send-mail") -> list[tuple[int, str, str]]:
    found = await skills.record(T, name)
    return [] if found is None else [(change.version, change.what, change.who) for change in found.history]


async def test_nothing_is_known_of_a_new_name(skills: Skills) -> None:
    assert await skills.get(T, "send-mail") is None
    assert await skills.record(T, "send-mail") is None
    assert await skills.all(T) == ()
    assert not await skills.set_status(T, "send-mail", 1, ACTIVE, who="ada", reason="")
    assert not await skills.delete(T, "send-mail", who="ada")
    await skills.note_run(T, "send-mail", run())
    assert await skills.record(T, "send-mail") is None


async def test_what_was_saved_is_found_whole(skills: Skills) -> None:
    given = skill(near_misses=("do not send it",), run_id="r1", note="first", origin="learned")

    saved = await skills.save(T, given, who="r1")

    assert saved.version == 1
    assert saved == given.model_copy(update={"created": saved.created})
    assert await skills.get(T, "send-mail") == saved
    assert await skills.get(T, "send-mail", 1) == saved
    assert await skills.get(T, "send-mail", 2) is None
    assert await skills.all(T) == (saved,)


async def test_versions_are_numbered_and_the_newest_active_one_is_chosen(skills: Skills) -> None:
    first = await added(skills)
    second = await added(skills, status=CANDIDATE, note="second")
    third = await added(skills, status=CANDIDATE, note="third")

    assert [first.version, second.version, third.version] == [1, 2, 3]
    assert await skills.get(T, "send-mail") == first
    assert (await skills.all(T)) == (first,)


async def test_without_an_active_version_the_newest_is_chosen(skills: Skills) -> None:
    await added(skills, status=SUSPECT)
    newest = await added(skills, status=RETIRED, note="second")

    assert await skills.get(T, "send-mail") == newest


async def test_the_same_version_of_the_same_run_is_added_once(skills: Skills) -> None:
    first = await skills.save(T, skill(run_id="r1"), who="r1")
    again = await skills.save(T, skill(run_id="r1"), who="r1")
    other = await skills.save(T, skill(run_id="r2"), who="r2")

    assert again == first
    assert other.version == 2


async def test_what_is_saved_again_has_the_status_that_it_came_to_have(skills: Skills) -> None:
    await skills.save(T, skill(run_id="r1"), who="r1")
    await skills.set_status(T, "send-mail", 1, ACTIVE, who="r1", reason="verified")

    again = await skills.save(T, skill(run_id="r1"), who="r1")

    assert (again.version, again.status) == (1, ACTIVE)


async def test_an_active_version_retires_those_before_it(skills: Skills) -> None:
    await added(skills)
    await added(skills, status=CANDIDATE, note="second")
    await added(skills, status=CANDIDATE, note="third")

    assert await skills.set_status(T, "send-mail", 2, ACTIVE, who="r2", reason="verified")

    assert await statuses(skills) == [(1, "retired"), (2, "active"), (3, "candidate")]
    assert await changes(skills) == [
        (1, "created", "ada"),
        (1, "activated", "ada"),
        (2, "relearned", "ada"),
        (3, "relearned", "ada"),
        (2, "activated", "r2"),
        (1, "retired", "r2"),
    ]


async def test_restoring_an_older_version_retires_the_newer_active_one(skills: Skills) -> None:
    await added(skills)
    await added(skills, note="second")

    await skills.set_status(T, "send-mail", 1, ACTIVE, who="ada", reason="the new one is wrong")

    assert await statuses(skills) == [(1, "active"), (2, "retired")]
    assert (await changes(skills))[-2:] == [(1, "restored", "ada"), (2, "retired", "ada")]


async def test_setting_the_status_that_it_has_changes_nothing(skills: Skills) -> None:
    await added(skills)
    before = await skills.record(T, "send-mail")

    assert await skills.set_status(T, "send-mail", 1, ACTIVE, who="ada", reason="again")

    assert await skills.record(T, "send-mail") == before


async def test_a_run_counts_once_for_the_skill_and_for_each_step(skills: Skills) -> None:
    await added(skills)

    await skills.note_run(T, "send-mail", run("r1"))
    await skills.note_run(T, "send-mail", run("r1"))
    await skills.note_run(T, "send-mail", run("r2", succeeded=False, steps_done=1, failed_step=1, reason="not_found"))

    found = await skills.record(T, "send-mail")
    assert found is not None
    assert found.statistics.runs == Rate(succeeded=1, failed=1, recent=(True, False))
    assert found.statistics.steps == {
        0: Rate(succeeded=2, recent=(True, True)),
        1: Rate(succeeded=1, failed=1, recent=(True, False)),
        2: Rate(succeeded=1, recent=(True,)),
    }
    assert 0 < found.statistics.last_success < found.statistics.last_failure
    assert await skills.statistics(T, [found.skill]) == {"send-mail": found.statistics}


async def test_the_rate_rolls_over_the_last_runs(skills: Skills) -> None:
    await added(skills)

    for number in range(RECENT_RUNS + 5):
        await skills.note_run(T, "send-mail", run(f"r{number}", succeeded=number >= 10))

    found = await skills.record(T, "send-mail")
    assert found is not None
    assert (found.statistics.runs.succeeded, found.statistics.runs.failed) == (RECENT_RUNS - 5, 10)
    assert found.statistics.runs.rolling == (RECENT_RUNS - 5) / RECENT_RUNS


async def test_a_run_that_failed_makes_the_active_version_suspect_and_says_which_step(skills: Skills) -> None:
    await added(skills)

    await skills.note_run(T, "send-mail", run("r1", succeeded=False, steps_done=1, failed_step=1, reason="not_found"))

    found = await skills.record(T, "send-mail")
    assert found is not None
    assert found.skill.status is SUSPECT
    assert (found.history[-1].what, found.history[-1].who) == ("suspected", "r1")
    assert found.history[-1].reason == "step 2: not_found"


async def test_a_failure_from_outside_is_counted_and_nobody_is_to_blame(skills: Skills) -> None:
    await added(skills)

    failed = run("r1", succeeded=False, steps_done=0, failed_step=0, reason="SecretMissing", outside=True)
    await skills.note_run(T, "send-mail", failed)

    found = await skills.record(T, "send-mail")
    assert found is not None
    assert (found.skill.status, found.statistics.runs.failed, found.statistics.steps) == (ACTIVE, 1, {})


@pytest.mark.parametrize("status", [CANDIDATE, RETIRED])
async def test_a_version_that_is_not_active_is_not_made_suspect(skills: Skills, status: SkillStatus) -> None:
    await added(skills, status=status)

    await skills.note_run(T, "send-mail", run(succeeded=False))

    assert await statuses(skills) == [(1, status.value)]


async def test_steps_are_told_of_the_version_that_is_run(skills: Skills) -> None:
    await added(skills)
    await skills.note_run(T, "send-mail", run("r1", version=1))
    await added(skills, note="second")

    found = await skills.record(T, "send-mail")

    assert found is not None
    assert (found.skill.version, found.statistics.steps) == (2, {})
    assert found.statistics.runs.succeeded == 1


async def test_the_history_is_capped_and_keeps_the_newest(skills: Skills) -> None:
    await added(skills)

    for number in range(HISTORY_KEPT):
        await skills.set_status(T, "send-mail", 1, (SUSPECT, ACTIVE)[number % 2], who=f"r{number}", reason="again")

    found = await skills.record(T, "send-mail")
    assert found is not None
    assert len(found.history) == HISTORY_KEPT
    assert found.history[-1].who == f"r{HISTORY_KEPT - 1}"


async def test_the_newest_versions_are_kept_and_the_active_one_whatever_its_age(skills: Skills) -> None:
    await added(skills)

    for number in range(25):
        await added(skills, status=CANDIDATE, note=str(number))

    found = await skills.record(T, "send-mail")
    assert found is not None
    assert found.skill.version == 1
    assert found.versions == (1, *range(8, 27))


async def test_a_deleted_skill_leaves_its_history_and_its_numbers(skills: Skills) -> None:
    await added(skills)
    await skills.note_run(T, "send-mail", run())

    assert await skills.delete(T, "send-mail", who="ada")
    gone = (await skills.get(T, "send-mail"), await skills.record(T, "send-mail"), await skills.all(T, SITE))
    again = await added(skills, note="again")

    assert gone == (None, None, ())
    assert again.version == 2
    assert [what for _, what, _ in await changes(skills)] == ["created", "activated", "deleted", "created", "activated"]
    assert (await skills.statistics(T, [again]))["send-mail"].runs == Rate()


async def test_skills_are_listed_by_name_and_site(skills: Skills) -> None:
    for name, site in (("b", SITE), ("a", SITE), ("c", ""), ("d", f"{SITE}:8080")):
        await skills.save(T, skill(name, site=site), who="ada")

    assert [one.name for one in await skills.all(T)] == ["a", "b", "c", "d"]
    assert [one.name for one in await skills.all(T, SITE)] == ["a", "b"]
    assert [one.name for one in await skills.all(T, "")] == ["c"]
    assert await skills.all("other") == ()


async def test_a_skill_that_moves_is_listed_at_its_new_site_only(skills: Skills) -> None:
    await added(skills)
    assert len(await skills.all(T, SITE)) == 1

    await skills.save(T, skill(site="http://new.example", status=ACTIVE), who="ada")

    assert await skills.all(T, SITE) == ()
    assert [one.version for one in await skills.all(T, "http://new.example")] == [2]
    assert [one.version for one in await skills.all(T)] == [2]


async def test_every_change_of_what_is_listed_is_seen_at_once(skills: Skills) -> None:
    await added(skills)
    seen = [(await skills.all(T, SITE))[0].status]
    await skills.note_run(T, "send-mail", run(succeeded=False))
    seen.append((await skills.all(T, SITE))[0].status)
    await skills.set_status(T, "send-mail", 1, ACTIVE, who="ada", reason="")
    seen.append((await skills.all(T, SITE))[0].status)

    assert seen == [ACTIVE, SUSPECT, ACTIVE]


async def test_the_revision_changes_with_what_is_listed_and_with_nothing_else(skills: Skills) -> None:
    await added(skills)
    await skills.save(T, skill("other", site="http://other.example"), who="ada")
    first = await skills.revision(T, SITE), await skills.revision(T)

    await skills.note_run(T, "send-mail", run())
    await added(skills, status=CANDIDATE, note="not chosen")
    await skills.set_status(T, "other", 1, ACTIVE, who="ada", reason="")
    second = await skills.revision(T, SITE), await skills.revision(T)
    await skills.set_status(T, "send-mail", 1, SUSPECT, who="ada", reason="")
    third = await skills.revision(T, SITE), await skills.revision(T)

    assert second[0] == first[0] != third[0]
    assert len({first[1], second[1], third[1]}) == 3


async def test_a_claim_is_one_runs_until_it_is_released(skills: Skills) -> None:
    first = await skills.claim(T, "send", "r1", 60)
    again = await skills.claim(T, "send", "r1", 60)
    other = await skills.claim(T, "send", "r2", 60)
    elsewhere = await skills.claim("other", "send", "r2", 60)
    await skills.release(T, "send", "r2")
    still = await skills.claim(T, "send", "r3", 60)
    await skills.release(T, "send", "r1")
    free = await skills.claim(T, "send", "r3", 60)

    assert [first, again, other, elsewhere, still, free] == ["r1", "r1", "r1", "r2", "r1", "r3"]
