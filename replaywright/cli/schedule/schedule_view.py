"""Output of schedules: their task, their times, and the status of their last runs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from rich.text import Text
from temporalio.client import ScheduleOverlapPolicy
from temporalio.service import RPCError, RPCStatusCode

from replaywright.cli import output
from replaywright.cli.runs.finding import standing_of
from replaywright.cli.schedule.scheduled import KnownSchedule, Start, spec_text, started_by
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.domain.common.durations import written_duration
from replaywright.domain.common.zones import zone_of
from replaywright.domain.run.standing import STATUSES
from replaywright.errors import InputInvalid

_NEXT = 5
"""Times to come that are shown of a schedule."""
_FORGOTTEN = "not kept any more"


@dataclass(frozen=True)
class Fired:
    """Run that a schedule has started, with its status."""

    start: Start
    status: str
    style: str


async def fired_by(here: Backend, known: KnownSchedule, limit: int = 10) -> tuple[Fired, ...]:
    """Return the last runs of a schedule with their status, the newest first."""
    newest = started_by(known)[::-1][:limit]
    return tuple(await asyncio.gather(*(_fired(here, start) for start in newest)))


async def _fired(here: Backend, start: Start) -> Fired:
    with temporal_errors(here.settings):
        try:
            standing, _ = await standing_of(here, await here.client.get_workflow_handle(start.run_id).describe())
        except RPCError as exc:
            if exc.status is not RPCStatusCode.NOT_FOUND:
                raise
            return Fired(start, _FORGOTTEN, "dim")
    return Fired(start, STATUSES[standing].words, STATUSES[standing].style)


COLUMNS = ("schedule", "starts", "when", "next", "last run", "ended", "state")


def row_of(known: KnownSchedule, fired: tuple[Fired, ...]) -> tuple[object, ...]:
    """Return the cells of a schedule in the list."""
    soon = "" if is_paused(known) else next(iter(_next(known)), "never again")
    last = (fired[0].start.run_id, Text(fired[0].status, style=fired[0].style)) if fired else ("", "")
    return (known.name, known.task, when_text(known), soon, *last, _state(known))


def print_schedule(known: KnownSchedule, fired: Sequence[Fired]) -> None:
    """Print all details of a schedule."""
    schedule, info = known.description.schedule, known.description.info
    output.print_line(f"schedule {known.name}", style="bold")
    values = ", ".join(f"{name}={value}" for name, value in known.input.values.items())
    jitter, spec = schedule.spec.jitter, schedule.spec
    payload = {
        "starts": f"{known.task}, mode {known.input.mode.value}{', as a canary' if known.input.is_canary else ''}",
        "with": values,
        "when": when_text(known),
        "jitter": "" if not jitter else f"up to {written_duration(jitter)} later",
        "from": "" if spec.start_at is None else _local(spec.start_at, _zone(known)),
        "until": "" if spec.end_at is None else _local(spec.end_at, _zone(known)),
        "overlap": _overlap(known) + ("; a run that fails pauses it" if schedule.policy.pause_on_failure else ""),
        "catch-up": _catch_up(schedule.policy.catchup_window),
        "state": _state(known).plain,
        "next": "" if is_paused(known) else ", ".join(_next(known)[:_NEXT]) or "never again",
        "so far": _counted(info.num_actions, info.num_actions_skipped_overlap, info.num_actions_missed_catchup_window),
    }
    for name, text in payload.items():
        if text:
            output.print_line_as_is(f"  {name:<9} {output.plain(text)}")
    if fired:
        rows = [
            (
                *(one.start.run_id, _local(one.start.due, _zone(known)), _local(one.start.started, _zone(known))),
                Text(one.status, style=one.style),
            )
            for one in fired
        ]
        output.print_table(("run", "due", "started", "ended"), rows)


def _catch_up(window: timedelta | None) -> str:
    """Describe the catch-up window; schedules of other programs may have none."""
    return "as the server has it" if window is None else f"firings missed by no more than {written_duration(window)}"


def as_json(known: KnownSchedule, fired: Sequence[Fired]) -> dict[str, Any]:
    """Return all details of a schedule for JSON output."""
    schedule, info = known.description.schedule, known.description.info
    spec, policy, zone = schedule.spec, schedule.policy, _zone(known)
    return {
        "schedule": known.name,
        "id": known.description.id,
        "starts": known.task,
        "values": known.input.values,
        "mode": known.input.mode.value,
        "heal": known.input.heal.value,
        "canary": known.input.is_canary,
        "when": list(spec_text(spec)),
        "timeZone": spec.time_zone_name or "UTC",
        "jitterSeconds": 0.0 if spec.jitter is None else spec.jitter.total_seconds(),
        "from": None if spec.start_at is None else spec.start_at.astimezone(zone).isoformat(),
        "until": None if spec.end_at is None else spec.end_at.astimezone(zone).isoformat(),
        "overlap": _overlap(known),
        "catchUpSeconds": None if policy.catchup_window is None else policy.catchup_window.total_seconds(),
        "pauseOnFailure": policy.pause_on_failure,
        "paused": is_paused(known),
        "note": schedule.state.note or "",
        "next": [at.astimezone(zone).isoformat() for at in info.next_action_times],
        "fired": info.num_actions,
        "skipped": info.num_actions_skipped_overlap,
        "missed": info.num_actions_missed_catchup_window,
        "runs": [
            {
                "runId": one.start.run_id,
                "due": one.start.due.astimezone(zone).isoformat(),
                "started": one.start.started.astimezone(zone).isoformat(),
                "status": one.status,
            }
            for one in fired
        ],
    }


def is_paused(known: KnownSchedule) -> bool:
    """Tell whether the schedule is paused."""
    return known.description.schedule.state.paused


def _state(known: KnownSchedule) -> Text:
    note = known.description.schedule.state.note or ""
    message = "paused" if is_paused(known) else "active"
    return Text(f"{message}: {note}" if note else message, style="yellow" if is_paused(known) else "green")


def when_text(known: KnownSchedule) -> str:
    """Describe the times of a schedule."""
    spec = known.description.schedule.spec
    zone = f" ({spec.time_zone_name or 'UTC'})" if spec.calendars else ""
    return " and ".join(spec_text(spec)) + zone


def _overlap(known: KnownSchedule) -> str:
    return ScheduleOverlapPolicy(known.description.schedule.policy.overlap).name.lower()


def _counted(fired: int, skipped: int, missed: int) -> str:
    beside = [f"{skipped} skipped"] * bool(skipped) + [f"{missed} missed"] * bool(missed)
    return ", ".join([output.count(fired, "run"), *beside])


def coming(known: KnownSchedule) -> list[datetime]:
    """Return the next times of a schedule, in its own time zone."""
    return [at.astimezone(_zone(known)) for at in known.description.info.next_action_times]


def _next(known: KnownSchedule) -> list[str]:
    return [_local(at, _zone(known)) for at in coming(known)]


def _zone(known: KnownSchedule) -> tzinfo:
    """Return the schedule's time zone; UTC if this machine does not know it."""
    try:
        return zone_of(known.description.schedule.spec.time_zone_name or "UTC")
    except InputInvalid:
        return UTC


def _local(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).strftime("%a %Y-%m-%d %H:%M:%S %Z")
