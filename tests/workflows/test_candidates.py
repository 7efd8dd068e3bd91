"""What another run found is tried once before a model is asked, which is asked where that led nowhere harmlessly."""

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep, Proposal
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.outcomes import Evidence, Lookup, Status, StepOutcome, UnsafeRequest
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import BUTTON, Script, after_goto, done, given, missed, run_of, scripted, start
from workflows.plugin import WorkflowPlugin

GOTO = {"action": "goto", "url": "http://site/"}
PRESS = {"action": "click", "instruction": "the add button", "expect": [{"text_contains": "Added"}]}
CANDIDATE = Proposal(target=BUTTON, candidate_of="run-1", sent_nothing=True)
POST = Evidence(requests=(UnsafeRequest(method="POST", url="http://site/add", status=400),))


def unknown(request: CommandOnStep) -> StepOutcome:
    """A miss of which another run has a candidate."""
    del request
    more = {"content_key": "own", "element_key": "shared", "has_candidate": True}
    return missed("no_entry").model_copy(update=more)


def led_nowhere(request: CommandOnStep, effect: Effect, evidence: Evidence = Evidence()) -> StepOutcome:  # noqa: B008
    """The candidate was acted on, and what the step expects did not come."""
    return StepOutcome(
        status=Status.UNMET,
        reason="text_missing",
        fingerprint=request.context.fingerprint,
        effect=effect,
        lookup=Lookup(hit=True, candidate_of="run-1"),
        evidence=evidence,
        snapshot="snap",
    )


def kinds(script: Script) -> list[str]:
    """Kinds of the attempts at the step, in their order."""
    return [each.context.attempt or "first" for each in script.performed if each.context.sequence == 1]


async def test_a_candidate_is_tried_before_the_model_and_spares_it(client: Client) -> None:
    script = Script(
        perform=after_goto(lambda r, _: done(r) if given(r, "proposal") else unknown(r)), candidate=lambda _: CANDIDATE
    )

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, PRESS))
        result = await handle.result()
        history = await handle.fetch_history()

    assert (result.succeeded, kinds(script), script.proposed) == (True, ["first", "candidate"], [])
    [request] = script.tried
    assert (request.content_keys, request.snapshot, request.instruction) == (
        ("own", "shared"),
        "snap",
        "the add button",
    )
    assert given(script.performed[-1], "proposal") == CANDIDATE
    assert given(script.performed[-1], "consent") is not None  # as of a press that a model chose now
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


@pytest.mark.parametrize("effect", [Effect.READ, Effect.COMMIT])
async def test_a_candidate_that_leads_nowhere_is_acted_on_once_and_then_the_model_is_asked(
    client: Client, effect: Effect
) -> None:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        proposal = given(request, "proposal")
        if proposal is None:
            return unknown(request)
        return led_nowhere(request, effect) if proposal.candidate_of else done(request)

    script = Script(perform=after_goto(perform), candidate=lambda _: CANDIDATE)

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, PRESS))).result()

    assert (result.succeeded, len(script.tried), len(script.proposed)) == (True, 1, 1)
    attempts = [each for each in kinds(script) if each != "recheck"]
    assert attempts == ["first", "candidate", "model"]
    epochs = [each.context.run.epoch for each in script.performed if each.context.sequence == 1]
    assert epochs[-1] - epochs[0] == (
        0 if effect is Effect.READ else 2
    )  # its intent was taken back under the one between


@pytest.mark.parametrize(
    ("step", "candidate", "evidence"),
    [
        ({**PRESS, "effect": "commit"}, CANDIDATE, Evidence()),
        (PRESS, CANDIDATE, POST),
        (PRESS, CANDIDATE.model_copy(update={"sent_nothing": False}), Evidence()),
    ],
)
async def test_nothing_is_pressed_beside_a_candidate_that_may_have_consequences(
    client: Client, step: dict[str, object], candidate: Proposal, evidence: Evidence
) -> None:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        return led_nowhere(request, Effect.COMMIT, evidence) if given(request, "proposal") else unknown(request)

    script = Script(perform=after_goto(perform), candidate=lambda _: candidate)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError):
            await (await start(client, queue, run_of(GOTO, step))).result()

    assert [each for each in kinds(script) if each != "recheck"] == ["first", "candidate"]
    assert script.proposed == []


@pytest.mark.parametrize("fails", [False, True])
async def test_without_a_candidate_for_this_page_the_model_is_asked(client: Client, fails: bool) -> None:
    def candidate(_request: object) -> Proposal:
        if fails:
            raise ApplicationError("the snapshot is gone", type="ArtifactMissing")
        return Proposal(candidate_of="run-1")

    script = Script(
        perform=after_goto(lambda r, _: done(r) if given(r, "proposal") else unknown(r)), candidate=candidate
    )

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, PRESS))).result()

    assert (result.succeeded, kinds(script)) == (True, ["first", "model"])
    assert (len(script.tried), len(script.proposed)) == (1, 1)


async def test_a_replay_tries_nothing_that_was_never_verified(client: Client) -> None:
    script = Script(perform=after_goto(lambda r, _: unknown(r)), candidate=lambda _: CANDIDATE)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError):
            await (await start(client, queue, run_of(GOTO, PRESS, mode=Mode.REPLAY))).result()

    assert (script.tried, script.proposed) == ([], [])
