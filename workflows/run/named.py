"""Runs that are told the name of a skill, and find out themselves which version of it they are a run of."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows import policies
from workflows.step.failures import TaskFailed

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.run.skill_runs import INPUT_INVALID, NewestRequest
    from replaywright.domain.skill.skills import Skill, SkillRef, SkillStatus
    from replaywright.domain.task.tasks import bind_parameters
    from replaywright.domain.trace.details import event_summary
    from replaywright.errors import InputInvalid


async def newest(run: RunInput, lineage: str) -> RunInput:
    """The same run, as one of the version that is run by that name now.

    Raises:
        TaskFailed: there is no such skill, or the values are not what it takes.
        ActivityError: the knowledge base cannot be read.
    """
    try:
        skill: Skill = await workflow.execute_activity(
            "skill.newest",
            NewestRequest(tenant=run.tenant, name=run.named),
            result_type=Skill,
            activity_id="skill-newest",
            summary=event_summary(f"which version of the skill {run.named}?"),
            task_queue=policies.browser_queue(workflow.info().task_queue),
            start_to_close_timeout=policies.READ_LIMIT,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.ASKING,
        )
    except ActivityError as error:
        if not (isinstance(error.cause, ApplicationError) and error.cause.type == INPUT_INVALID):
            raise
        raise TaskFailed(INPUT_INVALID, policies.said(error), at_step=False) from error
    try:
        values = bind_parameters(skill.task, run.values)
    except InputInvalid as error:
        said = f"skill {skill.name!r}, version {skill.version}: {error}"
        raise TaskFailed(INPUT_INVALID, said, at_step=False) from error
    suspect = (f"version {skill.version} of {skill.name} is suspect: a run of it failed",)
    warnings = suspect if skill.status is SkillStatus.SUSPECT else ()
    return run.model_copy(
        update={
            "task": skill.task,
            "values": values,
            "skill": SkillRef(name=skill.name, version=skill.version),
            "relearns": True,
            "named": "",
            "lineage": lineage,
            "state": run.state.model_copy(update={"warnings": warnings}),
        }
    )
