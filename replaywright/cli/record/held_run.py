"""The run that does the steps of a task that is edited: held before each of them, its browser lent meanwhile."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.recording.screen import ChromiumScreen
from replaywright.browser.recording.watching import WatchedBrowser
from replaywright.cli.people.updates import by_user, decide, updated, user_name, verdict_on
from replaywright.cli.runs.follow import ended, handle_of, progress_of, session_of
from replaywright.cli.runs.options import OnFailure
from replaywright.cli.runs.starting import Order, refuse_what_is_blocked, start
from replaywright.cli.runs.watching import failure_lines
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.runs import Progress, RunState
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.run.standing import WAITING
from replaywright.domain.run.steering import EditStep, LentBrowser, Steering, TakeOverRequest
from replaywright.domain.task.questions import Question, QuestionKind, answer_command
from replaywright.domain.task.steps import Goto
from replaywright.domain.task.tasks import Task, bind_parameters, parse_within
from replaywright.errors import InputInvalid, StackFailed
from replaywright.keeper.host.client import KeeperClient
from replaywright.keeper.host.identity import boot_id, host_name
from replaywright.keeper.protocol import SOCKET_NAME
from replaywright.ports.held_runs import HeldAt
from replaywright.ports.recording import Demonstration, Screen
from replaywright.recording.trial import values_shown

_LOOK_EVERY_S: Final = 0.1
_WAKING_LIMIT: Final = timedelta(seconds=150)
_END: Final[Mapping[str, Any]] = {"action": "approve", "instruction": "the draft ends here: cancel the run"}
"""Stands after the last step, so that the run is held there, too. It is never begun."""


class DraftRun:
    """Runs of one draft, one after the other, without a model and without healing; implements `HeldRun`."""

    def __init__(self, here: Backend, given: Mapping[str, str], browsers: ChromiumBrowsers) -> None:
        """Take the values that are `given`; the others are those that the task has."""
        self._here, self._given, self._browsers = here, given, browsers
        self._run_id = ""
        self._step = -1
        """Index in the run's plan of the step at which it waits."""
        self._question: Question | None = None
        self._watched: WatchedBrowser | None = None

    @property
    def waits_at(self) -> int:
        """Index in the run's plan of the step at which it waits."""
        return self._step

    def take(self, run_id: str, progress: Progress) -> HeldAt:
        """Go on with a run that waits at a step that failed."""
        self._run_id = run_id
        return self._standing(progress)

    async def begin(self, task: Task) -> HeldAt:
        """See `HeldRun.begin`."""
        values = values_of(task, self._given)
        refuse_what_is_blocked(self._here.settings, task, values)
        [end] = parse_within(task, {"steps": [_END]}, "the end").steps
        drafted = task.model_copy(update={"steps": (*task.steps, end), "verify": ()})
        order = Order(
            drafted,
            values,
            new_run_id(task, values),
            mode=Mode.REPLAY,
            heal=Heal.OFF,
            on_failure=OnFailure.ASK,
            state=RunState(steering=Steering(hold_at=opens(task))),
        )
        self._step, self._question, self._run_id = -1, None, order.run_id
        await start(self._here, order)
        standing = await self._waits()
        if standing.state == "failed" and self._step < opens(task):
            await self.end()
            raise InputInvalid(f"the task's page does not open: {standing.message}")
        return standing

    async def do(self, steps: Sequence[Mapping[str, Any]]) -> HeldAt:
        """See `HeldRun.do`."""
        first, *rest = map(dict, (*steps, _END))
        asked = EditStep(
            sequence=self._step,
            step=first,
            rest=tuple(rest),
            hold=True,
            question="" if self._question is None else self._question.id,
            who=user_name(),
            why="edited",
        )
        await updated(self._here, self._run_id, "edit_step", asked, type(None))
        return await self._waits()

    async def answer(self, verdict: str) -> HeldAt:
        """See `HeldRun.answer`."""
        question = self._question
        if question is None or verdict not in question.answers:
            raise InputInvalid(f"{verdict[:20]!r} is no answer that the run takes now")
        [given] = [one for one in question.answers if one == verdict]
        if question.wants and verdict == "answer":
            raise InputInvalid(f"this answer has a value: {answer_command(self._run_id, question.answers)}")
        await decide(self._here, self._run_id, verdict_on(self._run_id, question, given, "", who=user_name(), why=""))
        return await self._waits()

    async def _waits(self) -> HeldAt:
        """Return where the run waits next."""
        handle = handle_of(self._here.client, self._run_id)
        while True:
            progress = await progress_of(handle)
            if progress is not None:
                known = "" if self._question is None else self._question.id
                is_asked = progress.question is not None and progress.question.id != known
                is_held = progress.status == "paused" and progress.step > self._step
                if is_asked or is_held:
                    return self._standing(progress)
                if progress.status != "running" and progress.status not in WAITING:
                    result = (await ended(handle)).result
                    return HeldAt(state="ended", message="; ".join(failure_lines(result)) or "the run has ended")
            await asyncio.sleep(_LOOK_EVERY_S)

    def _standing(self, progress: Progress) -> HeldAt:
        question = self._question = progress.question
        if question is None:
            self._step = progress.step
            return HeldAt(state="held")
        self._step = question.sequence
        if question.kind is QuestionKind.FAILED:
            own = f"step {question.sequence + 1} failed: "  # counted as the run's plan has it
            return HeldAt(state="failed", message=question.text.removeprefix(own))
        return HeldAt(state="asks", message=question.text, answers=question.answers)

    async def lend(self) -> tuple[Demonstration, Screen]:
        """See `HeldRun.lend`."""
        asked = TakeOverRequest(who=user_name(), why="edits the task")
        await updated(self._here, self._run_id, "take_over", asked, LentBrowser, limit=_WAKING_LIMIT)
        session = await session_of(handle_of(self._here.client, self._run_id))
        if session is None:
            raise StackFailed("the run has no browser at the moment: begin anew")
        if (session.host, session.boot_id) != (host_name(), boot_id()):
            raise InputInvalid(f"the browser lives on {session.host}: edit the task there")
        async with await KeeperClient.connect(Path(session.directory) / SOCKET_NAME) as keeper:
            endpoint = (await keeper.attach(session.epoch, "editor")).endpoint_url
        self._watched = await self._browsers.watch(endpoint)
        return self._watched, ChromiumScreen(self._watched)

    async def let_go(self) -> None:
        """See `HeldRun.let_go`."""
        if self._watched is not None:
            await self._watched.close()
            self._watched = None

    async def end(self) -> None:
        """See `HeldRun.end`."""
        run_id, self._run_id = self._run_id, ""
        if not run_id:
            return
        with (
            contextlib.suppress(InputInvalid),
            temporal_errors(self._here.settings, run_id),
        ):  # it is over, or never began
            await updated(self._here, run_id, "abort", by_user("the editor was left"), type(None))
            await ended(handle_of(self._here.client, run_id))


def values_of(task: Task, given: Mapping[str, str]) -> dict[str, str]:
    """Return the values of a run of the task: those given, else those that were shown.

    Raises:
        InputInvalid: one is missing or wrong.
    """
    return bind_parameters(task, {**(values_shown(task) or {}), **given})


def opens(task: Task) -> int:
    """Return the number of steps that a run does before those of the task: it opens the task's page."""
    return int(bool(task.url) and not isinstance(task.steps[0], Goto))
