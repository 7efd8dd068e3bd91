"""The five demo runs, judged by the webmail's own store and the stand-in's own count."""

import pytest

from demo.main_job import MAILS, MainJob
from demo.stage import Stage
from replaywright.settings import load_settings


@pytest.mark.slow
async def test_the_main_job_is_learned_replayed_healed_and_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPLAYWRIGHT_MODEL", raising=False)
    said: list[str] = []

    async with Stage(load_settings(), tell=said.append) as stage:
        figures = await MainJob(stage, said.append).perform()
        sent = stage.sent()
        logs = "".join(log.read_text(errors="replace") for log in stage.worker_logs)

    assert figures.failed == ()
    assert [row.run for row in figures.rows] == ["1", "2", "3", "4", "4b", "5"]
    assert [(mail.to, mail.subject, mail.body, mail.priority) for mail in sent] == [
        (mail["to"], mail["subject"], mail["body"], mail["priority"]) for mail in MAILS.values()
    ]
    assert [row.model_calls for row in figures.rows][1:] == [0, 0, 1, 0, 0]
    assert figures.stand_in
    assert any("stand-in" in line for line in said)
    assert stage.password not in logs
