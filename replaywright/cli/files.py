"""Files that commands write."""

import os
import tempfile
from pathlib import Path

from replaywright.cli import output
from replaywright.errors import InputInvalid


def require_writable(option: str, path: Path | None, *, is_folder: bool = False) -> None:
    """Check that results can be written; create their folder.

    Raises:
        InputInvalid: they cannot be written.
    """
    if path is None:
        return
    folder = path if is_folder else path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise InputInvalid(f"{option} {str(path)!r}: the folder {folder} cannot be made: {exc.strerror}") from exc
    is_taken = path.is_dir() and not is_folder
    if is_taken or not os.access(path if path.exists() else folder, os.W_OK):
        raise InputInvalid(f"{option} {str(path)!r}: cannot be written; name another one")


def write(option: str, path: str, text: str) -> None:
    """Write a file; `-` is standard output.

    Raises:
        InputInvalid: it cannot be written.
    """
    if path == "-":
        output.print_file(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as exc:
        raise InputInvalid(f"{option} {path!r}: cannot be written: {exc.strerror}") from exc


def require_new(path: str, *, force: bool) -> None:
    """Check that `write_new` can write this file later; nothing is checked of standard output or of no file at all.

    Raises:
        InputInvalid: it exists, or cannot be written.
    """
    if path in ("", "-"):
        return
    if Path(path).exists() and not force:
        raise InputInvalid(_taken(path))
    require_writable("--out", Path(path))


def _taken(path: str) -> str:
    return f"{path}: there is a file already; give another --out, or --force to overwrite it"


def write_new(path: str, text: str, *, force: bool) -> None:
    """Write a file that does not exist or, with `force`, one that may; `-` is standard output.

    Raises:
        InputInvalid: it exists, or cannot be written.
    """
    if path == "-":
        output.print_file(text)
        return
    try:
        with Path(path).open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as exc:
        raise InputInvalid(_taken(path)) from exc
    except OSError as exc:
        raise InputInvalid(f"{path}: cannot be written: {exc.strerror}") from exc


def write_whole(out: Path, text: str) -> None:
    """Write a file atomically, readable by its owner only.

    Raises:
        InputInvalid: it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            Path(name).replace(out)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as exc:
        raise InputInvalid(f"--out {str(out)!r}: {exc.strerror or exc}; name a file that can be written") from exc
