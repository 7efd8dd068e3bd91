"""Commands of the person who records, for every panel: a letter, its meaning, and what it does; and the panel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from replaywright.domain.task.actions import Effect
from replaywright.errors import InputInvalid
from replaywright.recording.recorder import DemonstrationRecorder


@dataclass(frozen=True)
class Command:
    """One command; most are about the last step."""

    meaning: str
    do: Callable[[DemonstrationRecorder], None]


COMMANDS: Final[Mapping[str, Command]] = {
    "u": Command("undo", DemonstrationRecorder.undo),
    "p": Command("parameter or not", DemonstrationRecorder.toggle_parameter),
    "k": Command("check: click on what must be there", DemonstrationRecorder.point),
    "c": Command("has consequences", lambda recorder: recorder.set_effect(Effect.COMMIT)),
    "r": Command("may be repeated", lambda recorder: recorder.set_effect(Effect.IDEMPOTENT)),
    "s": Command("stop for a while, or go on", DemonstrationRecorder.pause),
    "q": Command("finish", DemonstrationRecorder.end),
}
HELP: Final = "; ".join(f"{letter} {command.meaning}" for letter, command in COMMANDS.items())


@dataclass(frozen=True)
class RecordingPanel:
    """The panel of a recording in the live view; implements `Panel`."""

    recorder: DemonstrationRecorder

    def news(self) -> dict[str, Any]:
        """See `Panel.news`."""
        recorder = self.recorder
        now = "Click in the page on what must be there" if recorder.is_pointing else "Recording"
        now = "Paused" if recorder.is_paused else now
        return {
            "title": "Show the task",
            "state": "Finished. The terminal shows the file." if recorder.has_ended else now,
            "steps": [{"text": line} for line in recorder.lines],
            "commands": [{"label": command.meaning, "command": letter} for letter, command in COMMANDS.items()],
            "hasEnded": recorder.has_ended,
        }

    def obey(self, text: str) -> None:
        """See `Panel.obey`."""
        letter = text.strip().lower()
        if letter not in COMMANDS:
            raise InputInvalid(f"{letter[:20]!r} is no command: {HELP}")
        COMMANDS[letter].do(self.recorder)
