"""Text editing in the user's editor."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from replaywright.errors import InputInvalid

_USUAL = "vi"


def edited(text: str, *, suffix: str) -> str | None:
    """Let the user edit the text in $VISUAL, $EDITOR or vi; return None if it is unchanged.

    Raises:
        InputInvalid: the editor cannot be started, or fails.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _USUAL
    remedy = "set EDITOR to a command that returns when the file is closed, or use --file"
    with tempfile.TemporaryDirectory(prefix="replaywright-edit-") as folder:
        path = Path(folder) / f"edited{suffix}"
        path.write_text(text, encoding="utf-8")
        try:
            ended = subprocess.run([*shlex.split(named), str(path)], check=False)
        except (OSError, ValueError) as exc:
            raise InputInvalid(f"EDITOR {named!r}: cannot be started ({exc}); {remedy}") from exc
        if ended.returncode:
            raise InputInvalid(f"EDITOR {named!r}: ended with status {ended.returncode}; {remedy}")
        try:
            after = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            raise InputInvalid(f"EDITOR {named!r}: what it left cannot be read ({exc}); {remedy}") from exc
    return None if after == text else after
