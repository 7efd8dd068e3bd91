"""The user at the other end of a unix socket."""

import asyncio
import os
import socket
import struct
import sys

_CREDENTIALS = struct.Struct("=iII")


def is_own(writer: asyncio.StreamWriter) -> bool:
    """Return whether a process of this user is connected; the folder of the socket keeps others away where unknown."""
    if sys.platform != "linux":
        return True
    end = writer.get_extra_info("socket")
    _, uid, _ = _CREDENTIALS.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return bool(uid == os.geteuid())
