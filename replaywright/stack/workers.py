"""The worker as a process of its own, as the demonstration, `up` and the tests run it."""

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from replaywright.errors import StackFailed
from replaywright.settings import READY_FILE_VARIABLE
from replaywright.stack.processes import Child, start_child

_READY_TIMEOUT_S = 60
_DRAIN_S = 35
"""A little more than the worker's own graceful shutdown: a step under way may end."""


async def start_worker(
    environment: Mapping[str, str],
    *,
    log: Path,
    role: str = "all",
    detached: bool = False,
    ready_timeout_s: float = _READY_TIMEOUT_S,
    module: str = "worker",
) -> Child:
    """Start `python -m worker --role …` and return once it polls.

    End it with `stop_worker`; for a crash, `Child.kill` ends its process group with SIGKILL (session keepers have
    groups of their own and stay).

    Args:
        environment: From `Stack.environment`, and what else it needs (keys of the model, secrets).
        log: Its output; written anew.
        role: `all`, `workflow`, `browser` or `model`.
        detached: It outlives this process.
        ready_timeout_s: A worker that does not poll after this is a failure.
        module: One that serves as `worker` does, for measurements.

    Raises:
        StackFailed: it ended or did not get ready; the message ends with its log.
    """
    folder = Path(tempfile.mkdtemp(prefix="replaywright-worker-"))
    ready_file = folder / "ready.json"
    try:
        child = start_child(
            f"worker ({role})",
            [sys.executable, "-P", "-m", module, "--role", role],
            log=log,
            environment={**environment, READY_FILE_VARIABLE: str(ready_file)},
            detached=detached,
        )

        async def polls() -> bool:
            return ready_file.exists()

        try:
            await child.wait_until(polls, ready_timeout_s)
        except BaseException:
            child.kill()
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
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


def announce_ready(path: Path, **facts: object) -> None:
    """Write the ready file, at once and whole: for `worker.py`, when it polls."""
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(facts), encoding="utf-8")
    draft.replace(path)
