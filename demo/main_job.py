"""The main job, run and checked: a task is learned, replayed, healed and resumed after a crash.

Every claim is checked against what the site itself stored and what the model's stand-in itself counted, not against
what the run says of itself alone.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import WorkflowExecutionStatus

from demo.scene import IS_DONE, Figures, Row, Scene
from demo.stage import Stage
from replaywright.cli.runs.follow import handle_of, progress_of
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.task.steps import names_element
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.settings import Settings

TASK_FILE = Path(__file__).parent / "send_mail.yaml"
_KILL_AT_STEP = 6
"""Steps done when the worker is killed: logged in, the compose page open, a field filled, nothing sent."""
_SLOW_MS = 150
"""Added to every page while the worker is to be killed, so that the run cannot end before that."""
_POLL_S = 0.01

MAILS: Mapping[str, Mapping[str, str]] = {
    "1": {
        "to": "ada@example.com",
        "subject": "Minutes of Monday",
        "body": "Hello Ada, the minutes are attached.",
        "priority": "Normal",
    },
    "2": {
        "to": "grace.hopper@example.org",
        "subject": '"Quotes", it\'s 50 % off & <b>not bold</b> – 会议纪要 🚀',
        "body": 'Dear Grace,\n“curly” and "straight" quotes, a \\ backslash, {{braces}},\n你好，世界 🎉\n\nYours',
        "priority": "High",
    },
    "3": {"to": "alan@example.net", "subject": "After the redesign", "body": "Still here.", "priority": "Low"},
    "4": {"to": "edsger@example.com", "subject": "One control changed", "body": "Where is Send?", "priority": "Normal"},
    "4b": {"to": "barbara@example.com", "subject": "And again", "body": "There it was.", "priority": "High"},
    "5": {
        "to": "leslie@example.org",
        "subject": "Crash in between",
        "body": "Once, and only once.",
        "priority": "Normal",
    },
}
"""What each run sends; the second one with everything that gets lost on the way to a web page."""


@dataclass
class MainJob(Scene):
    """The runs of the task file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.task: Task = read_task(str(TASK_FILE))
        self.elements = sum(names_element(step) for step in self.task.steps)
        """How many elements a run has to find."""

    async def perform(self) -> Figures:
        """All runs, up to the first that does not end well; what does not hold is a claim, not an exception.

        Raises:
            StackFailed: a part of the stage failed.
        """
        begun = time.monotonic()
        for part in (self.learn, self.replay, self.heal, self.fall_back, self.survive):
            await part()
            if any(claim.text == IS_DONE and not claim.holds for claim in self.claims):
                break  # the later runs build on the earlier ones
        return Figures(
            rows=tuple(self.rows),
            claims=tuple(self.claims),
            model=self.stage.place.settings.model or "",
            stand_in=bool(self.stage.stand_in),
            seconds=round(time.monotonic() - begun, 2),
        )

    async def learn(self) -> None:
        """Run 1: nothing is known, the model is asked for every element."""
        row = await self._run("1", "learning: the model finds every element")
        self.claim("1", "every element was found by the model", row.learned == self.elements, f"{row.learned}")
        asked = f"{row.model_calls} model calls"
        self.claim("1", "no more model calls than elements", 0 < row.model_calls <= self.elements, asked)

    async def replay(self) -> None:
        """Run 2: other values."""
        row = await self._run("2", "replay with other values")
        self._without_model(row)
        self.claim("2", "every element was found as recorded", row.hits == self.elements, f"{row.hits} hits")

    async def heal(self) -> None:
        """Run 3: the site looks different."""
        await self.stage.redesign("modern")
        row = await self._run("3", "the site was redesigned")
        self._without_model(row)
        self.claim("3", "elements were healed", row.heals > 0, f"{row.heals} heals")
        found = row.hits + row.heals
        self.claim("3", "every element was found as recorded or healed", found == self.elements, f"{found}")

    async def fall_back(self) -> None:
        """Runs 4 and 4b: one control has nothing in common with what was recorded."""
        await self.stage.redesign("modern-icon")
        row = await self._run("4", "one control was redesigned beyond recognition")
        self.claim("4", "one fallback, for that one step", row.fallbacks == 1, f"{row.fallbacks} fallbacks")
        self.claim("4", "one model call", row.model_calls == 1, f"{row.model_calls} model calls")
        self._without_model(await self._run("4b", "and once more"))

    async def survive(self) -> None:
        """Run 5: SIGKILL for the worker in the middle."""
        await self.stage.slow_down(_SLOW_MS)
        row = await self._run(
            "5", "the worker is killed in the middle and started again", meanwhile=self._kill_in_the_middle
        )
        await self.stage.slow_down(0)
        self.claim("5", "the run recovered", row.recoveries > 0, f"{row.recoveries} recoveries")
        self.claim("5", "every step was done", row.steps == len(self.task.steps), f"{row.steps} steps")

    async def _kill_in_the_middle(self, run_id: str) -> None:
        handle = handle_of(self.stage.place.client, run_id)
        done = 0
        while done < _KILL_AT_STEP:
            progress = await progress_of(handle)
            done = progress.step if progress is not None else done
            if progress is not None and progress.status in ("done", "failed"):
                break
            await asyncio.sleep(_POLL_S)
        pid = self.stage.kill_worker()
        await self.stage.worker_ended()
        status = (await handle.describe()).status
        self.claim(
            "5",
            "the worker was killed before the run had ended",
            status is WorkflowExecutionStatus.RUNNING and not self._received("5"),
            f"{status.name if status else 'unknown'} with {done} steps done",
        )
        self.tell(f"    worker {pid} killed with SIGKILL after {done} steps; starting another")
        await self.stage.start_worker()

    async def _run(self, number: str, title: str, *, meanwhile: Callable[[str], Awaitable[None]] | None = None) -> Row:
        """One run with the mail of this number, which the site must have received exactly so."""
        values = bind_parameters(self.task, {"base_url": self.stage.webmail, **MAILS[number]})
        order = Order(self.task, values, new_run_id(self.task, values))
        row, _, mails = await self.perform_run(number, title, order, meanwhile=meanwhile)
        self.claim(number, "the site received one mail", len(mails) == 1, f"{len(mails)} mails")
        wanted = {**MAILS[number], "cc": ""}
        got = [{name: getattr(mail, name) for name in wanted} for mail in mails]
        self.claim(number, "the mail has exactly the values of this run", got == [wanted], f"{got}")
        return row

    def _received(self, number: str) -> bool:
        return any(mail.subject == MAILS[number]["subject"] for mail in self.stage.sent())

    def _without_model(self, row: Row) -> None:
        self.claim(row.run, "zero model calls", row.model_calls == 0, f"{row.model_calls} model calls")
        self.claim(row.run, "no fallback", row.fallbacks == 0, f"{row.fallbacks} fallbacks")


async def main_job(settings: Settings, tell: Callable[[str], None]) -> Figures:
    """Set the stage, perform, and clear it away.

    Raises:
        StackFailed: a part of the stage did not come up, or failed.
    """
    async with Stage(settings, tell=tell) as stage:
        return await MainJob(stage, tell).perform()
