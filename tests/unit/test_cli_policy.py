"""`replaywright admin policy`, and what `run` refuses before anything is started."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner, Result

from replaywright.cli.command import Exit
from replaywright.cli.commands import app

TASK: dict[str, Any] = {
    "task": "order",
    "url": "https://shop.example/",
    "parameters": {"file": {}, "page": {"default": "list"}},
    "secrets": ["PIN"],
    "steps": [
        {"action": "goto", "url": "https://shop.example/{{page}}"},
        {"action": "fill", "instruction": "the PIN field", "value": "{{secret:PIN}}"},
        {"action": "upload", "instruction": "the file field", "files": ["/srv/out/{{file}}"]},
        {"action": "click", "instruction": "the order button", "effect": "commit"},
    ],
}
POLICY = {"name": "back-office", "hosts": {"allow": ["*.example"]}, "actions": {"deny": ["drag"]}}


def written(tmp_path: Path, name: str, data: Any) -> str:
    path = tmp_path / name
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return str(path)


def invoked(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(app, arguments, env=env)


def test_a_task_that_is_allowed_is_shown_with_hosts_and_secrets(tmp_path: Path) -> None:
    given = [written(tmp_path, "task.yaml", TASK), "--policy", written(tmp_path, "policy.yaml", POLICY)]

    result = invoked("admin", "policy", "check", *given)

    assert result.exit_code == Exit.DONE, result.output
    assert "shop.example:443" in result.stdout
    assert "REPLAYWRIGHT_SECRET_PIN" in result.stdout
    assert "blocked" not in result.stdout


@pytest.mark.parametrize(
    ("change", "places", "rule"),
    [
        ({"actions": {"deny": ["click"]}}, ["steps[3]"], "policy 'back-office': actions.deny"),
        ({"actions": {"allow": ["goto", "fill", "click"]}}, ["steps[2]"], "policy 'back-office': actions.allow"),
        ({"upload_roots": ["/srv/other"]}, ["steps[2]"], "policy 'back-office': upload_roots"),
        ({"hosts": {"allow": ["other.example"]}}, ["url", "steps[0]"], "policy 'back-office': hosts.allow"),
        ({"hosts": {"deny": ["*.example", "shop.example"]}}, ["url", "steps[0]"], "policy 'back-office': hosts.deny"),
    ],
)
def test_what_is_blocked_is_told_with_its_place_and_rule(
    tmp_path: Path, change: dict[str, Any], places: list[str], rule: str
) -> None:
    given = [written(tmp_path, "task.yaml", TASK), "--policy", written(tmp_path, "policy.yaml", POLICY | change)]

    result = invoked("admin", "policy", "check", *given, "--json", "-p", "file=a.pdf")

    told = json.loads(result.stdout)
    assert (result.exit_code, told["status"], told["exitStatus"]) == (Exit.BLOCKED, "blocked", 5)
    blocked = [each for each in (*told["hosts"], *told["steps"]) if not each["allowed"]]
    assert ([each["place"] for each in blocked], {each["rule"] for each in blocked}) == (places, {rule})


def test_an_operator_who_only_denies_leaves_the_rest_to_the_task(tmp_path: Path) -> None:
    local = TASK | {"url": "http://127.0.0.1:8025/", "steps": TASK["steps"][1:]}
    denies = POLICY | {"hosts": {"deny": ["evil.example"]}}
    given = [written(tmp_path, "task.yaml", local), "--policy", written(tmp_path, "policy.yaml", denies)]

    assert invoked("admin", "policy", "check", *given).exit_code == Exit.DONE


def test_a_task_s_own_policy_counts_without_an_operator_s(tmp_path: Path) -> None:
    own = TASK | {"policy": {"actions": {"deny": ["upload"]}, "amounts": {"steps": 2}}}

    result = invoked("admin", "policy", "check", written(tmp_path, "task.yaml", own), "--json")

    told = json.loads(result.stdout)
    assert [each["rule"] for each in told["steps"] if not each["allowed"]] == ["task: actions.deny"]
    assert told["amounts"]["steps"] == {"limit": 2, "rule": "task: amounts.steps"}


def test_a_plan_that_is_certainly_too_long_is_blocked(tmp_path: Path) -> None:
    given = [written(tmp_path, "task.yaml", TASK), "--policy"]
    given.append(written(tmp_path, "policy.yaml", POLICY | {"amounts": {"steps": 3}}))

    result = invoked("admin", "policy", "check", *given)

    assert result.exit_code == Exit.BLOCKED
    assert "a run may have 3 steps" in result.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a mapping"),
        ("name: [", "policy.yaml:1:8: not YAML"),
        ("name: a\nname: b\n", "policy.yaml:2:1: not YAML: the key 'name' is here twice"),
        ("actions: {denny: [click]}", "actions.denny: unknown field"),
        ("hosts: {allow: ['http://x']}", "hosts.allow: [0]: 'http://x' is no pattern of hosts"),
    ],
)
def test_a_policy_that_is_wrong_is_bad_input_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    task, policy = written(tmp_path, "task.yaml", TASK), written(tmp_path, "policy.yaml", text)

    checked = invoked("admin", "policy", "check", task, "--policy", policy)
    run = invoked("run", task, "-p", "file=a", REPLAYWRIGHT_POLICY=policy)

    assert (checked.exit_code, run.exit_code) == (Exit.BAD_INPUT, Exit.BAD_INPUT)
    assert said in checked.stderr
    assert said in run.stderr


def test_a_policy_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    task, missing = written(tmp_path, "task.yaml", TASK), str(tmp_path / "none.yaml")

    result = invoked("run", task, "-p", "file=a", REPLAYWRIGHT_POLICY=missing)

    assert result.exit_code == Exit.BAD_INPUT
    assert f"REPLAYWRIGHT_POLICY: {missing}: no such file" in result.stderr


def test_a_run_that_the_policy_blocks_is_not_started(tmp_path: Path) -> None:
    task, policy = (
        written(tmp_path, "task.yaml", TASK),
        written(tmp_path, "policy.yaml", POLICY | {"actions": {"deny": ["fill"]}}),
    )

    result = invoked("run", task, "-p", "file=a", "--json", REPLAYWRIGHT_POLICY=policy)

    assert result.exit_code == Exit.BLOCKED
    told = json.loads(result.stdout)
    assert (told["status"], told["rule"]) == ("blocked", "policy 'back-office': actions.deny")
    assert "steps[1]" in told["message"]


def test_show_prints_what_both_say(tmp_path: Path) -> None:
    task = written(tmp_path, "task.yaml", TASK | {"policy": {"amounts": {"popups": 0}}})
    policy = written(tmp_path, "policy.yaml", POLICY)

    result = invoked("admin", "policy", "show", task, "--policy", policy)

    assert "policy 'back-office'" in result.stdout
    assert "hosts.allow: *.example" in result.stdout
    assert "amounts.popups: 0" in result.stdout
    told = json.loads(invoked("admin", "policy", "show", "--policy", policy, "--json").stdout)
    assert told == {"policy": {"policy 'back-office'": POLICY}}


def test_the_schema_of_policies_accepts_one_and_refuses_a_typo() -> None:
    schema = json.loads(invoked("admin", "schema", "--policy").stdout)

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(POLICY, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(POLICY | {"action": {}}, schema)
    assert "Named in every refusal" in schema["properties"]["name"]["description"]
