"""One stage for many runs of the demo's task: start it, kill or freeze its worker at a point, see what became of it."""

import asyncio
import contextlib
import dataclasses
import inspect
import itertools
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from temporalio.client import WorkflowHandle

from cache.connection import open_redis
from cache.keys import trace_key
from cache.steps import RedisStepStore
from demo.main_job import TASK_FILE
from demo.person import followed
from demo.stage import Stage
from demo.webmail.store import SentMessage
from replaywright.cli.evidence.trace import exported
from replaywright.cli.people.updates import decide
from replaywright.cli.runs import starting
from replaywright.cli.runs.follow import Ending, follow, handle_of, progress_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.servers.connect import Backend
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.questions import Question
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.domain.trace.audit import AuditFinding, audit
from replaywright.keeper.host.client import list_live
from replaywright.keeper.protocol import SessionRecord
from replaywright.stack import Child

FREEZE = "REPLAYWRIGHT_INTERNAL_FREEZE"

_POLL_S = 0.02


async def until(what: str, holds: Callable[[], bool | Awaitable[bool]], limit_s: float = 120) -> None:
    """Return as soon as the condition holds; it has to, within the limit, which a busy machine needs."""
    deadline = time.monotonic() + limit_s
    while True:
        held = holds()
        if await held if inspect.isawaitable(held) else held:
            return
        assert time.monotonic() < deadline, f"not within {limit_s:g} s: {what}"
        await asyncio.sleep(_POLL_S)


def is_stopped(worker: Child) -> bool:
    """Return True if the process was stopped, and not continued."""
    try:
        return psutil.Process(worker.pid).status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


@contextlib.contextmanager
def runs_with(**fields: object) -> Iterator[None]:
    """Start the runs of the block with other numbers than those of every run, such as `hibernate_after_s`."""
    made = starting.run_input
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starting, "run_input", lambda settings, order: made(settings, order).model_copy(update=fields))
        yield


@dataclass
class Lab:
    """Runs the demo's task, each time with a mail of its own."""

    stage: Stage
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    task: Task = field(default_factory=lambda: read_task(str(TASK_FILE)))
    tenant: str = ""
    """Empty for the stage's own."""
    approves: bool = True
    """Whether somebody lets go what a press may send that a model chose."""
    asked: list[Question] = field(default_factory=list)
    """What was asked about that."""

    @property
    def place(self) -> Backend:
        """Where runs are started."""
        place = self.stage.place
        if not self.tenant:
            return place
        settings = place.settings.model_copy(update={"tenant": self.tenant})
        return dataclasses.replace(place, settings=settings, served_by=place.queue)

    def apart(self, task: Task | None = None) -> "Lab":
        """The same stage for another tenant: nothing is learned there."""
        return Lab(self.stage, self.numbers, task or self.task, f"tenant-{next(self.numbers)}")

    def order(self, task: Task | None = None, **fields: Any) -> Order:
        """A run with a subject that no other run has."""
        number = next(self.numbers)
        given = {"to": f"p{number}@example.com", "subject": f"No. {number}", "body": f"Body {number}"}
        values = bind_parameters(self.task, {"base_url": self.stage.webmail, **given})
        return Order(task or self.task, values, new_run_id(self.task, values), **fields)

    async def run(self, order: Order) -> Ending:
        """Start a run and follow it until it ends or waits for a person."""
        await start(self.place, order)
        return await self.follow(order)

    async def follow(self, order: Order) -> Ending:
        """Follow a run until it ends or waits for a person; what a press may send is let go."""
        if not self.approves:
            return await follow(self.handle(order), show=lambda _progress, _note: None, until_waiting=True)
        ending, asked = await followed(self.place, order.run_id, lambda _line: None)
        self.asked += asked
        return ending

    def handle(self, order: Order) -> WorkflowHandle[Any, RunResult]:
        """The run's handle."""
        return handle_of(self.stage.place.client, order.run_id)

    def mails(self, order: Order) -> list[SentMessage]:
        """What the site stored of this run."""
        return [mail for mail in self.stage.sent() if mail.subject == order.values["subject"]]

    async def trace(self, order: Order) -> list[dict[str, Any]]:
        """The run's trace."""
        settings = self.place.settings
        client = open_redis(settings.redis_url or "")
        try:
            return await RedisStepStore(client).trace(tenant=settings.tenant, lineage=order.run_id)
        finally:
            await client.aclose()

    async def forget(self, order: Order) -> None:
        """Lose all that Redis has of the run's lineage."""
        settings = self.place.settings
        client = open_redis(settings.redis_url or "")
        try:
            tag = trace_key(settings.tenant, order.run_id).partition("}")[0].replace("[", "\\[")
            await client.delete(*[key async for key in client.scan_iter(match=f"{tag}*")])
        finally:
            await client.aclose()

    async def audited(self, order: Order) -> tuple[AuditFinding, ...]:
        """What is wrong with the run's exported trace, its history as the witness."""
        text, _ = await exported(self.place, await self.handle(order).describe())
        return audit(text).findings

    async def performed(self, order: Order) -> Counter[int]:
        """How often each step's success was recorded, by number; not how often it was answered from the ledger."""
        steps = [line for line in await self.trace(order) if line["kind"] == "step" and not line.get("fromLedger")]
        return Counter(line["sequence"] for line in steps if line["status"] == "done")

    async def progress(self, order: Order) -> Progress:
        """What the run says of itself now; empty when no worker answers."""
        return await progress_of(self.handle(order)) or Progress()

    async def with_person(self, order: Order) -> Ending:
        """Follow a run to its end; a person who looks into the site's store decides what is in doubt."""
        ending = await self.follow(order)
        while ending.status == "waiting":
            assert ending.progress is not None
            verdict = PersonVerdict(
                sequence=ending.progress.step,
                verdict="done" if self.mails(order) else "not_done",
                who="the test",
                why="the site's store",
            )
            await decide(self.place, order.run_id, verdict)
            ending = await self.follow(order)
        return ending

    def assert_one_right_mail(self, order: Order) -> None:
        """The site stored exactly what the run was asked to send, once."""
        wanted = {name: value for name, value in order.values.items() if name != "base_url"} | {"cc": ""}
        assert [{name: getattr(mail, name) for name in wanted} for mail in self.mails(order)] == [wanted]

    # --- faults ---------------------------------------------------------------------------------------------------

    async def frozen_at(self, worker: Child, point: str, sequence: int, order: Order) -> None:
        """Start the run, and return when the worker has stopped itself at the point of the step; `thaw` it soon."""
        await self.frozen(worker, f"{point}:{sequence}", order)

    async def frozen(self, worker: Child, where: str, order: Order) -> None:
        """The same for a point of a run, or one of a step as `killpoints` writes it."""
        async with self.freezing(worker, where):
            await start(self.place, order)

    @asynccontextmanager
    async def freezing(self, worker: Child, where: str) -> AsyncIterator[None]:
        """The same for whatever is begun in the block."""
        assert not is_stopped(worker), "the worker is frozen already"
        self.freeze_file.write_text(where)
        yield
        try:
            await until(
                f"the worker stops at {where}",
                lambda: is_stopped(worker),
            )
        except AssertionError as exc:
            exc.add_note(f"{psutil.Process(worker.pid)!r}, {self.freeze_file.exists()=}\n{worker.log_tail()}")
            raise

    async def killed_at(self, point: str, sequence: int, order: Order) -> None:
        """Start the run, kill the worker with SIGKILL at the point of the step, and start another."""
        await self.frozen_at(self.stage.worker, point, sequence, order)
        await self.replace_worker()

    @staticmethod
    def thaw(worker: Child) -> None:
        """Let a frozen worker go on."""
        os.killpg(worker.pid, signal.SIGCONT)

    @property
    def freeze_file(self) -> Path:
        """Where a worker looks for what it is to freeze at."""
        return Path(os.environ[FREEZE])

    def sessions(self) -> list[SessionRecord]:
        """The keepers that live."""
        return list_live(self.stage.home / "sessions")

    async def session(self) -> SessionRecord:
        """The keeper of the run under way, which started last: runs of other tests that wait keep theirs."""
        await until("a keeper lives", lambda: self.sessions() != [])
        return max(self.sessions(), key=lambda session: (not session.is_spare, session.keeper.start_ticks))

    async def replace_worker(self, **variables: str) -> None:
        """Kill the worker and start another."""
        self.stage.kill_worker()
        await self.stage.worker_ended()
        await self.stage.start_worker(**variables)

    async def served(self) -> None:
        """See to it that a worker serves: the test before, or this one when it is run again, may have ended it."""
        if self.stage.worker.exit_status() is not None:
            await self.stage.start_worker()

    async def thawed(self) -> None:
        """See to it that no worker is frozen, or will be."""
        self.freeze_file.unlink(missing_ok=True)
        if is_stopped(self.stage.worker):
            await self.replace_worker()

    async def learn(self) -> None:
        """Run once, so that later runs are replays."""
        ending = await self.run(self.order(mode=Mode.LEARN))
        assert ending.status == "done", ending
