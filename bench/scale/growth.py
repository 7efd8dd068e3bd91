"""What a step, a look-up and a recall cost as runs, cache and knowledge base grow."""

import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from temporalio.testing import ActivityEnvironment

from activities.skill.recall import RecallActivities
from bench.recall import synthetic, timing
from bench.recall_set import load
from bench.scale.fleet import Fleet, p95
from bench.scale.site import list_task
from cache.connection import Client, open_redis
from cache.keys import entry_key, index_key
from cache.recalls import KEPT as RECALLS_KEPT
from cache.recalls import RedisRecalls
from cache.skills import RedisSkills
from cache.steps import RedisStepStore
from replaywright.domain.recall.recall import RecallRecord, RecallRequest
from replaywright.domain.secrets.signing import Key, Signer
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Action, Effect
from replaywright.errors import StackFailed
from replaywright.ports.ledger import Recording
from replaywright.stack.redis import provide_redis, start_redis

Row = dict[str, float | int | str]
Tell = Callable[[str], None]

TENANT = "scale"
SIGNER = Signer([Key("k1", b"1" * 32)])
ASKED = 200
"""Look-ups, steps and recalls that are timed at each size."""
AT_ONCE = 250
SKILLS_OF_A_SITE = 100
"""Where skills are spread over sites."""


WRITTEN_OUT = 3_000
"""Steps of a task that are written out, at most: about 3,200 of them are over the 2 MB that Temporal takes at once."""


async def longer(sizes: Sequence[int], *, tell: Tell) -> list[Row]:
    """Runs of so many steps, browsers played: milliseconds a step in the first and in the last part.

    A task with more than `WRITTEN_OUT` of them is a list: what is learned at its first item serves for the others.
    """
    rows: list[Row] = []
    async with Fleet(1, played=True, tell=tell) as fleet:
        await fleet.learned(10)
        for steps in sizes:
            as_list = steps > WRITTEN_OUT
            task = list_task(fleet.url, steps) if as_list else await fleet.learned(steps)
            waved = await fleet.wave(task, 1)
            if waved.failed or waved.steps < steps:  # a step that is tried again is recorded again
                raise StackFailed(f"a run of {steps} steps recorded {waved.steps}: {waved.failed}")
            part = max(20, steps // 10)
            first, last = waved.gaps_ms[:part], waved.gaps_ms[-part:]
            rows.append(
                {
                    "steps": steps,
                    "task": "a list" if as_list else "written out",
                    "first_ms": round(statistics.median(first), 1),
                    "last_ms": round(statistics.median(last), 1),
                    "mean_ms": round(statistics.fmean(waved.gaps_ms), 1),
                    "p95_ms": round(p95(waved.gaps_ms), 1),
                    "most_ms": round(max(waved.gaps_ms), 1),
                }
            )
            tell(f"{steps} steps: {rows[-1]}")
    return rows


@contextlib.asynccontextmanager
async def _own_redis() -> AsyncIterator[Client]:
    """An empty server, as durable as the local stack's when it is measured."""
    with tempfile.TemporaryDirectory(prefix="replaywright-scale-") as folder:
        server = await start_redis(provide_redis().path, folder=Path(folder) / "data", log=Path(folder) / "redis.log")
        client = open_redis(server.url, client_name="replaywright-bench", read_timeout_s=120)
        try:
            await client.execute_command("CONFIG", "SET", "auto-aof-rewrite-percentage", "0")
            yield client
        finally:
            await client.aclose()
            await server.child.stop()


@contextlib.asynccontextmanager
async def _filling(client: Client) -> AsyncIterator[None]:
    """The disk is not waited for, what is measured afterwards is."""
    await client.execute_command("CONFIG", "SET", "appendfsync", "no")
    yield
    await client.execute_command("CONFIG", "SET", "appendfsync", "always")


async def fuller(sizes: Sequence[int], *, tell: Tell) -> list[Row]:
    """A cache of so many entries: milliseconds of a look-up, and of recording a step and looking the next one up."""
    rows: list[Row] = []
    async with _own_redis() as client:
        store = RedisStepStore(client, signer=SIGNER)
        keys = [f"{number:064x}" for number in range(ASKED)]
        for key in keys:
            await store.keep(tenant=TENANT, run_id="run", entry=_entry(key))
        await store.promote(tenant=TENANT, run_id="run", content_keys=keys)
        there = ASKED
        for size in sizes:
            async with _filling(client):
                await _fill(client, there, size, like=keys[0])
            there = max(there, size)
            look = await _timed(keys, lambda key: store.look_up(**_of(key), run_id="run", fingerprint="f" * 64))
            step = await _timed(keys, partial(_record, store, size))
            entries: int = await client.execute_command("ZCARD", index_key(TENANT))
            memory = (await client.execute_command("INFO", "memory"))["used_memory"]
            rows.append(
                {
                    "entries": entries,
                    "look_up_ms": round(statistics.median(look), 3),
                    "look_up_p95_ms": round(p95(look), 3),
                    "step_ms": round(statistics.median(step), 3),
                    "step_p95_ms": round(p95(step), 3),
                    "memory_mib": round(memory / 1024 / 1024),
                }
            )
            tell(f"{rows[-1]}")
    return rows


def _entry(key: str) -> ActionCacheEntry:
    fields = {"content_key": key, "action_type": Action.FILL, "tag": "input", "role": "textbox", "name": "Name"}
    more = {"xpath": "/html[1]/body[1]/p[1]/label[1]/input[1]", "css": "input[name='name']", "instruction": "the name"}
    return ActionCacheEntry.model_validate({**fields, **more, "neighbours": ("Form", "City", "Note", "Keep")})


def _of(key: str) -> dict[str, str]:
    return {"tenant": TENANT, "lineage": "lineage", "content_key": key}


def _recording(key: str, size: int) -> Recording:
    fields = {"fingerprint": f"{int(key, 16) + size:064x}", "content_key": key, "lookup": Lookup(hit=True)}
    outcome = StepOutcome(status=Status.DONE, effect=Effect.IDEMPOTENT, **fields)  # type: ignore[arg-type] # as above
    return Recording(
        tenant=TENANT,
        lineage=f"lineage-{size}",
        run_id="run",
        sequence=int(key, 16),
        epoch=1,
        outcome=outcome,
        used_version=1,
        next_fingerprint="e" * 64,
        next_content_key=key,
    )


async def _record(store: RedisStepStore, size: int, key: str) -> None:
    await store.record(_recording(key, size))


async def _fill(client: Client, start: int, end: int, *, like: str) -> None:
    """Entries as large as the one that is `like` them; they are never looked up, only there."""
    raw: dict[bytes, bytes] = await client.execute_command("HGETALL", entry_key(TENANT, like))
    fields = [part for pair in raw.items() for part in pair]
    for at in range(start, end, AT_ONCE):
        pipe = client.pipeline(transaction=False)
        names = [f"{number:064x}" for number in range(at, min(at + AT_ONCE, end))]
        for name in names:
            pipe.execute_command("HSET", entry_key(TENANT, name), *fields)
        pipe.execute_command("ZADD", index_key(TENANT), *(part for name in names for part in (0, name)))
        await pipe.execute()


async def _timed(keys: Sequence[str], call: Callable[[str], Awaitable[object]]) -> list[float]:
    """Milliseconds of each call, one after the other."""
    spent = []
    for key in keys:
        begun = time.perf_counter()
        await call(key)
        spent.append(1000 * (time.perf_counter() - begun))
    return spent


async def wiser(sizes: Sequence[int], *, tell: Tell) -> list[Row]:
    """So many skills: milliseconds of a recall from memory with all on one site, and from Redis over many sites."""
    of_one_site = timing(sizes)
    _, sentences = load()
    rows: list[Row] = []
    environment = ActivityEnvironment()
    async with _own_redis() as client:
        skills = RedisSkills(client, signer=SIGNER)
        async with _filling(client):
            await _recalled(RedisRecalls(client), RECALLS_KEPT // 2)
        there = 0
        for size in sizes:
            made = synthetic(size)[there:]
            async with _filling(client):
                for at in range(0, len(made), AT_ONCE):
                    await asyncio.gather(
                        *(
                            skills.save(
                                TENANT, skill.model_copy(update={"site": _site(there + at + number)}), who="bench"
                            )
                            for number, skill in enumerate(made[at : at + AT_ONCE])
                        )
                    )
            there = size
            recalling = RecallActivities(RedisSkills(client, signer=SIGNER), RedisRecalls(client))
            spent = []
            for sentence in sentences[:ASKED]:
                request = RecallRequest(tenant=TENANT, goal=sentence.text, url=_site(size - 1))
                begun = time.perf_counter()
                await environment.run(recalling.recall, request)
                spent.append(1000 * (time.perf_counter() - begun))
            warm, built = of_one_site[size]
            rows.append(
                {
                    "skills": size,
                    "one_site_ms": round(warm, 2),
                    "one_site_index_s": round(built, 2),
                    "many_sites_first_ms": round(spent[0], 1),
                    "many_sites_ms": round(statistics.median(spent[1:]), 2),
                    "many_sites_p95_ms": round(p95(spent[1:]), 2),
                }
            )
            tell(f"{rows[-1]}")
    return rows


async def _recalled(recalls: RedisRecalls, times: int) -> None:
    """Earlier recalls and what became of them: as many as are kept, or the later sizes would have more of them."""
    for number in range(times):
        record = RecallRecord(run_id=f"run-{number}", decision="accept", skill=f"skill-{number % 50}", score=0.9)
        await recalls.note(TENANT, record)
        await recalls.note_outcome(TENANT, record.run_id, "succeeded")


def _site(number: int) -> str:
    return f"http://site-{number // SKILLS_OF_A_SITE}.example"
