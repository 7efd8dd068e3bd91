"""Places in responses where values come from, and are found again."""

import json
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replaywright.domain.requests.document import Document, read_document
from replaywright.domain.requests.exchanges import SiteResponse
from replaywright.domain.requests.forms import FormAddress, forms_of
from replaywright.domain.requests.places import (
    DataAttribute,
    FormField,
    FormOption,
    JsonPath,
    LinkAddress,
    MetaContent,
    Place,
    ScriptJson,
    find,
    places_of,
)
from tests.unit.test_static_documents import BROKEN, page

ANY = TypeAdapter[Place](Place)
FORM = FormAddress(action="/mail/send", method="POST", names=("agree", "body", "list", "size", "to", "token"))
ANYWHERE = FORM.model_copy(update={"action": ""})


def compose(token: str = "t0k3n", draft: str = "draft-17") -> Document:
    return page(
        f"""<html data-build="{token}x"><head><meta name="csrf-token" content="{token}"><base href="/mail/"></head>
<body><form method=post action="send?draft={draft}"><input type=hidden name=token value={token}><input name=to value="">
<textarea name=body>
Hello
there</textarea>
<select name=list><option value=7>Friends &amp; foes<option value=8 selected>Family</select>
<input type=radio name=size value=s id=s><label for=s>Small</label>
<label><input type=radio name=size value=l checked>Large</label>
<input type=checkbox name=agree value=yes> I agree <input type=submit name=go value=Send>
<button name=other value=1>x</button>
<input name=off value=never disabled form=none></form>
<div id=app data-draft={draft} data-on></div><a href="drafts/{draft}?open=1">Open <b>draft</b></a>
<script type="application/json" id=state>{{"user": {{"id": 4711}}, "drafts": ["{draft}"]}}</script></body></html>"""
    )  # fmt: skip


def kinds(places: tuple[Place, ...]) -> list[str]:
    return [place.kind for place in places]


def test_a_value_is_found_at_each_of_its_places_and_at_the_same_places_of_another_document() -> None:
    places = places_of(compose(), "t0k3n")

    assert places == (
        FormField(form=FORM, name="token"),
        FormField(form=ANYWHERE, name="token"),
        MetaContent(name="csrf-token"),
    )
    assert {find(compose(token="other", draft="9"), place) for place in places} == {"other"}


def test_data_attributes_and_json_in_scripts_are_places() -> None:
    places = places_of(compose(), "draft-17")

    assert places == (
        DataAttribute(selector='[id="app"]', name="data-draft"),
        ScriptJson(id="state", path=("drafts", 0)),
    )
    assert places_of(compose(), "t0k3nx") == (DataAttribute(selector="html", name="data-build"),)
    assert places_of(compose(), "4711") == (ScriptJson(id="state", path=("user", "id")),)


def test_a_link_is_found_by_its_text_and_the_form_of_its_path() -> None:
    (place,) = places_of(compose(), "https://mail.example/mail/drafts/draft-17?open=1")

    assert place == LinkAddress(text="Open draft", path_like="/mail/drafts/*")
    assert find(compose(draft="d5"), place) == "https://mail.example/mail/drafts/d5?open=1"


def test_a_choice_is_found_by_its_label() -> None:
    places = places_of(compose(), "7")

    assert places == tuple(FormOption(form=form, name="list", label="Friends & foes") for form in (FORM, ANYWHERE))
    assert find(compose(), FormOption(form=FORM, name="list", label="  family ")) == "8"
    assert find(compose(), FormOption(form=FORM, name="list", label="Enemies")) is None


def test_a_form_sends_what_a_browser_sends_for_it_untouched() -> None:
    [form] = [form for form in forms_of(compose()) if form.action.startswith("https://mail.example/mail/send")]

    assert dict(form.pairs) == {"token": "t0k3n", "to": "", "body": "Hello\nthere", "list": "8", "size": "l"}
    assert form.address.method == "POST"


def test_of_equal_forms_only_values_that_are_equal_have_an_address() -> None:
    row = '<form action=/delete><input type=hidden name=id value={}><input type=hidden name=token value="abcd"></form>'
    document = page(row.format(1) + row.format(2))

    assert places_of(document, "1") == ()
    assert kinds(places_of(document, "abcd")) == ["form_field", "form_field"]


def test_short_values_are_looked_for_in_forms_alone() -> None:
    document = page("<meta name=v content=12><form><input name=n value=12></form><p id=a data-n=12></p>")

    assert kinds(places_of(document, "12")) == ["form_field", "form_field"]
    assert places_of(document, "") == ()


@pytest.mark.parametrize(
    "place",
    [FormField(form=FORM, name="to"), JsonPath(path=("a", 0)), ScriptJson(id="s", path=()), MetaContent(name="x"),
     LinkAddress(text="a", path_like="/"), FormOption(form=FORM, name="a", label="{{b}}"),
     DataAttribute(selector="body", name="data-x")],
)  # fmt: skip
def test_a_place_is_the_same_after_json(place: Place) -> None:
    assert ANY.validate_json(ANY.dump_json(place, by_alias=True)) == place
    assert find(page("", media="text/plain"), place) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.data())
def test_every_leaf_of_json_is_found_again(data: object, draw: st.DataObject) -> None:
    text = json.dumps({"data": data})
    document = read_document(SiteResponse(200, "https://a.example/", {"content-type": "application/json"}, text))
    value = draw.draw(st.sampled_from([*document.lines, "true", "12345"]))

    places = places_of(document, value)

    assert all(find(document, place) == value for place in places)
    assert places or len(value) < 4 or value not in document.lines


_FIELDS = st.lists(st.tuples(st.sampled_from("abc"), st.text("xyz<>&\"' \n", max_size=5)), max_size=5)


@given(_FIELDS, st.lists(st.sampled_from(BROKEN.split()) | st.text(max_size=6), max_size=25).map(" ".join))
def test_what_is_found_in_broken_html_is_found_again(fields: list[tuple[str, str]], broken: str) -> None:
    inputs = "".join(f'<input name={name} value="{escape(value)}">' for name, value in fields)
    document = page(f"<form method=post>{inputs}</form>{broken}")

    for value in {"b", *(value for _, value in fields)}:
        assert all(find(document, place) == value for place in places_of(document, value))
    single = [value for name, value in fields if [each for each, _ in fields].count(name) == 1 and "\n" not in value]
    assert all(places_of(document, value) for value in single if value)
