"""The command line: `replaywright --help`."""

import os
import sys


def main() -> None:
    """Run the command line of this process and exit."""
    # Here and not above: the commands import the demo, and the demo imports parts of this package.
    from replaywright.cli.commands import app  # noqa: PLC0415

    status: object = 0
    try:
        app()
    except SystemExit as leaving:
        status = leaving.code
    # Not through the interpreter's own end: threads of Temporal's client that are still at work then abort the process
    # now and then, after everything was done (https://github.com/temporalio/sdk-python/issues/300; seen here with
    # exit status -6). Servers and workers have been stopped by their context managers.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nobody reads any more
            continue
    os._exit(status if isinstance(status, int) else 0 if status is None else 1)
