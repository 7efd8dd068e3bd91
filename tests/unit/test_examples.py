"""The examples are what they say they are; `tests/e2e/test_documented.py` runs them."""

from pathlib import Path

import pytest

from replaywright.cli.tasks.taskfile import read_task
from replaywright.overrides import read_rules
from replaywright.policy_files import operators_policy
from tests.docs.markdown import ROOT

EXAMPLES = ROOT / "examples"
NO_TASKS = {"policy.yaml", "overrides.yaml"}
TASKS = sorted(path for path in EXAMPLES.glob("*.yaml") if path.name not in NO_TASKS and ".skill." not in path.name)


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name)
def test_an_example_is_a_task_whose_name_is_that_of_its_file(path: Path) -> None:
    task = read_task(str(path))

    assert task.task == path.stem.replace("_", "-")
    assert task.verify
    assert path.read_text("utf-8").startswith("# ")


def test_the_policy_and_the_rules_are_read() -> None:
    policy = operators_policy(EXAMPLES / "policy.yaml")

    assert policy is not None
    assert policy.name == "examples"
    assert [rule.name for rule in read_rules(str(EXAMPLES / "overrides.yaml"))] == ["no-newsletter"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_told_of_in_their_readme(path: Path) -> None:
    assert f"({path.name})" in (EXAMPLES / "README.md").read_text("utf-8")
