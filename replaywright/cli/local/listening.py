"""Sockets on loopback."""

import contextlib
import socket
from collections.abc import Iterator

from replaywright.errors import InputInvalid

HOST = "127.0.0.1"


@contextlib.contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Open a socket on loopback; for port 0, on a free one.

    Raises:
        InputInvalid: the port is taken, or may not be used.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()  # whoever is told the address now is not refused
        except OSError as exc:
            why = exc.strerror or str(exc)
            raise InputInvalid(f"--port {port}: {why}; without --port a free one is taken") from exc
        yield listener
