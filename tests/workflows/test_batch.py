"""A batch begins each row once, as a run of its own, some at a time, and notes how each ended."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.worker import Replayer

from replaywright.domain.batch.batches import (
    BatchProgress,
    RowEnd,
    StopBatch,
    run_id_of,
)
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_lines import CommitLine
from replaywright.domain.step.outcomes import Departure, Evidence, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.tasks import parse_task
from tests.e2e.lab import until
from tests.workflows.batches import FILL, GOTO, GREETING, TENANT, bench, rows, third_fails
from tests.workflows.scripted import Script, done, missed
from workflows.batch.batch import BrowserBatch
from workflows.plugin import WorkflowPlugin

LEFT = datetime(2026, 11, 24, 10, 2, 3, tzinfo=UTC)
SENT = Evidence(departure=Departure(bytes_up=9, permitted_at=LEFT.timestamp()))
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
SENDING = GREETING.model_copy(
    update={
        "task": parse_task(
            {
                "task": "send",
                "parameters": {"who": {}},
                "steps": [GOTO, SEND, FILL],
                "verify": [{"url_contains": "/"}],
            },
            "the test",
        )
    }
)


async def done_when(held: asyncio.Event, request: CommandOnStep) -> StepOutcome:
    """The step is done as soon as the event is set."""
    while not held.is_set():
        activity.heartbeat()
        await asyncio.sleep(0.1)  # heartbeats have to go out meanwhile
    return done(request)


async def test_every_row_is_a_run_of_its_own_and_how_it_ended_is_kept(client: Client) -> None:
    async with bench(client, Script(perform=third_fails)) as made:
        given = rows(7)
        handle = await made.start(given, parallel=3)
        result = await handle.result()
        ends = made.ended(handle.id)

    assert sorted(made.greeted()) == sorted(row.values["who"] for row in given)
    assert (result.status, result.ended) == ("done", {"done": 6, "failed": 1})
    assert [ends[row.number].run_id for row in given] == [run_id_of(handle.id, row) for row in given]
    assert (ends[3].status, ends[3].reason, ends[3].failed_step) == ("failed", "no_entry", 1)
    assert [each.number for each in result.problems] == [3]


async def test_a_long_batch_continues_as_new_and_no_row_is_lost_or_done_twice(client: Client) -> None:
    async with bench(client) as made:
        given = rows(25)
        handle = await made.start(given, parallel=4, rows_per_history=6)
        result = await handle.result()
        ends = made.ended(handle.id)
        first = await client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id).describe()

    assert first.status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert sorted(made.greeted()) == sorted(row.values["who"] for row in given)
    assert result.ended == {"done": 25}
    assert {end.status for end in ends.values()} == {"done"}
    assert sorted(ends) == [row.number for row in given]


async def test_a_batch_that_was_terminated_finds_the_runs_it_had_begun_when_it_is_begun_again(client: Client) -> None:
    held = asyncio.Event()

    async def performing(request: CommandOnStep, _call: int) -> StepOutcome:
        return await done_when(held, request)

    async with bench(client, Script(performing=performing)) as made:
        given = rows(4)
        handle = await made.start(given, parallel=2)
        await until("two rows are under way", lambda: len({one.run_id for one in made.script.opened}) == 2)
        await handle.terminate("the test")
        again = await made.start(given, handle.id, parallel=2)
        await until("they are watched", lambda: watched_in(again))
        held.set()
        result = await again.result()
        ends = made.ended(handle.id)
        history = await again.fetch_history()

    assert result.ended == {"done": 4}
    assert not any(event.HasField("timer_fired_event_attributes") for event in history.events), "it waited for a look"
    assert Counter(made.greeted()) == dict.fromkeys((row.values["who"] for row in given), 1)
    assert [ends[row.number].run_id for row in given] == [run_id_of(handle.id, row) for row in given]


async def watched_in(handle: WorkflowHandle[BrowserBatch, BatchProgress]) -> bool:
    return any(
        event.activity_task_scheduled_event_attributes.activity_type.name == "batch.watch"
        for event in (await handle.fetch_history()).events
    )


async def test_rows_that_have_ended_are_not_begun_again_whatever_became_of_them(client: Client) -> None:
    async with bench(client) as made:
        given = rows(5)
        batch = "batch-ended"
        kept = [
            RowEnd(number=1, status="done", run_id="earlier"),
            RowEnd(number=4, status="failed", run_id=run_id_of(batch, given[3])),
        ]
        await made.ends.note(TENANT, batch, kept)
        result = await (await made.start(given, batch)).result()

    assert sorted(made.greeted()) == ["guest 2", "guest 3", "guest 5"]
    assert result.ended == {"done": 4, "failed": 1}


async def test_a_batch_that_has_lost_how_its_rows_ended_asks_their_runs_and_begins_none_again(client: Client) -> None:
    async with bench(client, Script(perform=third_fails)) as made:
        given = rows(3)
        handle = await made.start(given)
        await handle.result()
        before = made.ended(handle.id)
        made.ends.kept.clear()
        result = await (await made.start(given, handle.id)).result()
        after = made.ended(handle.id)

    assert Counter(made.greeted()) == dict.fromkeys((row.values["who"] for row in given), 1)
    assert result.ended == {"done": 2, "failed": 1}
    assert [(after[number].status, after[number].run_id) for number in sorted(after)] == [
        (before[number].status, before[number].run_id) for number in sorted(before)
    ]


async def test_after_so_many_failures_no_further_row_is_begun(client: Client) -> None:
    async with bench(client, Script(perform=lambda request, _call: missed("no_entry"))) as made:
        result = await (await made.start(rows(20), parallel=1, max_failures=3)).result()

    assert (result.status, result.stopped, result.ended) == ("stopped", "failures", {"failed": 3})
    assert result.why == "3 rows came to nothing (--max-failures)"


@pytest.mark.parametrize(("abort", "becomes"), [(False, {"done": 2}), (True, {"cancelled": 2})])
async def test_a_batch_that_is_stopped_lets_rows_end_or_cancels_them(
    client: Client, abort: bool, becomes: dict[str, int]
) -> None:
    held = asyncio.Event()

    async def performing(request: CommandOnStep, _call: int) -> StepOutcome:
        return await done_when(held, request)

    async with bench(client, Script(performing=performing)) as made:
        handle = await made.start(rows(10), parallel=2)
        await until("two rows are under way", lambda: len(made.script.performed) == 2)
        said = await handle.execute_update(BrowserBatch.stop, StopBatch(abort=abort, who="Ada", why="enough"))
        if not abort:
            held.set()
        result = await handle.result()

    assert (said.status, said.stopped, said.why) == ("stopping", "aborted" if abort else "cancelled", "Ada: enough")
    assert (result.status, result.ended) == ("stopped", becomes)


async def test_a_row_that_is_cancelled_after_its_send_step_says_in_the_batch_and_in_its_results_what_was_sent(
    client: Client,
) -> None:
    held = asyncio.Event()

    async def performing(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.step.effect is Effect.COMMIT:
            return done(request, effect=Effect.COMMIT, evidence=SENT)
        return done(request) if request.context.sequence == 0 else await done_when(held, request)

    async with bench(client, Script(performing=performing)) as made:
        handle = await made.start(rows(2), parallel=2, run=SENDING)
        await until("both rows have sent", lambda: len(made.script.performed) == 6)
        await handle.execute_update(BrowserBatch.stop, StopBatch(abort=True))
        result = await handle.result()
        ends = made.ended(handle.id)

    sent = CommitLine(step=1, title="click the send button", state="done", left_at=LEFT)
    assert [end.commits for end in result.problems] == [(sent,), (sent,)]
    assert {end.message for end in ends.values()} == {"the run was cancelled; step 2 was sent"}
    assert [ends[number].commits for number in (1, 2)] == [(sent,), (sent,)]


async def test_where_the_rows_are_not_to_be_had_the_batch_says_so_and_begins_none(client: Client) -> None:
    async with bench(client) as made:
        given = rows(3)
        await made.keep(given)
        made.artifacts.values.clear()
        result = await (await made.start(given, index="ab" * 32)).result()

    assert (result.status, result.stopped) == ("stopped", "rows_unreadable")
    assert "ab" * 32 in result.why
    assert made.greeted() == []


async def test_the_others_wait_until_the_first_row_has_learned_what_they_find_learned(client: Client) -> None:
    seen: list[tuple[int, int]] = []
    over: set[str] = set()

    async def performing(request: CommandOnStep, _call: int) -> StepOutcome:
        seen.append((len(over), len({one.run_id for one in made.script.opened} - over)))
        if request.context.step.action == "fill":
            over.add(request.context.run.run_id)
        return done(request)

    async with bench(client, Script(performing=performing)) as made:
        await (await made.start(rows(6), parallel=3, first_alone=True)).result()

    assert {under_way for ended, under_way in seen if not ended} == {1}
    assert max(under_way for _ended, under_way in seen) > 1


async def test_the_history_of_a_batch_replays(client: Client) -> None:
    async with bench(client) as made:
        handle = await made.start(rows(8), parallel=2)
        await handle.result()
        history = await handle.fetch_history()

    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin()]).replay_workflow(history)
    assert replayed.replay_failure is None
