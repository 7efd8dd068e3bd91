"""What the dashboard reads of a real Temporal: its tenant's runs, a page at a time, and nobody else's."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from replaywright.cli.local import dashboard_source
from replaywright.cli.local.dashboard_source import RunningSource
from replaywright.cli.runs.follow import WORKFLOW
from replaywright.dashboard.views import RunFilter
from replaywright.errors import ArtifactMissing, InputInvalid, StackFailed, StoreUnavailable
from replaywright.settings import load_settings
from tests.e2e.lab import until

NOBODY = "a-queue-that-nobody-serves"


class Runs:
    """Runs of tenants that nobody else uses."""

    def __init__(self, environment: WorkflowEnvironment, source: RunningSource, tenant: str) -> None:
        self.client = environment.client
        self.source = source
        self.tenant = tenant

    async def begun(self, *, tenant: str = "", kind: str = WORKFLOW) -> WorkflowHandle[Any, Any]:
        memo = {"tenant": tenant or self.tenant, "task": "send-mail"}
        name = f"send-mail/{secrets.token_hex(4)}"
        return await self.client.start_workflow(kind, id=name, task_queue=NOBODY, memo=memo)

    async def ended(self, **fields: str) -> str:
        handle = await self.begun(**fields)
        await handle.terminate()
        return handle.id


@pytest.fixture
async def runs(temporal_env: WorkflowEnvironment, redis_url: str, tmp_path: Path) -> AsyncIterator[Runs]:
    tenant = f"tenant-{secrets.token_hex(4)}"
    address = temporal_env.client.service_client.config.target_host
    source = RunningSource(
        load_settings(temporal_address=address, redis_url=redis_url, tenant=tenant, home=tmp_path, unsigned=True)
    )
    yield Runs(temporal_env, source, tenant)
    await source.close()


async def test_runs_are_listed_a_page_at_a_time_and_only_the_tenants(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard_source, "PAGE", 2)
    own = {await runs.ended() for _ in range(5)}
    others = {await runs.ended(tenant="another"), await runs.ended(kind="SomethingElse")}

    async def listed() -> list[set[str]]:
        pages, token = [], ""
        while True:
            page = await runs.source.runs(RunFilter(page=token))
            pages.append({row.run_id for row in page.rows})
            token = page.next
            if not token:
                return pages

    async def all_are_known() -> bool:
        return len(set().union(*await listed())) == len(own)

    await until("Temporal lists them", all_are_known)
    pages = await listed()

    assert set().union(*pages) == own
    assert sum(map(len, pages)) == len(own)
    assert len(pages) > 1
    assert all(len(page) < 4 for page in pages)
    assert not set().union(*pages) & others


async def test_runs_are_filtered_by_how_they_stand(runs: Runs) -> None:
    over, begun = await runs.ended(), await runs.begun()

    async def found(status: Any) -> list[tuple[str, str]]:
        return [(row.run_id, row.status) for row in (await runs.source.runs(RunFilter(status=status))).rows]

    async def is_listed() -> bool:
        return await found("terminated") == [(over, "terminated")]

    await until("Temporal lists it", is_listed)

    assert await found("running") == [(begun.id, "silent")]
    assert await found("done") == []
    await begun.terminate()


async def test_a_run_of_another_tenant_or_of_another_kind_is_not_there(runs: Runs) -> None:
    strangers = [await runs.ended(tenant="another"), await runs.ended(kind="SomethingElse"), "no-such-run"]

    for name in strangers:
        for look in (runs.source.run, runs.source.report, runs.source.picture):
            with pytest.raises(InputInvalid, match="there is no run"):
                await look(name)


async def test_a_run_that_ended_without_a_word_is_shown_all_the_same(runs: Runs) -> None:
    name = await runs.ended()

    view = await runs.source.run(name)

    assert (view.row.run_id, view.row.status, view.steps) == (name, "terminated", ())
    assert view.failure[0].startswith("the run was terminated")
    with pytest.raises(ArtifactMissing):
        await runs.source.picture(name)


async def test_an_address_of_a_page_that_is_none_is_refused(runs: Runs) -> None:
    with pytest.raises(InputInvalid, match="begin with the first one"):
        await runs.source.runs(RunFilter(page="*"))


async def test_nothing_of_another_tenant_is_counted(runs: Runs) -> None:
    view = await runs.source.cache()

    assert view.statistics.total.entries == 0
    assert await runs.source.skills() == []


async def test_a_stack_that_is_not_there_yet_is_said_and_looked_for_again(tmp_path: Path) -> None:
    source = RunningSource(load_settings(home=tmp_path))

    for look in (source.inbox(), source.runs(RunFilter())):
        with pytest.raises(StackFailed, match="start `replaywright up`"):
            await look
    with pytest.raises(StoreUnavailable, match="no stack is running"):
        await source.skills()
    await source.close()
