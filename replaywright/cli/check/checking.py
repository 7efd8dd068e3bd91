"""Replays of skills in parallel, without a model and without healing."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.service import RPCError

from cache.steps import RedisStepStore
from replaywright.cli.check.check_input import CheckedSkill
from replaywright.cli.evidence.run_facts import view_of
from replaywright.cli.files import write_whole
from replaywright.cli.interrupts import unless_left
from replaywright.cli.runs.finding import find_run
from replaywright.cli.runs.follow import Ending, follow
from replaywright.cli.runs.options import OnFailure
from replaywright.cli.runs.starting import Order, refuse_what_is_blocked, start
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.connect import Backend
from replaywright.cli.tasks import taskfile
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.step.outcomes import BLOCKED
from replaywright.domain.trace.checks import (
    BEGINNING,
    INTERRUPTED,
    WAITS_FOR_PERSON,
    Case,
    SkillCheck,
    cases_of,
    to_do_of,
    verdict_of,
)
from replaywright.domain.trace.run_reading import expectations, run_view
from replaywright.domain.trace.run_view import RunFacts
from replaywright.domain.trace.trace import flat
from replaywright.errors import PolicyBlocked, ReplaywrightError, StoreUnavailable
from replaywright.reports import load, rendered

_END_S = 20.0
"""Time limit for a cancelled run to close its browser."""
_CANCEL_LIMIT = timedelta(seconds=5)

_REPORT_MB = 25.0
"""Room for the pictures of a report."""


@dataclass
class Checking:
    """Checker of skills on one set of servers; Ctrl-C sets `stopping`."""

    here: Backend
    store: RedisStepStore
    parallel: int
    told: Callable[[SkillCheck], None]
    """Callback for each finished check."""
    reports: Path | None = None
    """The folder that each run's report is written to; None for no reports."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def perform(self, wanted: Sequence[CheckedSkill]) -> list[SkillCheck]:
        """Check the skills, and return the results in their order."""
        slots = asyncio.Semaphore(self.parallel)

        async def one(each: CheckedSkill) -> SkillCheck:
            async with slots:
                check = _not_begun(each) if self.stopping.is_set() else await self._check(each)
            self.told(check)
            return check

        return list(await asyncio.gather(*(one(each) for each in wanted)))

    async def _check(self, wanted: CheckedSkill) -> SkillCheck:
        begun = time.time()
        run_id = taskfile.new_run_id(wanted.task, wanted.values)
        try:
            refuse_what_is_blocked(self.here.settings, wanted.task, wanted.values)
            order = Order(wanted.task, wanted.values, run_id, Mode.REPLAY, Heal.OFF, on_failure=OnFailure.FAIL)
            handle = await start(self.here, order)
            ending = await self._ended(handle)
            check = await self._check_of(wanted, run_id, ending, begun)
            if ending.status == "waiting":
                await self._cancel(handle, "nobody answers in a check")
        except PolicyBlocked as error:
            return _refused(wanted, "", begun, BLOCKED, str(error)).model_copy(update={"rule": error.rule})
        except ReplaywrightError as error:
            return _refused(wanted, run_id, begun, type(error).__name__, str(error))
        return check

    async def _ended(self, handle: WorkflowHandle[Any, RunResult]) -> Ending:
        """Wait until the run ends or waits for a person; cancel it if the check is interrupted."""
        last: list[Progress] = []

        def seen(progress: Progress | None, _note: str) -> None:
            last[:] = [] if progress is None else [progress]

        patient = self.here.how == "configured"
        following = follow(handle, show=seen, until_waiting=True, patient=patient)
        if (ending := await unless_left(following, self.stopping)) is not None:
            return ending
        message = "the check was interrupted"
        await self._cancel(handle, message)
        result = RunResult(succeeded=False, reason=INTERRUPTED, message=message)
        return Ending("cancelled", result, last[0] if last else None)

    async def _cancel(self, handle: WorkflowHandle[Any, RunResult], reason: str) -> None:
        """Cancel the run, and wait until its browser is closed."""
        with contextlib.suppress(RPCError, TimeoutError, WorkflowFailureError):
            await handle.cancel(reason=reason, rpc_timeout=_CANCEL_LIMIT)
            async with asyncio.timeout(_END_S):
                await handle.result()

    async def _check_of(self, wanted: CheckedSkill, run_id: str, ending: Ending, begun: float) -> SkillCheck:
        ended = time.time()
        facts = _facts(wanted, run_id, ending, (begun, ended), self.here)
        view = run_view(facts, await self._trace(run_id))
        verdict = verdict_of(facts.status, facts.reason)
        failure = view.failure
        reason = "" if verdict == "passed" else facts.reason
        return SkillCheck(
            skill=wanted.task.task,
            verdict=verdict,
            file=wanted.file,
            run_id=run_id,
            reason=reason,
            message="" if verdict == "passed" else facts.message,
            rule=facts.rule,
            to_do=to_do_of(reason, "" if failure is None else failure.to_do),
            note=wanted.note,
            started=begun,
            seconds=ended - begun,
            cases=cases_of(view, wanted.task),
            report=await self._report(run_id, wanted.task.task),
        )

    async def _report(self, run_id: str, skill: str) -> str:
        """Write the report of the run, and return its path; empty if no reports are requested."""
        if self.reports is None:
            return ""
        view = await view_of(self.here, await find_run(self.here, run_id))
        store = artifact_store_of(self.here.settings)
        page = await asyncio.to_thread(rendered, view, await load(view, store, budget_mb=_REPORT_MB))
        path = self.reports / f"{skill}.html"
        write_whole(path, page)
        return str(path)

    async def _trace(self, run_id: str) -> list[Mapping[str, Any]]:
        """Return the trace of the run; empty if the workers' Redis cannot be read from here."""
        try:
            return [flat(line) for line in await self.store.trace(tenant=self.here.settings.tenant, lineage=run_id)]
        except StoreUnavailable:
            return []


def _facts(wanted: CheckedSkill, run_id: str, ending: Ending, times: tuple[float, float], here: Backend) -> RunFacts:
    result, waits = ending.result, ending.status == "waiting"
    failed_step = result.failed_step
    if failed_step is None and waits and ending.progress is not None:
        failed_step = ending.progress.step
    return RunFacts(
        run_id=run_id,
        task=wanted.task.task,
        status=ending.status,
        started=times[0],
        ended=times[1],
        now=times[1],
        goal=wanted.task.goal,
        site=taskfile.site_of(wanted.task, wanted.values),
        tenant=here.settings.tenant,
        mode=Mode.REPLAY.value,
        heal=Heal.OFF.value,
        totals=result.totals,
        reason=WAITS_FOR_PERSON if waits else result.reason,
        message=result.message,
        rule=result.rule,
        failed_step=failed_step,
        verification=expectations(result.verification, [_written(each) for each in wanted.task.verify]),
        warnings=result.warnings,
        refused_hosts=result.refused_hosts,
        url=here.run_url(run_id),
    )


def _written(predicate: Predicate) -> dict[str, Any]:
    return predicate.model_dump(mode="json", exclude_defaults=True)


def _refused(wanted: CheckedSkill, run_id: str, begun: float, reason: str, message: str) -> SkillCheck:
    """Make the check of a run that was not started or could not be followed to its end."""
    return SkillCheck(
        skill=wanted.task.task,
        verdict="error",
        file=wanted.file,
        run_id=run_id,
        reason=reason,
        message=message,
        started=begun,
        seconds=time.time() - begun,
        cases=(Case(name=BEGINNING, verdict="error", reason=reason, message=message),),
    )


def _not_begun(wanted: CheckedSkill) -> SkillCheck:
    return SkillCheck(
        skill=wanted.task.task,
        verdict="skipped",
        file=wanted.file,
        reason=INTERRUPTED,
        message="the check was interrupted before this skill",
        started=time.time(),
        cases=(Case(name=BEGINNING, verdict="skipped", reason="interrupted before this skill"),),
    )
