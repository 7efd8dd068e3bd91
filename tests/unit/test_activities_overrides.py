"""What an action tells of override rules, and how it performs a step of one."""

from typing import Any

import pytest

from replaywright.domain.run.commands import Proposal
from replaywright.domain.step.outcomes import Status
from replaywright.domain.step.overrides import OverrideRule, parse_rules
from replaywright.domain.task.actions import Effect
from replaywright.errors import ActionFailed
from replaywright.testing.browser import FakeElement
from replaywright.testing.stores import FakeOverrides
from tests.unit.staged import CLICK_HELP, CLICK_SEND, FILL_TO, HELP, SEND, TO, Stage, request, step

CLOSE_HELP = {"action": "click", "instruction": "help", "target": {"role": "button", "name": "Help"}}


def rule(name: str, **fields: Any) -> OverrideRule:
    given = {"name": name, "when": {"exists": {"role": "button", "name": "Help"}}, "do": [CLOSE_HELP], **fields}
    return parse_rules({"rules": [given]}, "test")[0]


@pytest.fixture
def stage() -> Stage:
    rules = [
        rule("before"),
        rule("stuck", tried="when_stuck"),
        rule("elsewhere", site="*.other.example"),
        rule("absent", when={"exists": {"role": "dialog"}}),
        rule("off", at_most=0),
    ]
    return Stage(overrides=FakeOverrides(rules))


async def test_a_step_that_was_done_tells_the_rules_that_are_tried_before_a_step(stage: Stage) -> None:
    outcome = await stage.perform(request(CLICK_HELP, proposed=HELP))

    assert outcome.status is Status.DONE
    assert [due.name for due in outcome.due] == ["before"]
    assert [each.effect for each in outcome.due[0].steps] == [Effect.IDEMPOTENT]


async def test_what_is_due_is_not_recorded(stage: Stage) -> None:
    asked = request(CLICK_HELP, proposed=HELP)
    await stage.perform(asked)

    again = await stage.perform(asked)

    assert again.from_ledger
    assert again.due == ()
    assert all("due" not in line or not line["due"] for line in await stage.lines())


async def test_a_miss_tells_all_rules_that_may_clear_the_way(stage: Stage) -> None:
    outcome = await stage.perform(request(FILL_TO))

    assert outcome.status is Status.MISSED
    assert [due.name for due in outcome.due] == ["before", "stuck"]


async def test_an_action_that_could_not_be_done_tells_them_too_and_gives_its_intent_back(stage: Stage) -> None:
    stage.site.fail_before.append(ActionFailed("covered", "the element is covered by a drawer", dispatched=False))
    asked = request(CLICK_SEND, proposed=SEND)

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.reason) == (Status.REFUSED, "covered")
    assert [due.name for due in outcome.due] == ["before", "stuck"]
    assert await stage.state(asked) == ""


@pytest.mark.parametrize(("spent", "names"), [(("before",), ["stuck"]), (("*",), [])])
async def test_rules_that_are_spent_are_not_looked_for(stage: Stage, spent: tuple[str, ...], names: list[str]) -> None:
    outcome = await stage.perform(request(FILL_TO, spent=spent))

    assert [due.name for due in outcome.due] == names
    assert [one.name for one in stage.browser.works[-1].overrides] == ([*names, "absent"] if names else [])


async def test_a_step_of_a_rule_is_done_as_declared_and_nothing_is_learned_from_it(stage: Stage) -> None:
    wanted = step("click", "help", target={"role": "button", "name": "Help"}, effect="idempotent")

    outcome = await stage.perform(request(wanted, override="stuck"))
    [line] = await stage.lines()

    assert outcome.status is Status.DONE
    assert outcome.due == ()
    assert line["override"] == "stuck"
    assert await stage.store.entries(tenant="acme") == []


async def test_a_recording_of_the_same_step_is_not_used_for_a_rule(stage: Stage) -> None:
    wanted = step("click", "help", target={"role": "button", "name": "Help"}, effect="idempotent")
    await stage.learn(request(wanted))
    stage.site.page(stage.browser.url).elements["twin"] = FakeElement(HELP)

    by_rule = await stage.perform(request(wanted, override="stuck", sequence=2))

    assert (by_rule.status, by_rule.reason) == (Status.MISSED, "ambiguous")


async def test_the_trace_says_how_a_pick_was_overruled(stage: Stage) -> None:
    said = "rule last: the model picked a, the rule chose b"

    await stage.perform(request(FILL_TO, proposal=Proposal(target=TO, overruled=said)))
    [line] = await stage.lines()

    assert line["overruled"] == said
