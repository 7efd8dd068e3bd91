"""Access of a run to its skill: the version at its beginning, the count at its end."""

from temporalio import activity

from activities.heartbeats import heartbeats
from replaywright.domain.run.skill_runs import NewestRequest, NoteSkillRun
from replaywright.domain.skill.skills import Skill, SkillStatus, why_retired
from replaywright.errors import InputInvalid
from replaywright.ports.stores import Skills


class SkillRunActivities:
    """Activities `skill.newest` and `skill.note_run`."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    @activity.defn(name="skill.newest")
    async def newest_version(self, request: NewestRequest) -> Skill:
        """The version that is run by this name now.

        Raises:
            InputInvalid: there is none, or a person has retired it.
        """
        async with heartbeats("looking up a skill"):
            record = await self._skills.record(request.tenant, request.name)
        if record is None:
            raise InputInvalid(f"there is no skill {request.name!r} any more; `replaywright skills list` lists them")
        if why := why_retired(record):
            raise InputInvalid(why)
        return record.skill

    @activity.defn(name="skill.note_run")
    async def note_skill_run(self, request: NoteSkillRun) -> None:
        """Count a run of a skill; a candidate that it has verified becomes active.

        Promise on a retry: the same run counts once.
        """
        async with heartbeats("counting a run of a skill"):
            tenant, name, run = request.tenant, request.name, request.run
            await self._skills.note_run(tenant, name, run)
            if not (run.succeeded and request.verified):
                return
            skill = await self._skills.get(tenant, name, run.version)
            if skill is not None and skill.status is SkillStatus.CANDIDATE:
                changed = {"who": run.run_id, "reason": "a run has verified it"}
                await self._skills.set_status(tenant, name, run.version, SkillStatus.ACTIVE, **changed)
