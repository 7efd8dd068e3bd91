"""Commands of the person who records, for every panel: a letter, its meaning, and what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from replaywright.domain.task.actions import Effect
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
