"""A workflow of your own, in a namespace of your own, that has a skill done by a Nexus operation.

Its worker needs Temporal's SDK alone. It may end at any time, also by SIGKILL: the run goes on with Replaywright's
workers, and the workflow has the result once a worker of yours is there again.

    python examples/nexus_caller.py localhost:7233 shop orders
"""

import asyncio
import sys
from typing import Any

from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker


@workflow.defn
class OrderByNexus:
    """An order, one step of which is done in a browser."""

    @workflow.run
    async def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have `order["skill"]` done through the endpoint `replaywright`; return what was read from the pages."""
        nexus = workflow.create_nexus_client(service="replaywright", endpoint="replaywright")
        asked = {
            "skill": order["skill"],
            "values": order["values"],
            "request_id": f"shop {workflow.info().workflow_id}",  # of the order: it is never placed twice
        }
        done = await nexus.execute_operation("run", asked, output_type=dict[str, Any])
        return {"succeeded": done["succeeded"], "steps": done["totals"]["steps"], "extracted": done["extracted"]}


async def main(address: str, namespace: str, queue: str) -> None:
    """Serve the workflow until the process ends."""
    client = await Client.connect(address, namespace=namespace)
    await Worker(client, task_queue=queue, workflows=[OrderByNexus]).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
