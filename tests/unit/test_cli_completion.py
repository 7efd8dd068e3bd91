"""What the shell is offered for a word that is not finished."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from replaywright.cli import completion


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TEMPORAL_ADDRESS", "REPLAYWRIGHT_TEMPORAL_ADDRESS", "REPLAYWRIGHT_REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REPLAYWRIGHT_HOME", str(tmp_path / "home"))


def test_task_files_are_offered_and_folders_that_may_hold_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks").mkdir()
    for name in ("mail.yaml", "mail.txt", "more.json", "tasks/order.yml", ".hidden.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)

    assert completion.tasks("") == ["mail.yaml", "more.json", "tasks/"]
    assert completion.tasks("ma") == ["mail.yaml"]
    assert completion.tasks("tasks/") == ["tasks/order.yml"]
    assert completion.tasks("tasks/o") == ["tasks/order.yml"]
    assert completion.tasks("nowhere/") == []


def test_nothing_is_started_to_complete_a_run_or_a_skill(tmp_path: Path) -> None:
    assert completion.runs("") == []
    assert completion.skills("") == []
    assert not (tmp_path / "home").exists()


def test_a_server_that_does_not_answer_offers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_TEMPORAL_ADDRESS", "127.0.0.1:1")
    monkeypatch.setenv("REPLAYWRIGHT_REDIS_URL", "redis://127.0.0.1:1")
    monkeypatch.setenv("REPLAYWRIGHT_UNSIGNED", "true")

    assert completion.runs("") == []
    assert completion.skills("") == []


def test_the_shell_gets_them(tmp_path: Path) -> None:
    (tmp_path / "mail.yaml").touch()
    shell = {"_REPLAYWRIGHT_COMPLETE": "complete_bash", "COMP_WORDS": "replaywright run ma", "COMP_CWORD": "2"}
    program = Path(sys.executable).with_name("replaywright")

    told = subprocess.run([program], env=os.environ | shell, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert told.stdout.split() == ["mail.yaml"], told.stderr
