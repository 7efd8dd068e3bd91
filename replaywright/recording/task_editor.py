"""Editing a task beside its page: its steps are done one at a time by a held run, and changed where it waits."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from replaywright.domain.task.steps import ForEach, names_element
from replaywright.errors import InputInvalid, ReplaywrightError
from replaywright.ports.held_runs import HeldAt, HeldRun
from replaywright.ports.recording import Demonstration
from replaywright.recording.edited_task import Draft
from replaywright.recording.held_screen import HeldScreen
from replaywright.recording.recorder import DemonstrationRecorder

CONSEQUENCES: Final = "do it, with its consequences"
HELP: Final[Mapping[str, str]] = {
    "step": "do the next step",
    "step!": CONSEQUENCES,
    "to N": "run to step N; without N to the end",
    "stop": "stop before the step after this one",
    "pick N": "the next click in the page chooses the element of step N",
    "insert": "what you do in the page becomes steps before the next one; again: that was it",
    "delete N": "delete step N",
    "set N FIELD=VALUE": "change a field of step N",
    "answer A": "answer the question of the run",
    "again": "begin anew, in another browser",
    "save": "write the file",
    "quit": "leave",
}
"""Commands, as they are typed, with their meaning."""


class Editor:
    """Edits one draft; `changed` is called after each change of what is shown."""

    def __init__(
        self,
        draft: Draft,
        run: HeldRun,
        *,
        keep: Callable[[str, bool], str],
        set_fields: Callable[[Mapping[str, Any], list[str]], dict[str, Any]],
        changed: Callable[[], None],
    ) -> None:
        """Take `keep`, which writes the file and says what became of it, and `set_fields`, which changes a step."""
        self.draft, self.screen = draft, HeldScreen()
        self.at = 0
        """Index of the next step."""
        self.marks = [""] * len(draft.rows)
        """State of each step: done, failed, changed; empty for none."""
        self.message = self.failure = ""
        self._run, self._keep, self._set_fields, self._changed = run, keep, set_fields, changed
        self._standing = HeldAt(state="ended")
        self._demonstration: Demonstration | None = None
        self._pointing: asyncio.Task[None] | None = None
        self._picking: int | None = None
        self._recorder: DemonstrationRecorder | None = None
        self._recording: asyncio.Task[None] | None = None
        self._work: asyncio.Task[None] | None = None
        self._stops = self._warned = False
        self._ended = asyncio.Event()

    async def run(self, failed: HeldAt | None = None, at: int = 0) -> None:
        """Edit until the person leaves; with `failed` the run waits already, at the step `at`."""
        self.at = at
        self.marks[:at] = ["done"] * at
        self._begin(self._begun() if failed is None else self._came(failed))
        try:
            await self._ended.wait()
        finally:
            await self._stop_work()
            await self._let_go()
            await self._run.end()

    # ------------------------------------------------------------------------------------------- what is shown

    @property
    def has_ended(self) -> bool:
        """True once the person has left."""
        return self._ended.is_set()

    @property
    def is_busy(self) -> bool:
        """True while the run does something."""
        return self._work is not None and not self._work.done()

    def news(self) -> dict[str, Any]:
        """Return what the panel shows: see `Panel`."""
        return {
            "title": f"Edit {self.draft.task.task}",
            "state": "Finished" if self.has_ended else self._state,
            "steps": [self._row(index) for index in range(len(self.draft.rows))],
            "commands": [] if self.has_ended else self._buttons(),
            "takesCommands": True,
            "hasEnded": self.has_ended,
        }

    @property
    def _state(self) -> str:
        if self._recorder is not None:
            shown = "; ".join(self._recorder.lines)
            return f"Work in the page, then press “that was it”. {shown}"
        if self._picking is not None:
            return f"Click in the page on the element of step {self._picking + 1}"
        return self.message

    def _row(self, index: int) -> dict[str, Any]:
        number, step, mark = index + 1, self.draft.steps[index], self.marks[index]
        mark = mark or ("next" if index == self.at else "")
        remark = " (has consequences)" if self.draft.has_consequences(index) else ""
        row = {"text": f"{number}. {step.title}{remark}", "mark": mark}
        row["note"] = self.failure if mark == "failed" else ""
        if self.is_busy or self._recorder is not None:
            return row
        buttons = [("run to here", f"to {number}", False)] if index > self.at else []
        buttons += [("pick", f"pick {number}", False)] if names_element(step) else []
        buttons += [("change…", f"set {number} ", True), ("delete", f"delete {number}", False)]
        return row | {"buttons": [{"label": label, "command": text, "fills": fills} for label, text, fills in buttons]}

    def _buttons(self) -> list[dict[str, str]]:
        if self.is_busy:
            return _labelled(stop="stop", quit="quit")
        if self._recorder is not None:
            return _labelled(insert="that was it", quit="quit")
        if self._standing.state == "asks":
            return [{"label": one, "command": f"answer {one}"} for one in self._standing.answers] + _labelled(
                quit="quit"
            )
        shown: dict[str, str] = {}
        if self.at < len(self.draft.rows):
            is_free = not self.draft.has_consequences(self.at)
            shown = ({"step": "step"} if is_free else {"step!": CONSEQUENCES}) | {"to": "run to the end"}
        return _labelled(**shown, insert="insert", again="begin anew", save="save", quit="quit")

    # ------------------------------------------------------------------------------------------- commands

    def obey(self, text: str) -> None:
        """Do what a command says; what cannot be done is told."""
        word, _, rest = text.strip().partition(" ")
        if word == "quit":
            self.leave()
        elif word == "stop":
            self._stops = True
        elif self.is_busy:
            self.say("the run acts: “stop” stops it before its next step")
        else:
            self._warned = False
            self._begin(self._obeyed(word, rest.strip()))

    def leave(self) -> None:
        """Leave; with changes that are not saved, only when asked twice."""
        if self.draft.is_changed and not self._warned:
            self._warned = True
            self.say("the changes are not saved: “save”, or “quit” once more to lose them")
            return
        self.end()

    def end(self) -> None:
        """Leave at once."""
        self._ended.set()
        self._changed()

    def say(self, message: str) -> None:
        """Show a message."""
        self.message = message
        self._changed()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = asyncio.create_task(self._told(work))
        self._changed()

    async def _told(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it; what fails is shown."""
        try:
            await work
        except ReplaywrightError as exc:
            self.message = str(exc)
        finally:
            asyncio.get_running_loop().call_soon(self._changed)

    async def _obeyed(self, word: str, rest: str) -> None:
        if self._recorder is not None and word != "insert":
            raise InputInvalid("what you do in the page is recorded: “insert” once more ends that")
        picking = self._picking
        self._leave_pointing()
        match word:
            case "step" | "step!":
                await self._step(may_commit=word == "step!")
            case "to":
                await self._run_to(self._index(rest) if rest else len(self.draft.rows))
            case "pick":
                index = self._index(rest)
                await (self._point(index) if index != picking else self._look())
            case "insert":
                await (self._insert() if self._recorder is None else self._inserted())
            case "delete":
                self._delete(self._index(rest))
            case "set":
                number, _, change = rest.partition(" ")
                index = self._index(number)
                self._change(index, self._set_fields(self.draft.rows[index].data, [change]))
            case "answer":
                await self._came(await self._run.answer(rest))
            case "again":
                await self._begun()
            case "save":
                text, is_kept = self.draft.saved()
                self.message = self._keep(text, is_kept)
                self.draft = Draft(text, self.draft.source)
            case _:
                raise InputInvalid(f"{word[:20]!r} is no command; there are: {', '.join(HELP)}")

    def _index(self, number: str) -> int:
        index = int(number) - 1 if number.isascii() and number.isdecimal() and len(number) < 6 else -1
        if not 0 <= index < len(self.draft.rows):
            raise InputInvalid(f"{number[:20]!r} is no step; there are 1 to {len(self.draft.rows)}")
        return index

    # ------------------------------------------------------------------------------------------- the run

    async def _begun(self) -> None:
        """Have a new run begin."""
        await self._let_go()
        await self._run.end()
        self._standing = HeldAt(state="ended")
        self.at, self.marks, self.failure = 0, [""] * len(self.draft.rows), ""
        self.say("starting")
        await self._came(await self._run.begin(self.draft.task))

    async def _step(self, *, may_commit: bool) -> None:
        """Do the next step.

        Raises:
            InputInvalid: there is none, the run waits for something else, or the step has consequences.
        """
        if self._standing.state == "ended":
            raise InputInvalid("the run has ended: “again” begins anew")
        if self._standing.state == "asks":
            raise InputInvalid(f"the run asks first: {self._standing.message}")
        if self.at >= len(self.draft.rows):
            raise InputInvalid("all steps are done: “save” writes the file, “again” begins anew")
        if self.draft.has_consequences(self.at) and not may_commit:
            raise InputInvalid(
                f"step {self.at + 1} has consequences and is not done without your word: “{CONSEQUENCES}” (`step!`), "
                "or say effect: read or idempotent if it has none"
            )
        await self._let_go()
        self.say(f"doing step {self.at + 1}")
        await self._came(await self._run.do(self.draft.written(self.at)))

    async def _run_to(self, index: int) -> None:
        """Do the steps before this one, up to one that fails or has consequences."""
        self._stops = False
        while self.at < index and not self._stops:
            before = self.at
            await self._step(may_commit=False)
            if self._standing.state != "held" or self.at == before:
                return

    async def _came(self, standing: HeldAt) -> None:
        """Note where the run waits, and show its browser."""
        was_begun = self._standing.state != "ended"
        self._standing, self.message = standing, standing.message
        if standing.state == "held":
            self.marks[self.at : self.at + was_begun] = ["done"] * was_begun
            self.at += was_begun
            self.message = "all steps are done" if self.at == len(self.draft.rows) else f"before step {self.at + 1}"
        if standing.state == "failed":
            self.marks[self.at], self.failure = "failed", standing.message
            self.message = f"step {self.at + 1} failed: pick another element, change it, or do it once more"
        if standing.state in ("held", "failed"):
            await self._look()

    async def _look(self) -> None:
        """Show the browser of the run that waits; another one if it was given back meanwhile."""
        if self._demonstration is not None and not self.screen.shown.tabs:
            await self._let_go()
        if self._demonstration is None:
            self._demonstration, screen = await self._run.lend()
            self._demonstration.listen(on=False)
            self.screen.take(screen)
        self._changed()

    async def _browser(self) -> Demonstration:
        """Return the browser of the run that waits.

        Raises:
            InputInvalid: the run does not wait before a step, or at one that failed.
        """
        if self._standing.state not in ("held", "failed"):
            raise InputInvalid("the run does not wait at a step: “again” begins anew")
        await self._look()
        assert self._demonstration is not None
        return self._demonstration

    async def _let_go(self) -> None:
        self._leave_pointing()
        if self._recorder is not None:
            await self._recorded()
        self.screen.let_go()
        if self._demonstration is not None:
            self._demonstration.listen(on=False)
            self._demonstration = None
            await self._run.let_go()

    async def _stop_work(self) -> None:
        if self._work is not None:
            self._work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._work

    # ------------------------------------------------------------------------------------------- changes

    def _change(self, index: int, data: Mapping[str, Any]) -> None:
        self.draft.replace(index, data)
        self._changed_at(index)
        self.message = f"step {index + 1} is now: {self.draft.steps[index].title}"

    def _changed_at(self, index: int) -> None:
        self.marks[index] = "changed" if index < self.at else ""

    def _delete(self, index: int) -> None:
        self.draft.delete(index)
        del self.marks[index]
        self.at -= index < self.at
        self.message = f"step {index + 1} is deleted"

    async def _point(self, index: int) -> None:
        if isinstance(self.draft.steps[index], ForEach) or not names_element(self.draft.steps[index]):
            raise InputInvalid(f"step {index + 1} acts on no single element: change its fields")
        demonstration = await self._browser()
        self._picking, self.screen.takes = index, "points"
        demonstration.listen(on=True, pointing=True)
        self._pointing = asyncio.create_task(self._told(self._pointed(demonstration, index)))

    async def _pointed(self, demonstration: Demonstration, index: int) -> None:
        """Take the element that is pointed at."""
        while (act := await demonstration.next_act()) is not None and act.kind != "point":
            pass
        self._pointing = None
        self._leave_pointing()
        if act is None:
            raise InputInvalid("the browser is gone: “again” begins anew")
        remark = self.draft.pick(index, act)
        self._changed_at(index)
        self.message = "; ".join(filter(None, (f"step {index + 1} is now: {self.draft.steps[index].title}", remark)))

    def _leave_pointing(self) -> None:
        if self._pointing is not None:
            self._pointing.cancel()
        if self._picking is not None and self._demonstration is not None:
            self._demonstration.listen(on=False)
        self._pointing = self._picking = None
        self.screen.takes = "looks"

    async def _insert(self) -> None:
        """Record what the person does from now on."""
        demonstration, url = await self._browser(), self.screen.shown.url
        self._recorder = DemonstrationRecorder(demonstration, url, changed=self._changed, is_open=True)
        self._recording = asyncio.create_task(self._recorder.run())
        self.screen.takes = "acts"

    async def _recorded(self) -> DemonstrationRecorder:
        """End the recording, and return it."""
        recorder, running = self._recorder, self._recording
        assert recorder is not None
        assert running is not None
        self._recorder = self._recording = None
        self.screen.takes = "looks"
        recorder.end()
        await running
        if self._demonstration is not None:
            self._demonstration.listen(on=False)
        return recorder

    async def _inserted(self) -> None:
        """Insert what was recorded before the next step: it is done already."""
        recorder = await self._recorded()
        if not recorder.steps:
            self.message = "nothing was done, so nothing is inserted"
            return
        for each in recorder.steps:
            each.is_parameter = False
        count = self.draft.insert(self.at, recorder.task("inserted"))
        self.marks[self.at : self.at] = ["done"] * count
        self.at += count
        self.message = f"{count} inserted before step {self.at + 1}, as you did it" if count else "nothing is inserted"


def _labelled(**labels: str) -> list[dict[str, str]]:
    return [{"label": label, "command": command} for command, label in labels.items()]
