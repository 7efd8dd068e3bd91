"""A wrong click is worse than no click: pages on which a recording must not be acted on."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from replaywright.cli.runs.starting import Order
from replaywright.domain.predicate.predicates import UrlContains
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.outcomes import ARTIFACT_KINDS
from replaywright.domain.task.steps import Goto
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
async def _classic_again(lab: Lab) -> AsyncIterator[None]:
    yield
    await lab.stage.redesign("classic")


async def last_lookup(lab: Lab, order: Order) -> dict[str, object]:
    lines = [line for line in await lab.trace(order) if line["kind"] == "step"]
    assert lines[-1]["status"] == "missed"
    lookup: dict[str, object] = lines[-1]["lookup"]
    return lookup


async def test_two_equal_send_buttons_are_a_miss_with_reason_ambiguous_and_no_click(lab: Lab) -> None:
    await lab.stage.redesign("twins")
    order = lab.order(mode=Mode.REPLAY)

    ending = await lab.run(order)

    assert ending.status == "failed"
    assert ending.result.reason == "ambiguous"
    assert ending.result.failed_step == 9
    assert (await last_lookup(lab, order))["reason"] == "ambiguous"
    assert lab.mails(order) == []


@pytest.mark.long
async def test_an_xpath_and_id_that_now_lead_to_another_control_are_not_clicked(lab: Lab) -> None:
    await lab.stage.redesign("identity-swap")
    before = await lab.stage.state()
    order = lab.order(mode=Mode.REPLAY)

    ending = await lab.run(order)

    after = await lab.stage.state()
    assert (after["discarded"], after["drafts"]) == (before["discarded"], before["drafts"])
    assert len(lab.mails(order)) == (1 if ending.status == "done" else 0)


async def cli(lab: Lab, *arguments: str, **more: str) -> str:
    """What a command prints that must succeed."""
    settings = lab.place.settings
    variables = {
        "COLUMNS": "300",
        "REPLAYWRIGHT_HOME": str(settings.home),
        "REPLAYWRIGHT_TENANT": settings.tenant,
        "REPLAYWRIGHT_TEMPORAL_ADDRESS": settings.temporal_address or "",
        "REPLAYWRIGHT_REDIS_URL": settings.redis_url or "",
        "REPLAYWRIGHT_SIGNING_KEYS_FILE": str(settings.signing_keys),
    }
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "replaywright", *arguments),
        env=os.environ | variables | more,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await command.communicate()
    assert command.returncode == 0, err.decode()
    return out.decode()


async def test_an_expectation_that_fails_leaves_its_evidence_to_the_command_line(lab: Lab, tmp_path: Path) -> None:
    never = (UrlContains(url_contains="/nowhere"),)
    failing = Goto(action="goto", url="{{base_url}}/inbox", expect=never, timeout_ms=2_000)
    steps = (*lab.task.steps[:4], failing, *lab.task.steps[4:])
    order = lab.order(lab.task.model_copy(update={"steps": steps}), mode=Mode.REPLAY)

    ending = await lab.run(order)

    assert (ending.status, ending.result.reason) == ("failed", "url_differs")
    assert set(ending.result.artifacts) == set(ARTIFACT_KINDS) - {"diff", "model"}

    assert ending.progress is not None
    assert ending.progress.lines[-1].artifacts == ending.result.artifacts

    shown = await cli(lab, "show", order.run_id, "--step", "5")
    assert '- expected: url_contains: "/nowhere"' in shown
    assert "/inbox" in shown
    assert ending.result.artifacts["screenshot"][:12] in shown

    listed = json.loads(await cli(lab, "admin", "artifacts", order.run_id, "--json", "--save", str(tmp_path)))[
        "artifacts"
    ]
    assert {artifact["kind"] for artifact in listed} == set(ending.result.artifacts)
    saved = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(saved) == len(listed)
    assert all(lab.stage.password.encode() not in data for data in saved.values())
    assert all(data.startswith(b"\x89PNG") for name, data in saved.items() if name.endswith("screenshot.png"))
    assert any(b"POST" in data for name, data in saved.items() if name.endswith("network.txt"))

    viewer = tmp_path / "xdg-open"
    viewer.write_text('#!/bin/sh\ncp "$1" "$(dirname "$0")/opened"\n')
    viewer.chmod(0o755)
    await cli(
        lab, "admin", "artifacts", order.run_id, "--open", "dom", PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    )
    assert b"<!-- document" in (tmp_path / "opened").read_bytes()

    pruned = json.loads(await cli(lab, "admin", "artifacts", "prune", "--dry-run", "--json"))
    assert (pruned["deleted"], pruned["left"] >= len(saved)) == (0, True)
