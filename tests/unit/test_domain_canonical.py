"""Canonical JSON is what RFC 8785 says."""

from enum import StrEnum
from typing import Any

import pytest

from replaywright.domain.common.canonical import EXACT, canonical
from replaywright.domain.step.fingerprints import digest


class Word(StrEnum):
    ONE = "on\u00e9"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"\ue000": 1, "\U00010000": 2}, '{"\U00010000":2,"\ue000":1}'),
        ([1e15, 1e-5, 12.0, -0.0, 123456.789], "[1000000000000000,0.00001,12,0,123456.789]"),
        (['\x7f\x1f\u2028"\\/\b'], '["\x7f\\u001f\u2028\\"\\\\/\\b"]'),
        ({"words": (Word.ONE,)}, '{"words":["on\u00e9"]}'),
    ],
)
def test_it_is_what_the_rfc_asks_for_where_python_would_write_otherwise(value: Any, written: str) -> None:
    assert canonical(value).decode() == written


@pytest.mark.parametrize("value", [EXACT + 1, float("nan"), float("inf"), "\ud800", {"\ud800": 1}, {1: 2}, {"a": b"b"}])
def test_what_json_cannot_carry_exactly_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        canonical(value)


def test_a_digest_of_what_pages_hold_is_what_it_always_was() -> None:
    held = {"order": 12345678901234567890, "half": "a\ud800", "part": float("inf"), 7: ["ok", 1.0]}

    assert digest(held) == "97cbf55ee305b9e2b6e55a1103ce368fbeae054655ba040d3e577d30d5007c38"
