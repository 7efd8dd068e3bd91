"""`replaywright resume`: go on after a run that did not end well, with what it has done."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from activities.run.resuming import Earlier, Standing, standing
from cache.steps import RedisStepStore
from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.completion import tasks
from replaywright.cli.evidence.trace import histories_of
from replaywright.cli.options import Run, ValueOptions
from replaywright.cli.people.updates import ended_message, user_name
from replaywright.cli.runs.finding import find_run, scope_of
from replaywright.cli.runs.options import FollowOptions, OnFailure, RunOptions
from replaywright.cli.runs.run import carry_out
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.connect import Backend, open_backend, temporal_errors
from replaywright.cli.servers.store import open_store
from replaywright.cli.tasks import taskfile
from replaywright.domain.run.commands import Reapply, StepCommand
from replaywright.domain.run.resuming import OPEN_STATES, Resume
from replaywright.domain.run.runs import RunInput
from replaywright.domain.step.checkpoints import Checkpoint
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import effect_of
from replaywright.domain.task.steps import Goto, Step, action_of
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.domain.trace.histories import calls_of, first_value
from replaywright.domain.trace.left_behind import left_behind
from replaywright.domain.trace.trace_file import History
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings
from workflows.run.context import plan_of


@dataclass(frozen=True)
class ResumeOptions:
    """Options that control the repetition of steps."""

    first: Annotated[
        int | None,
        typer.Option("--from", metavar="N", min=1, help="Perform from step N on, although it was done before."),
    ] = None
    redo: Annotated[bool, typer.Option("--redo", help="Repeat completed steps even if they have consequences.")] = False
    keep: Annotated[bool, typer.Option("--keep", help="Accept completed steps although other steps preceded them.")] = (
        False
    )


@dataclass(frozen=True)
class Wish:
    """Request of the caller."""

    run: str
    task: Task | None = None
    values: dict[str, str] | None = None
    """Values of parameters; the others keep the values of the run."""
    first: int | None = None
    """Number of the step to begin with."""
    redo: bool = False
    keep: bool = False
    manner: RunOptions = field(default_factory=RunOptions)
    who: str = ""


@dataclass(frozen=True)
class Planned:
    """Plan of a resume, made before anything is done."""

    order: Order
    of: str
    """The run that it goes on after."""
    plan: tuple[Step, ...]
    found: Standing
    back: int | None
    """Index of the step that the new browser begins with; None when it cannot be brought back."""
    redo: bool
    keep: bool

    @property
    def position(self) -> int:
        """Index of the first step that is performed."""
        return len(self.found.answered)

    def how(self, sequence: int) -> str:
        """Return the treatment of a step: ledger, doubt, redo, keep, ask or perform."""
        if sequence < self.position:
            return "ledger"
        if sequence == self.position and self.found.state in OPEN_STATES:
            return "doubt"
        if any(one.sequence == sequence for one in self.found.earlier):
            return "redo" if self.redo else "keep" if self.keep else "ask"
        return "perform"


_TREATMENTS = {
    "ledger": "from the ledger",
    "doubt": "in doubt: decided first, then performed or taken as done",
    "redo": "done before, after other steps: done again (--redo)",
    "keep": "done before, after other steps: taken as done (--keep)",
    "ask": "done before, after other steps: stops here and asks (--redo and --keep decide it now)",
    "perform": "performed",
}


@app.command()
async def resume(
    *,
    run: Run,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="FILE", help="Corrected task; default: that of the run.", autocompletion=tasks),
    ] = None,
    again: ResumeOptions,
    given: ValueOptions,
    manner: RunOptions,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and do nothing.")] = False,
    following: FollowOptions,
) -> None:
    """Resume a run that failed, was cancelled, terminated or timed out, with its task or a corrected one.

    Completed steps that the task still has come from the ledger: no action, no model call. The first changed or failed
    step and all after it are performed. If that is impossible, the command says so before anything is done.

    Exit status: as for `run`; 2 also when the run cannot be resumed.

    Example: `replaywright resume latest --task mended.yaml --dry-run`
    """
    if again.redo and again.keep:
        raise InputInvalid("--redo and --keep: say one of them, or neither, to be asked at each step")
    values = taskfile.read_parameters(given.param or [], given.params)
    mended = None if task is None else taskfile.read_task(task)
    wish = Wish(run, mended, values, again.first, again.redo, again.keep, manner, user_name())
    if dry_run:
        async with open_backend() as here:
            found = await planned(here, wish)
        if following.json:
            output.print_json(as_json(found))
        else:
            print_plan(found, output.standard_output())
        return

    async def begin(here: Backend) -> Order:
        found = await planned(here, wish)
        print_plan(found, output.for_people(json=following.json))
        return found.order

    raise typer.Exit(await carry_out(begin, load_settings(), following))


# ---------------------------------------------------------------------------------------------- planning


async def planned(here: Backend, wish: Wish) -> Planned:
    """Plan a resume. Reads only.

    Raises:
        InputInvalid: it cannot be done, or must not without a word of the caller; says what to do.
        StoreUnavailable: the ledger cannot be read.
    """
    named = await find_run(here, wish.run)
    tenant, lineage = await scope_of(here, named)
    execution, new_id = await newest(here, named, lineage)
    if execution.id != named.id:
        output.print_progress(f"{named.id} was resumed as {execution.id}: going on after that")
    await _require_ended(here, execution)
    histories = await histories_of(here, execution)
    run = _input_wanted(wish, _input_of(histories[-1]), execution.id)
    async with open_store(here.settings) as store:
        scope = {"tenant": tenant, "lineage": lineage}
        await _require_whole(store.steps, scope, histories)
        found, restarts = await _standing(store.steps, scope, run, wish, new_id)
    done = tuple(one.fingerprint for one in found.earlier if one.is_done)
    order = Order(
        run.task,
        run.values,
        new_id,
        wish.manner.mode or run.mode,
        wish.manner.heal or run.heal,
        on_failure=wish.manner.on_failure or (None if run.on_failure is None else OnFailure(run.on_failure)),
        limits=run.budget,
        lineage=lineage,
        resume=Resume(
            of=execution.id,
            who=wish.who,
            answered=len(found.answered),
            restarts=restarts,
            redo=done if wish.redo else (),
            keep=done if wish.keep else (),
        ),
        state=left_behind(histories, _input_of(histories[0]), found.answered),
        pictures=wish.manner.pictures,
    )
    back = way_back(found.course.plan, len(found.answered), found.last_commit, order.state.checkpoints)
    result = Planned(order, execution.id, found.course.plan, found, back, wish.redo, wish.keep)
    _require_possible(result)
    return result


def _input_wanted(wish: Wish, before: RunInput, run_id: str) -> RunInput:
    """Return the input of the ended run with the task and values of the caller.

    Raises:
        InputInvalid: its steps are not known, or the task is another one.
    """
    if before.named:
        raise InputInvalid(
            f"{run_id} ended before it knew the steps of the skill {before.named!r}: there is nothing to resume"
        )
    task = wish.task or before.task
    if task.task != before.task.task:
        raise InputInvalid(
            f"--task: {task.task!r} is not {before.task.task!r}, of which {run_id} is; "
            "`replaywright run` begins another"
        )
    kept = {name: value for name, value in before.values.items() if name in task.parameters}
    values = bind_parameters(task, kept | (wish.values or {}))
    return before.model_copy(update={"task": task, "values": values})


async def _standing(
    store: RedisStepStore, scope: dict[str, str], run: RunInput, wish: Wish, new_id: str
) -> tuple[Standing, dict[int, str]]:
    """Return the ledger's state of the plan, and the restarts by step."""
    plan, old = plan_of(run), {} if run.resume is None else run.resume.restarts
    found = await standing(store, **scope, plan=plan, values=run.values, restarts=old)
    if wish.first is not None and wish.first > len(found.course.plan):
        raise InputInvalid(f"--from {wish.first}: the task has {len(found.course.plan)} steps")
    restarts = _restarts(wish, found.course.plan, found, old, new_id)
    if restarts != old:
        found = await standing(store, **scope, plan=plan, values=run.values, restarts=restarts)
    return found, restarts


def way_back(
    plan: Sequence[Step], position: int, last_commit: int, checkpoints: Sequence[Checkpoint] = ()
) -> int | None:
    """Find the step from which a new browser reaches `position` without repeating a commit; None if there is none.

    As the workflow does it: from the newest checkpoint after what must not be repeated, from the beginning, or from the
    last `goto` after it.
    """
    if (newest := _newest_checkpoint(checkpoints, position, last_commit)) is not None:
        return newest.page_from
    if last_commit < 0:
        return 0
    last = min(position, len(plan) - 1)
    return next((at for at in range(last, last_commit, -1) if isinstance(plan[at], Goto)), None)


def _newest_checkpoint(checkpoints: Sequence[Checkpoint], position: int, last_commit: int) -> Checkpoint | None:
    serving = [one for one in checkpoints if last_commit < one.position <= position]
    return max(serving, key=lambda one: one.position, default=None)


async def newest(
    here: Backend, named: WorkflowExecutionDescription, lineage: str
) -> tuple[WorkflowExecutionDescription, str]:
    """Return the last run of the lineage, and the id of the next: no two runs can resume the same one."""
    found, number = named, 2
    while True:
        run_id = f"{lineage}~{number}"
        try:
            with temporal_errors(here.settings, run_id):
                found = await here.client.get_workflow_handle(run_id).describe()
        except InputInvalid:
            return found, run_id
        number += 1


async def _require_ended(here: Backend, execution: WorkflowExecutionDescription) -> None:
    if execution.status is WorkflowExecutionStatus.RUNNING:
        raise InputInvalid(
            f"{execution.id} is still going: `replaywright show {execution.id}` says what it does or waits for; "
            f"`replaywright cancel {execution.id}` ends it, then it can be resumed"
        )
    if execution.status is WorkflowExecutionStatus.COMPLETED:
        message = await ended_message(here, execution.id, "resume")
        raise InputInvalid(f"{message}; `replaywright run` does it once more")


def _input_of(history: History) -> RunInput:
    started = history.events[0].get("workflowExecutionStartedEventAttributes") if history.events else None
    given = None if started is None else first_value(started.get("input"))
    try:
        return RunInput.model_validate(given)
    except ValidationError as exc:
        raise InputInvalid(
            f"{history.workflow_id}: its input cannot be read (sealed by a codec, or of another version): "
            "start a new run of what is left to do"
        ) from exc


async def _require_whole(store: RedisStepStore, scope: dict[str, str], histories: Sequence[History]) -> None:
    """Check that the ledger has every commit that the history records."""
    for history in histories:
        for call in calls_of(history.events):
            if not call.activity_type.startswith("browser.") or call.answer is None or call.given is None:
                continue
            command, outcome = StepCommand.model_validate(call.given).root, StepOutcome.model_validate(call.answer)
            asked, is_own = command.context, not (isinstance(command, Reapply) or command.context.override)
            if outcome.status is not Status.DONE or outcome.effect.repeatable or not is_own:
                continue
            known = await store.look_up(**scope, run_id="", fingerprint=asked.fingerprint, content_key="")
            if not known.state:
                raise InputInvalid(
                    f"step {asked.sequence + 1} ({asked.step.title}) was done, as the history of "
                    f"{history.workflow_id} says, and the ledger has no record of it: Redis has lost data, and a "
                    "resume could do it again; look at the site, and start a new run of what is left to do"
                )


def _restarts(wish: Wish, plan: Sequence[Step], found: Standing, old: dict[int, str], new_id: str) -> dict[int, str]:
    """Return the steps to perform again; see `Resume.restarts`."""
    if wish.first is None:
        return old
    at, done = wish.first - 1, len(found.answered)
    if at > done:
        raise InputInvalid(
            f"--from {wish.first}: step {done + 1} ({plan[done].title}) was not done, or was changed: everything "
            f"from there on is performed; --from takes 1 to {done + 1} here"
        )
    if at == done:
        return old
    if not found.answered[at].effect.repeatable and not wish.redo:
        raise InputInvalid(
            f"--from {wish.first}: {plan[at].title} was done, and it has consequences on the site that would "
            "come a second time; add --redo if that is wanted"
        )
    return {step: name for step, name in old.items() if step < at} | {at: new_id}


def _require_possible(result: Planned) -> None:
    """Refuse a resume that is impossible or that a person must allow."""
    plan, found, at = result.plan, result.found, result.position
    if found.state == "DAMAGED":
        raise InputInvalid(
            f"step {at + 1} ({plan[at].title}): the ledger's record of it cannot be read: find out if it took "
            "effect, delete the record, and resume again"
        )
    if result.back is None:
        commit = found.last_commit
        left = f"step {at + 1} ({plan[at].title})" if at < len(plan) else "the final verification"
        raise InputInvalid(
            f"{left} cannot be reached again: the page it needs came of step {commit + 1} "
            f"({plan[commit].title}), which must not be repeated; add a goto after it to the task, "
            f"or do that step again with --from {commit + 1} --redo"
        )
    orphans = [one for one in found.earlier if one.sequence is None]
    if orphans and not result.redo and any(_may_have_consequences(step) for step in plan[at:]):
        raise InputInvalid(
            f"this lineage has done what the task does not ask for any more: {_names_of(orphans)}; if a step that is "
            "still to be performed does the same in other words, it would be done twice: look, then add --redo to go on"
        )


def _may_have_consequences(step: Step) -> bool:
    return not effect_of(action_of(step), step.effect, None).repeatable


def _names_of(orphans: Sequence[Earlier]) -> str:
    return ", ".join(
        f"{one.title or one.fingerprint[:12]}{'' if one.is_done else ' (nobody knows if it took effect)'}"
        for one in orphans
    )


# ---------------------------------------------------------------------------------------------- showing


def print_plan(found: Planned, console: Console) -> None:
    """Print the plan."""
    output.print_line(f"resume {found.of}", style="bold", console=console)
    rows = [(f"{at + 1:04d}", step.title, _TREATMENTS[found.how(at)]) for at, step in enumerate(found.plan)]
    output.print_table(("step", "what", "how"), rows, right=("step",), console=console)
    output.print_line(_summary(found), console=console)


def _summary(found: Planned) -> str:
    at = found.position
    counted = output.count(at, "step")
    ledger = f"{counted} from the ledger" if at else "nothing from the ledger"
    first = (
        f"step {at + 1} is the first to be performed" if at < len(found.plan) else "only the final verification left"
    )
    back = (found.back or 0) + 1
    checkpoint = _newest_checkpoint(found.order.state.checkpoints, at, found.found.last_commit)
    parts = [] if checkpoint is None else [f"is brought to the checkpoint after step {checkpoint.position}"]
    parts += [f"does again what may be repeated of steps {back} to {at}"] if back <= at else []
    way = f"; to get there, a new browser {' and '.join(parts)}" if parts else ""
    return f"{ledger}, {first}{way}"


def as_json(found: Planned) -> dict[str, Any]:
    """Return the plan for JSON output."""
    steps = [
        {"step": sequence + 1, "title": step.title, "how": found.how(sequence)}
        for sequence, step in enumerate(found.plan)
    ]
    return {
        "runId": found.order.run_id,
        "of": found.of,
        "lineage": found.order.lineage,
        "status": "planned",
        "fromLedger": found.position,
        "first": found.position + 1,
        "wayBack": (found.back or 0) + 1,
        "steps": steps,
    }
