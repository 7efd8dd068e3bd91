"""Data of the dashboard: runs from Temporal; steps, skills and cache from Redis."""

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from cache.alerts import counted
from replaywright.cli.admin.cache import held_among
from replaywright.cli.evidence.run_facts import view_of
from replaywright.cli.local.dashboard_acts import (
    batch_retried,
    batch_rows,
    entry_changed,
    lasting_steps,
    picture_of_heal,
    schedule_changed,
    schedule_rows,
    session_changed,
    session_rows,
    started,
)
from replaywright.cli.people.answer import checked_value, chosen
from replaywright.cli.people.inbox import question_of, waiting_in
from replaywright.cli.people.takeover import address_of, lent_browser
from replaywright.cli.people.updates import decide, require_going, said_by, updated, verdict_on
from replaywright.cli.people.updates import question_of as question_now
from replaywright.cli.runs.finding import QUICK, ending_of_run, exact_run, is_ours, is_wanted, standing_of, trace_or_why
from replaywright.cli.runs.follow import Ending, handle_of, progress_of, session_of
from replaywright.cli.runs.listing import row_at, row_of
from replaywright.cli.runs.searchable import Filter, refuse_unknown
from replaywright.cli.runs.watching import failure_lines
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.servers.keeping import kept_rows
from replaywright.cli.servers.noticing import standing_of_notices
from replaywright.cli.servers.running import RunningBackend
from replaywright.cli.servers.store import open_store
from replaywright.cli.skills.skills import differences
from replaywright.dashboard.live import Shared
from replaywright.dashboard.views import (
    AskedRun,
    BatchRow,
    CacheView,
    KeptRow,
    LivePicture,
    PersonAnswer,
    ReportPage,
    RetriedRows,
    RunDetail,
    RunFilter,
    RunPage,
    RunRow,
    ScheduleRow,
    SessionRow,
    WaitingRun,
)
from replaywright.domain.notice.commands import Lost
from replaywright.domain.run.remedies import remedy_of, shows_steps
from replaywright.domain.run.runs import Progress, Totals
from replaywright.domain.run.standing import RunStatus
from replaywright.domain.run.steering import TakeOverRequest
from replaywright.domain.session.sessions import SessionRef
from replaywright.domain.skill.cache_statistics import cache_statistics, is_held
from replaywright.domain.skill.skills import Skill, SkillRecord, SkillStatistics
from replaywright.domain.task.questions import WAITS, Question
from replaywright.domain.trace.run_reading import run_view
from replaywright.domain.trace.run_view import RunFacts, StepView
from replaywright.errors import ArtifactMissing, InputInvalid, KeeperRefused, KeeperUnavailable, StackFailed
from replaywright.keeper.host.client import KeeperClient
from replaywright.keeper.host.identity import boot_id, host_name
from replaywright.keeper.protocol import SOCKET_NAME
from replaywright.reports import load, policy, rendered
from replaywright.settings import Settings

PAGE: Final = 25
"""Runs of one page of the list; where many are not the tenant's, a page may have up to twice as many."""
_SCANNED: Final = 1000
"""Runs that are scanned for one page; the next page continues after them."""
_ASKED_AT_ONCE: Final = 10
_REPORT_MB: Final = 25.0
"""Room for the pictures of a report."""
_LIVE_MS: Final = 5000
"""Wait for a page to change before it is said that it has not."""
_SESSION_HOLDS_S: Final = 3.0
"""A run is asked where its browser is so seldom, however many pictures are asked for."""
_COSTLY_HOLDS_S: Final = 5.0
"""What takes a request for each of its rows, or reads the whole cache, is read so seldom."""
_KEPT_HOLDS_S: Final = 60.0
"""What looks through all keys of Redis and all artifacts is read once a minute."""
_TAKING_OVER_S: Final = 150.0
"""Limit for a step under way to end, and for a browser that was given back to be opened again."""
_BY: Final = "on the dashboard"
"""Reason of what is asked of a run here, in its history."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8\xff"


class RunningSource:
    """Reader of the servers that run when a page is asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._running = RunningBackend(settings, owner="the dashboard")
        self._sessions: Shared[SessionRef] = Shared(_SESSION_HOLDS_S)
        self._lasting: Shared[Sequence[str]] = Shared(_COSTLY_HOLDS_S)
        self._schedules: Shared[Sequence[ScheduleRow]] = Shared(_COSTLY_HOLDS_S)
        self._signed_in: Shared[Sequence[SessionRow]] = Shared(_COSTLY_HOLDS_S)
        self._batches: Shared[Sequence[BatchRow]] = Shared(_COSTLY_HOLDS_S)
        self._kept: Shared[Sequence[KeptRow]] = Shared(_KEPT_HOLDS_S)
        self._lost: Shared[Sequence[Lost]] = Shared(_COSTLY_HOLDS_S)

    async def close(self) -> None:
        """Close the connections."""
        await self._running.close()

    # --- runs -----------------------------------------------------------------------------------------------------

    async def runs(self, wanted: RunFilter) -> RunPage:
        """Return a page of the runs that match the filter."""
        here = await self._running.here()
        condition, token = _condition(wanted), _token_of(wanted.page)
        found: list[WorkflowExecution] = []
        scanned = 0
        with temporal_errors(here.settings):
            await refuse_unknown(here, condition)
            while True:
                query = condition.as_query(datetime.now(UTC))
                listed = here.client.list_workflows(query, page_size=PAGE, next_page_token=token)
                await listed.fetch_next_page(page_size=PAGE)
                page = listed.current_page or ()
                found += [one for one in page if await is_ours(here, one) and await is_wanted(one, condition)]
                scanned, token = scanned + len(page), listed.next_page_token
                if not token or len(found) >= PAGE or scanned >= _SCANNED:
                    break
        limit = asyncio.Semaphore(_ASKED_AT_ONCE)
        rows = await asyncio.gather(*(_row(here, execution, limit) for execution in found))
        return RunPage(rows, base64.urlsafe_b64encode(token).decode() if token else "")

    async def run(self, run_id: str) -> RunDetail:
        """Build the page of a run."""
        here = await self._running.here()
        execution = await exact_run(here, run_id)
        (status, progress), (lines, missing) = await asyncio.gather(
            standing_of(here, execution), trace_or_why(here, execution)
        )
        ending = None if execution.status is WorkflowExecutionStatus.RUNNING else await ending_of_run(here, execution)
        if ending is not None and (ending.result.totals == Totals() or missing):
            progress = await progress_of(handle_of(here.client, run_id), QUICK)
        totals = _totals(ending, progress)
        row = await row_at(here, execution, status, progress, totals)
        question = await _question(execution) if progress is None else progress.question
        result = None if ending is None or ending.result.succeeded else ending.result
        steps = _recorded(execution, status, lines)
        return RunDetail(
            row=row,
            steps=steps,
            lines=() if steps or progress is None else progress.lines,
            totals=totals,
            question=question if ending is None else None,
            is_lent=ending is None and progress is not None and progress.is_lent,
            waiting_for="" if progress is None or ending is not None else progress.waiting_for,
            failure=() if result is None else tuple(failure_lines(result)),
            remedy="" if result is None else remedy_of(result.reason, result.message, shows_steps(run_id)),
            missing=missing,
        )

    async def report(self, run_id: str) -> ReportPage:
        """Return the report of a run."""
        here = await self._running.here()
        view = await view_of(here, await exact_run(here, run_id))
        store = artifact_store_of(here.settings)
        loaded = await load(view, store, budget_mb=_REPORT_MB)
        return ReportPage(await asyncio.to_thread(rendered, view, loaded), policy())

    async def live_picture(self, run_id: str, seen: int) -> LivePicture | None:
        """Ask the keeper of the run's browser for a picture; see the port."""
        session = await self._sessions.get(run_id, lambda: self._session(run_id))
        if (session.host, session.boot_id) != (host_name(), boot_id()):
            raise ArtifactMissing(f"the browser lives on {session.host}: watch it with a dashboard on that host")
        try:
            async with await KeeperClient.connect(Path(session.directory) / SOCKET_NAME) as keeper:
                seen_now = await keeper.view(seen, _LIVE_MS)
        except (KeeperUnavailable, KeeperRefused) as exc:
            raise ArtifactMissing(f"the browser cannot be watched: {exc}") from exc
        if not seen_now.number:
            return None
        return LivePicture(seen_now.number, base64.b64decode(seen_now.jpeg), seen_now.element)

    async def _session(self, run_id: str) -> SessionRef:
        here = await self._running.here()
        await exact_run(here, run_id)
        session = await session_of(handle_of(here.client, run_id), QUICK)
        if session is None:
            raise ArtifactMissing("the run has no browser at the moment")
        return session

    async def picture(self, run_id: str) -> bytes:
        """Return the screenshot of the moment when the run began to wait."""
        here = await self._running.here()
        execution = await exact_run(here, run_id)
        question = await _question(execution)
        if question is None and execution.status is WorkflowExecutionStatus.RUNNING:
            progress = await progress_of(handle_of(here.client, run_id), QUICK)
            question = None if progress is None else progress.question
        if question is None or not question.picture:
            raise ArtifactMissing(f"run {run_id!r} waits with no picture")
        data = await artifact_store_of(here.settings).get(question.picture)
        if not data.startswith(_PNG):
            raise ArtifactMissing(f"what is kept for run {run_id!r} is no picture")
        return data

    async def take_over(self, run_id: str, who: str) -> str:
        """Take over the browser; see the port."""
        here = await self._running.here()
        await exact_run(here, run_id)
        await require_going(here, run_id, "take over")
        try:
            async with asyncio.timeout(_TAKING_OVER_S):
                lent = await lent_browser(here, run_id, TakeOverRequest(who=who, why=_BY))
        except TimeoutError as exc:
            raise StackFailed(
                f"{run_id} is still at its step: it pauses before the next one; take it over then"
            ) from exc
        return address_of(lent)

    async def answer(self, run_id: str, question: str, given: PersonAnswer, who: str) -> None:
        """Answer the run's question, or end its pause; see the port."""
        here = await self._running.here()
        await exact_run(here, run_id)
        said = said_by(who, given.why or _BY)
        if given.answer == "continue" and not question:
            await require_going(here, run_id, "continue")
            await updated(here, run_id, "go_on", said, type(None))
            return
        asked = await question_now(here, run_id)
        if asked.id != question:
            raise InputInvalid(f"question={question[:40]!r}: {run_id} asks another one by now")
        verdict = chosen(asked, given.answer)
        text = checked_value(verdict, given.value if verdict == "answer" else "")
        await decide(here, run_id, verdict_on(run_id, asked, verdict, text, who=who, why=said.why))

    async def inbox(self) -> Sequence[WaitingRun]:
        """List the runs that wait for a person."""
        waiting = await waiting_in(await self._running.here())
        return [WaitingRun(one.run_id, one.task, one.question) for one in waiting]

    async def lost_notices(self) -> Sequence[Lost]:
        """List the deliveries of notices that were given up."""

        async def read() -> Sequence[Lost]:
            standing = await standing_of_notices(await self._running.here())
            return () if standing is None else standing.lost

        return await self._lost.get("", read)

    # --- starting ------------------------------------------------------------------------------------------------

    async def start(self, asked: AskedRun, who: str) -> str:
        """Start a run of a skill; see the port."""
        return await started(await self._running.here(), asked, who)

    async def lasting_steps(self, skill: Skill) -> Sequence[str]:
        """Return the titles of the steps with consequences; see the port."""

        async def read() -> Sequence[str]:
            async with open_store(self._settings) as store:
                return await lasting_steps(store, skill)

        return await self._lasting.get((skill.name, skill.version), read)

    async def sessions(self) -> Sequence[SessionRow]:
        """List the signed-in sessions by name."""

        async def read() -> Sequence[SessionRow]:
            return await session_rows(await self._running.here())

        return await self._signed_in.get("", read)

    async def kept(self) -> Sequence[KeptRow]:
        """List what is kept; see the port."""

        async def read() -> Sequence[KeptRow]:
            async with open_store(self._settings) as store:
                return await kept_rows(await self._running.here(), store)

        return await self._kept.get("", read)

    async def change_session(self, name: str, change: str, who: str) -> None:
        """Change a session; see the port."""
        await session_changed(await self._running.here(), name, change, who)
        self._signed_in.forget()

    async def schedules(self) -> Sequence[ScheduleRow]:
        """List the schedules by name."""

        async def read() -> Sequence[ScheduleRow]:
            return await schedule_rows(await self._running.here())

        return await self._schedules.get("", read)

    async def change_schedule(self, name: str, change: str, why: str, who: str) -> None:
        """Change a schedule; see the port."""
        await schedule_changed(await self._running.here(), name, change, why, who)
        self._schedules.forget()

    async def change_entry(self, key: str, change: str, why: str, who: str) -> None:
        """Promote or forget a recording; see the port."""
        async with open_store(self._settings) as store:
            await entry_changed(store, key, change, why, who)

    async def heal_picture(self, key: str, of: str) -> bytes:
        """Return a picture of a heal; see the port."""
        async with open_store(self._settings) as store:
            digest = await picture_of_heal(store.steps, store.tenant, key, of)
        data = await artifact_store_of(self._settings).get(digest)
        if not data.startswith(_JPEG):
            raise ArtifactMissing(f"what is kept for {key[:12]!r} is no picture")
        return data

    async def retry_batch(self, batch: str, who: str) -> RetriedRows:
        """Try failed rows again; see the port."""
        retried = await batch_retried(await self._running.here(), batch, who)
        self._batches.forget()
        return retried

    async def batches(self) -> Sequence[BatchRow]:
        """List the last batches."""

        async def read() -> Sequence[BatchRow]:
            return await batch_rows(await self._running.here())

        return await self._batches.get("", read)

    # --- skills and cache -----------------------------------------------------------------------------------------

    async def skills(self) -> Sequence[tuple[Skill, SkillStatistics]]:
        """List all skills in their current versions, with statistics."""
        async with open_store(self._settings) as store:
            base = store.knowledge
            skills = await base.skills.all(base.tenant)
            statistics = await base.skills.statistics(base.tenant, skills)
        return [(skill, statistics[skill.name]) for skill in skills]

    async def skill(self, name: str, version: int | None = None) -> SkillRecord:
        """Return the record of a skill."""
        async with open_store(self._settings) as store:
            return await store.knowledge.shown(name, version)

    async def changes(self, name: str, old: int, new: int) -> Sequence[str]:
        """Compare two versions of a skill."""
        async with open_store(self._settings) as store:
            base = store.knowledge
            return list(differences(await base.skill(name, old), await base.skill(name, new)))

    async def cache(self) -> CacheView:
        """Return the statistics of the action cache."""
        async with open_store(self._settings) as store:
            entries = await store.steps.entries(tenant=store.tenant)
            # One that has a single version shows it already.
            held = await held_among(store, [info for info in entries if info.versions > 1])
            refused = await counted(store.client, store.tenant)
        held += [info for info in entries if info.versions == 1 and is_held(info.entry)]
        last = refused.pop("last", "")
        keys = store.signer.key_ids
        numbers = {kind: int(number) for kind, number in refused.items() if number.isdecimal()}
        return CacheView(cache_statistics(entries, held), keys[0] if keys else "", numbers, last)


def _condition(wanted: RunFilter) -> Filter:
    """Convert the filter to that of the commands."""
    host = urlsplit(wanted.site).netloc if "://" in wanted.site else wanted.site
    return Filter(status=wanted.status, site=host.lower(), skill=wanted.skill, healed=wanted.healed)


def _token_of(page: str) -> bytes | None:
    try:
        return base64.b64decode(page, b"-_", validate=True) if page else None
    except (ValueError, binascii.Error) as exc:
        raise InputInvalid("page: that is no page of the list; begin with the first one") from exc


async def _row(here: Backend, execution: WorkflowExecution, limit: asyncio.Semaphore) -> RunRow:
    async with limit:
        return await row_of(here, execution)


def _totals(ending: Ending | None, progress: Progress | None) -> Totals | None:
    if ending is not None and ending.result.totals != Totals():
        return ending.result.totals
    return None if progress is None else progress.totals


async def _question(execution: WorkflowExecution) -> Question | None:
    """Read the run's question from its memo."""
    return question_of((await execution.memo()).get(WAITS))


def _recorded(
    execution: WorkflowExecution, status: RunStatus, lines: Sequence[Mapping[str, Any]]
) -> tuple[StepView, ...]:
    """Return the steps of the run by its trace."""
    facts = RunFacts(
        run_id=execution.id,
        task="",
        status="running" if status == "silent" else status,
        started=execution.start_time.timestamp(),
    )
    return run_view(facts, lines).steps
