"""What a model may propose to find out whether a step took effect."""

import pytest

from replaywright.domain.proof.probe_checks import checked_probe, with_nonexistent_values
from replaywright.domain.proof.probing import SiteProbe
from replaywright.errors import ProbeRefused

VALUES = {"subject": "Minutes of May", "no": "7"}
PAGE = "https://mail.example/sent"
SEEN = (
    "https://mail.example/search?all=1",
    "https://mail.example/orders/cancel",
    "https://mail.example/account/close",
    "https://news.example/",
)


def checked(url: str, *shows: str) -> SiteProbe:
    return checked_probe(url, shows, values=VALUES, page=PAGE, seen=SEEN)


def test_a_page_of_the_site_that_shows_a_parameter_may_be_asked() -> None:
    probe = checked("https://mail.example/search?q={{subject}}", "Subject: {{subject}}")

    reconcile = probe.as_reconcile()
    assert probe.asks_by_name
    assert reconcile.steps[0].action == "goto"
    assert reconcile.expect[0].model_dump(exclude_none=True)["text_contains"] == "Subject: {{subject}}"


def test_a_list_is_not_asked_by_name() -> None:
    assert not checked(PAGE, "{{subject}}").asks_by_name


@pytest.mark.parametrize(
    ("url", "shows", "why"),
    [
        (PAGE, (), "1 to 3 texts"),
        (PAGE, ("Message sent",), "no text names a parameter"),
        (PAGE, ("Number {{no}}",), "no text names a parameter"),
        (PAGE, ("{{subject}} {{secret:PIN}}",), "uses a secret"),
        (PAGE, ("{{body}}",), "none of the task's parameters"),
        ("https://evil.example/sent", ("{{subject}}",), "same site"),
        ("https://news.example/", ("{{subject}}",), "same site"),
        ("https://mail.example:8443/sent", ("{{subject}}",), "same site"),
        ("file:///etc/passwd", ("{{subject}}",), "same site"),
        ("/sent", ("{{subject}}",), "whole address"),
        ("https://mail.example/admin", ("{{subject}}",), "what the page links to"),
        ("https://mail.example/orders/cancel", ("{{subject}}",), "may do something"),
        ("https://mail.example/account/close", ("{{subject}}",), "may do something"),
        ("https://mail.example/search?all=1&delete=2", ("{{subject}}",), "may do something"),
    ],
)
def test_what_could_act_lead_away_or_tell_nothing_is_refused(url: str, shows: tuple[str, ...], why: str) -> None:
    with pytest.raises(ProbeRefused, match=why):
        checked(url, *shows)


def test_what_nobody_did_has_other_values_for_all_that_the_probe_names() -> None:
    values = with_nonexistent_values(VALUES, checked("https://mail.example/search?q={{no}}", "{{subject}}"))

    assert values.keys() == VALUES.keys()
    assert not set(values.values()) & set(VALUES.values())
    assert values["no"] != values["subject"]
