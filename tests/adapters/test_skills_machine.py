"""The knowledge base's scripts on the real server against the shipped fake: any changes, in any order."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache.connection import open_redis
from cache.skills import RedisSkills
from replaywright.domain.skill.skills import SkillStatus
from replaywright.ports.stores import Skills
from replaywright.testing.skills import FakeSkills
from tests.unit.skills import SITE, run, skill

Change: TypeAlias = Callable[[Skills, str], Awaitable[object]]

NAMES = st.sampled_from(["send-mail", "open-mail"])
SITES = st.sampled_from([SITE, "http://other.example", ""])
VERSIONS = st.integers(1, 4)
STATUSES = st.sampled_from(list(SkillStatus))
FAILED = st.none() | st.integers(0, 2)
RUNS = st.sampled_from(["", "r1", "r2"])


def saves(name: str, site: str, status: SkillStatus, run_id: str) -> Change:
    one = skill(name, site=site, status=status, run_id=run_id)
    return lambda skills, tenant: skills.save(tenant, one, who="ada", reason="why")


def sets(name: str, version: int, status: SkillStatus) -> Change:
    return lambda skills, tenant: skills.set_status(tenant, name, version, status, who="ada", reason="why")


def notes(name: str, version: int, run_id: str, failed: int | None, outside: bool) -> Change:
    done = 3 if failed is None else failed
    went = run(run_id, version, succeeded=failed is None, steps_done=done, failed_step=failed, outside=outside)
    return lambda skills, tenant: skills.note_run(tenant, name, went)


def deletes(name: str) -> Change:
    return lambda skills, tenant: skills.delete(tenant, name, who="ada")


CHANGES = st.one_of(
    st.builds(saves, NAMES, SITES, STATUSES, RUNS),
    st.builds(sets, NAMES, VERSIONS, STATUSES),
    st.builds(
        notes, NAMES, VERSIONS, st.text("abc", min_size=1, max_size=2), st.none() | st.integers(0, 2), st.booleans()
    ),
    st.builds(deletes, NAMES),
)


async def seen(skills: Skills, tenant: str) -> Any:
    """All that can be asked, without times."""
    told: list[Any] = []
    for name in ("send-mail", "open-mail"):
        record = await skills.record(tenant, name)
        if record is None:
            told.append(None)
            continue
        versions = [await skills.get(tenant, name, version) for version in record.versions]
        told.append(
            (
                [one.model_copy(update={"created": 0.0}) for one in versions if one is not None],
                record.skill.version,
                record.statistics.model_copy(update={"last_success": 0.0, "last_failure": 0.0}),
                [change.model_copy(update={"at": 0.0}) for change in record.history],
            )
        )
    listed = [await skills.all(tenant, site) for site in (None, SITE, "http://other.example", "")]
    return [*told, [[(one.name, one.version, one.status) for one in found] for found in listed]]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        yield runner


def test_the_server_does_what_the_fake_does(redis_url: str, runner: asyncio.Runner) -> None:
    client = open_redis(redis_url)
    real = RedisSkills(client)

    async def both(changes: list[Change]) -> None:
        fake, tenant = FakeSkills(), uuid4().hex
        revisions: dict[str, Any] = {}
        for change in changes:
            assert same(await change(real, tenant)) == same(await change(fake, tenant))
            before = await real.revision(tenant)
            found = await seen(real, tenant)
            assert found == await seen(fake, tenant)
            assert revisions.setdefault(before, found[2:]) == found[2:]  # one revision, one answer

    @settings(max_examples=25)
    @given(st.lists(CHANGES, max_size=12))
    def tried(changes: list[Change]) -> None:
        runner.run(both(changes))

    try:
        tried()
    finally:
        runner.run(client.aclose())


def same(answer: object) -> object:
    """An answer without the time in it."""
    return answer.model_copy(update={"created": 0.0}) if hasattr(answer, "model_copy") else answer
