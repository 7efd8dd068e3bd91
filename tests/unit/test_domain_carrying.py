"""Requests that carry what was entered, in whatever form pages send it."""

from typing import Any

import pytest

from replaywright.domain.proof.carrying import NOTHING, Sought

URL = "https://shop.example/orders"
SUBJECT = "Rechnung für März: 12 % Rabatt"


def sent(body: str | None, url: str = URL, **more: object) -> dict[str, Any]:
    return {"url": url, **({} if body is None else {"postData": body}), **more}


@pytest.mark.parametrize(
    "request_sent",
    [
        pytest.param(sent("subject=Rechnung+f%C3%BCr+M%C3%A4rz%3A+12+%25+Rabatt&token=a1"), id="a form"),
        pytest.param(sent('{"mail": {"subject": "Rechnung f\\u00fcr M\\u00e4rz: 12 % Rabatt"}}'), id="escaped JSON"),
        pytest.param(sent('{"subject":"Rechnung für März: 12 % Rabatt"}'), id="JSON"),
        pytest.param(sent('["text=<p>Rechnung&nbsp;f&uuml;r <b>März</b>: 12&nbsp;% Rabatt</p>"]'), id="HTML"),
        pytest.param(sent('------a\r\nname="subject"\r\n\r\nRechnung für März: 12 % Rabatt\r\n'), id="parts"),
        pytest.param(sent("\x0a\x1bRechnung für März: 12 % Rabatt\x10\x01"), id="a binary form"),
        pytest.param(sent(None, f"{URL}?s=rechnung%20f%C3%BCr%20m%C3%A4rz%3A%2012%20%25%20rabatt"), id="an address"),
        pytest.param(sent("q=Rechnung-f%C3%BCr_M%C3%A4rz12Rabatt"), id="other signs between"),
    ],
)
def test_what_was_entered_is_found_in_what_pages_send(request_sent: dict[str, Any]) -> None:
    assert not Sought.of([SUBJECT]).lacks(request_sent)


@pytest.mark.parametrize(
    "request_sent",
    [
        pytest.param(sent("event=click&target=Send"), id="a count of presses"),
        pytest.param(sent("Rechnung für April: 12 % Rabatt"), id="another text"),
        pytest.param(sent(""), id="nothing"),
        pytest.param(sent(None), id="no body"),
    ],
)
def test_what_carries_none_of_it_is_told_from_that(request_sent: dict[str, Any]) -> None:
    assert Sought.of([SUBJECT]).lacks(request_sent)


def test_a_short_text_is_found_as_a_word_and_one_that_stands_in_anything_is_not_looked_for() -> None:
    assert Sought.of(["Ada"]).lacks(sent("id=9adaf1"))
    assert not Sought.of(["Ada"]).lacks(sent("name=Ada"))
    assert Sought.of(["7", "no"]) == NOTHING


def test_of_a_body_that_is_not_told_and_of_nothing_entered_nobody_knows() -> None:
    assert not Sought.of([SUBJECT]).lacks(sent(None, hasPostData=True))
    assert not NOTHING.lacks(sent("event=click"))


def test_one_of_several_texts_is_enough_and_what_was_sent_is_not_looked_for_again() -> None:
    sought = Sought.of(["ada@example.com", SUBJECT])

    left = sought.without(f"{URL} to=ada%40example.com")

    assert not sought.lacks(sent("to=ada%40example.com"))
    assert left == Sought.of([SUBJECT])
    assert left.lacks(sent("to=ada%40example.com"))


def test_of_very_many_texts_the_latest_are_looked_for() -> None:
    sought = NOTHING
    for number in range(100):
        sought = sought.and_also(f"text {number:03}")

    assert len(sought.texts) == 20
    assert not sought.lacks(sent("text 099"))
    assert sought.lacks(sent("text 079"))
