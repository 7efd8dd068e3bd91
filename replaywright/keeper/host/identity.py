"""Identity of a process: a pid is reused, a pid with its start time and the boot id is not."""

import socket
import uuid
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class ProcessIdentity(BaseModel):
    """One process, told apart from a later one with the same pid."""

    model_config = ConfigDict(frozen=True)

    pid: int
    start_ticks: int
    """Clock ticks between boot and start (`/proc/<pid>/stat`, field 22): no clock step changes them."""


def start_ticks_of(pid: int) -> int | None:
    """Return when the process started, or None when there is no such process (a zombie counts as none)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return _start_ticks_without_proc(pid)
    except (OSError, ValueError):
        return None
    # The command name, in parentheses, may itself hold spaces and parentheses.
    fields = stat[stat.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return int(fields[19])


def _start_ticks_without_proc(pid: int) -> int | None:
    if Path("/proc/self").is_dir():
        return None
    import psutil  # noqa: PLC0415 - every command imports this module, and only systems without /proc need psutil

    try:
        return int(psutil.Process(pid).create_time() * 100)
    except psutil.Error:
        return None


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of the process that has this pid now, or None when there is none."""
    ticks = start_ticks_of(pid)
    return None if ticks is None else ProcessIdentity(pid=pid, start_ticks=ticks)


def is_alive(identity: ProcessIdentity | None) -> bool:
    """Return whether exactly this process still runs, on this boot of this host."""
    return identity is not None and start_ticks_of(identity.pid) == identity.start_ticks


def host_name() -> str:
    """Return the name of this host (of this container, where there is one)."""
    return socket.gethostname()


def boot_id() -> str:
    """Return an id that changes with every boot of this host."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        import psutil  # noqa: PLC0415 - as above

        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{host_name()} {int(psutil.boot_time())}"))
