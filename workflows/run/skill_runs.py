"""Telling the knowledge base how the run of a skill went."""

from dataclasses import dataclass

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput, RunResult
    from replaywright.domain.run.skill_runs import NoteSkillRun, skill_run
    from replaywright.domain.skill.skills import SkillRef
    from replaywright.domain.task.steps import Step


@dataclass(frozen=True)
class Passed:
    """Progress of a run through its plan."""

    steps: int
    """Steps of the plan that were done."""
    plan: tuple[Step, ...]
    """As it was when the run began."""
    revised_from: tuple[int, ...]
    """For each revision of the plan, the index of the step that it began at."""


async def note_run(run: RunInput, skill: SkillRef, result: RunResult, passed: Passed) -> None:
    """Count the run. A knowledge base that cannot be reached for long is no reason for the run to fail."""
    counted = skill_run(
        workflow.info().workflow_id,
        skill.version,
        result,
        passed=passed.steps,
        added=len(passed.plan) - len(run.task.steps),
        revised_from=passed.revised_from,
    )
    own_steps = result.succeeded and not passed.revised_from
    try:
        await workflow.execute_activity(
            "skill.note_run",
            NoteSkillRun(tenant=run.tenant, name=skill.name, run=counted, verified=own_steps and bool(run.task.verify)),
            activity_id="skill-note-run",
            summary=f"count this run of the skill {skill.name}",
            task_queue=policies.browser_queue(workflow.info().task_queue),
            schedule_to_close_timeout=policies.NOTING_TOTAL,
            start_to_close_timeout=policies.READ_LIMIT,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.OPENING,
        )
    except ActivityError as error:
        if isinstance(error.cause, CancelledError):
            raise
        workflow.logger.warning("run not counted for skill %s: %s", skill.name, error.cause)
