"""Memory that is free for browsers, and memory that a browser has taken."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Memory:
    """Memory of this host or, where that is less, of the control groups that this process is in, in bytes."""

    total: int
    available: int
    """Memory that is free without swapping; the cache of files counts as free."""


@dataclass(frozen=True)
class Resident:
    """Resident memory of a process group, in bytes."""

    private: int = 0
    """Private memory of its processes: it is free again when they end."""
    shared: int = 0
    """Files and shared memory, counted once: at the process that has most of them."""

    @property
    def total(self) -> int:
        """Both together."""
        return self.private + self.shared


def memory(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> Memory:
    """Return the memory that browsers may share with everything else here."""
    host = psutil.virtual_memory()
    total, available = int(host.total), int(host.available)
    for limit, free in _limits(proc, cgroups):
        total, available = min(total, limit), min(available, max(0, free))
    return Memory(total, available)


def resident(groups: Collection[int]) -> dict[int, Resident]:
    """Return the resident memory of each process group; a group without any process has none.

    It is read from `statm`, which anybody may read. The proportional set size would tell the same a little better, but
    Chromium's processes that are in its sandbox hide it from everybody except root.
    """
    private = dict.fromkeys(groups, 0)
    shared = dict.fromkeys(groups, 0)
    for pid in psutil.pids():
        try:
            group = os.getpgid(pid)
            if group not in private:
                continue
            usage = psutil.Process(pid).memory_info()
        except (OSError, psutil.Error):  # it has ended, or is not ours
            continue
        common = int(getattr(usage, "shared", 0))
        private[group] += max(0, int(usage.rss) - common)
        shared[group] = max(shared[group], common)
    return {group: Resident(private[group], shared[group]) for group in private}


def _limits(proc: Path, cgroups: Path) -> Iterator[tuple[int, int]]:
    """Yield limit and free memory of each control group of this process that has a limit."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            base, names = cgroups, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base, names = cgroups / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # In a container, the path may be one of the host's: then the container's own group is at the root.
        inner = Path(path.lstrip("/"))
        for group in (base / inner, *(base / parent for parent in inner.parents)):
            limit, used = _text(group / names[0]), _text(group / names[1])
            if limit.isdecimal() and used.isdecimal():
                yield int(limit), int(limit) - int(used) + _reclaimable(group, names[2])


def _reclaimable(group: Path, name: str) -> int:
    for line in _text(group / "memory.stat").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdecimal():
            return int(value)
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
