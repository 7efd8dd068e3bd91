"""Chromium's crash handlers, which write the memory of a process that crashes to a file: fields, cookies, passwords.

Chromium starts them whatever `--disable-breakpad` says, and without `chrome_crashpad_handler` it does not start. So
they are ended as soon as it has: a process that crashes then finds nobody to write of it, and just ends.
"""

import contextlib
import logging
from pathlib import Path

import psutil

_NAME_ENDS_WITH = "crashpad_handler"
_log = logging.getLogger(__name__)


def end_crash_handlers() -> None:
    """Kill the crash handlers among the children of this process, which adopts what Chromium's processes leave."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()
            if command and Path(command[0]).name.endswith(_NAME_ENDS_WITH):
                process.kill()
                _log.info("ended the crash handler %d", process.pid)
