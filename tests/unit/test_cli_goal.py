"""`run` with a sentence: what is taken for a file, what a sentence needs, and what people are told."""

from pathlib import Path

import pytest

from replaywright.cli.tasks.goal import is_file, refuse_for_steps, task_or_goal, told
from replaywright.cli.tasks.taskfile import plan_of, summary_of
from replaywright.domain.plan.goal_runs import SkillUse
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.task.budgets import GOAL_PLANS, PLANS, Budget, RunLimits
from replaywright.errors import InputInvalid

URL = "http://127.0.0.1:8025"
SENTENCE = "给 test@example.com 发送一封邮件，主题是'测试邮件'"


def test_a_sentence_is_a_task_without_steps() -> None:
    task = task_or_goal(f"  {SENTENCE} ", url=URL, secrets=["PASSWORD"])

    assert (task.goal, task.url, task.secrets, task.steps) == (SENTENCE, URL, ("PASSWORD",), ())


@pytest.mark.parametrize("given", ["-", "no_such.yaml", "NO_SUCH.YML", "no such.json"])
def test_what_is_named_like_a_task_file_is_one(given: str) -> None:
    assert is_file(given)


def test_what_is_there_is_a_file_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "send a mail"
    path.write_text("task: t\ngoal: Send a mail\nurl: http://site/\n")

    assert task_or_goal(str(path), url=None, secrets=[]).goal == "Send a mail"
    assert not is_file(SENTENCE * 100)


@pytest.mark.parametrize(
    ("given", "url", "secrets", "said"),
    [
        (SENTENCE, None, [], "--url"),
        (SENTENCE, "site", [], "--url 'site': expected the address of a page"),
        ("", URL, [], "TASK is empty"),
        ("Send {{to}} a mail", URL, [], "belong to task files"),
        (SENTENCE, URL, ["my secret"], "no secret's name"),
        ("task.yaml", URL, [], "--url: 'task.yaml' is a task file"),
        ("task.yaml", None, ["PASSWORD"], "--secret: 'task.yaml' is a task file"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    given: str, url: str | None, secrets: list[str], said: str
) -> None:
    with pytest.raises(InputInvalid) as refused:
        task_or_goal(given, url=url, secrets=secrets)

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_options_about_learning_are_for_what_is_learned(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("task: t\nurl: http://site/\nsteps: [{action: click, instruction: go}]\n")
    listed = task_or_goal(str(path), url=None, secrets=[])

    with pytest.raises(InputInvalid, match="--fresh"):
        refuse_for_steps(listed, fresh=True, no_wait=False)
    with pytest.raises(InputInvalid, match="--no-wait"):
        refuse_for_steps(listed, fresh=False, no_wait=True)
    refuse_for_steps(task_or_goal(SENTENCE, url=URL, secrets=[]), fresh=True, no_wait=True)


def test_the_list_of_runs_shows_a_sentence_without_its_values() -> None:
    task = task_or_goal(SENTENCE, url=URL, secrets=[])

    for shown in (summary_of(task), plan_of(task, Mode.AUTO, Heal.AUTO)):
        assert "发送一封邮件" in shown
        assert "test@example.com" not in shown
        assert "测试邮件" not in shown


def test_people_are_told_what_became_of_the_skill() -> None:
    assert told(SkillUse(name="send-mail", version=2, how="recalled")) == "replayed the skill send-mail, version 2"
    assert "again" in told(SkillUse(name="send-mail", version=2, how="relearned"))


def test_a_run_from_a_goal_may_be_planned_anew_more_often() -> None:
    assert RunLimits.of(Budget(), steps=0, planner=True).plans == GOAL_PLANS > PLANS
    assert RunLimits.of(Budget(), steps=3, planner=True).plans == PLANS
    assert RunLimits.of(Budget(plans=1), steps=0, planner=True).plans == 1
