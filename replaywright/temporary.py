"""Temporary folders that are deleted with their process, whatever ends it."""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_SWEEPER = """\
import os, shutil, sys, time
os.read(0, 1)
end = time.monotonic() + 30
while os.path.lexists(sys.argv[1]) and time.monotonic() < end:
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    time.sleep(0.1)
"""
"""Wait until the other end of the pipe is closed, by the owner or by its death, then delete the folder.

More than once, because what the owner has started may write to it for a moment longer.
"""


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a folder that is deleted at the end of the block, or by another process when this one is killed."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    # In a session of its own: what ends the owner's process group does not reach it.
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SWEEPER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={},
        cwd="/",
    ):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
