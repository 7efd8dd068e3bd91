"""Failures that a run's values are to blame for."""

from typing import Any

import pytest

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.skill.value_faults import is_of_values
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from tests.unit.staged import step
from tests.unit.test_remarks import page

VALUES = {"name": "Mallory", "dish": "Pizza"}
FOUND = Lookup(hit=True)
ORDER = step("click", "order", expect=[{"text_contains": "Ordered: {{dish}} for {{name}}"}])
PLAIN = step("click", "order", expect=[{"text_contains": "Thank you"}])
CHOOSE = step("select_option", "the dish", value="{{dish}}")
REFUSED = StepOutcome(status=Status.REFUSED, reason="no_such_option", lookup=FOUND)
LOCKED_OUT = ("alert", "Sorry, this guest has been locked out")


def unmet(*nearest: str, **fields: Any) -> StepOutcome:
    seen = PredicateResult(passed=False, decided=True, reason="text_missing", details={"nearest": list(nearest)})
    return StepOutcome(**{"status": Status.UNMET, "lookup": FOUND, "predicates": (seen,), **fields})


def test_a_field_that_does_not_take_the_value_of_a_parameter() -> None:
    assert is_of_values(CHOOSE, VALUES, REFUSED)
    assert not is_of_values(step("select_option", "the dish", value="Pizza"), VALUES, REFUSED)
    assert not is_of_values(CHOOSE, VALUES, REFUSED.model_copy(update={"reason": "covered"}))


def test_an_alert_that_the_last_good_run_did_not_have() -> None:
    alarmed = page(LOCKED_OUT)

    assert is_of_values(PLAIN, VALUES, unmet(), alarmed)
    assert is_of_values(PLAIN, VALUES, unmet(), alarmed, page(("alert", "We use cookies")))
    assert not is_of_values(PLAIN, VALUES, unmet(), alarmed, alarmed)
    assert not is_of_values(PLAIN, {}, unmet(), alarmed)


@pytest.mark.parametrize(
    ("nearest", "is_theirs"),
    [(["Menu", "Ordered:  Soup for Mallory!"], True), (["Order of Soup for Mallory"], False), ([], False)],
)
def test_what_was_expected_with_another_value_in_it(nearest: list[str], is_theirs: bool) -> None:
    assert is_of_values(ORDER, VALUES, unmet(*nearest)) == is_theirs


@pytest.mark.parametrize("lookup", [Lookup(hit=True, healed=True), Lookup(hit=True, from_model=True)])
def test_what_was_found_in_another_way_may_be_the_wrong_element(lookup: Lookup) -> None:
    alarmed: Snapshot = page(LOCKED_OUT)

    assert not is_of_values(ORDER, VALUES, unmet("Ordered: Soup for Mallory", lookup=lookup), alarmed)
