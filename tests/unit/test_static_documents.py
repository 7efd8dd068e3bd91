"""Responses read without a browser: their text and what conditions on them give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replaywright.domain.predicate.predicates import Predicate, fill_predicate
from replaywright.domain.requests.document import Document, read_document
from replaywright.domain.requests.exchanges import SiteResponse

PREDICATE = TypeAdapter[Predicate](Predicate)
PAGE = """<!doctype html><html><head><title> Mail
 sent </title><style>p{color:red}</style></head><body>
<nav><a href="/inbox">Inbox</a> <a>nowhere</a></nav>
<h1>Outbox</h1>
<p hidden>secret one</p><p style="color:red; display: none">secret two</p>
<div style="visibility:hidden">secret three</div>
<p class="alert d-none">secret four</p><dialog>secret five</dialog>
<noscript>secret six</noscript><template>secret seven</template><script>secret eight</script>
<details><summary>More</summary>secret nine<p>secret ten</p></details>
<p aria-hidden=true>Order 12.50 sent</p>
<form><label for=to>To</label><input id=to name=to value="typed"><input type=submit value="Send">
<label>Agree <input type=checkbox></label>
<input type=hidden aria-label=Ghost><button aria-label="Save draft"><img alt=disk src=x></button></form>
<table><tr><th>Subject</th><th>Size</th></tr><tr><td>Hello</td><td>12</td></tr><tr><td>World</td><td>13</td></tr></table>
<ul><li>one</li><li>two</li></ul>
</body></html>"""


def page(
    html: str = PAGE, url: str = "https://mail.example/outbox?sent=1", media: str = "text/html; charset=utf-8"
) -> Document:
    return read_document(SiteResponse(200, url, {"content-type": media}, html))


def verdict(predicate: object, document: Document | None = None, status: int = 200, **values: str) -> bool | None:
    parsed = PREDICATE.validate_python(predicate)
    return (document or page()).evaluate(fill_predicate(parsed, values), status)


def test_only_the_visible_text_of_a_page_is_read() -> None:
    document = page()

    assert (document.kind, document.title) == ("html", "Mail sent")
    assert "secret" not in document.text
    assert "order 12.50 sent" in document.text
    assert document.lines[:3] == ("Inbox nowhere", "Outbox", "More")


def test_blocks_are_lines_and_words_in_a_line_stay_as_they_are() -> None:
    assert page("<div>a<b>b</b> c<br>d</div><p>e  f</p>g<input value=x>h").lines == ("ab c", "d", "e f", "g h")


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ({"url_contains": "/outbox"}, True),
        ({"url_contains": "/inbox"}, False),
        ({"url_matches": r"sent=\d"}, True),
        ({"title_contains": "mail sent"}, True),
        ({"text_contains": "hello 12"}, True),
        ({"text_contains": "Order {{amount}}"}, False),
        ({"text_contains": "Order {{whole}} sent"}, True),
        ({"text_contains": "secret"}, False),
        ({"text_contains": "Outbox", "within": {"role": "main"}}, None),
        ({"response_status": "2xx"}, True),
        ({"response_status": "404"}, False),
        ({"response_status": "200", "method": "POST"}, None),
        ({"exists": {"role": "link", "name": "Inbox"}}, True),
        ({"exists": {"role": "link", "name": "nowhere"}}, False),
        ({"exists": {"role": "button", "name": "send"}}, True),
        ({"exists": {"role": "button", "name_contains": "draft"}}, True),
        ({"exists": {"role": "textbox", "name": "To"}}, True),
        ({"exists": {"role": "checkbox", "name": "Agree"}}, True),
        ({"exists": {"role": "textbox", "name": "Ghost"}}, False),
        ({"exists": {"role": "heading", "text": "outbox"}}, True),
        ({"exists": {"text": "World"}}, True),
        ({"exists": {"text": "secret"}}, False),
        ({"exists": {"css": "h1"}}, True),
        ({"exists": {"css": "h1.other"}}, False),
        ({"exists": {"css": "h1 ]["}}, False),
        ({"exists": {"css": "x-mail >>> h1"}}, None),
        ({"exists": {"role": "marquee"}}, None),
        ({"exists": {"role": "row", "nth": 1}}, None),
        ({"exists": {"role": "heading"}, "in_dom": True}, None),
        ({"count": {"role": "row"}, "equals": 3}, True),
        ({"count": {"role": "cell"}, "at_least": 5}, False),
        ({"count": {"role": "columnheader"}, "at_most": 2}, None),
        ({"count": {"role": "listitem"}, "equals": 0}, None),
        ({"not_exists": {"role": "button", "name": "Ghost"}}, None),
        ({"not_": {"text_contains": "secret"}}, None),
        ({"value_equals": "typed", "of": {"role": "textbox"}}, None),
        ({"all_of": [{"text_contains": "Hello"}, {"title_contains": "Mail"}]}, True),
        ({"all_of": [{"text_contains": "Hello"}, {"exists": {"css": "x-mail >>> h1"}}]}, None),
        ({"all_of": [{"text_contains": "Nobody"}, {"exists": {"css": "x-mail >>> h1"}}]}, False),
        ({"any_of": [{"text_contains": "Hello"}, {"exists": {"css": "x-mail >>> h1"}}]}, True),
        ({"any_of": [{"text_contains": "Nobody"}, {"exists": {"css": "x-mail >>> h1"}}]}, None),
        ({"any_of": [{"text_contains": "Nobody"}, {"title_contains": "Nobody"}]}, False),
    ],
)  # fmt: skip
def test_a_condition_holds_does_not_hold_or_cannot_be_told(predicate: object, expected: bool | None) -> None:
    assert verdict(predicate, amount="12", whole="12.50") is expected


def test_the_texts_and_numbers_of_json_are_its_lines() -> None:
    document = page('{"id": 10.50, "ok": true, "none": null, "to": ["Ada Lovelace"]}', media="application/json")

    assert document.kind == "json"
    assert document.lines == ("10.50", "Ada Lovelace")
    assert verdict({"text_contains": "ada"}, document) is True
    assert verdict({"text_contains": "10.50 ada"}, document) is False
    assert verdict({"url_contains": "outbox"}, document) is None
    assert verdict({"exists": {"role": "row"}}, document) is None
    assert verdict({"response_status": "201"}, document, status=201) is True


@pytest.mark.parametrize("body", ["[" * 100_000, "{", "", "<html>" + "<div>" * 300_000, "%PDF-1.7"])
def test_what_cannot_be_read_is_of_another_kind_or_empty(body: str) -> None:
    assert page(body, media="application/json").kind == "other"
    assert page(body).lines in ((), ("{",), ("%PDF-1.7",), ("[" * 100_000,))


BROKEN = """<div> </div> <p> <table> <tr> <td> </table> <form> <input <select> <option> <a href=% <!-- --> <svg> <title>
<template> <script> </script> <details> <base href=: name=a value=b > " ' id=x aria-labelledby=x <label for=x> <button>
<frameset> </html> </body> <meta <ul> <li>"""


@given(st.lists(st.sampled_from(BROKEN.split()) | st.text(max_size=8), max_size=40).map(" ".join))
def test_broken_html_never_raises(html: str) -> None:
    document = page(html)

    assert verdict({"text_contains": "\u2060never here\u2060"}, document) is False
    assert verdict({"exists": {"role": "link", "name": "never here"}}, document) is False
    assert isinstance(document.title, str)
