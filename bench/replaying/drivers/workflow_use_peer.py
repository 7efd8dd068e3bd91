"""workflow-use: `run_with_no_ai` runs a workflow that names each element by its label, written by hand.

What its agent learns of this flow by itself, a workflow with names of form fields, its own replay does not find again
(0.2.11: "No selector available for input step"). A workflow must end with a model that reads something from the page;
that step, and its pauses between steps, are left out.
"""

import asyncio
import os
import time
from typing import Any

os.environ.setdefault("BROWSER_USE_API_KEY", "stand-in")  # it makes a client of that service when it is imported

from browser_use import BrowserSession, ChatOpenAI
from channel import given, serve
from workflow_use.schema.views import WorkflowDefinitionSchema
from workflow_use.workflow.service import Workflow


def _step(turn: dict[str, Any]) -> dict[str, Any]:
    target = {"target_text": turn["label"], "wait_time": 0}
    return {
        "goto": {"type": "navigation", "url": turn["url"], "wait_time": 0},
        "fill": {"type": "input", "value": turn["value"] or "", **target},
        "select": {"type": "select_change", "selectedText": turn["value"] or "", **target},
        "click": {"type": "click", **target},
    }[turn["action"]]


def _schema() -> WorkflowDefinitionSchema:
    reading = {"type": "extract_page_content", "goal": "the notice"}
    steps = [*map(_step, given["steps"]), reading]
    schema = WorkflowDefinitionSchema(
        name="send mail", description=given["goal"], version="1", steps=steps, input_schema=[]
    )
    schema.steps = schema.steps[:-1]
    return schema


async def replay(endpoint: str) -> dict[str, float]:
    """Run the workflow."""
    browser = BrowserSession(cdp_url=endpoint, keep_alive=True)
    await browser.start()
    model = ChatOpenAI(model="stand-in", api_key="stand-in", base_url=given["base_url"])
    workflow = Workflow(_schema(), model, browser=browser, fallback_to_agent=False, step_wait_time=0)
    try:
        begun = time.time()
        await workflow.run_with_no_ai(close_browser_at_end=False)
        return {"begun": begun, "ended": time.time()}
    finally:
        await browser.stop()


asyncio.run(serve(learn=replay, replay=replay))
