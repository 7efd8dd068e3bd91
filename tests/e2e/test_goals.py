"""The sentences of the README against the demo webmail, judged by what the site stored and the model counted."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from demo.goal_scene import GoalScene
from demo.stage import PASSWORD_SECRET, Stage
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.goal import task_or_goal
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.settings import load_settings
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.delenv("REPLAYWRIGHT_MODEL", raising=False)
    async with Stage(load_settings(), tell=lambda _text: None) as made:
        yield made


@pytest.mark.long
async def test_a_sentence_is_learned_and_others_are_recalled_without_seeing_or_planning(lab: Lab) -> None:
    figures = await GoalScene(lab.stage).perform(redesigned=False)

    assert figures.failed == ()
    assert [row.model_calls > 0 for row in figures.rows] == [True, False, False, True]
    assert [(row.model_calls, row.small_calls) for row in figures.rows[1:]] == [(0, 0), (0, 0), (1, 1)]
    assert [row.skill for row in figures.rows] == [
        "learned the skill send-mail, version 1",
        *["replayed the skill send-mail, version 1"] * 3,
    ]


@pytest.mark.long
async def test_a_redesign_that_breaks_the_skill_is_learned_from_the_step_that_failed(stage: Stage) -> None:
    figures = await GoalScene(stage).perform()

    assert figures.failed == ()
    assert [row.run for row in figures.rows] == ["g1", "g2", "g3", "g4", "g5", "g6"]
    assert [row.model_calls > 0 for row in figures.rows] == [True, False, False, True, True, False]
    assert "password" not in "".join(row.model_dump_json() for row in figures.rows).lower()
    assert all(stage.password not in log.read_text(errors="replace") for log in stage.worker_logs)


@pytest.mark.long
async def test_runs_that_start_at_once_on_an_unknown_task_learn_it_once(stage: Stage) -> None:
    lab = Lab(stage)
    sentences = [
        f"给 p{number}@example.com 发送邮件，主题是'第{number}封'，内容是'正文{number}'" for number in range(4)
    ]
    tasks = [task_or_goal(sentence, url=stage.webmail, secrets=[PASSWORD_SECRET]) for sentence in sentences]

    endings = await asyncio.gather(*(lab.run(Order(task, {}, new_run_id(task, {}))) for task in tasks))

    used = [ending.result.skill for ending in endings]
    assert sorted(skill.how for skill in used if skill is not None) == ["learned", "recalled", "recalled", "recalled"]
    assert {mail.to for mail in stage.sent()} == {f"p{number}@example.com" for number in range(4)}
    assert len(stage.sent()) == 4
