"""A run that goes on after another: the loop on a real Temporal server, with scripted activities."""

from collections.abc import Mapping

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep, Reapply
from replaywright.domain.run.commit_requests import PersonVerdict, Resolution
from replaywright.domain.run.resuming import AnsweredStep, Resume, ResumeRequest, Resumption
from replaywright.domain.run.runs import RunInput, RunResult, RunState
from replaywright.domain.step.fingerprints import begun_anew, fingerprint
from replaywright.domain.step.outcomes import DONE_BEFORE, DOUBT_BEFORE, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, done, given, run_of, scripted, start, waiting
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}


def answering(steps: int, *, commits: tuple[int, ...] = (), **fields: object) -> Script:
    """A ledger that answers the first steps of whatever plan it is asked about."""

    def resume(request: ResumeRequest) -> Resumption:
        answered = []
        previous = previous_outcome = ""
        for at, step in enumerate(request.plan[:steps]):
            mark = fingerprint(step, request.values, previous, previous_outcome)
            effect = Effect.COMMIT if at in commits else Effect.IDEMPOTENT
            outcome = StepOutcome(status=Status.DONE, fingerprint=mark, effect=effect, from_ledger=True)
            answered.append(AnsweredStep(fingerprint=mark, outcome=outcome))
            previous, previous_outcome = mark, outcome.digest
        return Resumption.model_validate({"answered": answered, "epoch": 7, **fields})

    return Script(resume=resume)


def resumed(*steps: Mapping[str, object], **fields: object) -> RunInput:
    return run_of(*steps, lineage="r1", resume=Resume.model_validate({"of": "r1", "who": "Ada", **fields}))


def result_of(error: WorkflowFailureError) -> RunResult:
    assert isinstance(error.cause, ApplicationError)
    return RunResult.model_validate(error.cause.details[0])


async def test_what_the_ledger_answers_is_not_performed_and_counts(client: Client) -> None:
    script = answering(9)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, resumed(GOTO, *[FILL] * 8, SEND, answered=9))
        result = await handle.result()
        progress = await handle.query(BrowserTask.progress)

    assert [(r.context.sequence, isinstance(r, Reapply)) for r in script.performed] == [
        *((at, True) for at in range(9)),
        (9, False),
    ]
    assert (result.totals.steps, result.totals.from_ledger, result.totals.usage.calls) == (10, 9, 0)
    assert [line.from_ledger for line in progress.lines] == [True] * 9 + [False]
    assert {request.context.run.lineage for request in script.performed} == {"r1"}


@pytest.mark.long
async def test_it_goes_on_under_an_epoch_higher_than_any_of_the_lineage(client: Client) -> None:
    script = answering(2)

    async with scripted(client, script) as queue:
        await (await start(client, queue, resumed(GOTO, FILL, SEND))).result()

    assert [request.epoch for request in script.opened] == [7]
    assert {request.context.run.epoch for request in script.performed} == {7}


@pytest.mark.long
async def test_the_chain_goes_on_from_what_was_answered(client: Client) -> None:
    script, whole = answering(2), Script()

    async with scripted(client, script) as queue:
        await (await start(client, queue, resumed(GOTO, FILL, SEND))).result()
    async with scripted(client, whole) as queue:
        await (await start(client, queue, run_of(GOTO, FILL, SEND))).result()

    assert script.performed[-1].context.fingerprint == whole.performed[-1].context.fingerprint
    assert script.performed[-1].context.act == whole.performed[-1].context.act != ""


@pytest.mark.long
async def test_a_browser_is_not_brought_back_across_a_commit_step(client: Client) -> None:
    script = answering(2, commits=(1,))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, resumed(GOTO, SEND, FILL))).result()

    assert result_of(failure.value).reason == "session_lost"
    assert script.performed == []
    assert len(script.closed) == 1


@pytest.mark.long
async def test_after_a_commit_step_the_browser_begins_at_the_goto_that_follows(client: Client) -> None:
    script = answering(4, commits=(1,))

    async with scripted(client, script) as queue:
        await (await start(client, queue, resumed(GOTO, SEND, GOTO, FILL, SEND))).result()

    assert [(r.context.sequence, isinstance(r, Reapply)) for r in script.performed] == [
        (2, True),
        (3, True),
        (4, False),
    ]


@pytest.mark.long
async def test_a_step_in_doubt_is_resolved_before_anything_is_performed(client: Client) -> None:
    script = answering(1, state="DISPATCHED", fingerprint="f2")

    def resume(request: ResumeRequest) -> Resumption:
        found = first(request)
        return found if not script.verified else found.model_copy(update={"state": "NOT_DONE", "epoch": 9})

    first, script.resume = script.resume, resume
    script.verify = lambda _request: Resolution(verdict="not_done", reason="absent")
    async with scripted(client, script) as queue:
        await (await start(client, queue, resumed(GOTO, SEND))).result()

    [verified] = script.verified
    assert verified.contradicted == "earlier_run"
    assert verified.action.run.epoch == 8
    assert [(r.context.sequence, isinstance(r, Reapply), r.context.run.epoch) for r in script.performed] == [
        (0, True, 9),
        (1, False, 9),
    ]


LEFT = {"session": {"session_id": "s0", "queue": "gone", "epoch": 11}, "epoch": 12}


def in_doubt(queue: str, **fields: object) -> RunInput:
    """A run that goes on after one that left its browser behind."""
    own = {**LEFT["session"], "host_queue": f"{queue}-own"}  # type: ignore[dict-item]
    return resumed(GOTO, SEND).model_copy(update={"state": RunState.model_validate({**LEFT, "session": own, **fields})})


@pytest.mark.long
async def test_the_browser_that_was_left_behind_is_fenced_and_its_page_decides_the_doubt(client: Client) -> None:
    script = answering(1, state="DISPATCHED", fingerprint="f2")
    script.verify = lambda request: Resolution(verdict="not_done", reason="nothing_left")

    async with scripted(client, script) as queue:
        await (await start(client, queue, in_doubt(queue))).result()

    [recovered], [verified] = script.recovered, script.verified
    assert (recovered.lost.session_id, recovered.epoch) == ("s0", 14)
    assert (verified.adopted, verified.contradicted, verified.action.run.epoch) == (True, "", 15)
    assert verified.doubted_session == "s0"
    assert [(r.context.sequence, isinstance(r, Reapply)) for r in script.performed] == [
        (0, True),
        (1, False),
    ]  # in a new page
    assert len(script.opened) == 1


async def test_the_file_of_the_keeper_that_a_run_before_has_left_is_asked_when_its_browser_is_gone(
    client: Client,
) -> None:
    script = answering(1, state="DISPATCHED", fingerprint="f2")
    script.adopt = False
    script.verify = lambda request: Resolution(verdict="not_done", reason="nothing_left")

    async with scripted(client, script) as queue:
        await (await start(client, queue, in_doubt(queue))).result()

    [verified] = script.verified
    assert (verified.adopted, verified.contradicted, verified.doubted_session) == (False, "earlier_run", "s0")


@pytest.mark.long
async def test_a_browser_that_was_left_behind_where_nothing_is_in_doubt_is_replaced(client: Client) -> None:
    script = answering(1)

    async with scripted(client, script) as queue:
        await (await start(client, queue, in_doubt(queue))).result()

    assert (len(script.recovered), len(script.opened), len(script.closed)) == (1, 1, 2)
    assert [(r.context.sequence, isinstance(r, Reapply)) for r in script.performed] == [(0, True), (1, False)]


@pytest.mark.long
async def test_a_step_begun_anew_has_a_fingerprint_of_its_own(client: Client) -> None:
    script = answering(1)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, resumed(GOTO, FILL, restarts={1: "r1~2"}))
        await handle.result()

    plain = fingerprint(
        script.performed[-1].context.step,
        {},
        script.performed[-1].context.previous or "",
        StepOutcome(status=Status.DONE).digest,
    )
    assert script.performed[-1].context.fingerprint == begun_anew(plain, "r1~2")


def done_before(reason: str = DONE_BEFORE) -> Script:
    """Refuses the commit step, which the lineage has as `f-old`, until a person wants it done again."""
    script = answering(0)

    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if (
            request.context.step.action != "click"
            or given(request, "redo") == "f-old"
            or (reason == DOUBT_BEFORE and script.verified)
        ):
            return done(request)
        return StepOutcome(status=Status.REFUSED, reason=reason, effect=Effect.COMMIT, earlier="f-old")

    script.perform = perform
    return script


async def test_what_was_done_under_another_chain_waits_for_a_person_who_takes_it_as_done(client: Client) -> None:
    script = done_before()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, resumed(GOTO, SEND, FILL))
        await waiting(handle)
        progress = await handle.query(BrowserTask.progress)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="keep", who="Ada"))
        result = await handle.result()
    history = await handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert progress.answers == ("redo", "keep", "abandon")
    assert [request.context.sequence for request in script.performed] == [0, 1, 2]
    assert [(r.verdict.verdict, r.failed) for r in script.settled] == [("keep", True)]
    assert (result.totals.steps, result.totals.from_ledger) == (3, 1)
    assert replayed.replay_failure is None


@pytest.mark.long
async def test_a_person_has_it_done_again(client: Client) -> None:
    script = done_before()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND))
        await waiting(handle)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="redo"))
        result = await handle.result()

    assert result.succeeded
    assert [(request.context.sequence, given(request, "redo")) for request in script.performed] == [
        (0, ""),
        (1, ""),
        (1, "f-old"),
    ]


@pytest.mark.long
async def test_a_person_who_abandons_ends_the_run(client: Client) -> None:
    script = done_before()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, resumed(GOTO, SEND))
        await waiting(handle)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="abandon"))
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()

    assert result_of(failure.value).reason == "abandoned"


@pytest.mark.long
@pytest.mark.parametrize(("said", "dispatched"), [("redo", 2), ("keep", 1)])
async def test_what_was_said_on_the_command_line_is_not_asked_again(client: Client, said: str, dispatched: int) -> None:
    script = done_before()

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, resumed(GOTO, SEND, **{said: ("f-old",)}))).result()

    assert result.succeeded
    assert sum(request.context.sequence == 1 for request in script.performed) == dispatched
    assert [(r.verdict.verdict, r.verdict.who) for r in script.settled] == [(said, "Ada")]


@pytest.mark.long
async def test_what_was_said_of_one_step_does_not_hold_for_another(client: Client) -> None:
    script = done_before()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, resumed(GOTO, SEND, redo=("f-other",)))
        await waiting(handle)

    assert len(script.performed) == 2


@pytest.mark.long
async def test_the_same_in_doubt_under_another_chain_is_resolved_first_as_that_step(client: Client) -> None:
    script = done_before(DOUBT_BEFORE)
    script.verify = lambda _request: Resolution(verdict="not_done", reason="absent")

    async with scripted(client, script) as queue:
        await (await start(client, queue, resumed(GOTO, SEND))).result()

    [verified] = script.verified
    assert (verified.action.fingerprint, verified.contradicted) == ("f-old", "earlier_chain")
    assert script.performed[-1].context.run.epoch > verified.action.run.epoch


@pytest.mark.long
async def test_a_long_plan_asks_the_ledger_once_and_continues_as_new_from_there(client: Client) -> None:
    script = answering(150)

    async with scripted(client, script) as queue:
        run = resumed(GOTO, *[FILL] * 269).model_copy(update={"steps_per_history": 100})
        result = await (await start(client, queue, run)).result()

    assert len(script.resumed) == 1
    assert [r.context.sequence for r in script.performed if not isinstance(r, Reapply)] == list(range(150, 270))
    assert (result.totals.steps, result.totals.from_ledger) == (270, 150)
