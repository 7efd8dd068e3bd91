"""A recorded run is replayed without a server, and what today's code would decide otherwise is told in words."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from activities.policing import Policing
from replaywright.cli.evidence.offline import Difference, replay
from replaywright.domain.run.commands import StepContext
from replaywright.domain.run.runs import Totals
from replaywright.domain.run.scope import Heal
from replaywright.domain.task.policy import Policy
from replaywright.domain.trace.histories import calls_of, end_of
from replaywright.domain.trace.trace_file import History
from tests.replay.test_histories import HISTORIES
from workflows.plan.planning import Planning
from workflows.step.attempts import Attempt


def history(name: str, change: Callable[[dict[str, Any]], None] | None = None) -> History:
    """A recorded one; `change` is done to the outcome of every step."""
    path = next(path for path in HISTORIES if path.stem == name)
    events = json.loads(path.read_text(encoding="utf-8"))["events"]
    if change is not None:
        for event in events:
            result = event.get("activityTaskCompletedEventAttributes", {}).get("result")
            for payload in (result or {}).get("payloads", ()):
                answer = json.loads(base64.b64decode(payload.get("data", b"bnVsbA==")))
                if isinstance(answer, dict) and "fingerprint" in answer:
                    change(answer)
                    payload["data"] = base64.b64encode(json.dumps(answer).encode()).decode()
    started = events[0]["workflowExecutionStartedEventAttributes"]
    return History(started["workflowId"], started["originalExecutionRunId"], events)


async def told(recorded: History) -> Difference:
    """The first difference."""
    return (await replay(recorded)).differences[0]


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_the_code_of_today_decides_as_recorded(path: Path) -> None:
    recorded = history(path.stem)

    replayed = await replay(recorded)

    assert replayed.differences == ()
    assert replayed.activities == len(calls_of(recorded.events)) > 5


async def test_another_fingerprint_is_told_with_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replaywright.domain.step.fingerprints.VERSION", 0)

    difference = await told(history("replayed"))

    assert difference.where.startswith("0001-")
    assert difference.what.startswith("another fingerprint: recorded: browser.goto 'goto {{base_url}}/login' (0001-")


async def test_what_the_policy_of_today_would_block_is_told_with_its_rule() -> None:
    operator = Policy.model_validate({"name": "today", "actions": {"deny": ["fill"]}})

    replayed = await replay(history("replayed"), Policing(operator))

    assert replayed.differences
    for difference in replayed.differences:
        assert "browser.fill" in difference.what
        assert "recorded done; today blocked by policy 'today': actions.deny: fill is denied" in difference.what


async def test_a_step_that_was_blocked_and_would_not_be_today_is_told() -> None:
    def block(outcome: dict[str, Any]) -> None:
        outcome |= {"status": "blocked", "reason": "blocked", "rule": "policy 'then': actions.allow"}

    differences = (await replay(history("replayed", block))).differences

    said = [difference.what for difference in differences if "today: allowed" in difference.what]
    assert said
    assert "recorded blocked by policy 'then': actions.allow; today: allowed" in said[0]


async def test_another_activity_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Planning, "may_name", lambda *_arguments: False)

    difference = await told(history("healed-with-fallback"))

    assert difference.where.endswith("-propose")
    assert "another activity: recorded: model.propose_target" in difference.what
    assert "today: session.close (session-close)" in difference.what


async def test_another_question_to_the_same_activity_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Attempt.step_context

    def other(attempt: Attempt) -> StepContext:
        context = asked(attempt)
        return context.model_copy(update={"run": context.run.model_copy(update={"heal": Heal.OFF})})

    monkeypatch.setattr(Attempt, "step_context", other)

    difference = await told(history("replayed"))

    assert difference.where.startswith("0001-")
    assert difference.what.endswith('would be asked something else: context.run.heal: recorded "auto", today "off"')


async def test_another_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflows.repair.order.counted", lambda _totals, _outcome: Totals(steps=99))

    difference = await told(history("replayed"))

    assert difference == Difference("the end", "completed with another value: totals.steps: recorded 10, today 99")


def answered_with_an_error(outcome: dict[str, Any]) -> None:
    for request in outcome.get("evidence", {}).get("requests", ()):
        request["status"] = 500


def taken_for_repeatable(outcome: dict[str, Any]) -> None:
    outcome["effect"] = "idempotent"


async def test_an_outcome_that_the_rules_of_today_judge_otherwise_is_told() -> None:
    differences = (await replay(history("replayed", answered_with_an_error))).differences

    assert any("another outcome: recorded done; today: server_error" in found.what for found in differences)


async def test_an_effect_that_the_rules_of_today_judge_otherwise_is_told() -> None:
    differences = (await replay(history("replayed", taken_for_repeatable))).differences

    assert any("another effect: recorded idempotent; today: commit" in found.what for found in differences)


def test_a_sealed_payload_and_an_execution_under_way_are_no_errors() -> None:
    sealed = [{"metadata": {"encoding": base64.b64encode(b"binary/encrypted").decode()}, "data": "AAAA"}]
    scheduled = {"activityId": "a", "activityType": {"name": "browser.click"}, "input": {"payloads": sealed}}

    [call] = calls_of([{"eventId": "5", "activityTaskScheduledEventAttributes": scheduled}])

    assert (call.activity_type, call.given, call.completed) == ("browser.click", None, False)
    assert end_of([]) is None
