"""Reading what people write in YAML: strictly, and with errors of one line that name the place."""

import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from replaywright.errors import InputInvalid


class _StrictLoader(yaml.SafeLoader):
    """Refuses a mapping that says the same thing twice; YAML's own rule would keep the last and drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} is here twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


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


def parse_yaml(text: str, source: str, loader: type[yaml.BaseLoader | yaml.SafeLoader] = _StrictLoader) -> Any:
    """The data in `text`.

    Raises:
        InputInvalid: `source`, line and column, and what is wrong there.
    """
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  both loaders build plain data only
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InputInvalid(f"{source}{place}: not YAML: {exc.problem or exc.context}") from exc
    except (yaml.YAMLError, ValueError) as exc:  # a character YAML forbids; a date that does not exist
        raise InputInvalid(f"{source}: not YAML: {' '.join(str(exc).split())}") from exc
    except RecursionError as exc:
        raise InputInvalid(f"{source}: nested too deeply") from exc
