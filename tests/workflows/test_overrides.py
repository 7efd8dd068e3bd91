"""How `BrowserTask` performs override rules, on a real Temporal server with scripted activities."""

import pytest
from pydantic import TypeAdapter
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Replayer

from replaywright.domain.run.commands import CommandOnStep, Proposal, Reapply
from replaywright.domain.run.scope import Usage
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.step.overrides import RUN_LIMIT, Due
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import Step
from tests.workflows.scripted import BUTTON, Script, after_goto, done, given, lost, missed, run_of, scripted, start
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
STEP: TypeAdapter[Step] = TypeAdapter(Step)


def due(name: str, at_most: int = 3, clicks: int = 1) -> Due:
    close = {"action": "click", "instruction": f"close {name}", "target": {"role": "button", "name": "Close"}}
    step = STEP.validate_python({**close, "effect": "idempotent"})
    return Due(name=name, steps=(step,) * clicks, at_most=at_most)


def refused(request: CommandOnStep, rule: Due, effect: Effect = Effect.IDEMPOTENT) -> StepOutcome:
    return StepOutcome(
        status=Status.REFUSED, reason="covered", fingerprint=request.context.fingerprint, effect=effect, due=(rule,)
    )


def own(script: Script) -> list[CommandOnStep]:
    """What was asked for the task's own steps."""
    return [request for request in script.performed if not request.context.override]


def of_rules(script: Script) -> list[CommandOnStep]:
    return [request for request in script.performed if request.context.override]


async def test_a_rule_that_is_due_after_a_step_is_performed_before_the_next(client: Client) -> None:
    script = Script(
        perform=lambda r, _: (
            done(r, due=(due("banner"),)) if r.context.sequence == 0 and not r.context.override else done(r)
        )
    )

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        result = await handle.result()
        lines = (await handle.query(BrowserTask.progress)).lines

    assert [(r.context.step.action, r.context.override) for r in script.performed] == [
        ("goto", ""),
        ("click", "banner"),
        ("fill", ""),
    ]
    assert script.activity_ids[1].startswith("0002-override-banner-1-")
    assert (result.totals.overrides, result.totals.steps) == (1, 2)
    assert [line.override for line in lines] == ["", "banner", ""]


async def test_a_rule_is_no_link_of_the_chain_of_fingerprints(client: Client) -> None:
    plain = Script()
    with_banner = Script(perform=lambda r, _: done(r, due=(due("banner"),)) if r.context.sequence == 0 else done(r))

    for script in (plain, with_banner):
        async with scripted(client, script) as queue:
            await (await start(client, queue, run_of(GOTO, FILL, SEND))).result()

    assert len(of_rules(with_banner)) == 1
    assert [r.context.fingerprint for r in own(plain)] == [r.context.fingerprint for r in own(with_banner)]
    assert of_rules(with_banner)[0].context.fingerprint not in {r.context.fingerprint for r in own(plain)}


async def test_a_miss_is_first_answered_by_what_is_due_and_the_model_is_not_asked(client: Client) -> None:
    script = Script()
    script.perform = after_goto(
        lambda r, _: done(r) if of_rules(script) else missed("not_found").model_copy(update={"due": (due("drawer"),)})
    )

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert [(r.context.step.action, r.context.override) for r in script.performed[1:]] == [
        ("fill", ""),
        ("click", "drawer"),
        ("fill", ""),
    ]
    assert given(script.performed[-1], "spent") == ("drawer",)
    assert not script.proposed
    assert result.totals.overrides == 1


async def test_a_commit_that_was_refused_untouched_is_tried_again_under_a_later_epoch(client: Client) -> None:
    script = Script()
    script.perform = after_goto(lambda r, _: done(r) if of_rules(script) else refused(r, due("drawer"), Effect.COMMIT))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, SEND))).result()

    sends = [request for request in own(script) if request.context.sequence == 1]
    assert result.succeeded
    assert [request.context.run.epoch for request in sends] == [1, 3]


async def test_a_commit_that_was_dispatched_is_not_tried_again_for_a_rule(client: Client) -> None:
    unmet = StepOutcome(status=Status.UNMET, reason="text_missing", effect=Effect.COMMIT, due=(due("drawer"),))
    script = Script(perform=after_goto(lambda r, _: unmet))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError):
            await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert len(own(script)) == 2
    assert not of_rules(script)


async def test_a_rule_is_performed_once_for_a_step_and_at_most_so_often_in_a_run(client: Client) -> None:
    script = Script(perform=lambda r, _: done(r, due=() if r.context.override else (due("banner", at_most=2),)))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL, FILL, FILL, FILL))).result()

    assert result.totals.overrides == 2
    assert [r.context.override for r in script.performed] == ["", "banner", "", "banner", "", "", ""]
    assert given(own(script)[-1], "spent") == ("banner",)


async def test_all_rules_together_are_bounded_too(client: Client) -> None:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        names = [f"rule-{request.context.sequence}-{number}" for number in range(8)]
        return done(request, due=() if request.context.override else tuple(due(name) for name in names))

    script = Script(perform=perform)

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL, FILL, FILL, FILL))).result()

    assert result.totals.overrides == RUN_LIMIT
    assert given(own(script)[-1], "spent") == ("*",)


async def test_a_rule_that_fails_does_not_fail_the_run(client: Client) -> None:
    script = Script(
        perform=lambda r, _: missed("not_found") if r.context.override else done(r, due=(due("banner", clicks=2),))
    )

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert result.succeeded
    assert len(of_rules(script)) == 1


async def test_what_is_due_and_how_often_is_carried_into_the_next_history(client: Client) -> None:
    script = Script(perform=lambda r, _: done(r, due=() if r.context.override else (due("banner", at_most=2),)))

    async with scripted(client, script) as queue:
        run = run_of(GOTO, FILL, FILL, FILL, steps_per_history=1)
        result = await (await start(client, queue, run)).result()

    assert [r.context.override for r in script.performed] == ["", "banner", "", "banner", "", ""]
    assert script.activity_ids[3].startswith("0003-override-banner-2-")
    assert result.totals.overrides == 2


async def test_a_rebuilt_browser_has_its_banner_cleared_again(client: Client) -> None:
    script = Script(adopt=False)

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.override:
            return done(request)
        if request.context.sequence == 2 and not script.recovered:
            raise lost()
        covered = isinstance(request, Reapply) and request.context.sequence == 1 and not of_rules(script)
        return refused(request, due("banner")) if covered else done(request)

    script.perform = perform

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL, FILL))).result()

    assert result.succeeded
    assert [(r.context.sequence, isinstance(r, Reapply), r.context.override) for r in script.performed[3:]] == [
        (0, True, ""),
        (1, True, ""),
        (1, False, "banner"),
        (1, True, ""),
        (2, False, ""),
    ]


async def test_an_overruled_pick_is_told_to_the_action_and_counted(client: Client) -> None:
    said = "rule cheapest: the model picked a, the rule chose b"
    script = Script(
        perform=lambda r, _: done(r) if given(r, "proposed") or r.context.sequence == 0 else missed("no_entry"),
        propose=lambda _: Proposal(target=BUTTON, usage=Usage(calls=1), overruled=said),
    )

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        result = await handle.result()
        lines = (await handle.query(BrowserTask.progress)).lines

    assert given(script.performed[-1], "proposal").overruled == said
    assert script.proposed[0].tenant == "default"
    assert result.totals.overruled == 1
    assert lines[-1].overruled == said


async def test_a_run_with_rules_replays(client: Client) -> None:
    script = Script()
    script.perform = after_goto(lambda r, _: done(r) if of_rules(script) else refused(r, due("drawer"), Effect.COMMIT))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND))
        await handle.result()

    history = await handle.fetch_history()
    result = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)
    assert result.replay_failure is None
