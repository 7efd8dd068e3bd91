"""`replaywright record --from`: the task file it writes, what it tells, and what it refuses to overwrite."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from replaywright.cli.commands import app
from replaywright.cli.tasks.taskfile import read_task
from replaywright.imports import read_recording

RECORDINGS = Path(__file__).parents[1] / "imports" / "recordings"
DEVTOOLS = str(RECORDINGS / "devtools_webmail.json")


def _recording(arguments: tuple[str, ...]) -> list[str]:
    return ["--from", *arguments]


def invoked(*arguments: str, given: str | None = None) -> Any:
    return CliRunner().invoke(app, ["record", *_recording(arguments)], env={"COLUMNS": "300"}, input=given)


def test_the_file_that_is_written_is_a_task_that_run_takes(tmp_path: Path) -> None:
    file = tmp_path / "mail.yaml"

    result = invoked(DEVTOOLS, "--name", "mail", "--out", str(file))

    assert result.exit_code == 0, result.output
    assert read_task(str(file)) == read_recording(Path(DEVTOOLS).read_text("utf-8"), "mail").task
    assert "# left out: steps[0], steps[14], steps[17], steps[18]: setViewport, scroll, " in file.read_text("utf-8")


def test_parameters_notes_and_the_next_command_are_told(tmp_path: Path) -> None:
    file = tmp_path / "mail.yaml"

    said = invoked(DEVTOOLS, "--out", str(file)).stdout

    assert "ada@example.com" in said
    assert "not kept: set REPLAYWRIGHT_SECRET_PASSWORD" in said
    assert "waitForExpression" in said
    assert f"{file}: 12 steps; 5 left out, 2 changed, 0 to check" in said
    assert f"replaywright run {file} -p user_name=… -p to=… -p subject=… -p message=…" in said
    assert "correct horse" not in said


def test_a_file_that_is_there_is_only_overwritten_when_told_to(tmp_path: Path) -> None:
    file = tmp_path / "mail.yaml"
    file.write_text("mine")

    refused = invoked(DEVTOOLS, "--out", str(file))
    kept = file.read_text()
    forced = invoked(DEVTOOLS, "--out", str(file), "--force")

    assert (refused.exit_code, kept) == (2, "mine")
    assert "--force" in refused.stderr
    assert forced.exit_code == 0
    assert read_task(str(file)).task == "devtools-webmail"


def test_standard_input_and_output_and_json_are_for_programs(tmp_path: Path) -> None:
    text = (RECORDINGS / "codegen_webmail.py.txt").read_text("utf-8")

    piped = invoked("-", "--name", "mail", "--out", "-", given=text)
    told = json.loads(invoked("-", "--out", str(tmp_path / "m.yaml"), "--json", given=text).stdout)

    assert piped.exit_code == 0
    assert piped.stdout.startswith("# Recorded: standard input (codegen).\n")
    assert "task: mail\n" in piped.stdout
    assert (told["kind"], told["task"], told["steps"], told["secrets"]) == ("codegen", "imported", 11, ["PASSWORD"])
    assert told["parameters"]["to"] == {"type": "email", "description": "Value of 'To'", "example": "ada@example.com"}
    assert [note["where"] for note in told["notes"]] == ["line 10", "line 17"]


def test_what_is_no_recording_is_bad_input_with_the_files_name(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("buy milk")
    out = tmp_path / "task.yaml"

    for arguments in ([str(file)], [DEVTOOLS, "--kind", "selenium"], [DEVTOOLS, "--name", "No name"], ["nowhere.json"]):
        result = invoked(*arguments, "--out", str(out))

        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
        assert result.stderr.startswith(f"{arguments[0]}: ")
    assert not out.exists()
    assert invoked(DEVTOOLS, "--out", str(tmp_path / "no" / "folder.yaml")).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name the page to begin on or"),
        (("http://127.0.0.1:1/", "--from", DEVTOOLS), "leave out URL, --secret and --again"),
        (("--again", "nowhere"), "nowhere.yaml: "),
        (("ftp://127.0.0.1/",), "is no page: expected http"),
        (("http://ada:horse@shop.example/",), "holds a user and a password"),
        (("http://shop.example/", "--secret", "1st"), "expected a name of letters"),
        (("http://shop.example/", "--kind", "codegen"), "it needs --from"),
        (("http://shop.example/", "--name", "No name"), "is no task's name"),
        (("--from", DEVTOOLS, "--secret", "PASSWORD"), "leave out URL, --secret and --again"),
        (("http://shop.example/", "--skill", "--force"), "leave out --out and --force"),
    ],
)
def test_bad_input_is_told_before_a_browser_starts(arguments: tuple[str, ...], told: str) -> None:
    result = CliRunner().invoke(app, ["record", *arguments], env={"COLUMNS": "300"})

    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
    assert told in result.stderr


def test_a_file_that_is_there_is_refused_before_the_task_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "mail.yaml"
    file.write_text("mine")

    result = CliRunner().invoke(app, ["record", "http://shop.example/", "--out", str(file)])

    assert (result.exit_code, file.read_text()) == (2, "mine")
    assert "--force" in result.stderr
