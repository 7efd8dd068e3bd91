"""The order of repairs of `BrowserTask`, its budget, and what a person may answer; on a real Temporal server."""

import pytest
from pydantic import TypeAdapter
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.proof.late import LATE
from replaywright.domain.run.commands import CommandOnStep, Proposal, Reapply, Recheck
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.model_requests import Revision
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode, Usage
from replaywright.domain.step.outcomes import ENTRY_LOST, Evidence, Status, StepOutcome
from replaywright.domain.step.overrides import Due
from replaywright.domain.task.actions import Cause, Effect
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.steps import Step
from tests.workflows.scripted import (
    BUTTON,
    Script,
    after_goto,
    done,
    given,
    lost,
    missed,
    run_of,
    scripted,
    start,
    waiting,
)
from workflows import policies
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada", "expect": [{"url_contains": "/done"}]}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
STEP: TypeAdapter[Step] = TypeAdapter(Step)
CONTINUE = STEP.validate_python({"action": "click", "instruction": "the Continue button"})
PLANS = RunLimits(plans=2)
GOAL = "Order a cake"


def unmet(request: CommandOnStep, effect: Effect = Effect.IDEMPOTENT) -> StepOutcome:
    verdicts = tuple(PredicateResult(passed=False, reason="url_contains") for _ in request.context.step.expect)
    return StepOutcome(
        status=Status.UNMET,
        reason="url_contains",
        fingerprint=request.context.fingerprint,
        effect=effect,
        predicates=verdicts,
        snapshot="snap",
    )


def kinds(script: Script, sequence: int = 1) -> list[str]:
    """What kinds of attempt were made at a step, in their order."""
    asked = [request for request in script.performed if request.context.sequence == sequence]
    return [
        f"override {request.context.override}" if request.context.override else request.context.attempt or "first"
        for request in asked
    ]


def failed(error: WorkflowFailureError) -> RunResult:
    assert isinstance(error.cause, ApplicationError)
    return RunResult.model_validate(error.cause.details[0])


async def test_repairs_come_in_order_from_the_cheapest_to_a_person(client: Client) -> None:
    close = STEP.validate_python({"action": "click", "instruction": "close", "effect": "idempotent"})
    rule = Due(name="banner", steps=(close,), at_most=1)

    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if request.context.override:
            return done(request)
        if isinstance(request, Recheck):
            return request.unmet
        return unmet(request).model_copy(update={"due": (rule,) if call == 0 else ()})

    script = Script(perform=after_goto(perform), propose=lambda _: Proposal(usage=Usage(calls=1)))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, goal=GOAL, budget=PLANS, on_failure="ask"))
        await waiting(handle)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="abandon", who="Ada"))
        with pytest.raises(WorkflowFailureError) as failure:
            await handle.result()

    assert kinds(script) == ["first", "override banner", "override", "recheck", "retry"]
    assert (len(script.proposed), len(script.revised), len(script.settled)) == (1, 1, 1)
    assert failed(failure.value).reason == "abandoned"


async def test_what_the_page_has_changed_is_entered_again_before_the_press(client: Client) -> None:
    name = {"action": "fill", "instruction": "the name field", "value": "Ada"}
    news = {"action": "check", "instruction": "the news box"}
    more = {"action": "click", "instruction": "more", "effect": "read"}

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.sequence == 4 and not any(isinstance(one, Reapply) for one in script.performed):
            return StepOutcome(status=Status.REFUSED, reason=ENTRY_LOST, effect=Effect.COMMIT)
        return done(request)

    script = Script(perform=perform)

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, name, more, news, SEND))).result()

    assert result.succeeded
    assert [one.context.sequence for one in script.performed if isinstance(one, Reapply)] == [3]
    assert kinds(script, 4) == ["first", "entered"]


async def test_an_expectation_that_comes_true_late_saves_the_step(client: Client) -> None:
    script = Script(
        perform=after_goto(lambda r, _: done(r, reason=LATE) if isinstance(r, Recheck) else unmet(r, Effect.COMMIT))
    )

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, {**SEND, "expect": FILL["expect"]}))
        result = await handle.result()
        history = await handle.fetch_history()

    assert result.succeeded
    assert kinds(script) == ["first", "recheck"]
    assert script.activity_ids[-1].endswith("-recheck1")
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


async def test_looking_again_survives_the_loss_of_the_worker(client: Client) -> None:
    looked: list[int] = []

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if not isinstance(request, Recheck):
            return unmet(request) if not looked else done(request)
        looked.append(request.context.run.epoch)
        if len(looked) == 1:
            raise lost()
        return request.unmet

    script = Script(perform=after_goto(perform))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert result.succeeded
    assert kinds(script) == ["first", "recheck", "recheck", "retry"]


async def test_a_step_without_an_expectation_is_not_looked_at_again(client: Client) -> None:
    script = Script(perform=after_goto(lambda r, call: done(r) if call else unmet(r)))

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, {**FILL, "expect": []}))).result()

    assert kinds(script) == ["first", "retry"]


def needs_continue(script: Script) -> None:
    """The fill step is possible only after a click that no plan knows."""

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        clicked = any(asked.context.step == CONTINUE for asked in script.performed)
        return done(request) if clicked or request.context.step.action == "goto" else missed("not_found")

    script.perform = perform
    script.propose = lambda _: Proposal(usage=Usage(calls=1))
    script.revise = lambda r: Revision(steps=(CONTINUE, *r.plan[r.sequence :]), usage=Usage(calls=1))


async def test_a_model_worker_that_is_silent_is_noticed_as_soon_as_a_browser_worker(client: Client) -> None:
    script = Script()
    needs_continue(script)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, goal=GOAL, budget=PLANS))
        await handle.result()
    events = (await handle.fetch_history()).events

    scheduled = [event.activity_task_scheduled_event_attributes for event in events]
    silences = {one.activity_type.name: one.heartbeat_timeout.ToTimedelta() for one in scheduled}
    assert silences["model.propose_target"] == silences["model.revise_plan"] == silences["browser.fill"]
    assert silences["browser.fill"] == policies.HEARTBEAT


async def test_a_revised_plan_replaces_the_rest_and_survives_continuing_as_new(client: Client) -> None:
    script = Script()
    needs_continue(script)
    wanted = run_of(GOTO, FILL, SEND, goal=GOAL, budget=PLANS, steps_per_history=1)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, wanted)
        result = await handle.result()
        progress = await handle.query(BrowserTask.progress)
        history = await client.get_workflow_handle(handle.id).fetch_history()

    assert result.succeeded
    others = [request.context for request in script.performed if request.context.step != CONTINUE]
    assert [(context.sequence, context.step.action) for context in others][-2:] == [
        (2, "fill"),
        (3, "click"),
    ]
    assert (result.totals.plans, result.totals.usage.calls, result.totals.steps) == (1, 2, 4)
    assert (progress.revised_from, progress.steps) == ((1,), 4)
    [asked] = script.revised
    assert (asked.sequence, asked.snapshot) == (1, "snap")
    assert "not found" in asked.failed
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


async def test_progress_says_that_the_plan_was_revised_and_from_where(client: Client) -> None:
    script = Script()
    needs_continue(script)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, goal=GOAL, budget=PLANS))
        await handle.result()
        lines = (await handle.query(BrowserTask.progress)).lines

    assert [(line.sequence, line.kind) for line in lines] == [
        (0, "step"),
        (1, "step"),
        (1, "plan"),
        (1, "step"),
        (2, "step"),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"budget": PLANS},
        {"goal": GOAL, "budget": RunLimits()},
        {"goal": GOAL},
        {"goal": GOAL, "budget": PLANS, "mode": Mode.REPLAY},
    ],
    ids=["no goal", "no plans allowed", "no planner", "replay"],
)
async def test_the_planner_is_asked_only_where_it_may_be(client: Client, fields: dict[str, object]) -> None:
    script = Script()
    needs_continue(script)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL, **fields))).result()  # type: ignore[arg-type]

    assert failed(failure.value).reason == "not_found"
    assert script.revised == []


async def test_a_planner_that_gives_up_leaves_the_steps_own_failure(client: Client) -> None:
    script = Script()
    needs_continue(script)
    script.revise = lambda _: Revision(gave_up="the shop is closed", usage=Usage(calls=1))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL, goal=GOAL, budget=PLANS))).result()

    result = failed(failure.value)
    assert (result.reason, result.failed_step, result.totals.plans) == ("not_found", 1, 0)
    assert "the shop is closed" in result.message


async def test_a_planner_that_cannot_be_asked_leaves_the_steps_own_failure(client: Client) -> None:
    script = Script()
    needs_continue(script)

    def refuses(_request: object) -> Revision:
        raise ApplicationError("no key", type="ModelMisconfigured", non_retryable=True)

    script.revise = refuses

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL, goal=GOAL, budget=PLANS))).result()

    assert failed(failure.value).reason == "not_found"
    assert "no key" in failed(failure.value).message


@pytest.mark.parametrize(
    ("reason", "expected"), [("not_found", "not_found"), ("low_score", "low_score"), ("no_entry", "ModelMisconfigured")]
)
async def test_that_no_model_is_configured_is_a_remark_unless_it_is_to_learn_the_element(
    client: Client, reason: str, expected: str
) -> None:
    def refuses(_request: object) -> Proposal:
        raise ApplicationError("no model is configured", type="ModelMisconfigured", non_retryable=True)

    script = Script(perform=after_goto(lambda _, __: missed(reason)), propose=refuses)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL))).result()

    result = failed(failure.value)
    assert (result.reason, result.failed_step) == (expected, 1)
    assert "no model is configured" in result.message


async def test_plans_end_with_their_budget(client: Client) -> None:
    script = Script()
    needs_continue(script)
    other = STEP.validate_python({"action": "click", "instruction": "something else"})
    script.revise = lambda r: Revision(steps=(other, *r.plan[r.sequence :]), usage=Usage(calls=1))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL, goal=GOAL, budget=PLANS))).result()

    result = failed(failure.value)
    assert (result.reason, result.totals.plans, len(script.revised)) == ("budget_spent", 2, 2)
    assert "--max-plans" in result.message


async def test_no_model_is_asked_beyond_the_budget_also_not_for_an_element(client: Client) -> None:
    script = Script(
        perform=after_goto(lambda r, _: done(r) if given(r, "proposed") else missed("no_entry")),
        propose=lambda r: Proposal(target=None if r.sequence > 2 else BUTTON, usage=Usage(calls=1)),
    )

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL, SEND, FILL, budget=RunLimits(calls=2)))).result()

    result = failed(failure.value)
    assert (result.reason, result.failed_step, len(script.proposed)) == ("budget_spent", 3, 2)
    assert "--max-calls" in result.message


async def test_a_person_can_have_a_failed_step_done_again(client: Client) -> None:
    mended: list[bool] = []
    gone = missed("not_found").model_copy(update={"effect": Effect.COMMIT})
    script = Script(perform=after_goto(lambda r, _: done(r) if mended else gone))
    script.propose = lambda _: Proposal(usage=Usage(calls=1))
    wanted = run_of(GOTO, SEND, FILL, on_failure="ask")

    async with scripted(client, script) as queue:
        handle = await start(client, queue, wanted)
        await waiting(handle)
        progress = await handle.query(BrowserTask.progress)
        with pytest.raises(WorkflowUpdateFailedError) as refusal:
            await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="not_done"))
        mended.append(True)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="retry", who="Ada"))
        result = await handle.result()

    again = [request for request in script.performed if request.context.sequence == 1][-1]
    assert result.succeeded
    is_newer = again.context.run.epoch > script.performed[1].context.run.epoch
    assert (again.context.attempt, is_newer, given(again, "proposed")) == (
        "person",
        True,
        None,
    )
    assert "not found" in again.context.why
    assert (progress.answers, "not found" in progress.waiting_for) == (("retry", "done", "abandon"), True)
    assert "retry, done, abandon" in str(refusal.value.cause)
    assert [request.failed for request in script.settled] == [True]


@pytest.mark.parametrize(("verdict", "warnings"), [("done", 0), ("skip", 1)])
async def test_a_person_can_say_that_a_failed_step_is_done_or_not_needed(
    client: Client, verdict: str, warnings: int
) -> None:
    script = Script(perform=after_goto(lambda r, _: done(r) if r.context.sequence != 1 else unmet(r)))
    script.propose = lambda _: Proposal(usage=Usage(calls=1))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND, on_failure="ask"))
        await waiting(handle)
        given = PersonVerdict.model_validate({"sequence": 1, "verdict": verdict, "who": "Ada", "why": "seen"})
        await handle.execute_update(BrowserTask.resolve_step, given)
        result = await handle.result()

    assert result.succeeded
    assert (result.totals.steps, result.totals.warnings) == (3, warnings)
    assert kinds(script, 2) == ["first"]
    assert script.settled[0].verdict.who == "Ada"


async def test_without_being_told_to_ask_a_failed_step_ends_the_run(client: Client) -> None:
    script = Script(perform=after_goto(lambda r, _: unmet(r)), propose=lambda _: Proposal())

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert failed(failure.value).reason == "url_contains"


async def test_a_step_that_acts_in_vain_twice_tells_the_first_time_why(client: Client) -> None:
    def answer(request: CommandOnStep, attempt: int) -> StepOutcome:
        if isinstance(request, Recheck) or given(request, "proposal") is not None or attempt == 0:
            return unmet(request).model_copy(update={"message": "the guest has been locked out"})
        return missed("not_found").model_copy(update={"message": "the page is empty"})

    async with scripted(client, Script(after_goto(answer))) as queue:
        with pytest.raises(WorkflowFailureError) as error:
            await (await start(client, queue, run_of(GOTO, FILL, mode=Mode.REPLAY))).result()

    result = failed(error.value)
    assert result.reason == "url_contains"
    assert "unmet: the guest has been locked out; performed once more: missed: not found: the page is empty" in (
        result.message
    )


async def test_a_press_that_has_left_its_page_is_not_repeated_in_the_next_one(client: Client) -> None:
    left = Evidence(causes=(Cause.NEW_DOCUMENT,))
    press = {**SEND, "effect": "idempotent", "expect": [{"url_contains": "/done"}]}
    script = Script(after_goto(lambda r, _: unmet(r).model_copy(update={"evidence": left})))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as error:
            await (await start(client, queue, run_of(GOTO, press, mode=Mode.REPLAY))).result()

    assert failed(error.value).reason == "url_contains"
    assert [kind for kind in kinds(script) if kind != "recheck"] == ["first"]


async def test_every_further_attempt_says_its_kind_and_why(client: Client) -> None:
    script = Script(
        perform=after_goto(lambda r, call: done(r) if call == 2 else r.unmet if isinstance(r, Recheck) else unmet(r))
    )

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, FILL))).result()

    told = [(r.context.attempt, r.context.why) for r in script.performed if r.context.sequence == 1]
    assert told == [("", ""), ("recheck", "unmet: url contains"), ("retry", "unmet: url contains")]


def missed_on(page: str) -> StepOutcome:
    return missed("no_entry").model_copy(update={"snapshot": page})


async def test_a_model_that_finds_nothing_is_asked_once_more_when_the_page_is_another(client: Client) -> None:
    pages = ["early", "late"]

    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        return done(request) if given(request, "proposed") else missed_on(pages[min(call, 1)])

    script = Script(
        perform=after_goto(perform),
        propose=lambda r: Proposal(target=BUTTON if r.snapshot == "late" else None, usage=Usage(calls=1)),
    )

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, FILL))).result()

    late = next(request for request in script.performed if request.context.attempt == "late")
    assert kinds(script) == ["first", "late", "model"]
    assert [request.snapshot for request in script.proposed] == pages
    assert given(late, "shown") == "early"
    assert 0 <= given(late, "patience_ms") <= 3000


@pytest.mark.parametrize("pages", [["same", "same"], ["first", "second"]])
async def test_a_model_that_finds_nothing_is_not_asked_about_the_same_page_nor_a_third_time(
    client: Client, pages: list[str]
) -> None:
    script = Script(
        perform=after_goto(lambda _, call: missed_on(pages[min(call, 1)])),
        propose=lambda _: Proposal(usage=Usage(calls=1)),
    )

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert kinds(script) == ["first", "late"]
    assert [request.snapshot for request in script.proposed] == list(dict.fromkeys(pages))
    assert "the model names no single element" in failed(failure.value).message
