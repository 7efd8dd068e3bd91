"""The user at the other end of a TCP connection, where that end is on this host.

Loopback is open to every user of a host. The kernel knows whose socket is connected: sock_diag tells it for exactly one
connection in some microseconds, and where there is no such thing (gVisor), /proc/net/tcp does.
"""

import errno
import ipaddress
import os
import socket
import struct
import sys
from pathlib import Path

Address = tuple[str, int]
"""Address and port."""

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLMSG_ERROR = 2
_NLM_F_REQUEST = 1
_ANY_STATE = 0xFFFFFFFF
_NO_COOKIE = b"\xff" * 8
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI")
_PORTS = struct.Struct("!HH")
_ANSWER_TAIL = struct.Struct("=IIIII")
_TAIL_AT = _HEADER.size + 4 + 48
"""Behind the message's header, four octets of state, and the connection's address."""


def own_user() -> int | None:
    """Return the user of this process as `user_at` tells it; None where nothing does."""
    return os.getuid() if sys.platform == "linux" else None


def user_at(end: Address, other_end: Address) -> int | None:
    """Return the user whose process holds the socket at `end`, which is connected to `other_end`.

    None where there is no such socket on this host, or no process holds it any more: the kernel shows a socket without
    a process as root's.
    """
    if sys.platform != "linux":
        return None
    try:
        return _asked(end, other_end)
    except OSError:
        return _read(end, other_end)


class NetworkOfNow:
    """The network that this process is in when it makes this, and can still ask about once it is in another."""

    def __init__(self) -> None:
        self._asking = _open()

    def user_at(self, end: Address, other_end: Address) -> int | None:
        """Like the function of this name, for a connection in that network.

        Raises:
            OSError: the kernel does not answer such questions.
        """
        return _asked_on(self._asking, end, other_end)


def _open() -> socket.socket:
    asking = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
    asking.setblocking(False)
    return asking


def _asked(end: Address, other_end: Address) -> int | None:
    """Ask the kernel by sock_diag.

    Raises:
        OSError: it does not answer such questions.
    """
    with _open() as asking:
        return _asked_on(asking, end, other_end)


def _asked_on(asking: socket.socket, end: Address, other_end: Address) -> int | None:
    """Ask the kernel on this socket.

    Raises:
        OSError: it does not answer such questions.
    """
    family = socket.AF_INET6 if ":" in end[0] else socket.AF_INET
    body = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, _ANY_STATE) + _PORTS.pack(end[1], other_end[1])
    body += b"".join(_packed(address).ljust(16, b"\0") for address, _ in (end, other_end)) + b"\0\0\0\0" + _NO_COOKIE
    asking.send(_HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0) + body)
    answer = asking.recv(4096)
    kind = _HEADER.unpack_from(answer)[1]
    if kind == _NLMSG_ERROR:
        code = -struct.unpack_from("=i", answer, _HEADER.size)[0]
        if code == errno.ENOENT:
            return None
        raise OSError(code, os.strerror(code))
    *_, user, inode = _ANSWER_TAIL.unpack_from(answer, _TAIL_AT)
    return int(user) if inode else None


def _read(end: Address, other_end: Address) -> int | None:
    """Look in the kernel's table of connections."""
    wanted = [f"{_packed_as_shown(address)}:{port:04X}" for address, port in (end, other_end)]
    try:
        lines = Path("/proc/net/tcp6" if ":" in end[0] else "/proc/net/tcp").read_text("ascii").splitlines()[1:]
    except OSError:
        return None
    for line in lines:
        fields = line.split()
        if fields[1:3] == wanted:
            return int(fields[7]) if int(fields[9]) else None
    return None


def _packed(address: str) -> bytes:
    return ipaddress.ip_address(address.partition("%")[0]).packed


def _packed_as_shown(address: str) -> str:
    """The address in hexadecimal, each four octets as a number of this machine."""
    packed = _packed(address)
    return "".join(f"{word:08X}" for word in struct.unpack(f"={len(packed) // 4}I", packed))
