"""Readers of extract steps in responses: they yield in one document what they yield in another of its kind."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.requests.document import Document
from replaywright.domain.requests.places import JsonPath, ScriptJson
from replaywright.domain.requests.reading import (
    AtPath,
    BesideLabel,
    JsonTexts,
    Reader,
    Selected,
    TableAt,
    read,
    readers_of,
)
from replaywright.domain.task.steps import ExtractField
from tests.unit.test_static_documents import BROKEN, page


def order(number: str = "A-1001", total: str = "1,234.50 €", goods: tuple[str, ...] = ("Pen", "Ink")) -> Document:
    rows = "".join(f"<tr><td>{name}<td>{place}</tr>" for place, name in enumerate(goods))
    items = "".join(f"<li class=good><b>{name}</b></li>" for name in goods)
    return page(
        f"""<title>Order</title><body><h1 class="title big">Thank you</h1><p class=d-none id=old>{number}</p>
<p>Your order <b id=number>{number}</b></p><dl><dt>Order number</dt><dd>{number}</dd><dt>Paid</dt><dd>yes</dd></dl>
<table id=sums><caption>Sums</caption><tr><th>Total</th><td data-field=total>{total}</td></tr></table>
<ul id=goods>{items}</ul><table><thead><tr><th>Name<th>Place</thead><tbody>{rows}</tbody></table>
<form><label>Ship to</label><input name=ship value="Main St 1"><select name=by><option selected value=1>Post</select>
<input type=password name=pin value=hunter2></form><a id=back href="/orders/{number}">Back</a>
<script type="application/json" id=state>{{"order": {{"number": "{number}"}}}}</script>"""
    )


def ask(take: str = "text", **more: Any) -> ExtractField:
    return ExtractField.model_validate({"take": take, **more})


def test_a_text_is_read_by_name_label_class_place_and_data() -> None:
    addresses = {reader.at for reader in readers_of(order(), ask(), "A-1001")}

    assert {
        Selected(css='[id="number"]'),
        Selected(css="p > b"),
        AtPath(steps=(("p", 2), ("b", 1))),
        BesideLabel(tag="dd", label="order number"),
        ScriptJson(id="state", path=("order", "number")),
    } <= addresses
    assert Selected(css='[id="old"]') not in addresses


@pytest.mark.parametrize(
    ("field", "value", "other"),
    [
        (ask(), "A-1001", "B-2"),
        (ask(type="number"), 1234.5, 7.0),
        (ask(type="boolean"), True, True),
        (ask("texts"), ["Pen", "Ink"], ["Cup", "Tea", "Pot"]),
        (ask("table"), [{"Name": "Pen", "Place": "0"}, {"Name": "Ink", "Place": "1"}],
         [{"Name": name, "Place": str(place)} for place, name in enumerate(("Cup", "Tea", "Pot"))]),
        (ask("count", type="integer"), 2, 3),
        (ask("value"), "Main St 1", "Main St 1"),
        (ask("value"), "Post", "Post"),
        (ask("attribute", attribute="href"), "/orders/A-1001", "/orders/B-2"),
    ],
)  # fmt: skip
def test_what_reads_one_document_reads_another_of_its_kind(field: ExtractField, value: Any, other: Any) -> None:
    readers = readers_of(order(), field, value)
    document = order("B-2", "Total: 7", ("Cup", "Tea", "Pot"))

    again = set(readers) & set(readers_of(document, field, other))

    assert again
    assert all(read(order(), reader) == value and read(document, reader) == other for reader in again)


def test_tables_are_found_by_id_caption_and_position() -> None:
    row = [{"column 1": "Total", "column 2": "1,234.50 €"}]

    places = [reader.at for reader in readers_of(order(), ask("table"), row)]

    assert places == [TableAt(id="sums"), TableAt(caption="sums"), TableAt(index=0, of=2)]


def test_columns_of_one_name_stay_apart_and_a_foot_may_repeat_the_head() -> None:
    document = page(
        "<table><thead><tr><td><th>A<th colspan=2>A</thead><tfoot><tr><td><td>A<td>A</tfoot>"
        "<tr><td>1<td>2<td>3<td>4<td>5</tr><tr hidden><td>9</table>"
    )

    assert read(document, Reader(at=TableAt(of=1), field=ask("table"))) == [
        {"column 1": "1", "A": "2", "A 3": "3", "column 4": "4", "column 5": "5"}
    ]


def test_json_is_read_by_its_paths() -> None:
    document = page('{"order": {"no": 17, "goods": [{"name": "Pen"}, {"name": "Ink"}]}}', media="application/json")

    assert [one.at for one in readers_of(document, ask(type="integer"), 17)] == [JsonPath(path=("order", "no"))]
    (names,) = readers_of(document, ask("texts"), ["Pen", "Ink"])
    assert names.at == JsonTexts(path=("order", "goods"), key="name")


def test_what_is_secret_ambiguous_absent_or_of_another_type_is_not_read() -> None:
    assert readers_of(order(), ask("value"), "hunter2") == ()
    assert readers_of(order(), ask("attribute", attribute="value"), "hunter2") == ()
    assert readers_of(order(), ask(), "nobody") == ()
    assert readers_of(order(), ask(), "") == ()
    assert read(order(), Reader(at=Selected(css="li"), field=ask())) is None
    assert read(order(), Reader(at=Selected(css="]["), field=ask())) is None
    assert read(order(), Reader(at=Selected(css="h1"), field=ask(type="number"))) is None


def test_a_reader_is_the_same_after_json() -> None:
    for reader in readers_of(order(), ask(type="number"), 1234.5):
        assert Reader.model_validate_json(reader.model_dump_json(by_alias=True)) == reader


@given(st.lists(st.sampled_from(BROKEN.split()) | st.text("ab1 ", max_size=4), max_size=30).map(" ".join))
def test_what_reads_broken_html_yields_the_value(html: str) -> None:
    document = page(html)

    for field, value in (
        (ask(), "a"),
        (ask(type="integer"), 1),
        (ask("texts"), ["a", "b"]),
        (ask("count"), "2"),
        (ask("attribute", attribute="value"), "b"),
    ):
        assert all(read(document, reader) == value for reader in readers_of(document, field, value))


def test_a_table_known_by_its_place_alone_is_not_read_where_there_is_another_one() -> None:
    reader = Reader(at=TableAt(of=1), field=ask("table"))
    assert read(page("<table><tr><td>1</table>"), reader) == [{"column 1": "1"}]
    assert read(page("<table><tr><td>new</table><table><tr><td>1</table>"), reader) is None
