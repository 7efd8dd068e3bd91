"""A run of a thousand steps across many histories, whose worker is killed ten times."""

import random
import time
from pathlib import Path

import pytest

from bench.chaos.lane import Lane, serve
from bench.chaos.runs import REACH_LIMIT_S, within
from bench.message_site.log import Log
from replaywright.cli.runs.follow import follow, handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.domain.task.tasks import parse_task
from replaywright.settings import load_settings

STEPS = 1_000
KILLS = 10
SENDS = (250, 500, 750, 999)
"""Steps that send a message each."""
POINTS = ("start", "acted", "recorded", "returned")
SEED = 21

pytestmark = [pytest.mark.long, pytest.mark.slow]


def step(number: int) -> dict[str, object]:
    """A cheap step, or one of the three that a message takes."""
    for send in SENDS:
        match send - number:
            case 2:
                return {"action": "goto", "url": "{{base_url}}/new/form"}
            case 1:
                return {
                    "action": "fill",
                    "instruction": "the subject field",
                    "target": {"role": "textbox", "name": "Subject"},
                    "value": f"long-{send}",
                }
            case 0:
                return {
                    "action": "click",
                    "instruction": "the send button",
                    "target": {"role": "button", "name": "Send"},
                    "effect": "commit",
                    "expect": [{"text_contains": "Message sent"}],
                }
            case -1:
                return {"action": "goto", "url": "{{base_url}}/note"}
    if number == 0:
        return {"action": "goto", "url": "{{base_url}}/note"}
    return {
        "action": "fill",
        "instruction": "the note field",
        "target": {"role": "textbox", "name": "Note"},
        "value": f"note {number}",
    }


async def test_a_thousand_steps_survive_ten_kills_and_every_message_is_sent_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPLAYWRIGHT_MODEL", raising=False)
    written = {
        "task": "thousand",
        "url": "{{base_url}}/note",
        "parameters": {"base_url": {"type": "text"}},
        "steps": [step(number) for number in range(STEPS)],
        "verify": [{"text_contains": "Message sent"}],
    }
    task = parse_task(written, "the test")
    drawn = random.Random(SEED)
    kills = sorted((number, drawn.choice(POINTS)) for number in drawn.sample(range(5, STEPS), KILLS))
    log = Log(tmp_path / "site.jsonl")
    site, url = await serve("site", "bench.message_site.site", "--log", str(log.path), log=tmp_path / "site.log")
    begun = time.monotonic()
    async with Lane(1, tmp_path, load_settings()) as lane:
        order = Order(task, {"base_url": url}, "thousand-1")
        handle = handle_of(lane.place.client, order.run_id)
        lane.freeze_file.write_text(f"{kills[0][1]}:{kills[0][0]}")
        await start(lane.place, order)
        for number, (at, point) in enumerate(kills):
            reached = await within(REACH_LIMIT_S * 3, lambda: lane.frozen() is not None)
            assert reached, f"no worker came to {point} of step {at}"
            worker = lane.frozen()
            assert worker is not None
            if number + 1 < KILLS:  # before the run goes on
                lane.freeze_file.write_text(f"{kills[number + 1][1]}:{kills[number + 1][0]}")
            worker.kill(group=True)
            await worker.child.ended_within(10)
            await lane.fill_up()
        ending = await follow(handle, show=lambda _progress, _note: None, until_waiting=True, patient=True)
        histories = [run async for run in lane.place.client.list_workflows(f"WorkflowId = '{order.run_id}'")]
    await site.stop()
    print(f"{STEPS} steps, {KILLS} kills: {time.monotonic() - begun:.0f} s")

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert ending.result.totals.steps == STEPS
    assert ending.result.totals.recoveries >= KILLS
    assert len(histories) == STEPS // 100
    assert [len(log.sent(f"long-{send}")) for send in SENDS] == [1] * len(SENDS)
