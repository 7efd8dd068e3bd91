"""Folders of sessions of this user's other homes on this host, found by their keepers."""

import os
from collections.abc import Sequence
from pathlib import Path

import psutil

_MODULE, _OPTION = "replaywright.keeper", "--dir"
"""As a keeper is started."""


def other_sessions_dirs(sessions_dir: Path) -> list[Path]:
    """Return the folders, other than this one, in which keepers of this user have their sessions now."""
    found: set[Path] = set()
    for process in psutil.process_iter(["cmdline", "uids"]):
        uids = process.info["uids"]
        if uids is not None and uids.effective == os.geteuid():
            directory = _directory_in(process.info["cmdline"] or ())
            if directory is not None:
                found.add(directory.parent)
    return sorted(found - {sessions_dir.absolute()})


def _directory_in(command: Sequence[str]) -> Path | None:
    """Return the session's directory that a keeper's command line names; None for other commands."""
    if _MODULE not in command or _OPTION not in command[:-1]:
        return None
    return Path(command[command.index(_OPTION) + 1])
