"""Which element is the recorded one, and when none certainly is."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common.text import normalise, tokens
from replaywright.domain.locating.filling import filled_target, general_target
from replaywright.domain.locating.likeness import agrees, name_similarity, roles_compatible, similarity, wording_of
from replaywright.domain.locating.matching import (
    ElementCandidate,
    MatchDecision,
    decide_identified,
    decide_similar,
    may_be_declared,
    without_content,
)
from replaywright.domain.locating.wording import Wording
from replaywright.domain.page.targets import ElementQuery, FrameStep, Target

COMPOSE: dict[str, Any] = {
    "tag": "button",
    "role": "button",
    "name": "Send",
    "text": "Send",
    "attributes": {"id": "btn-7", "class": "btn primary", "type": "submit"},
    "xpath": "/html/body/div[2]/form/div[5]/button[1]",
    "css": "form button.primary",
    "neighbours": ("Save as draft", "Message", "Priority"),
    "container": 'form "Compose"',
    "element_hash": "h-send",
}
LOGIN: dict[str, Any] = {
    "tag": "button",
    "role": "button",
    "name": "Log in",
    "text": "Log in",
    "attributes": {"id": "login", "class": "btn", "type": "submit"},
    "xpath": "/html/body/main/form/button",
    "neighbours": ("User name", "Password"),
    "container": 'form "Welcome"',
    "element_hash": "h-login",
}


def target(base: dict[str, Any], **changes: Any) -> Target:
    return Target.model_validate({**base, **changes})


def candidates(*targets: Target, tier: str = "xpath") -> list[ElementCandidate]:
    return [ElementCandidate(index=index, tier=tier, target=each) for index, each in enumerate(targets)]


def identified(recorded: Target, *seen: Target) -> MatchDecision:
    return decide_identified(recorded, candidates(*seen))


def similar(recorded: Target, *seen: Target) -> MatchDecision:
    return decide_similar(recorded, candidates(*seen, tier="similarity"))


SEND = target(COMPOSE)
LOG_IN = target(LOGIN)

# ---------------------------------------------------------------------------------------------- identified


def test_the_unchanged_element_is_found_and_not_healed() -> None:
    decision = identified(SEND, SEND)

    assert decision.chosen is not None
    assert decision.chosen.index == 0
    assert (decision.lookup.hit, decision.lookup.healed, decision.lookup.tier) == (True, False, "xpath")
    assert decision.lookup.score == 1.0


def test_an_element_with_another_hash_is_found_and_counts_as_healed() -> None:
    moved = target(
        COMPOSE, element_hash="h-2", attributes={"id": "x9", "class": "b"}, xpath="/html/body/main/button[2]"
    )

    assert identified(SEND, moved).lookup.healed


def test_no_candidate_is_a_miss() -> None:
    assert identified(SEND).lookup.reason == "not_found"
    assert similar(SEND).lookup.reason == "not_found"


@pytest.mark.parametrize("changes", [{"name": "Delete"}, {"name": ""}, {"role": "link"}, {"name": "Send later"}])
def test_another_name_or_role_at_the_same_xpath_is_a_miss(changes: dict[str, Any]) -> None:
    decision = identified(SEND, target(COMPOSE, **changes))

    assert decision.chosen is None
    assert decision.lookup.reason == "disagrees"


def test_twins_are_ambiguous() -> None:
    twin = target(COMPOSE, xpath="/html/body/div[2]/form/div[1]/button[1]")

    decision = identified(SEND, SEND, twin)

    assert decision.chosen is None
    assert decision.lookup.reason == "ambiguous"
    assert decision.lookup.runner_up > 0.9


@given(count=st.integers(2, 5), start=st.integers(0, 4), data=st.data())
def test_elements_that_differ_only_in_position_are_ambiguous(count: int, start: int, data: st.DataObject) -> None:
    twins = [target(COMPOSE, xpath=f"/html/body/div[{start + n}]/button") for n in range(count)]
    shuffled = data.draw(st.permutations(twins))

    assert identified(SEND, *shuffled).lookup.reason == "ambiguous"
    assert similar(SEND, *shuffled).lookup.reason == "ambiguous"


NAV = {**COMPOSE, "namesakes": 2, "neighbours": ("Page 1 of 3", "Newest", "10 a page")}
TOP = target(NAV, xpath="/html/body/div[1]/button")
BOTTOM = target(NAV, xpath="/html/body/div[2]/button", neighbours=("10 a page", "Page 1 of 3"))


def test_twins_on_an_unchanged_page_are_told_apart_by_where_they_stand() -> None:
    for recorded, other in ((TOP, BOTTOM), (BOTTOM, TOP)):
        decision = identified(recorded, other, recorded)

        assert decision.chosen is not None
        assert decision.chosen.target == recorded
        assert not decision.lookup.healed


def test_listeners_that_were_counted_when_it_was_recorded_make_it_no_other_element() -> None:
    recorded = TOP.model_copy(update={"heard": {"click": 2}})

    decision = identified(recorded, BOTTOM, TOP)

    assert decision.chosen is not None
    assert decision.chosen.target == TOP


@pytest.mark.parametrize("neighbours", [("Page 1 of 3", "Newest", "12:30"), ("Page 1 of 3", "Oldest", "10 a page")])
def test_a_text_around_twins_that_changes_leaves_them_apart(neighbours: tuple[str, ...]) -> None:
    decision = identified(TOP, BOTTOM, target(NAV, xpath=TOP.xpath, neighbours=neighbours))

    assert decision.chosen is not None
    assert decision.chosen.target.xpath == TOP.xpath


@pytest.mark.parametrize(
    ("seen", "change"),
    [
        ({"neighbours": ("Page 2 of 3", "Newest", "10 a page")}, "another stands where it stood"),
        ({"namesakes": 3}, "one has come"),
        ({"attributes": {"id": "other"}}, "it is another"),
    ],
)
def test_twins_on_a_changed_page_are_not_told_apart_by_where_they_stand(seen: dict[str, Any], change: str) -> None:
    assert identified(TOP, BOTTOM, target(NAV, **{"xpath": TOP.xpath, **seen})).chosen is None, change


@pytest.mark.parametrize(
    ("query", "seen", "believed"),
    [
        ({"css": "#main"}, {"name": "Send now"}, True),
        ({"css": "#main"}, {"name": "Archive"}, False),
        ({"css": "#main"}, {"row": ("Invoice 8", "Send")}, False),
        ({"css": "#main"}, {"name": "Quux"}, False),
        ({"test_id": "main"}, {"name": "Quux"}, True),
        ({"test_id": "main"}, {"name": "Archive"}, False),
        ({"test_id": "main"}, {"row": ("Invoice 8", "Send")}, False),
        ({"name": "Archive"}, {"name": "Archive"}, True),
    ],
)
def test_a_declared_identifier_is_not_believed_against_what_was_recorded(
    query: dict[str, str], seen: dict[str, Any], believed: bool
) -> None:
    recorded = target(COMPOSE, row=("Invoice 7", "Send"))

    found = target(COMPOSE, **{"row": recorded.row, **seen})

    assert may_be_declared(recorded, found, ElementQuery.model_validate(query)) is believed


INNER = {"css": "form button button", "element_hash": "h-inner", "xpath": f"{COMPOSE['xpath']}/button"}


READ = {
    "tag": "div", "name": "Please pay 12.50 euros.", "text": "Please pay 12.50 euros.", "xpath": "/html/body/main/div",
    "attributes": {"class": "words"}, "neighbours": ("From Carol",), "namesakes": 1, "element_hash": "a",
}  # fmt: skip
SAYS = {"name": "They are lovely.", "text": "They are lovely. All of them.", "element_hash": "b"}


def test_what_is_only_read_is_not_called_what_it_says() -> None:
    recorded, seen = target(READ), target(READ, **SAYS)

    assert not identified(recorded, seen).lookup.hit
    assert identified(without_content(recorded), without_content(seen)).lookup.hit
    assert may_be_declared(recorded, seen, ElementQuery(css=".words"), is_read=True)


@pytest.mark.parametrize(
    ("own", "changes"),
    [
        ({"row": ("Tea", "4.20")}, {"row": ("Cake", "They are lovely.")}),
        ({"role": "table", "name": "Prices"}, {"role": "table", "name": "Orders"}),
    ],
)
def test_what_is_only_read_is_told_by_its_row_and_by_a_name_of_its_own(
    own: dict[str, Any], changes: dict[str, Any]
) -> None:
    recorded, seen = target(READ, **own), target(READ, **{**SAYS, **changes})

    assert not identified(without_content(recorded), without_content(seen)).lookup.hit
    assert not may_be_declared(recorded, seen, ElementQuery(css=".words"), is_read=True)


@pytest.mark.parametrize("recorded", [SEND, target(COMPOSE, **INNER)])
def test_of_elements_in_each_other_with_one_name_the_one_that_was_recorded_is_found(recorded: Target) -> None:
    decision = identified(recorded, SEND, target(COMPOSE, **INNER))

    assert decision.chosen is not None
    assert decision.chosen.target == recorded
    assert not decision.lookup.healed


@pytest.mark.parametrize("changes", [{"css": "form > b"}, {"element_hash": "h-3"}, {"xpath": "/html/body/p/b"}])
def test_of_elements_in_each_other_none_is_taken_that_differs_from_the_recording(changes: dict[str, Any]) -> None:
    inner = {**COMPOSE, **INNER}

    assert identified(target(inner), SEND, target(inner, **changes)).lookup.reason == "ambiguous"


def test_a_twin_in_another_dialog_is_told_apart() -> None:
    other = target(COMPOSE, container='dialog "Feedback"', neighbours=("Rating",), attributes={"id": "btn-8"})

    decision = identified(SEND, other, SEND)

    assert decision.chosen is not None
    assert decision.chosen.index == 1


DELETE = target(COMPOSE, name="Delete", text="Delete", row=("Invoice 7", "12.50", "Delete"), element_hash="h-d")


def in_row(*row: str) -> Target:
    return target(COMPOSE, name="Delete", text="Delete", row=(*row, "Delete"), element_hash="h-d")


def test_the_same_button_in_the_row_of_another_thing_is_a_miss() -> None:
    assert identified(DELETE, in_row("Invoice 8", "99.00")).lookup.reason == "disagrees"
    assert similar(DELETE, in_row("Invoice 8", "99.00")).chosen is None


def test_the_button_in_the_same_row_is_found_wherever_the_row_went() -> None:
    decision = identified(
        DELETE, in_row("Invoice 8", "99.00"), in_row("Invoice 7", "12.50"), in_row("Invoice 9", "1.00")
    )

    assert decision.chosen is not None
    assert decision.chosen.index == 1


def test_a_row_that_shares_all_but_its_number_is_another_row() -> None:
    recorded = target(COMPOSE, name="Delete", text="Delete", row=("Invoice 7", "open", "Delete"))

    assert (
        identified(recorded, recorded.model_copy(update={"row": ("Invoice 8", "open", "Delete")})).lookup.reason
        == "disagrees"
    )


def test_of_a_row_that_a_parameter_names_only_that_has_to_be_there() -> None:
    recorded = target(COMPOSE, name="Edit", text="Edit", row=("Ada Lovelace",), element_hash="h-e")
    ada = recorded.model_copy(update={"row": ("Ada Lovelace", "ada@example.com", "admin", "Edit")})
    bob = recorded.model_copy(update={"row": ("Bob", "bob@example.com", "admin", "Edit")})

    assert identified(recorded, bob, ada).chosen == candidates(bob, ada)[1]
    assert identified(recorded, bob).lookup.reason == "disagrees"


def test_what_stood_beside_the_recorded_element_is_not_it() -> None:
    recorded = target(COMPOSE, name="Save", text="Save", neighbours=("Save as draft", "Cancel"), element_hash="h-s")
    draft = target(COMPOSE, name="Save as draft", text="Save as draft", neighbours=("Cancel",), element_hash="h-t")

    assert similar(recorded, draft).lookup.reason == "not_found"


def test_a_row_of_which_a_little_changed_is_still_the_same() -> None:
    recorded = target(COMPOSE, row=("Invoice 7", "Ada Lovelace", "3 days ago"))

    assert identified(recorded, target(COMPOSE, row=("Invoice 7", "Ada Lovelace", "4 days ago"))).lookup.hit


def test_nameless_fields_are_confirmed_by_their_attributes() -> None:
    field = target({}, tag="input", role="textbox", attributes={"name": "q"}, xpath="/html/body/input")

    assert agrees(field, field)
    assert not agrees(field, target({}, tag="input", role="textbox", attributes={"name": "to"}))


OPENED: dict[str, Any] = {
    "tag": "input",
    "role": "textbox",
    "xpath": "/html/body/ul/li[2]/input",
    "neighbours": ("notes", "list"),
    "container": "list",
    "element_hash": "h-opened",
    "namesakes": 1,
    "focused": True,
}
"""A nameless field that had the focus before a step gave it any."""


def test_a_nameless_field_that_was_opened_is_told_by_the_focus() -> None:
    seen = target(OPENED, xpath="/html/body/div/ul/li[4]/span/input", neighbours=("wine", "oil"), namesakes=2)

    decision = identified(target(OPENED), target(seen.model_dump(), focused=False), seen)

    assert (decision.chosen and decision.chosen.index, decision.lookup.healed) == (1, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"focused": False},
        {"name": "Search"},
        {"role": "combobox"},
        {"container": "dialog"},
        {"container": "dialog", "neighbours": OPENED["neighbours"], "attributes": {"class": "filter"}},
        {"row": ("Bob", "b@example.com")},
        {"attributes": {"name": "to"}},
        {"attributes": {"type": "password"}},
    ],
)
def test_the_focus_alone_makes_nothing_else_the_field_that_was_opened(changes: dict[str, Any]) -> None:
    recorded = target(OPENED, attributes={"name": "title"}, row=("Ann", "a@example.com"))
    seen = {**OPENED, "attributes": {}, "row": recorded.row, "neighbours": ("wine", "oil"), "element_hash": "h-new"}

    assert identified(recorded, target(seen)).lookup.hit
    assert not identified(recorded, target(seen, **changes)).lookup.hit


# ------------------------------------------------------------------------------------------------- similar

BOX = {"x": 600, "y": 500, "width": 80, "height": 30}
"""Where the recorded element was drawn. What only slid is near it."""
REDESIGNED: dict[str, Any] = {
    "attributes": {"id": "e41", "class": "Button Button--main", "type": "submit"},
    "xpath": "/html/body/main/section/footer/button[3]",
    "css": "footer button",
    "neighbours": ("Message", "Save draft"),
    "element_hash": "h-new",
    "box": {"x": 610, "y": 520, "width": 90, "height": 32},
    "namesakes": 1,
}


def test_a_longer_wording_heals() -> None:
    recorded = target(COMPOSE, box=BOX, namesakes=1)
    stays = {"neighbours": recorded.neighbours, "xpath": recorded.xpath}
    changed = {**REDESIGNED, **stays, "attributes": {**recorded.attributes, "id": "e41"}}

    decision = similar(recorded, target(COMPOSE, **changed, name="Send message", text="Send message"))

    assert decision.chosen is not None
    assert (decision.lookup.hit, decision.lookup.healed, decision.lookup.tier) == (True, True, "similarity")


def test_a_longer_wording_beside_the_recorded_place_is_another() -> None:
    recorded = target(COMPOSE, attributes={}, box=BOX)
    moved_up = target(COMPOSE, attributes={}, name="Send message", text="Send message", element_hash="h-new", box=BOX)
    elsewhere = {"xpath": "/html/body/div[2]/form/div[5]/button[3]", "neighbours": ("Priority", "Help"), "box": None}

    assert similar(recorded, moved_up).chosen is not None
    assert similar(recorded, target(moved_up.model_dump(), **elsewhere)).chosen is None


def test_a_twin_that_has_not_changed_may_be_the_one_that_changed_places() -> None:
    recorded = target(COMPOSE, attributes={"class": "btn"}, namesakes=2)
    changed = target(COMPOSE, attributes={"class": "btn", "title": "Send it now"})
    unchanged = target(COMPOSE, attributes={"class": "btn"}, xpath="/html/body/div[7]/p/button", neighbours=("Other",))

    decision = identified(recorded, changed, unchanged)

    assert (decision.chosen, decision.lookup.reason) == (None, "ambiguous")


def test_log_in_heals_to_sign_in_in_the_same_form() -> None:
    changed = {**REDESIGNED, "neighbours": ("User name", "Password", "Trouble getting in?")}
    sign_in = target(LOGIN, **changed, name="Sign in", text="Sign in")
    forgotten = target(LOGIN, **REDESIGNED, role="link", tag="a", name="Help", text="Help")

    assert similar(target(LOGIN, box=BOX, namesakes=1), sign_in, forgotten).chosen


OPPOSITES = [
    ("Send", "Discard"),
    ("Send", "Cancel send"),
    ("Send", "Don't send"),
    ("Send", "Unsend"),
    ("Send", "Send to all"),
    ("Log in", "Log out"),
    ("Subscribe", "Unsubscribe"),
    ("Connect", "Disconnect"),
    ("Senden", "Nicht senden"),
    ("发送", "取消发送"),
    ("Save", "Delete"),
]


@pytest.mark.parametrize(("recorded", "seen"), [*OPPOSITES, *((b, a) for a, b in OPPOSITES)])
def test_what_does_the_opposite_never_heals_however_alike_it_is(recorded: str, seen: str) -> None:
    # Everything but the name is the same, also what identifies: pages reuse ids, and forms share a button's name.
    attributes = {"id": "b", "class": "btn", "type": "submit", "name": "action", "data-testid": "main"}
    before, after = (target(COMPOSE, attributes=attributes, name=name, text=name) for name in (recorded, seen))

    assert identified(before, after).chosen is None
    assert similar(before, after).chosen is None


@pytest.mark.parametrize("seen", ["Archive", "Preview", "Schedule", "Attach"])
def test_another_word_does_not_heal_although_the_form_shares_its_buttons_name(seen: str) -> None:
    attributes = {"name": "action", "type": "submit", "class": "btn"}

    decision = similar(target(COMPOSE, attributes=attributes), target(COMPOSE, attributes=attributes, name=seen))

    assert decision.chosen is None


def test_one_radio_button_does_not_heal_to_another_of_its_group() -> None:
    low, high = (
        target({}, tag="input", role="radio", name=name, attributes={"name": "priority", "type": "radio"})
        for name in ("Low", "High")
    )

    assert similar(low, high).chosen is None


def test_a_field_heals_by_its_name_attribute_when_its_label_changed() -> None:
    base = {"tag": "input", "role": "textbox", "container": 'form "New"'}
    to, subject = ({"name": name, "id": name, "type": "text"} for name in ("to", "subject"))
    recorded = target(base, name="To", label="To", attributes=to)

    decision = similar(
        recorded,
        target(base, name="Subject", label="Subject", attributes=subject),
        target(base, name="Recipient", label="Recipient", attributes=to),
    )

    assert decision.chosen is not None
    assert decision.chosen.index == 1


def test_a_nameless_button_does_not_heal_to_a_named_one() -> None:
    icon = target(COMPOSE, name="", text="")

    assert similar(icon, target(COMPOSE, name="Delete", text="Delete")).chosen is None


def test_a_password_field_does_not_heal_to_a_plain_one() -> None:
    base = {"tag": "input", "role": "textbox", "name": "Password", "label": "Password"}
    password = target(base, attributes={"type": "password", "name": "pw"})

    assert similar(password, target(base, attributes={"type": "text", "name": "pw"})).chosen is None


def test_an_element_in_a_renamed_frame_is_still_judged_by_its_name() -> None:
    recorded = target(COMPOSE, frame=(FrameStep(name="editor"),))
    elsewhere = (FrameStep(name="editor-v2"),)

    assert similar(recorded, target(COMPOSE, frame=elsewhere)).chosen is not None
    assert similar(recorded, target(COMPOSE, frame=elsewhere, name="Archive")).chosen is None
    assert similar(recorded, target(COMPOSE)).chosen is None


def test_without_the_true_element_its_neighbours_are_no_answer() -> None:
    others = [
        target(COMPOSE, **REDESIGNED, name=name, text=name) for name in ("Save as draft", "Discard", "Attach a file")
    ]

    assert similar(SEND, *others).chosen is None


# ---------------------------------------------------------------------------------------------- properties

WORDS = st.sampled_from(["", "Send", "Send message", "Discard", "To", "log in", "Löschen", "送信", "\ue001 Send"])
TARGETS = st.builds(
    Target,
    frame=st.sampled_from([(), (FrameStep(name="a"),), (FrameStep(index=1),)]),
    tag=st.sampled_from(["", "button", "a", "input", "select"]),
    role=st.sampled_from(["", "button", "link", "textbox", "combobox", "radio"]),
    name=WORDS,
    text=WORDS,
    label=WORDS,
    attributes=st.dictionaries(
        st.sampled_from(["id", "class", "name", "type", "placeholder", "href", "data-testid"]),
        st.sampled_from(["", "a", "to", "btn", "password", "a b"]),
        max_size=4,
    ),
    xpath=st.sampled_from(["", "/html/body/a", "/html/body/div[1]/#shadow/b"]),
    neighbours=st.lists(WORDS, max_size=2).map(tuple),
    container=st.sampled_from(["", 'form "Compose"']),
    row=st.lists(WORDS, max_size=2).map(tuple),
    element_hash=st.sampled_from(["", "h1", "h2"]),
)


@given(recorded=TARGETS, seen=st.lists(TARGETS, max_size=4))
def test_whatever_descriptors_are_missing_there_is_a_verdict(recorded: Target, seen: list[Target]) -> None:
    for decision in (identified(recorded, *seen), similar(recorded, *seen)):
        assert decision.lookup.hit == (decision.chosen is not None)
        assert bool(decision.lookup.reason) != decision.lookup.hit
        assert 0 <= decision.lookup.runner_up <= 1 + 1e-9
        assert decision.lookup.runner_up <= decision.lookup.score or not decision.lookup.hit


@given(recorded=TARGETS, seen=st.lists(TARGETS, max_size=4), data=st.data())
def test_the_verdict_does_not_depend_on_the_order(recorded: Target, seen: list[Target], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(seen))

    for decide in (identified, similar):
        first, second = decide(recorded, *seen), decide(recorded, *shuffled)
        assert first.lookup.hit == second.lookup.hit
        assert (first.chosen and first.chosen.target) == (second.chosen and second.chosen.target)


@given(recorded=TARGETS, seen=TARGETS)
def test_similarity_is_between_0_and_1_and_1_for_the_same(recorded: Target, seen: Target) -> None:
    assert 0 <= similarity(recorded, seen) <= 1 + 1e-9
    assert (
        similarity(recorded, recorded) == pytest.approx(1)
        or recorded == Target()
        or similarity(recorded, recorded) == 0
    )


@given(recorded=TARGETS, seen=TARGETS)
def test_what_is_found_by_identifiers_has_the_recorded_role_and_name(recorded: Target, seen: Target) -> None:
    decision = identified(recorded, seen)

    if decision.chosen is not None:
        assert decision.chosen.target.role == recorded.role
        assert normalise(decision.chosen.target.name) == normalise(recorded.name)


def test_signs_around_an_element_do_not_count_against_it() -> None:
    bare = target(COMPOSE, neighbours=("•", "|"), row=("→",))

    assert similarity(bare, bare) == pytest.approx(1)


# --------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("Send", "\ue8f1\u00a0SEND ", 1.0),
        ("It’s “here”", 'it\'s "here"', 1.0),
        ("Send", "Send message", 0.9),
        ("Send", "", 0.0),
        ("", "", 1.0),
    ],
)
def test_names_compare_as_a_reader_sees_them(left: str, right: str, expected: float) -> None:
    assert name_similarity(left, right) == name_similarity(right, left) == expected


@given(left=st.text(max_size=20), right=st.text(max_size=20))
def test_name_similarity_is_symmetric_and_bounded(left: str, right: str) -> None:
    assert name_similarity(left, right) == pytest.approx(name_similarity(right, left))
    assert 0 <= name_similarity(left, right) <= name_similarity(left, left) == 1


def test_roles_that_replace_each_other_in_redesigns_are_compatible() -> None:
    assert roles_compatible("button", "link")
    assert roles_compatible("combobox", "listbox")
    assert not roles_compatible("button", "textbox")
    assert not roles_compatible("checkbox", "radio")


def test_words_of_scripts_without_spaces_are_characters() -> None:
    assert tokens("送信 Send-now") == {"送", "信", "send", "now"}


# ------------------------------------------------------------------------------------------ seen a moment ago

CELL: dict[str, Any] = {
    "tag": "div",
    "role": "textbox",
    "label": "1",
    "attributes": {"class": "cell"},
    "xpath": "/html/body/main/div[3]/div",
    "css": "#cell-c > div",
    "neighbours": ("Revert", "Keep", "1"),
    "element_hash": "h-cell",
    "box": {"x": 148, "y": 216, "width": 504, "height": 25},
}
ABOVE: dict[str, Any] = {"xpath": "/html/body/main/div[2]/div", "css": "#cell-b > div", "text": "price = 2"}
ABOVE |= {"box": {"x": 148, "y": 163, "width": 504, "height": 25}}


def test_of_nameless_twins_the_one_that_is_as_it_was_seen_a_moment_ago_and_has_not_moved_is_it() -> None:
    decision = identified(target(CELL), target(CELL, **ABOVE, namesakes=2), target(CELL, namesakes=2))

    assert decision.chosen is not None
    assert decision.chosen.target.xpath == CELL["xpath"]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"box": {"x": 148, "y": 270, "width": 504, "height": 25}}, id="one has come above it"),
        pytest.param({"css": "#cell-d > div"}, id="it is that of another cell"),
        pytest.param({"neighbours": ("Keep", "Revert", "1")}, id="other texts are nearest"),
        pytest.param({"text": "wine = 3"}, id="another text is in it"),
    ],
)
def test_one_that_has_moved_or_changed_since_is_not(changes: dict[str, Any]) -> None:
    seen = target(CELL, **{"namesakes": 2, **changes})

    assert identified(target(CELL), target(CELL, **ABOVE, namesakes=2), seen).lookup.reason == "ambiguous"


def test_a_nameless_switch_with_an_id_is_told_by_the_row_of_todays_value() -> None:
    def switch(at: int, row: str, **changes: Any) -> Target:
        return target(
            {
                "tag": "input",
                "role": "checkbox",
                "attributes": {"type": "checkbox", "id": f"checkbox-{at}"},
                "xpath": f"/html/body/main/div[{at}]/div[2]/label/input",
                "neighbours": ("At four", row),
                "row": (f"{row} Scheduled",),
                "element_hash": "h",
                "namesakes": 3,
                **changes,
            }
        )

    which = frozenset({"name"})
    general = general_target(switch(1, "baking"), {"name": "baking"}, which, which)
    recorded = filled_target(general, {"name": "counting"})
    rows = [switch(at, row) for at, row in enumerate(("baking", "cleaning", "counting"), 1)]
    beside = switch(3, "counting", label="counting", xpath="/html/body/main/div[3]/div[1]/label/input")
    twin = switch(3, "counting", xpath="/html/body/main/div[3]/div[3]/label/input")

    assert recorded.element_hash == ""
    assert identified(recorded, beside, *rows).lookup.hit
    assert identified(recorded, beside, *rows).chosen == candidates(beside, *rows)[3]
    assert identified(recorded, beside, *rows[:2]).lookup.reason == "disagrees"
    assert identified(recorded, *rows, twin).lookup.reason == "ambiguous"


# ------------------------------------------------------------------------------------------------------ namesakes

CRUMB: dict[str, Any] = {
    "tag": "a",
    "role": "link",
    "name": "Users",
    "text": "Users",
    "attributes": {"href": "/users"},
    "xpath": "/html/body/nav[1]/ol/li[2]/a",
    "neighbours": ("Home", "Ann Baker", "Change user"),
    "container": 'navigation "Breadcrumbs"',
    "element_hash": "h-users",
    "box": BOX,
}
IN_THE_SIDEBAR: dict[str, Any] = {
    "xpath": "/html/body/nav[2]/ul/li[4]/a",
    "neighbours": ("Groups", "Orders", "Home"),
    "container": 'navigation "Sidebar"',
}


@pytest.mark.parametrize("decide", [identified, similar])
def test_a_lone_namesake_is_not_believed_where_there_were_two(decide: Callable[..., MatchDecision]) -> None:
    crumb = {**CRUMB, "attributes": {}}
    sidebar = target(crumb, **IN_THE_SIDEBAR)
    stays = target(crumb, name="Ann Baker", text="Ann Baker", xpath="/html/body/nav[1]/ol/li[3]/a")

    assert decide(target(crumb, namesakes=1), sidebar, stays).lookup.hit
    assert not decide(target(crumb, namesakes=2), sidebar, stays).lookup.hit


def test_of_two_links_of_one_name_to_one_address_any_is_the_one() -> None:
    assert similar(target(CRUMB, namesakes=2), target(CRUMB, **IN_THE_SIDEBAR)).lookup.hit


def test_of_two_namesakes_the_one_that_is_more_alike_gives_way_to_the_one_that_stands_where_it_stood() -> None:
    crumb = {**CRUMB, "attributes": {}}
    recorded = target(crumb, namesakes=2, neighbours=("Home", "Groups", "Change user"))
    became_a_button = target(
        crumb, tag="button", role="button", element_hash="h2", xpath="/html/body/nav[1]/ol/li[2]/button"
    )
    elsewhere = target(crumb, xpath="/html/body/main/nav/table/tr/th/a", container='navigation "Sidebar"')

    assert similar(recorded, elsewhere, became_a_button).chosen is None
    assert similar(recorded, target(crumb), became_a_button).lookup.hit


def test_a_lone_namesake_in_the_recorded_place_is_believed() -> None:
    assert identified(target(CRUMB, namesakes=2), target(CRUMB)).lookup.hit


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"xpath": "/html/body/nav[1]/ol/li[3]/a"}, id="moved by one"),
        pytest.param({"neighbours": ("Groups", "Home", "Ann Baker", "Change user")}, id="another text beside it"),
    ],
)
def test_a_lone_namesake_is_not_believed_when_it_may_be_the_one_beside(changes: dict[str, Any]) -> None:
    assert not identified(target(CRUMB, namesakes=2), target(CRUMB, **changes)).lookup.hit
    assert identified(target(CRUMB, namesakes=1), target(CRUMB, **changes)).lookup.hit


def test_of_namesakes_without_a_name_only_one_that_stays_is_believed() -> None:
    nameless = {**CRUMB, "tag": "input", "role": "button", "name": "", "text": "", "attributes": {"type": "submit"}}
    recorded = target(nameless, namesakes=2)
    beside = target(nameless, xpath="/html/body/nav[1]/ol/li[3]/a", neighbours=("Groups", "Home", "Ann Baker"))

    assert identified(recorded, target(nameless), beside).chosen == candidates(target(nameless))[0]
    assert not identified(recorded, beside, target(nameless, neighbours=("Orders",))).lookup.hit


def test_of_namesakes_without_anything_to_read_none_is_believed_after_one_has_gone() -> None:
    cell = {"tag": "div", "role": "", "attributes": {"class": "half-hour"}, "xpath": "/html/body/div/div[40]"}
    recorded = target(cell, namesakes=48, neighbours=("8:00", "Saturday"), element_hash="h-half-hour")

    assert identified(recorded, recorded).lookup.hit
    assert not identified(recorded, recorded.model_copy(update={"namesakes": 47})).lookup.hit


FIELD: dict[str, Any] = {
    "tag": "input",
    "role": "textbox",
    "label": "Episodes done:",
    "attributes": {"type": "text"},
    "xpath": "/html/body/div[1]/input[2]",
    "neighbours": ("Episodes done:", "Next"),
}


OWN_NAME: dict[str, Any] = {"attributes": {"type": "text", "name": "done"}, "css": 'input[name="done"]'}


@pytest.mark.parametrize("tells", [{}, OWN_NAME])
def test_of_fields_of_one_name_none_is_taken_after_one_has_gone_but_by_an_identifier(tells: dict[str, Any]) -> None:
    recorded = target(FIELD, **tells, namesakes=2)
    left = target(FIELD, **tells, xpath="/html/body/div[1]/input[3]", neighbours=("Next", "Episodes done:"))

    assert similar(target(FIELD, namesakes=1), left).lookup.hit
    assert similar(recorded, left).lookup.hit is bool(tells)


def test_a_field_that_was_counted_by_its_label_is_not_taken_for_its_neighbour_without_one() -> None:
    nameless = {**CRUMB, "tag": "input", "role": "textbox", "name": "", "text": "", "attributes": {"type": "text"}}
    recorded = target(nameless, label="to:", neighbours=("to:", "subject:"), namesakes=1, element_hash="h-input")
    bare = target(
        nameless, neighbours=("to:", "Time left:"), element_hash="h-input", xpath="/html/body/div[1]/input[1]"
    )
    other = target(nameless, neighbours=("subject:",), element_hash="h-input", xpath="/html/body/div[1]/input[2]")

    assert identified(recorded, recorded, other).lookup.hit
    assert not identified(recorded, bare, other).lookup.hit


FILTER: dict[str, Any] = {
    "tag": "input",
    "role": "textbox",
    "name": "Filter the available permissions",
    "text": "",
    "attributes": {"type": "text", "placeholder": "Filter"},
    "element_hash": "h-filter",
    "box": BOX,
}


def test_a_placeholder_that_several_fields_have_does_not_stand_for_their_names() -> None:
    other = target(COMPOSE, **{**FILTER, "name": "Filter the selected permissions", "element_hash": "h-other"})
    unlabelled = target(COMPOSE, **{**FILTER, "name": "Filter", "element_hash": "h-bare"})

    assert similar(target(COMPOSE, **FILTER), other).chosen is None
    assert similar(target(COMPOSE, **FILTER), unlabelled).chosen is not None


def test_a_wrapper_that_is_no_more_than_where_the_element_stood_is_not_the_element() -> None:
    item = {**COMPOSE, "tag": "div", "role": "", "attributes": {"class": "thread"}, "element_hash": "h-item"}

    assert identified(target(item), target(item, attributes={})).chosen is None
    assert identified(target(item), target(item, attributes={"class": "x-thread"})).chosen is not None


def test_of_twins_the_one_that_stays_is_believed_and_another_that_is_likest_is_not() -> None:
    recorded = target(COMPOSE, name="Send", namesakes=2, attributes={}, container="", neighbours=("Send", "Cancel"))
    beside = recorded.model_copy(update={"xpath": "/html/body/div[1]/form/div[5]/button[1]"})
    retagged = recorded.model_copy(update={"xpath": "/html/body/div[2]/div", "tag": "div", "element_hash": "h-div"})

    assert identified(recorded, beside, retagged).chosen is None


def test_a_lone_namesake_is_believed_anywhere_with_an_identifier_that_was_its_own() -> None:
    own = target(CRUMB, namesakes=2, attributes={"data-testid": "crumb"}, css='[data-testid="crumb"]')
    shared = own.model_copy(update={"css": 'nav [data-testid="crumb"]'})
    moved = target(CRUMB, **IN_THE_SIDEBAR, attributes={"data-testid": "crumb"})

    assert identified(own, moved).lookup.hit
    assert not identified(shared, moved).lookup.hit


def test_a_nameless_item_of_a_list_is_known_by_what_is_read_on_it() -> None:
    item = {"tag": "li", "role": "listitem", "container": "list", "element_hash": "h-li"}
    ann = target(item, text="Ann", xpath="/html/body/ul/li[1]", neighbours=("Ben", "Contacts"))
    new = target(item, text="Zoe", xpath="/html/body/ul/li[2]", neighbours=("Ben", "Ann"))
    moved = ann.model_copy(update={"neighbours": ("Zoe", "Contacts")})

    assert identified(ann, moved, new).chosen == candidates(moved)[0]
    assert not identified(ann.model_copy(update={"namesakes": 2}), new).lookup.hit


# -------------------------------------------------------------------------------------------------------- evidence


def test_a_hit_tells_what_it_rests_on() -> None:
    recorded = target(COMPOSE, attributes={"data-testid": "send"}, row=("Draft 1", "today"))

    assert identified(recorded, recorded).lookup.evidence == ("same name", "data-testid", "row", "place 1.00")


def test_a_heal_tells_what_weighed_most_and_how_much() -> None:
    evidence = similar(
        target(LOGIN), target(LOGIN, name="Sign in", text="Sign in", element_hash="other")
    ).lookup.evidence

    assert len(evidence) == 4
    assert all(re.fullmatch(r"[a-z ]+ [+-]\d\.\d", reason) for reason in evidence)
    weights = [abs(float(reason.rpartition(" ")[2])) for reason in evidence]
    assert weights == sorted(weights, reverse=True)


def test_a_miss_has_no_evidence() -> None:
    assert similar(target(LOGIN), target(COMPOSE)).lookup.evidence == ()


def test_what_is_only_called_alike_is_not_taken_while_the_recorded_name_is_elsewhere() -> None:
    recorded = target(COMPOSE, name="Submit", text="Submit", element_hash="h-submit", box=BOX)
    alike = target(COMPOSE, xpath="/html/body/div[2]/form/div[6]/button[1]", box=BOX)
    moved = {"container": 'dialog "Poll"', "neighbours": ("Yes", "No"), "xpath": "/html/body/aside/p/button"}

    assert similar(recorded, alike).lookup.hit
    assert similar(recorded, alike, target(recorded.model_dump(), **moved)).chosen is None


def test_a_nameless_field_with_another_identifier_is_another_field() -> None:
    radio = {"tag": "input", "role": "radio", "neighbours": ("Choose",), "element_hash": "h-radio"}
    first = target(radio, attributes={"name": "size", "value": "1"}, xpath="/html/body/p/input[1]")
    second = target(radio, attributes={"name": "size", "value": "2"}, xpath="/html/body/p/input[2]")

    assert identified(second, first, second).chosen == candidates(first, second)[1]
    assert not identified(second, first).lookup.hit


def test_how_many_had_the_name_is_not_known_for_another_value_of_a_parameter() -> None:
    recorded = target(CRUMB, name="{{list}}", namesakes=2)

    assert filled_target(recorded, {"list": "Groups"}).namesakes == 0
    assert filled_target(target(CRUMB, namesakes=2), {"list": "Groups"}).namesakes == 2


@pytest.mark.parametrize(("namesakes", "known"), [(1, 0), (3, 3)])
def test_that_there_was_one_row_is_not_known_for_another_value_of_a_parameter(namesakes: int, known: int) -> None:
    recorded = target(CRUMB, row=("{{person}}",), namesakes=namesakes)

    assert filled_target(recorded, {"person": "Ann"}).namesakes == known


REBUILT: dict[str, Any] = {
    "tag": "button",
    "role": "button",
    "name": "Send message",
    "text": "Send message",
    "attributes": {"id": "ui-9f", "type": "submit"},
    "xpath": "/html/body/section/article/footer/span/button",
    "neighbours": ("Privacy", "Terms"),
    "container": 'region "New mail"',
    "box": {"x": 40, "y": 1400, "width": 90, "height": 30},
}
HALF_THERE: dict[str, Any] = {
    **COMPOSE,
    "role": "textbox",
    "tag": "textarea",
    "name": "Message",
    "text": "",
    "container": 'region "New mail"',
    "neighbours": ("Priority", "Attach", "Terms"),
}
STAYED: dict[str, Any] = {**COMPOSE, "role": "textbox", "tag": "textarea", "name": "Message", "text": ""}


def test_on_a_rebuilt_page_what_is_alone_of_its_role_and_name_is_the_one() -> None:
    seen = target(REBUILT, name="Send", text="Send")

    decision = decide_similar(target(COMPOSE, namesakes=1, box=BOX), candidates(seen))

    assert decision.chosen is not None
    assert decision.chosen.target == seen


@pytest.mark.parametrize(
    ("recorded", "others"),
    [
        pytest.param({}, [REBUILT], id="it has a twin"),
        pytest.param({"namesakes": 2}, [], id="it had a namesake"),
        pytest.param({"row": ("Ann", "12 May", "Send")}, [], id="its row told which one was meant"),
        pytest.param({}, [STAYED], id="its place is still there"),
        pytest.param({}, [HALF_THERE], id="something is much nearer to its place"),
        pytest.param({"neighbours": ("Send message", "Priority")}, [], id="it stood beside the recorded one"),
    ],
)
def test_what_is_called_alike_elsewhere_is_not_believed(recorded: dict[str, Any], others: list[dict[str, Any]]) -> None:
    seen = candidates(target(REBUILT), *(target(each) for each in others))

    assert decide_similar(target(COMPOSE, **{"namesakes": 1, "box": BOX, **recorded}), seen).chosen is None


@pytest.mark.parametrize(("alike", "is_taken"), [((), True), (("Send later",), True), (("Send message",), False)])
def test_a_longer_name_is_the_recorded_one_unless_it_was_there_then(alike: tuple[str, ...], is_taken: bool) -> None:
    recorded = target(COMPOSE, namesakes=1, box=BOX, alike=alike)

    decision = decide_similar(recorded, candidates(target(COMPOSE, name="Send message", text="Send message", box=BOX)))

    assert (decision.chosen is not None) is is_taken


@pytest.mark.parametrize(("reads", "is_taken"), [("Soup", False), ("Send", True)])
def test_a_twin_that_reads_otherwise_is_not_taken_where_another_reads_as_recorded(reads: str, is_taken: bool) -> None:
    recorded = target(COMPOSE, namesakes=1, box=BOX)
    there = target(COMPOSE, text=reads, box=BOX)
    elsewhere = target(COMPOSE, xpath="/html/body/p/button", neighbours=("Privacy",), container='region "Foot"')

    decision = decide_similar(recorded, candidates(there, elsewhere))

    assert (decision.chosen is not None) is is_taken
    assert is_taken or decision.lookup.reason == "ambiguous"


def test_the_line_of_a_form_is_no_row_that_must_be_found_again() -> None:
    place = {"tag": "textarea", "role": "textbox", "name": "Message", "label": "Message", "text": "", "attributes": {}}
    recorded = target(COMPOSE, **place, namesakes=1, row=("Message", "0 characters"))

    assert decide_similar(recorded, candidates(target(REBUILT, **place))).chosen is not None


def test_what_a_recording_for_many_values_does_not_have_is_not_known() -> None:
    box = {"tag": "input", "role": "checkbox", "row": ("gears", "select")}
    seen = target(box, attributes={"name": "sel", "value": "gears"}, element_hash="h-gears")

    assert agrees(target(box, attributes={"value": "gears"}, row=("gears",)), seen)
    assert not agrees(target(box, attributes={"value": "gears"}, element_hash="h-other"), seen)


@pytest.mark.parametrize(
    ("then", "now", "wording"),
    [
        (("Add a calendar", ""), ("➕", "Add a calendar"), Wording.SAME),
        (("edit", "Edit this note"), ("Edit this note", "Edit this note"), Wording.SAME),
        (("Harbor", "Actions"), ("Lantern", "Actions"), Wording.OTHER),
        (("Open", ""), ("Close", "Open"), Wording.OPPOSED),
    ],
)
def test_a_name_may_become_a_tip_and_a_tip_a_name(
    then: tuple[str, str], now: tuple[str, str], wording: Wording
) -> None:
    def called(name: str, tip: str) -> Target:
        return target(COMPOSE, name=name, text=name, attributes={"title": tip} if tip else {})

    assert wording_of(called(*then), called(*now)) is wording


def test_links_of_one_name_to_one_address_are_one_wherever_they_stand() -> None:
    crumb = target(CRUMB, attributes={}, query="d1gest", element_hash="")

    def beside(query: str) -> MatchDecision:
        other = target(crumb.model_dump(), xpath="/html/body/nav[1]/ol/li[3]/a", query=query)
        return identified(crumb, target(crumb.model_dump(), xpath="/html/body/nav[1]/ol/li[4]/a"), other)

    assert beside("d1gest").lookup.hit
    assert beside("other").lookup.reason == "ambiguous"
