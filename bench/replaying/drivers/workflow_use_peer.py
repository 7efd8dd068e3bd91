"""workflow-use: its agent does the task once with a model and makes a workflow of it; `run_with_no_ai` replays that.

The pause of a tenth of a second between steps that it has by default is set to nothing.
"""

import asyncio
import os
import time
from pathlib import Path

os.environ.setdefault("BROWSER_USE_API_KEY", "stand-in")  # it makes a client of that service when it is imported

from browser_use import BrowserSession, ChatOpenAI
from channel import given, serve
from workflow_use.healing import service as healing
from workflow_use.schema.views import WorkflowDefinitionSchema
from workflow_use.workflow.service import Workflow

_WORKFLOW = Path(given["state"]) / "workflow.json"


def _model() -> ChatOpenAI:
    return ChatOpenAI(model="stand-in", api_key="stand-in", base_url=given["base_url"])


async def learn(endpoint: str) -> None:
    """Do the task with the model, and keep the workflow that is made of it."""
    healing.Browser = lambda **_options: BrowserSession(cdp_url=endpoint, keep_alive=False)
    service = healing.HealingService(llm=_model(), use_deterministic_conversion=True, enable_variable_extraction=False)
    workflow = await service.generate_workflow_from_prompt(given["goal"], agent_llm=_model(), extraction_llm=_model())
    _WORKFLOW.write_text(workflow.model_dump_json(), encoding="utf-8")


async def replay(endpoint: str) -> dict[str, float]:
    """Run the workflow with the values that it has learned."""
    schema = WorkflowDefinitionSchema.model_validate_json(_WORKFLOW.read_bytes())
    browser = BrowserSession(cdp_url=endpoint, keep_alive=True)
    await browser.start()
    workflow = Workflow(schema, _model(), browser=browser, fallback_to_agent=False, step_wait_time=0)
    try:
        begun = time.time()
        await workflow.run_with_no_ai(close_browser_at_end=False)
        return {"begun": begun, "ended": time.time()}
    finally:
        await browser.stop()


asyncio.run(serve(learn=learn, replay=replay))
