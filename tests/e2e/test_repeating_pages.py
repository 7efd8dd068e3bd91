"""Pages that send again by themselves what was thrown away: it is stored once, whatever they do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.e2e.lab import Lab
from tests.e2e.notes import SAVE, order_of_note
from tests.e2e.plain_site import Answer, Asked, serving

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
    "keeps an outbox": """let busy = false; const flush = () => {
            const note = localStorage.getItem('outbox'), idle = () => { busy = false; };
            if (!note || busy) return; else busy = true;
            fetch('/notes', {method: 'POST', body: JSON.stringify({note})})
                .then(() => { localStorage.removeItem('outbox'); stored(); idle(); }, idle);
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

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            site.stored.append(json.loads(asked.body)["note"])
            return Answer("stored")
        number = asked.path.strip("/")
        script = PAGES[names[int(number)]] if number.isdecimal() else ""
        return Answer(
            "<!doctype html><title>Notes</title><label>Note <input id=field></label><button id=button>Save</button>"
            "<p id=said role=status></p><script>const stored = () => said.textContent = 'Stored'; "
            f"const field = document.getElementById('field'), button = document.getElementById('button'); {script}"
            "</script>"
        )

    with serving(answer) as site.url:
        yield site


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the tasks declare their elements."""
    return bare_lab


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "keeps an outbox" else pytest.mark.long) for name in PAGES]
)
@pytest.mark.parametrize("point", ["held", pytest.param("dispatched", marks=pytest.mark.long)])
async def test_what_a_page_repeats_after_it_was_thrown_away_is_not_stored_beside_the_second_attempt(
    lab: Lab, name: str, point: str
) -> None:
    note = f"{name} at {point}"
    await lab.served()
    with served() as site:
        order = order_of_note(f"{site.url}/{list(PAGES).index(name)}", note, SAVE)
        await lab.frozen_at(lab.stage.worker, point, SEND, order)
        await lab.replace_worker()

        ending = await lab.follow(order)

        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
        assert site.stored == [note]
