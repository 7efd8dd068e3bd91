"""How a run of a benchmark ends."""

import asyncio

from demo.stage import Stage
from replaywright.cli.runs.follow import Ending, follow, handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.domain.run.runs import Progress, RunResult


async def ending_of(order: Order, stage: Stage, limit_s: float) -> Ending:
    """Start a run; return how it ends. One that waits for a person has stopped and said why, and is given up."""
    await start(stage.place, order)
    handle = handle_of(stage.place.client, order.run_id)
    last = Progress()

    def seen(progress: Progress | None, _note: str) -> None:
        nonlocal last
        last = progress or last

    try:
        async with asyncio.timeout(limit_s):
            ending = await follow(handle, show=seen, until_waiting=True)
    except TimeoutError:
        said = f"did not end within {limit_s} s; last heard: step {last.step + 1}: {last.doing}"
        ending = Ending("timed_out", RunResult(succeeded=False, reason="timed_out", message=said))
    if ending.status in ("waiting", "timed_out"):
        await handle.cancel()  # so that its browser is closed
    return ending
