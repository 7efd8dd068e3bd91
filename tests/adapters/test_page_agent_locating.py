"""The tiers of locating find every candidate, and only what is certainly the recorded element goes on by itself."""

import pytest

from replaywright.domain.locating.likeness import agrees
from replaywright.domain.locating.matching import ElementCandidate
from replaywright.domain.page.targets import Target
from tests.pages.harness import AgentPage, Json


def bare(target: Json, *kept: str) -> Json:
    """The recording with nothing but these descriptors, and role, name and tag."""
    return {key: value for key, value in target.items() if key in ("role", "name", "tag", *kept)}


async def candidates(agent: AgentPage, target: Json) -> list[ElementCandidate]:
    """What the tiers found, whether or not one of them was certain."""
    await agent.begin(target={**target, "elementHash": target.get("elementHash", "")}, need="read", settleMs=1)
    told = await agent.message("settled")
    return [ElementCandidate.model_validate(candidate) for candidate in told["candidates"]]


PAGE = (
    "<main><form id='mail' aria-label='Mail'><div><p>One</p>"
    "<button id='send' data-testid='send' name='do'>Send</button>"
    "<button id='draft'>Save</button><a href='/sent?x=1'>Sent</a></div></form></main>"
)


async def test_an_unchanged_element_is_certain_by_its_xpath(agent: AgentPage) -> None:
    await agent.show(PAGE)
    target = await agent.describe("#send")

    await agent.begin(target=target, need="click")
    ready = await agent.message("ready")

    assert ready["candidates"][0]["tier"] == "xpath"
    assert Target.model_validate(ready["target"]) == Target.model_validate({**target, "namesakes": 1})


@pytest.mark.parametrize("found_by", ["target", "query"])
async def test_what_is_recorded_tells_how_many_have_the_name_and_what_is_called_nearly_so(
    agent: AgentPage, found_by: str
) -> None:
    await agent.show(
        "<nav aria-label='Path'><a href='/users' id='crumb'>Users</a></nav><button>Users</button>"
        "<nav aria-label='Menu'><a href='/users'>Users</a><a href='/users' hidden>Users</a></nav>"
        "<a href='/'>All users</a><a href='/user'>User</a><a href='/new' hidden>New users</a>"
    )
    given = await agent.describe("#crumb") if found_by == "target" else {"css": "#crumb"}

    attempt = await agent.begin(**{found_by: given}, need="click")
    if found_by == "target":
        told = await agent.message("candidates")
        crumb = next(one for one in told["candidates"] if one["target"]["attributes"].get("id") == "crumb")
        await agent.call(f"replaywright.choose({attempt}, {crumb['index']})")

    ready = (await agent.message("ready"))["target"]
    assert (ready["namesakes"], ready["alike"]) == (2, ["All users"])


TWO_FIELDS = "<main><form><div>to: <input type=text></div><div>subject: <input type=text></div></form></main>"


async def test_a_field_without_a_name_is_counted_by_its_label(agent: AgentPage) -> None:
    await agent.show(TWO_FIELDS + "<div>subject: <input type=text class=other></div>")

    counted = []
    for css in ("form div:first-child input", ".other"):
        await agent.begin(query={"css": css}, need="read")
        target = (await agent.message("ready"))["target"]
        counted.append((target["label"], target["namesakes"]))

    assert counted == [("to:", 1), ("subject:", 2)]


async def test_a_field_without_a_name_is_not_certain_under_another_label(agent: AgentPage) -> None:
    await agent.show(TWO_FIELDS)
    recorded = {**await agent.describe("input"), "namesakes": 1}
    await agent.value("document.querySelector('form div').remove()")

    await agent.begin(target=recorded, need="click", settleMs=1)

    settled = await agent.message("settled")
    assert [one["target"]["label"] for one in settled["candidates"]] == ["subject:"]
    assert not agent.heard("ready")


async def test_an_element_that_had_a_namesake_is_not_certain_by_itself(agent: AgentPage) -> None:
    await agent.show(PAGE)
    target = await agent.describe("#send")

    await agent.begin(target={**target, "namesakes": 2}, need="click", settleMs=1)

    assert len((await agent.message("settled"))["candidates"]) == 1
    assert not agent.heard("ready")


@pytest.mark.parametrize(
    ("kept", "tier"),
    [
        (("xpath",), "xpath"),
        (("attributes",), "attributes"),
        (("css",), "attributes"),
        (("name",), "role_name"),
    ],
)
async def test_each_tier_finds_the_element_by_itself(agent: AgentPage, kept: tuple[str, ...], tier: str) -> None:
    await agent.show(PAGE)
    target = await agent.describe("#send")

    found = await candidates(agent, bare(target, *kept))

    assert [(candidate.tier, candidate.target.name) for candidate in found] == [(tier, "Send")]


async def test_the_hash_finds_an_element_without_a_name(agent: AgentPage) -> None:
    await agent.show("<main><div><input type=text data-kind=x id=free></div></main>")
    target = await agent.describe("input")
    await agent.value("document.querySelector('main').prepend(document.querySelector('input'))")
    await agent.value("document.querySelector('div').append(document.createElement('textarea'))")

    found = await candidates(agent, bare(target, "elementHash", "container"))

    assert [candidate.tier for candidate in found] == ["hash"]


async def test_a_wrapper_and_a_new_sibling_are_bridged_by_path_variants(agent: AgentPage) -> None:
    await agent.show(PAGE)
    target = await agent.describe("a")
    await agent.value(
        "{ const s = document.createElement('section'); document.querySelector('main').replaceWith(s);"
        " s.innerHTML = '<form><div><a>Sent</a></div></form>' }"
    )

    found = await candidates(agent, {**bare(target, "xpath"), "name": "other", "role": "link"})

    assert [candidate.tier for candidate in found] == ["xpath_variant"]


async def test_an_identifier_that_lies_is_a_candidate_and_not_certain(agent: AgentPage) -> None:
    await agent.show(PAGE)
    target = await agent.describe("#send")
    await agent.value(
        "{ const [a, b] = document.querySelectorAll('button'); a.textContent = 'Save';"
        " b.textContent = 'Send'; a.removeAttribute('data-testid') }"
    )

    found = await candidates(agent, target)

    recorded = Target.model_validate(target)
    assert {candidate.target.name for candidate in found} == {"Send", "Save"}
    assert [candidate.tier for candidate in found if agrees(recorded, candidate.target)] == ["role_name"]
    assert not agent.heard("ready")


async def test_the_edit_of_another_row_is_not_certain(agent: AgentPage) -> None:
    await agent.open("orders.html")
    target = await agent.describe("tbody tr:nth-child(2) button")
    await agent.value("document.querySelectorAll('tbody tr').forEach((row, i) => { if (i === 1) row.remove() })")
    await agent.value("document.querySelectorAll('tbody tr')[1].remove()")

    found = await candidates(agent, target)

    assert target["row"] == ["Bob", "Lamp", "open", "Edit Show"]
    assert [candidate.target.row[0] for candidate in found] == ["Ada"]
    assert not agent.heard("ready")


async def test_rows_are_told_apart_by_their_content(agent: AgentPage) -> None:
    await agent.open("orders.html")

    rows = [(await agent.describe(f"tbody tr:nth-child({n}) button"))["row"][0] for n in (1, 2, 3)]
    cards = [(await agent.describe(f"li:nth-child({n}) button"))["row"] for n in (1, 2)]

    assert rows == ["Ada", "Bob", "Cleo"]
    assert cards == [["Red", "10", "Buy"], ["Blue", "20", "Buy"]]


@pytest.mark.parametrize(("is_tabbed", "row"), [(False, ["Part 0", "Of the form", "Title"]), (True, [])])
async def test_a_panel_behind_tabs_is_no_row(agent: AgentPage, is_tabbed: bool, row: list[str]) -> None:
    hidden = ' style="display: none"' if is_tabbed else ""
    field = "<p>Of the form</p><label>Title <input></label>"
    panels = (f'<div class="panel"{hidden if n else ""}><p>Part {n}</p>{field}</div>' for n in range(4))
    await agent.show("".join(panels))

    assert (await agent.describe("input")).get("row", []) == row


async def test_twins_are_both_candidates(agent: AgentPage) -> None:
    await agent.show("<button>Send</button><p>or</p><button>Send</button>")
    target = await agent.describe("button")

    found = await candidates(agent, target)

    assert len(found) == 2
    assert found[0].target.element_hash == found[1].target.element_hash


async def test_the_candidate_that_python_chose_is_prepared(agent: AgentPage) -> None:
    await agent.show("<button>Send</button><p>or</p><button onclick=\"document.title='second'\">Send</button>")
    target = await agent.describe("button")
    attempt = await agent.begin(target=target, need="click")
    told = await agent.message("candidates")
    second = next(c for c in told["candidates"] if c["target"]["xpath"].endswith("button[2]"))

    await agent.call(f"replaywright.choose({attempt}, {second['index']})")
    ready = await agent.message("ready")
    await agent.click(ready["point"])

    assert ready["index"] == second["index"]
    assert (await agent.message("observed"))["title"] == "second"


async def test_a_query_with_two_answers_is_not_certain(agent: AgentPage) -> None:
    await agent.show("<button>Send</button><button>Send</button>")

    await agent.begin(query={"role": "button", "name": "Send"}, need="click")
    settled = await agent.message("settled")

    assert len(settled["candidates"]) == 2
    assert not agent.heard("ready")


async def test_only_rendered_elements_count(agent: AgentPage) -> None:
    await agent.show(
        "<button hidden>Send</button><button style='visibility:hidden'>Send</button>"
        "<div style='display:none'><button>Send</button></div>"
        "<div style='display:contents'><button id=b>Send</button></div>"
    )
    target = await agent.describe("#b")

    await agent.begin(target=target, need="click")

    assert (await agent.message("ready"))["target"]["attributes"] == {"id": "b"}


async def test_elements_in_nested_shadow_roots_are_found_by_every_tier(agent: AgentPage) -> None:
    await agent.open("shadow.html")
    root = "document.querySelector('mail-box').shadowRoot.querySelector('inner-bar').shadowRoot"
    target = await agent.describe("button", root)

    for kept in (("xpath",), ("css",), ("name",)):
        found = await candidates(agent, bare(target, *kept))
        assert [candidate.target.name for candidate in found] == ["Send"]
    await agent.begin(target=target, need="click")
    await agent.click((await agent.message("ready"))["point"])

    assert target["xpath"] == "/html/body/main[1]/mail-box[1]/#shadow/form[1]/inner-bar[1]/#shadow/button[1]"
    assert (await agent.message("observed"))["title"] == "sent"


async def test_of_very_many_candidates_twenty_are_told_and_all_counted(agent: AgentPage) -> None:
    await agent.show("<ul>" + "<li><button>Send</button></li>" * 50 + "</ul>")
    target = await agent.describe("button")

    await agent.begin(target=target, need="click")
    told = await agent.message("candidates")

    assert len(told["candidates"]) == 20
    assert told["total"] == 50


async def test_names_with_no_break_spaces_icons_and_quotes_are_the_same(agent: AgentPage) -> None:
    await agent.show("<button>\ue001 Send\u00a0“now”</button>")
    target = await agent.describe("button")
    await agent.value("{ document.querySelector('button').textContent = 'send \"now\"' }")

    await agent.begin(target=target, need="click")

    assert (await agent.message("ready"))["target"]["name"] == 'send "now"'


@pytest.mark.parametrize(
    ("made", "then"), [("rcmbtn107", "rcmbtn108"), ("_r_q_", "_r_t_"), ("menu-_r_a_", "menu-_r_b_")]
)
async def test_generated_identifiers_are_no_part_of_selectors_and_hashes(
    agent: AgentPage, made: str, then: str
) -> None:
    await agent.show(f"<form><button id='{made}'>Send</button></form>")
    before = await agent.describe("button")
    await agent.value(f"{{ document.querySelector('button').id = '{then}' }}")
    after = await agent.describe("button")

    assert made not in before["css"]
    assert before["elementHash"] == after["elementHash"]


@pytest.mark.parametrize(
    ("chosen", "name"),
    [("", "Colour"), ('aria-selected="true"', "Colour blue")],
)
async def test_the_list_that_a_label_has_in_it_names_the_field_by_what_is_chosen(
    agent: AgentPage, chosen: str, name: str
) -> None:
    options = f"<li role=option {chosen}>blue</li><li role=option>green</li>"
    await agent.show(f"<label>Colour <input> <ul role=listbox>{options}</ul></label>")

    assert (await agent.describe("input"))["name"] == name


ITEMS = "<ul>{}<li class=item>{}<input>{}</li></ul>"
OF_THE_ROW_ABOVE = "<li class=item><span>a.txt</span> <span>5 minutes ago</span></li>"
LINES = "<div><div {}><div>1</div><div>2</div></div><div id=text contenteditable role=textbox>x</div></div>"


@pytest.mark.parametrize(
    ("body", "label"),
    [
        pytest.param(ITEMS.format(OF_THE_ROW_ABOVE, "", "<span>3 s ago</span>"), "", id="the end of the row above"),
        pytest.param(ITEMS.format("<li class=item>Date</li>", "", ""), "Date", id="a row that is but a label"),
        pytest.param(ITEMS.format(OF_THE_ROW_ABOVE, "Name", "<b>kg</b>"), "Name", id="a text of its own row"),
        pytest.param(LINES.format("aria-hidden=true"), "", id="the numbers of lines, for the eye alone"),
        pytest.param(
            "<p>Query</p>" + LINES.format("aria-hidden=true style='float: left'"),
            "Query",
            id="what is before such numbers",
        ),
        pytest.param(LINES.format(""), "2", id="numbers for everybody"),
        pytest.param("<p>Phone</p><b role=combobox>+51</b> <input>", "Phone", id="what is before a drawn list"),
    ],
)
async def test_a_text_labels_a_field_if_it_is_said_of_the_fields_own_row(
    agent: AgentPage, body: str, label: str
) -> None:
    await agent.show(body)

    described = Target.model_validate(await agent.describe("input, [contenteditable]"))

    assert described.label == label


@pytest.mark.parametrize(
    ("before", "label"),
    [
        ("<div>E-mail address:</div>", "E-mail address:"),
        ("<div>How many of them?</div>", "How many of them?"),
        ("<div>Your birthday approx.</div>", "Your birthday approx."),
        ("<p>Copy the text above into it.</p>", ""),
        ("<p>Check the 1st radio button and enter the number into the 2nd textbox, then go on</p>", ""),
        ("<table><tr><td>Postal address</td><td><input></td></tr></table>", "Postal address"),
        ("<table><tr><td>We need this to send you what you ordered.</td><td><input></td></tr></table>", ""),
    ],
)
async def test_a_sentence_near_a_field_is_not_its_label(agent: AgentPage, before: str, label: str) -> None:
    await agent.show(f"<main>{before}<input></main>")

    assert Target.model_validate(await agent.describe("input")).label == label


async def test_a_description_has_everything_a_target_asks_for(agent: AgentPage) -> None:
    await agent.open("form.html")

    reference = Target.model_validate(await agent.describe("[name=reference]"))
    subject = Target.model_validate(await agent.describe("[name=subject]"))
    inbox = Target.model_validate(await agent.describe("a"))

    assert (reference.role, reference.name, reference.label) == ("textbox", "", "Reference")
    assert "value" not in reference.attributes
    assert reference.container == 'table "Fields"'
    assert subject.neighbours[0] == "Subject"
    assert len(subject.neighbours) <= 8
    assert subject.attributes["placeholder"] == "What it is about"
    assert inbox.attributes["href"] == "/inbox"
    assert inbox.container in ("list", 'navigation "Folders"')
    assert reference.box is not None
    assert reference.box.width > 0


async def test_every_css_and_xpath_leads_back_to_its_element(agent: AgentPage) -> None:
    await agent.open("form.html")
    wrong = await agent.call(
        "Array.from(document.querySelectorAll('body *')).filter((element) => {"
        " const { css, xpath } = replaywright.describe(element);"
        " const found = document.querySelectorAll(css);"
        " const path = document.evaluate(xpath, document, null, 9, null).singleNodeValue;"
        " return found.length !== 1 || found[0] !== element || path !== element })"
        ".map((element) => replaywright.describe(element).css)"
    )

    assert wrong == []


async def test_a_link_is_recorded_with_a_digest_of_its_query_and_fragment(agent: AgentPage) -> None:
    addresses = ("/a", "/a?x=1", "/a?x=2", "/a?x=1#b", "#Birch", "#Oak", "#")
    await agent.show("".join(f"<p><a href='{address}'>Go</a></p>" for address in addresses))

    told = [(await agent.describe(f"p:nth-of-type({n}) a")).get("query", "") for n in range(1, len(addresses) + 1)]

    assert (told[0], told[-1]) == ("", "")
    assert len({*told}) == len(addresses) - 1
