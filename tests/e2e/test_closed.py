"""Nobody else on this machine, and nobody beside it, gets at what a run has: files and listening sockets."""

import asyncio
import contextlib
import os
import stat
from pathlib import Path

import psutil

from replaywright.domain.secrets.secret_sites import is_loopback
from tests.e2e.lab import Lab


def processes_of(home: Path) -> list[psutil.Process]:
    """Everything that was told this home: keepers and browsers outlive who started them; and the stage's servers."""
    found: dict[int, psutil.Process] = {}
    for server in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it ended meanwhile
            family = (server, *server.children(recursive=True))
            # A browser of another test may be among them, under its own driver: ours are found by the home below.
            found |= {process.pid: process for process in family if "chrom" not in process.name()}
    for process in psutil.process_iter():
        try:
            if str(home) in " ".join(process.cmdline()):
                found[process.pid] = process
        except psutil.Error:  # it ended meanwhile
            continue
    return list(found.values())


def listening(home: Path) -> dict[str, set[str]]:
    """Addresses by the names of the programs that listen there."""
    found: dict[str, set[str]] = {}
    for process in processes_of(home):
        try:
            name, connections = process.name(), process.net_connections("inet")
        except psutil.Error:
            continue
        ends = {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN and one.laddr}
        if ends:
            found.setdefault(name, set()).update(ends)
    return found


def is_open_to_others(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:  # of the browser that is being closed
        return False
    return not stat.S_ISLNK(found.st_mode) and bool(stat.S_IMODE(found.st_mode) & 0o077)


async def test_all_listen_on_loopback_only_and_all_files_are_their_owners(lab: Lab) -> None:
    home = Path(lab.stage.home)
    run = asyncio.create_task(lab.run(lab.order()))
    heard: dict[str, set[str]] = {}
    while not run.done():
        for name, ends in (await asyncio.to_thread(listening, home)).items():
            heard.setdefault(name, set()).update(ends)
        await asyncio.sleep(0.1)

    assert run.result().status == "done"
    assert heard, "the keeper's proxy listens"
    assert not [name for name in heard if "chrom" in name], "a browser is spoken to over its pipe"
    assert [(name, end) for name, ends in heard.items() for end in ends if not is_loopback(end)] == []
    below = (Path(folder, name) for folder, folders, files in os.walk(home) for name in (*folders, *files))
    assert [path for path in (home, *below) if is_open_to_others(path)] == []
    assert home.stat().st_uid == os.geteuid()
