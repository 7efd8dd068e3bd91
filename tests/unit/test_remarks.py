"""What a message repeats of the page and of dialogs."""

from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import Target
from replaywright.domain.proof.remarks import remarks_on
from replaywright.domain.step.outcomes import Evidence


def page(*texts: tuple[str, str], hidden: str = "") -> Snapshot:
    """A page with these roles and texts, of which those equal to `hidden` are not visible."""
    elements = [
        Element(id=f"e{at}", target=Target(role=role, text=text), actionable=False, visible=text != hidden)
        for at, (role, text) in enumerate(texts, 1)
    ]
    return Snapshot(url="http://shop.example/", elements=tuple(elements))


def test_alerts_come_before_what_else_is_new_and_what_is_usual_is_left_out() -> None:
    usual = page(("heading", "Orders"), ("status", "3 in the basket"))
    now = page(("heading", "Orders"), ("status", "3 in the basket"), ("heading", "No such order"), ("alert", "Refused"))

    assert remarks_on(Evidence(), now, usual) == '; the page says "Refused"; the page says "No such order"'


def test_without_a_good_run_no_heading_is_taken_for_a_complaint() -> None:
    now = page(("heading", "Orders"), ("alert", "Locked  out"), ("alert", "old news"), hidden="old news")

    assert remarks_on(Evidence(), now, None) == '; the page says "Locked out"'


def test_a_question_that_nobody_declared_has_its_remedy_and_a_mere_alert_has_none() -> None:
    asked = Evidence(
        dialogs=("confirm: Delete? (dismissed)", "alert: Too late (dismissed)", "confirm: More? (accepted)")
    )

    assert remarks_on(asked) == (
        "; a dialog came: confirm: Delete? (dismissed): give the step dialog: accept if it is to be accepted"
        "; a dialog came: alert: Too late (dismissed)"
    )


def test_a_long_text_is_cut() -> None:
    assert len(remarks_on(Evidence(), page(("alert", "no " * 200)), None)) < 200
