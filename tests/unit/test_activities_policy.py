"""What the activity of a step makes of a rule that forbids it."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.policing import Policing, PolicyActivities
from activities.proof.effects import EffectActivities
from activities.run.knowledge import KnowledgeActivities
from activities.vault import Vault
from replaywright.domain.policy.effective import Used
from replaywright.domain.policy.policy_runs import CheckPolicy
from replaywright.domain.run.commands import StepCommand
from replaywright.domain.run.runs import FinishRequest
from replaywright.domain.run.scope import Mode
from replaywright.domain.secrets.secret_sites import sites_in
from replaywright.domain.secrets.starts import UnsignedStarts
from replaywright.domain.step.outcomes import BLOCKED, DownloadedFile, Status
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.policy import Policy, Wishes
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import parse_authored, parse_task
from replaywright.errors import PlanRefused, PolicyBlocked
from replaywright.ports.browser import Download
from replaywright.testing.stores import FakeSecrets, FakeStarts
from tests.unit.staged import (
    CLICK_SEND,
    COMPOSE,
    FILL_TO,
    SEND,
    SESSION,
    TO,
    Stage,
    but,
    of_run,
    reapplied,
    request,
    run_activity,
    step,
)

RULE = "policy 'back-office': hosts.deny"


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr("activities.step.ledger.RECORD_PAUSE_S", 0)
    return Stage()


def forbidden(*, dispatched: bool = False) -> PolicyBlocked:
    return PolicyBlocked(f"{RULE} forbids evil.example", rule=RULE, dispatched=dispatched)


@pytest.mark.parametrize(("wanted", "target"), [(FILL_TO, TO), (CLICK_SEND, SEND)])
async def test_a_step_that_the_browser_finds_forbidden_is_blocked_and_the_rule_is_in_the_trace(
    stage: Stage, wanted: Step, target: object
) -> None:
    stage.site.fail_before = [forbidden()]

    outcome = await stage.perform(request(wanted, proposed=target))

    assert (outcome.status, outcome.reason, outcome.rule) == (Status.BLOCKED, BLOCKED, RULE)
    [line] = await stage.lines()
    assert (line["status"], line["rule"]) == ("blocked", RULE)


async def test_the_intent_of_a_commit_step_that_is_forbidden_before_its_bytes_leave_is_taken_back(stage: Stage) -> None:
    asked = request(CLICK_SEND, proposed=SEND)
    stage.site.fail_after = [forbidden()]

    outcome = await stage.perform(asked)

    assert outcome.status is Status.BLOCKED
    assert await stage.state(asked) == "NOT_DONE"


async def test_a_commit_step_of_which_something_may_have_left_is_in_doubt_not_blocked(stage: Stage) -> None:
    asked = request(CLICK_SEND, proposed=SEND)
    stage.site.fail_after = [forbidden(dispatched=True)]

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.rule) == (Status.IN_DOUBT, RULE)
    assert await stage.state(asked) == "DISPATCHED"


async def test_a_commit_step_whose_file_was_broken_off_is_blocked_and_leaves_its_intent_open(stage: Stage) -> None:
    asked = request(CLICK_SEND, proposed=SEND)
    file = DownloadedFile(name="setup.exe", state="blocked", rule=RULE)
    stage.site.downloads = [Download(file, Path("/nowhere/1"), "1")]

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.rule) == (Status.BLOCKED, RULE)
    assert "has taken effect" in outcome.message
    assert await stage.state(asked) == "DISPATCHED"


async def test_a_blocked_step_is_counted_neither_for_nor_against_its_recording(stage: Stage) -> None:
    entry = await stage.learn(request(FILL_TO, proposed=TO))
    stage.site.fail_before = [forbidden()]

    outcome = await stage.perform(of_run("r2", request(FILL_TO)), from_url=COMPOSE)

    assert outcome.status is Status.BLOCKED
    [kept] = await stage.versions(outcome)
    assert (kept.hits, kept.misses, kept.heals) == (entry.hits, entry.misses, entry.heals)


async def test_a_rule_that_is_found_outside_of_a_step_is_told_to_the_workflow_with_its_name(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def held(*_: object, **_options: object) -> None:
        raise forbidden()

    monkeypatch.setattr(stage.attachments, "hold", held)
    [fill] = [one for one in stage.actions.activities() if one.__temporal_activity_definition.name == "browser.fill"]  # type: ignore[attr-defined]

    with pytest.raises(ApplicationError) as failure:
        await run_activity(fill, StepCommand(request(FILL_TO)))

    assert (failure.value.type, failure.value.details, failure.value.non_retryable) == ("PolicyBlocked", (RULE,), True)


# ------------------------------------------------------------------------- decided by the worker, at every step


def denying(stage: Stage, **fields: object) -> None:
    """Give the stage's worker an operator's policy."""
    policing = Policing(parse_authored(Policy, {"name": "back-office", **fields}, "policy.yaml", ""))
    stage.equip(policing=policing)
    stage.effects = EffectActivities(stage.attachments, stage.store, stage.secrets, policing)
    stage.knowledge = KnowledgeActivities(stage.attachments, stage.store, stage.secrets, stage.tools.failures, policing)


async def test_a_forbidden_action_is_blocked_on_a_cache_hit_too_and_nothing_is_touched(stage: Stage) -> None:
    await stage.learn(request(CLICK_SEND, proposed=SEND))
    denying(stage, actions={"deny": ["click"]})
    asked = of_run("r2", request(CLICK_SEND))

    outcome = await stage.perform(asked, from_url=COMPOSE)

    assert (outcome.status, outcome.rule) == (Status.BLOCKED, "policy 'back-office': actions.deny")
    assert (stage.browser.works, stage.site.dispatches, await stage.state(asked)) == ([], [], "")


@pytest.mark.parametrize(
    "fields",
    [{"proposed": SEND}, {"override": "banner"}, {"mode": Mode.LEARN}, {"recovered": True}],
)
async def test_it_is_blocked_however_the_step_came_about(stage: Stage, fields: dict[str, Any]) -> None:
    denying(stage, actions={"allow": ["goto", "fill"]})

    asked = request(CLICK_SEND, **fields)

    for outcome in (await stage.perform(asked), await stage.perform(reapplied(asked))):
        assert (outcome.status, outcome.rule) == (Status.BLOCKED, "policy 'back-office': actions.allow")
    assert stage.browser.works == []


async def test_a_step_that_was_done_before_the_rule_is_answered_by_the_ledger(stage: Stage) -> None:
    asked = request(CLICK_SEND, proposed=SEND)
    await stage.perform(asked)
    denying(stage, actions={"deny": ["click"]})

    outcome = await stage.perform(but(asked, recovered=True))

    assert (outcome.status, outcome.from_ledger) == (Status.DONE, True)


async def test_what_the_task_itself_forbids_is_blocked_without_an_operator_s_file(stage: Stage) -> None:
    own = Wishes.model_validate({"actions": {"deny": ["fill"]}})

    outcome = await stage.perform(request(FILL_TO, proposed=TO, policy=own))

    assert (outcome.status, outcome.rule) == (Status.BLOCKED, "task: actions.deny")


async def test_a_step_beyond_an_amount_is_blocked_but_not_one_that_is_only_done_again(stage: Stage) -> None:
    denying(stage, amounts={"steps": 2})
    spent = Used(steps=2)

    beyond = await stage.perform(request(FILL_TO, proposed=TO, used=spent))
    again = await stage.perform(reapplied(request(FILL_TO, proposed=TO, used=spent)))

    assert (beyond.status, beyond.rule) == (Status.BLOCKED, "policy 'back-office': amounts.steps")
    assert again.status is Status.DONE


async def test_a_file_that_was_broken_off_by_a_rule_blocks_the_step_and_is_not_kept(stage: Stage) -> None:
    rule = "policy 'back-office': downloads.types"
    file = DownloadedFile(name="setup.exe", size=5, state="blocked", rule=rule)
    stage.site.downloads = [Download(file, Path("/nowhere/1"), "1")]

    outcome = await stage.perform(request(FILL_TO, proposed=TO))

    assert (outcome.status, outcome.rule) == (Status.BLOCKED, rule)
    assert outcome.evidence.files == (file,)
    assert stage.site.downloads == []


async def test_the_browser_is_given_what_it_has_to_keep_to(stage: Stage) -> None:
    denying(stage, downloads={"types": ["pdf"]}, upload_roots=["/srv"], amounts={"popups": 3})

    await stage.perform(request(FILL_TO, proposed=TO, used=Used(popups=2)))

    [work] = stage.browser.works
    assert work.guard is not None
    assert work.guard.popups is not None
    assert (work.guard.types[0].types, work.guard.uploads[0].folders, work.guard.popups.value) == (
        ("pdf",),
        ("/srv",),
        1,
    )


async def test_a_run_that_is_over_an_amount_at_its_end_makes_nothing_active(stage: Stage) -> None:
    denying(stage, amounts={"popups": 0})
    finish = FinishRequest(run_id="r1", lineage="l1", tenant="acme", task="t", session=SESSION, used=Used(popups=1))

    with pytest.raises(ApplicationError) as failure:
        await run_activity(stage.knowledge.finish_run, finish)

    assert failure.value.details == ("policy 'back-office': amounts.popups",)
    assert "promote" not in stage.store.calls


async def test_a_run_is_checked_before_it_begins_and_told_what_it_may_spend(stage: Stage) -> None:
    denying(stage, actions={"deny": ["upload"]}, spending={"calls": 7})
    activities = PolicyActivities(stage.tools.policing, stage.vault, stage.store)
    steps = [{"action": "goto", "url": "http://site/"}, {"action": "fill", "instruction": "the name", "value": "x"}]
    task = parse_task({"task": "t", "steps": steps}, "test")
    asked = CheckPolicy(run_id="r1", lineage="l1", tenant="acme", task=task, plan=task.steps)
    upload = step("upload", "the file field", files=["a.pdf"])

    granted = await run_activity(activities.check_policy, asked)
    with pytest.raises(ApplicationError) as failure:
        await run_activity(activities.check_policy, asked.model_copy(update={"plan": (*task.steps, upload)}))

    assert granted.caps.over(RunLimits(calls=60)).calls == 7
    assert (failure.value.type, failure.value.details) == ("PolicyBlocked", ("policy 'back-office': actions.deny",))
    [line] = await stage.lines()
    assert (line["kind"], line["rule"]) == ("policy", "policy 'back-office': actions.deny")


def test_a_plan_of_a_model_that_the_policy_forbids_is_refused_with_the_rule() -> None:
    policing = Policing(Policy.model_validate({"name": "back-office", "actions": {"deny": ["press"]}}))

    with pytest.raises(
        PlanRefused, match=r"step 2 \(press\) is forbidden, do without: policy 'back-office': actions.deny"
    ):
        policing.pass_plan(None, (CLICK_SEND, step("press", "", keys="Enter")))


async def test_a_run_that_names_an_unbound_secret_does_not_begin(stage: Stage) -> None:
    activities = PolicyActivities(stage.tools.policing, stage.vault, stage.store)
    data = {"task": "t", "url": "https://shop.example:8443/login", "secrets": ["PASSWORD", "LOOSE"], "goal": "log in"}
    task = parse_task(data, "test")

    with pytest.raises(ApplicationError) as failure:
        await run_activity(
            activities.check_policy, CheckPolicy(run_id="r1", lineage="l1", tenant="acme", task=task, plan=())
        )

    assert failure.value.details == ("secret-domains",)
    assert "`replaywright admin secrets bind LOOSE shop.example:8443`" in str(failure.value)
    assert "REPLAYWRIGHT_SECRET_LOOSE_DOMAINS=shop.example:8443" in str(failure.value)


async def test_a_run_that_names_a_secret_without_a_value_does_not_begin(stage: Stage) -> None:
    bound = FakeSecrets({}, {"PASSWORD": sites_in("shop.example", "test")})
    activities = PolicyActivities(stage.tools.policing, Vault(bound, FakeStarts()), stage.store)
    task = parse_task({"task": "t", "url": "https://shop.example/", "secrets": ["PASSWORD"], "goal": "log in"}, "test")

    with pytest.raises(ApplicationError, match="before anything was done: secret 'PASSWORD' has no value") as failure:
        await run_activity(
            activities.check_policy, CheckPolicy(run_id="r1", lineage="l1", tenant="acme", task=task, plan=())
        )

    assert (failure.value.type, failure.value.non_retryable) == ("SecretMissing", True)


@pytest.mark.parametrize(
    ("unsigned", "secrets", "says"),
    [
        ("refuse", [], "the start of this run is not signed"),
        ("no-secrets", ["PASSWORD"], "it gets no secret"),
        ("no-secrets", [], "unsigned"),
        ("trust", ["PASSWORD"], "trusted"),
    ],
)
async def test_what_becomes_of_an_unsigned_start_is_the_operators_word(
    stage: Stage, unsigned: str, secrets: list[str], says: str
) -> None:
    vault = Vault(stage.secrets, FakeStarts("unsigned"), UnsignedStarts(unsigned))
    activities = PolicyActivities(stage.tools.policing, vault, stage.store)
    task = parse_task({"task": "t", "url": "https://shop.example/", "secrets": secrets, "goal": "log in"}, "test")
    asked = CheckPolicy(run_id="r1", lineage="l1", tenant="acme", task=task, plan=())

    try:
        said = (await run_activity(activities.check_policy, asked)).start
    except ApplicationError as refused:
        said = str(refused)  # type: ignore[assignment]

    assert says in said
