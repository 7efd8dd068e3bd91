"""Pages that send again by themselves what was thrown away: it is stored once, whatever they do."""

import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from demo.stage import Stage
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.tasks import bind_parameters, parse_task
from replaywright.settings import load_settings
from tests.e2e.lab import FREEZE, Lab

pytestmark = pytest.mark.slow

SEND = 2
_POST = "fetch('/notes', {method: 'POST', body: JSON.stringify({note: field.value}), keepalive: %s})"
PAGES = {
    "repeats by a timer": f"""const send = () => {_POST % "false"}.then(stored, () => setTimeout(send, 300));
        button.onclick = send;""",
    "stays in Sending": f"""button.onclick = () => {{
        if (button.disabled) return;
        button.disabled = true; button.textContent = 'Sending…';
        {_POST % "true"}.then(stored, () => {{}}); }};""",
    "keeps an outbox": """const flush = () => {
            const note = localStorage.getItem('outbox');
            if (note) fetch('/notes', {method: 'POST', body: JSON.stringify({note})})
                .then(() => { localStorage.removeItem('outbox'); stored(); }, () => {});
        };
        button.onclick = () => { localStorage.setItem('outbox', field.value); flush(); };
        setInterval(flush, 300); flush();""",
    "has a worker that repeats": """const worker = new Worker(URL.createObjectURL(new Blob([`
            onmessage = ({data}) => { const send = () =>
                fetch(data.url, {method: 'POST', body: JSON.stringify({note: data.note})})
                    .then(() => postMessage('stored'), () => setTimeout(send, 300)); send(); };`])));
        worker.onmessage = stored;
        button.onclick = () => worker.postMessage({url: location.origin + '/notes', note: field.value});""",
}


@dataclass
class Notes:
    """The site while it is served."""

    url: str = ""
    stored: list[str] = field(default_factory=list)


@contextmanager
def served() -> Iterator[Notes]:
    """The site on a free port of this machine: a page for each way to repeat."""
    site, names = Notes(), list(PAGES)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            number = self.path.strip("/")
            script = PAGES[names[int(number)]] if number.isdecimal() else ""
            self.answer(
                "<!doctype html><title>Notes</title><label>Note <input id=field></label><button id=button>Save</button>"
                "<p id=said role=status></p><script>const stored = () => said.textContent = 'Stored'; "
                f"const field = document.getElementById('field'), button = document.getElementById('button'); {script}"
                "</script>"
            )

        def do_POST(self) -> None:
            told = json.loads(self.rfile.read(int(self.headers["content-length"])))
            site.stored.append(told["note"])
            self.answer("stored")

        def answer(self, body: str) -> None:
            content = body.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    """A stage on which nothing is learned: the tasks declare their elements."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv(FREEZE, str(tmp_path_factory.mktemp("lab") / "freeze"))
        async with Stage(load_settings(), tell=lambda _text: None) as stage:
            yield Lab(stage)


def order_of(site: Notes, number: int, note: str) -> Order:
    data: dict[str, Any] = {
        "task": "save-note",
        "url": f"{site.url}/{number}",
        "parameters": {"note": {}},
        "steps": [
            {"action": "fill", "instruction": "the note", "target": {"label": "Note"}, "value": "{{note}}"},
            {
                "action": "click",
                "instruction": "save",
                "target": {"role": "button", "name": "Save"},
                "effect": "commit",
                "expect": [{"text_contains": "Stored"}],
            },
        ],
        "verify": [{"text_contains": "Stored"}],
    }
    task = parse_task(data, "test")
    values = bind_parameters(task, {"note": note})
    return Order(task, values, new_run_id(task, values))


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("point", ["held", pytest.param("dispatched", marks=pytest.mark.long)])
async def test_what_a_page_repeats_after_it_was_thrown_away_is_not_stored_beside_the_second_attempt(
    lab: Lab, name: str, point: str
) -> None:
    note = f"{name} at {point}"
    await lab.served()
    with served() as site:
        order = order_of(site, list(PAGES).index(name), note)
        await lab.frozen_at(lab.stage.worker, point, SEND, order)
        await lab.replace_worker()

        ending = await lab.follow(order)

        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
        assert site.stored == [note]
