"""The command line: `replaywright --help`."""


def main() -> None:
    """Run the command line of this process and exit."""
    # Here and not above: the commands import the demo, and the demo imports parts of this package.
    from replaywright.cli.commands import app  # noqa: PLC0415

    app()
