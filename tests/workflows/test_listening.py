"""Which of its steps a run listens to at its end, on a real Temporal server with scripted activities."""

from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from replaywright.domain.step.outcomes import Evidence, UnsafeRequest
from tests.workflows.scripted import Script, done, run_of, scripted, start
from workflows.plugin import WorkflowPlugin

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the note", "value": "Ada"}
PRESS = {"action": "press", "keys": "Control+s"}
SAVE = {"action": "click", "instruction": "save", "effect": "commit"}
LOOK = {"action": "wait_for", "expect": [{"text_contains": "Saved"}]}
SENT = Evidence(requests=(UnsafeRequest(method="POST", url="http://site/notes", status=200),))


@pytest.fixture
async def client(temporal_env: WorkflowEnvironment) -> Client:
    address = temporal_env.client.service_client.config.target_host
    return await Client.connect(address, plugins=[WorkflowPlugin(sandboxed=True)])


@pytest.mark.parametrize(
    ("steps", "sends", "heard"),
    [
        pytest.param([FILL], False, [1], id="the last field"),
        pytest.param([FILL, LOOK], False, [1], id="which nothing but a look follows"),
        pytest.param([FILL, SAVE], False, [], id="not one that a witnessed step follows"),
        pytest.param([FILL, PRESS], False, [2], id="a press that nobody declares"),
        pytest.param([PRESS, FILL], False, [1, 2], id="and the field after it"),
        pytest.param([{**PRESS, "effect": "commit", "evidence": "page"}], False, [1], id="the page's word"),
        pytest.param([{**PRESS, "effect": "idempotent"}], False, [1], id="what may be repeated"),
        pytest.param([{**PRESS, "effect": "idempotent"}], True, [], id="not one whose request was seen"),
    ],
)
async def test_the_latest_input_is_listened_to_unless_its_request_was_seen(
    client: Client, steps: list[dict[str, Any]], sends: bool, heard: list[int]
) -> None:
    evidence = SENT if sends else Evidence()
    script = Script(perform=lambda request, _: done(request, content_key="key", evidence=evidence))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, *steps))
        result = await handle.result()

    assert result.succeeded, result.message
    assert [press.sequence for asked in script.listened for press in asked.presses] == heard
