"""Steps of `BrowserTask` that a person does or has to allow; on a real Temporal server."""

import asyncio

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.cli.people.updates import once_ready
from replaywright.domain.plan.goal_runs import PlanRequest
from replaywright.domain.run.commands import CommandOnStep, Reapply
from replaywright.domain.run.commit_requests import PersonVerdict, Resolution
from replaywright.domain.run.model_requests import Revision
from replaywright.domain.run.runs import Asking, RunResult
from replaywright.domain.run.scope import Usage
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.questions import QuestionKind
from tests.workflows.scripted import Script, done, given, lost, run_from, run_of, scripted, start, waiting
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the IBAN field", "value": "DE00"}
PAY = {"action": "click", "instruction": "the pay button", "effect": "irreversible"}
APPROVE = {"action": "approve", "instruction": "is the IBAN right?"}
CODE = {"action": "verification_code", "instruction": "the code field", "expect": [{"text_contains": "Welcome"}]}
CAPTCHA = {"action": "solve_captcha", "instruction": "the captcha field"}

Handle = WorkflowHandle[BrowserTask, RunResult]


async def say(handle: Handle, sequence: int, verdict: str, **fields: object) -> None:
    told = {"sequence": sequence, "verdict": verdict, "who": "Ada", **fields}
    answer = PersonVerdict.model_validate(told)

    async def send() -> None:
        await handle.execute_update(BrowserTask.resolve_step, answer)

    await once_ready(send)


async def ended(handle: Handle) -> RunResult:
    """The result, also of a run that failed."""
    try:
        return await handle.result()
    except WorkflowFailureError as error:
        if not isinstance(error.cause, ApplicationError):
            raise
        return RunResult.model_validate(error.cause.details[0])


def effects(request: CommandOnStep, _call: int) -> StepOutcome:
    """Everything is done, with the effect that it declares."""
    return done(request, effect=request.context.step.effect or Effect.IDEMPOTENT)


async def test_an_approval_shows_what_follows_and_covers_the_payment_that_it_showed(client: Client) -> None:
    script = Script(perform=effects)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, APPROVE, FILL, PAY, FILL))
        question = await waiting(handle)
        before = [request.context.sequence for request in script.performed]
        await say(handle, 1, "approve", why="I checked it")
        result = await ended(handle)
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(
        await handle.fetch_history()
    )

    assert (question.kind, question.answers) == (QuestionKind.APPROVE, ("approve", "refuse"))
    assert question.shows == ("3. fill the IBAN field = DE00", "4. click the pay button (irreversible)")
    assert question.picture
    assert question.deadline is not None
    assert before == [0]
    assert result.succeeded
    assert [request.context.sequence for request in script.performed] == [0, 2, 3, 4]
    assert [(left.reason, left.message) for left in script.left_out] == [("approved", "Ada approved: I checked it")]
    assert [settled.verdict.verdict for settled in script.settled] == ["approve"]
    assert replayed.replay_failure is None


@pytest.mark.parametrize("step", [APPROVE, PAY])
async def test_what_a_person_refuses_is_not_done(client: Client, step: dict[str, object]) -> None:
    script = Script(perform=effects)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, step))
        await waiting(handle)
        await say(handle, 1, "refuse", why="wrong account")
        result = await ended(handle)

    assert (result.reason, result.message) == ("not_approved", "Ada did not approve: wrong account")
    assert [request.context.sequence for request in script.performed] == [0]


async def test_what_can_never_be_undone_is_not_done_by_time(client: Client) -> None:
    script = Script(perform=effects)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, PAY, asking=Asking(approve_within_s=0.3)))
        result = await ended(handle)

    assert result.reason == "unanswered"
    assert [request.context.sequence for request in script.performed] == [0]


async def test_each_payment_needs_an_approval_of_its_own(client: Client) -> None:
    script = Script(perform=effects)
    other = {**PAY, "instruction": "the other pay button"}

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, APPROVE, PAY, other, steps_per_history=1))
        await waiting(handle)
        await say(handle, 1, "approve")
        question = await waiting(handle, 2)
        await say(handle, 3, "approve")
        result = await ended(handle)

    assert question.shows == ("4. click the other pay button (irreversible)",)
    assert result.succeeded
    assert len(script.opened) == 1


async def test_a_payment_that_was_lost_on_its_way_is_not_dispatched_again_without_a_person(client: Client) -> None:
    def loses(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.sequence == 1 and call == 0:
            raise lost()
        return effects(request, call)

    script = Script(perform=loses, verify=lambda _request: Resolution(verdict="undecidable", reason="not_seen"))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, PAY))
        await waiting(handle)
        await say(handle, 1, "approve")
        doubt = await waiting(handle, 2)
        dispatched = len(script.performed)
        await say(handle, 1, "not_done", why="the bank shows nothing")
        result = await ended(handle)

    assert doubt.kind is QuestionKind.DOUBT
    assert dispatched == 2
    assert result.succeeded
    assert [request.context.sequence for request in script.performed] == [0, 1, 0, 1]  # in a new browser


async def test_a_code_reaches_its_step_sealed_and_a_wrong_one_is_asked_for_again(client: Client) -> None:
    def picky(request: CommandOnStep, call: int) -> StepOutcome:
        right = given(request, "code") is not None and given(request, "code").sealed == "second"
        if request.context.sequence != 1 or right:
            return done(request)
        return StepOutcome(status=Status.UNMET, reason="text_contains", effect=Effect.IDEMPOTENT, message="wrong code")

    script = Script(perform=picky)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, CODE))
        first = await waiting(handle)
        with pytest.raises(WorkflowUpdateFailedError) as refusal:
            await say(handle, 1, "answer", value="123456")
        await say(handle, 1, "answer", sealed="first")
        second = await waiting(handle, 2)
        await say(handle, 1, "answer", sealed="second")
        result = await ended(handle)

    assert "sealed only" in str(refusal.value.cause)
    assert (first.wants, first.key) == ("code", "key of 2-1")
    assert "wrong code" in second.text
    assert second.key == "key of 2-2"
    assert result.succeeded
    assert {given(request, "code").question for request in script.performed if given(request, "code") is not None} == {
        "2-1",
        "2-2",
    }


async def test_a_code_that_nobody_gives_is_left_out_where_the_step_says_so(client: Client) -> None:
    script = Script()
    optional = {**CODE, "within_s": 1, "on_timeout": "skip"}

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, optional, FILL))
        result = await ended(handle)

    assert result.succeeded
    assert [left.reason for left in script.left_out] == ["unanswered"]
    assert [request.context.sequence for request in script.performed] == [0, 2]


@pytest.mark.parametrize(("expect", "performed"), [((), [0]), ([{"text_contains": "Welcome"}], [0, 1])])
async def test_a_captcha_that_was_solved_in_the_browser_is_seen_to_be(
    client: Client, expect: object, performed: list[int]
) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, {**CAPTCHA, "expect": expect}))
        question = await waiting(handle)
        await say(handle, 1, "solved")
        result = await ended(handle)

    assert question.answers == ("answer", "solved", "abandon")
    assert result.succeeded
    assert [request.context.sequence for request in script.performed] == performed
    assert all(given(request, "code") is None for request in script.performed)


async def test_a_new_browser_gets_a_new_code_and_no_second_approval(client: Client) -> None:
    def loses(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.sequence == 3 and call == 0:
            raise lost()
        return done(request)

    script = Script(perform=loses, adopt=False)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, APPROVE, CODE, FILL))
        await waiting(handle)
        await say(handle, 1, "approve")
        await waiting(handle, 2)
        await say(handle, 2, "answer", sealed="first")
        again = await waiting(handle, 3)
        await say(handle, 2, "answer", sealed="second")
        result = await ended(handle)

    assert again.kind is QuestionKind.VERIFICATION_CODE
    assert result.succeeded
    told = [given(request, "code").sealed for request in script.performed if given(request, "code") is not None]
    assert told == ["first", "second"]
    assert [isinstance(request, Reapply) for request in script.performed if given(request, "code") is not None] == [
        False,
        True,
    ]


async def test_a_code_outlives_worker_and_browser(client: Client) -> None:
    script = Script(checkpoint=True)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, CODE, FILL, hibernate_after_s=0.2))
        await waiting(handle)
        async with asyncio.timeout(20):
            while not script.closed:  # noqa: ASYNC110 - the fake has no event
                await asyncio.sleep(0.05)
    async with scripted(client, script, queue):
        await waiting(handle)
        await say(handle, 1, "answer", sealed="a code")
        result = await ended(handle)

    assert result.succeeded
    assert [request.state for request in script.restored] == ["after-0"]
    assert [request.context.sequence for request in script.performed] == [0, 1, 2]


async def test_what_a_planner_asks_goes_to_the_user_and_the_answer_into_its_next_prompt(client: Client) -> None:
    plan = run_of(GOTO, FILL).task.steps[1:]

    def plans(request: PlanRequest, _call: int) -> Revision:
        if not request.answers:
            return Revision(question="Which account: \x1b[31mred or blue?", usage=Usage(calls=1))
        return Revision(steps=plan, complete=True, usage=Usage(calls=1))

    script = Script(plan=plans)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from("transfer the money"))
        question = await waiting(handle)
        with pytest.raises(WorkflowUpdateFailedError, match="update failed") as refusal:
            await say(handle, question.sequence, "answer", value=" ")
        await say(handle, question.sequence, "answer", value="the blue one")
        result = await ended(handle)

    assert (question.kind, question.wants) == (QuestionKind.ANSWER, "text")
    assert "Which account" not in question.text
    assert "Which account" in question.shows[0]
    assert "there is none in the answer" in str(refusal.value.cause)
    assert result.succeeded
    assert [told.answer for told in script.planned[1].answers] == ["the blue one"]
    assert result.totals.usage.calls >= 2


async def test_a_planner_that_goes_on_asking_is_given_up(client: Client) -> None:
    script = Script(plan=lambda _request, _call: Revision(question="And why?"))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from("transfer the money"))
        for number in (1, 2, 3):
            question = await waiting(handle, number)
            await say(handle, question.sequence, "answer", value="because")
        result = await ended(handle)

    assert result.reason == "planner_gave_up"
    assert "asks again: And why?" in result.message
    assert len(script.planned) == 4
