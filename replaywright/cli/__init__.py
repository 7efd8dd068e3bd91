"""The command line: `replaywright --help`."""

import gc
import os
import sys

_OBJECTS = 100_000
"""Garbage is collected when there are so many more objects, not at every 700: going through all that a command has
imported again and again is a fifth of what it takes until it begins."""


def main() -> None:
    """Run the command line of this process and exit."""
    gc.disable()
    # Here and not above: this module is the package of all commands.
    from replaywright.cli.resident.client import hand_over  # noqa: PLC0415

    if (status := hand_over(sys.argv[1:])) is not None:
        os._exit(status)  # it has written nothing itself
    load_command("".join(sys.argv[1:2]))
    from replaywright.stack.processes import leave  # noqa: PLC0415 - the demo, which commands import, imports parts of this

    leave(status_of_command())


def load_command(name: str) -> None:
    """Import the modules of a command."""
    from replaywright.cli.app import load  # noqa: PLC0415 - as above

    if name != "--version":
        load(name)  # one command is there in half the time that all of them take


def status_of_command() -> object:
    """Carry out the command that was imported, with the arguments of this process; return its `SystemExit` code."""
    from replaywright.cli.app import app  # noqa: PLC0415 - as above
    from replaywright.cli.interrupts import end_like_ctrl_c  # noqa: PLC0415
    from replaywright.stack.telemetry import end_command_telemetry  # noqa: PLC0415

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
    return status
