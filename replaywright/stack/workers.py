"""The worker as a process of its own, as the demonstration, `up` and the tests run it."""

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from replaywright.children import for_worker
from replaywright.errors import StackFailed
from replaywright.keeper.host.identity import ProcessIdentity
from replaywright.settings import OWNER_VARIABLE, READY_FILE_VARIABLE
from replaywright.stack.processes import Child, start_child

WORKER_READY_S = 180.0
"""Limit for a worker to be ready. A supervised one that takes longer is restarted with twice the
time."""
_KILLED_S = 5
_DRAIN_S = 35
"""A little more than the worker's own graceful shutdown: a step under way may end."""


async def start_worker(
    environment: Mapping[str, str],
    *,
    log: Path,
    role: str = "all",
    ready_timeout_s: float = WORKER_READY_S,
    module: str = "worker",
) -> Child:
    """Start `python -m worker --role …` and return once it polls.

    End it with `stop_worker`; for a crash, `Child.kill` ends its process group with SIGKILL (session keepers have
    groups of their own and stay).

    Args:
        environment: From `Stack.environment`, and more; what its role needs of this process's comes by itself.
        log: Its output; written anew.
        role: `all`, `workflow`, `browser` or `model`.
        ready_timeout_s: A worker that does not poll after this is a failure.
        module: One that serves as `worker` does, for measurements.

    Raises:
        StackFailed: it ended or did not get ready; the message ends with its log.
    """
    # Beside its log: a folder for temporary files would stay where this process is killed meanwhile.
    ready_file = log.with_suffix(".ready.json")
    ready_file.unlink(missing_ok=True)
    child = start_child(
        f"worker ({role})",
        [sys.executable, "-P", "-m", module, "--role", role],
        log=log,
        environment={
            **for_worker(role, {**os.environ, **environment}),
            **environment,
            READY_FILE_VARIABLE: str(ready_file),
        },
        # Not asked to drain: with us the servers end that would hear of its steps.
        leash=signal.SIGKILL,
    )

    async def polls() -> bool:
        return ready_file.exists()

    try:
        await child.wait_until(polls, ready_timeout_s)
    except BaseException:
        child.kill()
        await child.ended_within(_KILLED_S)
        raise
    finally:
        ready_file.unlink(missing_ok=True)
    return child


async def stop_worker(worker: Child) -> None:
    """Let it drain (SIGTERM) and, when that takes too long, end it (SIGKILL).

    Raises:
        StackFailed: it had already ended with an error of its own.
    """
    status = worker.exit_status()
    await worker.stop(grace_s=_DRAIN_S)
    if status is not None and status > 0:
        raise StackFailed(f"{worker.name} had ended with status {status}\n{worker.log_tail()}")


def as_variable(owner: ProcessIdentity | None) -> str:
    """Return the value of `OWNER_VARIABLE` for the owner of a stack."""
    return "" if owner is None else f"{owner.pid}:{owner.start_ticks}"


def owner_in(environment: Mapping[str, str]) -> ProcessIdentity | None:
    """Return the owner of the stack that a worker's environment names; None when its servers are somebody else's."""
    pid, _, start = environment.get(OWNER_VARIABLE, "").partition(":")
    if not (pid.isdecimal() and start.isdecimal()):
        return None
    return ProcessIdentity(pid=int(pid), start_ticks=int(start))


def announce_ready(path: Path, **facts: object) -> None:
    """Write the ready file, at once and whole: for `worker.py`, when it polls."""
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(facts), encoding="utf-8")
    draft.replace(path)
