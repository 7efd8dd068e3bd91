"""State of a running stack for other commands: one JSON file in the home folder."""

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from replaywright.errors import StackFailed
from replaywright.keeper.host.identity import ProcessIdentity, is_alive


class RunningService(BaseModel):
    """One process of a stack."""

    model_config = ConfigDict(frozen=True)

    name: str
    identity: ProcessIdentity


class RunningStack(BaseModel):
    """Addresses of a stack and the processes behind them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    temporal_address: str
    temporal_ui_url: str | None
    redis_url: str
    chromium: Path
    chromium_version: str
    owner: ProcessIdentity | None = None
    """Process that started servers and stops them again; None: nobody does, or none were started."""
    served_queue: str = ""
    """Queue whose workers its owner keeps running; empty where it keeps none."""
    services: tuple[RunningService, ...] = ()

    @property
    def alive(self) -> bool:
        """Owner and every server are still those that were started: pid and start time agree.

        Servers whose owner was killed are about to end.
        """
        is_owned = self.owner is None or is_alive(self.owner)
        return is_owned and all(is_alive(service.identity) for service in self.services)


def state_file(home: Path) -> Path:
    """Return the file of a stack's state."""
    return home / "stack.json"


def read_running(home: Path) -> RunningStack | None:
    """Return the stack that runs for this home folder; None when there is none or what is written is out of date."""
    running = read_stored(home)
    return running if running is not None and running.alive else None


def read_stored(home: Path) -> RunningStack | None:
    """Return the stack that the state file describes, whether it runs or not; None where it describes none."""
    try:
        return RunningStack.model_validate_json(state_file(home).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def write_running(home: Path, running: RunningStack) -> None:
    """Replace the state file at once; readers see the old one or the new one."""
    target = state_file(home)
    draft = target.with_suffix(f".{os.getpid()}.tmp")
    # The address of Redis may hold a password.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(running.model_dump_json(indent=2) + "\n")
    draft.replace(target)


def forget_running(home: Path, running: RunningStack) -> None:
    """Remove the state file if it still describes this stack."""
    if read_stored(home) == running:
        state_file(home).unlink(missing_ok=True)


def prepare_home(home: Path) -> None:
    """Create the home folder, readable for its owner only.

    Raises:
        StackFailed: it cannot be created or written.
    """
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        (home / "log").mkdir(exist_ok=True, mode=0o700)
    except OSError as exc:
        raise StackFailed(f"the home folder {str(home)!r} cannot be used: {exc}; set REPLAYWRIGHT_HOME") from exc
