"""Repeated rows are marked as such, states and columns are read, and there is one description of an element."""

import json
import re

import pytest

from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.snapshots import Element, Snapshot
from tests.pages.harness import PAGES, AgentPage


async def snapshot(agent: AgentPage) -> Snapshot:
    return Snapshot.model_validate(await agent.call("replaywright.snapshot({maxMs: 60000})"))


def row(number: int) -> str:
    return (
        f"<tr><td><input type=checkbox aria-label='Select {number}'></td><td>Person {number}</td>"
        f"<td><a href='/p/{number}'>Open</a> since May</td><td><button>Edit</button></td></tr>"
    )


TABLE = "<table><tr><th></th><th>Name</th><th>Case</th><th></th></tr>" + "".join(map(row, range(1, 101))) + "</table>"


def groups(elements: tuple[Element, ...]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for element in elements:
        if element.group:
            found.setdefault(element.group, set()).add(element.group_item)
    return found


@pytest.mark.parametrize("people", [2, 6])
async def test_rows_of_a_grid_that_differ_in_their_class_are_rows(agent: AgentPage, people: int) -> None:
    def row(name: str, at: int) -> str:
        cells = f"<div role=gridcell><input type=checkbox aria-label=Select></div><div role=gridcell>{name}</div>"
        return f"<div role=row class='{'even' if at % 2 else 'odd'} row'>{cells}</div>"

    names = [f"Person {at}" for at in range(people)]
    await agent.show(f"<div role=grid>{''.join(row(name, at) for at, name in enumerate(names))}</div>")

    boxes = [one for one in (await snapshot(agent)).elements if one.target.role == "checkbox"]

    assert [box.target.row for box in boxes] == [(name,) for name in names]
    assert [box.group_item for box in boxes] == (list(range(1, 7)) if people == 6 else [0, 0])


async def test_rows_of_a_table_are_one_group_and_all_their_controls_are_described(agent: AgentPage) -> None:
    await agent.show(f"<h1>People</h1>{TABLE}<button>Add</button>")

    taken = await snapshot(agent)

    assert list(groups(taken.elements).values()) == [set(range(1, 101))]
    edits = [e for e in taken.elements if e.target.name == "Edit"]
    assert [e.group_item for e in edits] == list(range(1, 101))
    assert all(e.target.row[0] == f"Person {n}" for n, e in enumerate(edits, start=1))
    assert all(e.target.neighbours and e.target.css and e.target.element_hash for e in edits)
    assert [e.group for e in taken.elements if e.target.name in ("Add", "People")] == ["", ""]


async def test_texts_of_rows_out_of_sight_are_kept_without_their_place(agent: AgentPage) -> None:
    await agent.show(TABLE)

    cells = [e for e in (await snapshot(agent)).elements if e.target.text.startswith("Person")]

    assert [e.group_item for e in cells] == list(range(1, 101))
    assert cells[0].target.box is not None
    assert cells[99].target.box is None
    assert not cells[99].in_viewport


async def test_a_cell_says_its_column_and_is_left_out_when_a_control_says_all_of_it(agent: AgentPage) -> None:
    await agent.show(TABLE)

    cells = [e.target for e in (await snapshot(agent)).elements if e.target.role == "cell"]

    assert [(c.label, c.text) for c in cells[:2]] == [("Name", "Person 1"), ("Case", "Open since May")]
    assert not any(c.text == "Edit" for c in cells)


@pytest.mark.parametrize(
    "body",
    [
        "<ul>" + "<li><b>Note</b> with <a href=/n>a link</a></li>" * 6 + "</ul>",
        "<div>" + "<div class='card wide'><h3>Offer</h3><p>Words</p><button>Buy</button></div>" * 6 + "</div>",
        "<div role=list>" + "<div role=listitem>Thing <button>Take</button></div>" * 6 + "</div>",
        "<section>" + "<article><p>Words</p><button>Like</button></article>" * 6 + "</section>",
        "<x-list>" + "<x-entry>Words <button>Like</button></x-entry>" * 6 + "</x-list>",
    ],
)
async def test_list_items_cards_and_repeated_siblings_are_groups(agent: AgentPage, body: str) -> None:
    await agent.show(body)

    assert list(groups((await snapshot(agent)).elements).values()) == [set(range(1, 7))]


@pytest.mark.parametrize(
    "body",
    [
        "<nav><ul>" + "<li><a href=/n>Part</a></li>" * 9 + "</ul></nav>",
        "<div role=menu>" + "<div role=menuitem class=m><i>+</i>Do</div>" * 9 + "</div>",
        "<div role=toolbar>" + "<div class=b><button>Do</button></div>" * 9 + "</div>",
        "<div>" + "<button>Do</button>" * 9 + "</div>",
        "<ul>" + "<li><a href=/n>Part</a></li>" * 3 + "</ul>",
    ],
)
async def test_choices_single_controls_and_a_few_siblings_are_no_groups(agent: AgentPage, body: str) -> None:
    await agent.show(body)

    assert groups((await snapshot(agent)).elements) == {}


async def test_what_repeats_inside_a_row_belongs_to_the_row_unless_there_is_more_of_it(agent: AgentPage) -> None:
    actions = "<ul>" + "<li><a href=/do>Do</a></li>" * 4 + "</ul>"
    rows = "".join(f"<tr><td>Row {n}</td><td>{actions}</td></tr>" for n in range(8))
    sections = "".join(
        f"<section class=part><h2>Part {n}</h2><ul>" + "<li>Line <a href=/l>open</a></li>" * 9 + "</ul></section>"
        for n in range(4)
    )
    await agent.show(f"<table>{rows}</table>{sections}")

    found = groups((await snapshot(agent)).elements)

    assert sorted(len(items) for items in found.values()) == [4, 8, 9, 9, 9, 9]


async def test_every_state_is_read(agent: AgentPage) -> None:
    await agent.show(
        "<input type=checkbox aria-label=mixed id=m><button aria-pressed=true>pressed</button>"
        "<button aria-pressed=false>not pressed</button><div role=checkbox aria-checked=mixed tabindex=0>half</div>"
        "<input aria-label=readonly readonly><input aria-label=invalid aria-invalid=true>"
        "<button autofocus>focused</button>"
        "<details open><summary>expanded</summary>x</details><a href=/h aria-current=page>selected</a>"
        "<div id=both style='width:100px;height:60px;overflow:scroll'><p style='width:500px;height:500px'>big</p></div>"
    )
    await agent.value("document.getElementById('m').indeterminate = true")

    taken = await snapshot(agent)

    states = {e.target.name: e.states for e in taken.elements if e.actionable}
    assert states["mixed"] == states["half"] == ("mixed",)
    assert states["pressed"] == ("pressed",)
    assert states["not pressed"] == ()
    for name in ("readonly", "invalid", "focused", "expanded", "selected"):
        assert states[name] == (name,)
    assert [e.states for e in taken.elements if e.target.attributes.get("id") == "both"] == [
        ("scrollable", "scrollable-x")
    ]


BOTH_WAYS = """(() => {
  const byPath = new Map();
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      byPath.set(replaywright.describe(element).xpath, element);
      if (element.shadowRoot) look(element.shadowRoot);
    }
  };
  look(document);
  return replaywright.snapshot({maxMs: 60000}).elements.filter(({target}) => target.elementHash)
    .map(({target}) => [target, replaywright.describe(byPath.get(target.xpath))]);
})()"""
"""What the walk says of each element, and what a description of that element alone says."""


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.html") if path.stem != "browser_hung"))
async def test_a_described_element_is_the_same_in_a_snapshot(agent: AgentPage, page: str) -> None:
    await agent.open(page)

    pairs = await agent.call(BOTH_WAYS)

    different = [pair for pair in pairs if pair[0] != pair[1]]
    assert not different, json.dumps(different[0], indent=1, ensure_ascii=False)


async def test_a_described_row_is_the_same_in_a_snapshot_of_many(agent: AgentPage) -> None:
    await agent.show(f"<form aria-label=People>{TABLE}</form><p>After <b>all</b> of <a href=/them>them</a></p>")

    pairs = await agent.call(BOTH_WAYS)

    assert len(pairs) == 301
    assert all(walked == alone for walked, alone in pairs)


async def looked_for(agent: AgentPage, about: str) -> Snapshot:
    return Snapshot.model_validate(await agent.call(f"replaywright.snapshot({{maxMs: 60000}}, {json.dumps(about)})"))


async def test_for_a_reader_rows_out_of_sight_are_counted_and_the_last_is_read(agent: AgentPage) -> None:
    await agent.show(f"<h1>People</h1>{TABLE}<button>Add</button>")

    taken = await looked_for(agent, "the add button")

    [(group, items)] = groups(taken.elements).items()
    assert taken.repeated == {group: 100}
    assert {1, 2, 3, 10, 100} <= items
    assert len(items) < 60
    assert [e.target.name for e in taken.elements if e.target.tag == "button"][-1] == "Add"
    assert "more like these" in snapshot_text(taken, about="the add button")


async def test_a_row_that_the_instruction_names_is_read_wherever_it_is(agent: AgentPage) -> None:
    await agent.show(TABLE)

    taken = await looked_for(agent, "the edit button of person 87")

    edits = {e.group_item for e in taken.elements if e.target.name == "Edit"}
    assert 87 in edits
    assert 86 not in edits
    assert '87: "Person 87"' in snapshot_text(taken, about="the edit button of person 87")


def chapter(number: int) -> str:
    """Nothing in it repeats: what stands side by side is of different kinds."""
    return (
        f"<h2>Chapter {number}</h2><p class=a{number}>Words of {number}</p>"
        f"<button aria-label='Play {number}'>Go</button><label>Remark {number} <input name=r{number}></label>"
    )


def chapters(count: int) -> str:
    return "".join(chapter(number) for number in range(1, count + 1)) + "<div role=alert>Saved a minute ago</div>"


def without_ids(text: str) -> list[str]:
    """The lines that say what is in the page, and not how many more there are."""
    lines = text.splitlines()
    return [re.sub(r"\[e\d+\]", "", line) for line in lines if not line.startswith(("(", "note:"))]


async def test_what_there_is_no_line_for_is_left_out_for_a_reader_with_a_note(agent: AgentPage) -> None:
    await agent.show(chapters(600))

    whole, taken = await snapshot(agent), await looked_for(agent, "the alert")

    kept = [e for e in taken.elements if e.actionable]
    left = len(whole.elements) - len(taken.elements)
    assert len([e for e in whole.elements if e.actionable]) == 1200
    assert [e.target for e in kept] == [e.target for e in whole.elements if e.actionable][:400]
    assert all(e.in_viewport for e in taken.elements if not e.actionable and e.target.role != "alert")
    assert [e.target.text for e in taken.elements][-1] == "Saved a minute ago"
    assert taken.notes == (
        f"{left} of {len(whole.elements)} elements left out: off the screen, and more than can be shown",
    )


@pytest.mark.parametrize("about", ["the alert", "the remark of chapter 544", "button Play 371", "Remark 7, Play 599"])
async def test_a_reader_is_shown_the_same_as_if_all_had_been_described(agent: AgentPage, about: str) -> None:
    await agent.show(chapters(600))

    whole, taken = await snapshot(agent), await looked_for(agent, about)

    assert len(taken.elements) < 500
    for limit in (399, 60):  # the note is a line of its own
        shown = snapshot_text(taken, limit + 1, about=about, max_tokens=10**6)
        assert without_ids(shown) == without_ids(snapshot_text(whole, limit, about=about, max_tokens=10**6))


async def test_a_page_with_lines_left_when_each_control_has_one_is_described_whole(agent: AgentPage) -> None:
    await agent.show(chapters(199))

    assert (await looked_for(agent, "the alert")).elements == (await snapshot(agent)).elements


async def test_a_row_with_the_focus_is_read(agent: AgentPage) -> None:
    await agent.show(TABLE)
    await agent.value("document.querySelectorAll('button')[70].focus({preventScroll: true})")

    taken = await looked_for(agent, "")

    assert [e.group_item for e in taken.elements if "focused" in e.states] == [71]


BOOKS = ("Atlas", "Bestiary", "Cookbook", "Dictionary", "Encyclopaedia")
ACTIONS = "<ul><li><a href='#'>Lend</a></li><li><a href='#'>Sell</a></li></ul>"


@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize(
    "item",
    [
        "<article><h2>{}</h2><ul><li>Place: <a href='/at/{}'>here</a></li><li><a href='#'>Lend</a></li></ul></article>",
        f"<section class=book><h3>{{}}</h3><p>On the shelf</p>{ACTIONS}</section>",
        "<div class='card one'><a href='/book/{0}'><h5>{0}</h5><p>Old</p></a><div><button>Lend</button></div></div>",
        f"<li class=book><strong>{{}}</strong> <i>On the shelf</i> {ACTIONS}</li>",
    ],
)
async def test_a_control_in_a_list_of_actions_stands_under_the_item_that_it_belongs_to(
    agent: AgentPage, item: str, count: int
) -> None:
    await agent.show(f"<main><h1>Library</h1>{''.join(item.format(one, one) for one in BOOKS[:count])}</main>")

    lines = snapshot_text(await snapshot(agent)).split("\n")

    at = [number for number, line in enumerate(lines) if '"Lend"' in line]
    above = ["\n".join(lines[before + 1 : here]) for before, here in zip([-1, *at], at, strict=False)]
    assert len(at) == count
    assert [[one for one in BOOKS if one in part] for part in above] == [[one] for one in BOOKS[:count]]


async def test_actions_of_which_a_row_has_more_than_there_are_rows_stand_under_its_words(agent: AgentPage) -> None:
    actions = "".join(f"<li><a href='#'>{one}</a></li>" for one in ("Lend", "Sell", "Bind", "Lose", "Find"))
    rows = "".join(
        f"<tr{' class=odd' * (n % 2)}><td>idle</td><td><a href='/{n}'>{one}</a></td><td><ul>{actions}</ul></td></tr>"
        for n, one in enumerate(BOOKS[:4])
    )
    await agent.show(f"<table><tr><th>State</th><th>Name</th><th>Do</th></tr>{rows}</table>")

    taken = await snapshot(agent)
    lines = snapshot_text(taken).split("\n")

    headers = [line for line in lines if line.startswith(" row: ")]
    assert [one for one in BOOKS if sum(f'"{one}"' in header for header in headers) == 1] == [*BOOKS[:4]]
    assert [e.group_item for e in taken.elements if e.target.name in BOOKS and e.actionable] == [1, 2, 3, 4]


async def test_what_a_row_says_stands_once_above_its_controls_wherever_they_are_listed(agent: AgentPage) -> None:
    rows = "".join(
        f"<tr><td>idle</td><td>since {n}</td><td><a href='/{n}'>{one}</a></td><td>{ACTIONS}</td></tr>"
        for n, one in enumerate(BOOKS)
    )
    await agent.show(f"<table><tr><th>State</th><th>Since</th><th>Name</th><th></th></tr>{rows}</table>")

    lines = without_ids(snapshot_text(await snapshot(agent)))

    assert lines.count("table") == 1
    assert "list" not in lines
    header = next(number for number, line in enumerate(lines) if '"since 2"' in line)
    assert lines[header + 1 : header + 4] == ['   link "Cookbook"', '   link "Lend"', '   link "Sell"']
