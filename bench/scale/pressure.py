"""Little memory and many runs: what waits, and what dies.

The worker and its browsers live in a control group of their own with a limit, so that nothing else on the machine is
short of memory. That needs a cgroup file system that may be written, as root of a virtual machine or of a privileged
container has.
"""

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.scale.fleet import MIB, Fleet
from replaywright.cli.runs.follow import handle_of, progress_of
from replaywright.cli.runs.starting import Order
from replaywright.domain.task.tasks import Task

_ROOT = Path("/sys/fs/cgroup")
_V1 = ("memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control")
_V2 = ("memory.max", "memory.peak", "memory.events")
WAITING = "waiting for a free place"
LIMIT_S = 240.0
"""Runs that have not ended by then have not been survived."""
LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class Group:
    """A control group for memory."""

    folder: Path
    names: tuple[str, str, str]

    def take(self, pid: int) -> None:
        """Move a process and its children here; what they start is here, too."""
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            (self.folder / "cgroup.procs").write_text(str(one.pid))

    @property
    def most_mib(self) -> int:
        """The most that was in use at any time."""
        return int((self.folder / self.names[1]).read_text()) // MIB

    @property
    def killed(self) -> int:
        """How many processes the kernel has ended for want of memory."""
        lines = (line.split() for line in (self.folder / self.names[2]).read_text().splitlines())
        return next((int(words[1]) for words in lines if words[0] == "oom_kill"), 0)


@contextlib.contextmanager
def group_of(limit_mib: int) -> Iterator[Group]:
    """A new one with this limit; what is left in it at the end is ended.

    Raises:
        OSError: there may be none here.
    """
    is_v2 = (_ROOT / "cgroup.controllers").exists()
    group = Group((_ROOT if is_v2 else _ROOT / "memory") / f"rw-scale-{secrets.token_hex(4)}", _V2 if is_v2 else _V1)
    group.folder.mkdir()
    try:
        (group.folder / group.names[0]).write_text(str(limit_mib * MIB))
        yield group
    finally:
        for _ in range(50):
            pids = (group.folder / "cgroup.procs").read_text().split()
            for pid in pids:
                with contextlib.suppress(psutil.Error):
                    psutil.Process(int(pid)).kill()
            if not pids:
                break
            time.sleep(0.1)
        group.folder.rmdir()


async def under_pressure(limit_mib: int, runs: int, *, tell: Callable[[str], None]) -> list[dict[str, object]]:
    """The same runs with places as the memory has room for, and with places for all of them."""
    rows: list[dict[str, object]] = []
    for places in (None, runs):
        try:
            with group_of(limit_mib) as group:
                rows.append(await _with_places(group, limit_mib, runs, places, tell=tell))
        except OSError as exc:
            return [{"skipped": f"no control group of its own: {exc}"}]
        tell(str(rows[-1]))
    return rows


async def _with_places(
    group: Group, limit_mib: int, runs: int, places: int | None, *, tell: Callable[[str], None]
) -> dict[str, object]:
    async with Fleet(0, played=False, tell=tell, max_browsers=places) as fleet:
        worker = await fleet.add_worker()
        group.take(worker.pid)
        task = await fleet.learned(5)
        begun = time.monotonic()
        ended, recoveries, waited, said = await _all_of(fleet, task, runs)
        return {
            "limit_mib": limit_mib,
            "places": places or "what the memory has room for",
            "runs": runs,
            "done": ended,
            "failed": runs - ended,
            "recoveries": recoveries,
            "wall_s": round(time.monotonic() - begun, 1),
            "most_mib": group.most_mib,
            "processes_killed": group.killed,
            "worker_lives": worker.exit_status() is None,
            "most_waiting": waited,
            "said": said,
            "load": round(os.getloadavg()[0], 1),
        }


async def _all_of(fleet: Fleet, task: Task, runs: int) -> tuple[int, int, int, str]:
    """How many were done in time, their recoveries, how many said at once that they wait, and what one said."""
    orders = [Order(task, {}, f"{task.task}-{secrets.token_hex(5)}") for _ in range(runs)]
    going = [asyncio.create_task(fleet.run(order)) for order in orders]
    waited, said, deadline = 0, "", time.monotonic() + LIMIT_S
    while not all(one.done() for one in going) and time.monotonic() < deadline:
        await asyncio.sleep(LOOK_EVERY_S)
        seen = await asyncio.gather(*(progress_of(handle_of(fleet.place.client, order.run_id)) for order in orders))
        doing = [progress.doing for progress in seen if progress is not None and WAITING in progress.doing]
        waited, said = max(waited, len(doing)), said or next(iter(doing), "")
    for one, order in zip(going, orders, strict=True):
        if not one.done():
            one.cancel()
            await handle_of(fleet.place.client, order.run_id).terminate()
    ended = [one.result() for one in going if one.done() and not one.cancelled()]
    done = [one for one in ended if not one.why]
    return len(done), sum(one.recoveries for one in ended), waited, said
