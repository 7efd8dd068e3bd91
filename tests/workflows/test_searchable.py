"""What of a run can be searched for, on a real Temporal server: its attributes, and the queries that they are for."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from replaywright.cli.runs.options import OnFailure
from replaywright.cli.runs.searchable import Filter
from replaywright.cli.runs.starting import Order
from replaywright.cli.runs.starting import start as start_order
from replaywright.cli.servers.connect import Backend
from replaywright.domain.recall.recall import Recalled
from replaywright.domain.run.commands import CommandOnStep, Proposal
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.run.scope import Usage
from replaywright.domain.step.outcomes import Lookup, StepOutcome
from replaywright.domain.trace.search_attributes import kinds
from replaywright.settings import Settings
from tests.unit.skills import skill
from tests.workflows.scripted import (
    BUTTON,
    Script,
    after_goto,
    done,
    given,
    missed,
    run_from,
    run_of,
    scripted,
    start,
    waiting,
)
from workflows.plugin import WorkflowPlugin

GOTO = {"action": "goto", "url": "http://shop.example/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}


@pytest.fixture
async def client(temporal_env: WorkflowEnvironment) -> Client:
    address = temporal_env.client.service_client.config.target_host
    return await Client.connect(address, plugins=[WorkflowPlugin()])


async def started(client: Client, queue: str, run: RunInput, **fields: Any) -> WorkflowHandle[Any, RunResult]:
    """A run as every command starts one."""
    asks = None if run.on_failure is None else OnFailure(run.on_failure)
    order = Order(run.task, run.values, f"test/{queue}", mode=run.mode, on_failure=asks, **fields)
    place = Backend(client, Settings(tenant=queue, temporal_address="localhost:7233"), "configured", served_by=queue)
    return await start_order(place, order)


async def told(handle: WorkflowHandle[Any, Any]) -> dict[str, Any]:
    """The run's search attributes."""
    found = (await handle.describe()).typed_search_attributes
    return {pair.key.name.removeprefix("Browser"): pair.value for pair in found if pair.key.name in kinds()}


async def changes(handle: WorkflowHandle[Any, Any]) -> int:
    """How often the run has changed them; Temporal's own attributes, such as that of a patch, do not count."""
    events = (await handle.fetch_history()).events
    told = [event.upsert_workflow_search_attributes_event_attributes.search_attributes for event in events]
    return sum(any(name in kinds() for name in each.indexed_fields) for each in told)


async def found(client: Client, wanted: Filter) -> set[str]:
    """Ids of the runs that the query finds, once any is found: what is listed follows what is so by some moments."""
    async with asyncio.timeout(30):
        while True:
            runs = {run.id async for run in client.list_workflows(wanted.as_query(datetime.now(UTC)))}
            if runs:
                return runs
            await asyncio.sleep(0.05)  # there is no event for it


def healing(request: CommandOnStep, _call: int) -> StepOutcome:
    lookup = Lookup(hit=True, tier="similarity", healed=True, score=0.9, entry_version=2)
    return done(request, lookup=lookup) if request.context.sequence else done(request)


async def test_all_runs_of_last_week_that_healed_are_one_query(client: Client) -> None:
    async with scripted(client, Script(perform=healing)) as healed, scripted(client, Script()) as plain:
        handle = await started(client, healed, run_of(GOTO, FILL))
        await handle.result()
        await (await started(client, plain, run_of(GOTO, FILL))).result()

    tenants = f'BrowserTenant IN ("{healed}", "{plain}")'
    assert await found(client, Filter(healed=True, since="7d", query=tenants)) == {f"test/{healed}"}
    done = Filter(status="done", query=f"{tenants} AND BrowserHeals = 0")
    assert await found(client, done) == {f"test/{plain}"}
    assert await told(handle) == {
        "Site": "shop.example",
        "TaskName": "test",
        "Skill": "-",
        "Mode": "auto",
        "Status": "done",
        "Heals": 1,
        "ModelCalls": 0,
        "Tenant": healed,
    }
    assert await changes(handle) == 1


async def test_runs_that_wait_are_found_and_model_calls_are_counted(client: Client) -> None:
    script = Script(
        perform=after_goto(lambda asked, _: done(asked) if given(asked, "proposed") else missed("no_entry"))
    )
    script.propose = lambda _: Proposal(target=BUTTON if script.proposed[1:] else None, usage=Usage(calls=2))

    async with scripted(client, script) as queue:
        handle = await started(client, queue, run_of(GOTO, FILL, on_failure="ask", mode="learn"))
        question = await waiting(handle)
        waits = await found(client, Filter(status="waiting", site="shop.example", query=f'BrowserTenant = "{queue}"'))
        while_waiting = await told(handle)
        await handle.execute_update("resolve_step", PersonVerdict(sequence=question.sequence, verdict="retry"))
        await handle.result()

    assert waits == {handle.id}
    assert (while_waiting["Status"], while_waiting["Mode"], while_waiting["ModelCalls"]) == ("waiting", "learn", 2)
    after = await told(handle)
    assert (after["Status"], after["ModelCalls"]) == ("done", 4)
    assert await changes(handle) == 3


async def test_a_failed_and_a_cancelled_run_say_so(client: Client) -> None:
    script = Script(perform=after_goto(lambda _asked, _call: missed("not_found")))

    async with scripted(client, script) as failing, scripted(client, script) as cancelled:
        failed = await started(client, failing, run_of(GOTO, FILL, mode="replay"))
        ended = await started(client, cancelled, run_of(GOTO, FILL, on_failure="ask", mode="replay"))
        await waiting(ended)
        await ended.cancel()
        for handle in (failed, ended):
            with pytest.raises(WorkflowFailureError):
                await handle.result()

    assert (await told(failed))["Status"] == "failed"
    assert (await told(ended))["Status"] == "cancelled"


async def test_a_run_from_a_sentence_tells_of_the_skill_that_it_recalls(client: Client) -> None:
    recalled = Recalled(decision="accept", skill=skill(), pattern="a pattern", values={"to": "ada@example.com"})

    async with scripted(client, Script(recall=lambda _: recalled)) as queue:
        handle = await started(client, queue, run_from("Send a mail to ada@example.com", secrets=("PASSWORD",)))
        await handle.result()

    assert (await told(handle))["Skill"] == "send-mail"


async def test_a_run_that_was_started_without_them_changes_none(client: Client) -> None:
    async with scripted(client, Script(perform=healing)) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        result = await handle.result()

    assert result.healed
    assert await changes(handle) == 0


async def test_what_is_asked_for_stays_one_value_of_the_query(client: Client) -> None:
    async with scripted(client, Script()) as queue:
        await (await started(client, queue, run_of(GOTO))).result()
    own = f'BrowserTenant = "{queue}"'
    assert await found(client, Filter(query=own))

    for text in ('a"b', "a'b", "a\\", 'x" OR BrowserHeals >= 0 OR BrowserSite = "'):
        query = Filter(site=text, query=own).as_query(datetime.now(UTC))
        assert [run async for run in client.list_workflows(query)] == []
