"""The short form of `make bench-locate`: a few pages, every mutation alone and some together, always the same."""

import pytest
from playwright.async_api import Browser

from bench.environments import serve_folder
from bench.mutations import OPERATORS
from bench.scenes import scenes_of
from bench.sources import TEST_PAGES, VIEWPORT, Source
from bench.verdicts import RIGHT, WRONG, Verdict, counted, judge

PAGES = ("form.html", "orders.html")


@pytest.fixture(scope="module")
async def picks(browser: Browser) -> list[Verdict]:
    found: list[Verdict] = []
    async with await browser.new_context(viewport=VIEWPORT) as context:
        with serve_folder(TEST_PAGES) as url:
            for name in PAGES:
                source = Source("tests", name, f"{url}/{name}", context)
                async for scene in scenes_of(source, combined=2, gone=0, limit=12, seed=3):
                    found += judge(scene)[0]
    return found


def test_the_test_bed_has_operators_enough() -> None:
    assert len(OPERATORS) >= 15


def test_no_mutation_leads_to_another_element(picks: list[Verdict]) -> None:
    assert len(picks) > 400
    assert counted(picks)[WRONG] == 0


def test_nine_of_ten_that_a_person_would_know_again_are_found_without_a_model(picks: list[Verdict]) -> None:
    alone = [pick for pick in picks if pick.alone]

    assert len({pick.operators for pick in alone}) >= 15
    assert counted(alone)[RIGHT] >= 0.9 * len(alone)
