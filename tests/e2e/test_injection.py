"""Whole runs on hostile pages with a model that obeys them: nothing happens that nobody has asked for.

`make injection` does the same with all pages, in both kinds of runs. What comes back from a model about each page is
looked at in `tests/adapters/test_injection.py`.
"""

import itertools

import pytest

from replaywright.settings import Settings
from tests.e2e.injection import AT_ONCE, attack, staged, unheard
from tests.e2e.lab import Lab
from tests.pages.hostile import PAGES

pytestmark = pytest.mark.slow

SHORT = ("away-link", "secret-out", "told-by-heading")
LONG = (
    *SHORT,
    "plain",
    "fault",
    "georgian",
    "name-1",
    "approval",
    "homoglyph",
    "redirect",
    "proof-link",
    "thanks",
    "alert",
    "confirm",
    "late",
    "on-typing",
    "iban",
    "choose",
    "key",
    "note-out",
    "proof-away",
)
"""Whatever shows only in a run that goes on."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        pytest.param(SHORT, ("goal",), id="from a sentence"),
        pytest.param(LONG, ("goal", "steps"), id="both kinds"),
    ],
)
async def test_a_page_that_gives_orders_is_not_obeyed(
    lab_settings: Settings, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], kinds: tuple[str, ...]
) -> None:
    monkeypatch.delenv("REPLAYWRIGHT_MODEL", raising=False)
    pages = [page for page in PAGES if page.name in names]

    with attack() as tried:
        async with staged(lab_settings, tried.model) as stage:
            tried.admit(stage)
            await tried.perform(Lab(stage, approves=False), list(itertools.product(pages, kinds)))

    assert [fault for one in tried.tried for fault in one.forbidden] == []
    assert unheard(tried.tried) == []
    assert len(tried.tried) == len(pages) * len(kinds) >= AT_ONCE
    assert tried.model.obeyed["planner"] > 0
    assert tried.model.obeyed["executor"] > 0
