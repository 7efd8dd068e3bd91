"""Files in a session's directory: what only the worker knows of a browser, for the one that attaches next."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_log = logging.getLogger("replaywright.handover")


class Handover:
    """One such file, a JSON object."""

    def __init__(self, directory: str, name: str) -> None:
        """Keep it in the session's directory; without one, nobody attaches later."""
        self._file = Path(directory) / name if directory else None
        self._written: Mapping[str, Any] | None = None

    def read(self) -> dict[str, Any]:
        """Return what an earlier attachment has written; empty without one."""
        if self._file is None:
            return {}
        try:
            told = json.loads(self._file.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as exc:
            _log.warning("%s of an earlier attachment cannot be read: %s", self._file, exc)
            return {}
        return told if isinstance(told, dict) else {}

    def write(self, told: Mapping[str, Any]) -> None:
        """Write it, unless it says so already. A worker that is killed meanwhile leaves the old one or the new one."""
        if self._file is None or told == self._written:
            return
        new = self._file.with_suffix(".new")
        try:
            new.touch(mode=0o600)
            new.write_text(json.dumps(told), "utf-8")
            new.replace(self._file)
        except OSError as exc:
            _log.warning("%s cannot be written, and is lost with this worker: %s", self._file, exc)
            return
        self._written = dict(told)
