"""docs/internals/extend.md does what it says, on a copy of the source tree."""

import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT

PAGE = (ROOT / "docs/internals/extend.md").read_text()
SECTIONS: dict[str, str] = dict(re.findall(r"^## (.+)\n((?:.|\n)*?)(?=^## |\Z)", PAGE, re.MULTILINE))
LIMITS = {"An action": 4, "A predicate": 3, "A status of a step": 4, "A setting": 2, "A command": 2}

TRIED = {
    "An action": """
        import json
        from typer.testing import CliRunner
        from replaywright.cli.app import app, load
        from replaywright.domain.task.actions import Action, Effect, effect_of
        from replaywright.domain.task.tasks import parse_task
        from replaywright.browser.input import dispatch
        from replaywright.domain.skill.skill_files import imported_skill
        from replaywright.export import Format, exported
        from replaywright.export.recordings import Recordings

        step = {"action": "triple_click", "instruction": "the note", "target": {"css": "p"}}
        expect = [{"title_equals": "Inbox"}]
        task = parse_task({"task": "t", "url": "https://example.org/", "steps": [step], "verify": expect}, "t.yaml")
        assert task.steps[0].title == "triple_click the note"
        assert effect_of(Action("triple_click"), None, None) is Effect.COMMIT
        load("admin")
        schema = json.loads(CliRunner().invoke(app, ["admin", "schema"]).stdout)
        assert "triple_click" in json.dumps(schema) and "title_equals" in json.dumps(schema)
        written = exported(imported_skill(task), Recordings("default"), Format.PYTHON, {}).text
        assert ".click(click_count=3)" in written and 'to_have_title("Inbox")' in written
    """,
    "A predicate": """
        from replaywright.domain.page.observed import AssertionContext
        from replaywright.domain.predicate.eventually import NAVIGATION_MS, patience_ms
        from replaywright.domain.predicate.evaluation import evaluate
        from replaywright.domain.predicate.predicates import TitleEquals

        context = AssertionContext(url="https://example.org/", title="Inbox (3)")
        assert evaluate(TitleEquals(title_equals="inbox  (3)"), context).passed
        assert evaluate(TitleEquals(title_equals="Inbox"), context).fails
        assert patience_ms(TitleEquals(title_equals="Inbox")) == NAVIGATION_MS
    """,
    "A status of a step": """
        from replaywright.cli.output import _MARKS
        from replaywright.domain.step.outcomes import Status
        from replaywright.domain.trace.trace import _VERDICTS
        from replaywright.reports.words import _STATUS
        from replaywright.telemetry.catalogue import METRICS

        assert set(_MARKS) == set(_VERDICTS) == set(_STATUS) == set(Status)
        assert "superseded" in repr(METRICS)
    """,
    "A setting": """
        import worker
        from replaywright.settings import REASONS, Settings

        assert "worker_label" in {name for _, names in REASONS.values() for name in names}
        assert Settings.model_fields["worker_label"].default == ""
    """,
    "A command": """
        from typer.testing import CliRunner
        from replaywright.cli.app import app, load

        load("admin")
        assert "click: commit" in CliRunner().invoke(app, ["admin", "actions"]).stdout
    """,
}


@pytest.mark.parametrize("section", LIMITS)
def test_an_extension_touches_few_product_files(section: str) -> None:
    assert 0 < len({path for path, _ in hunks_of(SECTIONS[section])}) <= LIMITS[section]


def test_the_page_that_extends_the_product_does_what_it_says(tmp_path: Path) -> None:
    for name in ("replaywright", "activities", "workflows", "cache"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "worker.py", tmp_path)
    for path, hunk in (hunk for section in LIMITS for hunk in hunks_of(SECTIONS[section])):
        apply(tmp_path, path, hunk)

    program = "import sys; sys.path.insert(0, '.')" + "".join(map(textwrap.dedent, TRIED.values()))
    tried = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert tried.returncode == 0, tried.stderr


def hunks_of(section: str) -> Iterator[tuple[str, list[str]]]:
    for block in re.findall(r"```diff\n((?:.|\n)*?)```", section):
        for path, edits in re.findall(r"^--- (\S+)\n((?:.|\n)*?)(?=^--- |\Z)", block, re.MULTILINE):
            for hunk in edits.split("@@\n")[1:]:
                yield path, hunk.splitlines()


def apply(tree: Path, path: str, hunk: list[str]) -> None:
    """Replace the lines of the hunk; lines without `+` must stand exactly once in the file, one below the other."""
    before = "".join(f"{line[1:]}\n" for line in hunk if line[:1] in " -")
    after = "".join(f"{line[1:]}\n" for line in hunk if line[:1] != "-")
    file = tree / path
    text = file.read_text() if file.exists() else ""
    assert not before or text.count(before) == 1, f"{path} has these lines {text.count(before)} times:\n{before}"
    file.write_text(text.replace(before, after) if before else after)
