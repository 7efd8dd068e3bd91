"""A person shows the demo's mail once; it is sent again with other values, and no model is asked."""

from pathlib import Path

import pytest

from bench.endings import ending_of
from replaywright.cli.record.browser import browsing
from replaywright.cli.record.keeping import task_file
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.tasks import bind_parameters
from tests.adapters.watched import Watched, watched
from tests.e2e.lab import Lab


async def _send_a_mail(person: Watched, password: str) -> None:
    """Do what a person does at the webmail, and wait for what it shows."""
    page = person.page
    await page.get_by_label("User name").fill("demo")
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Log in").click()
    await person.did(3)
    await page.get_by_role("link", name="Compose").click()
    await person.did(4)
    await page.get_by_label("To", exact=True).fill("ada@example.com")
    await page.get_by_label("Subject").fill("Minutes of Monday")
    await page.get_by_label("Message").fill("Hello Ada")
    await person.did(7)
    await page.get_by_role("button", name="Send").click()
    await person.did(8)


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
        await _send_a_mail(person, stage.password)
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
