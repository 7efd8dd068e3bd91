"""`replaywright admin secrets`: names, sources and domains, and never a value."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from replaywright.cli.commands import app
from replaywright.grants import change_grants

VALUE = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text(VALUE)
    monkeypatch.setenv("REPLAYWRIGHT_HOME", str(tmp_path / "home"))
    change_grants(tmp_path / "home", lambda grants: grants.bound("DIRECT", ("direct.example",)))
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_DIRECT", VALUE)
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_MOUNTED_DOMAINS", "mounted.example")
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_MOUNTED_FILE", str(file))
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_VAULTED_COMMAND", f"{sys.executable} -c {shlex.quote(f'print({VALUE!r})')}")
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_VAULTED_DOMAINS", "example.com,*.example.com:8443")


def invoked(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["admin", "secrets", *arguments])
    assert VALUE not in result.output
    return result


def told(*arguments: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(invoked(*arguments, "--json").stdout)["secrets"]}


def test_the_list_tells_names_sources_and_domains() -> None:
    listed = told("list")

    assert {name: (one["source"], one["domains"]) for name, one in listed.items()} == {
        "DIRECT": ("environment", ["direct.example"]),
        "MOUNTED": ("file", ["mounted.example"]),
        "VAULTED": ("command", ["example.com", "*.example.com:8443"]),
    }
    assert listed["VAULTED"]["from"] == Path(sys.executable).name


def test_the_list_runs_no_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_VAULTED_COMMAND", f"touch {tmp_path / 'ran'}")

    invoked("list")

    assert not (tmp_path / "ran").exists()


def test_check_reads_every_source() -> None:
    result = invoked("check")

    assert result.exit_code == 0
    assert result.stdout.count(" ok") == 3


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("REPLAYWRIGHT_SECRET_DIRECT_COMMAND", "true", "REPLAYWRIGHT_SECRET_DIRECT_COMMAND are set; keep one"),
        ("REPLAYWRIGHT_SECRET_MOUNTED_FILE", "/nowhere", "empty or unreadable"),
        ("REPLAYWRIGHT_SECRET_VAULTED_COMMAND", "false", "ended with exit code 1"),
        ("REPLAYWRIGHT_SECRET_VAULTED_COMMAND", "'", "cannot be read"),
        ("REPLAYWRIGHT_SECRET_VAULTED_DOMAINS", "https://", "is no domain"),
        ("REPLAYWRIGHT_SECRET_NOWHERE_DOMAINS", "example.com", "has no value here"),
        ("REPLAYWRIGHT_SECRET_LOOSE", "some-value", "bound to no host: `replaywright admin secrets bind LOOSE HOST`"),
    ],
)
def test_check_says_of_each_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)

    result = invoked("check")

    assert result.exit_code == 2
    assert said in result.stdout
    assert result.stdout.count(" ok") >= 2


def test_one_secret_can_be_checked_alone() -> None:
    assert list(told("check", "MOUNTED")) == ["MOUNTED"]
    assert invoked("check", "UNKNOWN").exit_code == 2


def test_a_value_is_set_from_standard_input_and_not_shown() -> None:
    result = CliRunner().invoke(app, ["admin", "secrets", "set", "PIN"], input=f"{VALUE}\n")

    assert (result.exit_code, VALUE in result.output) == (0, False), result.output
    assert told("list")["PIN"]["source"] == "file"
    assert invoked("check", "DIRECT").exit_code == 0
