"""A replay presses sooner than a person could: what the page asked for before is let come first."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.step.outcomes import Status
from tests.adapters.acting import Acting
from tests.adapters.steps import button
from tests.e2e.plain_site import Answer, Asked, serving

# Answers are appended as they come, as if each were to what was asked last.
JOURNAL = """<title>Journal</title><label>Payee <input id=payee></label>
<button onclick="only()">Filter</button><ul></ul>
<script>
const list = document.querySelector('ul');
const show = async (path) => {
  list.replaceChildren();
  for (const line of await (await fetch(path)).json()) list.insertAdjacentHTML('beforeend', `<li>${line}</li>`);
};
const only = () => show('/filtered');
payee.onkeydown = (event) => event.key === 'Enter' && only();
show('/all');
</script>"""
# A connection that the server holds open until there is news.
NEWS = """<title>News</title><button onclick="this.textContent = 'Pressed'">Press</button>
<script>(async () => { while (true) await fetch('/news'); })();</script>"""

# What is chosen is shown a moment later, in a frame; until then the page takes no orders.
LETTERS = """<title>Letters</title><p id=told></p><table><tr><td>Ada</td></tr><tr><td>Bob</td></tr></table>
<button onclick="drop()">Delete</button><iframe name=letter></iframe>
<script>
var chosen = '', waits = false;
for (const row of document.querySelectorAll('tr')) row.onclick = () => {
  chosen = row.textContent;
  row.style.background = 'gold';
  setTimeout(() => { waits = true; letter.location = '/letter'; }, 200);
};
const drop = async () => {
  if (waits) return;
  await fetch('/drop', { method: 'POST', body: chosen });
  told.textContent = `${chosen} is gone`;
};
</script>"""
LETTER = "<title>Letter</title><p>Dear all</p><script src=/signs></script><script>parent.waits = false</script>"
PAGES = {"/reads-news": NEWS, "/letters": LETTERS, "/letter": LETTER, "/drop": "{}"}


@pytest.fixture
def over() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def site(over: threading.Event) -> Iterator[str]:
    def answer(asked: Asked) -> Answer:
        match asked.path:
            case "/all":
                time.sleep(0.6)
                return Answer('["Baker", "Grocer"]', headers={"content-type": "application/json"})
            case "/filtered":
                return Answer('["Baker"]', headers={"content-type": "application/json"})
            case "/signs":
                time.sleep(0.3)
                return Answer("", headers={"content-type": "text/javascript"})
            case "/news":
                over.wait(20)
                return Answer("{}")
            case path:
                return Answer(PAGES.get(path, JOURNAL))

    with serving(answer) as url:
        yield url


LINES = {"lines": {"take": "texts", "find": {"css": "li"}}}


@pytest.mark.parametrize("how", ["click", "press"])
async def test_an_answer_that_was_asked_for_before_a_press_comes_before_it(
    session: ChromiumSession, site: str, how: str
) -> None:
    acting = Acting(session)
    await acting.do("goto", url=site)
    await acting.do("fill", {"label": "Payee"}, value="Baker")

    pressed = await (acting.do("click", button("Filter")) if how == "click" else acting.do("press", keys="Enter"))
    read = await acting.do("extract", fields=LINES)

    assert (pressed.status, read.extracted) == (Status.DONE, {"lines": ["Baker"]})


async def test_a_request_that_the_server_holds_open_holds_up_no_press_for_long(
    session: ChromiumSession, site: str
) -> None:
    acting = Acting(session)
    await acting.do("goto", url=f"{site}/reads-news")
    await asyncio.sleep(0.1)  # the request is under way

    first = await acting.do("click", button("Press"), timeout_ms=4000)
    second = await acting.do("click", button("Pressed"), timeout_ms=1000)

    assert (first.status, second.status) == (Status.DONE, Status.DONE)


async def test_what_a_press_makes_the_page_show_in_a_frame_a_moment_later_is_there_before_the_next(
    session: ChromiumSession, site: str
) -> None:
    acting, ended = Acting(session), []
    for who in ("Ada", "Bob"):
        await acting.do("goto", url=f"{site}/letters")
        chosen = await acting.do("click", {"role": "row", "text": "{{who}}"}, values={"who": who})
        gone = {"text_contains": f"{who} is gone"}
        dropped = await acting.do("click", button("Delete"), effect="commit", expect=[gone], timeout_ms=3000)
        ended += [chosen.status, dropped.status]
        await acting.next_run(chosen, dropped)

    assert ended == [Status.DONE] * 4
