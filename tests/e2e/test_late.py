"""Steps whose page sends later: the first run listens for it at its end, a replay waits for it before it is done."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from demo.stage import Stage
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.step.outcomes import SENT_LATE
from replaywright.domain.task.tasks import bind_parameters, parse_task
from replaywright.settings import load_settings
from tests.e2e.lab import FREEZE, Lab
from tests.e2e.notes import CLICK, NEXT, order_of_note
from tests.e2e.plain_site import Answer, Asked, serving

pytestmark = pytest.mark.slow

_PAGE = """<!doctype html><title>Notes</title><label>Note <input id=field></label><button id=button>Save</button>
<p id=said role=status></p><script>
const post = (path, data) => fetch(path, {method: 'POST', body: JSON.stringify(data)});
setInterval(() => post('/presence', {}), 200);
button.onclick = () => {
    const note = field.value;
    said.textContent = 'Stored';
    setTimeout(() => post('/notes', {note}), 1500);
};
</script>"""
_SAVED_LATER = """<!doctype html><title>Notes</title><label>Note <input id=field></label><p id=said></p><script>
const save = () => fetch(`/notes/${field.value}`, {method: 'POST', body: JSON.stringify({note: field.value})});
let timer;
const later = () => { clearTimeout(timer); timer = setTimeout(save, 1500); };
if (location.pathname == '/drafts') field.addEventListener('input', later);
addEventListener('keydown', event => {
    if (!event.ctrlKey || event.key != 's') return;
    event.preventDefault();
    said.textContent = 'Saved';
    if (location.pathname == '/checks') fetch('/slow').then(save); else later();
});
</script>"""
_KEYS = {"action": "press", "keys": "Control+s"}


@dataclass
class Notes:
    """The site while it is served."""

    url: str = ""
    stored: list[str] = field(default_factory=list)
    slow_s: float = 0.2
    """Time that the site takes to tell what is to be known before a note is saved."""


@contextmanager
def served() -> Iterator[Notes]:
    """The site on a free port of this machine."""
    site = Notes()

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST" and asked.path.startswith("/notes"):
            site.stored.append(json.loads(asked.body)["note"])
        if asked.path == "/slow":
            time.sleep(site.slow_s)
        page = _PAGE if asked.path == "/" else _SAVED_LATER
        return Answer(page if asked.method == "GET" else "")

    with serving(answer) as site.url:
        yield site


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    """A stage without a model, whose runs listen for as long as their tasks say."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv("REPLAYWRIGHT_LISTEN_MS", "15000")
        environment.setenv(FREEZE, str(tmp_path_factory.mktemp("lab") / "freeze"))
        async with Stage(load_settings(), tell=lambda _text: None) as stage:
            yield Lab(stage)


def order_of(site: Notes, note: str) -> Order:
    return order_of_note(site.url, note, CLICK, NEXT, task="save-note-late", late_ms=4000)


async def test_what_an_undeclared_press_sends_late_is_heard_told_and_waited_for_by_a_replay(lab: Lab) -> None:
    await lab.served()
    with served() as site:
        first = await lab.run(order_of(site, "one"))

        assert first.status == "done", first.result.message
        assert site.stored == ["one"]
        assert [line.step for line in first.result.commits] == [2], first.result.warnings
        [warning] = [each for each in first.result.warnings if SENT_LATE in each]
        assert f"POST {site.url}/notes" in warning
        assert "effect: commit" in warning

        order = order_of(site, "two")
        second = await lab.run(order)

        assert second.status == "done", second.result.message
        assert site.stored == ["one", "two"]
        assert not [each for each in second.result.warnings if SENT_LATE in each]
        lines = [line for line in await lab.trace(order) if line.get("sequence") == 2]
        assert lines[-1]["effect"] == "commit", lines


@pytest.mark.parametrize(
    ("path", "saving"),
    [
        pytest.param(
            "/keys",
            [{**_KEYS, "effect": "commit", "evidence": "page"}],
            id="a shortcut, by a timer",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "/keys", [{**_KEYS, "effect": "idempotent"}], id="one that may be repeated", marks=pytest.mark.long
        ),
        pytest.param(
            "/checks",
            [{**_KEYS, "effect": "idempotent"}],
            id="a shortcut, after another request",
            marks=pytest.mark.long,
        ),
        pytest.param("/drafts", [], id="a field that saves itself after a pause"),
    ],
)
async def test_no_run_is_done_before_its_last_input_has_sent_what_it_sends(
    lab: Lab, path: str, saving: list[dict[str, Any]]
) -> None:
    await lab.served()
    with served() as site:
        data = {
            "task": f"save-later-{path[1:]}-{saving[0]['effect'] if saving else ''}",
            "url": f"{site.url}{path}",
            "late_ms": 4000,
            "parameters": {"note": {}},
            "steps": [
                {"action": "fill", "instruction": "the note", "target": {"label": "Note"}, "value": "{{note}}"},
                *saving,
            ],
            "verify": [{"exists": {"label": "Note"}}],
        }
        task = parse_task(data, "test")
        for note in ("one", "two"):
            values = bind_parameters(task, {"note": note})

            ending = await lab.run(Order(task, values, new_run_id(task, values)))

            assert (ending.status, ending.result.warnings) == ("done", ()), ending.result.message
            site.slow_s = 1.2
        assert site.stored == ["one", "two"]
