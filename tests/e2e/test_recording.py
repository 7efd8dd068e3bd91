"""A person shows the demo's mail once; it is sent again with other values, and no model is asked."""

from pathlib import Path

import pytest

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
