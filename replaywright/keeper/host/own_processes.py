"""Processes of one home, and the TCP ports of this machine that they listen on, found by looking.

Every process of ours that may listen, or whose children may, has an entry in the home: a file named for its pid and
start time, with nothing in it. A process counts with all its descendants; an entry that also names a port is about that
port alone.
"""

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from replaywright.keeper.host.identity import ProcessIdentity, identify, is_alive, start_ticks_of

ENTRIES = "processes"
"""Folder of the home that holds the entries."""
_KNOWN_S = 2.0
"""Time for which a socket of somebody else is remembered as such."""

_LISTEN = 10
"""State of a TCP socket that listens."""
_SOCK_DIAG, _BY_FAMILY, _DONE = 4, 20, 3
_ROOT_REQUEST = 0x301
"""Flags of a netlink request for all that fit: `NLM_F_REQUEST | NLM_F_DUMP`."""
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBBI")


def enter_process(home: Path, identity: ProcessIdentity, port: int | None = None) -> Path:
    """Record a process of this home, or one port of it, and return the entry. Entries of dead processes go."""
    folder = home.absolute() / ENTRIES
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path, entry in list(_entries(folder)):
        if not is_alive(entry.process):
            path.unlink(missing_ok=True)
    suffix = "" if port is None else f"-{port}"
    path = folder / f"{identity.pid}-{identity.start_ticks}{suffix}"
    path.touch(mode=0o600)
    return path


@contextlib.contextmanager
def entered(home: Path, port: int | None = None) -> Iterator[None]:
    """Record this process, or one port of it, until the block ends."""
    identity = identify(os.getpid())
    assert identity is not None
    path = enter_process(home, identity, port)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


class OwnPorts:
    """Tells which ports of this machine are those of a home's processes, at the moment of the question."""

    def __init__(self, home: Path) -> None:
        """This process counts as one of the home's without an entry, but its children do not."""
        self._entries = home.absolute() / ENTRIES
        self._others: dict[str, float] = {}

    def has(self, port: int) -> bool:
        """Return whether a process of the home listens on this port, at whatever address of this machine."""
        listening = _listeners(port)
        if listening is None:
            return port in _ports_by_psutil(self._whole(), {(os.getpid(), port), *self._single_ports()})
        now_s = time.monotonic()
        unknown = {each for each in listening if now_s - self._others.get(each.inode, -_KNOWN_S) >= _KNOWN_S}
        if not unknown:
            return False
        if self._owns(unknown, port):
            return True
        self._others = {inode: at for inode, at in self._others.items() if now_s - at < _KNOWN_S}
        self._others.update((each.inode, now_s) for each in unknown)
        return False

    def _owns(self, listening: "set[_Listener]", port: int) -> bool:
        single = {os.getpid(), *(pid for pid, its_port in self._single_ports() if its_port == port)}
        for pid in _with_descendants(self._whole()) | single:
            inodes = _sockets_of(pid)
            if inodes is None:  # nobody can tell what it holds: whatever is of its user may be its own
                user = _user_of(pid)
                if any(each.user == user for each in listening):
                    return True
            elif any(each.inode in inodes for each in listening):
                return True
        return False

    def _whole(self) -> set[int]:
        """Return the processes that count with their descendants."""
        return {entry.process.pid for _, entry in _entries(self._entries) if entry.port is None and entry.is_alive}

    def _single_ports(self) -> set[tuple[int, int]]:
        """Return the processes of which one port counts, with the port."""
        entries = (entry for _, entry in _entries(self._entries))
        return {(entry.process.pid, entry.port) for entry in entries if entry.port is not None and entry.is_alive}


# ------------------------------------------------------------------------------------------- entries


@dataclass(frozen=True)
class _Entry:
    process: ProcessIdentity
    port: int | None

    @property
    def is_alive(self) -> bool:
        return is_alive(self.process)


def _entries(folder: Path) -> Iterator[tuple[Path, _Entry]]:
    with contextlib.suppress(FileNotFoundError):
        for path in folder.iterdir():
            numbers = path.name.split("-")
            if len(numbers) in (2, 3) and all(each.isascii() and each.isdigit() for each in numbers):
                pid, ticks, *port = map(int, numbers)
                yield path, _Entry(ProcessIdentity(pid=pid, start_ticks=ticks), port[0] if port else None)


# ----------------------------------------------------------------------------------------- the system


@dataclass(frozen=True)
class _Listener:
    """A socket that listens."""

    inode: str
    user: int


def _listeners(port: int) -> set[_Listener] | None:
    """Return the sockets of this network namespace that listen on a port; None where the system cannot be asked."""
    try:
        return _asked_kernel(socket.AF_INET, port) | _asked_kernel(socket.AF_INET6, port)
    except (OSError, AttributeError):
        return _in_tables(port)


def _asked_kernel(family: int, port: int) -> set[_Listener]:
    """Ask for the listeners of one family by `sock_diag(7)`: reading the tables in /proc takes milliseconds.

    Raises:
        OSError: the kernel does not answer that.
    """
    found: set[_Listener] = set()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _SOCK_DIAG) as asking:
        asking.settimeout(1.0)
        wanted = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << _LISTEN) + port.to_bytes(2, "big").ljust(
            48, b"\0"
        )
        asking.send(_HEADER.pack(_HEADER.size + len(wanted), _BY_FAMILY, _ROOT_REQUEST, 0, 0) + wanted)
        while True:
            data = asking.recv(65536)
            while len(data) >= _HEADER.size:
                size, kind, _, _, _ = _HEADER.unpack_from(data)
                if kind == _DONE:
                    return found
                if kind != _BY_FAMILY:
                    raise OSError("sock_diag is refused")
                message, data = data[_HEADER.size : size], data[(size + 3) & ~3 :]
                # inet_diag_msg: family, state, timer, retrans; the socket's id with its port first; then five numbers
                if message[1] == _LISTEN and int.from_bytes(message[4:6], "big") == port:
                    user, inode = struct.unpack_from("=II", message, 64)
                    found.add(_Listener(str(inode), user))


def _in_tables(port: int) -> set[_Listener] | None:
    """Read the listeners from the tables in /proc; None where there are none."""
    found: set[_Listener] = set()
    is_known = False
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        try:
            text = Path(table).read_text("ascii")
        except OSError:  # without IPv6 there is no second one
            continue
        is_known = True
        for line in text.splitlines()[1:]:
            fields = line.split()
            if int(fields[3], 16) == _LISTEN and fields[1].endswith(f":{port:04X}"):
                found.add(_Listener(fields[9], int(fields[7])))
    return found if is_known else None


def _with_descendants(roots: Iterable[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (parent := _parent_of(int(folder.name))) is not None:
            children.setdefault(parent, []).append(int(folder.name))
    found: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending += children.get(pid, ())
    return found


def _parent_of(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command name, in parentheses, may itself hold spaces and parentheses.
    return int(stat[stat.rindex(b")") + 2 :].split()[1])


def _sockets_of(pid: int) -> set[str] | None:
    """Return the inodes of a process's sockets; None if it runs and nobody may look."""
    found: set[str] = set()
    try:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                target = str(file.readlink())
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    except (FileNotFoundError, ProcessLookupError):
        return found
    except PermissionError:
        return None if start_ticks_of(pid) is not None else found
    return found


def _user_of(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    except OSError:
        return None
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("Uid:")), None)


def _ports_by_psutil(whole: set[int], single: set[tuple[int, int]]) -> set[int]:
    """Return the ports where there is no /proc."""
    import psutil  # noqa: PLC0415 - only systems without /proc need it

    found: set[int] = set()
    pending = list(whole)
    for pid, port in single:
        found |= {port} & _listening_by_psutil(pid)
    seen: set[int] = set()
    while pending:
        pid = pending.pop()
        if pid in seen:
            continue
        seen.add(pid)
        found |= _listening_by_psutil(pid)
        with contextlib.suppress(psutil.Error):
            pending += [child.pid for child in psutil.Process(pid).children()]
    return found


def _listening_by_psutil(pid: int) -> set[int]:
    import psutil  # noqa: PLC0415 - as above

    try:
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error:
        return set()
    return {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}
