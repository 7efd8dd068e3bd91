"""The command line with bad input: exit status 2 and one line that says what to do."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from replaywright.cli.commands import app
from replaywright.settings import PREFIX

TASK = """\
task: greet
url: "{{base_url}}/hello"
parameters:
  base_url: {type: text, example: "http://127.0.0.1:1"}
  day: {type: date, default: "2026-01-31"}
secrets: [PASSWORD]
steps:
  - {action: goto, url: "{{base_url}}/hello"}
  - {action: fill, instruction: the password field, value: "{{secret:PASSWORD}}"}
"""


@pytest.fixture(autouse=True)
def own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TEMPORAL_ADDRESS", "REPLAYWRIGHT_TEMPORAL_ADDRESS", "REPLAYWRIGHT_REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REPLAYWRIGHT_HOME", str(tmp_path / "home"))


def said(*arguments: str, stdin: str | bytes = "") -> str:
    """The one line on standard error of a command that must end with 2."""
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    return line


def test_a_missing_task_file_is_named() -> None:
    assert said("run", "no/such.yaml") == "no/such.yaml: no such file"


def test_yaml_that_cannot_be_read_is_reported_with_its_line() -> None:
    line = said("run", "-", stdin="task: greet\nsteps:\n  - {action: click\nurl: x\n")

    assert line.startswith("standard input:4:")
    assert "not YAML" in line


def test_json_that_cannot_be_read_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text('{"task": "greet",\n "steps": [}')

    assert said("run", str(file)).startswith(f"{file}:2:12: not JSON")


@pytest.mark.parametrize(
    ("text", "name"),
    [("task: a\nsteps: []\ntask: b\n", "task.yaml"), ('{"task": "a", "steps": [], "task": "b"}', "task.json")],
)
def test_a_field_that_is_there_twice_is_refused(tmp_path: Path, text: str, name: str) -> None:
    file = tmp_path / name
    file.write_text(text)

    assert "'task' is here twice" in said("run", str(file))


def test_an_unknown_field_is_named_with_its_place() -> None:
    line = said("run", "-", stdin="task: greet\nsteps:\n  - {action: goto, url: /, colour: red}\n")

    assert line.startswith("standard input:3: steps[0].colour: unknown field; see `replaywright admin schema`")


def test_a_file_that_is_no_utf8_is_reported_with_its_line() -> None:
    assert said("run", "-", stdin=b"task: greet\ngoal: \xff\xfe\n") == "standard input:2: expected UTF-8 text"


def test_an_empty_file_says_what_was_expected() -> None:
    assert "expected a mapping" in said("run", "-", stdin="")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "parameter 'base_url' of task 'greet' has no value"),
        (["-p", "base_url"], "--param 'base_url': expected name=value"),
        (["-p", "base_url=http://x", "-p", "colour=red"], "has no such parameter"),
        (["-p", "base_url=http://x", "-p", "day=tomorrow"], "expected a date"),
        (["-p", "base_url=\udcff"], "no UTF-8 text"),
        (["-p", "base_url=http://x", "--id", "two words"], "--id 'two words'"),
        (["-p", "base_url=http://x", "--id", ""], "--id ''"),
    ],
)
def test_wrong_options_are_named(arguments: list[str], expected: str) -> None:
    assert expected in said("run", "-", *arguments, stdin=TASK)


def test_secrets_without_a_value_are_named_before_anything_starts(tmp_path: Path) -> None:
    line = said("run", "-", "-p", "base_url=http://x", stdin=TASK)

    assert "REPLAYWRIGHT_SECRET_PASSWORD" in line
    assert not (tmp_path / "home").exists()


def test_a_detached_run_needs_a_stack_that_stays() -> None:
    assert "replaywright up" in said("run", "-", "-p", "base_url=http://x", "--detach", stdin=TASK)


@pytest.mark.parametrize("arguments", [["cancel", "x"], ["answer", "x", "done"]], ids=lambda words: words[0])
def test_what_needs_a_running_stack_says_how_to_start_one(arguments: list[str]) -> None:
    assert "replaywright up" in said(*arguments)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["answer", "--value", "x", "--value-file", "-"], "not both"),
        (["retry", "--edit", "--file", "step.yaml"], "say one of --edit, --file and --set"),
        (["done", "--set", "value=x"], "belong to the answer `retry`"),
    ],
)
def test_options_that_do_not_go_with_an_answer_are_refused(given: list[str], told: str) -> None:
    assert told in said("answer", "x", *given)


def test_a_misspelt_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}MODLE", "openai:x")

    assert "REPLAYWRIGHT_MODEL" in said("doctor")


def test_a_temporal_that_does_not_answer_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_TEMPORAL_ADDRESS", "127.0.0.1:1")

    assert "Temporal at 127.0.0.1:1 does not answer" in said("runs")


def test_with_json_an_error_is_one_object_on_standard_output() -> None:
    result = CliRunner().invoke(app, ["run", "no/such.yaml", "--json"])

    assert result.exit_code == 2
    assert json.loads(result.stdout) == {"status": "error", "message": "no/such.yaml: no such file", "exitStatus": 2}
    assert result.stderr == "no/such.yaml: no such file\n"


def test_a_task_file_cannot_colour_or_move_what_is_printed() -> None:
    line = said("run", "-", stdin='task: greet\nsteps: [{action: goto, url: /, "a\\e[31m\\u202Eb": 1}]\n')

    assert "\x1b" not in line
    assert "\u202e" not in line
