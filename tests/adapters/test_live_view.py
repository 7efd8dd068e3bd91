"""The live view: a person works in the pictures of a page, with the panel beside them, in a browser of their own."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from bench.chromium import give_one_new_tab, launched
from bench.demonstrating import Watched, watched
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.recording.screen import ChromiumScreen
from replaywright.cli.record.live import live_view
from replaywright.recording.commands import RecordingPanel
from tests.adapters.browser_site import Site

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@dataclass
class Viewer:
    """A person at the live view."""

    address: str
    view: Page
    person: Watched

    async def click(self, label: str) -> None:
        """Click in the picture on what has this label or text in the page."""
        field, text = self.person.page.get_by_label(label), self.person.page.get_by_text(label, exact=True)
        box = await (field if await field.count() else text).bounding_box()
        canvas, page = await self.view.locator("canvas").bounding_box(), self.person.page
        assert box is not None
        assert canvas is not None
        width = await page.evaluate("innerWidth")
        scale = canvas["width"] / width
        x, y = box["x"] + min(box["width"] / 2, 20), box["y"] + box["height"] / 2
        await self.view.mouse.click(canvas["x"] + x * scale, canvas["y"] + y * scale)


@pytest.fixture(scope="module")
async def own_browser(chromium_path: Path) -> AsyncIterator[Browser]:
    async with launched(chromium_path) as browser:
        yield browser


@pytest.fixture
async def viewer(endpoint: str, browsers: ChromiumBrowsers, site: Site, own_browser: Browser) -> AsyncIterator[Viewer]:
    await give_one_new_tab(endpoint)
    demonstration = await browsers.watch(endpoint)
    async with (
        watched(demonstration, endpoint, site.url("recording.html")) as person,
        live_view(ChromiumScreen(demonstration), RecordingPanel(person.recorder)) as address,
    ):
        view = await own_browser.new_page(viewport={"width": 1400, "height": 1000})
        await view.goto(address)
        await expect(view.get_by_label("Address")).to_have_value(re.compile("recording.html"))
        await expect(view.locator("canvas")).not_to_have_attribute("width", "1280")
        yield Viewer(address, view, person)
        await view.close()
    await demonstration.close()


async def test_a_person_works_in_the_pictures_and_the_panel_shows_the_steps(viewer: Viewer) -> None:
    view = viewer.view
    await viewer.click("Name")
    await view.keyboard.type("Adá")
    await viewer.click("Dish")
    await view.get_by_role("button", name="Curry").click()
    await viewer.click("Order now")
    await viewer.person.did(3)

    assert viewer.person.brief() == [
        {"action": "fill", "target": {"role": "textbox", "name": "Name"}, "value": "{{name}}"},
        {"action": "select_option", "target": {"role": "combobox", "name": "Dish"}, "value": "{{dish}}"},
        {"action": "click", "target": {"role": "button", "name": "Order now"}, "effect": "commit"},
    ]
    assert viewer.person.task().task.parameters["name"].example == "Adá"
    assert viewer.person.task().task.parameters["dish"].default == "Curry"
    await expect(view.get_by_role("listitem").filter(has_text="1. fill")).to_have_text('1. fill the "Name" field = Adá')
    await view.get_by_role("button", name="undo").click()
    await expect(view.get_by_text("3. click")).to_have_count(0)


async def test_dialogs_and_files_are_asked_for_in_the_panel(viewer: Viewer) -> None:
    view, page = viewer.view, viewer.person.page
    await viewer.click("Ask")
    await view.get_by_role("button", name="OK").click()
    await expect(page.get_by_role("status")).to_have_text("Yes")
    await viewer.person.did(1)
    await viewer.click("Letter")
    letter = FilePayload(name="letter.txt", mimeType="text/plain", buffer=b"Dear Ada")
    await view.get_by_label("The page asks for a file").set_input_files(letter)
    await viewer.person.did(2)

    dialog, upload = viewer.person.brief()
    assert dialog["dialog"] == "accept"
    assert viewer.person.task().task.parameters["file"].default == "letter.txt"
    assert upload["target"] == {"role": "button", "name": "Letter"}
    assert await page.get_by_label("Letter").evaluate("field => field.files[0].text()") == "Dear Ada"


async def test_the_keyboard_reaches_the_page_and_comes_back(viewer: Viewer) -> None:
    view = viewer.view
    await view.get_by_label("The page: keys go to it").focus()
    await view.keyboard.press("Tab")
    await view.keyboard.type("Ada")
    await viewer.person.did(1)
    await view.keyboard.press("Shift+Escape")

    assert [step["value"] for step in viewer.person.brief()] == ["{{name}}"]
    await expect(view.get_by_role("button", name="undo")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_view_is_usable_on_a_phone_and_without_barriers(viewer: Viewer, scheme: str) -> None:
    view = viewer.view
    await view.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await view.set_viewport_size({"width": 390, "height": 844})

    await view.evaluate(AXE)
    found = await view.evaluate("axe.run()")

    assert [one["id"] for one in found["violations"]] == []
    assert await view.evaluate("document.documentElement.scrollWidth") <= 390


async def test_nobody_without_the_address_sees_or_does_anything(viewer: Viewer) -> None:
    base = viewer.address.partition("?")[0]
    host = base.split("/")[2]
    async with httpx.AsyncClient() as stranger:
        assert (await stranger.get(f"{base}state")).status_code == 401
        unsigned = await stranger.post(f"{base}command", json="q")
        assert unsigned.status_code == 403, "it does not say which page sends it"
        own = {"Origin": f"http://{host}"}
        assert (await stranger.post(f"{base}command", json="q", headers=own)).status_code == 401
        await stranger.get(viewer.address)
        assert (await stranger.get(f"{base}state")).status_code == 200

        foreign = {"Origin": "http://evil.example"}
        rebound = {"Host": f"evil.example:{host.rpartition(':')[2]}"}
        cross = {"Sec-Fetch-Site": "cross-site"}
        assert (await stranger.post(f"{base}command", json="q", headers=foreign)).status_code == 403
        assert (await stranger.post(f"{base}command", json="q", headers=rebound)).status_code == 421
        assert (await stranger.post(f"{base}command", json="q", headers=cross)).status_code == 403
        form = await stranger.post(f"{base}input", data={"do": "back"}, headers=own)
        unknown = await stranger.post(f"{base}command", json="x", headers=own)
        assert (form.status_code, unknown.status_code) == (415, 400)
        assert (await stranger.post(f"{base}input", json={"do": "format"}, headers=own)).status_code == 400

    assert not viewer.person.recorder.has_ended
