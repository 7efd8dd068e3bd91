"""Telling the knowledge base how the run of a skill went."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.calls import Terms, ask
from workflows.run.context import RunContext, plan_of

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunResult
    from replaywright.domain.run.skill_runs import NoteSkillRun, skill_run
    from replaywright.domain.skill.skills import SkillRef


async def note_run(context: RunContext, skill: SkillRef, result: RunResult) -> None:
    """Count the run. A knowledge base that cannot be reached for long is no reason for the run to fail.

    Steps are counted by their places in the task as it is written, where each list is one step.
    """
    run, state, place_of = context.run, context.state, context.course.place_of
    at = None if result.failed_step is None else place_of(result.failed_step)
    revised_from = tuple(map(place_of, (*state.revised_from, *state.steering.edited)))
    counted = skill_run(
        context.run_id,
        skill.version,
        result.model_copy(update={"failed_step": at}),
        passed=place_of(context.position),
        added=len(plan_of(run)) - len(run.task.steps),
        revised_from=revised_from,
    )
    verified = result.succeeded and not revised_from and bool(run.task.verify)
    try:
        await ask(
            "skill.note_run",
            NoteSkillRun(tenant=run.tenant, name=skill.name, run=counted, verified=verified, holds=run.holds),
            type(None),
            Terms(policies.OPENING, total=policies.NOTING_TOTAL),
            activity_id="skill-note-run",
            summary=f"count this run of the skill {skill.name}",
        )
    except ActivityError as error:
        if isinstance(error.cause, CancelledError):
            raise
        workflow.logger.warning("run not counted for skill %s: %s", skill.name, error.cause)
