"""Steps in doubt: what is asked of the resolver, what the task says of the undecidable, and what a person may say."""

from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from replaywright.domain.run.commands import UNTOUCHED, Await, CommandOnStep, Perform, Reapply
from replaywright.domain.run.commit_requests import PersonVerdict, Resolution, ResolveRequest
from replaywright.domain.run.runs import RunResult
from replaywright.domain.step.outcomes import AWAITED, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, after_goto, done, given, lost, run_of, scripted, start, waiting
from workflows.policies import COMMIT_ROUNDS
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://127.0.0.1/"}
SEND: dict[str, Any] = {
    "action": "click",
    "instruction": "the send button",
    "effect": "commit",
    "reconcile": {
        "steps": [{"action": "goto", "url": "http://127.0.0.1/sent"}],
        "expect": [{"text_contains": "Minutes"}],
    },
}


def losing(*errors: ApplicationError, adopt: bool = True) -> Script:
    """The first attempts at the step after the goto are lost."""

    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if call < len(errors):
            raise errors[call]
        return done(request, effect=Effect.COMMIT)

    return Script(perform=after_goto(perform), adopt=adopt)


async def ended(client: Client, script: Script, *steps: dict[str, Any]) -> RunResult:
    """The result of a run, failed or not."""
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, *steps))
        try:
            return await handle.result()
        except WorkflowFailureError as failure:
            return result_of(failure)


def result_of(failure: WorkflowFailureError) -> RunResult:
    assert isinstance(failure.cause, ApplicationError)
    return RunResult.model_validate(failure.cause.details[0])


async def test_the_resolver_is_told_which_attempt_is_in_doubt_and_since_when_nothing_can_leave(client: Client) -> None:
    script = losing(lost())
    script.verify = lambda request: Resolution(verdict="done", outcome=done(request.action, effect=Effect.COMMIT))

    await ended(client, script, SEND)

    [asked] = script.verified
    assert (asked.doubted, asked.lost, asked.adopted) == (script.performed[1].context.run.epoch, True, True)
    assert (asked.settle_ms, 0 <= asked.settled_ms < 5000) == (7000, True)


async def test_a_browser_that_is_lost_while_a_request_is_awaited_is_asked_about_the_press(client: Client) -> None:
    untouched = ApplicationError("the browser is gone", UNTOUCHED, type="SessionLost")

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if isinstance(request, Await):
            raise untouched
        return StepOutcome(status=Status.IN_DOUBT, reason=AWAITED, effect=Effect.COMMIT)

    script = Script(perform=after_goto(perform), adopt=False)
    script.verify = lambda request: Resolution(verdict="done", outcome=done(request.action, effect=Effect.COMMIT))

    await ended(client, script, SEND)

    [asked] = script.verified
    pressed = script.performed[1].context.run
    assert (asked.doubted, asked.doubted_session) == (pressed.epoch, pressed.session.session_id)
    assert (asked.lost, asked.adopted) == (True, False)
    assert [type(command) for command in script.performed] == [Perform, Perform, Await, Reapply]


async def test_a_step_s_own_lag_takes_the_place_of_the_task_s(client: Client) -> None:
    script = losing(lost())
    script.verify = lambda request: Resolution(verdict="done", outcome=done(request.action, effect=Effect.COMMIT))

    await ended(client, script, {**SEND, "reconcile": {**SEND["reconcile"], "site_lag_ms": 60_000}})

    assert [asked.settle_ms for asked in script.verified] == [62_000]


async def test_an_attempt_that_came_back_in_doubt_was_not_lost_and_one_that_the_ledger_told_of_is_another_s(
    client: Client,
) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        reason = ("server_error", "ledger_intent")[call] if call < 2 else ""
        return StepOutcome(status=Status.IN_DOUBT, reason=reason, effect=Effect.COMMIT) if reason else done(request)

    script = Script(perform=after_goto(perform))
    script.verify = lambda _request: Resolution(verdict="not_done", reason="not_on_site")
    await ended(client, script, SEND)

    first, second = script.verified
    assert [(asked.doubted, asked.lost, asked.settled_ms) for asked in (first, second)] == [
        (1, False, 0),
        (0, False, 0),
    ]
    assert (first.settled, second.settled) == (0, first.action.run.epoch)


async def test_a_browser_that_was_rebuilt_is_no_witness_even_when_it_is_adopted_later(client: Client) -> None:
    script = losing(lost(), adopt=False)

    def verify(request: ResolveRequest) -> Resolution:
        script.adopt = True
        if len(script.verified) == 1:
            raise lost()
        return Resolution(verdict="done", outcome=done(request.action, effect=Effect.COMMIT))

    script.verify = verify
    await ended(client, script, SEND)

    assert [asked.adopted for asked in script.verified] == [False, False]


@pytest.mark.parametrize("host", ["h", "another"])
async def test_the_step_before_is_a_witness_once_the_lost_browser_s_own_host_has_fenced_it(
    client: Client, host: str
) -> None:
    script = losing(lost(), adopt=False)
    perform = script.perform
    script.perform = lambda request, call: perform(request, call).model_copy(update={"witness": "w"})
    script.verify = lambda request: Resolution(verdict="done", outcome=done(request.action, effect=Effect.COMMIT))
    script.recovers_on = host

    await ended(client, script, SEND)

    assert [asked.witness for asked in script.verified] == ["w" if host == "h" else ""]


async def test_a_step_that_lost_its_browser_before_it_gave_any_input_is_just_performed(client: Client) -> None:
    script = losing(ApplicationError("the browser is gone", UNTOUCHED, type="SessionLost"), adopt=False)

    result = await ended(client, script, SEND)

    assert (result.succeeded, script.verified) == (True, [])
    assert given(script.performed[-1], "recovered")


@pytest.mark.parametrize(
    ("reason", "attempts", "said"),
    [
        ("not_on_site", COMMIT_ROUNDS, "was verified absent after 3 dispatches"),
        ("nothing_left", 5, "nothing of it left the browser in 5 attempts"),
    ],
)
async def test_only_dispatches_count_as_rounds(client: Client, reason: str, attempts: int, said: str) -> None:
    doubtful = StepOutcome(status=Status.IN_DOUBT, reason="server_error", effect=Effect.COMMIT)
    script = Script(perform=after_goto(lambda _request, _call: doubtful))
    script.verify = lambda _request: Resolution(verdict="not_done", reason=reason)

    result = await ended(client, script, SEND)

    assert not result.succeeded
    assert said in result.message
    assert sum(not isinstance(request, Reapply) for request in script.performed) == 1 + attempts
    assert len({request.context.run.session.session_id for request in script.performed}) == 1 + attempts


# ------------------------------------------------------------------------------------- what the task says


async def test_on_unknown_fail_ends_the_run_and_leaves_the_doubt_as_it_is(client: Client) -> None:
    script = losing(lost())

    result = await ended(client, script, SEND | {"on_unknown": "fail"})

    assert (result.succeeded, result.reason) == (False, "undecidable")
    assert (len(script.performed), script.settled) == (2, [])


async def test_on_unknown_assume_done_goes_on_with_a_warning_in_the_result(client: Client) -> None:
    script = losing(lost())

    result = await ended(client, script, SEND | {"on_unknown": "assume_done"})

    [settled] = script.settled
    assert result.succeeded
    [warning] = result.warnings
    assert warning.startswith("step 2: assumed_done: step 2 (click the send button) may or may not have taken effect")
    assert (settled.verdict.verdict, settled.verdict.who) == ("done", "the task file (on_unknown: assume_done)")
    assert len(script.performed) == 2


async def test_on_unknown_retry_performs_it_again_with_a_warning_and_not_for_ever(client: Client) -> None:
    once = losing(lost())
    for_ever = losing(*[lost()] * 9)

    result = await ended(client, once, SEND | {"on_unknown": "retry"})
    given_up = await ended(client, for_ever, SEND | {"on_unknown": "retry"})

    assert result.succeeded
    assert result.warnings[0].startswith("step 2: retried_in_doubt: performed again 1 times although")
    assert [settled.verdict.verdict for settled in once.settled] == ["retry"]
    assert (given_up.succeeded, len(for_ever.performed)) == (
        False,
        1 + 2 * COMMIT_ROUNDS,
    )  # a goto, too


# ------------------------------------------------------------------------------------- what a person says


@pytest.mark.parametrize(("verdict", "performed"), [("done", 2), ("not_done", 4), ("retry", 4)])
async def test_a_person_decides_a_step_in_doubt_with_name_and_reason(
    client: Client, verdict: str, performed: int
) -> None:
    script = losing(lost())

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND))
        await waiting(handle)
        with pytest.raises(WorkflowUpdateFailedError, match=r".") as refused:
            await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="skip"))
        said = PersonVerdict.model_validate({"sequence": 1, "verdict": verdict, "who": "Ada", "why": "looked"})
        await handle.execute_update(BrowserTask.resolve_step, said)
        result = await handle.result()

    assert "it takes: done, not_done, retry, abandon" in str(refused.value.cause)
    assert result.succeeded
    assert len(script.performed) == performed
    assert [settled.verdict for settled in script.settled] == [said.model_copy(update={"question": "2-1"})]
