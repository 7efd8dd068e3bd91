"""What happens at the same time inside a commit step: two commands, a worker of the next version, a new history."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowExecution

from replaywright.cli.batch.batch_place import batch_handle, batch_store, start_batch
from replaywright.cli.runs.follow import WORKFLOW
from replaywright.cli.runs.resume import Wish, planned
from replaywright.cli.runs.starting import Order, prepared, start
from replaywright.cli.servers.connect import Backend
from replaywright.cli.servers.macs import start_memo
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.batch.batches import BatchInput, Row
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import bind_parameters, parse_task
from replaywright.errors import InputInvalid, RunExists
from replaywright.settings import UNVERSIONED
from replaywright.stack.versions import promote
from tests.e2e.booking import Booking, served
from tests.e2e.lab import Lab, until
from tests.e2e.other_code import changed_copy

pytestmark = pytest.mark.slow

SEND = 3
POINTS = (
    *("start", "located", "armed", "intended", "given", "held"),
    *("dispatched", "permitted", "acted", "recorded", "returned"),
)
"""All points of a commit step in which no other was lost before."""
TASK: dict[str, Any] = {
    "task": "book-a-table",
    "parameters": {"base_url": {}, "who": {}, "day": {"default": "2026-12-24"}},
    "steps": [
        {"action": "goto", "url": "{{base_url}}/"},
        {"action": "fill", "instruction": "the guest", "target": {"label": "Guest"}, "value": "{{who}}"},
        {"action": "fill", "instruction": "the day", "target": {"label": "Day"}, "value": "{{day}}"},
        {
            "action": "click",
            "instruction": "reserve",
            "target": {"role": "button", "name": "Reserve"},
            "effect": "commit",
            "expect": [{"text_contains": "Booked for {{who}}"}],
            "reconcile": {
                "steps": [{"action": "goto", "url": "{{base_url}}/list"}],
                "expect": [{"text_contains": "{{who}}, {{day}}"}],
                "site_lag_ms": 0,
            },
        },
        {"action": "goto", "url": "{{base_url}}/list"},
    ],
    "verify": [{"exists": {"role": "listitem", "text": "{{who}}, {{day}}"}}],
}


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the tasks declare their elements."""
    return bare_lab


@pytest.fixture(scope="module")
def site() -> Iterator[Booking]:
    with served() as site:
        yield site


@pytest.fixture(scope="module")
def next_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The next version of the same release, which speaks with the keepers of this one."""
    folder = tmp_path_factory.mktemp("next")
    return changed_copy(folder, "replaywright/__init__.py", '__version__ = "', '__version__ = "9')


@pytest.fixture(scope="module")
def next_protocol(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version that cannot speak with the keepers of this one."""
    folder = tmp_path_factory.mktemp("protocol")
    return changed_copy(folder, "replaywright/keeper/protocol.py", "PROTOCOL_VERSION = 2\n", "PROTOCOL_VERSION = 3\n")


def booking(lab: Lab, site: Booking) -> Order:
    """A run that books a table for a guest of its own."""
    task = parse_task(TASK, "test")
    values = bind_parameters(task, {"base_url": site.url, "who": f"Guest {next(lab.numbers)}"})
    return Order(task, values, new_run_id(task, values), mode=Mode.REPLAY)


def times_booked(site: Booking, order: Order) -> int:
    return sum(each["who"] == order.values["who"] for each in site.booked)


async def resume(lab: Lab, order: Order) -> Order:
    """What `replaywright resume` does until the run is started."""
    found = await planned(lab.place, Wish(order.run_id))
    await start(lab.place, found.order)
    return found.order


def but(*short: tuple[str, ...], of: tuple[str, ...], points: tuple[str, ...] = POINTS) -> list[object]:
    """Every point in every way; all but those in `short` belong to the long form."""
    pairs = ((point, way) for point in points for way in of)
    return [pair if pair in short else pytest.param(*pair, marks=pytest.mark.long) for pair in pairs]


async def go_on(lab: Lab, way: str) -> None:
    """Have somebody go on with what the frozen worker was at: another worker, or this one, which wakes up."""
    if way == "killed":
        await lab.replace_worker()
    else:
        lab.thaw(lab.stage.worker)


async def assert_booked_once(lab: Lab, site: Booking, order: Order) -> None:
    """The run ends well, asks nobody, and the site has taken the guest once."""
    ending = await lab.follow(order)
    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert times_booked(site, order) == 1


# ------------------------------------------------------------------------------------------------- two commands


@pytest.mark.long
@pytest.mark.parametrize(("point", "way"), but(("dispatched", "killed"), of=("killed", "wakes")))
async def test_of_two_resumes_at_the_same_time_one_goes_on_and_the_other_is_told(
    lab: Lab, site: Booking, point: str, way: str
) -> None:
    await lab.served()
    order = booking(lab, site)
    await lab.frozen_at(lab.stage.worker, point, SEND, order)
    await lab.handle(order).terminate("by the test")

    _, *said = await asyncio.gather(go_on(lab, way), *(attempted(lab, order) for _ in range(2)))
    begun = [one for one in said if isinstance(one, Order)]
    refused = [one for one in said if isinstance(one, str)]

    assert [one.run_id for one in begun] == [f"{order.run_id}~2"]
    assert refused == [f"{order.run_id} was resumed just now: `replaywright show {order.run_id}~2` shows it"]
    await assert_booked_once(lab, site, begun[0])


@pytest.mark.long
@pytest.mark.parametrize(("point", "way"), but(("held", "wakes"), of=("killed", "wakes")))
async def test_a_run_that_is_cancelled_twice_and_resumed_at_the_same_time_ends_and_can_be_resumed_then(
    lab: Lab, site: Booking, point: str, way: str
) -> None:
    await lab.served()
    order = booking(lab, site)
    await lab.frozen_at(lab.stage.worker, point, SEND, order)

    handle = lab.handle(order)
    said, *_ = await asyncio.gather(attempted(lab, order), handle.cancel(), handle.cancel())
    await go_on(lab, way)
    ending = await lab.follow(order)
    sent_until_then = times_booked(site, order)
    resumed = await resume(lab, order)

    assert isinstance(said, str)
    assert said.startswith(f"{order.run_id} is still going")
    assert ending.status == "cancelled"
    assert sent_until_then <= 1
    await assert_booked_once(lab, site, resumed)


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
async def test_a_resume_that_is_cancelled_twice_as_it_begins_is_resumed_and_books_once(
    lab: Lab, site: Booking, point: str
) -> None:
    await lab.served()
    order = booking(lab, site)
    await lab.frozen_at(lab.stage.worker, point, SEND, order)
    await lab.handle(order).terminate("by the test")
    begun = await resume(lab, order)

    handle = lab.handle(begun)
    await asyncio.gather(handle.cancel(), handle.cancel(), lab.replace_worker())
    ending = await lab.follow(begun)
    resumed = await resume(lab, order)

    assert ending.status == "cancelled"
    assert resumed.run_id == f"{order.run_id}~3"
    await assert_booked_once(lab, site, resumed)


async def attempted(lab: Lab, order: Order) -> Order | str:
    """The run that a resume begins, or why it begins none."""
    try:
        return await resume(lab, order)
    except (InputInvalid, RunExists) as refused:
        return str(refused)


# --------------------------------------------------------------------------------------------- the next version


INSIDE = ("held", "dispatched", "permitted", "acted")


@pytest.mark.parametrize(
    ("point", "code"),
    but(("held", "next_protocol"), of=("next_code", "next_protocol"), points=INSIDE),
)
async def test_a_worker_of_the_next_version_takes_over_inside_the_step_and_books_once(
    lab: Lab, site: Booking, request: pytest.FixtureRequest, point: str, code: str
) -> None:
    await lab.served()
    order = booking(lab, site)
    await lab.frozen_at(lab.stage.worker, point, SEND, order)

    await lab.replace_worker(PYTHONPATH=str(request.getfixturevalue(code)))

    await assert_booked_once(lab, site, order)


@pytest.fixture
async def unversioned(lab: Lab) -> AsyncIterator[None]:
    """The test may promote versions; afterwards workers without one have all again."""
    await lab.served()
    yield
    await lab.replace_worker()
    await promote(lab.place.client, lab.place.settings, UNVERSIONED)


@pytest.mark.long
@pytest.mark.usefixtures("unversioned")
@pytest.mark.parametrize("point", INSIDE)
async def test_a_run_without_a_version_goes_over_to_the_promoted_one_inside_the_step(
    lab: Lab, site: Booking, next_code: Path, point: str
) -> None:
    order = booking(lab, site)
    old = lab.stage.worker
    await lab.frozen_at(old, point, SEND, order)
    build = f"over-{point}"
    await lab.stage.start_worker(REPLAYWRIGHT_BUILD_ID=build, PYTHONPATH=str(next_code))
    await promote(lab.place.client, lab.place.settings, build)

    old.kill()

    await assert_booked_once(lab, site, order)


@pytest.mark.long
@pytest.mark.usefixtures("unversioned")
@pytest.mark.parametrize("point", INSIDE)
async def test_a_run_whose_version_has_no_worker_any_more_is_ended_and_resumed_on_the_next(
    lab: Lab, site: Booking, next_code: Path, point: str
) -> None:
    client, settings = lab.place.client, lab.place.settings
    old = await lab.stage.start_worker(REPLAYWRIGHT_BUILD_ID=f"old-{point}")
    await promote(client, settings, f"old-{point}")
    order = booking(lab, site)
    await lab.frozen_at(old, point, SEND, order)
    await lab.stage.start_worker(REPLAYWRIGHT_BUILD_ID=f"new-{point}", PYTHONPATH=str(next_code))
    await promote(client, settings, f"new-{point}")
    old.kill()

    await lab.handle(order).terminate("its version has no worker")
    resumed = await resume(lab, order)

    await assert_booked_once(lab, site, resumed)


# ------------------------------------------------------------------------------------------------ a new history


@pytest.mark.parametrize("point", ["held", *(pytest.param(point, marks=pytest.mark.long) for point in INSIDE[1:])])
async def test_a_step_between_two_continuations_as_new_is_taken_over_and_books_once(
    lab: Lab, site: Booking, point: str
) -> None:
    await lab.served()
    order = booking(lab, site)
    async with lab.freezing(lab.stage.worker, f"{point}:{SEND}"):
        await start_with_histories_of(1, lab.place, order)

    await lab.replace_worker()

    await assert_booked_once(lab, site, order)
    assert len(await executions_of(lab, order.run_id)) == len(TASK["steps"])


@pytest.mark.long
@pytest.mark.parametrize("point", ["held", "permitted"])
async def test_a_batch_that_continues_as_new_while_a_row_is_inside_its_step_books_every_row_once(
    lab: Lab, site: Booking, point: str
) -> None:
    await lab.served()
    frozen, orders = lab.stage.worker, [booking(lab, site) for _ in range(2)]
    batch = f"batch-at-{point}"
    async with lab.freezing(frozen, f"{point}:{SEND}"):
        await start_batch_with_histories_of(1, lab.place, batch, orders)
    await lab.stage.start_worker(role="workflow")  # no other worker can go on with the row

    async def is_continued() -> bool:
        return len(await executions_of(lab, batch)) > 1

    await until("the batch continues as new", is_continued)
    frozen.kill()
    await lab.replace_worker()
    progress = await batch_handle(lab.place, batch).result()

    assert (progress.status, progress.ended) == ("done", {"done": 2})
    assert [times_booked(site, order) for order in orders] == [1, 1]


async def start_with_histories_of(steps: int, here: Backend, order: Order) -> None:
    """Start a run that continues as new after so many steps."""
    told = await prepared(here, order)
    run = told.input.model_copy(update={"steps_per_history": steps})
    await here.client.start_workflow(
        WORKFLOW, run, id=order.run_id, task_queue=here.queue, memo=start_memo(here, WORKFLOW, order.run_id, run)
    )


async def start_batch_with_histories_of(rows: int, here: Backend, batch: str, orders: list[Order]) -> None:
    """Start a batch that continues as new after so many rows."""
    told = await prepared(here, orders[0])
    async with batch_store(here) as store:
        index = await store.put([Row(number=at, values=order.values) for at, order in enumerate(orders, 1)])
    run = told.input.model_copy(update={"values": {}})
    given = BatchInput(run=run, index=index, total=len(orders), memo=told.memo, rows_per_history=rows)
    await start_batch(here, batch, given, again=False)


async def executions_of(lab: Lab, workflow_id: str) -> list[WorkflowExecution]:
    """All executions of a workflow that continues as new."""
    return [each async for each in lab.place.client.list_workflows(f"WorkflowId = {workflow_id!r}")]
