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
            case "/news":
                over.wait(20)
                return Answer("{}")
            case "/reads-news":
                return Answer(NEWS)
            case _:
                return Answer(JOURNAL)

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
