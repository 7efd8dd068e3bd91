"""`replaywright versions`: which version of the workers gets new runs, and which is still needed by runs under way."""

import asyncio
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from replaywright.cli import output
from replaywright.cli.app import Command, app, options_of
from replaywright.cli.servers.connect import place, require_somewhere, temporal_errors
from replaywright.settings import Settings, load_settings
from replaywright.stack.versions import Version, VersionState, promote, versions_of


class ListedByDefault(TyperGroup):
    """A group that lists when no command of it is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`versions` and `versions --json` are `versions list` and `versions list --json`."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else ["list", *args])


versions_app = typer.Typer(
    cls=ListedByDefault,
    help="List the versions of the workers, and say which one gets new runs. Runs end on the version they began with.",
    epilog="Without a command: `replaywright versions list`",
    rich_markup_mode="markdown",
)
app.add_typer(versions_app, name="versions")

Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@versions_app.command("list", cls=Command)
def list_versions(ctx: typer.Context, json: Json = False) -> None:
    """List the versions: which gets new runs, how many of its runs are under way, how many workers it has.

    The workers of a drained version may be stopped; Temporal looks every few minutes whether one is.

    Example: `replaywright versions`
    """
    options_of(ctx).json = json
    settings = load_settings()
    _show(settings, asyncio.run(_versions(settings)), json=json)


@versions_app.command("promote", cls=Command)
def promote_version(
    ctx: typer.Context,
    build: Annotated[
        str, typer.Argument(metavar="BUILD", help="Its `REPLAYWRIGHT_BUILD_ID`, or `unversioned` for workers without.")
    ],
    ramp: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", min=0, max=100, help="Of the new runs that go to it; 0: none any more."),
    ] = None,
    json: Json = False,
) -> None:
    """Have new runs go to this version; runs under way stay where they are.

    With `--ramp` the version before it keeps the rest of the new runs. To roll back, promote the version before.

    Example: `replaywright versions promote 4f1c2ab --ramp 10`, then `replaywright versions promote 4f1c2ab`
    """
    options_of(ctx).json = json
    settings = load_settings()
    _show(settings, asyncio.run(_versions(settings, promoted=build, ramp_percent=ramp)), json=json)


async def _versions(
    settings: Settings, *, promoted: str = "", ramp_percent: float | None = None
) -> tuple[Version, ...]:
    """All versions, after one of them was promoted, if any is to be."""
    require_somewhere(settings)
    async with place(settings, tell=output.print_line) as here:
        with temporal_errors(here.settings):
            if promoted:
                await promote(here.client, here.settings, promoted, ramp_percent)
            return await versions_of(here.client, here.settings)


def _show(settings: Settings, versions: tuple[Version, ...], *, json: bool) -> None:
    if json:
        output.print_json(
            {"deployment": settings.deployment_name, "versions": [_as_json(version) for version in versions]}
        )
        return
    numbers = ("runs under way", "workers")
    rows = output.table("version", "state", *numbers, "since", right=numbers)
    for version in versions:
        state = version.state.value
        if version.state is VersionState.RAMPING:
            state += f" ({version.ramp_percent:g} % of new runs)"
        since = f"{version.since.astimezone():%Y-%m-%d %H:%M}" if version.since else ""
        rows.add_row(*output.cells(version.build_id, state, version.under_way, version.workers, since))
    output.print_table(rows)
    for version in versions:
        if version.concern:
            output.print_line(version.concern, style="yellow")


def _as_json(version: Version) -> dict[str, object]:
    return {
        "buildId": version.build_id,
        "state": version.state.value,
        "rampPercent": version.ramp_percent,
        "underWay": version.under_way,
        "workers": version.workers,
        "since": version.since.isoformat() if version.since else None,
        "concern": version.concern,
    }
