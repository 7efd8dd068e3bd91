"""Schedules of one tenant in Temporal: ids, actions, lookup and description."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from temporalio.client import (
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleDescription,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.service import RPCError, RPCStatusCode

from replaywright.cli.runs.follow import WORKFLOW
from replaywright.cli.runs.searchable import schedule_id
from replaywright.cli.runs.starting import TASK_TIMEOUT, Prepared
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.servers.macs import start_memo
from replaywright.cli.skills.skill_store import near
from replaywright.domain.batch.timetable import SKILL, Timetable
from replaywright.domain.common.durations import written_duration
from replaywright.domain.run.runs import RunInput
from replaywright.domain.secrets.starts import FIRED
from replaywright.errors import InputInvalid

_AT_ONCE = 8
"""Schedules that are asked about at the same time."""


class Overlap(StrEnum):
    """Rules for a firing while the run of an earlier one is still going."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"
    ALLOW_ALL = "allow_all"

    @property
    def policy(self) -> ScheduleOverlapPolicy:
        """Temporal's own value."""
        return ScheduleOverlapPolicy[self.name]


@dataclass(frozen=True)
class KnownSchedule:
    """Schedule of this tenant."""

    name: str
    description: ScheduleDescription
    input: RunInput

    @property
    def task(self) -> str:
        """Task that it starts, as `schedule create` takes it."""
        return f"{SKILL}{self.input.named}" if self.input.named else self.input.task.task


@dataclass(frozen=True)
class Start:
    """Run that a schedule has started."""

    run_id: str
    execution: str
    """Its first."""
    due: datetime
    started: datetime


def id_of(here: Backend, name: str) -> str:
    """Return the id of this tenant's schedule in Temporal."""
    return schedule_id(here.settings.tenant, name)


def schedule_of(
    here: Backend, name: str, told: Prepared, times: Timetable, *, policy: SchedulePolicy, state: ScheduleState
) -> Schedule:
    """Build the schedule as Temporal takes it."""
    action = ScheduleActionStartWorkflow(
        WORKFLOW,
        told.input,
        id=id_of(here, name),
        task_queue=here.queue,
        task_timeout=TASK_TIMEOUT,
        memo=told.memo | start_memo(here, WORKFLOW, id_of(here, name) + FIRED, told.input),
        typed_search_attributes=told.attributes,
        static_summary=told.summary,
        static_details=told.details,
    )
    return Schedule(action=action, spec=_spec(times), policy=policy, state=state)


def _spec(times: Timetable) -> ScheduleSpec:
    every = [] if times.every is None else [ScheduleIntervalSpec(every=times.every, offset=times.offset or None)]
    return ScheduleSpec(
        # The server keeps what a cron expression means, not its words; these it keeps as the comment behind it.
        cron_expressions=[f"{cron} # {cron}" for cron in times.crons],
        intervals=every,
        start_at=times.begins,
        end_at=times.ends,
        jitter=times.jitter or None,
        time_zone_name=times.zone,
    )


def spec_text(spec: ScheduleSpec) -> tuple[str, ...]:
    """Describe the times of a schedule, in the terms of `schedule create` if they are known."""
    crons = [calendar.comment or "a calendar" for calendar in spec.calendars]
    intervals = []
    for interval in spec.intervals:
        offset = f", {written_duration(interval.offset)} later" if interval.offset else ""
        intervals.append(f"every {written_duration(interval.every)}{offset}")
    return (*crons, *intervals)


def started_by(known: KnownSchedule) -> list[Start]:
    """List the last runs that a schedule started, at most ten, the oldest first."""
    found = []
    for result in known.description.info.recent_actions:
        if isinstance(run := result.action, ScheduleActionExecutionStartWorkflow):
            start = Start(run.workflow_id, run.first_execution_run_id, result.scheduled_at, result.started_at)
            found.append(start)
    return sorted(found, key=lambda start: start.started)


async def create(here: Backend, name: str, schedule: Schedule, about: Mapping[str, str]) -> ScheduleDescription:
    """Create a schedule, with this memo beside tenant and name; delete one that would never fire.

    Raises:
        InputInvalid: there is one of this name, or it never fires.
    """
    schedule_id = id_of(here, name)
    try:
        with temporal_errors(here.settings):
            handle = await here.client.create_schedule(
                schedule_id, schedule, memo={**about, "tenant": here.settings.tenant, "name": name}
            )
            description = await handle.describe()
            if description.info.next_action_times:
                return description
            await handle.delete()
    except ScheduleAlreadyRunningError as exc:
        raise InputInvalid(
            f"there is a schedule {name!r} already: `replaywright schedule show {name}` shows it, "
            f"`replaywright schedule delete {name}` makes room for another"
        ) from exc
    times = " or ".join(spec_text(schedule.spec)) or " or ".join(schedule.spec.cron_expressions)
    raise InputInvalid(f"{times.partition(' # ')[0]!r} never comes: there is no such day, or none before --until")


async def found(here: Backend, name: str) -> tuple[ScheduleHandle, KnownSchedule]:
    """Find the schedule of this name.

    Raises:
        InputInvalid: this tenant has none; says which names are near.
    """
    handle = here.client.get_schedule_handle(id_of(here, name))
    known = await _described(here, handle)
    if known is not None:
        return handle, known
    names = [one async for one in _names(here)]
    raise InputInvalid(f"there is no schedule {name!r}; {near(name, names)} (`replaywright schedule list` lists them)")


async def all_of(here: Backend) -> list[KnownSchedule]:
    """List all schedules of this tenant by name."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str) -> KnownSchedule | None:
        async with slots:
            return await _described(here, here.client.get_schedule_handle(id_of(here, name)))

    names = sorted([name async for name in _names(here)])
    return [known for known in await asyncio.gather(*map(one, names)) if known is not None]


async def _names(here: Backend) -> AsyncIterator[str]:
    """Yield the names of this tenant's schedules; skip those of other tenants and programs."""
    begins = id_of(here, "")
    with temporal_errors(here.settings):
        async for listed in await here.client.list_schedules():
            memo = await listed.memo()
            if listed.id.startswith(begins) and memo.get("tenant") == here.settings.tenant:
                yield listed.id.removeprefix(begins)


async def _described(here: Backend, handle: ScheduleHandle) -> KnownSchedule | None:
    """Describe a schedule; None if there is none, or if it belongs to another tenant."""
    with temporal_errors(here.settings):
        try:
            description = await handle.describe()
        except RPCError as exc:
            if exc.status is RPCStatusCode.NOT_FOUND and "amespace" not in exc.message:
                return None
            raise
        memo = await description.memo()
        action = description.schedule.action
        if memo.get("tenant") != here.settings.tenant or not isinstance(action, ScheduleActionStartWorkflow):
            return None
        if action.workflow != WORKFLOW:
            return None
        [given] = await here.client.data_converter.decode(list(action.args), [RunInput])
    return KnownSchedule(handle.id.removeprefix(id_of(here, "")), description, given)
