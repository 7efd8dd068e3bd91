"""`replaywright report`: where the file goes, and what is compared."""

from pathlib import Path

import pytest

import replaywright.cli.commands  # noqa: F401 - commands are registered in the order in which they are listed there
from replaywright.cli.evidence.report import file_name
from replaywright.cli.evidence.run_facts import asked_of, skill_of, status_of, totals_of, verification_of
from replaywright.cli.files import write_whole
from replaywright.cli.runs.follow import Ending
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.plan.goal_runs import SkillUse
from replaywright.domain.run.resuming import Resume
from replaywright.domain.run.runs import Progress, RunInput, RunResult, Totals
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid

TASK = parse_task(
    {
        "task": "greet",
        "url": "http://127.0.0.1:8025/",
        "steps": [{"action": "goto", "url": "http://127.0.0.1:8025/"}],
        "verify": [{"url_contains": "/"}],
    },
    "the test",
)


@pytest.mark.parametrize(
    ("run_id", "name"),
    [
        ("send-mail/127.0.0.1/20261121-103400-1a2b", "report-send-mail-127.0.0.1-20261121-103400-1a2b.html"),
        ("learned~2", "report-learned~2.html"),
        ("../../etc/passwd", "report-etc-passwd.html"),
        ("报告 <x>", "report-x.html"),
        ("//", "report-run.html"),
        ("x" * 500, f"report-{'x' * 120}.html"),
    ],
)
def test_the_file_is_named_as_the_run_and_lies_in_this_folder(run_id: str, name: str) -> None:
    assert file_name(run_id) == name


def test_a_file_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="name a file that can be written"):
        write_whole(tmp_path / "no" / "such" / "folder.html", "x")


def test_what_a_run_waits_for_is_its_status_while_it_goes_on() -> None:
    assert status_of(None, Progress(status="waiting"), None) == "waiting"
    assert status_of(None, Progress(status="paused"), None) == "paused"
    assert status_of(None, Progress(status="running"), None) == "running"
    assert status_of(None, None, None) == "running"
    assert status_of(None, None, Ending("blocked", RunResult(succeeded=False))) == "blocked"


def test_counts_come_from_the_result_else_from_what_a_worker_says_else_from_the_trace() -> None:
    told, seen = Totals(steps=3), Totals(steps=2)

    assert totals_of(Progress(totals=seen), Ending("done", RunResult(succeeded=True, totals=told))) == told
    assert totals_of(Progress(totals=seen), Ending("cancelled", RunResult(succeeded=False))) == seen
    assert totals_of(None, Ending("cancelled", RunResult(succeeded=False))) is None


def test_what_was_asked_comes_from_the_history_and_without_it_is_not_known() -> None:
    given = RunInput(task=TASK, resume=Resume(of="greet-1"))

    told = asked_of(given, Progress(steps=4))

    assert told["mode"] == "auto"
    assert told["site"] == "127.0.0.1"
    assert told["goal"] == ""
    assert told["resumed_from"] == "greet-1"
    assert told["steps_planned"] == 4
    assert asked_of(None, None) == {}


def test_the_final_verification_stands_beside_what_the_task_asks_for() -> None:
    result = RunResult(succeeded=True, verification=(PredicateResult(passed=True, reason="holds"),))

    [one] = verification_of(RunInput(task=TASK), Ending("done", result))

    assert (one.passed, one.expected) == (True, {"url_contains": "/"})


def test_the_skill_of_a_run_is_the_one_that_its_result_names() -> None:
    used = RunResult(succeeded=True, skill=SkillUse(name="greet", version=2, how="recalled"))

    found = skill_of(Ending("done", used))

    assert found is not None
    assert (found.name, found.version) == ("greet", 2)
    assert skill_of(None) is None
