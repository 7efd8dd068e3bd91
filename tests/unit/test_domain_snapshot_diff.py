"""A diff of two snapshots says what appeared, vanished, changed and moved, and nothing else."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from replaywright.domain.page.snapshot_diff import SnapshotDiff, diff
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import FrameStep, Target


def element(number: int, role: str, name: str, **fields: Any) -> Element:
    described = {key: fields.pop(key) for key in list(fields) if key in Target.model_fields}
    target = Target(tag=described.pop("tag", role), role=role, name=name, **described)
    return Element(id=f"e{number}", target=target, **fields)


def page(*elements: Element, **fields: Any) -> Snapshot:
    return Snapshot(url=fields.pop("url", "https://shop.test/orders"), elements=elements, **fields)


def table(customers: list[str], state: str = "open", changed: str = "") -> Snapshot:
    """A row for each customer: two cells, a box to tick and a button, as a page gives them."""
    elements: list[Element] = []
    for number, customer in enumerate(customers, start=1):
        at, told = f"/html/body/table/tr[{number}]", "sent" if customer == changed else state
        place: dict[str, Any] = {"group": "g1", "group_item": number, "container": 'table "Orders"'}
        row = (customer, told)
        for role, name, cell, text in (
            ("cell", "", 1, customer),
            ("cell", "", 2, told),
            ("checkbox", "Select", 3, ""),
            ("button", "Edit", 4, "Edit"),
        ):
            fields: dict[str, Any] = {"text": text, "xpath": f"{at}/td[{cell}]", "tag": "td" if text else "input"}
            if role == "cell":
                fields["actionable"] = False
            else:
                fields |= {"row": row, "element_hash": f"{role}{name}"}
            elements.append(element(len(elements) + 1, role, name, **fields, **place))
    return page(*elements)


NAMES = st.lists(st.sampled_from([f"Customer {letter}" for letter in "ABCDEFGHIJKLMNOP"]), unique=True, max_size=12)
TEXTS = st.text(max_size=8)
ELEMENTS = st.builds(
    element,
    st.integers(1, 9),
    st.sampled_from(["button", "textbox", "cell", ""]),
    TEXTS,
    text=TEXTS,
    xpath=st.sampled_from(["", "/html/body/p[1]", "/html/body/p[2]"]),
    row=st.lists(TEXTS, max_size=2).map(tuple),
    element_hash=st.sampled_from(["", "a", "b"]),
    attributes=st.dictionaries(st.sampled_from(["id", "name", "data-test"]), TEXTS, max_size=2),
    frame=st.sampled_from([(), (FrameStep(name="inner"),)]),
    value=TEXTS,
    states=st.lists(st.sampled_from(["checked", "disabled"]), unique=True).map(tuple),
    group=st.sampled_from(["", "g1"]),
    group_item=st.integers(0, 2),
    actionable=st.booleans(),
    visible=st.booleans(),
)
PAGES = st.lists(ELEMENTS, max_size=12).map(lambda elements: page(*elements))


@settings(deadline=None, max_examples=50)
@given(PAGES)
def test_a_page_does_not_differ_from_itself(taken: Snapshot) -> None:
    assert diff(taken, taken) == SnapshotDiff()
    assert diff(taken, taken).as_text() == ""


@settings(deadline=None, max_examples=50)
@given(PAGES, PAGES)
def test_every_element_is_accounted_for_once(before: Snapshot, after: Snapshot) -> None:
    told = diff(before, after)

    old, new = ([e for e in taken.elements if e.visible] for taken in (before, after))
    kept = len(old) - len(told.vanished)
    assert kept == len(new) - len(told.appeared) >= 0
    assert len(told.changed) <= kept >= len(told.moved)
    assert len(told.as_text(limit=12).splitlines()) <= 12


@settings(deadline=None, max_examples=50)
@given(NAMES, st.data())
def test_rows_that_come_go_and_change_places_are_told_as_exactly_these(customers: list[str], data: Any) -> None:
    gone = data.draw(st.sets(st.sampled_from(customers))) if customers else set()
    kept = data.draw(st.permutations([customer for customer in customers if customer not in gone]))
    added = data.draw(st.lists(st.sampled_from([f"New {letter}" for letter in "XYZ"]), unique=True))
    after = list(kept)
    for customer in added:
        after.insert(data.draw(st.integers(0, len(after))), customer)

    told = diff(table(customers), table(after))

    assert {e.target.text for e in told.appeared if e.target.role == "cell"} - {"open"} == set(added)
    assert {e.target.text for e in told.vanished if e.target.role == "cell"} - {"open"} == gone
    assert len(told.appeared) == 4 * len(added)
    assert len(told.vanished) == 4 * len(gone)
    assert not told.changed
    in_order = [customer for customer in customers if customer not in gone] == list(kept)
    assert bool(told.moved) == (not in_order)


def test_an_inserted_row_is_one_appearance() -> None:
    customers = [f"Customer {number}" for number in range(100)]

    told = diff(table(customers), table(["New one", *customers]))

    assert {e.group_item for e in told.appeared} == {1}
    assert told == diff(page(), page()).model_copy(update={"appeared": told.appeared})


def test_a_row_in_place_of_another_is_another_row() -> None:
    told = diff(table(["Ada", "Bob", "Cleo"]), table(["Ada", "Zoe", "Cleo"]))

    assert [e.target.text for e in told.vanished if e.target.role == "cell"] == ["Bob", "open"]
    assert [e.target.text for e in told.appeared if e.target.role == "cell"] == ["Zoe", "open"]
    assert not told.changed


def test_a_cell_that_changes_is_a_change_of_that_cell_also_where_its_row_moved() -> None:
    told = diff(table(["Ada", "Bob", "Cleo"]), table(["New", "Ada", "Bob", "Cleo"], changed="Bob"))

    assert [(c.before.target.text, c.after.target.text, c.fields) for c in told.changed] == [
        ("open", "sent", ("text",))
    ]
    assert {e.group_item for e in told.appeared} == {1}
    assert not told.vanished


def test_one_row_moved_to_the_top_is_what_moved() -> None:
    told = diff(table(["Ada", "Bob", "Cleo"]), table(["Cleo", "Ada", "Bob"]))

    assert {e.group_item for e in told.moved} == {1}


def test_values_states_options_names_and_the_address_are_told_with_before_and_after() -> None:
    before = page(
        element(1, "textbox", "To", xpath="/a", element_hash="to"),
        element(2, "checkbox", "Urgent", xpath="/b"),
        element(3, "combobox", "Size", options=("S",), xpath="/c"),
        element(4, "button", "Follow", xpath="/d"),
        element(5, "link", "Draft", xpath="/e"),
        title="New",
    )
    after = page(
        element(1, "status", "", text="Saved", xpath="/s", actionable=False, container='form "Note"'),
        element(2, "textbox", "To", xpath="/a2", element_hash="to", value="ann@shop.test"),
        element(3, "checkbox", "Urgent", xpath="/b", states=("checked",)),
        element(4, "combobox", "Size", options=("S", "M"), xpath="/c"),
        element(5, "button", "Following", xpath="/d"),
        title="Saved",
        url="https://shop.test/done",
    )

    told = diff(before, after)

    assert [change.fields for change in told.changed] == [("value",), ("states",), ("options",), ("name",)]
    assert told.as_text().splitlines() == [
        'url "https://shop.test/orders" → "https://shop.test/done"',
        'title "New" → "Saved"',
        '~ [e2] textbox "To": value "" → "ann@shop.test"',
        '~ [e3] checkbox "Urgent": states () → (checked)',
        '~ [e4] combobox "Size": options "S" → "S|M"',
        '~ [e5] button: name "Follow" → "Following"',
        '+ status "Saved" in form "Note"',
        '- [e5] link "Draft"',
    ]


def test_a_counter_in_another_frame_of_the_same_name_is_the_same_counter() -> None:
    frames = [(FrameStep(name="cart", url=f"https://shop.test/cart/{number}"),) for number in (1, 2)]
    before, after = (
        page(element(1, "", "", text=f"{number} items", frame=frame, xpath="/p", actionable=False))
        for number, frame in enumerate(frames)
    )

    told = diff(before, after)

    assert [change.fields for change in told.changed] == [("text",)]


def test_a_long_diff_is_bounded_and_hides_no_kind_of_change() -> None:
    before = table([f"Old {number}" for number in range(200)])
    after = table([f"New {number}" for number in range(200, 400)])
    gone = page(*before.elements, element(999, "alert", "", text="Careful", xpath="/alert", actionable=False))

    lines = diff(gone, after).as_text(limit=20).splitlines()

    assert len(lines) <= 20
    assert "+ 791 more appeared" in lines
    assert any(line.startswith("- [e") for line in lines)


def test_texts_of_the_page_cannot_imitate_lines_of_the_diff() -> None:
    told = diff(page(), page(element(1, "button", 'x"\n- [e9] button "Send', xpath="/b")))

    assert told.as_text() == """+ [e1] button "x' - [e9] button 'Send\""""
