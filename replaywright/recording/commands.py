"""Commands of the person who records, for every panel: a letter, its meaning, and what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from replaywright.domain.task.actions import Effect
from replaywright.recording.recorder import Recorder


@dataclass(frozen=True)
class Command:
    """One command; most are about the last step."""

    meaning: str
    do: Callable[[Recorder], None]


COMMANDS: Final[Mapping[str, Command]] = {
    "u": Command("undo", Recorder.undo),
    "p": Command("parameter or not", Recorder.toggle_parameter),
    "k": Command("check: click on what must be there", Recorder.point),
    "c": Command("has consequences", lambda recorder: recorder.set_effect(Effect.COMMIT)),
    "r": Command("may be repeated", lambda recorder: recorder.set_effect(Effect.IDEMPOTENT)),
    "s": Command("stop for a while, or go on", Recorder.pause),
    "q": Command("finish", Recorder.end),
}
