"""Faults of every part but the site, in the middle of a run: it ends as defined, and the site has one mail."""

import os
import signal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest

from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order, start
from replaywright.domain.secrets.signing import written_key
from replaywright.domain.task.tasks import Task
from replaywright.keeper.host.identity import is_alive
from replaywright.settings import Settings, load_settings
from replaywright.stack import Child
from replaywright.stack.keyring import new_key
from replaywright.stack.redis import RedisServer, provide_redis, start_redis
from tests.e2e.lab import Lab, until
from tests.raw_redis import ask_redis

STEPS = 10
PRIORITY = 7
"""In the middle: signed in, two fields filled, nothing sent."""
SEND = 9

pytestmark = pytest.mark.slow


class OwnRedis:
    """A server that can be frozen, stopped and started again with its data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: RedisServer | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return self._server.url

    @property
    def child(self) -> Child:
        assert self._server is not None
        return self._server.child

    async def start(self) -> None:
        self._server = await start_redis(
            provide_redis().path, folder=self._folder / "data", log=self._folder / "redis.log"
        )

    def freeze(self) -> None:
        os.kill(self.child.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.child.pid, signal.SIGCONT)


@pytest.fixture(scope="module")
async def redis(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OwnRedis]:
    server = OwnRedis(tmp_path_factory.mktemp("redis"))
    await server.start()
    yield server
    await server.child.stop()


@pytest.fixture(scope="module")
def lab_settings(redis: OwnRedis) -> Settings:
    return load_settings(redis_url=redis.url, signing_keys=written_key(new_key()))


@pytest.fixture(scope="module")
async def lab(own_lab: Lab) -> Lab:
    """A stage of its own, with these settings."""
    return own_lab


@pytest.fixture
async def worker(lab: Lab) -> AsyncIterator[Child]:
    """The one worker that serves; a test that ends it leaves another, started last."""
    yield lab.stage.worker
    for other in lab.stage.workers:
        if other is not lab.stage.worker:
            other.kill()


async def step_under_way(lab: Lab, order: Order) -> tuple[str, int]:
    """Id and attempt of the activity that is under way."""
    pending = (await lab.handle(order).describe()).raw_description.pending_activities
    return (pending[0].activity_id, pending[0].attempt) if pending else ("", 0)


async def assert_done_once(lab: Lab, order: Order, ending: Ending, *, unrecorded: tuple[int, ...] = ()) -> None:
    """Done, one right mail, and every step recorded once."""
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
    assert await lab.performed(order) == {step: 1 for step in range(STEPS) if step not in unrecorded}


# ---------------------------------------------------------------------------------------------------- Redis


@pytest.mark.long
async def test_while_redis_is_frozen_nothing_is_sent_and_the_run_finishes_by_itself_afterwards(
    lab: Lab, worker: Child, redis: OwnRedis
) -> None:
    order = lab.order()
    await lab.frozen_at(worker, "located", SEND, order)
    redis.freeze()
    lab.thaw(worker)

    async def tried_again() -> bool:
        return (await step_under_way(lab, order))[0].endswith("-redis2")

    await until("the step is tried for the third time", tried_again)
    sent_meanwhile = lab.mails(order)
    redis.thaw()
    ending = await lab.follow(order)

    assert sent_meanwhile == []
    await assert_done_once(lab, order, ending)
    assert ending.result.totals.recoveries == 0


@pytest.mark.long
async def test_redis_stopped_and_started_again_between_two_steps_the_run_finishes(
    lab: Lab, worker: Child, redis: OwnRedis
) -> None:
    order = lab.order()
    await lab.frozen_at(worker, "start", PRIORITY, order)
    await redis.child.stop()
    lab.thaw(worker)

    async def tried_again() -> bool:
        return (await step_under_way(lab, order))[1] > 1

    await until("the step after it is tried again", tried_again)
    await redis.start()
    ending = await lab.follow(order)

    await assert_done_once(lab, order, ending, unrecorded=(PRIORITY,))


@pytest.mark.long
@pytest.mark.parametrize(("point", "sequence"), [("start", PRIORITY), ("located", SEND), ("intended", SEND)])
async def test_redis_emptied_in_the_middle_of_a_run_it_is_done_or_waits_and_never_sends_twice(
    lab: Lab, worker: Child, redis: OwnRedis, point: str, sequence: int
) -> None:
    order = lab.order()
    await lab.frozen_at(worker, point, sequence, order)
    await ask_redis(redis.url, ("FLUSHALL",), ("SCRIPT", "FLUSH"))
    lab.thaw(worker)

    ending = await lab.follow(order)
    mails = len(lab.mails(order))
    if ending.status == "waiting":
        ending = await lab.with_person(order)

    assert mails <= 1
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)


def without_reconcile(task: Task) -> Task:
    """The task as it is without a way to ask the site."""
    return task.model_copy(update={"steps": tuple(step.model_copy(update={"reconcile": None}) for step in task.steps)})


@pytest.mark.long
async def test_redis_emptied_with_the_bytes_out_and_the_worker_killed_the_live_page_decides(
    lab: Lab, redis: OwnRedis
) -> None:
    order = lab.order(without_reconcile(lab.task))
    await lab.frozen_at(lab.stage.worker, "permitted", SEND, order)
    await until("the mail has arrived", lambda: lab.mails(order) != [])
    await ask_redis(redis.url, ("FLUSHALL",), ("SCRIPT", "FLUSH"))
    await lab.replace_worker()

    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)


@pytest.mark.long
@pytest.mark.parametrize("point", ["located", "armed"])
async def test_worker_keeper_and_browser_killed_before_the_intent_it_is_performed_once_and_nobody_is_asked(
    lab: Lab, point: str
) -> None:
    order = lab.order(without_reconcile(lab.task))
    await lab.frozen_at(lab.stage.worker, point, SEND, order)
    session = await lab.session()
    assert session.chromium is not None
    os.kill(session.keeper.pid, signal.SIGKILL)
    os.killpg(session.chromium.pid, signal.SIGKILL)
    await lab.replace_worker()

    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)


# ---------------------------------------------------------------------------------------- browser and keeper


@pytest.mark.long
@pytest.mark.parametrize("what", ["browser", "keeper"])
async def test_with_the_browser_or_its_keeper_killed_before_the_send_step_another_is_brought_to_where_it_was(
    lab: Lab, worker: Child, what: str
) -> None:
    order = lab.order()
    await lab.frozen_at(worker, "start", PRIORITY, order)
    session = await lab.session()
    assert session.chromium is not None
    if what == "browser":
        os.killpg(session.chromium.pid, signal.SIGKILL)
    else:
        os.kill(session.keeper.pid, signal.SIGKILL)
    lab.thaw(worker)

    ending = await lab.follow(order)

    await assert_done_once(lab, order, ending)
    assert ending.result.totals.recoveries == 1
    await until("no keeper is left", lambda: lab.sessions() == [])
    await until("no browser is left", lambda: session.chromium is not None and not is_alive(session.chromium))


@pytest.mark.long
@pytest.mark.parametrize("point", ["acted", "recorded"])
async def test_a_run_that_is_cancelled_inside_a_step_goes_no_further_and_gives_its_browser_back(
    lab: Lab, worker: Child, point: str
) -> None:
    order = lab.order()
    await lab.frozen_at(worker, point, PRIORITY, order)
    session = await lab.session()
    await lab.handle(order).cancel()
    lab.thaw(worker)

    ending = await lab.follow(order)

    assert ending.status == "cancelled"
    await until("no keeper is left", lambda: lab.sessions() == [])
    await until("no browser is left", lambda: session.chromium is not None and not is_alive(session.chromium))
    assert lab.mails(order) == []


async def test_a_run_that_is_cancelled_while_its_browser_starts_leaves_no_browser_behind(
    lab: Lab, worker: Child
) -> None:
    order = lab.order()
    await until("the browsers before have ended", lambda: lab.sessions() == [])
    await start(lab.place, order)
    await until("a keeper starts", lambda: lab.sessions() != [])
    await lab.handle(order).cancel()

    ending = await lab.follow(order)

    assert ending.status == "cancelled"
    await until("no keeper is left", lambda: lab.sessions() == [])
    assert lab.mails(order) == []


# --------------------------------------------------------------------------------------------------- worker


@pytest.mark.long
@pytest.mark.parametrize(
    ("point", "sequence"), [("start", PRIORITY), ("located", SEND), ("intended", SEND), ("acted", SEND)]
)
async def test_a_worker_that_wakes_up_after_another_took_over_does_nothing_any_more(
    lab: Lab, worker: Child, point: str, sequence: int
) -> None:
    order = lab.order()
    await lab.frozen_at(worker, point, sequence, order)
    os.killpg(worker.pid, signal.SIGSTOP)  # what it started, too
    zombie_log = lab.stage.worker_logs[-1]
    successor = await lab.stage.start_worker()

    async def taken_over() -> bool:
        progress = await lab.progress(order)
        return progress.totals.recoveries > 0 or progress.status in ("waiting", "done")

    await until("the other worker has taken over", taken_over)
    before = len(lab.mails(order))
    lab.thaw(worker)
    ending = await lab.follow(order)
    if ending.status == "waiting":
        assert (point, sequence) == ("intended", SEND), "only an intent without an outcome is in doubt"
        await until("the one that woke up has given up", lambda: "as failed" in zombie_log.read_text())
        assert len(lab.mails(order)) == before
        ending = await lab.with_person(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
    assert ending.result.totals.recoveries >= 1
    assert successor.exit_status() is None
    assert worker.exit_status() is None
    await until("no keeper is left", lambda: lab.sessions() == [])


async def test_a_worker_that_is_asked_to_end_drains_and_another_goes_on_in_the_same_browser(
    lab: Lab, worker: Child
) -> None:
    order = lab.order()
    await lab.frozen_at(worker, "acted", PRIORITY, order)
    session = await lab.session()
    os.kill(worker.pid, signal.SIGTERM)
    successor = lab.stage.start_worker()
    lab.thaw(worker)
    await successor

    ending = await lab.follow(order)

    await assert_done_once(lab, order, ending)
    assert ending.result.totals.recoveries == 1
    assert await worker.ended_within(120)
    assert worker.exit_status() == 0
    assert {line["epoch"] for line in await lab.trace(order) if line["kind"] == "step"} == {1, 2}
    await until("the browser that was adopted has ended", lambda: not is_alive(session.keeper))


@pytest.mark.long
async def test_three_processes_with_a_role_each_do_the_main_flow(lab: Lab, worker: Child) -> None:
    worker.kill()
    split = [await lab.stage.start_worker(role=role) for role in ("workflow", "browser", "model")]
    fresh = lab.apart()

    learned, replayed = fresh.order(), fresh.order()
    first = await fresh.run(learned)
    second = await fresh.run(replayed)

    for child in split:
        await child.stop(grace_s=120)
    await lab.stage.start_worker()
    assert (first.status, second.status) == ("done", "done"), (first, second)
    assert first.result.totals.learned == STEPS - 1
    assert second.result.totals.usage.calls == 0
    fresh.assert_one_right_mail(learned)
    fresh.assert_one_right_mail(replayed)
    assert [child.exit_status() for child in split] == [0, 0, 0]


# -------------------------------------------------------------------------------------------------- Temporal

SEND_ACTIVITY = f"{SEND + 1:04d}-"
"""What the id of the send step's activity begins with."""


async def reset(lab: Lab, order: Order, *, before: str = "") -> None:
    """As `temporal workflow reset` does: to the first decision, or to the one that led to the activity `before`."""
    client = lab.stage.place.client
    decided = 0
    async for event in lab.handle(order).fetch_history_events():
        if before and event.activity_task_scheduled_event_attributes.activity_id.startswith(before):
            break
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED and (before or not decided):
            decided = event.event_id
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=order.run_id),
            reason="the test",
            workflow_task_finish_event_id=decided,
            request_id=str(uuid.uuid4()),
        )
    )


@pytest.mark.parametrize(
    ("before", "answered"),
    [("", STEPS), pytest.param(SEND_ACTIVITY, 1, marks=pytest.mark.long)],
    ids=["from the start", "from the send step"],
)
async def test_a_finished_run_that_is_reset_sends_nothing_and_claims_nothing_that_no_page_shows(
    lab: Lab, worker: Child, before: str, answered: int
) -> None:
    order = lab.order()
    first = await lab.run(order)
    await reset(lab, order, before=before)

    again = await lab.follow(order)

    await assert_done_once(lab, order, first)
    assert (again.status, again.result.reason) == ("failed", "verification_failed")
    assert (again.result.totals.steps, again.result.totals.from_ledger) == (STEPS, answered)
    assert again.result.totals.usage.calls == 0


@pytest.mark.long
@pytest.mark.parametrize("point", ["intended", "dispatched", "permitted"])
async def test_a_run_that_is_reset_inside_its_send_step_sends_once(lab: Lab, worker: Child, point: str) -> None:
    order = lab.order()
    await lab.frozen_at(worker, point, SEND, order)
    await lab.stage.start_worker()
    await reset(lab, order, before=SEND_ACTIVITY)
    lab.thaw(worker)

    ending = await lab.with_person(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
