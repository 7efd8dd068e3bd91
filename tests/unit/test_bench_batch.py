"""What the programme of batches makes of the ends of rows and of what the site has."""

from collections import Counter

import pytest

from bench.batch.by_requests import judged
from replaywright.domain.batch.batches import RowEnd
from replaywright.domain.run.standing import End


def end(status: End) -> RowEnd:
    return RowEnd(number=1, run_id="r", status=status, reason="unmet", message="no answer", ended=1.0)


@pytest.mark.parametrize(
    ("told", "times", "counted"),
    [
        ("done", 1, "done"),
        ("done", 0, "false_done"),
        ("failed", 1, "misreported"),
        ("failed", 0, "failed"),
        (None, 1, "lost"),
    ],
)
def test_a_row_is_judged_by_the_site_and_by_what_it_was_told(told: End | None, times: int, counted: str) -> None:
    verdict = judged({1: "hello"}, {1: end(told) if told else None}, Counter({"hello": times}))
    assert getattr(verdict, counted) == 1
    assert verdict.wrong == (counted != "done")


def test_a_row_that_the_site_has_twice_is_wrong_although_it_is_done() -> None:
    verdict = judged({1: "hello"}, {1: end("done")}, Counter({"hello": 2}))
    assert (verdict.done, verdict.twice, verdict.wrong) == (1, 1, 1)


def test_the_reasons_of_rows_that_failed_are_told() -> None:
    assert judged({1: "hello"}, {1: end("failed")}, Counter()).why == {"failed: unmet: no answer": 1}
