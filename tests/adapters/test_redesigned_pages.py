"""Elements of pages that were redesigned are found where a person finds them, and refused where a person hesitates."""

import pytest

from replaywright.domain.locating.filling import filled_target, general_target
from tests.pages.harness import AgentPage
from tests.pages.ladder import found_again, recorded


async def found(agent: AgentPage, then: str, selector: str, now: str) -> str | None:
    """The id that `now` gives to the element that `selector` means in `then`; None for a miss."""
    await agent.show(then)
    target = await recorded(agent, selector)
    await agent.show(now)
    decision = await found_again(agent, target)
    return None if decision.chosen is None else decision.chosen.target.attributes.get("id", "")


async def test_what_stood_alike_is_recorded(agent: AgentPage) -> None:
    await agent.show(
        "<label>Name <input></label><label>Name of the firm <input></label><label>Names <input></label>"
        "<button>Name of the firm</button><label hidden>Your name <input></label>"
    )

    assert (await recorded(agent, "input")).alike == ("Name of the firm",)


ORDER = (
    "<main><h1>Order</h1><form>{}<p><label>Town <input name=town></label></p><button>Order now</button></form></main>"
)


@pytest.mark.parametrize(
    ("then", "now", "right"),
    [
        pytest.param(
            "<p><label>Remark <input></label></p>",
            "<p><label>Remark line <input id=it></label></p>",
            "it",
            id="nothing was called nearly so",
        ),
        pytest.param(
            "<p><label>Pass phrase <input></label></p><p>Twice:</p><p>as above</p><p>by hand</p><p>again</p>"
            "<p>and</p><p>once</p><p>more</p><p>here</p><p><label>Pass phrase repeated <input></label></p>",
            "<p><label>Pass phrase repeated <input id=it></label></p>",
            None,
            id="that was there, too",
        ),
    ],
)
async def test_a_longer_name_is_the_recorded_one_unless_that_was_there_then(
    agent: AgentPage, then: str, now: str, right: str | None
) -> None:
    assert await found(agent, ORDER.format(then), "input", ORDER.format(now)) == right


SITE = (
    "<main><h1>Shop</h1><form><p><label>Host <input name=host></label></p><p><label>Port <input name=port></label></p>"
    "{}</form></main>"
)


async def test_the_only_button_of_its_name_is_found_where_it_has_left_the_list_that_it_stood_in(
    agent: AgentPage,
) -> None:
    then = "<ul><li><input type=submit value=Keep><a href=/gone>Remove shop</a></li><li>No other</li></ul>"
    now = "<nav aria-label='Actions at the foot'><button type=submit id=it><em>Keep</em></button></nav>"

    assert await found(agent, SITE.format(then), "[type=submit]", SITE.format(now)) == "it"


async def test_of_a_row_that_a_parameter_tells_nothing_outside_of_rows_is_the_button(agent: AgentPage) -> None:
    table = "<table><tr><th>Name<th></tr><tr><td>{}<td><button>Remove</button></tr></table>"
    await agent.show(SITE.format(table.format("Ann")))
    target = general_target(await recorded(agent, "button"), {"name": "Ann"}, frozenset({"name"}))
    await agent.show(SITE.format("<p>Nobody is here.</p><button>Remove</button>"))

    assert (await found_again(agent, filled_target(target, {"name": "Ben"}))).chosen is None


async def test_a_field_for_files_that_has_got_a_label_is_told_by_the_name_that_it_sends(agent: AgentPage) -> None:
    then = "<h2>Read in</h2><p><label for=sheet>Your sheet</label><input type=file name=sheet></p>"
    now = "<h2>Read in</h2><p><label for=it>Your sheet</label><input type=file name=sheet id=it></p>"

    assert await found(agent, SITE.format(then), "[type=file]", SITE.format(now)) == "it"


async def test_the_box_of_a_row_that_a_parameter_tells_is_that_of_todays_row(agent: AgentPage) -> None:
    row = "<tr><td><input type=checkbox name=pick value={0}><td>{0}<td>ready</tr>"
    table = "<table><tr><th><th>Part<th>State</tr>{}</table>"
    parts = ("axle", "bolt", "chain")
    await agent.show(table.format("".join(map(row.format, parts))))
    target = general_target(await recorded(agent, "[value=axle]"), {"part": "axle"}, frozenset({"part"}))

    for part in parts:
        decision = await found_again(agent, filled_target(target, {"part": part}))
        assert decision.chosen is not None
        assert decision.chosen.target.attributes["value"] == part


MENU = "<a href=/>Start</a><a href=/help>Help</a>"
UNCHANGED = (
    f"<header><nav>{MENU}</nav></header><main><h1>Offers</h1><ul><li>Tea <button>Add</button></li>"
    f"<li>Salt <button>Add</button></li></ul><p><input><input></p></main><footer><nav>{MENU}</nav></footer>"
)


async def test_every_element_of_an_unchanged_page_is_found_again_twins_too(agent: AgentPage) -> None:
    await agent.show(UNCHANGED)
    controls = "document.querySelectorAll('a, button, input')"
    targets = []
    for number in range(await agent.value(f"{controls}.length")):
        await agent.value(f"{controls}[{number}].dataset.number = {number}")
        targets.append(await recorded(agent, f"[data-number='{number}']"))
    assert len(targets) == 8
    await agent.show(UNCHANGED)

    for target in targets:
        decision = await found_again(agent, target)
        assert decision.chosen is not None, target
        same_link = target.role == "link" and decision.chosen.target.attributes["href"] == target.attributes["href"]
        assert decision.chosen.target.xpath == target.xpath or same_link


OLD_SKIN = """
<div id=taskbar><a class=button-mail href="/?box=in">Mail</a>
<a class=button-people href="/?box=people">People</a></div>
<div id=tools><a class="button compose" href="/?do=new" title="Write a message">Write</a>
<a class="button check" href="/?do=check" title="Look for mail">Look</a></div>
<form name=quick><input type=text name=q id=quicksearch placeholder="Search…"></form>
"""
NEW_SKIN = """
<nav id=layout-menu><ul>
<li><a id=write class="btn primary" href="/?do=new" title="Write a message"><i>✎</i><span>Write</span></a></li>
<li><a id=mail class=mail href="/?box=in"><span>Mail</span></a></li>
<li><a id=people class=people href="/?box=people"><span>People</span></a></li></ul></nav>
<section><header><a id=look class="btn" href="/?do=check" title="Look for mail"><span>Look</span></a>
<form name=quick><label>Search <input type=search name=q id=query></label></form></header></section>
"""


@pytest.mark.parametrize(
    ("selector", "right"),
    [
        (".button-mail", "mail"),
        (".button-people", "people"),
        (".compose", "write"),
        (".check", "look"),
        ("input", "query"),
    ],
)
async def test_what_another_skin_shows_elsewhere_is_found(agent: AgentPage, selector: str, right: str) -> None:
    assert await found(agent, OLD_SKIN, selector, NEW_SKIN) == right


THEN = """
<table><tr><td><a href=/news.html>News</a> | <a href=/jobs.html>Jobs</a> |
<a href=/about.html>About us</a></td></tr></table>
<center><h1>Glass since 1890</h1><a href=/shop/index.html>To our shop</a>
<form action=/find><input name=words> <input type=submit value=Find></form></center>
"""
YEARS_LATER = """
<header><nav aria-label=Main><ul><li><a id=news href=/news>News</a></li><li><a id=shop href=/shop>Shop</a></li>
<li><a id=jobs href=/careers>Jobs</a></li></ul>
<form role=search action=/find><input id=find name=words aria-label="Find on this site">
<button id=go aria-label=Find>🔍</button></form></nav></header><main><h1>Glass for good</h1><p>Since 1890.</p></main>
<footer><a id=about href=/about.html>About us</a><a href=/imprint>Imprint</a></footer>
"""


@pytest.mark.parametrize(
    ("selector", "right"),
    [
        ("[href='/news.html']", "news"),
        ("[href='/jobs.html']", "jobs"),
        ("[href='/about.html']", "about"),
        ("[name=words]", "find"),
        ("[type=submit]", "go"),
    ],
)
async def test_what_a_home_page_still_has_years_later_is_found(agent: AgentPage, selector: str, right: str) -> None:
    assert await found(agent, THEN, selector, YEARS_LATER) == right


@pytest.mark.parametrize(
    ("then", "now"),
    [
        pytest.param(
            "<div>Papers</div><span>Find in abstracts</span> <input name=query>",
            "<form role=search><span>All fields</span><select><option>Any</option></select>"
            "<input name=query id=it placeholder='Words…'></form><p>Papers</p>",
            id="a field that is read under its name, whatever is guessed to be its label",
        ),
        pytest.param(
            "<p><a href=/browse>Browse</a> the archive, or <a href=/help>get help</a>.</p>",
            "<nav><a href=/browse id=it>Browse</a></nav><main><p>New here? <a href=/browse id=it>Browse</a></p></main>",
            id="two links of one name to one address",
        ),
        pytest.param(
            "<table><tr><td>Paper 12<td><a href=/12>Read</a><td><a href=/lists>Mailing lists</a></tr></table>",
            "<main>Paper 12</main><aside><ul><li><a href=/lists id=it>Mailing lists</a></li></ul></aside>",
            id="the only link of its name and address",
        ),
    ],
)
async def test_what_eras_of_one_site_have_in_common_is_found(agent: AgentPage, then: str, now: str) -> None:
    assert await found(agent, then, "input, a[href='/lists'], a[href='/browse']", now) == "it"


ASKED = """
<style>.away { position: absolute; left: -2000px }</style><h1>Ask us</h1>
<input class=away aria-label=Subject>
<table><tr><td>Subject<td><input id=subject></tr><tr><td>Text<td><div contenteditable id=body></div></tr></table>
"""


async def test_a_field_off_the_screen_is_not_offered_and_a_field_has_the_label_of_its_own_line(
    agent: AgentPage,
) -> None:
    await agent.show(ASKED)

    offered = (await agent.call("replaywright.snapshot({})"))["elements"]

    fields = [one["target"] for one in offered if one["target"]["role"] == "textbox"]
    assert [(field["attributes"]["id"], field["label"]) for field in fields] == [
        ("subject", "Subject"),
        ("body", "Text"),
    ]


async def test_a_link_to_another_query_is_not_the_link_whose_place_it_took(agent: AgentPage) -> None:
    page = "<nav aria-label=Boxes>{} <a href=/drafts>Begun</a></nav><main><h1>Post</h1>{}</main>"
    mail, elder = "<a href='/box'>Post</a>", "<a href='/box?page=2'>Elder ones</a>"

    assert await found(agent, page.format(mail, elder), "[href='/box']", page.format(elder, "")) is None
