"""Reasons of doubt, as persons read them."""

import re
from pathlib import Path

import pytest

from replaywright.domain.proof.doubt_words import in_words

ROOT = Path(__file__).parents[2]


QUOTED = "; a dialog says 'Session timeout, own_site'"
GONE, BROKEN = "the page that it acted in is gone", "it answered HTTP 503"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("page_rebuilt, and the site was asked 2 times: void", f"{GONE}, and the site was asked 2 times: void"),
        ("page_rebuilt, and the site was asked 1 times: http_503", f"{GONE}, and the site was asked once: {BROKEN}"),
        ("text_missing", "it does not show the text that `reconcile` looks for"),
        ("held_before", "what it expects held before it, too"),
        ("element_not_found", "element_not_found"),
        (f"not_seen{QUOTED}", f"its page does not show what it expects{QUOTED}"),
        ("the worker was lost", "the worker was lost"),
    ],
)
def test_codes_become_words_and_sentences_stay(reason: str, told: str) -> None:
    assert in_words(reason) == told


def test_each_reason_that_the_page_gives_no_verdict_has_words() -> None:
    source = (ROOT / "activities/proof/effects.py").read_text("utf-8")
    body = source[source.index("async def _by_page") : source.index("async def _is_witnessed")]
    codes = set(re.findall(r'"([a-z]+_[a-z]+)"', body))

    assert codes >= {"page_rebuilt", "no_expectation", "ledger_gap", "ledger_lost", "held_before", "not_seen"}
    assert [code for code in sorted(codes) if in_words(code) == code] == []
