"""A skill that came from a file, run by its name: the stand-in for the model counts that nobody asked it."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from demo.stage import Stage
from replaywright.cli.commands import app
from replaywright.stack.services import settings_environment
from tests.e2e.lab import Lab

TASK = """\
task: send-note
goal: send a note to {{to}}
url: "{{base_url}}/login"
parameters:
  base_url: {}
  to: {type: email}
  subject: {}
secrets: [PASSWORD]
steps:
  - {action: fill, instruction: the user name, target: {role: textbox, name: User name}, value: demo}
  - {action: fill, instruction: the password, target: {label: Password}, value: "{{secret:PASSWORD}}"}
  - action: click
    instruction: log in
    target: {role: button, name: Log in}
    effect: idempotent
    expect: [{url_contains: /inbox}]
  - {action: click, instruction: compose, target: {role: link, name: Compose}, effect: idempotent}
  - {action: fill, instruction: To, target: {role: textbox, name: To}, value: "{{to}}"}
  - {action: fill, instruction: Subject, target: {role: textbox, name_contains: Subject}, value: "{{subject}}"}
  - {action: click, instruction: send, target: {role: button, name: Send}, effect: commit}
verify:
  - text_contains: "{{subject}}"
  - url_contains: /sent
"""


def skills(lab: Lab, *arguments: str) -> Any:
    environment = settings_environment(lab.place.settings)
    return CliRunner().invoke(app, ["skills", *arguments], env=environment | {"COLUMNS": "300"})


def ran(lab: Lab, *pairs: str) -> Any:
    given = [word for pair in (f"base_url={lab.stage.webmail}", *pairs) for word in ("--param", pair)]
    return skills(lab, "run", "send-note", *given, "--json")


def told(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def model_calls(stage: Stage) -> int:
    calls: int = httpx.get(f"{stage.stand_in}/__admin__/calls", trust_env=False).json()["calls"]
    return calls


@pytest.mark.slow
def test_an_imported_skill_runs_by_name_without_a_model_and_is_counted(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(TASK, encoding="utf-8")
    stage = lab.stage
    calls_before, sent_before = model_calls(stage), len(stage.sent())

    imported = skills(lab, "import", str(file))
    misspelt = skills(lab, "run", "send-nose")
    run = told(ran(lab, "to=ada@example.com", "subject=Minutes"))
    verified = told(skills(lab, "show", "send-note", "--json"))

    shown = skills(lab, "show", "send-note").stdout
    assert imported.exit_code == 0, imported.stderr
    assert (misspelt.exit_code, "near: send-note" in misspelt.stderr) == (2, True)
    assert run["status"] == "done", run
    assert (run["totals"]["usage"]["calls"], model_calls(stage)) == (0, calls_before)
    assert [(mail.to, mail.subject) for mail in stage.sent()[sent_before:]] == [("ada@example.com", "Minutes")]
    assert (verified["skill"]["status"], verified["statistics"]["runs"]["succeeded"]) == ("active", 1)
    assert {index: rate["succeeded"] for index, rate in verified["statistics"]["steps"].items()} == {
        str(index): 1 for index in range(7)
    }
    assert [change["who"] for change in verified["history"]][1:] == [run["runId"]]
    assert "1 of 1 succeeded, 100 % of the last 1" in shown
