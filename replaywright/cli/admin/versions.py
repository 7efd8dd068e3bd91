"""`replaywright admin versions`: which version gets new runs, and which is still needed by runs under way."""

from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Json
from replaywright.cli.servers.connect import open_existing_backend, temporal_errors
from replaywright.settings import Settings
from replaywright.stack.versions import Version, VersionState, promote, versions_of

versions_app = admin.group(
    "versions",
    "List the versions of the workers, and say which one gets new runs. Runs end on the version they began with.",
    "replaywright admin versions list",
)


@versions_app.command("list")
async def list_versions(json: Json = False) -> None:
    """List the versions: the one that gets new runs, the number of open runs, and the number of workers.

    The workers of a drained version may be stopped; Temporal updates this every few minutes.

    Example: `replaywright admin versions list`
    """
    async with open_existing_backend() as here:
        with temporal_errors(here.settings):
            versions = await versions_of(here.client, here.settings)
    _show(here.settings, versions, json=json)


@versions_app.command("promote")
async def promote_version(
    build: Annotated[
        str, typer.Argument(metavar="BUILD", help="Its `REPLAYWRIGHT_BUILD_ID`, or `unversioned` for workers without.")
    ],
    ramp: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", min=0, max=100, help="Of the new runs that go to it; 0: none any more."),
    ] = None,
    json: Json = False,
) -> None:
    """Send new runs to this version; open runs stay on theirs.

    With `--ramp` the version before it keeps the rest of the new runs. To roll back, promote the version before.

    Example: `replaywright admin versions promote 4f1c2ab --ramp 10`, then `replaywright admin versions promote 4f1c2ab`
    """
    async with open_existing_backend() as here:
        with temporal_errors(here.settings):
            await promote(here.client, here.settings, build, ramp)
            versions = await versions_of(here.client, here.settings)
    _show(here.settings, versions, json=json)


def _show(settings: Settings, versions: tuple[Version, ...], *, json: bool) -> None:
    if json:
        output.print_json(
            {"deployment": settings.deployment_name, "versions": [_as_json(version) for version in versions]}
        )
        return
    numbers = ("runs under way", "workers")
    rows = []
    for version in versions:
        state = version.state.value
        if version.state is VersionState.RAMPING:
            state += f" ({version.ramp_percent:g} % of new runs)"
        since = f"{version.since.astimezone():%Y-%m-%d %H:%M}" if version.since else ""
        rows.append((version.build_id, state, version.under_way, version.workers, since))
    output.print_table(("version", "state", *numbers, "since"), rows, right=numbers)
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
