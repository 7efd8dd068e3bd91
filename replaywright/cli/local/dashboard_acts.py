"""What people have done on the dashboard beside answering, and look at for it: runs of skills, schedules, batches."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from temporalio.client import ScheduleHandle, WorkflowExecution

from cache.steps import RedisStepStore
from replaywright.cli.admin.cache import promoted, with_elements
from replaywright.cli.batch.batch_follow import progress_of
from replaywright.cli.batch.batch_place import batch_handle, batch_store, batches, is_under_way, rows_digest
from replaywright.cli.batch.batch_retry import Chosen, begin_again, planned_again
from replaywright.cli.runs.finding import memo_of
from replaywright.cli.runs.options import RunOptions
from replaywright.cli.runs.starting import order_of, refuse_what_is_blocked, start
from replaywright.cli.schedule.schedule_view import coming, fired_by, is_paused, when_text
from replaywright.cli.schedule.scheduled import KnownSchedule, all_of, found
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.servers.site_sessions import declared, signalled, standing_of_site_session, state_of
from replaywright.cli.servers.store import OpenStore
from replaywright.cli.skills.elements import elements_of
from replaywright.cli.skills.skill_run import runnable_at
from replaywright.dashboard.views import AskedRun, BatchRow, RetriedRows, ScheduleRow, SessionRow
from replaywright.domain.batch.batches import ROWS_AGAIN, BatchProgress
from replaywright.domain.common.canonical import canonical
from replaywright.domain.run.lineages import beginning_of
from replaywright.domain.run.scope import Heal
from replaywright.domain.site_session.definitions import Definition
from replaywright.domain.skill.check_tasks import effects_of, observed_effects
from replaywright.domain.skill.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.skill.skills import Skill, SkillRef
from replaywright.domain.task.tasks import GivenTexts, Task, bind_parameters
from replaywright.domain.trace.run_reading import run_view
from replaywright.domain.trace.run_view import RunFacts
from replaywright.errors import ArtifactMissing, InputInvalid, RunExists
from replaywright.site_sessions.file import definition_of

_DIGITS: Final = 32
_BATCHES: Final = 20
_ON_DASHBOARD: Final = "on the dashboard"


async def started(here: Backend, asked: AskedRun, who: str) -> str:
    """Start a run of a skill for `who`, and return its id. A form that is sent twice with the same values starts one.

    Raises:
        InputInvalid: there is no such skill, or a value is wrong; nothing was started.
        PolicyBlocked: a rule of the policy forbids it; nothing was started.
        StackFailed: Temporal refuses it or cannot be reached.
    """
    if not asked.request:
        raise InputInvalid("request: missing from the form: load the skill's page again")
    skill = await runnable_at(here, asked.skill, asked.version or None)
    values = bind_parameters(skill.task, _given(skill.task, asked.values), place="")
    digest = hashlib.sha256(canonical([here.settings.tenant, asked.skill, asked.request, values])).hexdigest()
    run_id = f"{skill.name}/dashboard/{digest[:_DIGITS]}"
    manner = RunOptions(heal=Heal.AUTO if asked.heals else Heal.OFF)
    order = order_of(skill.task, values, run_id, manner, SkillRef(name=skill.name, version=skill.version))
    order = replace(order, who=f"{who} {_ON_DASHBOARD}")
    refuse_what_is_blocked(here.settings, order.task, order.values)
    try:
        await start(here, order)
    except RunExists:  # the same form
        return run_id
    return run_id


def _given(task: Task, texts: Mapping[str, str]) -> dict[str, str]:
    """Read the fields of a form: an empty one stands for the parameter's default, a list has one item a line."""
    given: dict[str, str] = {}
    for name, text in texts.items():
        parameter = task.parameters.get(name)
        if parameter is None:
            raise InputInvalid(f"{name}: the skill has no such parameter; load its page again")
        if not text.strip() and parameter.default is not None:
            continue
        lines = tuple(line.strip() for line in text.splitlines() if line.strip())
        given[name] = GivenTexts(lines) if parameter.type == "list" else text.replace("\r\n", "\n")
    return given


async def lasting_steps(store: OpenStore, skill: Skill) -> Sequence[str]:
    """Return the titles of the steps with consequences, as they are declared or were observed."""
    elements = await elements_of(store.steps, store.tenant, [skill])
    effects = effects_of(skill.task, observed_effects(elements[skill.name]))
    return [step.title for _, step, effect in effects if not effect.repeatable]


async def entry_changed(store: OpenStore, key: str, change: str, why: str, who: str) -> None:
    """`promote` what was found in place of a recording, or `forget` the recording.

    Raises:
        InputInvalid: there is no such entry, nothing of it is to be promoted, or it is another change.
    """
    match change:
        case "promote":
            await promoted(store, key, who)
        case "forget":
            reason = f"{why or 'forgotten'} by {who} {_ON_DASHBOARD}"
            entries = await store.steps.entries(tenant=store.tenant)
            found = with_elements([info for info in entries if info.content_key == key], entries)
            if not found:
                raise InputInvalid(f"there is no entry {key[:12]!r}")
            for info in found:
                await store.steps.invalidate(tenant=store.tenant, content_key=info.content_key, reason=reason)
        case _:
            raise InputInvalid(f"change={change[:40]!r}: expected promote, forget")


async def picture_of_heal(steps: RedisStepStore, tenant: str, key: str, of: str) -> str:
    """Return the digest of the picture of a heal's page: as `recorded` before, or as `found` when it healed.

    Both are of the moment before the step if both runs kept one of it, else of the moment after.

    Raises:
        ArtifactMissing: there is none.
    """
    versions = await steps.versions(tenant=tenant, content_key=key) if key else []
    recorded = [one for one in versions if one.status is not EntryStatus.CANDIDATE]
    healed = [one for one in versions if one.status is EntryStatus.CANDIDATE]
    if not (recorded and healed) or of not in ("recorded", "found"):
        raise ArtifactMissing(f"of={of[:20]!r}: {key[:12]!r} is no heal that waits for a person")
    pairs = [await _kept_around(steps, tenant, one[-1]) for one in (recorded, healed)]
    moment = 0 if all(before for before, _ in pairs) else 1
    digest = pairs[0 if of == "recorded" else 1][moment]
    if not digest:
        raise ArtifactMissing(f"no picture was kept of {key[:12]!r} as {of}")
    return digest


async def _kept_around(steps: RedisStepStore, tenant: str, entry: ActionCacheEntry) -> tuple[str, str]:
    """Return the digests of the pictures before and after the step that an entry is of; empty for none."""
    lines = await steps.trace(tenant=tenant, lineage=beginning_of(entry.run_id))
    view = run_view(RunFacts(run_id=entry.run_id, task="", status="done", started=0.0), lines)
    step = next((step for step in view.steps if step.sequence == entry.step_index and not step.override), None)
    if step is None:
        return "", ""
    return (step.before.digest if step.before else "", step.after.digest if step.after else "")


async def session_rows(here: Backend) -> Sequence[SessionRow]:
    """List the signed-in sessions by name."""
    return await asyncio.gather(*(_session_row(here, *each) for each in declared(here.settings)))


async def _session_row(here: Backend, name: str, definition: Definition) -> SessionRow:
    leases = await standing_of_site_session(here, name)
    signing = leases.signing_in
    return SessionRow(
        name,
        definition.sign_in,
        state_of(leases),
        since=None if leases.is_expired else leases.signed_in_at,
        users=tuple(user.run_id for user in leases.holders),
        waiting=len(leases.waiting),
        signing_in="" if signing is None else signing.run_id,
        sign_ins=leases.sign_ins,
        expiries=leases.expiries,
        why=leases.why,
    )


async def session_changed(here: Backend, name: str, change: str, who: str) -> None:
    """Have a session signed in anew (`renew`), or `forget` what is kept of it.

    Raises:
        InputInvalid: there is no such session, or it is another change.
    """
    if change not in ("renew", "forget"):
        raise InputInvalid(f"change={change[:40]!r}: expected renew or forget")
    definition_of(here.settings.sessions, name)
    await signalled(here, name, change, [f"{who} {_ON_DASHBOARD}"])


async def schedule_rows(here: Backend) -> Sequence[ScheduleRow]:
    """List the schedules by name."""
    return await asyncio.gather(*(_schedule_row(here, known) for known in await all_of(here)))


async def _schedule_row(here: Backend, known: KnownSchedule) -> ScheduleRow:
    fired = await fired_by(here, known, 1)
    return ScheduleRow(
        name=known.name,
        starts=known.task + (", as a canary" if known.input.is_canary else ""),
        when=when_text(known),
        coming=next(iter(coming(known)), None),
        is_paused=is_paused(known),
        note=known.description.schedule.state.note or "",
        last_run=fired[0].start.run_id if fired else "",
        last_status=fired[0].status if fired else "",
    )


async def schedule_changed(here: Backend, name: str, change: str, why: str, who: str) -> None:
    """`pause` or `unpause` a schedule, or `trigger` a run of it.

    Raises:
        InputInvalid: there is none, or it is another change.
        StackFailed: Temporal refuses it.
    """
    handle, _ = await found(here, name)
    by = f"{why or change} by {who} {_ON_DASHBOARD}"
    changes: Mapping[str, Callable[[ScheduleHandle], Awaitable[None]]] = {
        "pause": lambda schedule: schedule.pause(note=by),
        "unpause": lambda schedule: schedule.unpause(note=by),
        "trigger": lambda schedule: schedule.trigger(),
    }
    if change not in changes:
        raise InputInvalid(f"change={change[:40]!r}: expected {', '.join(changes)}")
    with temporal_errors(here.settings):
        await changes[change](handle)


async def batch_retried(here: Backend, batch: str, who: str) -> RetriedRows:
    """Try the rows of a batch again that failed; those in doubt are left to whoever has looked at the site.

    Raises:
        InputInvalid: there is no such batch, it is under way, or none of its rows is to be tried again.
        StackFailed: Temporal refuses it.
        StoreUnavailable: the ledger cannot be read.
    """
    async with batch_store(here) as store:
        wish = Chosen(who=f"{who} {_ON_DASHBOARD}")
        again = await planned_again(here, store, batch, wish, tell=lambda _: None)
        await begin_again(here, again)
    return RetriedRows(len(again.picked.rows), again.picked.left_out)


async def batch_rows(here: Backend) -> Sequence[BatchRow]:
    """List the last batches, the newest first."""
    return await asyncio.gather(*(_batch_row(here, each) for each in await batches(here, _BATCHES)))


async def _batch_row(here: Backend, execution: WorkflowExecution) -> BatchRow:
    return BatchRow(
        batch=execution.id,
        task=await memo_of(execution, "task") or execution.id,
        started=execution.start_time.astimezone(),
        is_over=not is_under_way(execution),
        temporal_url=here.run_url(execution.id),
        progress=await _progress(here, execution),
    )


async def _progress(here: Backend, execution: WorkflowExecution) -> BatchProgress | None:
    """Return the progress of a batch; over all its rows, also where only some were tried again."""
    if is_under_way(execution) or not await memo_of(execution, ROWS_AGAIN):
        return await progress_of(batch_handle(here, execution.id))
    async with batch_store(here) as store:
        try:
            return await store.standing(execution.id, await rows_digest(execution), ended=True)
        except InputInvalid:  # the rows are not kept any more, or are in another store
            return None
