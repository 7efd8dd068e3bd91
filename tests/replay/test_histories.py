"""Recorded histories replay against today's workflow code: a deploy does not break runs under way."""

import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from replaywright.domain.trace.search_attributes import STATUS
from worker import ReplaywrightPlugin

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))

BATCHES = sorted((Path(__file__).parent / "histories" / "batches").glob("*.json"))


def statuses_in(path: Path) -> list[str]:
    """The values that the run gave to its search attribute for the status."""
    history = WorkflowHistory.from_json(path.stem, path.read_text(encoding="utf-8"))
    told = [event.upsert_workflow_search_attributes_event_attributes.search_attributes for event in history.events]
    return [json.loads(each.indexed_fields[STATUS.name].data) for each in told if STATUS.name in each.indexed_fields]


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
        "searchable",
    }


def test_runs_that_were_started_with_search_attributes_change_them() -> None:
    changed = {path.stem: statuses_in(path) for path in HISTORIES}

    assert [name for name, statuses in changed.items() if not statuses] == []
    assert changed["searchable"] == ["waiting", "running", "done"]


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_a_recorded_history_replays_against_the_code_of_today(path: Path) -> None:
    history = WorkflowHistory.from_json(path.stem, path.read_text(encoding="utf-8"))

    result = await Replayer(workflows=[], plugins=[ReplaywrightPlugin()]).replay_workflow(
        history, raise_on_replay_failure=False
    )

    assert result.replay_failure is None


def test_there_are_histories_of_batches() -> None:
    assert {path.stem for path in BATCHES} == {"first", "last", "begun-again"}


@pytest.mark.parametrize("path", BATCHES, ids=lambda path: path.stem)
async def test_a_recorded_batch_replays_against_the_code_of_today(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    batch = json.loads(text)["events"][0]["workflowExecutionStartedEventAttributes"]["workflowId"]

    result = await Replayer(workflows=[], plugins=[ReplaywrightPlugin()]).replay_workflow(
        WorkflowHistory.from_json(batch, text), raise_on_replay_failure=False
    )

    assert result.replay_failure is None


async def test_a_changed_fingerprint_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(path for path in HISTORIES if path.stem == "replayed")
    history = WorkflowHistory.from_json(path.stem, path.read_text(encoding="utf-8"))
    monkeypatch.setattr("replaywright.domain.step.fingerprints.VERSION", 0)

    result = await Replayer(workflows=[], plugins=[ReplaywrightPlugin()]).replay_workflow(
        history, raise_on_replay_failure=False
    )

    assert result.replay_failure is not None
