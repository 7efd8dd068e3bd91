"""The command line: `replaywright --help`."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    # Here and not above: the commands import the demo, and the demo imports parts of this package.
    from replaywright.cli.commands import app  # noqa: PLC0415
    from replaywright.stack.processes import leave  # noqa: PLC0415
    from replaywright.stack.telemetry import end_command_telemetry  # noqa: PLC0415

    status: object = 0
    try:
        app()
    except SystemExit as leaving:
        status = leaving.code
    end_command_telemetry()
    leave(status)
