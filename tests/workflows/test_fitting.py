"""A recalled skill is held against its start page before it begins; on a real Temporal server."""

from collections.abc import Callable

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Replayer

from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.predicates import Exists
from replaywright.domain.recall.recall import Recalled, RecallRequest
from replaywright.domain.run.scope import Mode
from replaywright.domain.skill.fitting import Fit
from replaywright.domain.skill.skills import Skill, SkillContext
from tests.workflows.scripted import Script, run_from, scripted, start
from tests.workflows.test_goals import GOAL, NEXT, STEPS, VALUES, failed, labelled, plans, recalls, skill
from workflows.plugin import WorkflowPlugin

NO_FIELD = "the start page does not show what the skill begins with: none_found"
ELSEWHERE = Fit(reason="precondition", message=NO_FIELD, snapshot="page")
CHANGED = ELSEWHERE.model_copy(update={"own_page": True})
SIGNED_IN = Fit(reason="other_context", message="learned signed out", signed_in=True, snapshot="page")


def careful_skill() -> Skill:
    field = Exists(exists=ElementQuery(role="textbox", name="Mail to {{to}}"))
    context = SkillContext(signed_in=False, start="http://site/start")
    return skill().model_copy(update={"precondition": (field,), "context": context})


def bare_skill() -> Skill:
    """What its start page must show consists of nothing but a parameter's value."""
    return skill().model_copy(update={"precondition": (Exists(exists=ElementQuery(name="{{subject}}")),)})


def recalls_once() -> Callable[[RecallRequest], Recalled]:
    """As recall does: nothing that the run says it has passed over."""

    def answer(request: RecallRequest) -> Recalled:
        if request.passed_over:
            return Recalled(decision="abstain", reason=request.passed_over[0].reason)
        return recalls(careful_skill())(request)

    return answer


async def test_a_skill_whose_start_page_is_as_it_was_is_begun_after_one_look_without_a_model(client: Client) -> None:
    script = Script(recall=recalls_once())

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_from(GOAL))).result()

    [asked] = script.fitted
    [predicate] = asked.precondition
    assert isinstance(predicate, Exists)
    assert predicate.exists.name == f"Mail to {VALUES['to']}"
    assert (asked.start, asked.signed_in) == ("http://site/start", False)
    assert (script.of_goal, result.totals.usage.calls) == (["recall", "note"], 0)


async def test_a_skill_that_does_not_fit_the_page_is_passed_over_unblamed_and_the_goal_learned(client: Client) -> None:
    script = Script(recall=recalls_once(), fit=lambda _: SIGNED_IN, label=labelled, plan=plans(STEPS), signed_in=True)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        result = await handle.result()
        history = await handle.fetch_history()

    assert script.of_goal == ["recall", "recall", "claim", "recall", "label", "plan", "learn", "release"]
    assert [(one.outcome, one.reason) for one in script.judged] == [("refused", "other_context")]
    assert [len(one.passed_over) for one in script.recalled] == [0, 1, 1]
    assert script.recalled[1].context.signed_in is True
    assert (script.counted, len(script.opened)) == ([], 1)
    [learned] = script.learned
    assert learned.replaces is None
    assert (learned.context.signed_in, learned.context.start) == (True, "http://site/start")
    assert result.skill is not None
    assert result.skill.how == "learned"
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


async def test_a_skill_whose_own_start_page_has_changed_is_suspect_and_learned_again_from_there(client: Client) -> None:
    script = Script(recall=recalls_once(), fit=lambda _: CHANGED, plan=plans((NEXT, *STEPS)))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        result = await handle.result()
        history = await handle.fetch_history()

    assert script.of_goal[:4] == ["recall", "note", "plan", "learn"]
    [noted, *_], [asked], [learned] = script.counted, script.planned, script.learned
    assert (noted.run.succeeded, noted.run.change) == (False, "structure")
    assert [(one.outcome, one.reason) for one in script.judged] == [("refused", "precondition")]
    assert (asked.position, NO_FIELD in asked.failed) == (1, True)
    assert (learned.replaces is not None, learned.keeps_start) == (True, False)
    assert sum(one.context.step.action == "goto" for one in script.performed) == 1
    assert (result.succeeded, len(script.fitted)) == (True, 1)
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


@pytest.mark.long
@pytest.mark.parametrize(("fit", "reason"), [(ELSEWHERE, "not_recalled"), (CHANGED, "precondition")])
async def test_in_mode_replay_a_skill_that_does_not_fit_ends_the_run_with_the_reason(
    client: Client, fit: Fit, reason: str
) -> None:
    script = Script(recall=recalls_once(), fit=lambda _: fit)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_from(GOAL, mode=Mode.REPLAY))).result()

    assert failed(failure.value).reason == reason
    assert NO_FIELD in failed(failure.value).message
    assert bool(script.counted) == fit.own_page
    assert [one.context.step.action for one in script.performed] == ["goto"]
    assert len(script.closed) == 1


async def test_what_cannot_be_asked_of_an_open_browser_ends_the_run_with_the_reason_and_closes_it(
    client: Client,
) -> None:
    nobody = Recalled(
        decision="accept", reason="accepted", pattern="a pattern", skill=bare_skill(), values={**VALUES, "subject": ""}
    )
    script = Script(recall=lambda _: nobody)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()
        history = await handle.fetch_history()

    result = failed(failure.value)
    assert (result.reason, "its parameters are all empty" in result.message) == ("InputInvalid", True)
    assert (len(script.opened), len(script.closed), len(script.performed)) == (1, 1, 1)
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)
