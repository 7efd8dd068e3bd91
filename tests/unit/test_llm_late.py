"""The model library is imported when a question is first asked, and not by a worker that only replays."""

import asyncio
import subprocess
import sys

import pytest

from replaywright.errors import ModelMisconfigured
from replaywright.llm.executor import ModelExecutor


def test_a_worker_is_imported_without_the_model_library() -> None:
    code = "import sys, worker; print([name for name in ('pydantic_ai', 'openai', 'anthropic') if name in sys.modules])"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "[]"


async def test_the_client_of_a_role_is_made_once_at_its_first_questions_and_says_what_is_missing() -> None:
    role = ModelExecutor(None)
    await role.close()

    async def asked() -> None:
        with pytest.raises(ModelMisconfigured, match="no model is configured; set REPLAYWRIGHT_MODEL"):
            await role.propose(instruction="the button", action="click", page="", ids=frozenset())

    await asyncio.gather(asked(), asked())
    first = role._client
    await asked()

    assert first is not None
    assert role._client is first
    await role.close()
