"""A workflow of your own that has a browser task done as its child, and waits for the result.

Its worker needs Temporal's SDK, neither Replaywright nor a browser. It may end at any time, also by SIGKILL: the run
goes on with Replaywright's workers, and the workflow has the result once a worker of yours is there again.

    python examples/caller.py localhost:7233 orders
"""

import asyncio
import sys
from typing import Any

from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.workflow import ParentClosePolicy


@workflow.defn
class PlaceOrder:
    """An order, one step of which is done in a browser."""

    @workflow.run
    async def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have `order["run"]` done by the workers of `order["queue"]`; return what was read from the pages."""
        run = order["run"]
        done: dict[str, Any] = await workflow.execute_child_workflow(
            "BrowserTask",
            run,
            id=f"{workflow.info().workflow_id}/browser",  # of the order: it is never placed twice
            task_queue=order["queue"],
            parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,  # the browser is closed in an orderly way
            memo={"task": run["task"]["task"], "tenant": run.get("tenant", "default")},
            static_summary="place the order in the shop",
        )
        return {"succeeded": done["succeeded"], "steps": done["totals"]["steps"], "extracted": done["extracted"]}


async def main(address: str, queue: str) -> None:
    """Serve the workflow until the process ends."""
    client = await Client.connect(address)
    await Worker(client, task_queue=queue, workflows=[PlaceOrder]).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
