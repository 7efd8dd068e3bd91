"""What to do fits the run that failed: what was tried, and what could not be."""

import pytest

from replaywright.domain.run.remedies import UNASKED, UNNAMED, remedy_of

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
