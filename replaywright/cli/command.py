"""Base of all commands: converts errors to one line and an exit status."""

import traceback
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperCommand

from replaywright.errors import (
    InputInvalid,
    Mistakes,
    PolicyBlocked,
    ReplaywrightError,
    SecretMissing,
    SettingsInvalid,
    StackFailed,
    StoreUnavailable,
)


class Exit(IntEnum):
    """Exit statuses of every command; docs/reference/exit-codes.md is made of this."""

    DONE = 0
    """Done: the run did what its task says, or the command what it was asked for."""
    FAILED = 1
    """The task failed, a check found something, or something here is broken."""
    BAD_INPUT = 2
    """Bad input: task file, parameter, option, setting, or a server that cannot be reached."""
    HEALED = 3
    """Done, but healed, under `--fail-on-heal`."""
    WAITING = 4
    """The run waits for a person; it goes on when it is answered."""
    BLOCKED = 5
    """A rule of the policy forbids it."""
    INTERRUPTED = 130
    """Left with Ctrl-C; a run that a worker serves goes on."""


_BAD_INPUT = (InputInvalid, SettingsInvalid, SecretMissing, StackFailed, StoreUnavailable)


@dataclass
class Options:
    """Global options, and state of the current command."""

    debug: bool = False
    json: bool = False
    """True: the command prints one JSON object; so are its errors."""


def exit_status_of(error: ReplaywrightError) -> Exit:
    """Return 2 for errors that the caller can correct before a run, 5 for a rule of the policy, 1 for a failed run."""
    if isinstance(error, PolicyBlocked):
        return Exit.BLOCKED
    return Exit.BAD_INPUT if isinstance(error, _BAD_INPUT) else Exit.FAILED


def error_json(error: ReplaywrightError) -> dict[str, Any]:
    """Return the error as a JSON object."""
    if isinstance(error, PolicyBlocked):
        return {"status": "blocked", "message": one_line(error), "rule": error.rule, "exitStatus": int(Exit.BLOCKED)}
    return {"status": "error", "message": one_line(error), "exitStatus": int(exit_status_of(error))}


def one_line(error: ReplaywrightError) -> str:
    """Return the message as one line: all mistakes of a file; of a log, the first and the last line."""
    if isinstance(error, Mistakes):
        return "; ".join(error.lines)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (
        lines[0]
        if len(lines) == 1
        else f"{lines[0]}: {lines[-1]} (all of it: --debug)"
        if lines
        else type(error).__name__
    )


class CliCommand(TyperCommand):
    """A command whose errors end as one line on standard error and a defined exit status."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; see `Exit` for the exit statuses."""
        options = options_of(ctx)
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except ReplaywrightError as error:
            from replaywright.cli import output  # noqa: PLC0415 - what draws is loaded where something is said

            if options.debug:
                traceback.print_exc()
            for line in error.lines if isinstance(error, Mistakes) else (one_line(error),):
                output.print_error(line)
            status = exit_status_of(error)
            if options.json:
                output.print_json(error_json(error))
            raise typer.Exit(status) from error
        except KeyboardInterrupt:
            raise typer.Exit(Exit.INTERRUPTED) from None
        except Exception as error:
            from replaywright.cli import output  # noqa: PLC0415 - as above

            if options.debug:
                traceback.print_exc()
            else:
                output.print_error(
                    f"unexpected {type(error).__name__}: {error} (a bug in Replaywright: run it again as `replaywright "
                    f"--debug …` and report the traceback in the project's issue tracker)"
                )
            if options.json:
                message = f"unexpected {type(error).__name__}: {error}"
                output.print_json({"status": "error", "message": message, "exitStatus": int(Exit.FAILED)})
            raise typer.Exit(Exit.FAILED) from error


def options_of(ctx: Any) -> Options:
    """Return the global options of the command that `ctx` belongs to."""
    root = ctx.find_root()
    if not isinstance(root.obj, Options):
        root.obj = Options()
    found: Options = root.obj
    return found
