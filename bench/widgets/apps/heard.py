"""What a server has received, written where the benchmark reads it; imports nothing but the standard library."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

FILE_VARIABLE = "WIDGETS_HEARD"
PORT_VARIABLE = "WIDGETS_PORT"


def tell(values: Mapping[str, object]) -> None:
    """Add a line with all values as the server has them now."""
    with Path(os.environ[FILE_VARIABLE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(values, default=str) + "\n")


def port() -> int:
    """The port to serve on, on loopback."""
    return int(os.environ[PORT_VARIABLE])
