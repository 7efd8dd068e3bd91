"""What becomes of a run that a rule of the policy ends."""

import pytest
from pydantic import TypeAdapter
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from replaywright.domain.policy.effective import Caps, Used
from replaywright.domain.policy.policy_runs import CheckPolicy, Granted
from replaywright.domain.run.commands import CommandOnStep, Reapply
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.session.guard import RuleLimit
from replaywright.domain.step.outcomes import BLOCKED, Evidence, Status, StepOutcome
from replaywright.domain.step.overrides import Due
from replaywright.domain.task.actions import Cause, Effect
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.policy import Wishes
from replaywright.domain.task.steps import Step
from tests.workflows.scripted import Script, after_goto, done, lost, missed, run_of, scripted, start
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
STEP: TypeAdapter[Step] = TypeAdapter(Step)
RULE = "policy 'back-office': actions.deny"


def blocked(effect: Effect = Effect.READ) -> StepOutcome:
    said = f"{RULE} forbids it"
    return StepOutcome(status=Status.BLOCKED, reason=BLOCKED, message=said, rule=RULE, effect=effect, snapshot="snap")


async def ended(client: Client, script: Script, run: RunInput) -> ApplicationError:
    """How the run failed."""
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run)
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()
        told = await handle.query(BrowserTask.progress)
        memo = await (await handle.describe()).memo()
    assert isinstance(failure.value.cause, ApplicationError)
    assert (told.status, memo.get("status")) == ("blocked", "blocked")
    return failure.value.cause


async def test_a_blocked_step_ends_the_run_as_blocked_and_nobody_is_asked_how_else_to_do_it(client: Client) -> None:
    script = Script(perform=after_goto(lambda _request, _call: blocked()))

    run = run_of(GOTO, FILL, goal="Enter the name", budget=RunLimits(plans=3), on_failure="ask")
    error = await ended(client, script, run)

    result = RunResult.model_validate(error.details[0])
    assert (error.type, result.succeeded, result.rule, result.failed_step) == ("TaskBlocked", False, RULE, 1)
    assert [request.context.sequence for request in script.performed] == [0, 1]
    assert (script.proposed, script.revised, script.settled, len(script.closed)) == ([], [], [], 1)


async def test_an_activity_that_a_rule_forbids_ends_the_run_with_that_rule(client: Client) -> None:
    def perform(_request: CommandOnStep, _call: int) -> StepOutcome:
        raise ApplicationError(f"{RULE} forbids it", RULE, type="PolicyBlocked", non_retryable=True)

    script = Script(perform=after_goto(perform))

    error = await ended(client, script, run_of(GOTO, SEND))

    result = RunResult.model_validate(error.details[0])
    assert (result.rule, result.reason, result.message) == (RULE, BLOCKED, f"{RULE} forbids it")
    assert (len(script.performed), script.verified) == (2, [])


async def test_a_step_that_is_blocked_on_the_way_back_ends_the_run_as_blocked(client: Client) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if isinstance(request, Reapply):
            return blocked()
        if request.context.sequence == 1 and call == 0:
            raise lost()
        return done(request)

    error = await ended(client, Script(perform=perform, adopt=False), run_of(GOTO, FILL))

    assert RunResult.model_validate(error.details[0]).rule == RULE


async def test_an_override_rule_that_is_blocked_is_left_out_and_shown(client: Client) -> None:
    close = {"action": "click", "instruction": "close it", "target": {"role": "button", "name": "Close"}}
    rule = Due(name="banner", steps=(STEP.validate_python({**close, "effect": "idempotent"}),), at_most=3)

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.override:
            return blocked()
        return done(request, due=(rule,)) if request.context.sequence == 0 else done(request)

    async with scripted(client, Script(perform=perform)) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        result = await handle.result()
        lines = (await handle.query(BrowserTask.progress)).lines

    assert result.succeeded
    assert [(line.override, line.status, line.rule) for line in lines][1] == ("banner", Status.BLOCKED, RULE)


async def test_a_run_that_the_policy_forbids_opens_no_browser(client: Client) -> None:
    def refuse(_request: CheckPolicy) -> Granted:
        raise ApplicationError(f"{RULE} forbids it", RULE, type="PolicyBlocked", non_retryable=True)

    script = Script(policy=refuse)

    error = await ended(client, script, run_of(GOTO, FILL))

    result = RunResult.model_validate(error.details[0])
    assert (error.type, result.rule, result.failed_step) == ("TaskBlocked", RULE, None)
    assert (script.opened, script.performed) == ([], [])
    assert [step.action for step in script.checked_by_policy[0].plan] == ["goto", "fill"]


async def test_what_steps_have_done_is_counted_and_told_to_each_next_one_over_continue_as_new(client: Client) -> None:
    seen = Evidence(causes=(Cause.NEW_DOCUMENT,), tabs=("opened http://site/2",), dialogs=("alert: x",))
    script = Script(perform=lambda request, _call: done(request, evidence=seen))
    own = {"amounts": {"steps": 9}}

    async with scripted(client, script) as queue:
        run = run_of(GOTO, FILL, FILL, steps_per_history=1)
        task = run.task.model_copy(update={"policy": Wishes.model_validate(own)})
        await (await start(client, queue, run.model_copy(update={"task": task}))).result()

    told = [request.context.run.used.model_copy(update={"seconds": 0.0}) for request in script.performed]
    assert told == [Used(navigations=n, popups=n, dialogs=n, steps=n) for n in range(3)]
    assert script.performed[-1].context.run.used.seconds > 0
    assert all(request.context.run.policy == task.policy for request in script.performed)
    assert [len(request.plan) for request in script.checked_by_policy] == [3, 2, 1]


async def test_the_policy_s_limit_counts_against_what_the_caller_allows_and_ends_the_run_as_blocked(
    client: Client,
) -> None:
    rule = "policy 'back-office': spending.calls"
    caps = Caps(calls=RuleLimit(rule=rule, value=1))
    missing = missed("no_entry")
    script = Script(policy=lambda _request: Granted(caps=caps), perform=after_goto(lambda _r, _c: missing))

    error = await ended(client, script, run_of(GOTO, FILL, budget=RunLimits(calls=50)))

    result = RunResult.model_validate(error.details[0])
    assert (result.rule, len(script.proposed)) == (rule, 1)
    assert "allows no more" in result.message
