"""The sample pipelines: YAML that their systems read, with commands that exist."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from replaywright.cli.commands import app
from tests.readme import ROOT, blocks_in

PAGE = ROOT / "docs" / "how-to" / "ci.md"
MAKE = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def pipeline(name: str) -> Any:
    """The sample that a comment in its first line names."""
    [text] = [block.text for block in blocks_in(PAGE.read_text("utf-8")) if block.text.startswith(f"# {name}\n")]
    return yaml.safe_load(text)


def commands(name: str) -> list[str]:
    data = pipeline(name)
    if name == ".gitlab-ci.yml":
        return list(data["checks"]["script"])
    return [step["run"] for step in data["jobs"]["checks"]["steps"] if "run" in step]


PIPELINES = (".github/workflows/checks.yml", ".gitlab-ci.yml")


@pytest.mark.parametrize("name", PIPELINES)
def test_every_command_of_a_pipeline_exists_with_its_options(name: str) -> None:
    ours = [shlex.split(line) for line in commands(name)]

    assert [words[0] for words in ours if words[0] != "git"] == ["make", "replaywright/.venv/bin/replaywright"]
    for program, *words in ours:
        if program == "make":
            assert words[:2] == ["-C", "replaywright"]
            assert set(words[2:]) <= set(MAKE)
        elif program.endswith("replaywright"):
            command = typer.main.get_command(app).commands[words[0]]  # type: ignore[attr-defined]
            context = command.make_context("check", words[1:], resilient_parsing=False)
            assert context.params["junit"] == "results/checks.xml"
            assert context.params["reports"] == Path("results/reports")


def test_results_are_kept_whatever_becomes_of_the_checks() -> None:
    github, gitlab = (
        pipeline(PIPELINES[0])["jobs"]["checks"]["steps"][-1],
        pipeline(PIPELINES[1])["checks"]["artifacts"],
    )

    assert (github["if"], github["with"]["path"]) == ("always()", "results")
    assert (gitlab["when"], gitlab["reports"]["junit"]) == ("always", "results/checks.xml")


def test_secrets_are_variables_of_the_system() -> None:
    [step] = [step for step in pipeline(PIPELINES[0])["jobs"]["checks"]["steps"] if "env" in step]

    assert step["env"] == {
        "REPLAYWRIGHT_SECRET_PASSWORD": "${{ secrets.SHOP_PASSWORD }}",
        "REPLAYWRIGHT_SECRET_PASSWORD_DOMAINS": "shop.example",
    }
