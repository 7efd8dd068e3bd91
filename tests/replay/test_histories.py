"""Recorded histories replay against today's workflow code: a deploy does not break runs under way."""

import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from worker import ReplaywrightPlugin

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))


def test_there_are_recorded_histories() -> None:
    assert {path.stem for path in HISTORIES} >= {
        "learned",
        "replayed",
        "recovered",
        "waited-for-a-person",
        "healed-with-fallback",
        "revised",
        "came-late",
        "rebuilt-from-a-checkpoint",
        "hibernated",
        "resumed-after-an-edit",
    }


@pytest.mark.parametrize(
    ("name", "patches"),
    [
        ("waited-for-a-person", set()),
        ("hibernated", {"hibernate"}),
        ("resumed-after-an-edit", {"hibernate"}),
        ("came-late", {"look-again"}),
    ],
)
def test_there_are_histories_of_before_and_after_a_change_of_the_workflow(name: str, patches: set[str]) -> None:
    path = next(path for path in HISTORIES if path.stem == name)
    events = WorkflowHistory.from_json(name, path.read_text(encoding="utf-8")).events
    details = [event.marker_recorded_event_attributes.details for event in events]

    recorded = {json.loads(one.payloads[0].data)["id"] for each in details for one in each.values()}

    assert recorded == patches


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_recorded_history_replays_against_the_code_of_today(path: Path) -> None:
    history = WorkflowHistory.from_json(path.stem, path.read_text(encoding="utf-8"))

    result = await Replayer(workflows=[], plugins=[ReplaywrightPlugin()]).replay_workflow(
        history, raise_on_replay_failure=False
    )

    assert result.replay_failure is None


async def test_a_changed_fingerprint_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(path for path in HISTORIES if path.stem == "replayed")
    history = WorkflowHistory.from_json(path.stem, path.read_text(encoding="utf-8"))
    monkeypatch.setattr("replaywright.domain.fingerprints.VERSION", 0)

    result = await Replayer(workflows=[], plugins=[ReplaywrightPlugin()]).replay_workflow(
        history, raise_on_replay_failure=False
    )

    assert result.replay_failure is not None
