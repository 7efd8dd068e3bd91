"""A copy of the code with a change: what a worker of another version runs."""

import shutil
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PARTS = ("replaywright", "workflows", "activities", "cache", "worker.py")


def changed_copy(folder: Path, file: str, text: str, other: str) -> Path:
    """Copy the code to `folder`, with `other` in the place of `text`, which `file` has once; the folder."""
    for part in _PARTS:
        source = _ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    changed = folder / file
    written = changed.read_text(encoding="utf-8")
    assert written.count(text) == 1, f"{file} has {text!r} {written.count(text)} times"
    changed.write_text(written.replace(text, other), encoding="utf-8")
    return folder
