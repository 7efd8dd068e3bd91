"""The table of faults in the reference is complete, and every test that it names exists."""

import re
from collections import Counter

import pytest

from tests.unit.named_tests import ROOT, names_in

TABLE = ROOT / "docs" / "internals" / "faults.md"
FAULTS = [f"{part}{number}" for part, last in (("C", 16), ("D", 19), ("E", 17)) for number in range(1, last + 1)]


def rows() -> list[list[str]]:
    """The cells of each row that begins with a fault's number."""
    found = re.findall(r"^\| ([CDE]\d+ \|.*) \|$", TABLE.read_text("utf-8"), re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in found]


def test_every_fault_has_one_row() -> None:
    assert Counter(row[0] for row in rows()) == Counter(FAULTS)
    assert [row[0] for row in rows()] == FAULTS


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row[0]))
def test_a_row_says_what_the_user_sees_and_names_tests_that_exist(row: list[str]) -> None:
    _, fault, sees, tests = row
    named = re.findall(r"`([^`]+)`", tests)

    assert fault
    assert sees
    assert named
    assert [test for test in named if test not in names_in(test.partition("::")[0])] == []
