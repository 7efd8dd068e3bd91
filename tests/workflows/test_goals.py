"""Runs from a goal: recalled, learned part by part, waited for, broken and learned again; on a real Temporal server."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.domain.plan.goal_plans import checked_goal_plan
from replaywright.domain.plan.goal_runs import (
    NO_PLANNER,
    ROUNDS,
    ClaimRequest,
    GoalParameter,
    LabelRequest,
    Labels,
    PlanRequest,
)
from replaywright.domain.plan.goal_runs import STEPS as STEPS_LIMIT
from replaywright.domain.plan.plans import PlanRules
from replaywright.domain.predicate.predicates import TextContains
from replaywright.domain.recall.recall import Recalled
from replaywright.domain.run.approvals import effect_of_skill, is_confirmed
from replaywright.domain.run.commands import CommandOnStep, Proposal
from replaywright.domain.run.model_requests import Revision
from replaywright.domain.run.runs import Asking, RunResult
from replaywright.domain.run.scope import Mode, Usage
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.browser import BrowserOptions
from replaywright.domain.task.questions import UNANSWERED, QuestionKind
from replaywright.domain.task.steps import ForEach, Step
from replaywright.domain.task.tasks import parse_task
from replaywright.ports.models import Labelled
from tests.workflows.scripted import Script, after_goto, done, missed, run_from, scripted, start, waiting
from tests.workflows.test_human_steps import ended, say
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

STEP: TypeAdapter[Step] = TypeAdapter(Step)
GOAL = "给 ada@example.com 发送邮件，主题是'Tea'"
VALUES = {"to": "ada@example.com", "subject": "Tea"}
LABELS = Labels(
    name="send-mail",
    label="Send a mail",
    parameters=(GoalParameter(name="to", type="email", value=VALUES["to"]), GoalParameter(name="subject", value="Tea")),
)
SENT = TextContains(text_contains="Sent to {{to}}")


def step(action: str, instruction: str, **fields: Any) -> Step:
    return STEP.validate_python({"action": action, "instruction": instruction, **fields})


COMPOSE = step("click", "the Compose link", effect="idempotent")
TO = step("fill", "the To field", value="{{to}}")
SUBJECT = step("fill", "the Subject field", value="{{subject}}")
SEND = step("click", "the Send button", effect="commit")
NEXT = step("click", "the Next button", effect="idempotent")


def skill(**fields: Any) -> Skill:
    task = parse_task(
        {
            "task": "send-mail",
            "goal": "给 {{to}} 发送邮件，主题是'{{subject}}'",
            "url": "http://site/",
            "parameters": {"to": {"type": "email"}, "subject": {}},
            "steps": [{"action": "goto", "url": "http://site/"}, *(s.model_dump(exclude_defaults=True) for s in STEPS)],
            "verify": [{"text_contains": "Sent to {{to}}"}],
            **fields,
        },
        "skill",
    )
    return Skill(
        name="send-mail", version=3, status=SkillStatus.ACTIVE, label="the title", site="http://site", task=task
    )


STEPS = (TO, SUBJECT, SEND)


def recalls(one: Skill, *, pattern: str = "a pattern") -> Callable[..., Recalled]:
    """Recall a skill by a pattern; without one, a model chose it."""
    return lambda _request: Recalled(
        decision="accept", reason="accepted", skill=one, values=VALUES, pattern=pattern, usage=Usage(calls=not pattern)
    )


def labelled(_request: object) -> Labelled:
    return Labelled(labels=LABELS, usage=Usage(calls=1))


def plans(*parts: tuple[Step, ...]) -> Callable[[PlanRequest, int], Revision]:
    """The parts of a plan one after the other; the last completes it."""

    def answer(_request: PlanRequest, call: int) -> Revision:
        last = call == len(parts) - 1
        return Revision(steps=parts[call], complete=last, verify=(SENT,) if last else (), usage=Usage(calls=1))

    return answer


def failed(error: WorkflowFailureError) -> RunResult:
    assert isinstance(error.cause, ApplicationError)
    return RunResult.model_validate(error.cause.details[0])


async def test_what_is_not_known_is_labelled_planned_part_by_part_verified_and_written_down(client: Client) -> None:
    script = Script(label=labelled, plan=plans((COMPOSE,), STEPS))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        result = await handle.result()
        history = await handle.fetch_history()

    assert script.of_goal == ["recall", "claim", "recall", "label", "plan", "plan", "learn", "release"]
    assert [request.may_ask for request in script.recalled] == [True, False]
    assert [request.context.step.action for request in script.performed] == ["goto", "click", "fill", "fill", "click"]
    assert script.performed[2].context.values == VALUES
    assert [len(request.plan) for request in script.planned] == [1, 2]
    [learned] = script.learned
    assert learned.task.goal == "给 {{to}} 发送邮件，主题是'{{subject}}'"
    assert [one.action for one in learned.task.steps] == ["goto", "click", "fill", "fill", "click"]
    assert (learned.task.verify, learned.task.parameters["to"].type) == ((SENT,), "email")
    assert (result.skill and result.skill.how, result.totals.usage.calls) == ("learned", 3)
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


async def test_a_recalled_skill_is_run_without_planner_or_executor_and_counted(client: Client) -> None:
    script = Script(recall=recalls(skill()))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_from(GOAL))).result()

    assert script.of_goal == ["recall", "note"]
    assert (script.proposed, result.totals.usage.calls) == ([], 0)
    assert [request.context.values for request in script.performed] == [VALUES] * 4
    [noted], [judged] = script.counted, script.judged
    assert (noted.run.succeeded, noted.run.version, judged.outcome) == (True, 3, "succeeded")
    assert result.skill is not None
    assert (result.skill.name, result.skill.version, result.skill.how) == ("send-mail", 3, "recalled")


async def test_a_recalled_skill_is_run_in_the_browser_that_the_caller_asks_for(client: Client) -> None:
    script = Script(recall=recalls(skill(browser={"locale": "en-GB"})))
    asked = run_from(GOAL, secrets=("KEY",))
    browser = BrowserOptions(locale="de-DE", viewport="800x600", headers={"X-Key": "{{secret:KEY}}"})
    asked = asked.model_copy(update={"task": asked.task.model_copy(update={"browser": browser})})

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, asked)).result()

    [recall], [opened] = script.recalled, script.opened
    assert (recall.context.locale, recall.context.viewport) == ("de-DE", "800x600")
    assert opened.setup is not None
    assert (opened.setup.locale, opened.setup.width, opened.setup.origin) == ("de-DE", 800, "http://site")
    assert opened.setup.headers == {"X-Key": "{{secret:KEY}}"}
    assert result.succeeded


async def test_a_skill_brings_the_browser_that_it_was_learned_in(client: Client) -> None:
    script = Script(recall=recalls(skill(browser={"time_zone": "Asia/Tokyo"})))

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_from(GOAL))).result()

    [opened] = script.opened
    assert opened.setup is not None
    assert opened.setup.time_zone == "Asia/Tokyo"


async def test_a_skill_with_consequences_that_a_model_chose_is_run_when_a_person_has_confirmed_it(
    client: Client,
) -> None:
    script = Script(recall=recalls(skill(), pattern=""))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        question = await waiting(handle)
        untouched = not script.performed
        await say(handle, 0, "approve")
        result = await ended(handle)

    assert (question.kind, question.answers) == (QuestionKind.RECALLED, ("approve", "refuse"))
    assert question.shows == (
        f"sentence: {GOAL}",
        "skill: send-mail, version 3",
        "to = ada@example.com",
        "subject = Tea",
    )
    assert "send-mail (the title)" in question.text
    assert "effect commit" in question.text
    assert question.deadline is not None
    assert untouched
    assert (result.succeeded, result.skill and result.skill.how, script.opened != []) == (True, "recalled", True)
    assert script.of_goal == ["recall", "note"]


async def test_a_skill_that_a_person_rejects_is_not_run_and_the_goal_is_learned(client: Client) -> None:
    script = Script(recall=recalls(skill(), pattern=""), label=labelled, plan=plans(STEPS))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        await waiting(handle)
        await say(handle, 0, "refuse", why="another mail")
        result = await ended(handle)

    assert script.of_goal == ["recall", "claim", "label", "plan", "learn", "release"]
    assert [judged.outcome for judged in script.judged] == ["rejected"]
    assert result.skill is not None
    assert result.skill.how == "learned"


async def test_without_a_planner_a_goal_fails_before_a_browser_is_opened_and_gives_up_its_claim(client: Client) -> None:
    def unplanned(_request: LabelRequest) -> Labelled:
        raise ApplicationError("no model is configured", type=NO_PLANNER, non_retryable=True)

    script = Script(label=unplanned)

    async with scripted(client, script) as queue:
        result = await ended(await start(client, queue, run_from(GOAL)))

    assert (result.succeeded, result.reason, result.failed_step) == (False, "ModelMisconfigured", None)
    assert (script.of_goal[-2:], script.performed) == (["label", "release"], [])


async def test_nobody_confirms_a_recall_by_time(client: Client) -> None:
    script = Script(recall=recalls(skill(), pattern=""))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL, asking=Asking(approve_within_s=0.3)))
        result = await ended(handle)

    assert (result.reason, script.performed) == (UNANSWERED, [])


@pytest.mark.parametrize(
    ("least", "effect", "asks"),
    [
        ("never", "irreversible", False),
        ("irreversible", "commit", False),
        ("irreversible", "irreversible", True),
        ("commit", "idempotent", False),
        ("read", "read", True),
    ],
)
def test_the_setting_says_from_which_effect_on_a_person_confirms(least: str, effect: str, asks: bool) -> None:
    known = skill(steps=[{"action": "click", "instruction": "the button", "effect": effect}])

    assert is_confirmed(known, Asking.model_validate({"approve_recalled": least}).approve_recalled) is asks


def test_a_press_whose_effect_nobody_declared_counts_as_commit() -> None:
    listed = {
        "action": "for_each",
        "item": "row",
        "target": {"role": "table"},
        "steps": [{"action": "click", "instruction": "x"}],
    }

    assert effect_of_skill(skill(steps=[{"action": "click", "instruction": "the button"}])) is Effect.COMMIT
    assert effect_of_skill(skill(steps=[{"action": "hover", "instruction": "the menu"}, listed])) is Effect.COMMIT
    assert effect_of_skill(skill(steps=[{"action": "hover", "instruction": "the menu"}])) is Effect.READ


@pytest.mark.long
@pytest.mark.parametrize("fields", [{"fresh": True}, {"mode": Mode.LEARN}])
async def test_a_run_that_is_to_learn_afresh_recalls_nothing(client: Client, fields: dict[str, Any]) -> None:
    script = Script(recall=recalls(skill()), label=labelled, plan=plans(STEPS))

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_from(GOAL, **fields))).result()

    assert script.of_goal == ["claim", "label", "plan", "learn", "release"]


@pytest.mark.long
async def test_a_skill_whose_secret_was_not_allowed_is_not_run(client: Client) -> None:
    steps = [{"action": "fill", "instruction": "the password field", "value": "{{secret:PIN}}"}]
    script = Script(recall=recalls(skill(secrets=["PIN"], steps=steps)))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_from(GOAL, mode=Mode.REPLAY))).result()

    assert failed(failure.value).reason == "not_recalled"
    assert "PIN" in failed(failure.value).message
    assert script.performed == []


async def test_who_learns_the_same_is_waited_for_and_then_recalled(client: Client) -> None:
    def recall(_request: object) -> Recalled:
        return (
            recalls(skill())(None) if script.of_goal.count("recall") > 1 else Recalled(decision="abstain", reason="no")
        )

    def claim(request: ClaimRequest, call: int) -> str:
        return "other-run" if call == 0 else request.run_id

    script = Script(recall=recall, claim=claim)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        result = await handle.result()
        progress = await handle.query(BrowserTask.progress)

    assert script.of_goal == ["recall", "claim", "claim", "recall", "release", "note"]
    assert result.totals.usage.calls == 0
    notes = [line.title for line in progress.lines if line.kind == "note"]
    assert "waited for other-run, which learned the same" in notes
    assert notes[-1] == "recalled skill send-mail, version 3"


@pytest.mark.long
async def test_who_does_not_wait_learns_beside_the_other(client: Client) -> None:
    script = Script(claim=lambda _request, _call: "other-run", label=labelled, plan=plans(STEPS))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_from(GOAL, wait_for_others=False))).result()

    assert script.of_goal.count("claim") == 1
    assert result.succeeded


def needs_next(script: Script) -> Callable[[CommandOnStep, int], StepOutcome]:
    """The subject field is only there once Next was clicked."""

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        clicked = any(one.context.step.instruction == NEXT.instruction for one in script.performed[:-1])
        return (
            done(request) if clicked or request.context.step.instruction != SUBJECT.instruction else missed("not_found")
        )

    return after_goto(perform)


async def test_a_skill_that_breaks_is_suspect_and_learned_again_from_the_step_that_failed(client: Client) -> None:
    script = Script(recall=recalls(skill()), plan=plans((NEXT, SUBJECT, SEND)), propose=lambda _: Proposal())
    script.perform = needs_next(script)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        result = await handle.result()
        history = await handle.fetch_history()

    assert script.of_goal[:4] == ["recall", "note", "plan", "learn"]
    [noted, *_], [asked], [learned] = script.counted, script.planned, script.learned
    assert (noted.run.succeeded, noted.run.failed_step) == (False, 2)
    assert "the Subject field" in noted.run.reason
    assert (asked.position, asked.failed.startswith("missed"), len(asked.plan)) == (2, True, 4)
    assert learned.replaces is not None
    assert learned.replaces.version == 3
    assert [one.instruction for one in learned.task.steps[1:]] == [s.instruction for s in (TO, NEXT, SUBJECT, SEND)]
    assert sum(one.context.step.action == "goto" for one in script.performed) == 1
    assert result.skill is not None
    await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


@pytest.mark.long
async def test_a_skill_that_breaks_and_cannot_be_learned_again_fails_with_both_reasons(client: Client) -> None:
    script = Script(
        recall=recalls(skill()),
        plan=lambda _request, _call: Revision(gave_up="the page is closed", complete=False),
        propose=lambda _: Proposal(),
    )
    script.perform = needs_next(script)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_from(GOAL))).result()

    said = failed(failure.value).message
    assert "not_found" in said
    assert "the page is closed" in said
    assert script.of_goal[:3] == ["recall", "note", "plan"]
    assert [noted.run.succeeded for noted in script.counted] == [False, False]


@pytest.mark.long
async def test_a_skill_is_not_blamed_for_what_is_not_the_page_s_doing(client: Client) -> None:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        raise ApplicationError("no such variable", type="SecretMissing", non_retryable=True)

    script = Script(recall=recalls(skill()), perform=after_goto(perform))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError):
            await (await start(client, queue, run_from(GOAL))).result()

    assert [noted.run.outside for noted in script.counted] == [True]


async def test_a_plan_without_end_ends_with_its_reason(client: Client) -> None:
    def plan(_request: PlanRequest, _call: int) -> Revision:
        return Revision(steps=(NEXT,), complete=False, usage=Usage(calls=1))

    script = Script(label=labelled, plan=plan)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_from(GOAL))).result()

    assert failed(failure.value).reason == "endless_plan"
    assert (len(script.planned), script.learned) == (ROUNDS, [])
    assert script.of_goal[-1] == "release"


@pytest.mark.long
async def test_a_planner_that_gives_up_ends_the_run_with_its_words(client: Client) -> None:
    script = Script(label=labelled, plan=lambda *_: Revision(gave_up="there is no such page", complete=False))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_from(GOAL))).result()

    assert failed(failure.value).reason == "planner_gave_up"
    assert "there is no such page" in failed(failure.value).message


@pytest.mark.long
async def test_without_a_final_verification_nothing_becomes_a_skill(client: Client) -> None:
    script = Script(label=labelled, plan=lambda *_: Revision(steps=STEPS, complete=True))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_from(GOAL))).result()

    assert (result.succeeded, result.skill, script.learned) == (True, None, [])


@pytest.mark.long
async def test_a_goal_without_labels_is_done_and_not_learned(client: Client) -> None:
    def label(_request: object) -> Labelled:
        raise ApplicationError("no usable answer", type="ModelRefused", non_retryable=True)

    sent = TextContains(text_contains="Sent")
    script = Script(label=label, plan=lambda *_: Revision(steps=(COMPOSE, SEND), complete=True, verify=(sent,)))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_from(GOAL))).result()

    assert (result.succeeded, script.learned) == (True, [])


@pytest.mark.long
async def test_several_values_in_a_goal_are_one_parameter_of_type_list(client: Client) -> None:
    numbers = GoalParameter(name="numbers", type="list", value='["I1", "I2"]', said="I1 and I2")
    labels = Labels(name="download", label="Download invoices", parameters=(numbers,))
    body = {"action": "click", "instruction": "the Download link of {{number}}"}
    every = STEP.validate_python({"action": "for_each", "item": "number", "values": "{{numbers}}", "steps": [body]})
    shown = TextContains(text_contains="Invoices")

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        return done(
            request, **({"extracted": {"items": ["I1", "I2"]}} if request.context.step.action == "for_each" else {})
        )

    script = Script(
        label=lambda _: Labelled(labels=labels, usage=Usage(calls=1)),
        plan=lambda *_: Revision(steps=(every,), complete=True, verify=(shown,)),
        perform=perform,
    )

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_from("Download invoices I1 and I2"))).result()

    [learned] = script.learned
    assert (learned.task.goal, learned.task.parameters["numbers"].type) == ("Download invoices {{numbers}}", "list")
    assert [request.context.values["number"] for request in script.performed if request.context.item] == ["I1", "I2"]


@pytest.mark.parametrize("count", [3, pytest.param(STEPS_LIMIT + 1, marks=pytest.mark.long)])
async def test_a_goal_about_all_of_something_becomes_a_list_that_is_done_row_by_row_and_kept_as_one(
    client: Client, count: int
) -> None:
    body = [{"action": "click", "instruction": "the Download link of {{invoice.Number}}"}]
    table = {"item": "invoice", "target": {"role": "table"}, "where": {"Status": "open"}, "steps": body}
    shown = {"text_contains": "Invoices"}
    rows = [{"Number": f"I{number}", "Status": "open"} for number in range(count)]

    def plan(request: PlanRequest, call: int) -> Revision:
        """What `model.plan` makes of the model's two answers; with the list done, there is nothing left to do."""
        items = [{"action": "for_each", "limit": 100, **table}] if call == 0 else []
        known = PlanRules(
            task=request.task,
            values=request.values,
            plan=request.plan,
            position=request.position,
            commits=request.commits,
            url="http://site/",
        )
        told = checked_goal_plan(items, known, complete=call == 1, verify=[shown] if call else [], last=False)
        return Revision(steps=told.steps, complete=told.complete, verify=told.verify)

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        if request.context.step.action == "for_each":
            return done(request, extracted={"items": rows})
        return done(request, effect=Effect.COMMIT if request.context.item else Effect.IDEMPOTENT)

    script = Script(plan=plan, perform=after_goto(perform))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_from("Download every open invoice"))).result()

    clicked = [request for request in script.performed if request.context.item]
    assert [request.context.values["invoice.Number"] for request in clicked] == [row["Number"] for row in rows]
    assert [(request.position, request.commits) for request in script.planned] == [(1, ()), (2, (1,))]
    [learned] = script.learned
    assert [one.action for one in learned.task.steps] == ["goto", "for_each"]
    assert isinstance(learned.task.steps[1], ForEach)
    assert [one.action for one in learned.task.steps[1].steps] == ["click"]
    assert result.succeeded


@pytest.mark.long
async def test_a_run_that_is_cancelled_while_it_learns_lets_others_learn(client: Client) -> None:
    held = asyncio.Event()
    script = Script(label=labelled, plan=lambda *_: Revision(steps=(COMPOSE,), complete=False))

    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        held.set()
        raise ApplicationError("the store is away", type="StoreUnavailable")

    script.perform = after_goto(perform)
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_from(GOAL))
        await held.wait()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert (script.of_goal[-1], script.learned) == ("release", [])
