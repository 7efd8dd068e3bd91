"""A checkpoint of one Chromium, put back into another: cookies, local storage, IndexedDB, the page and where it was."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.devtools.channel import Tab
from replaywright.browser.reading import storage
from replaywright.browser.session import ChromiumSession
from replaywright.browser.step.step_context import StepContext
from replaywright.domain.page.outlines import Outline
from replaywright.domain.step.checkpoints import PageState
from replaywright.domain.task.steps import Goto
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Work
from tests.adapters import browser_site
from tests.adapters.browser_site import Site
from tests.adapters.chromium import Chromium
from tests.adapters.steps import work

FILL = """async () => {
  document.cookie = 'user=ada; path=/';
  localStorage.setItem('theme', 'dark');
  const request = indexedDB.open('app', 3);
  request.onupgradeneeded = () => {
    request.result.createObjectStore('notes', {keyPath: 'id'}).createIndex('by_text', 'text');
    request.result.createObjectStore('loose');
  };
  await new Promise((ok) => { request.onsuccess = ok; });
  const database = request.result;
  const transaction = database.transaction(['notes', 'loose'], 'readwrite');
  for (let id = 0; id < 200; id++) transaction.objectStore('notes').put({id, text: 'x'.repeat(100)});
  const bytes = new Uint8Array([1, 2, 255]);
  const loop = {when: new Date(5), big: 12n, none: undefined, bytes, map: new Map([[1, 'a']])};
  loop.self = loop;
  transaction.objectStore('loose').put(loop, new Date(7));
  await new Promise((ok) => { transaction.oncomplete = ok; });
  database.close();
}"""
READ = """async () => {
  const request = indexedDB.open('app');
  await new Promise((ok) => { request.onsuccess = ok; });
  const database = request.result;
  const transaction = database.transaction(['notes', 'loose']);
  const told = (asked) => new Promise((ok, no) => { asked.onsuccess = () => ok(asked.result); asked.onerror = no; });
  const notes = transaction.objectStore('notes');
  const count = await told(notes.index('by_text').count());
  const value = await told(transaction.objectStore('loose').get(new Date(7)));
  return [document.cookie, localStorage.getItem('theme'), database.version, count, value.when.getTime(),
    String(value.big), 'none' in value && value.none === undefined, [...value.bytes], value.map.get(1),
    value.self === value];
}"""
ALL = ["user=ada", "dark", 3, 200, 5, "12", True, [1, 2, 255], "a", True]


class Waiting:
    """`StepContext.left_alone`, telling when it is reached."""

    def __init__(self, plain: Callable[[StepContext], Awaitable[None]]) -> None:
        self._plain = plain
        self.reached = asyncio.Event()

    def __get__(self, context: StepContext, _owner: type) -> Callable[[], Awaitable[None]]:
        async def left_alone() -> None:
            self.reached.set()
            await self._plain(context)

        return left_alone


async def shown(session: ChromiumSession, url: str) -> None:
    await session.tabs.current.page.goto(url)


async def test_what_a_site_stored_survives_into_another_browser(
    session: ChromiumSession, site: Site, browsers: ChromiumBrowsers, chromium_path: Path, tmp_path: Path
) -> None:
    with browser_site.serving() as other_site:
        await shown(session, other_site.url("browser_second.html"))
        await session.tabs.current.page.evaluate(FILL)
        first, _ = await session.state()
        await shown(session, site.url("browser_second.html"))
        await session.tabs.current.page.evaluate("localStorage.setItem('theme', 'light')")
        await session.tabs.current.page.evaluate("document.body.style.height = '5000px'; scrollTo(0, 40)")
        # Another worker has not seen the other site: what is known of it comes from the checkpoint before.
        second, _ = await session.state()
        second = second.beside(first)
        state = PageState.model_validate_json(second.model_dump_json())

        async with Chromium(chromium_path, tmp_path / "other") as endpoint:
            other = await browsers.attach(endpoint)
            await other.restore(state)
            here = await other.tabs.current.page.evaluate("localStorage.getItem('theme')")
            await shown(other, other_site.url("browser_second.html"))
            there = await other.tabs.current.page.evaluate(READ)
            tabs = len(other.tabs.attached)
            await other.detach()

    assert (here, there, tabs) == ("light", ALL, 1)
    assert (state.scroll, state.tabs, state.left_out) == ((0, 40), 1, ())


async def test_the_outline_tells_names_and_what_fields_hold_also_in_frames(
    session: ChromiumSession, site: Site
) -> None:
    await shown(session, site.url("browser_second.html"))
    await session.tabs.current.page.evaluate(
        """() => {
          document.body.innerHTML = `<h1>Notes</h1><p>Plain words</p><label>Title <input value="Monday"></label>
            <label>Key <input value="told to nobody"></label><button hidden>Gone</button>
            <iframe width=300 height=80></iframe><iframe style="display:none"></iframe>`;
          for (const frame of document.querySelectorAll('iframe'))
            frame.contentDocument.body.innerHTML = '<button>Inside</button>';
        }"""
    )
    session.environment.typed.append("told to nobody")

    _, read_for_a_checkpoint = await session.state()

    assert (await session.outline()) == read_for_a_checkpoint
    assert read_for_a_checkpoint.elements == (
        ("heading", "Notes", None),
        ("textbox", "Title", "Monday"),
        ("textbox", "Key", ""),
        ("button", "Inside", ""),
    )


LOGGED = """<p>what it saw: <output></output></p><input aria-label="To">
  <select aria-label="Size"><option>small<option>large</select>
  <script>
    const told = document.querySelector('output');
    for (const kind of ['keydown', 'pointerdown', 'input', 'change'])
      addEventListener(kind, (event) => { told.textContent += `${kind} `; });
  </script>"""


@pytest.mark.parametrize(
    "asked",
    [
        work("click", {"label": "To"}),
        work("fill", {"label": "To"}, text="ada"),
        work("select_option", {"label": "Size"}, value="large"),
        work("press", keys="a"),
        work("goto", url="http://127.0.0.1/"),
        work("close_tab"),
    ],
    ids=lambda asked: str(asked.step.action),
)
async def test_nothing_is_given_to_a_page_before_it_is_read(
    session: ChromiumSession, site: Site, monkeypatch: pytest.MonkeyPatch, asked: Work
) -> None:
    await session.tabs.current.page.context.new_page()
    await session.tabs.until(lambda: len(session.tabs.attached) == 2, 5)
    page = session.tabs.current.page
    await shown(session, site.url("browser_second.html"))
    await page.set_content(LOGGED)
    begun, told, take = asyncio.Event(), asyncio.Event(), storage.take

    async def slow(tab: Tab, typed: Sequence[str], *, tabs: int) -> tuple[PageState, Outline]:
        begun.set()
        await told.wait()
        seen = await page.inner_text("output")
        state, shown = await take(tab, typed, tabs=tabs)
        return state.model_copy(update={"left_out": (seen,)}), shown

    monkeypatch.setattr(storage, "take", slow)
    reading = asyncio.create_task(session.state())
    await begun.wait()
    monkeypatch.setattr(StepContext, "until_read", waiting := Waiting(StepContext.until_read))
    if isinstance(asked.step, Goto):
        asked = work("goto", url=site.url("browser_second.html"))
    acting = asyncio.create_task(session.perform(asked))
    await waiting.reached.wait()
    untouched = not acting.done()
    told.set()
    (state, _), report = await reading, await acting

    assert (untouched, state.left_out) == (True, ("",))
    assert (report.lookup.hit, report.acted) == (True, True)


async def test_a_page_that_is_gone_is_not_taken_for_restored(session: ChromiumSession, site: Site) -> None:
    with pytest.raises(ActionFailed, match="404"):
        await session.restore(PageState(url=site.url("no_such_page.html"), storage={"cookies": [], "origins": []}))


async def test_a_navigation_makes_another_document_and_a_step_within_one_does_not(
    session: ChromiumSession, site: Site
) -> None:
    await shown(session, site.url("browser_second.html"))
    first = session.document
    await session.tabs.current.page.evaluate("history.pushState({}, '', '?x=1'); location.hash = 'here'")
    within = session.document
    await shown(session, site.url("browser_second.html"))

    assert within == first != session.document


async def test_what_cannot_be_kept_is_said_and_the_rest_is_kept(session: ChromiumSession, site: Site) -> None:
    await shown(session, site.url("browser_second.html"))
    await session.tabs.current.page.evaluate("localStorage.setItem('theme', 'dark')")
    await session.tabs.current.page.evaluate(
        """async () => {
          const key = await crypto.subtle.generateKey({name: 'AES-GCM', length: 128}, false, ['encrypt']);
          const request = indexedDB.open('keys', 1);
          request.onupgradeneeded = () => request.result.createObjectStore('k').put(key, 'a');
          await new Promise((ok) => { request.onsuccess = ok; });
        }"""
    )

    state, _ = await session.state()

    assert [item["name"] for item in state.storage["origins"][-1]["localStorage"]] == ["theme"]
    assert state.left_out == ("IndexedDB keys: [object CryptoKey]",)


@pytest.mark.long
async def test_what_a_checkpoint_costs_is_printed(session: ChromiumSession, site: Site) -> None:
    async def median_ms(call: Callable[[], Any]) -> float:
        times = []
        for _ in range(20):
            begun = time.perf_counter()
            await call()
            times.append((time.perf_counter() - begun) * 1000)
        return statistics.median(times)

    await shown(session, site.url("browser_second.html"))
    empty = await median_ms(session.state)
    await session.tabs.current.page.evaluate(FILL)
    filled = await median_ms(session.state)
    snapshot = await median_ms(session.snapshot)

    print(f"state {empty:.1f} ms; with 200 records in IndexedDB {filled:.1f} ms; snapshot {snapshot:.1f} ms")
    assert empty > 0
