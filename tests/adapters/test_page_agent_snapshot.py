"""Snapshots have what can be acted on and read."""

import pytest

from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.snapshots import Snapshot
from tests.pages.harness import AgentPage


async def snapshot(agent: AgentPage, limits: str = "{}") -> Snapshot:
    return Snapshot.model_validate(await agent.call(f"replaywright.snapshot({limits})"))


async def test_a_snapshot_has_every_control_and_what_is_around_it(agent: AgentPage) -> None:
    await agent.open("form.html")

    taken = await snapshot(agent)

    actionable = [(e.target.role, e.target.name) for e in taken.elements if e.actionable]
    for expected in (
        ("link", "Inbox"), ("textbox", "To (required)"), ("textbox", "Subject"), ("checkbox", "Ask again after 5 days"),
        ("radio", "Rich text"), ("combobox", "Priority"), ("listbox", "Labels"), ("button", "Attach a file"),
        ("switch", "Night mode"), ("tab", "One"), ("button", "More"),
    ):  # fmt: skip
        assert expected in actionable
    assert ("heading", "Compose") in [(e.target.role, e.target.name) for e in taken.elements if not e.actionable]
    assert "Nothing wrong" in snapshot_text(taken)
    assert "Hidden words" not in snapshot_text(taken)


async def test_states_values_and_options_are_read(agent: AgentPage) -> None:
    await agent.open("form.html")

    by_name = {e.target.name: e for e in (await snapshot(agent)).elements if e.actionable}

    assert by_name["Disabled"].states == ("disabled",)
    assert "required" in by_name["To (required)"].states
    assert by_name["Rich text"].states == ("checked",)
    assert by_name["One"].states == ("selected",)
    assert by_name["More"].states == ("collapsed",)
    assert by_name["Priority"].value == "Normal"
    assert by_name["Priority"].options == ("Low", "Normal", "High")
    assert by_name["Password"].value == ""
    assert by_name["Copies"].value == "1"


async def test_what_a_drawn_list_shows_as_chosen_is_no_field(agent: AgentPage) -> None:
    await agent.show(
        "<p>Country</p><span role=combobox tabindex=0 aria-labelledby=a>"
        "<span id=a role=textbox aria-readonly=true>Peru</span></span>"
        "<p>City</p><div role=combobox><input value=Cusco></div>"
        "<p>Street</p><span role=textbox aria-readonly=true>Sol 1</span>"
    )

    fields = [(e.target.role, e.target.label) for e in (await snapshot(agent)).elements if e.actionable]

    assert ("textbox", "Country") not in fields
    assert {("combobox", "Country"), ("textbox", "City"), ("textbox", "Street")} <= set(fields)


@pytest.mark.parametrize("tag", ["table", "div"])
async def test_the_head_of_another_column_labels_no_field(agent: AgentPage, tag: str) -> None:
    heads, row = ("Macro", "Value", "Description"), "<input style='width:100%'>"
    cell = "<span style='display:inline-block;width:150px'>"
    table = (
        "<table style='width:460px;table-layout:fixed'><thead><tr>"
        + "".join(f"<th align=left>{head}</th>" for head in heads)
        + f"</tr></thead><tbody><tr>{f'<td>{row}</td>' * 3}</tr></tbody></table>"
    )
    grid = "".join(f"{cell}{head}</span>" for head in heads) + "<br>" + f"{cell}{row}</span>" * 3
    await agent.show(table if tag == "table" else f"<div style='width:460px'>{grid}</div>")

    fields = [e.target.label for e in (await snapshot(agent)).elements if e.actionable]

    assert fields == list(heads)


async def test_a_described_element_is_the_same_in_a_snapshot(agent: AgentPage) -> None:
    await agent.open("form.html")
    alone = await agent.describe("[name=subject]")

    taken = await agent.call("replaywright.snapshot({})")

    assert [e["target"] for e in taken["elements"] if e["target"]["xpath"] == alone["xpath"]] == [alone]


async def test_open_shadow_roots_and_frames_are_in_it_and_closed_roots_are_suspected(agent: AgentPage) -> None:
    await agent.open("shadow.html")
    await agent.value(
        "{ const f = document.createElement('iframe'); f.name = 'inner'; f.title = 'Inner page';"
        " f.srcdoc = '<p>x'; document.body.append(f) }"
    )

    raw = await agent.call("replaywright.snapshot({})")
    taken = Snapshot.model_validate(raw)

    assert [e.target.name for e in taken.elements if e.target.role == "button"] == ["Send", "Discard"]
    assert "Inner title" in [e.target.name for e in taken.elements if e.target.role == "heading"]
    assert raw["suspects"] == 1
    assert [(frame["name"], frame["title"]) for frame in raw["frames"]] == [("inner", "Inner page")]
    assert raw["frames"][0]["elementId"] in [e.id for e in taken.elements if e.target.tag == "iframe"]


async def test_what_is_out_of_sight_and_what_can_be_clicked_without_a_role_is_marked(agent: AgentPage) -> None:
    await agent.show(
        "<div style='cursor:pointer'><span>Open the drawer</span></div><div style='height:3000px'></div>"
        "<button>Far down</button><div style='height:50px;overflow:auto' id=s><p style='height:500px'>Long</p></div>"
    )

    elements = (await snapshot(agent)).elements

    drawer = next(e for e in elements if e.target.text == "Open the drawer")
    assert (drawer.actionable, drawer.target.tag, drawer.target.name) == (True, "div", "Open the drawer")
    assert [e.in_viewport for e in elements if e.target.name == "Far down"] == [False]
    assert any("scrollable" in e.states for e in elements)


HIDES_ITS_CONTENT = {
    "nothing": "<div>{}</div>",
    "display none": "<div style='display: none'>{}</div>",
    "visibility": "<div style='visibility: hidden'>{}</div>",
    "visibility undone": "<div style='visibility: hidden'><section style='visibility: visible'>{}</section></div>",
    "no box of its own": "<div style='display: contents'>{}</div>",
    "skipped": "<div style='content-visibility: hidden'>{}</div>",
    "skipped in a part": "<div style='content-visibility: hidden'><section>{}</section></div>",
    "skipped out of sight": "<div style='content-visibility: auto'>{}</div>",
    "what cannot be skipped": "<span style='content-visibility: hidden'>{}</span>",
    "a cell": "<table><tr><td style='content-visibility: hidden'>{}</table>",
    "until found": "<div hidden=until-found>{}</div>",
    "details": "<details><summary>Sum</summary>{}</details>",
    "open details": "<details open><summary>Sum</summary>{}</details>",
    "dialog": "<dialog>{}</dialog>",
    "popover": "<div popover>{}</div>",
    "canvas": "<canvas>{}</canvas>",
    "video": "<video>{}</video>",
    "a ratio": "<meter value=1>{}</meter>",
    "a host": "<div><template shadowrootmode=open><slot name=other></slot></template>{}</div>",
    "a host with a slot": "<div><template shadowrootmode=open><p><slot></slot></p></template>{}</div>",
    "a drawing": "<svg width=200 height=50><defs><foreignObject width=9 height=9>{}</foreignObject></defs></svg>",
}


async def test_what_is_in_a_snapshot_is_what_the_browser_says_is_drawn(agent: AgentPage) -> None:
    parts = [markup.format(f"<div><button>{name}</button></div>") for name, markup in HIDES_ITS_CONTENT.items()]
    await agent.show("".join(f"<section>{part}</section>" for part in parts))
    drawn = await agent.call(
        "[...document.querySelectorAll('button')]"
        ".filter((button) => button.checkVisibility({visibilityProperty: true}))"
        ".map((button) => button.textContent)"
    )

    taken = await snapshot(agent)

    assert [e.target.name for e in taken.elements if e.target.tag == "button"] == drawn
    assert "visibility undone" in drawn
    assert "skipped in a part" not in drawn


async def test_the_hint_of_an_empty_field_is_a_text_near_by_and_no_label_of_the_next(agent: AgentPage) -> None:
    await agent.show("<input placeholder='User name'><input><button>Go</button><input placeholder='—'>")

    [user, bare, button, _] = [e.target for e in (await snapshot(agent)).elements if e.actionable]

    assert (button.neighbours, set(bare.neighbours)) == (("User name",), {"User name", "Go"})
    assert (user.neighbours, bare.label) == (("Go",), "")


BEYOND = """
<style>#copy, input { position: absolute; left: -9999px }</style>
<style>.list { height: 90px; overflow: auto } .list p { height: 900px }</style>
<p style="height: 3000px">Far down</p><button>Here</button><button id=copy>Copy</button>
<label><input type=checkbox>Styled</label><div style="position: absolute; top: -900px"><button>Above</button></div>
<div class=list><button>First</button><p></p><button>Last</button></div>
<div dir=rtl style="overflow: auto; width: 90px"><p style="width: 900px"><button>Mirrored</button></p></div>
"""


async def test_nobody_is_shown_what_is_left_of_or_above_all_that_can_be_scrolled_to(agent: AgentPage) -> None:
    await agent.show(BEYOND)
    await agent.value("scrollTo(0, 3000); document.querySelector('.list').scrollTop = 900")

    names = [e.target.name for e in (await snapshot(agent)).elements if e.actionable]

    assert names == ["Here", "Styled", "First", "Last", "Mirrored"]
