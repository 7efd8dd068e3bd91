"""browser-use: its agent does the task once with a model; `rerun_history` replays the history that it saved.

Its waits between replayed steps (as long as the model took, at most 45 s; else 2 s) are set to nothing. It ends a
replay by having a model sum it up, after all is done; that is left out, so that a replay is one without a model.
"""

import asyncio
import time
from pathlib import Path
from typing import Any

from browser_use import Agent, BrowserSession, ChatOpenAI
from browser_use.agent.views import ActionResult
from channel import given, serve

_HISTORY = Path(given["state"]) / "history.json"


class _Rerun(Agent[Any, Any]):
    ended = 0.0

    async def _generate_rerun_summary(self, *_given: Any, **_named: Any) -> ActionResult:
        self.ended = time.time()
        return ActionResult(is_done=True, success=True, extracted_content="")


def _agent(endpoint: str) -> _Rerun:
    return _Rerun(
        task=given["goal"],
        llm=ChatOpenAI(model="stand-in", api_key="stand-in", base_url=given["base_url"]),
        browser_session=BrowserSession(cdp_url=endpoint, keep_alive=False),
        use_vision=False,
        use_judge=False,
        directly_open_url=False,
        enable_planning=False,
    )


async def learn(endpoint: str) -> None:
    """Do the task with the model, and keep its history."""
    agent = _agent(endpoint)
    history = await agent.run(max_steps=len(given["steps"]) + 2)
    if not history.is_successful():
        raise RuntimeError(f"the agent did not do it: {history.errors()}")
    agent.history.history = [item for item in agent.history.history if item.model_output]  # else it is an error
    agent.save_history(_HISTORY)


async def replay(endpoint: str) -> dict[str, float]:
    """Do the history again."""
    agent = _agent(endpoint)
    await agent.browser_session.start()
    begun = time.time()
    results = await agent.load_and_rerun(_HISTORY, delay_between_actions=0.0, max_step_interval=0.0)
    if errors := [result.error for result in results if result.error]:
        raise RuntimeError(f"the replay told errors: {errors}")
    return {"begun": begun, "ended": agent.ended}


asyncio.run(serve(learn=learn, replay=replay))
