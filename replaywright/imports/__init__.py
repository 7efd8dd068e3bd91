"""Recordings of other tools as tasks: text in, task and notes out; nothing is opened, run or asked."""

from replaywright.imports.imported import KINDS_SAID, Imported, Note, RecordingKind
from replaywright.imports.reading import read_recording, task_name

__all__ = ["KINDS_SAID", "Imported", "Note", "RecordingKind", "read_recording", "task_name"]
