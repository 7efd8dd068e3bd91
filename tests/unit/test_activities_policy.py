"""What the activity of a step makes of a rule that forbids it."""

import pytest
from temporalio.exceptions import ApplicationError

from replaywright.domain.outcomes import BLOCKED, Status
from replaywright.domain.steps import Step
from replaywright.errors import PolicyBlocked
from tests.unit.staged import CLICK_SEND, COMPOSE, FILL_TO, SEND, TO, Stage, of_run, request, run_activity

RULE = "policy 'back-office': hosts.deny"


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr("activities.actions.RECORD_PAUSE_S", 0)
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
    async def held(*_: object) -> None:
        raise forbidden()

    monkeypatch.setattr(stage.attachments, "hold", held)
    [fill] = [one for one in stage.actions.activities() if one.__temporal_activity_definition.name == "browser.fill"]  # type: ignore[attr-defined]

    with pytest.raises(ApplicationError) as failure:
        await run_activity(fill, request(FILL_TO))

    assert (failure.value.type, failure.value.details, failure.value.non_retryable) == ("PolicyBlocked", (RULE,), True)
