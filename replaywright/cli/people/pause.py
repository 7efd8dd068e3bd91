"""`replaywright admin pause`: pause a run."""

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Once, Run, Why
from replaywright.cli.people.updates import by_user, under_way, updated


@admin.command()
async def pause(*, run: Run, why: Why = "", once: Once = "") -> None:
    """Pause a run before its next step, for any time; its browser is released meanwhile.

    Example: `replaywright admin pause latest --why "the site is being changed"`
    """
    async with under_way(run, "pause") as (here, run_id):
        message = await updated(here, run_id, "pause", by_user(why), str, once=once)
    output.print_line(f"{message}; `replaywright answer {run_id} continue` lets it go on", style="yellow")
