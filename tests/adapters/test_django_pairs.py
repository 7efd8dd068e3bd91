"""The pairs that locating is measured against: each selector is of exactly one control that a person sees."""

from collections import defaultdict

import pytest
from playwright.async_api import Browser

from bench.django_admin import Version, django_admin
from bench.django_pairs import LOG_IN_PAGE, PAIRS, Pair

ONE_VISIBLE = """selector => {
    const found = document.querySelectorAll(selector);
    return found.length === 1 && found[0].checkVisibility();
}"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("version", ["old", pytest.param("new", marks=pytest.mark.long)])
async def test_every_control_of_a_pair_is_on_its_page_once_and_visible(version: Version, browser: Browser) -> None:
    pages: dict[str, list[Pair]] = defaultdict(list)
    for pair in PAIRS:
        pages[pair.path].append(pair)
    wrong: list[Pair] = []

    async with django_admin(version) as site:
        page = await browser.new_page()
        for path, pairs in pages.items():
            await page.goto(site.url + path)
            selectors = [pair.old if version == "old" else pair.new for pair in pairs]
            held = await page.evaluate(f"selectors => selectors.map({ONE_VISIBLE})", selectors)
            wrong += [pair for pair, holds in zip(pairs, held, strict=True) if not holds]
            if path == LOG_IN_PAGE:
                await page.fill("[name=username]", site.username)
                await page.fill("[name=password]", site.password)
                await page.press("[name=password]", "Enter")
                await page.wait_for_url(site.url + "/admin/")
        await page.context.close()

    assert wrong == []
    assert len(PAIRS) >= 40
