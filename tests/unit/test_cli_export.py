"""`replaywright skills script` on a real server: what it writes, what it tells, and what it refuses."""

import ast
import asyncio
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cache.connection import open_redis
from cache.skills import RedisSkills
from cache.steps import RedisStepStore
from replaywright.cli.commands import app
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.fingerprints import content_key
from replaywright.domain.task.steps import action_of
from replaywright.settings import PREFIX
from tests.unit.skills import SITE, skill

LEARNED = Path(__file__).parents[2] / "examples" / "send_mail.skill.yaml"
TASK = """\
task: look
url: https://shop.example
steps:
  - {action: click, instruction: more, target: {role: link, name: More}}
"""


def invoked(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["skills", "script", *arguments], env={"COLUMNS": "300"})


def refused(*arguments: str) -> str:
    result = invoked(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), (result.stdout, result.stderr, result.exception)
    [line] = result.stderr.splitlines()
    return str(line)


def keep(redis_url: str, tenant: str, names: Sequence[str]) -> None:
    """The skill of the tests, with a recording of each of its first and last step, made by this tenant's runs."""

    async def kept() -> None:
        async with open_redis(redis_url) as client:
            await RedisSkills(client).save(tenant, skill(), who="r1")
            for step, name in zip((skill().task.steps[0], skill().task.steps[2]), names, strict=True):
                entry = ActionCacheEntry(
                    tag="input",
                    role="textbox" if step.action == "fill" else "button",
                    name=name,
                    content_key=content_key(tenant, f"{SITE}/compose", step, skill().name),
                    owner=skill().name,
                    site=f"{SITE}/compose",
                    instruction=step.instruction,
                    action_type=action_of(step),
                )
                await RedisStepStore(client).keep(tenant=tenant, run_id="r1", entry=entry)

    asyncio.run(kept())


@pytest.fixture
def known(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(f"{PREFIX}REDIS_URL", redis_url)
    monkeypatch.setenv(f"{PREFIX}TENANT", "default")
    keep(redis_url, "default", ("Password", "Send"))
    return redis_url


def test_a_skill_is_written_with_what_its_tenant_has_recorded(known: str, tmp_path: Path) -> None:
    keep(known, "other", ("Passwort", "Senden"))
    file = tmp_path / "send_mail.py"

    result = invoked("send-mail", "--format", "python", "--out", str(file))

    text = file.read_text("utf-8")
    assert result.exit_code == 0, (result.stderr, result.exception)
    assert f"{file}: 3 steps of send-mail" in result.stdout.replace("\n", "")
    ast.parse(text)
    assert 'get_by_role("textbox", name="Password", exact=True).fill(secret("PASSWORD"))' in text
    assert 'get_by_role("button", name="Send", exact=True).click()' in text
    assert "Passwort" not in text


def test_standard_output_has_the_script_alone(known: str) -> None:
    result = invoked("send-mail", "--format", "typescript")

    assert result.exit_code == 0, (result.stderr, result.exception)
    assert result.stdout.startswith("// Send a mail\n") or result.stdout.startswith("// ")
    assert result.stdout.rstrip().endswith("});")


@pytest.mark.parametrize("form", [TASK, "name: look\ntask:\n" + textwrap.indent(TASK, "  ")])
def test_a_task_file_and_a_file_with_one_skill_are_exported_as_they_are(known: str, tmp_path: Path, form: str) -> None:
    task = tmp_path / "look.yaml"
    task.write_text(form, encoding="utf-8")

    result = invoked(str(task), "--format", "python")

    assert result.exit_code == 0, (result.stderr, result.exception)
    assert 'page.get_by_role("link", name="More", exact=True).click()' in result.stdout


def test_a_file_with_its_elements_needs_no_recordings_of_this_machine(known: str) -> None:
    result = invoked(str(LEARNED), "--format", "python")

    assert result.exit_code == 0, (result.stderr, result.exception)
    assert 'page.get_by_role("textbox", name="User name", exact=True).fill("demo")' in result.stdout


def test_a_recording_has_the_values_that_are_given_and_no_secret(known: str, tmp_path: Path) -> None:
    file = tmp_path / "mail.json"

    result = invoked("send-mail", "--format", "devtools", "-p", "to=ada@example.com", "-o", str(file))

    values = [step.get("value") for step in json.loads(file.read_text("utf-8"))["steps"]]
    assert result.exit_code == 0, (result.stderr, result.exception)
    assert [value for value in values if value] == ["{{secret:PASSWORD}}", "ada@example.com"]
    assert "{{secret:PASSWORD}} stands where one belongs" in result.stdout


def test_a_program_gets_one_object(known: str, tmp_path: Path) -> None:
    file = tmp_path / "mail.json"

    result = invoked("send-mail", "--format", "devtools", "-p", "to=a@b.example", "-o", str(file), "--json")

    told = json.loads(result.stdout)
    assert (told["skill"], told["version"], told["format"], told["file"]) == ("send-mail", 1, "devtools", str(file))
    assert told["secrets"] == ["PASSWORD"]
    assert any("not_" in warning for warning in told["warnings"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["send-mial", "--format", "python"], "near: send-mail"),
        (["send-mail", "--format", "python", "--version", "7"], "it has: 1"),
        (["send-mail", "--format", "python", "-p", "to=x@y.example"], "takes its parameters when it is run"),
        (["send-mail", "--format", "devtools"], "parameter 'to' of task 'send-mail' has no value"),
        (["nothing.yaml", "--format", "python"], "nothing.yaml: no such file"),
        (["send-mail", "--format", "python", "--out", "/nowhere/x.py"], "cannot be written"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_line(known: str, arguments: list[str], said: str) -> None:
    assert said in refused(*arguments)


def test_a_file_that_is_there_is_only_overwritten_when_told_to(known: str, tmp_path: Path) -> None:
    file = tmp_path / "mail.py"
    file.write_text("mine")

    said = refused("send-mail", "--format", "python", "-o", str(file))
    kept = file.read_text()

    assert ("--force" in said, kept) == (True, "mine")
    assert invoked("send-mail", "--format", "python", "-o", str(file), "--force").exit_code == 0


def test_a_script_never_holds_the_value_of_a_secret(known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_LABEL", "Send-it-now-7f3")
    keep(known, "default", ("Password", "Send-it-now-7f3"))

    said = refused("send-mail", "--format", "python", "--version", "1")

    assert "would hold the value of a secret" in said
    assert "7f3" not in said
