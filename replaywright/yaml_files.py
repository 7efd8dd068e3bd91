"""Reading what people write in YAML: strictly, and with errors of one line that name the place."""

import sys
from pathlib import Path
from typing import Any

from replaywright.errors import InputInvalid


def read_text(path: str, source: str) -> str:
    """The text of a file; `-` is standard input.

    Raises:
        InputInvalid: `source` and why it cannot be read.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError as exc:
        raise InputInvalid(f"{source}: no such file") from exc
    except OSError as exc:
        raise InputInvalid(f"{source}: cannot be read: {exc.strerror}") from exc
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise InputInvalid(f"{source}:{line}: expected UTF-8 text") from exc


def parse_yaml(text: str, source: str, *, as_texts: bool = False) -> Any:
    """The data in `text`; with `as_texts` every scalar is the text that was written.

    Raises:
        InputInvalid: `source`, line and column, and what is wrong there.
    """
    from replaywright.yaml_loaders import loaded  # noqa: PLC0415 - what reads JSON alone does not load YAML's library

    return loaded(text, source, as_texts=as_texts)
