"""Result of an import: a task, and notes for a person."""

from enum import StrEnum
from typing import Literal

from replaywright.domain.common.base import Record
from replaywright.domain.task.tasks import Task


class RecordingKind(StrEnum):
    """The recordings that can be read."""

    DEVTOOLS = "devtools"
    """Chrome DevTools Recorder, exported as JSON (the user flow of `@puppeteer/replay`)."""
    HYPERAGENT = "hyperagent"
    """An action cache of HyperAgent (`ActionCacheOutput`)."""
    BROWSER_USE = "browser-use"
    """A history of browser-use (`AgentHistoryList.save_to_file`)."""
    CODEGEN = "codegen"
    """A Python script of Playwright's code generator, sync, async or pytest."""


KINDS_SAID = "devtools (Chrome DevTools Recorder, JSON), hyperagent (action cache, JSON), browser-use (history, JSON), "
KINDS_SAID += "codegen (Playwright script in Python)"
"""The kinds as an error names them."""


class Note(Record):
    """One thing about the recording that the task does not say by itself."""

    where: str
    """`line 12` of a script, `steps[3]` or `history[2].action[0]` of JSON."""
    what: str
    """The action or statement, by the name that the recording gives it."""
    kind: Literal["left_out", "changed", "check"]
    """Not in the task; in it in another form; or in it on an assumption."""
    advice: str
    """Reason and remedy."""


class Imported(Record):
    """A recording as a task. Every action of the recording is a step of it or has a note."""

    kind: RecordingKind | Literal["demonstration"]
    """`demonstration`: a person showed it."""
    task: Task
    notes: tuple[Note, ...] = ()

    @property
    def left_out(self) -> tuple[Note, ...]:
        """Notes on what the task does not do."""
        return tuple(note for note in self.notes if note.kind == "left_out")
