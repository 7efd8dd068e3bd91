"""Every task of the park learned, replayed, and taken to the other editions, on the real stack."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rich.console import Console

from bench.endings import ending_of
from bench.miniwob import End, why_of
from bench.park.app import App, Edition, Site
from bench.park.job import PASSWORD, UPLOADS, Job, Seen
from bench.wob.oracle import Oracle, Pick
from bench.wob.serving import serving
from cache.connection import open_redis
from cache.steps import RedisStepStore
from demo.stage import PASSWORD_SECRET, Stage
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode
from replaywright.settings import load_settings

RUN_LIMIT_S = 240
JUDGE_S = 6.0
"""How long an application may take to store what it has accepted."""
_POLL_S = 0.1


class Kind(StrEnum):
    """Which run of a task."""

    LEARN = "learn"
    DESCRIBED = "learn described"
    """Elements that a role and a name tell are described by them."""
    SAME = "same values"
    NEW = "new values"
    OTHER = "other edition"
    """Without a model."""
    FALLBACK = "fallback"
    """In the other edition, with a model where a replay stopped."""
    AGAIN = "once more"


@dataclass(frozen=True)
class Outcome:
    """One run."""

    app: str
    job: str
    edition: str
    kind: Kind
    end: End
    why: str
    model_calls: int
    heals: int
    approved: int
    """Questions in which a person let a press that a model chose have its consequences."""
    same_flow: bool
    seconds: float
    run_id: str


class Lab:
    """The stage and the stand-in, for all applications."""

    def __init__(self, stage: Stage, oracle: Oracle, store: RedisStepStore) -> None:
        self.stage = stage
        self.oracle = oracle
        self._store = store

    async def forget(self) -> None:
        """Forget everything that was learned, so that no task knows what another one has found."""
        for prefix in "0123456789abcdef":
            await self._store.invalidate(
                tenant=self.stage.place.settings.tenant, content_key=prefix, reason="the next task is to learn"
            )

    async def run(self, app: App, site: Site, job: Job, edition: Edition, kind: Kind) -> Outcome:
        """Serve the edition afresh, do the task, and ask the task's judge."""
        place = await site.begin(edition)
        self.stage.allow(place.url)
        if job.signs_in:
            self.stage.bind(PASSWORD_SECRET, place.url)
        values = job.new if kind is Kind.NEW else job.values
        task = job.task(app.name, described=kind is Kind.DESCRIBED)
        given = {"site": place.url, **values}
        mode = {Kind.LEARN: Mode.LEARN, Kind.OTHER: Mode.REPLAY}.get(kind, Mode.AUTO)
        order = Order(task, given, new_run_id(task, given), mode=mode)
        rules = job.told(values, edition.name) if kind in (Kind.LEARN, Kind.DESCRIBED, Kind.FALLBACK) else {}
        begun, counted, approved = time.monotonic(), self.oracle.calls, set[str]()
        ending = await self._ending(order, rules, approved)
        end, why = End.DONE, ""
        if ending.status != "done":
            end, why = End.STOPPED, why_of(ending)
        else:
            seen = Seen(place, values, ending.result.extracted, await self.files(ending.result))
            if why := await fault_of(job, seen):
                end = End.WRONG
        return Outcome(
            app=app.name,
            job=job.name,
            edition=edition.name,
            kind=kind,
            end=end,
            why=why,
            model_calls=self.oracle.calls - counted,
            heals=ending.result.totals.heals,
            approved=len(approved),
            same_flow=edition.name not in job.other_flow,
            seconds=time.monotonic() - begun,
            run_id=order.run_id,
        )

    async def _ending(self, order: Order, rules: Mapping[str, Pick], approved: set[str]) -> Ending:
        """Return how the run ends, with a stand-in that knows these rules, and a person where that one chooses."""
        self.oracle.learn(rules)
        try:
            return await ending_of(order, self.stage, RUN_LIMIT_S, approved=approved if rules else None)
        finally:
            self.oracle.forget(rules)

    async def files(self, result: RunResult) -> dict[str, bytes]:
        """Return the downloaded files by name, from the artifact store."""
        store = artifact_store_of(self.stage.place.settings)
        return {file.name: await store.get(file.sha256) for file in result.files if file.sha256}


async def fault_of(job: Job, seen: Seen) -> str:
    """Return what is not as it was to be, once the application has had time to store it."""
    deadline = time.monotonic() + JUDGE_S
    while True:
        if not (why := await asyncio.to_thread(job.judge, seen)) or time.monotonic() > deadline:
            return why
        await asyncio.sleep(_POLL_S)


async def taken(lab: Lab, app: App, site: Site, job: Job) -> AsyncIterator[Outcome]:
    """Yield the runs of one task: in the first edition, then from it to each other one, as if there were no third."""
    first, *others = app.editions
    await lab.forget()
    yield await lab.run(app, site, job, first, Kind.DESCRIBED)
    await lab.forget()
    learned = await lab.run(app, site, job, first, Kind.LEARN)
    yield learned
    if learned.end is not End.DONE:
        return
    for kind in (Kind.SAME, Kind.NEW):
        yield await lab.run(app, site, job, first, kind)
    for edition in others:
        if edition is not others[0]:
            await lab.forget()
            await lab.run(app, site, job, first, Kind.LEARN)
        replayed = await lab.run(app, site, job, edition, Kind.OTHER)
        yield replayed
        if edition.name in job.other_flow:
            continue
        if replayed.end is not End.DONE:
            fallen = await lab.run(app, site, job, edition, Kind.FALLBACK)
            yield fallen
            if fallen.end is not End.DONE:
                continue
        yield await lab.run(app, site, job, edition, Kind.AGAIN)


async def evaluated(apps: Sequence[App], only: str, console: Console) -> list[Outcome]:
    """Take every task whose name has `only` in it through all its runs, on a stage of their own.

    Raises:
        EnvironmentFailed: an application cannot be installed or prepared.
        StackFailed: a part of the stack, or an application, did not come up.
    """
    outcomes: list[Outcome] = []
    async with lab() as here:
        for app in apps:
            async with app.site() as site:
                for job in (job for job in app.jobs if only in job.name):
                    async for outcome in taken(here, app, site, job):
                        outcomes.append(outcome)
                        console.print(_line(outcome), markup=False, highlight=False)
    return outcomes


def _line(outcome: Outcome) -> str:
    told = f"{outcome.app} {outcome.edition} {outcome.job} ({outcome.kind}): {outcome.end}"
    calls = f", {outcome.model_calls} model calls" if outcome.model_calls else ""
    heals = f", {outcome.heals} heals" if outcome.heals else ""
    asked = f", {outcome.approved} times a person was asked" if outcome.approved else ""
    return f"{told}{calls}{heals}{asked}, {outcome.seconds:.1f} s{': ' if outcome.why else ''}{outcome.why}"


@asynccontextmanager
async def lab() -> AsyncIterator[Lab]:
    """Yield a stage with a stand-in, fresh, and files to upload.

    Raises:
        StackFailed: a part of the stack did not come up.
    """
    async with AsyncExitStack() as exits:
        oracle = Oracle()
        model = await exits.enter_async_context(serving(oracle.app()))
        uploads = exits.enter_context(tempfile.TemporaryDirectory(prefix="replaywright-park-files-"))
        for name, words in UPLOADS.items():
            (Path(uploads) / name).write_bytes(words)
        given = {"model": "openai:oracle", "model_base_url": f"{model}/v1", "upload_roots": uploads}
        stage = Stage(load_settings().model_copy(update=given), tell=lambda _text: None)
        stage.password = PASSWORD
        await exits.enter_async_context(stage)
        redis = open_redis(stage.place.settings.redis_url or "")
        exits.push_async_callback(redis.aclose)
        yield Lab(stage, oracle, RedisStepStore(redis))
