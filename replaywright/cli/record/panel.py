"""The terminal as the panel of a recording: it shows the steps as they come and takes commands of one letter."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator

from replaywright.errors import InputInvalid
from replaywright.recording.commands import RecordingPanel
from replaywright.recording.recorder import DemonstrationRecorder


class TerminalPanel:
    """Prints each step once it has come to rest, and again when it has changed."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: list[str] = []
        self._state = ""

    def show(self, recorder: DemonstrationRecorder) -> None:
        """Print what is new."""
        lines = recorder.lines if recorder.settled.is_set() else recorder.lines[:-1]
        for number, line in enumerate(lines):
            if number >= len(self._said) or self._said[number] != line:
                self._say(line)
        if len(recorder.lines) < len(self._said):
            self._say(f"undone; {len(recorder.lines)} steps are left")
        self._said = lines
        state = "paused" if recorder.is_paused else "click on what must be there" if recorder.is_pointing else ""
        if state != self._state:
            self._say(state or "recording")
            self._state = state

    def obey(self, recorder: DemonstrationRecorder, text: str) -> None:
        """Do what a line of input says; an unknown letter is answered with the help."""
        try:
            if text.strip():
                RecordingPanel(recorder).obey(text)
        except InputInvalid as exc:
            self._say(str(exc))


@contextlib.contextmanager
def heard(obey: Callable[[str], None]) -> Iterator[None]:
    """Pass each line of standard input on; its end ends nothing."""
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()

    def read() -> None:
        line = sys.stdin.readline()
        if line:
            obey(line)
        else:
            loop.remove_reader(descriptor)

    try:
        loop.add_reader(descriptor, read)
    except OSError:  # a file, which is always ready and which nobody types into
        yield
        return
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
