"""`replaywright schedule create | list | show | pause | unpause | trigger | delete`: runs that a clock starts."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from temporalio.client import ScheduleHandle, SchedulePolicy, ScheduleState

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.completion import tasks
from replaywright.cli.options import Json, ValueOptions, Why, Yes
from replaywright.cli.people.updates import user_name
from replaywright.cli.runs.options import RunOptions
from replaywright.cli.runs.run import mention_secrets
from replaywright.cli.runs.starting import Order, Prepared, order_of, prepared, refuse_what_is_blocked
from replaywright.cli.schedule.schedule_view import COLUMNS, as_json, fired_by, print_schedule, row_of
from replaywright.cli.schedule.scheduled import (
    Overlap,
    all_of,
    create,
    found,
    id_of,
    schedule_of,
    started_by,
)
from replaywright.cli.servers.connect import (
    Backend,
    open_backend,
    open_existing_backend,
    temporal_errors,
    why_unserved,
)
from replaywright.cli.skills.skill_run import runnable_at
from replaywright.cli.tasks import goal, taskfile
from replaywright.domain.batch.timetable import CANARY, SKILL, STARTS, Timetable, catch_up_of, timetable
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.skill.skills import SkillRef
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.errors import InputInvalid

"""Prefix of a skill's name where a task file may be named too."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_FIRED_S = 10.0
"""Time limit for a schedule to act on a trigger; after it, the outcome is reported as unknown."""
_POLL_S = 0.1
_APART = timedelta(seconds=1)
"""Least time between two triggers: Temporal names runs by the second, and one of two could be lost."""

schedule_app = app.group(
    "schedule",
    "Have runs started by a clock: every morning, every quarter of an hour.",
    "replaywright schedule list",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")]


@dataclass(frozen=True)
class TimeOptions:
    """Options for the times of a schedule."""

    cron: Annotated[
        list[str] | None,
        typer.Option(
            "--cron", metavar="EXPR", help="Minute, hour, day, month, day of the week: `0 9 * * MON-FRI`. Repeatable."
        ),
    ] = None
    every: Annotated[
        str | None, typer.Option("--every", metavar="TIME", help="Interval: `15min`, `6h`, `1d`; counted in UTC.")
    ] = None
    offset: Annotated[str | None, typer.Option("--offset", metavar="TIME", help="Offset of `--every`.")] = None
    time_zone: Annotated[
        str,
        typer.Option(
            "--time-zone", metavar="ZONE", help="Time zone of `--cron`, `--from`, `--until`: `Europe/Berlin`."
        ),
    ] = "UTC"
    jitter: Annotated[
        str | None, typer.Option("--jitter", metavar="TIME", help="Random delay of each firing, up to this.")
    ] = None
    begins: Annotated[str | None, typer.Option("--from", metavar="WHEN", help="Not before this date or time.")] = None
    ends: Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Not after this date or time.")] = None

    def as_timetable(self) -> Timetable:
        """Return the timetable."""
        return timetable(
            crons=self.cron or (),
            every=self.every,
            offset=self.offset,
            zone=self.time_zone,
            jitter=self.jitter,
            begins=self.begins,
            ends=self.ends,
            now=datetime.now(UTC),
        )


@dataclass(frozen=True)
class FiringOptions:
    """Options for the firings of a schedule."""

    overlap: Annotated[
        Overlap,
        typer.Option("--overlap", help="Policy when the previous run is still open; see docs/how-to/schedules.md."),
    ] = Overlap.SKIP
    catch_up: Annotated[
        str,
        typer.Option(
            "--catch-up",
            metavar="TIME",
            help="Make up for firings that Temporal missed while it was down, up to this late.",
        ),
    ] = "1h"
    pause_on_failure: Annotated[
        bool, typer.Option("--pause-on-failure", help="A run that fails pauses the schedule.")
    ] = False
    paused: Annotated[bool, typer.Option("--paused", help="Create it paused.")] = False
    canary: Annotated[
        bool,
        typer.Option(
            "--canary", help="See whether a skill still works: up to its first step with consequences, without a model."
        ),
    ] = False
    hold: Annotated[
        bool, typer.Option("--hold", help="With --canary: if it fails, pause the schedules that start the skill.")
    ] = False
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse",
            help="With --canary: press what has the first consequences, too, and let nothing leave that it would send.",
        ),
    ] = False
    why: Why = ""

    def policy(self) -> SchedulePolicy:
        """Return them as Temporal takes them."""
        return SchedulePolicy(
            overlap=self.overlap.policy,
            catchup_window=catch_up_of(self.catch_up),
            pause_on_failure=self.pause_on_failure,
        )


@schedule_app.command("create")
async def create_schedule(
    *,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Of the schedule: letters, digits, dot, hyphen, underscore.")
    ],
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task file, or `skill:NAME`.", autocompletion=tasks)],
    times: TimeOptions,
    firing: FiringOptions,
    given: ValueOptions,
    manner: RunOptions,
    json: Json = False,
) -> None:
    """Create a schedule that starts runs of a task file or a skill.

    The schedule keeps the task as its file is now, with the values given. A skill runs in the version that is current
    at each start. The workers need the task's secrets. `list` shows the reason (`--why`).

    Example: `replaywright schedule create minutes demo/send_mail.yaml --cron "0 9 * * MON-FRI" --time-zone
    Europe/Berlin -p base_url=http://127.0.0.1:8025 -p to=ada@example.com -p subject=Minutes -p body=Hello`

    Example: `replaywright schedule create orders skill:fetch-orders --every 15min --jitter 2min --overlap skip`
    """
    if not _NAME.fullmatch(name):
        raise InputInvalid(
            f"NAME {name!r}: expected 1 to 63 letters, digits, dots, hyphens and underscores, a letter or digit first"
        )
    for option, is_given in (("--hold", firing.hold), ("--rehearse", firing.rehearse)):
        if is_given and not firing.canary:
            raise InputInvalid(f"{option} belongs to --canary")
    if firing.canary and not task.startswith(SKILL):
        raise InputInvalid(f"--canary: TASK {task[:80]!r} is no skill: name one, as in {SKILL}NAME")
    if firing.canary and manner.mode not in (None, Mode.REPLAY):
        raise InputInvalid(f"--mode {manner.mode}: a canary asks no model; leave --mode out")
    when = times.as_timetable()
    state = ScheduleState(paused=firing.paused, note=firing.why)
    asked = taskfile.read_parameters(given.param or [], given.params)
    from_file = None if task.startswith(SKILL) else _task_of(task)

    async with open_existing_backend() as here:
        if firing.canary:
            manner = replace(manner, heal=manner.heal or Heal.PROPOSE)
        told, wanted, values = await _prepared(here, name, from_file or task, asked, manner)
        about = {STARTS: task if from_file is None else from_file.task}
        if firing.canary:
            about[CANARY] = task.removeprefix(SKILL)
            manners = {"is_canary": True, "holds": firing.hold, "rehearses": firing.rehearse}
            told = replace(told, input=told.input.model_copy(update=manners), memo=told.memo | {CANARY: about[CANARY]})
        schedule = schedule_of(here, name, told, when, policy=firing.policy(), state=state)
        await create(here, name, schedule, about)
        _, known = await found(here, name)
        mention_secrets(wanted, values, here, output.warn)
        if why := await why_unserved(here):
            output.warn(why)
    for doubt in when.doubtful:
        output.warn(doubt)
    if json:
        output.print_json(as_json(known, ()))
    else:
        print_schedule(known, ())


async def _prepared(
    here: Backend, name: str, what: Task | str, given: Mapping[str, str], manner: RunOptions
) -> tuple[Prepared, Task, dict[str, str]]:
    """Prepare the runs of a schedule, of a task or of `skill:NAME`; return also the task and its values."""
    task, used = what, None
    if isinstance(task, str):
        skill = await runnable_at(here, task.removeprefix(SKILL))
        task, used = skill.task, SkillRef(name=skill.name, version=skill.version)
    values = bind_parameters(task, given)
    refuse_what_is_blocked(here.settings, task, values)
    order = order_of(task, values, "", manner, used)
    return _by_clock(await prepared(here, order), order, given, id_of(here, name)), task, values


@schedule_app.command("pause")
async def pause_schedule(name: Name, why: Why = "", json: Json = False) -> None:
    """Pause a schedule. A run that is under way goes on.

    Example: `replaywright schedule pause minutes --why "the site is being moved"`
    """
    message = why or f"paused by {user_name()}"
    await _with(name, lambda handle: handle.pause(note=message))
    output.print_result(f"{name} paused", {"schedule": name, "paused": True, "note": message}, json=json)


@schedule_app.command("unpause")
async def unpause_schedule(name: Name, why: Why = "", json: Json = False) -> None:
    """Unpause a schedule. Firings during the pause are not made up for.

    Example: `replaywright schedule unpause minutes`
    """
    message = why or f"unpaused by {user_name()}"
    await _with(name, lambda handle: handle.unpause(note=message))
    output.print_result(f"{name} goes on", {"schedule": name, "paused": False, "note": message}, json=json)


@schedule_app.command("trigger")
async def trigger_schedule(
    name: Name,
    overlap: Annotated[
        Overlap | None,
        typer.Option("--overlap", help="Policy when a run is still open; default: that of the schedule."),
    ] = None,
    json: Json = False,
) -> None:
    """Start a run of a schedule now, also while it is paused, and print its id. Its other times stay.

    Example: `replaywright schedule trigger minutes`
    """
    run_id, what = await _triggered(name, overlap)
    message = {
        "started": f"run {run_id} started: `replaywright show {run_id}`",
        "skipped": f"nothing started: a run of {name} is still going, and its overlap policy is to skip",
        "waits": f"a run of {name} is still going: the new one waits for its end",
        "unknown": f"{name} was triggered, and has not acted on it yet: `replaywright schedule show {name}`",
    }[what]
    output.print_result(message, {"schedule": name, "outcome": what, "runId": run_id}, json=json)


@schedule_app.command("delete")
def delete_schedule(
    name: Name,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a schedule. Its runs stay, and one that is under way goes on.

    Example: `replaywright schedule delete minutes`
    """
    asyncio.run(_with(name, _left_alone))
    if not yes and not typer.confirm(f"Delete the schedule {name}?", err=True):
        output.print_result("nothing was changed", {"schedule": name, "deleted": False}, json=json)
        return
    asyncio.run(_with(name, lambda handle: handle.delete()))
    output.print_result(
        f"{name} deleted; its runs are kept: `replaywright runs`", {"schedule": name, "deleted": True}, json=json
    )


@schedule_app.command("list")
async def list_schedules(json: Json = False) -> None:
    """List the schedules: task, times, next firing, and status of the last run.

    Example: `replaywright schedule list`
    """
    async with open_backend() as here:
        shown = [(known, await fired_by(here, known, 1)) for known in await all_of(here)]
    output.print_list(
        {"schedules": [as_json(*each) for each in shown]},
        COLUMNS,
        [row_of(*each) for each in shown],
        json=json,
        nothing="no schedules yet: `replaywright schedule create` makes one",
    )


@schedule_app.command("show")
async def show_schedule(
    name: Name,
    json: Json = False,
) -> None:
    """Show a schedule: its task and options, its next firings in its time zone, its last ten runs.

    Example: `replaywright schedule show minutes`
    """
    async with open_backend() as here:
        _, known = await found(here, name)
        fired = await fired_by(here, known)
    if json:
        output.print_json(as_json(known, fired))
    else:
        print_schedule(known, fired)


# ------------------------------------------------------------------------------------------- what is started


def _task_of(path: str) -> Task:
    """Read the task of a file.

    Raises:
        InputInvalid: it cannot be read, or is no file.
    """
    if not goal.is_file(path):
        raise InputInvalid(
            f"there is no file {path[:80]!r}; a schedule starts a task file, or a skill by its name: {SKILL}NAME"
        )
    return taskfile.read_task(path)


def _by_clock(told: Prepared, order: Order, given: Mapping[str, str], schedule_id: str) -> Prepared:
    """Adapt a prepared run to a schedule; a run of a skill chooses its version when it starts."""
    if order.skill is None:
        return replace(told, input=told.input.model_copy(update={"schedule": schedule_id}))
    name, version = order.skill.name, order.skill.version
    changes = {
        "schedule": schedule_id,
        "named": name,
        "skill": None,
        "relearns": False,
        "values": {each: order.values[each] for each in given},
    }
    message = (
        f"It runs the version of `{name}` that is the newest then. When the schedule was made, that was {version}:"
    )
    details = taskfile.cut(f"{message}\n\n{told.details}", taskfile.DETAILS_BYTES)
    return replace(told, input=told.input.model_copy(update=changes), details=details)


# ---------------------------------------------------------------------------------------------- what is changed


async def _with(name: str, change: Callable[[ScheduleHandle], Awaitable[None]]) -> None:
    """Apply a change to a schedule of this tenant."""
    async with open_existing_backend() as here:
        handle, _ = await found(here, name)
        with temporal_errors(here.settings):
            await change(handle)


async def _left_alone(_handle: ScheduleHandle) -> None:
    """Change nothing: the lookup shows that the schedule exists."""


async def _triggered(name: str, overlap: Overlap | None) -> tuple[str, str]:
    """Trigger a schedule; return the id of the new run, or an empty id, and the outcome."""
    async with open_existing_backend() as here:
        handle, before = await found(here, name)
        info = before.description.info
        if any(datetime.now(UTC) - start.due < _APART for start in started_by(before)):
            await asyncio.sleep(_APART.total_seconds())
        old = {start.execution for start in started_by(before)}
        waiting = before.description.raw_description.info.buffer_size
        if why := await why_unserved(here):
            output.warn(why)
        with temporal_errors(here.settings):
            await handle.trigger(overlap=None if overlap is None else overlap.policy)
        deadline = time.monotonic() + _FIRED_S
        while time.monotonic() < deadline:
            _, now = await found(here, name)
            new = [start.run_id for start in started_by(now) if start.execution not in old]
            if new:
                return new[-1], "started"
            if now.description.info.num_actions_skipped_overlap > info.num_actions_skipped_overlap:
                return "", "skipped"
            if now.description.raw_description.info.buffer_size > waiting:
                return "", "waits"
            await asyncio.sleep(_POLL_S)
    return "", "unknown"
