"""Which artifacts stay: by use, age, size and count, and those that something refers to."""

import os
from pathlib import Path

import pytest

from cache.connection import Client
from cache.references import referenced
from cache.steps import RedisStepStore
from replaywright.artifacts.retention import DAY_S, Pruned, RetentionLimits, prune, total
from replaywright.artifacts.store import ArtifactStore
from replaywright.cli.servers.stored_sizes import stored_sizes
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Action
from replaywright.ports.ledger import Recording

NOW = 1_700_000_000.0
LOOSE = RetentionLimits(age_s=1000 * DAY_S, size_bytes=10**9, count=10**6)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(str(tmp_path))


async def put(store: ArtifactStore, *ages_days: float, size: int = 10) -> list[str]:
    """One value for each age, that many bytes large."""
    digests = []
    for age in ages_days:
        digest = await store.put(f"{age}".encode().ljust(size))
        os.utime(store.path_of(digest), (NOW - age * DAY_S,) * 2)
        digests.append(digest)
    return digests


async def left(store: ArtifactStore, digests: list[str]) -> list[bool]:
    return [await store.size(digest) is not None for digest in digests]


@pytest.mark.parametrize(
    "limits",
    [
        RetentionLimits(age_s=30 * DAY_S, size_bytes=10**9, count=10**6),
        RetentionLimits(age_s=1000 * DAY_S, size_bytes=25, count=10**6),
        RetentionLimits(age_s=1000 * DAY_S, size_bytes=10**9, count=2),
    ],
    ids=["age", "size", "count"],
)
async def test_what_is_over_a_limit_goes_the_longest_unused_first(
    store: ArtifactStore, tmp_path: Path, limits: RetentionLimits
) -> None:
    digests = await put(store, 40, 31, 29, 2)

    would = await prune(tmp_path, limits, keep=(), now=NOW, dry_run=True)
    assert await left(store, digests) == [True, True, True, True]
    done = await prune(tmp_path, limits, keep=(), now=NOW)

    assert would == done == Pruned(2, 20, 2, 20)
    assert await left(store, digests) == [False, False, True, True]


async def test_what_is_referred_to_stays_and_so_does_what_was_used_today(store: ArtifactStore, tmp_path: Path) -> None:
    digests = await put(store, 40, 39, 0.5, 0.1)

    await prune(tmp_path, RetentionLimits(age_s=1, size_bytes=1, count=1), keep=digests[:1], now=NOW)

    assert await left(store, digests) == [True, False, True, True]


@pytest.mark.parametrize("use", ["get", "put", "put_file"])
async def test_a_value_that_is_used_again_is_new_again(store: ArtifactStore, tmp_path: Path, use: str) -> None:
    [digest] = await put(store, 40)
    data = Path(store.path_of(digest)).read_bytes()
    match use:
        case "get":
            await store.get(digest)
        case "put":
            await store.put(data)
        case _:
            (tmp_path / "source").write_bytes(data)
            await store.put_file(tmp_path / "source")

    assert Path(store.path_of(digest)).stat().st_mtime > NOW - 40 * DAY_S


async def test_what_a_killed_writer_left_aside_goes_and_foreign_files_stay(
    store: ArtifactStore, tmp_path: Path
) -> None:
    [digest] = await put(store, 40)
    aside = Path(store.path_of(digest)).with_name(f".{digest}.0123")
    foreign = Path(store.path_of(digest)).with_name("notes.txt")
    for path in (aside, foreign):
        path.write_bytes(b"x")
        os.utime(path, (NOW - 50 * DAY_S,) * 2)

    await prune(tmp_path, RetentionLimits(age_s=45 * DAY_S, size_bytes=10**9, count=10**6), keep=(), now=NOW)

    assert (aside.exists(), foreign.exists()) == (False, True)
    assert await left(store, [digest]) == [True]


async def test_a_store_that_is_not_there_yet_is_within_its_limits(tmp_path: Path) -> None:
    assert await prune(tmp_path / "none", LOOSE, keep=(), now=NOW) == Pruned()


async def test_the_records_of_a_tenant_are_counted_by_kind_with_their_size_and_those_of_nobody_else(
    client: Client,
) -> None:
    steps = RedisStepStore(client)
    for tenant, lineages in (("counted/a", 3), ("counted", 1)):
        for number in range(lineages):
            for line in ("first", "second"):
                await steps.append_trace(tenant=tenant, lineage=f"run {number}", line={"kind": line, "x": "y" * 5000})

    found = await stored_sizes(client, "counted/a")
    bounded = await stored_sizes(client, "counted/a", at_most=2)

    assert found.counts == {"trace": 3}
    assert 30_000 < found.size_bytes["trace"] < 90_000
    assert found.is_complete
    assert (bounded.counts, bounded.is_complete) == ({"trace": 2}, False)


async def test_the_artifacts_are_counted(store: ArtifactStore, tmp_path: Path) -> None:
    await put(store, 1, 2, size=100)

    assert total(tmp_path) == (2, 200)
    assert total(tmp_path / "none") == (0, 0)


async def test_entries_of_all_tenants_and_traces_of_runs_under_way_refer_to_artifacts(client: Client) -> None:
    steps = RedisStepStore(client)
    good = {"acme": "a" * 64, "a/b:c": "b" * 64}
    for tenant, digest in good.items():
        outcome = StepOutcome(status=Status.DONE, fingerprint="f" * 64, content_key="c" * 64)
        entry = ActionCacheEntry(content_key="c" * 64, action_type=Action.CLICK, tag="a", good_snapshot=digest)
        await steps.record(
            Recording(run_id="r", lineage="l", tenant=tenant, sequence=0, epoch=1, outcome=outcome, entry=entry)
        )
    for lineage, digest in (("running", "d" * 64), ("over", "e" * 64)):
        line = {"kind": "step", "artifacts": {"dom": digest}}
        await steps.append_trace(tenant="acme", lineage=lineage, line=line)

    found = await referenced(client, [("acme", "running")])

    assert found >= {*good.values(), "d" * 64}
    assert "e" * 64 not in found
