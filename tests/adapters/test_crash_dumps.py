"""A process of a session that crashes leaves nothing of its memory on disk."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from replaywright.keeper.host.client import KeeperHandle, launch_keeper
from tests.adapters.test_keeper import is_running, options, processes_of
from tests.waiting import until


def of_kind(handle: KeeperHandle, kind: str) -> list[psutil.Process]:
    """Chromium's processes of one kind; `browser` is the first of them."""
    assert handle.record.chromium is not None
    if kind == "browser":
        return [psutil.Process(handle.record.chromium.pid)]
    return [each for each in processes_of(handle) if is_running(each) and f"--type={kind} " in " ".join(each.cmdline())]


async def crash(handle: KeeperHandle, kind: str) -> None:
    """Crash one of Chromium's processes, and wait for its end."""
    await until(lambda: of_kind(handle, kind))
    crashing = of_kind(handle, kind)[0]
    crashing.send_signal(signal.SIGSEGV)
    await until(lambda: not is_running(crashing))


@pytest.mark.parametrize(
    "kind",
    ["renderer", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("gpu-process", "utility")), "browser"],
)
async def test_no_dump_is_written_of_a_process_that_crashes(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    handle = await launch_keeper(tmp_path / "sessions", options(), environment={**os.environ, "HOME": str(home)})
    try:
        handlers = [each for each in processes_of(handle) if is_running(each) and "crashpad" in each.name()]
        limits = {each.rlimit(psutil.RLIMIT_CORE) for each in processes_of(handle)}
        await crash(handle, kind)
        dumps = [str(path) for path in tmp_path.rglob("*.dmp")]
    finally:
        async with await handle.connect() as keeper:
            await keeper.close(1)

    assert handlers == []
    assert {soft for soft, _ in limits} <= {0, 1}
    assert dumps == []
    assert list(home.rglob("*Crash*")) == []
