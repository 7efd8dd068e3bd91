"""What a step reads: it may say something else at its next visit, and its page may never have all that it asked for."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.step.outcomes import Status
from tests.adapters.acting import Acting
from tests.e2e.plain_site import Answer, Asked, serving

LETTERS = (
    ("Photos of the boat", "They are lovely.", "12.50", "four"),
    ("Lunch on Friday", "At noon, by the river.", "99.00", "seven"),
)

# A page that asks for what does not come, and one that says so where it leads.
ASKS = """<title>News</title><p>None</p><a href=/letter>Letter</a><script>
fetch('/never');
document.head.append(Object.assign(document.createElement('script'), { src: '/never' }));
</script>"""

# A page that is told of its results by a stream of events, and has another one open all the time.
STREAMS = """<title>Search</title><button>Find</button><p>before</p><script>
new EventSource('/never');
document.querySelector('button').onclick = async () => {
  await fetch('/search', { method: 'POST' });
  const results = new EventSource('/results');
  results.onmessage = (event) => { document.querySelector('p').textContent = event.data; results.close(); };
};
</script>"""
EVENTS = {"content-type": "text/event-stream"}
RESULTS_S = 0.8


def page(subject: str, words: str, total: str, many: str) -> str:
    return f"""<title>Letters</title><main><h1>{subject}</h1><div id=words>{words}</div>
<p>Total: <span class=total>{total}</span></p>
<table><tr><td>Apples</td><td class=many>{many}</td></tr><tr><td>Pears</td><td>none</td></tr></table></main>"""


@pytest.fixture
def site() -> Iterator[str]:
    left, over = list(LETTERS), threading.Event()

    def answer(asked: Asked) -> Answer:
        match asked.path:
            case "/letter":
                return Answer(page(*left.pop(0)))
            case "/news":
                return Answer(ASKS)
            case "/streams":
                return Answer(STREAMS)
            case "/search":
                return Answer("", 204)
            case "/results":
                over.wait(RESULTS_S)
                return Answer("data: after\n\n", headers=EVENTS)
            case _:
                over.wait(30)
                return Answer("", 404)

    with serving(answer) as url:
        yield url
        over.set()


@pytest.mark.parametrize(
    ("target", "nth"),
    [({"css": "#words"}, 1), ({"css": ".total"}, 2), ({"css": ".many"}, 3)],
)
async def test_an_element_that_says_something_else_is_read_by_its_recording(
    session: ChromiumSession, site: str, target: dict[str, Any], nth: int
) -> None:
    acting, read = Acting(session), []
    for _ in LETTERS:
        await acting.do("goto", url=f"{site}/letter")
        outcome = await acting.do("extract", target, fields={"it": {"take": "text"}})
        read.append((outcome.status, outcome.extracted.get("it"), outcome.lookup.tier, outcome.lookup.healed))
        await acting.next_run(outcome)

    first, second = (texts[nth] for texts in LETTERS)
    assert read[0] == (Status.DONE, first, "query", False)
    assert read[1] == (Status.DONE, second, "xpath", False)


async def test_what_a_page_has_asked_for_in_vain_holds_up_no_reading_of_the_next(
    session: ChromiumSession, site: str
) -> None:
    acting = Acting(session)
    await acting.do("goto", url=f"{site}/news")
    await session.tabs.until(lambda: session.tabs.current.traffic.is_growing, 5)
    await acting.do("click", {"role": "link", "name": "Letter"})

    assert not session.tabs.current.traffic.is_growing
    assert (await acting.do("extract", {"css": "#words"}, fields={"it": {"take": "text"}})).status is Status.DONE


async def test_a_page_that_asks_in_vain_is_read_within_the_time_of_a_step(session: ChromiumSession, site: str) -> None:
    acting = Acting(session)
    await acting.do("goto", url=f"{site}/news")

    read = await acting.do("extract", {"role": "paragraph"}, fields={"it": {"take": "text"}})

    assert (read.status, read.extracted) == (Status.DONE, {"it": "None"})


async def test_what_an_input_has_a_stream_bring_is_read(session: ChromiumSession, site: str) -> None:
    acting = Acting(session)
    await acting.do("goto", url=f"{site}/streams")
    before = await acting.do("extract", {"role": "paragraph"}, fields={"it": {"take": "text"}})
    await acting.do("click", {"role": "button", "name": "Find"}, effect="idempotent")

    after = await acting.do("extract", {"role": "paragraph"}, fields={"it": {"take": "text"}})

    assert (before.extracted, after.extracted) == ({"it": "before"}, {"it": "after"})
