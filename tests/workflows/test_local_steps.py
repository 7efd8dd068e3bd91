"""Steps as local activities: which are, and what happens where another process holds the browser."""

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from replaywright.cli.evidence.offline import replay
from replaywright.domain.outcomes import StepOutcome
from replaywright.domain.runs import GOES_ON, ActionRequest, RunResult
from tests.workflows.scripted import Script, history_of, known, lost, missed, run_of, scripted, start
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
OPEN = {"action": "click", "instruction": "the compose link"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
WAIT = {"action": "wait_for", "instruction": "", "expect": [{"text_contains": "ready"}]}


@pytest.fixture
async def client(temporal_env: WorkflowEnvironment) -> Client:
    address = temporal_env.client.service_client.config.target_host
    return await Client.connect(address, plugins=[WorkflowPlugin(sandboxed=True)])


async def scheduled(handle: WorkflowHandle[BrowserTask, RunResult]) -> list[str]:
    """The browser actions that are regular activities in the run's history."""
    history = await handle.fetch_history()
    names = (
        event.activity_task_scheduled_event_attributes.activity_type.name
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    )
    return [name for name in names if name.startswith("browser.")]


async def test_what_may_be_repeated_is_local_and_a_press_with_consequences_never(client: Client) -> None:
    script = Script(near=True, perform=known)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, OPEN, SEND, local_steps=True))
        await handle.result()

    assert [request.step.action for request in script.performed] == ["goto", "fill", "click", "click"]
    assert script.local_ids == script.activity_ids[:2]
    assert await scheduled(handle) == ["browser.click", "browser.click"]
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(await handle.fetch_history())


@pytest.mark.parametrize("last", [0, 1], ids=["opened", "filled"])
async def test_a_cancel_that_comes_in_a_local_step_is_heard_before_a_press_with_consequences(
    client: Client, last: int
) -> None:
    async def performing(request: ActionRequest, _call: int) -> StepOutcome:
        if request.sequence == last:
            await client.get_workflow_handle(request.run_id).cancel()
        return known(request)

    script = Script(near=True, performing=performing)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(*(GOTO, FILL)[: last + 1], SEND, local_steps=True))
        with pytest.raises(WorkflowFailureError) as raised:
            await handle.result()

    assert isinstance(raised.value.cause, CancelledError)
    assert [request.sequence for request in script.performed] == list(range(last + 1))
    assert len(script.closed) == 1
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(await handle.fetch_history())


async def test_a_run_hears_what_it_was_asked_once_before_each_press_that_follows_a_local_step(client: Client) -> None:
    script = Script(near=True, perform=known)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL, SEND, OPEN, FILL, SEND, local_steps=True))
        await handle.result()

    assert script.heard == ["session-hear-3", "session-hear-6"]
    assert len(script.performed) == 7


async def test_where_its_worker_is_lost_as_the_run_listens_the_step_goes_on_in_the_browser_that_lives(
    client: Client,
) -> None:
    script = Script(near=True, perform=known, hear=lost())

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND, local_steps=True))
        result = await handle.result()

    assert script.heard == ["session-hear-2"]
    assert result.totals.steps == 3
    assert [request.sequence for request in script.performed] == [0, 1, 2]


async def test_a_step_that_waits_is_no_local_activity(client: Client) -> None:
    script = Script(near=True, perform=known)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, WAIT, FILL, local_steps=True))
        await handle.result()

    assert await scheduled(handle) == ["browser.wait_for"]
    assert script.local_ids == [script.activity_ids[0], script.activity_ids[2]]


async def test_a_step_of_which_no_recording_is_known_is_no_local_activity(client: Client) -> None:
    script = Script(near=True)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, local_steps=True))
        await handle.result()

    assert script.local_ids == script.activity_ids[:1]
    assert await scheduled(handle) == ["browser.fill"]


async def test_a_step_that_is_tried_again_is_no_local_activity(client: Client) -> None:
    def perform(request, call):  # type: ignore[no-untyped-def]
        if request.sequence == 1 and call == 0:
            return missed("not_found")
        return known(request)

    script = Script(near=True, perform=perform)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, local_steps=True))
        await handle.result()

    assert [request.sequence for request in script.performed] == [0, 1, 1]
    assert len(script.local_ids) == 2
    assert await scheduled(handle) == ["browser.fill"]


async def test_where_another_process_holds_the_browser_only_the_first_step_tries(client: Client) -> None:
    script = Script(near=False, perform=known)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL, local_steps=True))
        await handle.result()

    assert len(script.local_ids) == 1
    assert await scheduled(handle) == ["browser.goto", "browser.fill", "browser.fill"]
    assert [request.sequence for request in script.performed] == [0, 1, 2]


async def test_the_browser_is_opened_in_the_process_that_runs_the_workflow(client: Client) -> None:
    script = Script(near=True, here="h", perform=known)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, local_steps=True))
        await handle.result()

    assert script.asked_for == ["session-open-here"]
    assert [request.at_once for request in script.opened] == [True]
    assert await scheduled(handle) == []
    assert (await replay(await history_of(client, handle))).differences == ()


async def test_where_that_process_has_no_place_at_once_any_other_opens_it(client: Client) -> None:
    script = Script(here="h", perform=known)
    script.full = lambda _name: len(script.asked_for) == 1

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, local_steps=True))
        result = await handle.result()

    assert result.succeeded
    assert script.asked_for == ["session-open-here", "session-open"]
    assert [request.at_once for request in script.opened] == [False]


async def test_where_that_process_cannot_start_a_browser_any_other_opens_it(client: Client) -> None:
    script = Script(here="h", perform=known)

    def breaks(_name: str) -> bool:
        if len(script.asked_for) == 1:
            raise ApplicationError("Chromium does not come up", type="StackFailed")
        return False

    script.full = breaks
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, local_steps=True))
        await handle.result()

    assert script.asked_for == ["session-open-here", "session-open"]


async def test_without_local_steps_the_browser_is_opened_by_any_process(client: Client) -> None:
    script = Script(here="h")

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        await handle.result()

    assert script.asked_for == ["session-open"]


@pytest.mark.parametrize(("here", "on"), [("h", "-own"), ("another", "-host")])
async def test_a_lost_browser_is_found_again_by_the_workflows_own_process_where_that_is_on_its_host(
    client: Client, here: str, on: str
) -> None:
    def perform(request, call):  # type: ignore[no-untyped-def]
        if request.sequence == 1 and call == 0:
            raise lost()
        return known(request)

    script = Script(near=True, here=here, perform=perform)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, local_steps=True))
        result = await handle.result()
    history = await handle.fetch_history()
    queues = {
        event.activity_task_scheduled_event_attributes.activity_id: event.activity_task_scheduled_event_attributes
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    }

    assert result.totals.recoveries == 1
    assert queues["session-recover-e2-host"].task_queue.name == f"{queue}{on}"


async def test_a_browser_that_a_local_step_loses_is_found_again(client: Client) -> None:
    def perform(request, call):  # type: ignore[no-untyped-def]
        if request.sequence == 1 and call == 0:
            raise lost()
        return known(request)

    script = Script(near=True, perform=perform)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND, local_steps=True))
        result = await handle.result()

    assert result.succeeded
    assert len(script.recovered) == 1
    assert [(request.sequence, request.epoch, request.recovered) for request in script.performed] == [
        (0, 1, False),
        (1, 1, False),
        (1, 2, True),
        (2, 2, False),
    ]


async def test_a_local_step_that_fails_in_passing_is_tried_again_as_a_regular_activity(client: Client) -> None:
    def perform(request, call):  # type: ignore[no-untyped-def]
        if request.sequence == 1 and call == 0:
            raise ApplicationError("Redis does not answer", type="StoreUnavailable")
        return known(request)

    script = Script(near=True, perform=perform)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL, local_steps=True))
        result = await handle.result()

    assert result.succeeded
    assert result.totals.recoveries == 0
    assert [request.sequence for request in script.performed] == [0, 1, 1, 2]
    assert await scheduled(handle) == ["browser.fill"]
    assert len(script.local_ids) == 3
    assert (await replay(await history_of(client, handle))).differences == ()


async def test_a_local_step_that_takes_long_goes_on_as_a_regular_activity(client: Client) -> None:
    def perform(request, call):  # type: ignore[no-untyped-def]
        if request.sequence == 1 and call == 0:
            raise ApplicationError("it goes on", type=GOES_ON, non_retryable=True)
        return known(request)

    script = Script(near=True, perform=perform)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL, local_steps=True))
        result = await handle.result()

    assert result.totals.recoveries == 0
    assert await scheduled(handle) == ["browser.fill"]
    assert script.local_ids == [*script.activity_ids[:2], script.activity_ids[3]]
    assert script.activity_ids[1] == script.activity_ids[2]
    assert (await replay(await history_of(client, handle))).differences == ()


async def test_a_local_step_that_cannot_be_done_is_not_tried_again(client: Client) -> None:
    def perform(request, _call):  # type: ignore[no-untyped-def]
        if request.sequence == 1:
            raise ApplicationError("the field is read-only", type="ActionFailed")
        return known(request)

    script = Script(near=True, perform=perform)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, local_steps=True))
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert await scheduled(handle) == []
    assert [request.sequence for request in script.performed] == [0, 1]


async def test_without_local_steps_every_step_is_a_regular_activity(client: Client) -> None:
    script = Script(near=True)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND))
        await handle.result()

    assert script.local_ids == []
    assert await scheduled(handle) == ["browser.goto", "browser.fill", "browser.click"]
