"""How one step of a run is shown, and how its artifacts are listed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from replaywright.artifacts.store import ArtifactStore
from replaywright.cli.commands import app
from replaywright.cli.evidence.evidence import artifacts_of, print_artifacts, print_report, report_of
from replaywright.cli.servers.store import step_records
from replaywright.errors import InputInvalid

EXPECTATIONS = [
    {
        "expected": {"text_contains": "Sent"},
        "passed": False,
        "reason": "text_missing",
        "actual": {"nearest": ["Saved"]},
    },
    {"expected": {"url_contains": "/sent"}, "passed": True, "reason": "holds", "actual": {}},
]


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(str(tmp_path / "artifacts"))


def put(store: ArtifactStore, text: str) -> str:
    return asyncio.run(store.put(text.encode()))


def line(sequence: int = 2, **fields: Any) -> dict[str, Any]:
    return {"kind": "step", "sequence": sequence, "title": "click the send button", "status": "unmet"} | fields


def shown(lines: list[dict[str, Any]], store: ArtifactStore, capsys: pytest.CaptureFixture[str]) -> str:
    print_report(asyncio.run(report_of("mail/1", 3, step_records(lines), store)))
    return capsys.readouterr().out


def test_expected_and_actual_stand_one_below_the_other(
    store: ArtifactStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    kept = {
        "expectations": put(store, json.dumps(EXPECTATIONS)),
        "diff": put(store, '+ status "Saved"\n- button "Send"'),
    }
    text = shown([line(artifacts=kept, reason="text_missing", url="http://host/sent")], store, capsys)

    lines = text.splitlines()
    at = lines.index('    - expected: text_contains: "Sent"')
    assert lines[at - 1].endswith("text missing")
    assert lines[at + 1] == '    + actual: nearest: ["Saved"]'
    assert '  ✓ url_contains: "/sent"' in lines or '  + url_contains: "/sent"' in lines
    assert '  + status "Saved"' in lines
    assert str(store.path_of(kept["diff"])) in text
    assert "replaywright admin artifacts mail/1 --step 3 --open KIND" in text


def test_every_attempt_is_told_and_the_artifacts_say_whose_they_are(
    store: ArtifactStore, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (line(artifacts={"dom": put(store, name)}, reason=name) for name in ("covered", "timeout"))

    text = shown([line(0, status="done"), first, second], store, capsys)

    assert "attempt 1: unmet (covered)" in text
    assert "attempt 2: unmet (timeout)" in text
    found = asyncio.run(artifacts_of(step_records([first, second]), store))
    assert [artifact.name for artifact in found] == ["step-0003-attempt-1-dom.html", "step-0003-attempt-2-dom.html"]


def test_without_kept_expectations_the_trace_tells_the_verdicts(
    store: ArtifactStore, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = {"passed": False, "reason": "url_differs", "details": {"expected": "/sent", "url": "http://host/inbox"}}

    text = shown([line(predicates=[verdict], artifacts={"expectations": "0" * 64})], store, capsys)

    assert "url differs" in text
    assert 'expected: "/sent"' in text
    assert "at http://host/inbox" in text
    assert "not there any more" in text


def test_what_could_not_be_had_is_listed_with_its_reason(
    store: ArtifactStore, capsys: pytest.CaptureFixture[str]
) -> None:
    records = step_records([line(artifactsMissing={"screenshot": "the page did not answer"})])
    print_artifacts(asyncio.run(artifacts_of(records, store)))

    assert "screenshot" in (text := capsys.readouterr().out)
    assert "the page did not answer" in text


def test_texts_of_pages_cannot_control_the_terminal(store: ArtifactStore, capsys: pytest.CaptureFixture[str]) -> None:
    kept = {"diff": put(store, "+ \x1b[31mred\u202e"), "expectations": put(store, json.dumps([]))}

    text = shown([line(artifacts=kept, message="\x1b]0;title\x07")], store, capsys)

    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_step_that_is_not_there_is_refused_with_those_that_are(store: ArtifactStore) -> None:
    with pytest.raises(InputInvalid, match=r"no record of a step 9: it has the steps 1 to 3"):
        asyncio.run(report_of("mail/1", 9, step_records([line(0), line(2)]), store))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["latest", "--open", "film"], "the kinds are expectations, diff, screenshot"),
        (["latest", "--open", "dom", "--save", "here"], "one of --open and --save"),
        (["latest", "--step", "0"], "Invalid value"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["admin", "artifacts", *arguments], env={"COLUMNS": "200"})

    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
