"""Presses that a model chose and whose requests were held: a person is asked once; on a real Temporal server."""

from temporalio.client import Client
from temporalio.worker import Replayer

from replaywright.domain.page.targets import Target
from replaywright.domain.run.commands import CommandOnStep, Proposal
from replaywright.domain.run.runs import Asking
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.step.press_grants import UNGRANTED, Consequence, RequestKind
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.questions import QuestionKind
from tests.workflows.scripted import Script, done, given, missed, run_of, scripted, start, waiting
from tests.workflows.test_human_steps import ended, say
from workflows.plugin import WorkflowPlugin

GOTO = {"action": "goto", "url": "http://site/"}
PRESS = {"action": "click", "instruction": "the third button"}
DECLARED = {**PRESS, "effect": "commit"}
DELETE = Target(tag="button", role="button", name="Delete all")
KIND = RequestKind(method="POST", origin="http://site:80", path="/all/delete")


def gated(request: CommandOnStep, _call: int) -> StepOutcome:
    """What a model chose is held unless it is granted; an element is only found by the model."""
    if request.context.step.action == "goto":
        return done(request)
    if given(request, "proposed") is None:
        return missed("no_entry")
    granted = given(request, "consent") is None or KIND in {grant.kind for grant in given(request, "consent").granted}
    if granted:
        return done(request, effect=Effect.COMMIT)
    return StepOutcome(
        status=Status.REFUSED,
        reason=UNGRANTED,
        effect=Effect.COMMIT,
        consequence=Consequence(kind=KIND, control="button 'Delete all'"),
    )


def script_of() -> Script:
    return Script(perform=gated, propose=lambda _: Proposal(target=DELETE))


async def test_a_person_grants_a_kind_of_request_once_and_the_press_is_done_again(client: Client) -> None:
    script = script_of()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, PRESS, {**PRESS, "instruction": "the other one"}))
        question = await waiting(handle)
        await say(handle, 1, "approve", why="I meant it")
        result = await ended(handle)
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(
        await handle.fetch_history()
    )

    assert (question.kind, question.answers) == (QuestionKind.CONSEQUENCE, ("approve", "refuse"))
    assert question.shows == ("control: button 'Delete all'", "would send: POST http://site:80/all/delete")
    assert result.succeeded
    presses = [request for request in script.performed if given(request, "proposed") is not None]
    by = [
        [grant.by for grant in given(request, "consent").granted]
        for request in presses
        if given(request, "consent") is not None
    ]
    assert by == [[], ["Ada"], ["Ada"]]
    epochs = [request.context.run.epoch for request in presses]
    assert epochs[1] > epochs[0] + 1, "the intent was taken back under the next epoch"
    assert [settled.verdict.verdict for settled in script.settled] == ["approve"]
    assert replayed.replay_failure is None


async def test_what_a_person_refuses_fails_the_step_and_is_not_asked_again(client: Client) -> None:
    script = script_of()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, PRESS))
        await waiting(handle)
        await say(handle, 1, "refuse", why="nobody wants that")
        result = await ended(handle)

    assert result.reason == UNGRANTED
    assert "Ada refused it: nobody wants that" in result.message
    assert len([request for request in script.performed if given(request, "proposed") is not None]) == 1


async def test_no_answer_in_time_grants_nothing(client: Client) -> None:
    script = script_of()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, PRESS, asking=Asking(within_s=0.3)))
        result = await ended(handle)

    assert result.reason == UNGRANTED
    assert len([request for request in script.performed if given(request, "proposed") is not None]) == 1


async def test_an_author_who_declares_the_effect_is_not_asked(client: Client) -> None:
    script = script_of()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, DECLARED))
        result = await ended(handle)

    assert result.succeeded
    assert [given(request, "consent") for request in script.performed] == [None] * len(script.performed)
