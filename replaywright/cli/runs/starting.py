"""Start of a run: the caller's order, and the workflow's input."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from temporalio.client import WorkflowHandle
from temporalio.common import TypedSearchAttributes, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from replaywright.cli.runs.follow import WORKFLOW
from replaywright.cli.runs.options import OnFailure, RunOptions
from replaywright.cli.runs.searchable import start_attributes
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.cli.servers.macs import start_memo
from replaywright.cli.tasks import taskfile
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.policy.effective import Effective, before_start
from replaywright.domain.policy.policy_hosts import named
from replaywright.domain.run.resuming import Resume
from replaywright.domain.run.runs import Asking, RunInput, RunResult, RunState
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.skill.skills import SkillRef
from replaywright.domain.task.budgets import Budget, RunLimits
from replaywright.domain.task.questions import REMIND_EVERY_S, WAITS
from replaywright.domain.task.tasks import Task
from replaywright.errors import PolicyBlocked, RunExists
from replaywright.grants import granted_hosts
from replaywright.policy_files import operators_policy
from replaywright.settings import Settings

TASK_TIMEOUT = timedelta(seconds=5)
"""A workflow task that was lost with its worker is given out again after this; Temporal's default is 10 s. Replaying
the hundred steps that a history holds at most takes 0.3 s of it."""

_Started = TypeVar("_Started")

REQUEST = "request"
"""Name of `Order.request` in the memo."""


@dataclass(frozen=True)
class Order:
    """Order of the caller for a run."""

    task: Task
    values: dict[str, str]
    run_id: str
    """Empty if the starter of the run names it."""
    mode: Mode = Mode.AUTO
    heal: Heal = Heal.AUTO
    budget: Budget = field(default_factory=Budget)
    """Limits of the caller, in addition to those of the task."""
    on_failure: OnFailure | None = None
    """None: as the task says."""
    limits: RunLimits | None = None
    """Final limits of the run; if set, `budget` is ignored."""
    lineage: str = ""
    """Lineage of a resumed run; empty for the first run of a lineage."""
    resume: Resume | None = None
    state: RunState = field(default_factory=RunState.model_construct)
    """State that the earlier run left, for `resume`."""
    skill: SkillRef | None = None
    """The skill whose task it is."""
    fresh: bool = False
    """True: learn the goal even if a skill exists."""
    wait_for_others: bool = True
    """True: while another run learns the same goal, wait for its skill."""
    pictures: Pictures | None = None
    """Steps whose pictures are kept. None: those that are learned, healed or fail."""
    who: str = ""
    """Who asked for it, in words; empty where it is not known."""
    request: str = ""
    """Digest of the caller's request, for the memo: a repeated request finds its run, and another one does not."""


def order_of(
    task: Task, values: dict[str, str], run_id: str, manner: RunOptions, skill: SkillRef | None = None
) -> Order:
    """Make the order of a task that learns what it lacks or, with `skill`, of a skill that is replayed."""
    return Order(
        task,
        values,
        run_id,
        manner.mode or (Mode.AUTO if skill is None else Mode.REPLAY),
        manner.heal or Heal.AUTO,
        on_failure=manner.on_failure,
        skill=skill,
        pictures=manner.pictures,
    )


@dataclass(frozen=True)
class Prepared:
    """Everything that Temporal needs for a run except its id, for a start now or by a schedule."""

    input: RunInput
    summary: str
    details: str
    memo: dict[str, str]
    attributes: TypedSearchAttributes


def refuse_what_is_blocked(settings: Settings, task: Task, values: Mapping[str, str]) -> None:
    """Refuse a task before a run of it is started, by the policy of this process. The worker decides again, by its own.

    Raises:
        PolicyBlocked: names the rule.
    """
    holds = Effective(operators_policy(settings.policy), task.policy)
    found = before_start(holds, task.steps, values)
    if found is not None:
        index, refusal = found
        title = task.steps[index].title
        raise PolicyBlocked(f"steps[{index}] ({title}) is blocked: {refusal.message}", rule=refusal.rule)
    for address in named(holds, task, task.steps, values, granted_hosts(settings.home)):
        if address.refusal is not None:
            where = f"{address.place} ({address.host or address.url})" if address.url else address.place
            message = f"{where} is blocked: {address.refusal.message}"
            raise PolicyBlocked(message, rule=address.refusal.rule)


async def start(here: Backend, order: Order) -> WorkflowHandle[Any, RunResult]:
    """Start a run of `order` and return at once.

    Raises:
        RunExists: there is a run with this id.
        StackFailed: Temporal refuses it.
    """
    handle: WorkflowHandle[Any, RunResult] = await start_by(here.client.start_workflow, here, order)
    return handle


async def start_by(starter: Callable[..., Awaitable[_Started]], here: Backend, order: Order) -> _Started:
    """Start a run of `order` by a function that takes the arguments of `Client.start_workflow`; return its result.

    Raises:
        RunExists: there is a run with this id.
        StackFailed: Temporal refuses it.
    """
    try:
        with temporal_errors(here.settings):
            ready = await prepared(here, order)
            return await starter(
                WORKFLOW,
                ready.input,
                id=order.run_id,
                task_queue=here.queue,
                result_type=RunResult,
                task_timeout=TASK_TIMEOUT,
                # The ledger belongs to the id: what was done under it is not done again, so a new run needs a new one.
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                static_summary=ready.summary,
                static_details=ready.details,
                memo=ready.memo | start_memo(here, WORKFLOW, order.run_id, ready.input),
                search_attributes=ready.attributes,
            )
    except WorkflowAlreadyStartedError as exc:
        begun = f"`replaywright show {order.run_id}` shows it"
        if order.resume is not None:  # the id of the next run of a lineage is no choice of the caller's
            raise RunExists(f"{order.resume.of} was resumed just now: {begun}") from exc
        raise RunExists(f"--id {order.run_id!r}: there is a run with this id; {begun}") from exc


async def prepared(here: Backend, order: Order) -> Prepared:
    """Prepare everything that Temporal needs for a run of `order`; its id may be unknown."""
    site, skill = taskfile.site_of(order.task, order.values), "" if order.skill is None else order.skill.name
    lineage = order.lineage or order.run_id
    memo = {"task": order.task.task, "tenant": here.settings.tenant, WAITS: ""}
    plan = taskfile.plan_of(order.task, order.mode, order.heal, run_id=order.run_id, site=site, skill=skill)
    asked = start_attributes(
        here,
        task=order.task.task,
        site=site,
        skill=skill,
        mode=order.mode.value,
        totals=order.state.totals,
    )

    async def made() -> RunInput:
        return run_input(here.settings, order)

    # The server answers while the input is made: that builds schemas.
    attributes, given = await asyncio.gather(asked, made())
    return Prepared(
        input=given,
        summary=taskfile.summary_of(order.task),
        details=f"started by {order.who}\n\n{plan}" if order.who else plan,
        memo=memo | {name: value for name, value in (("lineage", lineage), (REQUEST, order.request)) if value},
        attributes=attributes,
    )


def run_input(settings: Settings, order: Order) -> RunInput:
    """Build the workflow's input for a run of `order`."""
    return RunInput(
        task=order.task,
        values=order.values,
        tenant=settings.tenant,
        mode=order.mode,
        heal=order.heal,
        lineage=order.lineage,
        budget=order.limits or _limits(settings, order),
        on_failure=None if order.on_failure is None else order.on_failure.value,
        propose_probes=settings.planner_model is not None,
        resume=order.resume,
        skill=order.skill,
        relearns=order.skill is not None and order.resume is None,
        fresh=order.fresh,
        wait_for_others=order.wait_for_others,
        state=order.state,
        pictures=order.pictures or Pictures.AUTO,
        asking=Asking(
            within_s=settings.ask_within_s,
            remind_every_s=REMIND_EVERY_S,
            approve_recalled=settings.approve_recalled,
        ),
    )


def _limits(settings: Settings, order: Order) -> RunLimits:
    """Return the limits: the caller's, else the task's, else the defaults; never more than the policy's."""
    caps = Effective(operators_policy(settings.policy), order.task.policy).caps
    budget = caps.over(order.budget.over(order.task.budget))
    planner = settings.planner_model is not None or not order.task.steps
    return caps.over(RunLimits.of(budget, steps=len(order.task.steps), planner=planner))
