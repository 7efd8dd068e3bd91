"""What to do fits the run that failed: what was tried, and what could not be."""

import pytest

from replaywright.domain.run.remedies import UNASKED, UNNAMED, literal_remark, remedy_of
from replaywright.domain.task.tasks import Parameter
from tests.unit.staged import step

MISSED = 'missed: looked for button "Save"; none of the 12 controls of the page is like it'


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        (MISSED, "--mode auto or learn lets the model find the element"),
        (f"{MISSED}; {UNASKED}: no model is configured; set REPLAYWRIGHT_MODEL", "set REPLAYWRIGHT_MODEL"),
        (f"{MISSED}; {UNNAMED}", "the model was asked, too: make the instruction more exact"),
    ],
)
def test_a_model_is_recommended_only_where_none_was_asked(message: str, remedy: str) -> None:
    assert remedy in remedy_of("low_score", message)


def test_which_of_several_is_meant_is_for_the_author_to_say() -> None:
    assert "`nth`, `within`" in remedy_of("ambiguous", f"{MISSED}; {UNASKED}: no model is configured")


def test_what_the_message_says_of_a_model_changes_no_other_remedy() -> None:
    assert remedy_of("store_unavailable", UNNAMED) == remedy_of("store_unavailable", "")
    assert (remedy_of("unheard_of", "", "look"), remedy_of("cancelled", "", "look")) == ("look", "")


OPEN = step("click", "the mail 'Lunch'", target={"role": "link", "name": "Lunch"})
SUBJECT = {"subject": Parameter(example="Lunch"), "to": Parameter()}


def test_a_step_that_names_the_value_of_before_is_told_with_the_place_of_its_name() -> None:
    remark = literal_remark(OPEN, SUBJECT, {"subject": "Dinner", "to": "ada"})

    assert remark == "the step's instruction names 'Lunch', and the parameter subject is 'Dinner'"
    assert remedy_of("not_found", f"{MISSED}; {remark}; {UNASKED}") == f"{remark}: write {{{{subject}}}} there"


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        (Parameter(example="Lunch"), "Lunch", "the mail 'Lunch'"),
        (Parameter(example="Lunch"), "Dinner", "the Lunchbox"),
        (Parameter(example="Lunch"), "Dinner", "the mail {{subject}}"),
        (Parameter(example="to"), "by", "the way to go"),
        (Parameter(), "Dinner", "the mail 'Lunch'"),
    ],
)
def test_other_words_are_no_values_of_before(parameter: Parameter, value: str, words: str) -> None:
    assert literal_remark(step("click", words), {"subject": parameter}, {"subject": value}) == ""


def test_a_target_that_names_the_default_is_told_as_such() -> None:
    parameters = {"subject": Parameter(default="Lunch")}
    target = step("click", "the mail", target={"role": "link", "name": "Lunch"})

    assert literal_remark(target, parameters, {"subject": "Dinner"}).startswith("the step's target names 'Lunch'")
