"""The beginning of a run: the values of its parameters, the policy, and the skill that it is told the name of."""

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows import policies
from workflows.calls import ASKING, ask
from workflows.run.context import RunContext
from workflows.step.failures import TaskBlocked, TaskFailed, is_of, rule_behind

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.policy.policy_runs import CheckPolicy, Granted
    from replaywright.domain.run.lineages import lineage_of_firing
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.run.skill_runs import INPUT_INVALID, Newest, NewestRequest
    from replaywright.domain.secrets.starts import MARK, UNSIGNED
    from replaywright.domain.skill.skills import SkillRef, SkillStatus
    from replaywright.domain.task.tasks import bind_parameters
    from replaywright.domain.trace.details import event_summary
    from replaywright.errors import InputInvalid, SecretMissing


def begun_with(run: RunInput) -> RunInput:
    """Return the input with the values of all parameters: a caller in another language need not know of the defaults.

    Only a run that begins is held against its task; one that continues as new has been, and its task may be a skill's
    or a learned one since. Of a skill's name, the task is looked up first.

    Raises:
        InputInvalid: a value is missing, unknown or not of the declared type.
    """
    if run.named or workflow.info().continued_run_id is not None:
        return run
    return run.model_copy(update={"values": bind_parameters(run.task, run.values, place="values.")})


def lineage_of(run: RunInput) -> str:
    """Return the lineage of a run: the one it goes on with, or its own."""
    info = workflow.info()
    own = lineage_of_firing(info.workflow_id, info.first_execution_run_id) if run.schedule else info.workflow_id
    return run.lineage or own


async def check_policy(context: RunContext) -> str:
    """Have the policy of a worker decide before anything is done; return the proof that the start was signed.

    Raises:
        TaskBlocked: it forbids a step that is still to be done.
        TaskFailed: the worker has no value of a secret that the task names.
    """
    context.show("asking the policy")
    run, course = context.run, context.course
    begins = course.place_of(context.position) if context.position else 0
    try:
        answer = await ask(
            "policy.check",
            CheckPolicy(
                **context.scope, task=run.task, values=run.values, plan=course.rolled[begins:], used=context.used
            ),
            Granted,
            ASKING,
            activity_id="policy-check",
            summary="check the policy",
        )
    except ActivityError as error:
        if rule := rule_behind(error):
            raise TaskBlocked(rule, policies.said(error), at_step=False) from error
        if not is_of(error, SecretMissing.__name__):
            raise
        raise TaskFailed(SecretMissing.__name__, policies.said(error), at_step=False) from error
    context.budget.cap(answer.caps)
    if answer.start == UNSIGNED:
        workflow.upsert_memo({MARK: UNSIGNED})
        warning = f"unsigned start, so no secrets: {answer.fault}"
        if warning not in context.state.warnings:
            context.warn(warning)
    return answer.admitted


async def newest(run: RunInput, lineage: str) -> RunInput:
    """Return the run as one of the newest version of the skill that it names.

    Raises:
        TaskFailed: there is no such skill, or the values are not what it takes.
        ActivityError: the knowledge base cannot be read.
    """
    try:
        skill = await ask(
            "skill.newest",
            NewestRequest(tenant=run.tenant, name=run.named, is_canary=run.is_canary),
            Newest,
            ASKING,
            activity_id="skill-newest",
            summary=event_summary(f"look up the newest version of the skill {run.named}"),
        )
    except ActivityError as error:
        if not is_of(error, INPUT_INVALID):
            raise
        raise TaskFailed(INPUT_INVALID, policies.said(error), at_step=False) from error
    try:
        values = bind_parameters(skill.task, run.values)
    except InputInvalid as error:
        message = f"skill {skill.name!r}, version {skill.version}: {error}"
        raise TaskFailed(INPUT_INVALID, message, at_step=False) from error
    suspect = (f"version {skill.version} of {skill.name} is suspect: a run of it failed",)
    warnings = suspect if skill.status is SkillStatus.SUSPECT else ()
    return run.model_copy(
        update={
            "task": skill.task,
            "looks": skill.looks,
            "sends": skill.sends,
            "rehearses": run.rehearses and skill.may_rehearse,
            "values": values,
            "skill": SkillRef(name=skill.name, version=skill.version),
            "relearns": True,
            "named": "",
            "lineage": lineage,
            "state": run.state.model_copy(update={"warnings": warnings}),
        }
    )
