"""Recordings of Chrome's Recorder are tried by a run: each `change` is the action that its control takes."""

import json
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.imports.devtools import read_devtools
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, serving

pytestmark = pytest.mark.slow

RECORDING = Path(__file__).parents[1] / "imports" / "recordings" / "devtools_order.json"
FORM = """<!doctype html><title>Order</title><form method=post action=/ordered>
<label for=dish>Dish</label><select id=dish name=dish><option value=s>Soup<option value=c>Curry</select>
<label for=day>Day</label><input id=day name=day type=date>
<label><input id=away name=away type=checkbox> To take away</label>
<label><input name=size type=radio value=small checked> Small</label>
<label><input id=large name=size type=radio value=large> Large</label>
<label for=name>Name</label><input id=name name=name><button>Order</button></form>"""


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the recording has what is needed."""
    return bare_lab


async def test_a_list_a_date_and_what_is_ticked_are_replayed_with_other_values(lab: Lab) -> None:
    sent: list[dict[str, list[str]]] = []

    def answer(asked: Asked) -> Answer:
        if asked.method != "POST":
            return Answer(FORM)
        sent.append(parse_qs(asked.body))
        return Answer("<!doctype html><title>Ordered</title><h1>Ordered</h1>")

    with serving(answer) as site:
        recording = json.loads(RECORDING.read_text().replace("http://shop.test", site))
        task = read_devtools(recording, "order").task
        for values in (
            {"dish": "c", "day": "2026-12-24", "name": "Ada"},
            {"dish": "Soup", "day": "2027-01-31", "name": "Grace"},
        ):
            ending = await lab.run(Order(task, values, new_run_id(task, values)))
            assert ending.status == "done", ending.result.message

    assert sent == [
        {"dish": ["c"], "day": ["2026-12-24"], "away": ["on"], "size": ["large"], "name": ["Ada"]},
        {"dish": ["s"], "day": ["2027-01-31"], "away": ["on"], "size": ["large"], "name": ["Grace"]},
    ]
