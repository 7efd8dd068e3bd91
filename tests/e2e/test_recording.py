"""A person shows the demo's mail once; it is sent again with other values, and no model is asked."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from playwright.async_api import expect

from bench.chromium import launched
from bench.demonstrating import watched
from bench.endings import ending_of
from bench.shown import write_mail
from replaywright.cli.record.browser import browsing
from replaywright.cli.record.keeping import task_file
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.tasks import bind_parameters
from tests.e2e.lab import Lab


@pytest.mark.slow
async def test_a_mail_that_a_person_sent_once_is_sent_with_other_values_and_no_model(
    bare_lab: Lab, tmp_path: Path
) -> None:
    stage = bare_lab.stage
    url = f"{stage.webmail}/login"
    async with (
        browsing(stage.place.settings, url, headless=True) as (demonstration, endpoint),
        watched(demonstration, endpoint, url, ["PASSWORD"]) as person,
    ):
        shown = {"to": "ada@example.com", "subject": "Minutes of Monday", "message": "Hello Ada"}
        await write_mail(person, stage.password, shown)
    file = tmp_path / "mail.yaml"
    file.write_text(task_file(person.recorder.task("mail"), url))

    assert stage.password not in file.read_text()
    task = read_task(str(file))
    assert sorted(task.parameters) == ["message", "subject", "to", "user_name"]
    assert task.secrets == ("PASSWORD",)
    assert [step.effect for step in task.steps if step.action == "click"] == [
        Effect.IDEMPOTENT, Effect.READ, Effect.COMMIT,
    ]  # fmt: skip
    wanted = {"user_name": "demo", "to": "grace@example.com", "subject": "Of Tuesday", "message": "Hello Grace"}
    values = bind_parameters(task, wanted)
    ending = await ending_of(Order(task, values, new_run_id(task, values), mode=Mode.AUTO), stage, 120)

    assert (ending.status, ending.result.message) == ("done", "")
    assert ending.result.totals.usage.calls == 0
    sent = stage.sent()[-1]
    assert (sent.to, sent.subject, sent.body) == ("grace@example.com", "Of Tuesday", "Hello Grace")


@pytest.mark.slow
async def test_without_a_screen_a_task_is_shown_in_the_live_view_and_tried_at_once(
    bare_lab: Lab, tmp_path: Path, chromium_path: Path, pictures: Path
) -> None:
    stage = bare_lab.stage
    given = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    given |= stage.stack.environment() | {"REPLAYWRIGHT_SECRET_PASSWORD": stage.password, "COLUMNS": "300"}
    command = [sys.executable, "-m", "replaywright", "record", f"{stage.webmail}/login", "--name", "sign-in"]
    process = await asyncio.create_subprocess_exec(
        *command, "--secret", "PASSWORD", cwd=tmp_path, env=given,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    told = ""
    async with asyncio.timeout(60):
        while "live view: " not in told:
            told = (await process.stderr.readline()).decode()
            assert told, "the command ended"

    async with launched(chromium_path) as browser:
        view = await browser.new_page(viewport={"width": 1280, "height": 720})
        await view.goto(told.partition("live view: ")[2].strip())
        await expect(view.get_by_label("Address")).to_have_value(f"{stage.webmail}/login")
        await view.get_by_label("The page: keys go to it").focus()
        await view.keyboard.press("Tab")
        await view.keyboard.type("demo")
        await view.keyboard.press("Tab")
        await view.keyboard.type(stage.password)
        await expect(view.get_by_role("listitem").filter(has_text="2. fill")).to_have_count(1)
        await view.keyboard.press("Enter")
        await expect(view.get_by_label("Address")).to_have_value(f"{stage.webmail}/inbox")
        await expect(view.get_by_role("listitem").filter(has_text="3. press Enter")).to_have_count(1)
        await view.screenshot(path=pictures / "record-live-view.png")
        await view.get_by_role("button", name="undo").focus()
        await asyncio.wait_for(view.get_by_role("button", name="finish").click(), 10)
        async with asyncio.timeout(120):
            out, rest = (text.decode() for text in await process.communicate())

    assert process.returncode == 0, out + rest
    task = read_task(str(tmp_path / "sign-in.yaml"))
    assert [step.action for step in task.steps] == ["fill", "fill", "press"]
    assert "trying 3 steps with the values that were shown" in rest
    assert stage.password not in out + rest + (tmp_path / "sign-in.yaml").read_text()
