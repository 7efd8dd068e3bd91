"""Typed client: start runs from a Python program, follow them, answer their questions.

    client = await Client.connect()
    run = await client.start(Path("order_lunch.yaml"), {"name": "Ada", "dish": "Soup"}, run_id="lunch/4711")
    result = await run.result()

It is a thin layer over Temporal's own client: `run.handle` is Temporal's handle, and whatever another SDK may send
(`docs/reference/contracts.md`) can be sent with it. Workers, browsers and models are elsewhere.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from temporalio.client import Client as TemporalClient
from temporalio.client import WorkflowHandle, WorkflowQueryFailedError

from replaywright.cli.people.updates import (
    ANSWER_LIMIT,
    decide,
    progress_or_fail,
    question_of,
    require_going,
    verdict_on,
)
from replaywright.cli.runs.follow import Ending, Status, follow, handle_of
from replaywright.cli.runs.options import OnFailure
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.servers.connect import Backend, open_backend, require_backend, temporal_errors
from replaywright.cli.servers.macs import start_memo
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.run.views import PlanView, RunTrace
from replaywright.domain.secrets.signing import Key
from replaywright.domain.task.budgets import Budget
from replaywright.domain.task.questions import Verdict
from replaywright.domain.task.tasks import Task, bind_parameters, parse_task
from replaywright.errors import ReplaywrightError, StackFailed
from replaywright.sealing.codec import sealed
from replaywright.sealing.payloads import speaking_records
from replaywright.settings import Settings, load_settings
from replaywright.stack.keyring import codec_keys_of

__all__ = ["Client", "Ending", "Run", "RunFailed", "StartOptions"]

_log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


class RunFailed(ReplaywrightError):
    """A run has ended without success."""

    def __init__(self, run_id: str, ending: Ending) -> None:
        result = ending.result
        step = "" if result.failed_step is None else f"step {result.failed_step + 1}: "
        super().__init__(f"{run_id} {ending.status.replace('_', ' ')}: {step}{result.message or result.reason}")
        self.status: Status = ending.status
        """`failed`, `blocked` (by a rule of the policy), `cancelled`, `terminated` or `timed_out`."""
        self.result: RunResult = result
        """Known facts of the run: the step, the reason as a code, the message, the cost."""


@dataclass(frozen=True)
class StartOptions:
    """Options of a run that is started."""

    mode: Mode = Mode.AUTO
    """`auto`: cache, then heal, then model. `learn`: model only. `replay`: never the model."""
    heal: Heal = Heal.AUTO
    """Reaction to a changed page: fail (`off`), heal this run only (`propose`), or for good (`auto`)."""
    budget: Budget = field(default_factory=Budget)
    """Limit on model use, beside that of the task; the policy's caps still hold."""
    on_failure: OnFailure | None = None
    """Answer to a failed step that nothing mends: `fail`, or `ask` a person. None: as the task says."""
    pictures: Pictures | None = None
    """Steps whose pictures are kept. None: those that are learned, healed or fail."""
    fresh: bool = False
    """True: learn the goal even if a skill exists."""
    wait_for_others: bool = True
    """True: while another run learns the same goal, wait for its skill."""


@dataclass(frozen=True)
class Run:
    """Run with an id: under way, waiting for a person, or over."""

    id: str
    """The workflow id."""
    _here: Backend

    @property
    def handle(self) -> WorkflowHandle[Any, RunResult]:
        """Temporal's own handle."""
        return handle_of(self._here.client, self.id)

    @property
    def url(self) -> str:
        """Address of the run in Temporal's UI; empty if the settings do not name the UI."""
        return self._here.run_url(self.id)

    async def result(self) -> RunResult:
        """Wait for the end of the run, also while it waits for a person, and return its result.

        Raises:
            RunFailed: it ended otherwise than done; has the result.
            InputInvalid: there is no such run.
            StackFailed: Temporal was out of reach for ten seconds; the run is not affected.
        """
        ending = await self._followed(None, until_waiting=False)
        if ending.status != "done":
            raise RunFailed(self.id, ending)
        return ending.result

    async def follow(self, show: Callable[[Progress], None] | None = None) -> Ending:
        """Return when the run is over or waits for a person; `status` and `progress.question` of the answer say which.

        Args:
            show: Is given the progress about three times a second while a worker answers.

        Raises:
            InputInvalid: there is no such run.
            StackFailed: Temporal was out of reach for ten seconds; the run is not affected.
        """
        return await self._followed(show, until_waiting=True)

    async def _followed(self, show: Callable[[Progress], None] | None, *, until_waiting: bool) -> Ending:
        def shown(progress: Progress | None, _note: str) -> None:
            if show is not None and progress is not None:
                show(progress)

        return await follow(self.handle, show=shown, until_waiting=until_waiting)

    async def progress(self) -> Progress:
        """Return its progress: status, steps done, the last hundred steps, and the question if it asks one.

        Raises:
            InputInvalid: there is no such run.
            StackFailed: no worker answers.
        """
        return await progress_or_fail(self._here, self.id)

    async def plan(self) -> PlanView:
        """Return its current steps, at most 500 around the current one, each with its state.

        Raises:
            InputInvalid: there is no such run.
            StackFailed: no worker answers.
        """
        return await self._asked("plan", PlanView)

    async def trace(self) -> RunTrace:
        """Return the last hundred steps of this execution, oldest first, with times, addresses and predicates.

        Raises:
            InputInvalid: there is no such run.
            StackFailed: no worker answers.
        """
        return await self._asked("trace", RunTrace)

    async def _asked(self, query: str, answer: type[_Answer]) -> _Answer:
        try:
            with temporal_errors(self._here.settings, self.id):
                found: _Answer = await self.handle.query(query, result_type=answer, rpc_timeout=ANSWER_LIMIT)
        except WorkflowQueryFailedError as exc:
            raise StackFailed(f"{self.id}: its worker cannot answer {query!r}: {exc}") from exc
        return found

    async def answer(self, verdict: Verdict, value: str = "", *, who: str = "client", why: str = "") -> None:
        """Answer the question that the run waits with.

        Args:
            verdict: One of `(await run.progress()).answers`, such as `approve`, `done` or `answer`.
            value: With `answer`: what is said. A code is sealed here; neither Temporal nor Redis has it.
            who: Who decided; kept in history and trace, at most 200 characters.
            why: Their reason; kept likewise.

        Raises:
            InputInvalid: it asks nothing, or does not take this answer; nothing was changed.
            StackFailed: no worker answers.
        """
        question = await question_of(self._here, self.id)
        await decide(self._here, self.id, verdict_on(self.id, question, verdict, value, who=who, why=why))

    async def cancel(self, reason: str = "") -> None:
        """Ask it to end; return at once. The step under way ends, the browser is closed, what was done stays done.

        Raises:
            InputInvalid: there is no such run, or it is over; says how it ended and what it has done.
            StackFailed: Temporal cannot be reached.
        """
        await require_going(self._here, self.id, "cancel")
        with temporal_errors(self._here.settings, self.id):
            await self.handle.cancel(reason=reason)


_DEFAULTS = StartOptions()


class Client:
    """Client that starts and finds runs."""

    def __init__(self, temporal: TemporalClient, settings: Settings | None = None, *, task_queue: str = "") -> None:
        """Use an existing connection.

        Args:
            temporal: Its payload converter may be the SDK's default, which is exchanged for one that writes our
                models; a codec, and a converter of your own, stay. Where it has no codec and the settings have keys
                for one (`REPLAYWRIGHT_CODEC_KEYS`), payloads are sealed with these.
            settings: Tenant, queue, policy and what else runs are started with; None: the environment's, as for
                commands.
            task_queue: Where runs are started; empty: the one of the settings and their tenant.

        Raises:
            SettingsInvalid: a variable of the environment is wrong.
        """
        known = load_settings() if settings is None else settings
        reached = {
            "temporal_address": temporal.service_client.config.target_host,
            "temporal_namespace": temporal.namespace,
        }
        here = _speaking_ours(temporal, codec_keys_of(known))
        self._here = Backend(here, known.model_copy(update=reached), "configured", task_queue)

    @classmethod
    async def connect(cls, settings: Settings | None = None, *, task_queue: str = "") -> "Client":
        """Connect as commands do: to the Temporal that is configured, else to the stack that runs on this machine.

        Args:
            settings: None: those of the environment, `REPLAYWRIGHT_...`.
            task_queue: Where runs are started; empty: the one of the settings and their tenant.

        Raises:
            InputInvalid: no Temporal is configured, and no stack runs here. None is started.
            SettingsInvalid: a variable of the environment, keys or certificates are wrong.
            StackFailed: Temporal does not answer.
        """
        known = load_settings() if settings is None else settings
        await asyncio.to_thread(require_backend, known)
        async with open_backend(known, tell=_log.info) as here:  # what is joined stays when the block is left
            return cls(here.client, here.settings, task_queue=task_queue)

    async def start(
        self,
        task: Task | Mapping[str, Any] | Path,
        values: Mapping[str, str] | None = None,
        *,
        run_id: str = "",
        options: StartOptions = _DEFAULTS,
    ) -> Run:
        """Start a run and return at once.

        Args:
            task: A task, what a task file has as data, or the path of one. A task without steps begins from its goal.
            values: Of the task's parameters, each as text; those that have a default may be left out.
            run_id: A name of your own, such as that of the order that is done: it serves once, so that a start that is
                repeated does nothing twice. Empty: one is made of task, site and time.
            options: Mode, healing, budget and what else shapes the run.

        Raises:
            RunExists: there is, or was, a run with this id; `client.run_of(run_id)` finds it.
            InputInvalid: the task or a value is wrong; nothing was started.
            StackFailed: Temporal refuses it or cannot be reached.
        """
        wanted = _task_of(task)
        bound = bind_parameters(wanted, values or {}, place="values.")
        order = Order(wanted, bound, run_id or new_run_id(wanted, bound), **vars(options))
        await start(self._here, order)
        return self.run_of(order.run_id)

    async def run(self, task: Task | Mapping[str, Any] | Path, values: Mapping[str, str] | None = None) -> RunResult:
        """Start a run and return its result.

        Raises:
            RunFailed: it ended otherwise than done; has the result.
            InputInvalid: the task or a value is wrong; nothing was started.
            StackFailed: Temporal refuses it or cannot be reached.
        """
        return await (await self.start(task, values)).result()

    def signed(self, workflow: str, run_id: str, given: object) -> dict[str, str]:
        """Sign the start of a workflow of your own: the memo to start it with. Its runs are signed, too.

        Args:
            workflow: Its type.
            run_id: The workflow id that it is started under.
            given: Its one argument.

        Raises:
            SettingsInvalid: keys are configured and cannot be read.
        """
        return start_memo(self._here, workflow, run_id, given)

    def run_of(self, run_id: str) -> Run:
        """Return the run with this id; whether it exists is not checked."""
        return Run(run_id, self._here)


def _speaking_ours(temporal: TemporalClient, keys: Sequence[Key]) -> TemporalClient:
    config = temporal.config()
    given = config["data_converter"]
    converter = sealed(speaking_records(given), keys)
    if converter is given:
        return temporal
    config["data_converter"] = converter
    config["plugins"] = []  # they have had their say, and are not asked once more
    return TemporalClient(**config)


def _task_of(given: Task | Mapping[str, Any] | Path) -> Task:
    match given:
        case Task():
            return given
        case Path():
            return read_task(str(given))
        case _:
            return parse_task(given, "task")
