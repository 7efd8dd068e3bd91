"""When waiting for predicates ends: never before each required one has had its time at rest, and never after."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.eventually import EXISTENCE_MS, NAVIGATION_MS, Eventually, patience_ms
from replaywright.domain.predicate.predicates import Predicate

ADAPTER: TypeAdapter[Any] = TypeAdapter(Predicate)
HOLDS, NOT_YET = PredicateResult(passed=True, reason="holds"), PredicateResult(passed=False, reason="none_found")
OPTIONAL = NOT_YET.model_copy(update={"required": False})
PLAIN = st.sampled_from([{"url_contains": "a"}, {"exists": {"role": "row"}}, {"text_contains": "x"}])


def parse(data: object) -> Any:
    return ADAPTER.validate_python(data)


@pytest.mark.parametrize(
    ("data", "wanted_ms"),
    [
        ({"url_contains": "a"}, 3_000),
        ({"url_matches": "a"}, 3_000),
        ({"title_contains": "a"}, 3_000),
        ({"response_status": "2xx"}, 3_000),
        ({"exists": {"role": "row"}}, 500 + 1_000 + 2_000 + 4_000),
        ({"not_exists": {"role": "row"}}, 7_500),
        ({"text_contains": "a", "within_ms": 20}, 20),
        ({"url_contains": "a", "within_ms": 0}, 0),
        ({"not_": {"url_contains": "a"}}, 3_000),
        ({"any_of": [{"url_contains": "a"}, {"checked": {"role": "row"}}]}, 7_500),
        ({"all_of": []}, 7_500),
    ],
)
def test_each_kind_has_its_published_patience_unless_it_names_its_own(data: object, wanted_ms: int) -> None:
    assert patience_ms(parse(data)) == wanted_ms


def test_nothing_is_waited_for_when_everything_holds() -> None:
    waiting = Eventually([parse({"url_contains": "a"})], 0.0)

    assert waiting.left([HOLDS]) == 0.0


def test_a_required_one_that_has_had_its_time_ends_it_although_another_has_not() -> None:
    waiting = Eventually([parse({"url_contains": "a"}), parse({"exists": {"role": "row"}})], 0.0)

    waiting.tick(3.5, resting=True)

    assert waiting.is_over([NOT_YET, NOT_YET])
    assert not waiting.is_over([HOLDS, NOT_YET])


def test_one_that_is_not_required_does_not_end_it_for_the_others() -> None:
    waiting = Eventually([parse({"url_contains": "a", "within_ms": 10}), parse({"exists": {"role": "row"}})], 0.0)

    waiting.tick(1.0, resting=True)

    assert not waiting.is_over([OPTIONAL, NOT_YET])
    assert waiting.is_over([OPTIONAL, HOLDS])


def test_a_patient_wait_ends_only_for_those_that_name_their_time() -> None:
    waiting = Eventually(
        [parse({"url_contains": "a"}), parse({"url_contains": "b", "within_ms": 5})], 0.0, patient=True
    )

    waiting.tick(1_000_000.0, resting=True)

    assert not waiting.is_over([NOT_YET, HOLDS])
    assert waiting.is_over([HOLDS, NOT_YET])


@given(
    datas=st.lists(PLAIN, min_size=1, max_size=4),
    spans=st.lists(st.tuples(st.floats(0, 5), st.booleans()), max_size=20),
)
def test_only_the_time_at_rest_counts_and_the_shortest_patience_ends_it(
    datas: list[object], spans: list[tuple[float, bool]]
) -> None:
    predicates = [parse(data) for data in datas]
    waiting, verdicts = Eventually(predicates, 0.0), [NOT_YET] * len(predicates)
    now = spent = 0.0
    for span, resting in spans:
        now += span
        spent += span if resting else 0.0
        waiting.tick(now, resting=resting)
        shortest = min(NAVIGATION_MS if "url_contains" in str(data) else EXISTENCE_MS for data in datas) / 1000
        if abs(spent - shortest) > 1e-6:
            assert waiting.is_over(verdicts) == (spent > shortest)
            assert waiting.is_over(verdicts) or waiting.left(verdicts) == pytest.approx(shortest - spent, abs=1e-6)


@given(spans=st.lists(st.floats(0, 5), max_size=20))
def test_waiting_as_long_as_it_says_is_enough(spans: list[float]) -> None:
    waiting, now = Eventually([parse({"exists": {"role": "row"}})], 0.0), 0.0
    for span in spans:
        now += span
        waiting.tick(now, resting=True)

    waiting.tick(now + waiting.left([NOT_YET]) + 1e-6, resting=True)

    assert waiting.is_over([NOT_YET])
