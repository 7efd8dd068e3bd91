"""A form whose data come late, over what is entered: what a replay sends is what it was asked to send."""

import json
import time
from typing import Any

import pytest

from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.task.tasks import bind_parameters, parse_task
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, serving

pytestmark = pytest.mark.slow

PAGE = """<!doctype html><title>Profile</title><label>Name <input id=name></label>
<label>Town <select id=town><option>Oslo<option>Riga<option>Pisa</select></label><button id=save disabled>Save</button>
<p id=said role=status></p><script>
fetch('/profile').then((answer) => answer.json()).then((stored) => { name.value = stored.name; town.value = stored.town;
  save.disabled = false; });
save.onclick = () => fetch('/save', {method: 'POST', body: JSON.stringify({name: name.value, town: town.value})})
  .then(() => { said.textContent = 'Saved'; });
</script>""".replace("name.value", "document.getElementById('name').value")


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the task declares its elements."""
    return bare_lab


async def test_what_a_late_answer_has_changed_is_entered_again_and_sent_once(lab: Lab) -> None:
    stored: list[dict[str, str]] = []
    late_s = 0.0

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            stored.append(json.loads(asked.body))
            return Answer("saved")
        if asked.path == "/profile":
            time.sleep(late_s)
            return Answer(json.dumps({"name": "Eve", "town": "Riga"}))
        return Answer(PAGE)

    with serving(answer) as url:
        first, second = order_of(url, "Ada"), order_of(url, "Bob")
        endings = [await lab.run(first)]
        late_s = 1.5
        endings.append(await lab.run(second))

    assert [ending.status for ending in endings] == ["done", "done"]
    assert "entry_lost" in {line.get("reason") for line in await lab.trace(second)}
    assert stored == [{"name": "Ada", "town": "Pisa"}, {"name": "Bob", "town": "Pisa"}]


def order_of(url: str, name: str) -> Order:
    data: dict[str, Any] = {
        "task": "move",
        "url": url,
        "parameters": {"name": {}},
        "steps": [
            {"action": "fill", "instruction": "the name", "target": {"label": "Name"}, "value": "{{name}}"},
            {"action": "select_option", "instruction": "the town", "target": {"label": "Town"}, "value": "Pisa"},
            {
                "action": "click",
                "instruction": "save",
                "target": {"role": "button", "name": "Save"},
                "effect": "commit",
                "expect": [{"text_contains": "Saved"}],
            },
        ],
        "verify": [{"text_contains": "Saved"}],
    }
    task = parse_task(data, "test")
    values = bind_parameters(task, {"name": name})
    return Order(task, values, new_run_id(task, values))
