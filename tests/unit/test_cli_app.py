"""Help, version, schema, and how errors and endings become exit statuses."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
import yaml
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError, CancelledError, TerminatedError
from typer.testing import CliRunner

import replaywright
from activities.run.endings import ended_badly
from replaywright import errors
from replaywright.cli import app as app_module
from replaywright.cli.command import Exit, exit_status_of
from replaywright.cli.commands import app
from replaywright.cli.local import doctor
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.watching import exit_status, failure_lines
from replaywright.domain.run.runs import Progress, RunInput, RunResult, Totals
from replaywright.domain.task.tasks import parse_task
from replaywright.settings import Settings
from replaywright.stack.doctor import Diagnosis, PartHealth
from replaywright.stack.processes import free_port

ROOT = Path(__file__).parents[2]


def _commands(group: Any, path: str = "") -> Iterator[str]:
    """The paths of all commands: `runs`, `admin cache list`, …"""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}"


ROOT_COMMAND: Any = typer.main.get_command(app)


def invoked(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100"})


@pytest.mark.parametrize("command", [*_commands(ROOT_COMMAND)])
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    result = invoked(*command.split(), "--help")

    assert result.exit_code == 0
    assert f"replaywright {command}" in " ".join(result.stdout.split()).partition("Example: ")[2]


def test_the_help_lists_at_most_twenty_commands_under_headings() -> None:
    text = invoked("--help").stdout

    listed = [name for names in app_module.COMMANDS.values() for name in names]
    assert len(listed) <= 20
    assert sorted(listed) == sorted(ROOT_COMMAND.commands)
    assert all(heading in text for heading in app_module.COMMANDS)


LOADED_ALONE = """
import os, sys, httpx, pydantic, temporalio.client, typer
from replaywright.cli.app import app, load
for name in sys.argv[1:]:
    if not os.fork():
        load(name)
        print(name, name in typer.main.get_command(app).commands, flush=True)
        os._exit(0)
    os.wait()
"""
"""Each command in a process of its own, which has none of our modules but the application's."""


def test_a_command_is_there_when_only_its_own_modules_are_imported() -> None:
    names = [*ROOT_COMMAND.commands]

    found = subprocess.run([sys.executable, "-c", LOADED_ALONE, *names], capture_output=True, text=True, check=True)

    assert found.stdout.splitlines() == [f"{name} True" for name in names], found.stderr


def test_the_version_is_printed() -> None:
    assert invoked("--version").stdout == f"replaywright {replaywright.__version__}\n"


def test_an_unknown_option_is_bad_input() -> None:
    assert invoked("run", "--no-such-option").exit_code == 2


def test_the_process_ends_with_the_status_of_its_command() -> None:
    def ended(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "replaywright", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout

    assert ended("--version") == (0, f"replaywright {replaywright.__version__}\n")
    assert ended("run", "no/such.yaml") == (2, "")


# --- schema -------------------------------------------------------------------------------------------------------


@cache
def schema() -> dict[str, Any]:
    """Return the schema of tasks, made once: tests only read it."""
    result: dict[str, Any] = json.loads(invoked("admin", "schema").stdout)
    return result


def validate(given: object, described: dict[str, Any]) -> None:
    """The same as jsonschema's own, which checks the schema again each time."""
    jsonschema.Draft202012Validator(described).validate(given)


def test_the_schema_accepts_the_demo_task() -> None:
    task = yaml.safe_load((ROOT / "demo" / "send_mail.yaml").read_text())

    jsonschema.Draft202012Validator.check_schema(schema())
    validate(task, schema())


def test_the_schema_accepts_a_task_of_a_goal_and_a_page() -> None:
    validate({"task": "greet", "goal": "Greet Ada", "url": "http://site/"}, schema())


@pytest.mark.parametrize(
    "wrong",
    [
        {"colour": "red"},
        {"steps": []},
        {"steps": [], "goal": "Greet somebody"},
        {"steps": [{"action": "clik", "instruction": "x"}]},
        {"steps": [{"action": "click", "instruction": "x", "timeout": 1}]},
        {"task": "Not A Name"},
    ],
)
def test_the_schema_refuses_what_the_program_refuses(wrong: dict[str, Any]) -> None:
    task = {"task": "greet", "steps": [{"action": "goto", "url": "/"}]}

    with pytest.raises(jsonschema.ValidationError):
        validate(task | wrong, schema())


def test_the_schema_explains_fields_to_an_editor() -> None:
    described = schema()

    assert described["title"] == "Replaywright task"
    assert "part of the run's id" in described["properties"]["task"]["description"]
    assert "plain words" in described["$defs"]["Click"]["properties"]["instruction"]["description"]
    assert (
        "Time for finding, acting and verifying"
        in described["$defs"]["Goto"]["properties"]["timeout_ms"]["description"]
    )


def contract(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(invoked("admin", "schema", name).stdout)
    jsonschema.Draft202012Validator.check_schema(result)
    return result


def test_the_schema_of_a_run_s_input_takes_task_and_values_and_all_that_a_command_sends() -> None:
    task = yaml.safe_load((ROOT / "demo" / "send_mail.yaml").read_text())
    values = {"to": "ada@example.com"}
    described = contract("--run-input")

    validate({"task": task, "values": values}, described)
    sent = RunInput(task=parse_task(task, "test"), values=values).model_dump(mode="json", by_alias=True)
    validate(sent, described)
    assert described["required"] == ["task"]
    assert described["properties"]["mode"]["description"].startswith("`auto`: cache")
    assert not {"state", "resume"} & described["properties"].keys()
    assert "RunState" not in described["$defs"]
    for wrong in (
        {},
        {"task": {**task, "colour": "red"}},
        {"task": task, "values": {"n": 1}},
        {"task": task, "mode": "x"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            validate(wrong, described)


@pytest.mark.parametrize(("option", "sent"), [("--run-result", RunResult(succeeded=True)), ("--progress", Progress())])
def test_the_schemas_of_what_comes_back_describe_what_is_sent(option: str, sent: BaseModel) -> None:
    described = contract(option)

    validate(sent.model_dump(mode="json", by_alias=True), described)
    assert set(described["required"]) == set(described["properties"])
    assert all("description" in told for told in described["properties"].values())


def test_only_one_schema_is_printed() -> None:
    result = invoked("admin", "schema", "--run-input", "--policy")

    assert result.exit_code == Exit.BAD_INPUT
    assert "say one of --skills, --policy, --run-input, --run-result and --progress" in result.stderr


def test_a_run_with_a_redis_that_is_down_says_so_before_anything_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_REDIS_URL", f"redis://:hunter2@127.0.0.1:{free_port()}/0")
    monkeypatch.setenv("REPLAYWRIGHT_TEMPORAL_ADDRESS", f"127.0.0.1:{free_port()}")
    given = ["-p", "base_url=http://127.0.0.1:1", "-p", "to=ada@example.com", "-p", "subject=x", "-p", "body=x"]

    result = invoked("run", "demo/send_mail.yaml", *given)

    assert result.exit_code == Exit.BAD_INPUT
    assert "see whether it runs and the address is right" in " ".join(result.stderr.split())
    assert "hunter2" not in result.stderr


# --- exit statuses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InputInvalid("x"), Exit.BAD_INPUT),
        (errors.SettingsInvalid("x"), Exit.BAD_INPUT),
        (errors.SecretMissing("x"), Exit.BAD_INPUT),
        (errors.StackFailed("x"), Exit.BAD_INPUT),
        (errors.ChromiumMissing("x"), Exit.BAD_INPUT),
        (errors.StoreUnavailable("x"), Exit.BAD_INPUT),
        (errors.SessionLost("x"), Exit.FAILED),
        (errors.ModelRefused("x"), Exit.FAILED),
    ],
)
def test_errors_have_their_exit_status(error: errors.ReplaywrightError, status: Exit) -> None:
    assert exit_status_of(error) is status


@pytest.mark.parametrize(
    ("ending", "fail_on_heal", "status"),
    [
        (Ending("done", RunResult(succeeded=True)), True, 0),
        (Ending("done", RunResult(succeeded=True, totals=Totals(heals=1))), False, 0),
        (Ending("done", RunResult(succeeded=True, totals=Totals(heals=1))), True, 3),
        (Ending("failed", RunResult(succeeded=False, totals=Totals(heals=1))), True, 1),
        (Ending("waiting", RunResult(succeeded=False)), True, 4),
        (Ending("cancelled", RunResult(succeeded=False)), False, 1),
        (Ending("terminated", RunResult(succeeded=False)), False, 1),
        (Ending("timed_out", RunResult(succeeded=False)), False, 1),
    ],
)
def test_endings_have_their_exit_status(ending: Ending, fail_on_heal: bool, status: int) -> None:
    assert exit_status(ending, fail_on_heal=fail_on_heal) == status


def test_a_bug_is_one_line_that_says_how_to_report_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_options: object) -> Settings:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(doctor, "load_settings", broken)

    result = invoked("doctor")

    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith("unexpected ZeroDivisionError: oops")
    assert "--debug" in line


def test_a_bug_shows_its_traceback_with_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_options: object) -> Settings:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(doctor, "load_settings", broken)

    assert "Traceback" in invoked("--debug", "doctor").stderr


@pytest.mark.parametrize(("health", "status"), [(PartHealth.OK, 0), (PartHealth.WARNING, 0), (PartHealth.FAILED, 1)])
def test_doctor_fails_only_when_something_needed_is_missing(
    monkeypatch: pytest.MonkeyPatch, health: PartHealth, status: int
) -> None:
    async def found(_settings: Settings) -> tuple[Diagnosis, ...]:
        return (Diagnosis(component="Redis", health=health, advice="start it"),)

    monkeypatch.setattr(doctor, "diagnose", found)

    result = invoked("doctor")

    assert result.exit_code == status
    assert "Redis: start it" in result.stdout


# --- how a failed workflow is read --------------------------------------------------------------------------------


def test_a_failed_run_brings_its_result_along() -> None:
    result = RunResult(succeeded=False, failed_step=6, reason="ambiguous", message="two buttons")
    details = result.model_dump(mode="json", by_alias=True)

    ending = Ending(*ended_badly(ApplicationError("step 7: two buttons", details, type="TaskFailed")))

    assert ending == Ending("failed", result)
    assert failure_lines(ending.result) == ["step 7: two buttons (ambiguous)"]


def test_a_run_that_a_rule_ended_is_told_apart_from_one_that_failed() -> None:
    rule = "policy 'back-office': actions.deny"
    result = RunResult(succeeded=False, failed_step=1, reason="blocked", message="it forbids click", rule=rule)
    details = result.model_dump(mode="json", by_alias=True)

    ending = Ending(*ended_badly(ApplicationError("step 2: it forbids click", details, type="TaskBlocked")))

    assert ending == Ending("blocked", result)
    assert failure_lines(ending.result) == [f"step 2: it forbids click ({rule})"]
    assert exit_status(ending, fail_on_heal=True) is Exit.BLOCKED


def test_a_failure_without_a_result_is_told_by_its_innermost_cause() -> None:
    error = ApplicationError("activity failed", type="Outer")
    error.__cause__ = ApplicationError("no such host", type="Inner")

    ending = Ending(*ended_badly(error))

    assert ending.status == "failed"
    assert ending.result.message == "no such host"


def test_cancelled_and_terminated_runs_are_told_apart() -> None:
    assert ended_badly(CancelledError())[0] == "cancelled"
    assert ended_badly(TerminatedError("by an operator"))[0] == "terminated"


def test_the_schema_of_skills_accepts_a_skill_and_refuses_one_without_steps() -> None:
    result: dict[str, Any] = json.loads(invoked("admin", "schema", "--skills").stdout)
    task = yaml.safe_load((ROOT / "demo" / "send_mail.yaml").read_text())
    skill = {"name": task["task"], "site": "https://mail.example", "patterns": ["mail {{to}}"], "task": task}

    jsonschema.Draft202012Validator.check_schema(result)
    validate({"skills": [skill]}, result)
    without = {**skill, "task": {"task": "greet", "goal": "Greet Ada", "url": "http://site/"}}
    wrongs: list[dict[str, Any]] = [{}, {"skills": []}, {"skills": [without]}, {"skills": [{**skill, "colour": "red"}]}]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            validate(wrong, result)
    assert result["$defs"]["WrittenSkill"]["properties"]["site"]["description"].startswith("Site, such as")


def test_a_dashboard_that_people_sign_in_to_has_a_port_that_is_known(tmp_path: Path) -> None:
    file = tmp_path / "people.yaml"
    told = {"address": "https://robots.example", "issuer": "https://login.example", "client_id": "robots"}
    file.write_text(yaml.safe_dump({**told, "roles": {"look": ["*"]}}), encoding="utf-8")

    result = invoked("dashboard", "--access", str(file))

    assert result.exit_code == 2
    assert "give --port as well" in " ".join(result.output.split())
