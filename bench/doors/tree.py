"""The processes of a stack and the sockets that they listen on, found by looking."""

import ctypes
import ipaddress
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_LISTEN = "0A"
"""State of a listening TCP socket in `/proc/net/tcp`."""
_ACCEPTS = 1 << 16
"""Flag of a listening unix socket in `/proc/net/unix`."""


@dataclass(frozen=True, order=True)
class Socket:
    """One socket that a process of the stack listens on."""

    process: str
    """Name and role of its owner, without a process id."""
    address: str
    """An IP address; of a unix socket its path."""
    port: int = 0
    """0: a unix socket."""
    is_apart: bool = False
    """It is in a network namespace of its own."""

    def __str__(self) -> str:
        place = f"{self.address}:{self.port}" if self.port else self.address
        return f"{self.process} {'(in a namespace) ' if self.is_apart else ''}{place}"


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends, so that its tree is complete."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def processes(beside: Collection[int] = ()) -> list[psutil.Process]:
    """The living descendants of this process, but for those in `beside` and theirs."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            line = {process.pid, *(parent.pid for parent in process.parents())}
        except psutil.NoSuchProcess:
            continue
        if not line & set(beside):
            found.append(process)
    return found


def listening(owners: Collection[psutil.Process]) -> list[Socket]:
    """The TCP and unix sockets that these processes listen on, each once."""
    here = Path("/proc/self/ns/net").readlink()
    found = set()
    for process in owners:
        try:
            root = Path("/proc", str(process.pid))
            is_apart = (root / "ns" / "net").readlink() != here
            inodes = _inodes(root)
            name = _role(process)
            for address, port, inode in (*_tcp(root / "net" / "tcp"), *_tcp(root / "net" / "tcp6"), *_unix(root)):
                if inode in inodes:
                    found.add(Socket(name, address, port, is_apart and port != 0))
        except (OSError, psutil.NoSuchProcess):  # it ended meanwhile
            continue
    return sorted(found)


def _inodes(root: Path) -> set[str]:
    links = []
    for entry in (root / "fd").iterdir():
        try:
            links.append(str(entry.readlink()))
        except FileNotFoundError:  # closed meanwhile
            continue
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def _tcp(table: Path) -> Iterator[tuple[str, int, str]]:
    for line in table.read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == _LISTEN:
            address, port = fields[1].split(":")
            yield _address(address), int(port, 16), fields[9]


def _address(text: str) -> str:
    """The usual notation of an address, which the kernel writes word by word in the machine's own order."""
    raw = b"".join(bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
    return str(ipaddress.ip_address(raw))


def _unix(root: Path) -> Iterator[tuple[str, int, str]]:
    for line in (root / "net" / "unix").read_text().splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and int(fields[3], 16) & _ACCEPTS:
            yield fields[7], 0, fields[6]


def _role(process: psutil.Process) -> str:
    """The program, and for one of ours its module."""
    words = process.cmdline()
    if "-m" in words[:-1]:
        return " ".join(words[words.index("-m") + 1 :][:2])
    return Path(words[0]).name if words else process.name()
