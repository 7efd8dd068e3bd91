"""Orders of a site that keeps notes."""

from typing import Any

from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.task.tasks import bind_parameters, parse_task

WRITE = {"action": "fill", "instruction": "the note", "target": {"label": "Note"}, "value": "{{note}}"}
NEXT = {"action": "fill", "instruction": "the next note", "target": {"label": "Note"}, "value": "next"}
CLICK = {"action": "click", "instruction": "save", "target": {"role": "button", "name": "Save"}}
SAVE = {**CLICK, "effect": "commit", "expect": [{"text_contains": "Stored"}]}


def order_of_note(url: str, note: str, *steps: dict[str, Any], **more: Any) -> Order:
    """The order to write a note and do these steps; `more` are fields of the task."""
    data = {"task": "save-note", "url": url, "parameters": {"note": {}}, "steps": [WRITE, *steps]}
    task = parse_task({**data, "verify": [{"text_contains": "Stored"}], **more}, "test")
    values = bind_parameters(task, {"note": note})
    return Order(task, values, new_run_id(task, values))
