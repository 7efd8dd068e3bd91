"""Small histories of both sides of each `workflow.patched`: as workers decided before it, and as they do now.

The activities are scripted, the server is real. `hibernate` and `look-again` have theirs among the runs of the real
stack.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError, WorkflowHistory
from temporalio.common import TypedSearchAttributes
from temporalio.exceptions import ApplicationError

from replaywright.cli.connect import Place
from replaywright.cli.searchable import start_attributes
from replaywright.domain.actions import Effect
from replaywright.domain.outcomes import StepOutcome
from replaywright.domain.predicates import Exists
from replaywright.domain.recall import Recalled
from replaywright.domain.runs import (
    RESOLVED,
    UNTOUCHED,
    ActionRequest,
    PersonVerdict,
    Resolution,
    RunInput,
    Totals,
)
from replaywright.domain.skills import Skill, SkillStatus
from replaywright.domain.targets import ElementQuery
from replaywright.domain.tasks import parse_task
from replaywright.settings import Settings
from replaywright.stack.temporal import provide_temporal, start_temporal
from tests.e2e.lab import until
from tests.workflows.batches import bench, rows, third_fails
from tests.workflows.scripted import Script, done, known, lost, missed, run_from, run_of, scripted, waiting
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
EXPAND = {"action": "expand", "instruction": "the more section"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
PAY = {"action": "click", "instruction": "the pay button", "effect": "irreversible"}


def in_the_send_step(error: ApplicationError) -> Script:
    """Its first attempt ends so; it is found to have been done."""

    def perform(asked: ActionRequest, call: int) -> StepOutcome:
        if asked.sequence == 1 and call == 0:
            raise error
        return done(asked, effect=Effect.COMMIT if asked.sequence else Effect.IDEMPOTENT)

    verify = lambda asked: Resolution(verdict="done", outcome=done(asked.action, effect=Effect.COMMIT))  # noqa: E731
    return Script(perform=perform, verify=verify)


def told_by_its_page() -> Script:
    """The worker is lost in the step; its browser, which is found again, shows that it was done."""
    script = in_the_send_step(lost())
    script.verify = lambda asked: Resolution(
        verdict="done", outcome=done(asked.action, effect=Effect.COMMIT, reason=RESOLVED)
    )
    return script


def closed_menu() -> Script:
    """The last step's element is there only when the section before it has been opened again, or by the model."""

    def perform(asked: ActionRequest, _call: int) -> StepOutcome:
        is_open = any(request.reapply for request in script.performed) or asked.proposed is not None
        return missed("not_found") if asked.sequence == 2 and not is_open else done(asked)

    script = Script(perform=perform)
    return script


def forgotten() -> Script:
    """Worker and browser are lost in the last step, and what was recorded of the one before is not there."""

    def perform(asked: ActionRequest, call: int) -> StepOutcome:
        if asked.sequence == 2 and call == 0:
            raise lost()
        return missed("no_entry") if asked.reapply and asked.sequence == 1 and asked.proposed is None else done(asked)

    return Script(perform=perform, adopt=False)


def recorded_too_late() -> Script:
    """Worker and browser are lost in the second step, which the worker records when the run has another browser."""

    def perform(asked: ActionRequest, call: int) -> StepOutcome:
        if asked.sequence == 1 and call == 0:
            raise lost()
        return done(asked, from_ledger=asked.sequence == 1 and not asked.reapply)

    return Script(perform=perform, adopt=False)


def lost_after_two_steps() -> Script:
    """Worker and browser are lost with a workflow task: its first two steps are recorded, and in no history."""

    def perform(asked: ActionRequest, call: int) -> StepOutcome:
        if asked.sequence == 0 and call == 0:
            raise lost()
        return done(asked, from_ledger=asked.sequence < 2 and not asked.reapply)

    return Script(perform=perform, adopt=False)


def without_a_store() -> Script:
    """Redis does not answer in the second step's first attempt."""

    def perform(asked: ActionRequest, call: int) -> StepOutcome:
        if asked.sequence == 1 and call == 0:
            raise ApplicationError("Redis does not answer", type="StoreUnavailable")
        return known(asked)

    return Script(perform=perform, near=True)


def closed_at_first() -> Script:
    """The second step finds its field when it is performed again."""

    def perform(asked: ActionRequest, call: int) -> StepOutcome:
        return missed("not_found") if asked.sequence == 1 and call == 0 else done(asked)

    return Script(perform=perform)


def recalled_for_nobody() -> Script:
    """The recalled skill's start page must show nothing but the value of a parameter, which is empty."""
    task = {"task": "send", "goal": "Send it", "parameters": {"to": {}}, "steps": [GOTO, FILL]}
    field = Exists(exists=ElementQuery(name="{{to}}"))
    skill = Skill(name="send", status=SkillStatus.ACTIVE, task=parse_task(task, "skill"), precondition=(field,))
    return Script(
        recall=lambda _: Recalled(
            decision="accept", reason="accepted", skill=skill, pattern="Send it", values={"to": ""}
        )
    )


RUNS: dict[str, tuple[Callable[[], Script], RunInput]] = {
    "doubt-on-error": (
        lambda: in_the_send_step(ApplicationError("the answer did not come", type="RuntimeError")),
        run_of(GOTO, SEND),
    ),
    "never-began": (
        lambda: in_the_send_step(ApplicationError("the browser is gone", UNTOUCHED, type="SessionLost")),
        run_of(GOTO, SEND),
    ),
    "checkpoint-when-told": (told_by_its_page, run_of(GOTO, SEND)),
    "reopened": (closed_menu, run_of(GOTO, EXPAND, FILL)),
    "asked-again": (forgotten, run_of(GOTO, FILL, FILL)),
    "done-elsewhere": (recorded_too_late, run_of(GOTO, FILL)),
    "lost-together": (lost_after_two_steps, run_of(GOTO, FILL, FILL)),
    "heard-first": (lambda: Script(near=True, perform=known), run_of(GOTO, FILL, SEND, local_steps=True)),
    "near-once": (without_a_store, run_of(GOTO, FILL, local_steps=True)),
    "near-recorded": (lambda: Script(near=True), run_of(GOTO, FILL, local_steps=True)),
    "open-here": (lambda: Script(near=True, here="h"), run_of(GOTO, FILL, local_steps=True)),
    "policy": (Script, run_of(GOTO)),
    "questions": (closed_at_first, run_of(GOTO, FILL, on_failure="ask", mode="replay")),
    "approve-irreversible": (Script, run_of(GOTO, PAY)),
    "refused-open": (recalled_for_nobody, run_from("Send it")),
}
"""By the name of the patch."""

ANSWERS: dict[str, PersonVerdict] = {
    "questions-before": PersonVerdict(sequence=1, verdict="retry"),
    "questions-after": PersonVerdict(sequence=1, verdict="retry"),
    "approve-irreversible-after": PersonVerdict(sequence=1, verdict="approve"),
}
"""What a person answers, in the runs that ask one."""


async def record_patches(folder: Path, scratch: Path, as_text: Callable[[WorkflowHistory], str]) -> None:
    """Write what is missing: NAME-before.json and NAME-after.json."""
    binary = await provide_temporal(scratch)
    server = await start_temporal(binary.path, log=scratch / "temporal.log", database=scratch / "temporal.db")
    try:
        client = await Client.connect(server.address, plugins=[WorkflowPlugin(sandboxed=True)])
        for name, (script, run) in RUNS.items():
            for side in ("before", "after"):
                path = folder / f"{name}-{side}.json"
                if not path.exists():
                    answer = ANSWERS.get(path.stem)
                    history = await recorded(client, script(), run, answer, is_patched=side == "after")
                    path.write_text(as_text(history), encoding="utf-8")
    finally:
        await server.child.stop()


async def record_searchable(path: Path, scratch: Path, as_text: Callable[[WorkflowHistory], str]) -> None:
    """Write, if it is missing, the history of a run that was started with search attributes, waits, and is answered.

    The other side are all histories of runs that were started without any.
    """
    if path.exists():
        return
    binary = await provide_temporal(scratch)
    server = await start_temporal(binary.path, log=scratch / "searchable.log", database=scratch / "searchable.db")
    try:
        client = await Client.connect(server.address, plugins=[WorkflowPlugin()])
        place = Place(client, Settings(temporal_address=server.address), "configured")
        attributes = await start_attributes(place, task="test", site="site", skill="", mode="replay", totals=Totals())
        run = run_of(GOTO, FILL, on_failure="ask", mode="replay")
        answer = PersonVerdict(sequence=1, verdict="retry")
        history = await recorded(client, closed_at_first(), run, answer, is_patched=True, attributes=attributes)
        path.write_text(as_text(history), encoding="utf-8")
    finally:
        await server.child.stop()


async def recorded(
    client: Client,
    script: Script,
    run: RunInput,
    answer: PersonVerdict | None,
    *,
    is_patched: bool,
    attributes: TypedSearchAttributes = TypedSearchAttributes.empty,
) -> WorkflowHistory:
    """The history of one run, failed or not, which a person answers."""
    before = contextlib.nullcontext() if is_patched else patch.object(workflow, "patched", lambda _name: False)
    with before:
        async with scripted(client, script) as queue:
            run_id = f"patch-{uuid.uuid4().hex}"
            handle = await client.start_workflow(
                BrowserTask.run, run, id=run_id, task_queue=queue, search_attributes=attributes
            )
            if answer is not None:
                await waiting(handle)
                await handle.execute_update(BrowserTask.resolve_step, answer)
            with contextlib.suppress(WorkflowFailureError):
                await handle.result()
            history: WorkflowHistory = await handle.fetch_history()
    return history


async def record_batches(folder: Path, scratch: Path, as_text: Callable[[WorkflowHistory], str]) -> None:
    """Write what is missing: a batch that continued as new, and has a row that failed, as `first` and `last`; and one
    that finds the runs it had begun before, as workers decided before and after the patch `found-at-once`.
    """
    continued = [folder / f"{part}.json" for part in ("first", "last")]
    begun_again = [folder / f"found-at-once-{side}.json" for side in ("before", "after")]
    if all(path.exists() for path in (*continued, *begun_again)):
        return
    binary = await provide_temporal(scratch)
    server = await start_temporal(binary.path, log=scratch / "batch.log", database=scratch / "batch.db")
    try:
        client = await Client.connect(server.address, plugins=[WorkflowPlugin(sandboxed=True)])
        if not all(path.exists() for path in continued):
            for path, history in zip(continued, await batch_that_continued(client), strict=True):
                path.write_text(as_text(history), encoding="utf-8")
        for path in begun_again:
            if not path.exists():
                before = patch.object(workflow, "patched", lambda _name: False)
                with before if path.stem.endswith("before") else contextlib.nullcontext():
                    path.write_text(as_text(await batch_begun_again(client)), encoding="utf-8")
    finally:
        await server.child.stop()


async def batch_that_continued(client: Client) -> tuple[WorkflowHistory, WorkflowHistory]:
    """Its first history and its last."""
    async with bench(client, Script(perform=third_fails)) as made:
        handle = await made.start(rows(5), f"batch-{uuid.uuid4().hex}", parallel=2, rows_per_history=3)
        await handle.result()
    first = client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
    return await first.fetch_history(), await client.get_workflow_handle(handle.id).fetch_history()


async def batch_begun_again(client: Client) -> WorkflowHistory:
    """Of one that was terminated with two rows under way."""
    held = asyncio.Event()

    async def performing(request: ActionRequest, _call: int) -> StepOutcome:
        await held.wait()
        return done(request)

    async with bench(client, Script(performing=performing)) as made:
        given = rows(2)
        handle = await made.start(given, f"batch-{uuid.uuid4().hex}", parallel=2)
        await until("both rows are under way", lambda: len({one.run_id for one in made.script.opened}) == len(given))
        await handle.terminate("recorded")
        again = await made.start(given, handle.id, parallel=2)
        held.set()
        await again.result()
        history: WorkflowHistory = await again.fetch_history()
    return history
