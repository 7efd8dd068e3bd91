"""The command line: `replaywright --help`."""

import gc
import sys
from typing import NoReturn

_OBJECTS = 100_000
"""Garbage is collected when there are so many more objects, not at every 700: going through all that a command has
imported again and again is a fifth of what it takes until it begins."""


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    gc.disable()
    # Here and not above: the commands import the demo, and the demo imports parts of this package.
    from replaywright.cli.app import app, load  # noqa: PLC0415
    from replaywright.cli.interrupts import end_like_ctrl_c  # noqa: PLC0415
    from replaywright.stack.processes import leave  # noqa: PLC0415
    from replaywright.stack.telemetry import end_command_telemetry  # noqa: PLC0415

    name = "".join(sys.argv[1:2])
    if name != "--version":
        load(name)  # one command is there in half the time that all of them take
    end_like_ctrl_c()
    gc.freeze()  # what was imported is never garbage
    gc.set_threshold(_OBJECTS)
    gc.enable()
    status: object = 0
    try:
        app()
    except SystemExit as leaving:
        status = leaving.code
    end_command_telemetry()
    leave(status)
