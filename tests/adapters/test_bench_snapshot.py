"""The snapshot benchmark in short: its last line says what it promises, and nothing that steps need is missing."""

import io

from rich.console import Console

from bench.generated import document_page, large_page
from bench.snapshot import Row, measure, shown


async def test_nothing_that_the_steps_of_the_demo_need_is_missing_from_its_pages() -> None:
    said = io.StringIO()

    figures = await measure(["webmail"], 1, 6, Console(file=said, width=140))

    assert {"ratio_to_walk", "token_share", "recall"} <= figures.keys()
    assert figures["recall"] == 1.0
    assert figures["needed"] == 12
    assert figures["pages"] == 6
    assert "webmail: 6 pages" in said.getvalue()


def row(*, site: str, name: str, page_ms: float, text: int, html: int, missing: tuple[str, ...] = ()) -> Row:
    return Row(site, name, 10, page_ms, 150.0, 2.0, 5, text, html, 4, missing)


def test_the_figures_are_those_of_the_rows() -> None:
    said = io.StringIO()
    rows = [
        row(site="tests", name="a", page_ms=3.0, text=10, html=100),
        row(site="webmail", name="b", page_ms=3.0, text=20, html=100, missing=("#gone",)),
        row(site="large", name="office-10000", page_ms=60.0, text=1, html=1000),
        row(site="large", name="document-10000", page_ms=70.0, text=1, html=1000),
    ]

    figures = shown(Console(file=said, width=140), rows)

    assert figures["ratio_to_walk"] == 30.0
    assert figures["page_ms_10000"] == 60.0
    assert figures["complete_ms_10000"] == 150.0
    assert figures["token_share"] == 0.15
    assert figures["document_page_ms_10000"] == 70.0
    assert figures["document_complete_ms_10000"] == 150.0
    assert figures["document_walk_ms_10000"] == 2.0
    assert figures["recall"] == round(1 - 1 / 16, 4)
    assert "not in the snapshot of webmail b: #gone" in said.getvalue()


def test_a_large_page_has_about_as_many_elements_as_were_asked_for() -> None:
    for size in (1_000, 10_000):
        for page in (large_page(size), document_page(size)):
            opened = page.count("<") - page.count("</") - 1

            assert abs(opened - size) <= 0.02 * size
