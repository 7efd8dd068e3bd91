"""Hosts out of Linux namespaces: each with a network, a name, processes and a part of the file system of its own.

A program runs itself again `apart`, and is the first host then, at `SERVICES`. Those that it starts are reached
through it and reach each other. A host dies as machines do, with all that runs on it at one instant; nothing of any
outlives the program, whatever ends it.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from replaywright.errors import StackFailed
from replaywright.stack.processes import Child, start_child

SERVICES = "10.77.0.1"
"""Address of the first host, from each of them."""

_PROGRAMS = ("unshare", "nsenter", "ip", "mount", "hostname")
_APART = ("--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
_INIT = 'hostname "$0" && touch "$1" && while :; do sleep 3600 & wait; done'
"""A shell reaps what its children leave behind, as the first process of a host has to."""
_READY_S = 20


def why_not() -> str:
    """Why namespaces cannot be had here; empty when they can."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (Debian: util-linux, iproute2, mount, hostname)"
    done = subprocess.run(apart(["ip", "link", "set", "lo", "up"]), capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"namespaces are not permitted here: {done.stderr.strip()}"


def apart(command: Sequence[str]) -> list[str]:
    """The command with everything a host of its own has; anybody may be root there, if the kernel lets them."""
    as_root = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    return [_path("unshare"), *as_root, *_APART, *command]


class Host:
    """One more host."""

    def __init__(self, name: str, number: int, folder: Path) -> None:
        """It is told apart by its name; `folder` is its own, and no other host sees it."""
        self.name = name
        self.folder = folder
        self.address = f"10.77.{number}.2"
        """Where the others reach it."""
        self._number = number
        self._child: Child | None = None
        self._entered: list[Child] = []
        self._init = 0

    async def start(self, hidden: Sequence[Path]) -> None:
        """Boot it; it does not see the `hidden` folders.

        Raises:
            StackFailed: it does not come up.
        """
        ready = self.folder / "booted"
        ready.unlink(missing_ok=True)
        words = [_path("unshare"), *_APART, _path("sh"), "-c", _INIT, self.name, str(ready)]
        self._child = start_child(f"host {self.name}", words, log=self.folder / "host.log")

        async def booted() -> bool:
            return ready.exists()

        await self._child.wait_until(booted, _READY_S)
        self._init = psutil.Process(self._child.pid).children()[0].pid
        here, gateway = f"host{self._number}", f"10.77.{self._number}.1"
        _ip("link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", str(self._init))
        _ip("address", "add", f"{gateway}/24", "dev", here)
        _ip("link", "set", here, "up")
        for line in (
            ("link", "set", "lo", "up"),
            ("address", "add", f"{self.address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("route", "add", "default", "via", gateway),
        ):
            _run(self.inside([_path("ip"), *line]))
        for folder in hidden:
            _run(self.inside([_path("mount"), "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]))

    def inside(self, command: Sequence[str]) -> list[str]:
        """The command, run on this host."""
        entered = [_path("nsenter"), "--target", str(self._init), "--net", "--mount", "--uts", "--pid"]
        return [*entered, f"--wd={self.folder}", "--", *command]

    def run(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Child:
        """Start a program on this host, with its output in a file of its folder."""
        child = start_child(name, self.inside(command), log=self.folder / f"{name}.log", environment=environment)
        self._entered.append(child)
        return child

    async def die(self) -> None:
        """End everything on it at one instant, as when its power fails."""
        assert self._child is not None, "it was never started"
        os.kill(self._init, signal.SIGKILL)
        for child in self._entered:  # `nsenter` stops itself when its program is stopped, and is to reap it
            if child.exit_status() is None:
                os.kill(child.pid, signal.SIGCONT)
        if not await self._child.ended_within(_READY_S):
            raise StackFailed(f"host {self.name} does not die")


class Hosts:
    """The hosts of this program, which has to run `apart` itself."""

    def __init__(self, folder: Path) -> None:
        """Each gets a folder below this one, and only `shared` there is every host's."""
        self.folder = folder
        self.shared = folder / "shared"
        self._hosts: list[Host] = []

    async def start(self) -> None:
        """Give this host its address, and let it pass on what is meant for others."""
        self.shared.mkdir(mode=0o700, parents=True)
        _ip("link", "set", "lo", "up")
        _ip("address", "add", f"{SERVICES}/32", "dev", "lo")
        await asyncio.to_thread(Path("/proc/sys/net/ipv4/ip_forward").write_text, "1")

    async def boot(self, name: str) -> Host:
        """Start a host; one of this name that has died has its disk again.

        Raises:
            StackFailed: it does not come up.
        """
        folder = self.folder / name
        folder.mkdir(mode=0o700, exist_ok=True)
        host = Host(name, len(self._hosts) + 1, folder)
        self._hosts.append(host)
        others = {known.folder for known in self._hosts} | {self.folder / "services"}
        await host.start([other for other in sorted(others) if other != folder and other.exists()])
        return host


def _path(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise StackFailed(f"{program} is not installed")
    return found


def _ip(*words: str) -> None:
    _run([_path("ip"), *words])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StackFailed(f"{' '.join(command)}: {done.stderr.strip()}")


def run_apart(module: str, arguments: Sequence[str]) -> int:
    """Run this program's module once more on a host of its own, and return its exit status."""
    return subprocess.run(apart([sys.executable, "-m", module, *arguments]), check=False).returncode
