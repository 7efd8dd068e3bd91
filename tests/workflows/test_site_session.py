"""The workflow `SiteSession`: one sign-in for all who wait, leases that come back, a state that outlives a history."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Replayer, Worker

from replaywright.domain.site_session.commands import (
    Asked,
    BeginRun,
    Begun,
    EndedRuns,
    LookForRuns,
    Returned,
    SignInFailed,
    SiteSessionState,
)
from replaywright.domain.site_session.leases import Kept, Lease, Leases, LeaseTerms
from tests.e2e.lab import until
from workflows.plugin import WorkflowPlugin
from workflows.policies import batch_queue

ANSWERED = "site_session_answered"


@dataclass
class Desk:
    """A session, and the activities that its workflow asks for."""

    client: Client
    queue: str
    begun: list[BeginRun] = field(default_factory=list)
    failed: list[SignInFailed] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    why: str = ""

    @property
    def handle(self) -> Any:
        return self.client.get_workflow_handle(f"session-{self.queue}")

    async def run(self) -> str:
        """Start what stands for a run: it takes every signal."""
        run_id = f"run-{uuid.uuid4().hex[:8]}"
        stands_for = SiteSessionState(tenant="t", name="nobody")
        await self.client.start_workflow("SiteSession", stands_for, id=run_id, task_queue=self.queue)
        return run_id

    async def ask(self, run_id: str, **more: Any) -> None:
        await self.handle.signal("ask", Asked(run_id=run_id, **more))

    async def told(self, run_id: str) -> int:
        """How often the run was told that there is an answer."""
        history = await self.client.get_workflow_handle(run_id).fetch_history()
        signals = [event.workflow_execution_signaled_event_attributes.signal_name for event in history.events]
        return signals.count(ANSWERED)

    async def hears(self, run_id: str, times: int = 1) -> Lease:
        async def heard() -> bool:
            return await self.told(run_id) >= times

        await until(f"{run_id} hears of an answer", heard, 20)
        grant: Lease = await self.handle.query("grant", run_id, result_type=Lease)
        return grant

    async def signs_in(self, digest: str, number: int) -> None:
        """The sign-in that was begun last ends well."""
        await until("a sign-in begins", lambda: len(self.begun) >= number, 20)
        last = self.begun[number - 1]
        kept = Kept(number=last.number, digest=digest)
        await self.handle.signal("give_back", Returned(run_id=last.run_id, kept=kept, signs_in=True))

    async def standing(self) -> Leases:
        standing: Leases = await self.handle.query("standing", result_type=Leases)
        return standing


@asynccontextmanager
async def desk(client: Client, **state: Any) -> AsyncIterator[Desk]:
    made = Desk(client, queue=f"test-{uuid.uuid4().hex[:8]}")

    @activity.defn(name="site_session.begin")
    async def begin(request: BeginRun) -> Begun:
        made.begun.append(request)
        return Begun(why=made.why)

    @activity.defn(name="site_session.ended")
    async def look(request: LookForRuns) -> EndedRuns:
        return EndedRuns(run_ids=tuple(run_id for run_id in request.run_ids if run_id in made.ended))

    @activity.defn(name="site_session.failed")
    async def tell(request: SignInFailed) -> None:
        made.failed.append(request)

    bare = Client(**client.config(active_config=True) | {"plugins": []})
    doing: list[Callable[..., Any]] = [begin, look, tell]
    async with (
        Worker(client, task_queue=made.queue),
        Worker(bare, task_queue=batch_queue(made.queue), activities=doing),
    ):
        await client.start_workflow(
            "SiteSession",
            SiteSessionState(tenant="t", name="crm", **state),
            id=made.handle.id,
            task_queue=made.queue,
        )
        try:
            yield made
        finally:
            history = await made.handle.fetch_history()
            await made.handle.terminate()
            await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


async def test_one_sign_in_serves_all_who_wait_in_turn(client: Client) -> None:
    async with desk(client) as here:
        first, second = await here.run(), await here.run()
        await asyncio.gather(here.ask(first), here.ask(second))
        await here.signs_in("d1", 1)

        await until("somebody has it", lambda: _has_holder(here), 20)
        holder = (await here.standing()).holders[0].run_id
        other = second if holder == first else first
        assert (await here.hears(holder)).kept == Kept(number=1, digest="d1")
        assert await here.told(other) == 0
        await here.handle.signal("give_back", Returned(run_id=holder, kept=Kept(number=1, digest="d2")))
        assert (await here.hears(other)).kept == Kept(number=1, digest="d2")

    assert [request.kind for request in here.begun] == ["sign-in"]


async def _has_holder(here: Desk) -> bool:
    return bool((await here.standing()).holders)


async def test_a_run_that_ended_unheard_loses_its_lease_when_somebody_waits(client: Client) -> None:
    async with desk(client, look_every_s=0.1) as here:
        first, second = await here.run(), await here.run()
        await here.ask(first)
        await here.signs_in("d1", 1)
        await here.hears(first)
        await here.ask(second)
        here.ended.add(first)
        assert (await here.hears(second)).kept is not None
        assert [user.run_id for user in (await here.standing()).holders] == [second]


async def test_a_sign_in_that_cannot_be_begun_is_told_with_its_reason(client: Client) -> None:
    async with desk(client) as here:
        here.why = "there is no such skill"
        run = await here.run()
        await here.ask(run)
        assert (await here.hears(run)).why == "there is no such skill"


async def test_people_are_told_once_of_a_sign_in_that_failed_and_not_of_runs_that_it_leaves_without(
    client: Client,
) -> None:
    async with desk(client) as here:
        first, second, late = await here.run(), await here.run(), await here.run()
        await asyncio.gather(here.ask(first), here.ask(second))
        await until("a sign-in begins", lambda: len(here.begun) == 1, 20)
        failed = Returned(run_id=here.begun[0].run_id, signs_in=True, why="the site asks for a code", may_pass=False)
        await here.handle.signal("give_back", failed)
        await asyncio.gather(here.hears(first), here.hears(second))
        await here.ask(late)
        await here.hears(late)
        until_then = (await here.standing()).paused_until

    [told] = here.failed
    assert (told.name, told.run_id, told.why) == ("crm", here.begun[0].run_id, "the site asks for a code")
    assert told.paused_until == until_then
    assert until_then is not None


async def test_what_is_kept_outlives_the_history(client: Client) -> None:
    async with desk(client, per_history=3) as here:
        execution = (await here.handle.describe()).run_id
        run = await here.run()
        await here.ask(run, terms=LeaseTerms(shared=2))
        await here.signs_in("d1", 1)
        await here.hears(run)
        for times, digest in enumerate(("d2", "d3", "d4"), 2):
            await here.handle.signal("give_back", Returned(run_id=run, kept=Kept(number=1, digest=digest)))
            await here.ask(run, terms=LeaseTerms(shared=2))
            await here.hears(run, times)

        assert (await here.handle.describe()).run_id != execution, "it has continued as new"
        assert (await here.standing()).kept == Kept(number=1, digest="d4")
        assert [request.kind for request in here.begun] == ["sign-in"]


async def test_a_session_nobody_uses_is_kept_alive_by_a_run(client: Client) -> None:
    async with desk(client) as here:
        run = await here.run()
        await here.ask(run, terms=LeaseTerms(keep_alive_s=0.2))
        await here.signs_in("d1", 1)
        await here.hears(run)
        await here.handle.signal("give_back", Returned(run_id=run, kept=Kept(number=1, digest="d2")))
        await until("it is kept alive", lambda: len(here.begun) >= 2, 20)
        assert here.begun[1].kind == "keep-alive"
