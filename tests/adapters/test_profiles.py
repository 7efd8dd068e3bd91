"""What a site has stored in the profile of a person's Chromium is read from a copy, with no network."""

from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from replaywright.browser.profiles import read_profile
from replaywright.errors import InputInvalid
from tests.adapters import browser_site

STORE = """async () => {
  document.cookie = 'user=ada; path=/; max-age=3600';
  localStorage.setItem('token', 't0k3n');
  const request = indexedDB.open('app', 1);
  request.onupgradeneeded = () => request.result.createObjectStore('kept').put('note', 1);
  await new Promise((resolve) => { request.onsuccess = resolve; });
  request.result.close();
}"""


async def test_cookies_and_storage_of_a_site_are_read_from_a_copy_though_the_site_is_gone(
    chromium_path: Path, tmp_path: Path
) -> None:
    profiles = tmp_path / "profiles"
    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch_persistent_context(
            profiles, executable_path=chromium_path, chromium_sandbox=False
        ) as theirs,
    ):
        page = await theirs.new_page()
        with browser_site.serving() as site:  # it is gone when the profile is read
            origin = site.url("").rstrip("/")
            await page.goto(site.url("browser_basic.html"))
            await page.evaluate(STORE)
    before = {path: path.stat().st_mtime_ns for path in profiles.rglob("*")}

    states = [
        await read_profile(named, [origin], chromium_path, has_sandbox=False)
        for named in (profiles, profiles / "Default")
    ]

    for state in states:
        assert [(each["name"], each["value"]) for each in state["cookies"]] == [("user", "ada")]
        [stored] = state["origins"]
        assert stored["origin"] == origin
        assert stored["localStorage"] == [{"name": "token", "value": "t0k3n"}]
        assert [database["name"] for database in stored["indexedDB"]] == ["app"]
    assert {path: path.stat().st_mtime_ns for path in profiles.rglob("*")} == before


async def test_a_folder_that_is_no_profile_is_refused_with_where_to_look(tmp_path: Path, chromium_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"no profile of Chromium: chrome://version names its folder"):
        await read_profile(tmp_path, [], chromium_path)


async def test_a_profile_that_chromium_does_not_open_is_told_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "Preferences").write_text("{}")

    with pytest.raises(InputInvalid, match=r"cannot be read: .*; close its browser, or export the cookies"):
        await read_profile(tmp_path, [], tmp_path / "none")
