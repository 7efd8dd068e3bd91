"""Starts and updates that somebody sends who reaches Temporal and has no signing key."""

import uuid
from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from demo.stage import PASSWORD_SECRET, Stage
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.scope import Mode
from replaywright.domain.secrets.starts import RULE, UnsignedStarts
from replaywright.domain.task.tasks import parse_task
from replaywright.settings import load_settings
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow


async def staged(unsigned: UnsignedStarts | None) -> AsyncIterator[Lab]:
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        settings = load_settings().model_copy(update={"unsigned_starts": unsigned})
        async with Stage(settings, tell=lambda _text: None) as stage:
            yield Lab(stage)


@pytest.fixture(scope="module")
async def refusing() -> AsyncIterator[Lab]:
    """A stack as `up` starts it."""
    async for lab in staged(None):
        yield lab


@pytest.fixture(scope="module")
async def sparing() -> AsyncIterator[Lab]:
    """A stack that treats unsigned starts as a configured Temporal does."""
    async for lab in staged(UnsignedStarts.NO_SECRETS):
        yield lab


def looking(lab: Lab, *, asks: bool = False) -> dict[str, object]:
    """Input of a run that enters no secret."""
    approve = [{"action": "approve", "instruction": "shall it go on?"}] if asks else []
    steps = [*approve, {"action": "wait_for", "expect": [{"url_contains": "/login"}]}]
    task = {"task": "look", "url": f"{lab.stage.webmail}/login", "steps": steps}
    return {"task": task, "values": {}, "tenant": lab.place.settings.tenant}


def entering(lab: Lab) -> dict[str, object]:
    """Input of a run that enters the password on a site of the starter's own choice."""
    steps = [{"action": "fill", "instruction": "it", "target": {"label": "User"}, "value": "{{secret:PASSWORD}}"}]
    task = {"task": "steal", "url": f"{lab.stage.webmail}/login", "secrets": [PASSWORD_SECRET], "steps": steps}
    return {"task": task, "values": {}, "tenant": lab.place.settings.tenant}


async def plain(lab: Lab) -> Client:
    """Somebody who reaches the server, and has nothing of ours."""
    return await Client.connect(lab.place.settings.temporal_address or "")


async def forged(lab: Lab, given: dict[str, object]) -> str:
    run_id = f"forged/{uuid.uuid4().hex}"
    client = await plain(lab)
    await client.start_workflow("BrowserTask", given, id=run_id, task_queue=lab.place.queue)
    return run_id


async def ended(lab: Lab, run_id: str) -> tuple[str, str, set[str]]:
    """Type of the failure, its message, and the activities of a run that is over."""
    handle = (await plain(lab)).get_workflow_handle(run_id)
    with pytest.raises(WorkflowFailureError) as failure:
        await handle.result()
    cause = failure.value.cause
    assert isinstance(cause, ApplicationError)
    history = await handle.fetch_history()
    scheduled = (event.activity_task_scheduled_event_attributes for event in history.events)
    return cause.type or "", str(cause), {each.activity_type.name for each in scheduled if each.activity_type.name}


async def test_the_stack_of_up_refuses_a_start_without_a_mac_and_opens_nothing(refusing: Lab) -> None:
    for given in (looking(refusing), entering(refusing)):
        kind, said, activities = await ended(refusing, await forged(refusing, given))

        assert (kind, activities) == ("TaskBlocked", {"policy.check"})
        assert f"{RULE}: the start of this run is not signed (unsigned)" in said


@pytest.mark.long
async def test_a_configured_temporal_gives_an_unsigned_start_no_secret_and_marks_it(sparing: Lab) -> None:
    stealing, harmless = await forged(sparing, entering(sparing)), await forged(sparing, looking(sparing))

    kind, said, activities = await ended(sparing, stealing)
    assert (kind, activities) == ("TaskBlocked", {"policy.check"})
    assert "it gets no secret, as the start of this run is not signed" in said

    handle = (await plain(sparing)).get_workflow_handle(harmless)
    result = await handle.result()
    memo = await (await handle.describe()).memo()
    assert result["succeeded"] is True
    assert memo["start"] == "unsigned"
    assert ["unsigned start" in each for each in result["warnings"]] == [True]


async def test_an_update_without_a_mac_is_rejected_and_changes_nothing(refusing: Lab) -> None:
    task = parse_task(looking(refusing, asks=True)["task"], "test")
    order = Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)
    await start(refusing.place, order)
    assert (await refusing.follow(order)).status == "waiting"
    handle = (await plain(refusing)).get_workflow_handle(order.run_id)
    verdict = {"sequence": 1, "verdict": "approve", "who": "somebody"}

    for more in ([], ["home:AAAA"], [""]):
        with pytest.raises(WorkflowUpdateFailedError) as rejected:
            await handle.execute_update("resolve_step", args=[verdict, *more])
        assert "the update 'resolve_step' is not signed" in str(rejected.value.cause)
    assert (await refusing.follow(order)).status == "waiting"

    await decide(refusing.place, order.run_id, PersonVerdict(sequence=1, verdict="approve", who="the test"))
    assert (await refusing.follow(order)).status == "done"


async def test_whoever_may_reach_temporal_may_hold_a_run_up(refusing: Lab) -> None:
    task = parse_task(looking(refusing, asks=True)["task"], "test")
    order = Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)
    await start(refusing.place, order)
    await refusing.follow(order)

    await (await plain(refusing)).get_workflow_handle(order.run_id).execute_update("abort", {"who": "somebody"})

    assert (await refusing.follow(order)).status == "failed"
