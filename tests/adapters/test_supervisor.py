"""Workers of `up` are tried again and again, and servers stay meanwhile."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from replaywright.stack.supervisor import LONGEST_PAUSE_S, STABLE_S, BackOff, Supervisor
from replaywright.temporary import temporary_folder
from tests.waiting import until

_READY = 'announce_ready(Path(os.environ["REPLAYWRIGHT_READY_FILE"]), pid=os.getpid())'


class Tried:
    """A supervisor of stand-ins for workers, and what it said."""

    def __init__(self, folder: Path, body: str, *, ready_s: float) -> None:
        program = (
            f"import os, sys, time\nfrom pathlib import Path\nfrom replaywright.stack import announce_ready\n{body}"
        )
        (folder / "worker.py").write_text(textwrap.dedent(program))
        self.said: list[str] = []
        self.logs = folder / "log"
        self.supervisor = Supervisor(
            {"PYTHONPATH": str(folder), "TRIES": str(folder / "tries")},
            self.logs,
            ready_s=ready_s,
            tell=self.said.append,
        )


@pytest.fixture
def hurry() -> asyncio.Event:
    """Set when everything is to end at once."""
    return asyncio.Event()


async def test_a_worker_that_is_slow_once_is_tried_again_with_twice_the_time(
    tmp_path: Path, hurry: asyncio.Event
) -> None:
    body = f"""
tries = Path(os.environ["TRIES"])
before = len(tries.read_text()) if tries.exists() else 0
tries.write_text("x" * (before + 1))
print("on a busy machine", flush=True)
time.sleep(3 if before == 0 else 0)
{_READY}
time.sleep(600)
"""
    tried = Tried(tmp_path, body, ready_s=2)

    tried.supervisor.start(["all"])
    await asyncio.wait_for(tried.supervisor.ready.wait(), 60)
    await tried.supervisor.stop(hurry)

    slow, ready = tried.said
    assert slow.startswith("worker (all) was not ready after 2 s: on a busy machine (log: ")
    assert slow.endswith("servers and runs stay, starting it again in 1 s")
    assert ready == "worker (all) is ready (try 2)"
    assert (tried.logs / "worker-all.previous.log").read_text() == "on a busy machine\n"


async def test_a_worker_that_always_fails_is_tried_at_ever_longer_intervals_and_said_in_one_line_each_time(
    tmp_path: Path, hurry: asyncio.Event
) -> None:
    tried = Tried(tmp_path, "sys.exit('no Temporal here')", ready_s=30)

    tried.supervisor.start(["all"])
    await until(lambda: len(tried.said) >= 3, timeout_s=60)
    await tried.supervisor.stop(hurry)

    assert not tried.supervisor.ready.is_set()
    for line, pause in zip(tried.said, (1, 2, 4), strict=False):
        assert line.startswith("worker (all) ended with status 1 before it was ready: no Temporal here (log: ")
        assert line.endswith(f"starting it again in {pause} s")
        assert "\n" not in line


async def test_a_worker_that_dies_is_replaced_and_the_others_stay(tmp_path: Path, hurry: asyncio.Event) -> None:
    body = f"print(os.getpid(), flush=True)\n{_READY}\ntime.sleep(600)\n"
    tried = Tried(tmp_path, body, ready_s=30)
    tried.supervisor.start(["workflow", "browser"])
    await asyncio.wait_for(tried.supervisor.ready.wait(), 60)
    pids = {role: int((tried.logs / f"worker-{role}.log").read_text()) for role in ("workflow", "browser")}

    os.kill(pids["browser"], signal.SIGKILL)
    await until(lambda: len(tried.said) == 2, timeout_s=60)

    assert "worker (browser) ended with status -9" in tried.said[0]
    assert tried.said[1] == "worker (browser) is ready (try 2)"
    assert int((tried.logs / "worker-workflow.log").read_text()) == pids["workflow"]
    assert int((tried.logs / "worker-browser.log").read_text()) != pids["browser"]
    await tried.supervisor.stop(hurry)


async def test_a_worker_that_ignores_the_request_to_end_is_killed_when_everything_is_to_end_at_once(
    tmp_path: Path, hurry: asyncio.Event
) -> None:
    body = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{_READY}\ntime.sleep(600)\n"
    tried = Tried(tmp_path, body, ready_s=30)
    tried.supervisor.start(["all"])
    await asyncio.wait_for(tried.supervisor.ready.wait(), 60)
    begun = time.monotonic()
    hurry.set()

    await tried.supervisor.stop(hurry)

    assert time.monotonic() - begun < 4


def test_pauses_and_limits_double_up_to_a_bound_and_a_stable_worker_begins_anew() -> None:
    back_off = BackOff(ready_s=10)
    pauses, limits = [], []
    for _ in range(9):
        back_off.failed(0)
        pauses.append(back_off.pause_s)
        limits.append(back_off.limit_s)

    assert pauses == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    assert limits == [20, 40, 80, 80, 80, 80, 80, 80, 80]
    back_off.failed(STABLE_S + 1)
    assert (back_off.pause_s, back_off.limit_s) == (0, 10)


async def test_a_temporary_folder_goes_with_its_process_even_when_that_is_killed(tmp_path: Path) -> None:
    with temporary_folder(str(tmp_path / "orderly-")) as folder:
        (folder / "file").touch()
    assert list(tmp_path.iterdir()) == []

    program = textwrap.dedent(
        f"""
        import os, signal
        from replaywright.temporary import temporary_folder
        with temporary_folder({str(tmp_path / "killed-")!r}) as folder:
            (folder / "file").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    killed = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program], check=False)
    assert killed.returncode == -signal.SIGKILL

    await until(lambda: not list(tmp_path.iterdir()))
