"""`replaywright admin trace` on files: what is printed, and how it exits."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from replaywright.cli.commands import app
from replaywright.cli.evidence.trace import SHOWN
from tests.unit.test_domain_audit import LINES, WHOLE, file_of, joined


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def called(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["admin", "trace", *arguments], env={"COLUMNS": "300"})


def test_a_file_as_it_was_written_is_confirmed(file: Path) -> None:
    file.write_text(WHOLE)

    result = called("verify", str(file))
    machine = json.loads(called("verify", str(file), "--json").stdout)

    assert (result.exit_code, result.stderr) == (0, "")
    said = result.stdout.splitlines()
    assert said[0].startswith("the lines are not signed")
    assert said[1].startswith(f"{file}: as it was written: 7 lines, 1 execution of run-1, seal ")
    assert (machine["whole"], machine["findings"], machine["header"]["lines"]) == (True, [], 7)


def test_the_first_bad_line_is_named_and_the_exit_status_is_1(file: Path) -> None:
    file.write_text(joined([*LINES[:3], LINES[3].replace("step 2", "step 9"), *LINES[4:]]))

    result = called("verify", str(file))

    assert result.exit_code == 1
    assert result.stdout.startswith(f"{file}:4: altered: what it says is not what its digest is of")


def test_of_many_findings_some_are_printed(file: Path) -> None:
    file.write_text(LINES[0] + "\n" + "[]\n" * 50)

    result = called("verify", str(file))

    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == SHOWN + 2  # those, how many more, and that there is no history
    assert "more" in result.stdout


def test_another_seal_is_told(file: Path) -> None:
    file.write_text(WHOLE)

    result = called("verify", str(file), "--seal", "0" * 64)

    assert result.exit_code == 1
    assert f"{file}:1: another file: its seal is" in result.stdout


def test_a_file_that_is_not_there_or_holds_nothing_to_replay_is_bad_input(file: Path) -> None:
    missing = called("verify", str(file))
    file.write_text(file_of(histories=()))
    nothing = called("replay", str(file))
    file.write_text("no trace\n")
    other = called("replay", str(file))

    assert [result.exit_code for result in (missing, nothing, other)] == [2, 2, 2]
    assert "no such file" in missing.stderr
    assert "holds no history to replay: export it again" in nothing.stderr
    assert "line 1 cannot be read" in other.stderr
