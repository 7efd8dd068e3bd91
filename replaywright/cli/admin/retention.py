"""`replaywright admin retention`: what is kept, how much of it, and how long."""

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Json
from replaywright.cli.servers.connect import open_backend
from replaywright.cli.servers.keeping import kept_rows
from replaywright.cli.servers.store import open_store
from replaywright.domain.trace.saying import size


@admin.command("retention")
async def retention(json: Json = False) -> None:
    """Print what is kept, how long and how large, and where that is set.

    Sizes in Redis are estimates. Artifacts and histories are those of all tenants. `admin forget` forgets a task or a
    site, `admin artifacts prune` deletes what is over a limit.

    Example: `replaywright admin retention --json`
    """
    async with open_backend() as here, open_store(here.settings) as store:
        rows = await kept_rows(here, store)
    if json:
        output.print_json({"tenant": here.settings.tenant, "kept": [row.as_json() for row in rows]})
        return
    output.print_table(
        ("kind", "count", "size", "kept", "set by"),
        [
            (
                row.kind,
                row.count_text,
                "–" if row.size_bytes is None else size(row.size_bytes),
                row.how_long,
                row.where,
            )
            for row in rows
        ],
    )
