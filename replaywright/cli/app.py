"""The root of the command line: its commands under their headings, and the global options."""

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from replaywright import __version__
from replaywright.cli.command import Options
from replaywright.cli.groups import Application, SortedCommands

COMMANDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "Begin": {
        "demo": ("local.demo",),
        "doctor": ("local.doctor",),
        "up": ("local.up",),
    },
    "Run tasks": {
        "run": ("runs.run",),
        "resume": ("runs.resume",),
        "batch": ("batch.batch",),
        "schedule": ("schedule.schedule",),
        "check": ("check.check",),
        "mcp": ("local.mcp",),
    },
    "Look at runs": {
        "runs": ("runs.listing",),
        "show": ("runs.show",),
        "report": ("evidence.report",),
        "dashboard": ("local.dashboard",),
    },
    "Answer and steer runs": {
        "answer": ("people.answer",),
        "takeover": ("people.takeover",),
        "cancel": ("people.cancel",),
    },
    "Skills and recordings": {
        "skills": ("skills.skills", "skills.skill_run", "skills.skill_changes", "skills.script", "skills.recall"),
        "record": ("record.record",),
        "edit": ("record.edit",),
    },
    "Operate": {
        "admin": (
            *("evidence.artifacts", "admin.cache", "admin.codec_server", "admin.forget", "admin.hosts"),
            *("admin.keys", "admin.notices", "admin.retention", "admin.sessions"),
            *("admin.overrides", "people.pause", "admin.policy", "admin.schema", "admin.secrets", "evidence.trace"),
            *("admin.uploads", "admin.versions"),
        ),
    },
}
"""Heading of the help → command → modules that register it, below `replaywright.cli`; in the order of the help."""


def load(name: str = "") -> None:
    """Import the modules of one command; those of all where there is no command of this name."""
    known = {command: modules for heading in COMMANDS.values() for command, modules in heading.items()}
    for modules in [known[name]] if name in known else known.values():
        for module in modules:
            import_module(f"replaywright.cli.{module}")


class Commands(TyperGroup):
    """The root; lists its commands under their headings, in the order in which a new user needs them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List all commands in the order of the help."""
        found = super().list_commands(ctx)
        return [name for heading in COMMANDS.values() for name in heading if name in found]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command, under its heading of the help."""
        found: Any = super().get_command(ctx, cmd_name)
        if found is not None:
            found.rich_help_panel = next((text for text, names in COMMANDS.items() if cmd_name in names), None)
        return found


app = Application(
    name="replaywright",
    cls=Commands,
    help="Learn a browser task once with a language model, then replay it without one, durably.",
    epilog="Begin with `replaywright doctor`, then `replaywright demo`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from replaywright.cli import output  # noqa: PLC0415 - what draws is loaded where something is said

        output.print_line(f"replaywright {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    ctx: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    ctx.obj = Options(debug=debug)


admin = app.group(
    "admin",
    "Keys, secrets, policy, cache, traces, versions: what operators need.",
    "replaywright admin secrets check",
    cls=SortedCommands,
)
