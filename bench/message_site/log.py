"""What the site was sent, one line each, on the disk before it answers."""

import os
from collections import Counter
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Sent(BaseModel):
    """One line of the log: what the site has accepted."""

    model_config = ConfigDict(frozen=True)

    subject: str
    press: str
    """The press that the page sent it for."""
    behaviour: str
    at: float
    """Seconds since 1970."""


class Log:
    """What the site wrote down, read by others; a line is there once it is on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self) -> None:
        """Make an empty file, and the folder that it is in."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()

    def add(self, sent: Sent) -> None:
        """Return once the line is on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(sent.model_dump_json() + "\n")
            file.flush()
            os.fsync(file.fileno())

    def sent(self, subject: str) -> list[Sent]:
        """What was accepted of this subject, the oldest first."""
        lines = self.path.read_text(encoding="utf-8").split("\n")[:-1]
        return [one for line in lines if subject in line and (one := Sent.model_validate_json(line)).subject == subject]

    def stored(self) -> Counter[str]:
        """How often each subject was accepted."""
        lines = self.path.read_text(encoding="utf-8").split("\n")[:-1]
        return Counter(Sent.model_validate_json(line).subject for line in lines)
