"""What was entered and not sent: kept by document, taken out by what its own tab sends, known to who attaches next."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.input.unsent import UnsentEntries
from replaywright.domain.proof.carrying import NOTHING, Sought

DOCUMENT = "tab-1/loader-1"


def tab(name: str) -> Tab:
    return cast(Tab, SimpleNamespace(main=SimpleNamespace(id=name)))


def posted(body: str) -> dict[str, Any]:
    return {"request": {"url": "https://shop.example/orders", "method": "POST", "postData": body}}


@pytest.fixture
async def entries(tmp_path: Path) -> UnsentEntries:
    noted = UnsentEntries(str(tmp_path))
    noted.note(DOCUMENT, "Ada Lovelace")
    noted.note(DOCUMENT, "a parcel")
    return noted


async def test_what_a_page_sends_is_taken_out(entries: UnsentEntries) -> None:
    entries.on_event(tab("tab-1"), "Network.requestWillBeSent", posted("who=Ada+Lovelace"))
    message = {"requestId": "1", "response": {"payloadData": '{"what": "nothing"}'}}
    entries.on_event(tab("tab-1"), "Network.webSocketFrameSent", message)

    assert entries.of(DOCUMENT) == Sought.of(["a parcel"])


async def test_what_another_tab_sends_takes_nothing_out(entries: UnsentEntries) -> None:
    entries.on_event(tab("tab-2"), "Network.requestWillBeSent", posted("who=Ada+Lovelace"))

    assert entries.of(DOCUMENT) == Sought.of(["Ada Lovelace", "a parcel"])


async def test_another_document_has_nothing_of_it(entries: UnsentEntries) -> None:
    assert entries.of("tab-1/loader-2") == NOTHING
    entries.note("tab-1/loader-2", "a letter")

    assert (entries.of(DOCUMENT), entries.of("tab-1/loader-2")) == (NOTHING, Sought.of(["a letter"]))


async def test_who_attaches_next_knows_it(entries: UnsentEntries, tmp_path: Path) -> None:
    await entries.written()
    following = UnsentEntries(str(tmp_path))
    following.read()

    assert following.of(DOCUMENT) == entries.of(DOCUMENT) == Sought.of(["Ada Lovelace", "a parcel"])
    assert (tmp_path / "unsent.json").stat().st_mode & 0o777 == 0o600
