"""Access of a run to its skill: the version at its beginning, the count at its end."""

import logging

from temporalio import activity
from temporalio.client import Client

from activities.heartbeats import heartbeats
from replaywright.domain.batch.timetable import CANARY, SKILL, STARTS
from replaywright.domain.run.skill_runs import Newest, NewestRequest, NoteSkillRun
from replaywright.domain.skill.check_tasks import first_that_stores, looked_for, observed_effects, sends_of, shortened
from replaywright.domain.skill.recorded import recordings_of, written
from replaywright.domain.skill.skills import SkillStatus, why_retired
from replaywright.errors import InputInvalid
from replaywright.ports.ledger import StepStore
from replaywright.ports.stores import Skills

_log = logging.getLogger("replaywright.skills")


class SkillRunActivities:
    """Activities `skill.newest` and `skill.note_run`."""

    def __init__(self, skills: Skills, steps: StepStore) -> None:
        self._skills = skills
        self._steps = steps

    @activity.defn(name="skill.newest")
    async def newest_version(self, request: NewestRequest) -> Newest:
        """The version that is run by this name now; for a canary, up to its first step with consequences.

        Raises:
            InputInvalid: there is none, or a person has retired it.
        """
        async with heartbeats("looking up a skill"):
            record = await self._skills.record(request.tenant, request.name)
            if record is None:
                raise InputInvalid(
                    f"there is no skill {request.name!r} any more; `replaywright skills list` lists them"
                )
            if why := why_retired(record):
                raise InputInvalid(why)
            newest = Newest(**record.skill.model_dump())
            return await self._harmless(request.tenant, newest) if request.is_canary else newest

    async def _harmless(self, tenant: str, skill: Newest) -> Newest:
        entries = [info.entry for info in await self._steps.entries(tenant=tenant)]
        recordings = recordings_of(skill.task, entries, tenant, skill.name)
        end = first_that_stores(skill.task, observed_effects(written(recordings)))
        task = shortened(skill.task, len(skill.task.steps) if end is None else end)
        looks = () if end is None else looked_for(skill.task, end)
        is_next = bool(looks) and looks[0].number - 1 == end
        changes = {"task": task, "looks": looks, "may_rehearse": is_next, "sends": sends_of(task, recordings)}
        return skill.model_copy(update=changes)

    @activity.defn(name="skill.note_run")
    async def note_skill_run(self, request: NoteSkillRun) -> None:
        """Count a run of a skill; a candidate that it has verified becomes active, a failed canary holds schedules.

        Promise on a retry: the same run counts once.
        """
        async with heartbeats("counting a run of a skill"):
            tenant, name, run = request.tenant, request.name, request.run
            await self._skills.note_run(tenant, name, run)
            if request.holds and not run.succeeded and not run.outside:
                why = f"held: the canary {run.run_id} failed: {run.why}"
                await hold_schedules(activity.client(), tenant, name, why)
            if not (run.succeeded and request.verified):
                return
            skill = await self._skills.get(tenant, name, run.version)
            if skill is not None and skill.status is SkillStatus.CANDIDATE:
                changed = {"who": run.run_id, "reason": "a run has verified it"}
                await self._skills.set_status(tenant, name, run.version, SkillStatus.ACTIVE, **changed)


async def schedules_of(client: Client, tenant: str, skill: str) -> list[str]:
    """Return the ids of the tenant's schedules that start a skill, without its canaries.

    Raises:
        RPCError: Temporal does not list them.
    """
    found = []
    async for listed in await client.list_schedules():
        memo = await listed.memo()
        if memo.get("tenant") == tenant and memo.get(STARTS) == SKILL + skill and not memo.get(CANARY):
            found.append(listed.id)
    return found


async def hold_schedules(client: Client, tenant: str, skill: str, why: str) -> None:
    """Pause the schedules that start a skill.

    Raises:
        RPCError: Temporal does not.
    """
    for schedule in await schedules_of(client, tenant, skill):
        _log.warning("schedule %s is paused: %s", schedule, why)
        await client.get_schedule_handle(schedule).pause(note=why)
