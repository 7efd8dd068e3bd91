"""Reading what people write in YAML: strictly, and with errors of one line that name the place."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replaywright.domain.common.elsewhere import TASK_LIMIT, require_shallow, require_texts, too_large
from replaywright.domain.common.text import near
from replaywright.errors import InputInvalid


def read_bytes(path: str, source: str, limit: int = TASK_LIMIT) -> bytes:
    """Read a file of at most `limit` bytes; `-` is standard input. Of a larger one no more is read.

    Raises:
        InputInvalid: `source` and why it cannot be read.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(path).open("rb") as stream:
                data = stream.read(limit + 1)
    except FileNotFoundError as exc:
        folder = Path(path).parent
        alike = near(Path(path).name, (one.name for one in folder.iterdir())) if folder.is_dir() else ""
        raise InputInvalid(f"{source}: no such file" + (f"; {alike}" if alike else "")) from exc
    except OSError as exc:
        raise InputInvalid(f"{source}: cannot be read: {exc.strerror or exc}; name a file that can be read") from exc
    if len(data) > limit:
        raise InputInvalid(f"{source}: {too_large(limit)}")
    return data


def read_text(path: str, source: str, limit: int = TASK_LIMIT) -> str:
    """Read the text of a file of at most `limit` bytes; `-` is standard input.

    Raises:
        InputInvalid: `source` and why it cannot be read.
    """
    data = read_bytes(path, source, limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise InputInvalid(f"{source}:{line}: expected UTF-8 text{_looks_like(data)}") from exc


def parse_yaml(text: str, source: str, *, as_texts: bool = False) -> Any:
    """Parse `text`; with `as_texts` every scalar is the text that was written.

    Raises:
        InputInvalid: `source`, line and column, and what is wrong there.
    """
    from replaywright.yaml_loaders import loaded  # noqa: PLC0415 - what reads JSON alone does not load YAML's library

    return checked(loaded(text, source, as_texts=as_texts), source)


def line_of(text: str, place: Sequence[str | int]) -> int:
    """Return the line of the value at `place` in YAML or JSON that was loaded, or of the nearest value around it.

    0 where the text does not tell.
    """
    from replaywright.yaml_loaders import line_at  # noqa: PLC0415 - as above

    return line_at(text, place)


def checked(data: Any, source: str) -> Any:
    """Check data that people wrote, and return it.

    Raises:
        InputInvalid: `source`, and where it is too deep or holds a text that cannot be stored.
    """
    try:
        require_shallow(data)
        require_texts(data)
    except ValueError as exc:
        raise InputInvalid(f"{source}: {exc}") from exc
    return data


def _looks_like(data: bytes) -> str:
    """Describe a known other format, and the remedy."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ", found UTF-16: save it as UTF-8"
    if data.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        return ", found a packed file: unpack it first"
    return ""
