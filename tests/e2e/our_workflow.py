"""A workflow of a team's own."""

from temporalio import workflow

from workflows.task import BrowserTask

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput


@workflow.defn
class OurWorkflow:
    """Something of the team's own on the same worker: it runs a browser task as a child."""

    @workflow.run
    async def run(self, run: RunInput) -> str:
        result = await workflow.execute_child_workflow(
            BrowserTask.run, run, id=f"{workflow.info().workflow_id}/browser"
        )
        return str(result.extracted["button"])
