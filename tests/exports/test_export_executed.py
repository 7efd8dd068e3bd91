"""Exported scripts, run as their users run them: the webmail says what it was sent."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from demo.stage import Stage
from demo.webmail.store import SentMessage
from replaywright.cli.commands import app
from replaywright.export import Format
from replaywright.settings import load_settings
from tests.exports.running import PASSWORD, Runs
from tests.exports.samples import told, webmail_skill
from tests.exports.shop import TASK, shop
from tests.webmail import webmail

SUBJECT = '"Quotes", it\'s 50 % & <b>not bold</b> – 会议纪要 ${to} {to}'


SHORT = (Format.PYTHON, Format.TYPESCRIPT)
"""One in each language."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "named", [SHORT, pytest.param(tuple(Format), marks=pytest.mark.long)], ids=["one in each language", "all"]
)
def test_every_form_of_a_script_sends_the_mail(named: tuple[Format, ...], tmp_path: Path, chromium_path: Path) -> None:
    skill, recordings = webmail_skill()
    forms = [form for form in named if shutil.which("node") or form in (Format.PYTHON, Format.PYTEST)]
    store = tmp_path / "mail"
    with webmail(store, PASSWORD) as url:
        runs = Runs(tmp_path, chromium_path, REPLAYWRIGHT_SECRET_PASSWORD=PASSWORD)
        for form in forms:
            given = {"base_url": url, "to": f"{form}@example.com", "subject": SUBJECT, "body": f"By {form}.\nYours"}
            values = given | {"priority": "High"}
            script = told(skill, recordings, form, **(values if form is Format.DEVTOOLS else {})).text
            assert PASSWORD not in script
            variables = {f"SEND_MAIL_{name.upper()}": value for name, value in values.items()}
            match form:
                case Format.PYTHON:
                    words = [word for name, value in values.items() for word in (f"--{name}".replace("_", "-"), value)]
                    runs.python(script, *words)
                case Format.PYTEST:
                    assert "1 passed" in runs.pytest(script, **variables)
                case Format.TYPESCRIPT:
                    assert "1 passed" in runs.typescript(script, **variables)
                case Format.DEVTOOLS:
                    runs.devtools(script)

    sent = [SentMessage.model_validate(json.loads(line)) for line in (store / "sent.jsonl").read_text().splitlines()]
    assert [(mail.to, mail.subject, mail.body, mail.priority) for mail in sent] == [
        (f"{form}@example.com", SUBJECT, f"By {form}.\nYours", "High") for form in forms
    ]


ORDERED = {"emptied": True, "terms": True, "save": True, "coupon": "TEN", "gift": True, "shipping": "s2"}


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Where the page is learned; its worker may upload from `folder`."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv("REPLAYWRIGHT_UPLOAD_ROOTS", str(tmp_path_factory.getbasetemp()))
        async with Stage(load_settings(), tell=lambda _text: None) as stage:
            yield stage


def command(stage: Stage, *arguments: str) -> str:
    """Standard output of one of our commands, on the stage."""
    result = CliRunner().invoke(app, arguments, env=stage.stack.environment() | {"COLUMNS": "300"})
    assert result.exit_code == 0, (result.stdout, result.stderr)
    return result.stdout


@pytest.mark.long
def test_a_page_with_frames_rows_files_tabs_and_questions_is_worked_by_its_scripts(
    stage: Stage, tmp_path: Path, chromium_path: Path
) -> None:
    task, invoice = tmp_path / "order.yaml", tmp_path / "invoice.txt"
    task.write_text(TASK, encoding="utf-8")
    invoice.write_text("100 €", encoding="utf-8")
    with shop() as (url, orders):
        common = {"base_url": url, "invoice": str(invoice), "shipping": "Fast"}
        learned = {**common, "customer": "Ada Lovelace", "note": "first"}
        pairs = [word for name, value in learned.items() for word in ("--param", f"{name}={value}")]
        command(stage, "run", str(task), *pairs, "--json")
        forms = (Format.PYTHON, Format.PYTEST, Format.TYPESCRIPT)
        python, pytest_module, typescript = (
            command(stage, "skills", "script", str(task), "--format", form) for form in forms
        )

        runs = Runs(tmp_path, chromium_path)
        values = {**common, "customer": "Grace Hopper", "note": 'it\'s "me"'}
        named = [word for name, value in values.items() for word in (f"--{name}".replace("_", "-"), value)]
        variables = {f"ORDER_{name.upper()}": value for name, value in values.items()}
        said = runs.python(python, *named)
        runs.pytest(pytest_module, **variables)
        runs.typescript(typescript, **variables)

    told_by_it = json.loads(said)
    assert (told_by_it["open"], told_by_it["chosen"], told_by_it["orders"][1]["State"]) == (2, "Grace Hopper", "open")
    assert (tmp_path / "downloads" / "receipt.txt").read_text() == "paid"
    by_scripts = {"customer": "Grace Hopper", "holder": "Grace Hopper", "note": 'it\'s "me"!', "invoice": "100 €"}
    assert orders == [
        ORDERED | {"customer": "Ada Lovelace", "holder": "Ada Lovelace", "note": "first!", "invoice": "100 €"},
        *[ORDERED | by_scripts] * 3,
    ]
