"""What a session keeps of the requests behind its steps: a real Chromium and a small site over HTTP."""

import gzip
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.server import ServerConnection, serve

from replaywright.browser.session import ChromiumSession
from replaywright.domain.requests.exchanges import BODY_LIMIT, Exchange
from tests.adapters.steps import button, says, work
from tests.e2e.plain_site import Answer, led_to, serving
from tests.waiting import until

_FORMS = """<!doctype html><meta charset=utf-8><title>Forms</title><link rel=icon href=data:,>
<form method=post action=/add><input type=hidden name=token value=t1><input name=title value="Käse">
<button>Add</button></form><form action=/find><input name=q value="a b"><button>Find</button></form>
<form method=post action=/add target=_blank><input name=title value=Tea><button>Add elsewhere</button></form>
<form method=post action=/add enctype=multipart/form-data><input name=title value="Käse"><input type=file name=paper>
<button>Attach</button></form>
<form method=post action=/add><button>Repeat</button></form>"""
_LEADS_ON = '<title>On the way</title><p>Order 17</p><script>location.replace("/end")</script>'
_SERVICE = """oninstall = () => skipWaiting(); onactivate = e => e.waitUntil(clients.claim());
onfetch = e => { if (e.request.url.endsWith('/served')) e.respondWith(new Response('from the worker')) }"""


_ANSWERS = {
    "/forms": Answer(_FORMS),
    "/add": led_to("/list", **{"set-cookie": "flash=added"}),
    "/list": Answer("<title>List</title><p>Käse was added", headers={"set-cookie": "flash=; max-age=0"}),
    "/find": Answer("<title>Found</title>2 found"),
    "/zipped": Answer(gzip.compress("<title>Zipped</title>Käse".encode()), headers={"content-encoding": "gzip"}),
    "/old": Answer(
        "<title>Old</title>5 € Käse".encode("cp1252"), headers={"content-type": "text/html; charset=windows-1252"}
    ),
    "/api": Answer(json.dumps({"id": 7, "name": "Käse"}), headers={"content-type": "application/json"}),
    "/framed": Answer("<title>Frame</title><iframe src=/find?q=framed></iframe>"),
    "/leads-on": Answer(_LEADS_ON),
    "/long": Answer("x" * (BODY_LIMIT + 1), headers={"content-type": "text/plain"}),
    "/picture": Answer(b"\x89PNG\r\n\x1a\n\xff", headers={"content-type": "image/png"}),
    "/events": Answer("data: 1\n\n", headers={"content-type": "text/event-stream"}),
    "/service.js": Answer(_SERVICE, headers={"content-type": "text/javascript"}),
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(lambda asked: _ANSWERS.get(asked.path, Answer("<title>Page</title>ok"))) as url:
        yield url


@pytest.fixture
async def forms(session: ChromiumSession, address: str) -> ChromiumSession:
    """A session that records, on the page of forms: step 0."""
    await session.perform(work("goto", url=f"{address}/forms", records=0))
    return session


async def _echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def run(session: ChromiumSession, script: str) -> None:
    """Run a script in the page, until its promise is kept."""
    evaluated = {"expression": script, "awaitPromise": True, "userGesture": True}
    await session.tabs.current.cdp.send("Runtime.evaluate", evaluated)


async def _has(session: ChromiumSession, number: int) -> bool:
    return len(await session.exchanges()) == number


async def last(session: ChromiumSession, path: str) -> Exchange:
    """The only exchange with this path, once it is there."""
    found: list[Exchange] = []

    async def is_there() -> bool:
        found[:] = [one for one in await session.exchanges() if urlsplit(one.request.url).path == path]
        return bool(found)

    await until(is_there)
    [exchange] = found
    return exchange


async def test_nothing_is_kept_of_steps_that_do_not_ask_for_it(session: ChromiumSession, address: str) -> None:
    await session.perform(work("goto", url=f"{address}/forms"))
    await session.perform(work("click", button("Add"), expect=[says("was added")]))

    assert await session.exchanges() == ()
    assert not session.tabs.exchanges.is_on


async def test_a_form_and_the_redirect_behind_it_are_one_exchange(forms: ChromiumSession, address: str) -> None:
    await forms.perform(work("click", button("Add"), expect=[says("was added")], records=3))

    page, added = await forms.exchanges()
    assert (page.step, page.kind, page.request.method, page.request.url) == (0, "document", "GET", f"{address}/forms")
    assert page.response is not None
    assert "name=token value=t1" in page.response.body
    assert (added.step, added.kind, added.is_main, added.fault) == (3, "document", True, "")
    assert (added.request.method, added.request.url) == ("POST", f"{address}/add")
    assert added.request.body == "token=t1&title=K%C3%A4se"
    assert added.request.content_type == "application/x-www-form-urlencoded"
    assert added.request.headers["origin"] == address
    assert added.request.headers["accept"].startswith("text/html")
    assert not {"cookie", "host", "content-length"} & added.request.headers.keys()
    assert added.response is not None
    assert (added.response.status, added.response.url) == (200, f"{address}/list")
    assert "Käse was added" in added.response.body
    assert added.response.media_type == "text/html"
    assert "set-cookie" not in added.response.headers


async def test_a_query_is_kept_and_a_fragment_is_not(forms: ChromiumSession, address: str) -> None:
    await forms.perform(work("click", button("Find"), expect=[says("2 found")], records=1))
    await forms.perform(work("goto", url=f"{address}/zipped#part", records=2))

    _, found, zipped = await forms.exchanges()
    assert (found.request.method, found.request.url, found.request.body) == ("GET", f"{address}/find?q=a+b", "")
    assert zipped.request.url == f"{address}/zipped"
    assert zipped.response is not None
    assert zipped.response.body == "<title>Zipped</title>Käse"


async def test_text_in_an_older_character_set_is_text(forms: ChromiumSession, address: str) -> None:
    await forms.perform(work("goto", url=f"{address}/old", records=1))

    old = await last(forms, "/old")
    assert old.response is not None
    assert old.response.body.endswith("5 € Käse")


async def test_a_scripts_request_is_kept_with_its_headers_and_both_bodies(forms: ChromiumSession, address: str) -> None:
    headers = "{'content-type': 'application/json', 'X-CSRF-Token': 't2'}"
    await run(forms, f"fetch('/api', {{method: 'POST', body: '{{\"name\": \"Käse\"}}', headers: {headers}}})")

    sent = await last(forms, "/api")
    assert (sent.kind, sent.request.method, sent.is_main, sent.fault) == ("fetch", "POST", False, "")
    assert json.loads(sent.request.body) == {"name": "Käse"}
    assert sent.request.headers["x-csrf-token"] == "t2"
    assert sent.request.headers["origin"] == address
    assert sent.request.content_type == "application/json"
    assert sent.response is not None
    assert json.loads(sent.response.body) == {"id": 7, "name": "Käse"}


async def test_a_form_in_parts_is_text_until_it_has_a_file(forms: ChromiumSession, address: str) -> None:
    await forms.perform(work("click", button("Attach"), expect=[says("was added")], records=1))
    plain = await last(forms, "/add")
    await forms.perform(work("goto", url=f"{address}/forms"))
    file = "const data = new DataTransfer(); data.items.add(new File(['text'], 'a.txt')); paper.files = data.files"
    await run(forms, f"{{ const paper = document.forms[3].paper; {file} }}")
    await forms.perform(work("click", button("Attach"), expect=[says("was added")], records=2))

    with_file = (await forms.exchanges())[-1]
    assert plain.fault == ""
    assert 'name="title"\r\n\r\nKäse\r\n' in plain.request.body
    assert (with_file.step, with_file.fault, with_file.request.body) == (2, "it sends a file", "")


async def test_a_form_without_fields_sends_nothing_and_no_file(forms: ChromiumSession) -> None:
    await forms.perform(work("click", button("Repeat"), expect=[says("was added")], records=1))

    repeated = await last(forms, "/add")
    assert (repeated.request.method, repeated.request.body, repeated.fault) == ("POST", "", "")


@pytest.mark.parametrize(
    "body",
    [
        "new Uint8Array([0, 255])",
        "(() => { const form = new FormData(); form.append('a', new Blob(['text']), 'a.txt'); return form })()",
    ],
)
async def test_a_body_that_is_a_file_or_no_text_is_a_fault(forms: ChromiumSession, body: str) -> None:
    await run(forms, f"fetch('/picture', {{method: 'POST', body: {body}}})")

    sent = await last(forms, "/picture")
    assert (sent.fault, sent.request.body) == ("it sends a file", "")
    assert sent.response is not None
    assert (sent.response.media_type, sent.response.body) == ("image/png", "")


async def test_documents_of_frames_are_not_those_of_the_tab(forms: ChromiumSession, address: str) -> None:
    elsewhere = address.replace("127.0.0.1", "localhost")
    await forms.perform(work("goto", url=f"{address}/framed", records=1))
    await run(
        forms,
        f"new Promise(done => {{ const frame = document.createElement('iframe'); frame.onload = done;"
        f"frame.src = '{elsewhere}/end'; document.body.append(frame) }})",
    )

    _, page, frame, foreign = await forms.exchanges()
    assert [one.request.url for one in (page, frame, foreign)] == [
        f"{address}/framed",
        f"{address}/find?q=framed",
        f"{elsewhere}/end",
    ]
    assert [one.is_main for one in (page, frame, foreign)] == [True, False, False]
    assert [one.response.body for one in (frame, foreign) if one.response] == [
        "<title>Found</title>2 found",
        "<title>Page</title>ok",
    ]


async def test_a_document_that_leads_on_at_once_is_still_read(forms: ChromiumSession, address: str) -> None:
    for step in range(1, 6):
        await forms.perform(work("goto", url=f"{address}/leads-on", records=step))
        await forms.tabs.until(lambda: forms.url.endswith("/end"), 10)

    led = [one for one in await forms.exchanges() if one.request.url.endswith("/leads-on")]
    assert [one.fault for one in led] == [""] * 5
    assert [one.response.body for one in led if one.response] == [_LEADS_ON] * 5


async def test_a_new_tabs_first_request_is_kept_with_what_it_led_to(forms: ChromiumSession, address: str) -> None:
    await forms.perform(work("click", button("Add elsewhere"), expect=[says("was added")], records=1))
    await run(forms, "fetch('/api')")
    await last(forms, "/api")

    _, added, asked = await forms.exchanges()
    assert (added.step, added.kind, added.is_main, added.fault) == (1, "document", True, "")
    assert (added.request.method, added.request.url, added.request.body) == ("POST", f"{address}/add", "title=Tea")
    assert added.response is not None
    assert added.response.url == f"{address}/list"
    assert "was added" in added.response.body
    assert asked.request.url == f"{address}/api"
    assert asked.response is not None


async def test_what_a_worker_sends_is_kept(forms: ChromiumSession, address: str) -> None:
    script = "onmessage = () => fetch('/api', {method: 'POST', body: 'by=worker'}).then(() => postMessage(1))"
    blob = f"URL.createObjectURL(new Blob([`{script.replace('/api', f'{address}/api')}`]))"
    await run(forms, "fetch('/api', {method: 'POST', body: 'by=page'})")
    await run(
        forms, f"new Promise(done => {{ self.aid = new Worker({blob}); aid.onmessage = done; aid.postMessage(1) }})"
    )
    await until(lambda: _has(forms, 3))

    _, by_page, by_worker = await forms.exchanges()
    assert (by_page.request.body, by_worker.request.body) == ("by=page", "by=worker")
    assert [one.response.status for one in (by_page, by_worker) if one.response] == [200, 200]


async def test_beacons_and_sockets_are_kept_without_an_answer(forms: ChromiumSession, address: str) -> None:
    await run(forms, "navigator.sendBeacon('/beacon', 'left=1')")
    await run(forms, "new Promise(done => { new WebSocket(`ws://${location.host}/socket`).onerror = done })")

    beacon, socket = await last(forms, "/beacon"), await last(forms, "/socket")
    assert (beacon.kind, beacon.request.method, beacon.request.body) == ("ping", "POST", "left=1")
    assert beacon.response is None
    assert (socket.kind, socket.request.url) == ("websocket", f"{address.replace('http', 'ws')}/socket")
    assert socket.response is None


async def test_what_a_step_sends_over_a_socket_is_a_fault(forms: ChromiumSession) -> None:
    async with serve(_echo, "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/talk"
        await run(forms, f"new Promise(done => {{ self.talk = new WebSocket('{url}'); talk.onopen = done }})")
        await forms.perform(work("scroll", to="bottom", records=4))
        await run(forms, "new Promise(done => { talk.onmessage = done; talk.send('order'); talk.send('order') })")

    opened, sent = (await forms.exchanges())[1:]
    assert (opened.step, opened.request.method, opened.request.url, opened.fault) == (0, "GET", url, "")
    assert (sent.step, sent.request.method, sent.request.url) == (4, "SEND", url)
    assert sent.fault == "it is sent over a WebSocket"


@pytest.mark.parametrize(
    ("script", "path", "fault"),
    [
        ("fetch('/long').then(answer => answer.text())", "/long", "it is over 2 MiB"),
        ("fetch('/events').then(answer => answer.text())", "/events", "it is a stream"),
        ("fetch('http://127.0.0.1:1/gone').catch(() => 0)", "/gone", "its connection broke: net::ERR_"),
    ],
)
async def test_a_fault_says_why_an_exchange_is_not_replayed(
    forms: ChromiumSession, script: str, path: str, fault: str
) -> None:
    await run(forms, script)

    assert (await last(forms, path)).fault.startswith(fault)


async def test_what_a_service_worker_answers_is_a_fault(forms: ChromiumSession) -> None:
    await run(forms, "navigator.serviceWorker.register('/service.js').then(() => navigator.serviceWorker.ready)")
    await run(
        forms,
        "new Promise(done => { const look = () => navigator.serviceWorker.controller ? done()"
        " : setTimeout(look, 20); look() }).then(() => fetch('/served')).then(answer => answer.text())",
    )

    served = await last(forms, "/served")
    await run(forms, "navigator.serviceWorker.getRegistration().then(worker => worker.unregister())")
    assert served.fault == "a service worker answered it"


async def test_what_the_page_does_not_read_is_read(forms: ChromiumSession) -> None:
    await run(forms, "fetch('/api', {method: 'POST'})")

    unread = await last(forms, "/api")
    assert unread.response is not None
    assert json.loads(unread.response.body)["id"] == 7


async def test_a_site_that_is_asked_in_a_tab_of_its_own_is_not_recorded(forms: ChromiumSession, address: str) -> None:
    answer = await forms.ask_site([work("goto", url=f"{address}/list")], [])
    await run(forms, "fetch('/api')")
    await last(forms, "/api")

    assert answer.void == ""
    assert [urlsplit(one.request.url).path for one in await forms.exchanges()] == ["/forms", "/api"]
