"""Recordings of other tools as tasks: text in, task and notes out; nothing is opened, run or asked."""

from replaywright.imports.imported import KINDS_SAID, Imported, Note, RecordingKind
from replaywright.imports.reading import check_name, read_recording, task_name

__all__ = ["KINDS_SAID", "Imported", "Note", "RecordingKind", "check_name", "read_recording", "task_name"]
