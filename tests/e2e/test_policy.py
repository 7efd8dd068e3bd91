"""An operator's policy and a task's own, on a real stack: what they forbid is not done, and the rule is told."""

import pytest

from replaywright.cli.command import Exit
from replaywright.cli.runs.watching import exit_status
from replaywright.domain.task.policy import Wishes
from replaywright.domain.task.steps import Press
from replaywright.settings import Settings, load_settings
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    path = tmp_path_factory.mktemp("operator") / "policy.yaml"
    path.write_text("name: operator\nactions: {deny: [press]}\ndownloads: {types: [pdf]}\namounts: {steps: 30}\n")
    return load_settings(policy=path)


@pytest.fixture(scope="module")
async def lab(own_bare_lab: Lab) -> Lab:
    """A stage of its own, with these settings."""
    return own_bare_lab


async def test_a_run_that_the_worker_s_policy_forbids_opens_no_browser(lab: Lab) -> None:
    steps = (*lab.task.steps, Press(action="press", keys="Enter"))
    order = lab.order(lab.task.model_copy(update={"steps": steps}))

    ending = await lab.run(order)

    assert (ending.status, ending.result.rule) == ("blocked", "policy 'operator': actions.deny")
    assert exit_status(ending, fail_on_heal=False) is Exit.BLOCKED
    history = (await lab.handle(order).fetch_history()).to_json()
    assert ("policy.check" in history, "session.open" in history) == (True, False)
    assert [line["kind"] for line in await lab.trace(order)] == ["policy"]


@pytest.mark.long
async def test_a_run_that_is_beyond_an_amount_of_its_task_ends_between_two_steps(lab: Lab) -> None:
    own = Wishes.model_validate({"amounts": {"navigations": 2}})
    order = lab.order(lab.task.model_copy(update={"policy": own}))

    ending = await lab.run(order)

    assert (ending.status, ending.result.rule) == ("blocked", "task: amounts.navigations")
    assert 0 < ending.result.totals.steps < len(lab.task.steps)
    assert lab.mails(order) == []
    assert await (await lab.handle(order).describe()).memo_value("status") == "blocked"
    last = (await lab.trace(order))[-1]
    assert (last["status"], last["rule"]) == ("blocked", "task: amounts.navigations")


async def test_what_both_allow_is_done(lab: Lab) -> None:
    own = Wishes.model_validate({"actions": {"deny": ["upload"]}, "amounts": {"steps": 20, "popups": 0}})
    order = lab.order(lab.task.model_copy(update={"policy": own}))

    ending = await lab.run(order)

    assert (ending.status, len(lab.mails(order))) == ("done", 1)
