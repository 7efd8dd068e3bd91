"""What the end of a run tells the knowledge base."""

from temporalio import activity

from activities.heartbeats import heartbeats
from replaywright.domain.skill_runs import NoteSkillRun
from replaywright.domain.skills import SkillStatus
from replaywright.ports import Skills


class SkillRunActivities:
    """Activity `skill.note_run`."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    @activity.defn(name="skill.note_run")
    async def note_skill_run(self, request: NoteSkillRun) -> None:
        """Count a run of a skill; a candidate that it has verified becomes active.

        Promise on a retry: the same run counts once.
        """
        async with heartbeats("counting a run of a skill"):
            await self._noted(request)

    async def _noted(self, request: NoteSkillRun) -> None:
        run = request.run
        await self._skills.note_run(request.tenant, request.name, run)
        if not (run.succeeded and request.verified):
            return
        skill = await self._skills.get(request.tenant, request.name, run.version)
        if skill is not None and skill.status is SkillStatus.CANDIDATE:
            await self._skills.set_status(
                request.tenant,
                request.name,
                run.version,
                SkillStatus.ACTIVE,
                who=run.run_id,
                reason="a run has verified it",
            )
