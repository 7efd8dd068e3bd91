"""What another user of this host does: in a child process with the uid of `nobody`."""

import asyncio
import os
import pwd
import subprocess
import sys

import pytest

NOBODY = pwd.getpwnam("nobody").pw_uid

needs_other_user = pytest.mark.skipif(os.getuid() != 0, reason="only root can start a process of another user")

_ASKS = f"""
import encodings.idna, os, socket, sys
os.setgroups([])  # after all imports: the interpreter itself may lie where only this user may read
os.setuid({NOBODY})
answer = b""
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5) as asking:
    try:
        asking.sendall(bytes.fromhex(sys.argv[2]))
        while sys.argv[3] == "reads" and (more := asking.recv(65536)):
            answer += more
    except ConnectionError:
        pass
print(answer.hex())
"""


async def ask_as_another_user(port: int, data: bytes, *, closes: bool = False) -> bytes:
    """Return all that comes back until the connection is closed; with `closes` the child closes it at once."""
    command = [sys.executable, "-c", _ASKS, str(port), data.hex(), "closes" if closes else "reads"]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=30, check=True)
    return bytes.fromhex(done.stdout.strip())
