"""Supervision of workers: one that ends, or does not get ready, is restarted with back-off.

Servers outlive workers: a worker that is slow, or broken, is no reason to stop what keeps the runs.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from replaywright.errors import StackFailed
from replaywright.stack.processes import Child
from replaywright.stack.workers import start_worker

DRAIN_S = 6.0
"""Limit for steps under way when the stack ends; everything has to be gone within 15 s."""
LONGEST_PAUSE_S = 60.0
LONGEST_LIMIT = 8
"""A worker that is not ready within the limit gets twice as long the next time, up to so many times the limit."""
STABLE_S = 60.0
"""A worker that has lived so long begins with the shortest pause again."""


@dataclass
class BackOff:
    """Pause before the next try, and its limit for being ready."""

    ready_s: float
    """The limit of the first try."""
    failures: int = 0
    """Consecutive failures."""

    def failed(self, lived_s: float) -> None:
        """Note that a worker failed; `lived_s` after it was ready, 0 when it never was."""
        self.failures = 0 if lived_s >= STABLE_S else self.failures + 1

    @property
    def pause_s(self) -> float:
        """Pause before the next try; 0 after a stable worker, whose runs wait."""
        return 0.0 if not self.failures else min(float(1 << (self.failures - 1)), LONGEST_PAUSE_S)

    @property
    def limit_s(self) -> float:
        """Limit for the next one to be ready."""
        return self.ready_s * min(1 << self.failures, LONGEST_LIMIT)


class Supervisor:
    """The workers of `up`, one for each role."""

    def __init__(
        self, environment: Mapping[str, str], logs: Path, *, ready_s: float, tell: Callable[[str], None]
    ) -> None:
        """Make one that starts nothing yet.

        Args:
            environment: From `Stack.environment`.
            logs: The folder of the workers' logs.
            ready_s: How long a worker may take to be ready; each further try gets twice as long.
            tell: Gets one line for each try that failed, and for each success after one.
        """
        self._environment = dict(environment)
        self._logs = logs
        self._ready_s = ready_s
        self._tell = tell
        self._tasks: list[asyncio.Task[None]] = []
        self._running: dict[str, Child] = {}
        self._waited_for: set[str] = set()
        self.ready = asyncio.Event()
        """Every role has had a worker that was ready."""

    def start(self, roles: Sequence[str]) -> None:
        """Start a worker for each of these roles, and keep it running."""
        self._waited_for = set(roles)
        self._tasks = [asyncio.create_task(self._keep(role)) for role in roles]

    async def stop(self, at_once: asyncio.Event) -> None:
        """Let all of them drain together; end them when that takes too long, or when `at_once` is set."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        draining = {asyncio.create_task(worker.stop(DRAIN_S)) for worker in self._running.values()}
        hurry = asyncio.create_task(at_once.wait())
        while any(not task.done() for task in draining) and not hurry.done():
            await asyncio.wait({*draining, hurry}, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if at_once.is_set():
            for worker in self._running.values():
                worker.kill()
        await asyncio.gather(*draining)

    async def _keep(self, role: str) -> None:
        log, back_off = self._logs / f"worker-{role}.log", BackOff(self._ready_s)
        tries = 0
        while True:
            ready_at = 0.0
            try:
                worker = await start_worker(self._environment, log=log, role=role, ready_timeout_s=back_off.limit_s)
            except StackFailed as exc:
                why = _one_line(str(exc))
            else:
                ready_at = time.monotonic()
                self._is_ready(role, worker, tries)
                status = await worker.ended()
                del self._running[role]
                why = f"{worker.name} ended with status {status}"
            back_off.failed(time.monotonic() - ready_at if ready_at else 0.0)
            tries += 1
            kept = log.with_suffix(".previous.log")
            if log.exists():
                log.replace(kept)  # the next worker writes its log anew
            again = f"in {back_off.pause_s:g} s" if back_off.pause_s else "now"
            self._tell(f"{why} (log: {kept}); servers and runs stay, starting it again {again}")
            await asyncio.sleep(back_off.pause_s)

    def _is_ready(self, role: str, worker: Child, tries: int) -> None:
        self._running[role] = worker
        if tries:
            self._tell(f"{worker.name} is ready (try {tries + 1})")
        self._waited_for.discard(role)
        if not self._waited_for:
            self.ready.set()


def _one_line(message: str) -> str:
    """Return the first and the last line of a message, which is the last of the log."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return ": ".join(dict.fromkeys((lines[0], lines[-1])))
