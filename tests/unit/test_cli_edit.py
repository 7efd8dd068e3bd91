"""`replaywright edit` and `run --debug`: what they refuse before anything is started, and how a file is kept."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from replaywright.cli.commands import app
from replaywright.cli.record.edit_session import keeping
from replaywright.recording.edited_task import Draft

TASK = "task: lunch\nurl: http://lunch.test/\nsteps:\n  - {action: click, instruction: the menu}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lunch.yaml"
    path.write_text(TASK)
    return path


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "300"})
    assert result.exit_code == 2
    return result.output


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--detach"], "leave out --detach"),
        (["--json"], "leave out --json"),
        (["--wait"], "leave out --wait"),
        (["--on-failure", "fail"], "leave out --on-failure"),
    ],
)
def test_a_run_that_nobody_can_edit_is_refused(file: Path, more: list[str], told: str) -> None:
    assert told in refused("run", str(file), "--debug", *more)


def test_a_sentence_cannot_be_edited(tmp_path: Path) -> None:
    assert "--debug edits a task file" in refused("run", "Order lunch", "--url", "http://lunch.test/", "--debug")
    goal = tmp_path / "goal.yaml"
    goal.write_text("task: lunch\ngoal: Order lunch\nurl: http://lunch.test/\nsteps: []\n")
    assert "no steps" in refused("edit", str(goal))


def test_a_task_that_is_not_there_and_an_address_that_is_not_allowed_are_told_at_once(tmp_path: Path) -> None:
    assert "no such file" in refused("edit", str(tmp_path / "none.yaml"))
    local = tmp_path / "local.yaml"
    local.write_text(TASK.replace("http://lunch.test/", "http://10.9.8.7/"))
    result = CliRunner().invoke(app, ["edit", str(local)], env={"COLUMNS": "300"})
    assert result.exit_code == 5
    assert "is blocked: addresses: 10.9.8.7" in result.output


def test_a_file_that_was_changed_meanwhile_or_loses_comments_is_kept(file: Path) -> None:
    keep = keeping(Draft(TASK, str(file)))

    assert keep("one", True) == f"{file} is written"
    file.write_text("by another")
    changed = keep("two", True)
    lost = keep("three", False)

    assert "it was changed meanwhile" in changed
    assert "comments are lost" in lost
    assert [Path(f"{file}.bak{number}").read_text() for number in (1, 2)] == ["by another", "two"]
    assert file.read_text() == "three"
