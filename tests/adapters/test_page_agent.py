"""The page agent prepares elements, guards the input and says what it saw, in a real Chromium."""

import itertools
import json
import unicodedata

import pytest

from replaywright.browser.page import page_agent_source
from replaywright.domain.common.templates import fill_wanted
from replaywright.domain.common.text import contains, normalise
from replaywright.domain.page.observed import ProbeResult
from replaywright.domain.page.targets import Target
from tests.pages.harness import AgentPage, Json

SEND = "<main><h1>Mail</h1><button onclick=\"document.title='sent'\">Send</button><p>Words</p></main>"


def text_probe(text: str) -> Json:
    return {"text": text, "within": None}


# --------------------------------------------------------------------------------------------- one step


async def test_a_click_goes_from_begin_to_observed(agent: AgentPage) -> None:
    await agent.show("<p id=out></p><button onclick=\"out.textContent='Message sent'\">Send</button>")
    target = await agent.describe("button")

    await agent.begin(target=target, need="click", probes=[text_probe("message SENT")])
    ready = await agent.message("ready")
    await agent.click(ready["point"])
    await agent.message("landed")
    observed = await agent.message("observed")

    assert Target.model_validate(ready["target"]).name == "Send"
    assert [candidate["index"] for candidate in ready["candidates"]] == [ready["index"]]
    assert ready["before"][0]["count"] == 0
    assert ProbeResult.model_validate(observed["probes"][0]).count == 1
    assert observed["changed"]


@pytest.mark.parametrize(
    ("style", "page", "count"),
    [
        ("b::after { content: ' | ' }", "<b>Anna</b>Harbour", 1),
        ("i::before { content: '/'; color: red }", "<b>Anna</b><i>Harbour</i>", 1),
        ("i::before { content: '•' }", "<b>Anna</b><i></i>Harbour", 1),
        ("i::after { content: '•' }", "<b>Anna</b>Harbour<i></i>", 0),
        ("b::after { content: '' }", "<b>Anna</b>Harbour", 0),
        ("b::after { content: '*'; display: none }", "<b>Anna</b>Harbour", 0),
        ("b { padding: 0 2px }", "<b>Anna</b>bel", 0),
    ],
)
async def test_what_a_style_draws_between_two_words_parts_them(
    agent: AgentPage, style: str, page: str, count: int
) -> None:
    await agent.show(f"<style>{style}</style><p>{page}</p>")

    await agent.begin(need="none", probes=[text_probe(fill_wanted("{{name}}", {"name": "anna"}))])

    assert (await agent.message("observed"))["probes"][0]["count"] == count


async def test_landed_is_told_before_the_page_navigates_away(agent: AgentPage) -> None:
    await agent.show("<a href='/form.html'>Away</a>")
    await agent.begin(query={"role": "link", "name": "Away"}, need="click")
    ready = await agent.message("ready")

    await agent.click(ready["point"])
    await agent.message("loaded")

    kinds = [told["type"] for told in agent.messages]
    assert kinds.index("landed") < kinds.index("document")


async def test_installing_the_agent_twice_changes_nothing(agent: AgentPage) -> None:
    await agent.show(SEND)
    agent.messages.clear()

    await agent.call(page_agent_source())
    same = await agent.call(
        "(() => { const before = replaywright; " + page_agent_source() + " return before === replaywright })()"
    )

    assert same
    assert agent.messages == []


async def test_a_document_tells_that_it_starts_and_that_it_is_loaded(agent: AgentPage) -> None:
    await agent.show(SEND)

    assert [(told["type"], told["attempt"]) for told in agent.messages] == [("document", 0), ("loaded", 0)]
    assert agent.messages[0]["top"] is True


async def test_a_broken_spec_is_told_and_not_thrown(agent: AgentPage) -> None:
    await agent.show(SEND)

    await agent.begin(target={"xpath": 7, "role": "button"}, need="click")

    assert (await agent.message("failed"))["reason"]


# -------------------------------------------------------------------------------------------- preparing


@pytest.mark.parametrize(
    ("markup", "need", "reason"),
    [
        ("<button disabled>Go</button>", "click", "disabled"),
        ("<fieldset disabled><button>Go</button></fieldset>", "click", "disabled"),
        ("<div aria-disabled=true><button>Go</button></div>", "click", "disabled"),
        ("<button>Go</button><div style='position:fixed;inset:0;background:#fff'>Cookies?</div>", "click", "covered"),
        ("<input aria-label=Go readonly>", "fill", "readonly"),
        ("<button>Go</button>", "fill", "not_editable"),
        ("<select aria-label=Go><option>One</select>", "select", "no_such_option"),
        ("<select aria-label=Go><option>Two<option>Two</select>", "select", "no_such_option"),
        ("<select aria-label=Go><option disabled>Two</select>", "select", "disabled"),
        ("<input type=date aria-label=Go>", "fill", "no_such_value"),
        ("<input aria-label=Go>", "select", "no_list"),
    ],
)
async def test_an_element_that_cannot_take_the_input_is_blocked_with_the_reason(
    agent: AgentPage, markup: str, need: str, reason: str
) -> None:
    await agent.show(markup)

    await agent.begin(query={"name": "Go"}, need=need, text="words", option="Two")

    assert (await agent.message("blocked"))["reason"] == reason
    assert not agent.heard("ready")


async def test_what_covers_the_element_is_named_and_waited_out(agent: AgentPage) -> None:
    await agent.show("<button>Go</button><div role=dialog aria-label=Cookies style='position:fixed;inset:0'>x</div>")
    await agent.begin(query={"role": "button"}, need="click")
    blocked = await agent.message("blocked")

    await agent.value("document.querySelector('[role=dialog]').remove()")
    ready = await agent.message("ready")

    assert blocked["by"] == 'dialog "Cookies"'
    assert ready["point"]


async def test_a_disabled_button_is_ready_as_soon_as_it_is_enabled(agent: AgentPage) -> None:
    await agent.show("<button disabled>Go</button>")
    await agent.begin(query={"role": "button"}, need="click")
    await agent.message("blocked")

    await agent.value("document.querySelector('button').disabled = false")

    assert (await agent.message("ready"))["point"]


async def test_a_moving_element_is_ready_when_it_rests(agent: AgentPage) -> None:
    await agent.show(
        "<style>@keyframes go { from { margin-left: 0 } to { margin-left: 400px } }"
        "button { animation: go 300ms linear forwards }</style><button>Go</button>"
    )
    await agent.begin(query={"role": "button"}, need="click")

    ready = await agent.message("ready")
    await agent.click(ready["point"])
    await agent.message("landed")

    assert ready["point"]["x"] > 400


async def test_an_element_out_of_sight_is_scrolled_to_also_inside_a_scroller(agent: AgentPage) -> None:
    await agent.show(
        "<div style='height:2000px'></div><div style='height:200px;overflow:auto'><div style='height:900px'></div>"
        "<button onclick=\"document.title='sent'\">Send</button><div style='height:900px'></div></div>"
    )
    await agent.begin(query={"role": "button"}, need="click")

    await agent.click((await agent.message("ready"))["point"])

    assert (await agent.message("observed"))["title"] == "sent"


async def test_an_element_under_a_sticky_header_is_brought_out(agent: AgentPage) -> None:
    await agent.show(
        "<div style='position:fixed;top:0;left:0;right:0;height:100px;background:#ccc'>Header</div>"
        "<button style='position:absolute;top:20px' onclick=\"document.title='sent'\">Send</button>"
        "<div style='height:3000px'></div><script>scrollTo(0, 0)</script>"
        "<button style='position:absolute;top:1500px' onclick=\"document.title='sent'\">Low</button>"
    )
    await agent.value("scrollTo(0, 1450)")
    await agent.begin(query={"role": "button", "name": "Low"}, need="click")

    await agent.click((await agent.message("ready"))["point"])

    assert (await agent.message("observed"))["title"] == "sent"


async def test_a_styled_checkbox_is_ticked_through_its_label(agent: AgentPage) -> None:
    await agent.show(
        "<input type=checkbox id=c style='position:absolute;opacity:0;width:0;height:0'>"
        "<label for=c><span>Agree</span> <a href='/form.html'>terms and conditions</a></label>"
    )
    await agent.begin(query={"role": "checkbox", "name": "Agree terms and conditions"}, need="check", wanted=True)

    await agent.click((await agent.message("ready"))["point"])
    observed = await agent.message("observed", lambda told: bool(told["state"] and told["state"]["checked"]))

    assert observed["state"]["checked"] is True
    assert not agent.heard("intercepted")


async def test_a_point_on_another_control_inside_is_avoided(agent: AgentPage) -> None:
    await agent.show(
        "<div role=button tabindex=0 aria-label=Card style='width:300px;height:60px;text-align:center'"
        ' onclick="document.title=event.target.tagName">'
        "<button style='width:80px;height:40px'>Delete</button></div>"
    )
    await agent.begin(query={"role": "button", "name": "Card"}, need="click")

    await agent.click((await agent.message("ready"))["point"])

    assert (await agent.message("observed"))["title"] == "DIV"


async def test_an_element_that_is_there_already_is_left_alone(agent: AgentPage) -> None:
    await agent.show(
        "<input type=checkbox aria-label=Tick checked><select aria-label=Prio><option>Low<option selected>High</select>"
        "<input aria-label=To value=ada><script>for (const t of ['input','change','focusin'])"
        " addEventListener(t, () => { document.title = 'touched' })</script>"
    )

    for query, spec in (
        ({"role": "checkbox"}, {"need": "check", "wanted": True}),
        ({"role": "combobox"}, {"need": "select", "option": "High"}),
        ({"role": "textbox"}, {"need": "fill", "text": "ada"}),
    ):
        await agent.begin(query=query, **spec)
        assert (await agent.message("ready"))["state"]["already"] is True
        assert (await agent.message("observed"))["title"] == "Shown"
        assert not agent.heard("landed")


# --------------------------------------------------------------------------------------- text and choices


@pytest.mark.parametrize(
    "field",
    [
        "<input aria-label=To value=old>",
        "<input type=number aria-label=To value=1>",
        "<input type=password aria-label=To value=old>",
        "<textarea aria-label=To>old</textarea>",
        "<div contenteditable role=textbox aria-label=To>old <b>words</b></div>",
    ],
)
async def test_filling_replaces_the_content_by_one_insertion(agent: AgentPage, field: str) -> None:
    await agent.show(field)
    await agent.begin(query={"name": "To"}, need="fill", text="42")
    await agent.message("ready")

    await agent.cdp.send("Input.insertText", {"text": "42"})

    await agent.message("landed")
    assert (await agent.message("observed", lambda told: told["valueOk"] is True))["changed"] in (True, False)


async def test_a_value_that_the_page_rejects_is_not_ok(agent: AgentPage) -> None:
    await agent.show("<input aria-label=To oninput=\"this.value = this.value.replace(/[^0-9]/g, '')\">")
    await agent.begin(query={"name": "To"}, need="fill", text="a1")
    await agent.message("ready")

    await agent.cdp.send("Input.insertText", {"text": "a1"})

    assert (await agent.message("observed"))["valueOk"] is False


async def test_a_drawn_list_that_shows_what_is_wanted_is_observed_as_it_is(agent: AgentPage) -> None:
    await agent.show(
        "<div role=listbox aria-label=Prio tabindex=0>"
        "<div role=option aria-selected=false>Low</div><div role=option aria-selected=true>High</div></div>"
    )

    await agent.begin(query={"role": "listbox"}, need="select", options=["High"])

    assert (await agent.message("ready"))["state"]["already"] is True
    assert (await agent.message("observed"))["valueOk"] is True


async def test_choosing_an_option_tells_the_page(agent: AgentPage) -> None:
    await agent.show(
        '<select aria-label=Prio onchange="document.title = this.value">'
        "<option value=1>Low<option value=3>High</select>"
    )

    await agent.begin(query={"role": "combobox"}, need="select", option="High")
    observed = await agent.message("observed")

    assert agent.heard("landed")
    assert observed["state"]["selected"] == ["High"]
    assert observed["title"] == "3"


async def test_what_the_agent_does_itself_waits_when_it_shall_hold(agent: AgentPage) -> None:
    await agent.show('<input type=date aria-label=Day onchange="document.title = this.value">')
    attempt = await agent.begin(query={"name": "Day"}, need="fill", text="2026-02-03", hold=True)
    await agent.message("ready")
    untouched = await agent.value("document.querySelector('input').value")

    await agent.call(f"replaywright.act({attempt})")

    assert untouched == ""
    assert (await agent.message("observed"))["title"] == "2026-02-03"


async def test_a_late_option_is_waited_for(agent: AgentPage) -> None:
    await agent.show("<select aria-label=Prio><option>Low</select>")
    await agent.begin(query={"role": "combobox"}, need="select", option="High")
    await agent.message("blocked")

    await agent.value("document.querySelector('select').add(new Option('High'))")

    assert (await agent.message("observed"))["state"]["selected"] == ["High"]


async def test_passwords_never_leave_the_page(agent: AgentPage) -> None:
    await agent.open("form.html")
    await agent.begin(query={"name": "Password"}, need="fill", text="hunter3", probes=[{"query": {"name": "Password"}}])
    await agent.message("ready")
    await agent.cdp.send("Input.insertText", {"text": "hunter3"})
    observed = await agent.message("observed")
    snapshot = await agent.call("replaywright.snapshot({})")

    told = json.dumps([agent.messages, snapshot])
    assert observed["valueOk"] is True
    assert "hunter" not in told


# ------------------------------------------------------------------------------------------------ guard


async def test_a_click_that_arrives_elsewhere_is_stopped_before_the_page_sees_it(agent: AgentPage) -> None:
    await agent.show(
        "<button style='position:absolute;top:0;left:0;width:200px;height:50px'>Send</button>"
        "<script>window.seen = []; for (const t of ['pointerdown','mousedown','pointerup','mouseup','click'])"
        " addEventListener(t, () => seen.push(t), true)</script>"
    )
    await agent.begin(query={"role": "button", "name": "Send"}, need="click")
    ready = await agent.message("ready")
    await agent.value(
        "{ const b = document.createElement('button'); b.textContent = 'Pay'; b.style ="
        " 'position:absolute;top:0;left:0;width:200px;height:50px'; document.body.append(b) }"
    )

    await agent.click(ready["point"])
    intercepted = await agent.message("intercepted")

    assert intercepted["by"] == 'button "Pay"'
    assert await agent.value("seen") == []
    assert not agent.heard("landed")


async def test_a_button_that_became_another_is_not_pressed(agent: AgentPage) -> None:
    await agent.show("<button onclick=\"document.title='pressed'\">Save the draft</button>")
    await agent.begin(query={"role": "button"}, need="click")
    ready = await agent.message("ready")

    await agent.value("document.querySelector('button').textContent = 'Delete all of it'")
    await agent.click(ready["point"])

    assert (await agent.message("intercepted"))["by"] == 'button "Delete all of it"'
    assert await agent.value("document.title") == "Shown"


async def test_after_an_interception_the_next_attempt_goes_through(agent: AgentPage) -> None:
    await agent.show("<button onclick=\"document.title='pressed'\">Send</button>")
    await agent.begin(query={"role": "button"}, need="click")
    ready = await agent.message("ready")
    await agent.click({"x": ready["point"]["x"] + 400, "y": ready["point"]["y"] + 300})
    await agent.message("intercepted")

    await agent.begin(query={"role": "button"}, need="click")
    await agent.click((await agent.message("ready"))["point"])

    assert (await agent.message("observed"))["title"] == "pressed"


async def test_keys_that_arrive_elsewhere_are_stopped(agent: AgentPage) -> None:
    await agent.show("<input aria-label=To><input aria-label=Cc>")
    await agent.begin(query={"name": "To"}, need="fill", text="ada")
    await agent.message("ready")

    await agent.value("document.querySelectorAll('input')[1].focus()")
    await agent.cdp.send("Input.insertText", {"text": "ada"})

    assert (await agent.message("intercepted"))["by"] == 'textbox "Cc"'
    assert await agent.value("document.querySelectorAll('input')[1].value") == ""


async def test_a_button_replaced_while_it_is_pressed_still_counts_as_landed(agent: AgentPage) -> None:
    await agent.show("<main><button>Send</button></main>")
    await agent.value(
        "void (document.querySelector('button').onmousedown ="
        " (event) => event.target.replaceWith(event.target.cloneNode(true)))"
    )
    await agent.begin(query={"role": "button"}, need="click")

    await agent.click((await agent.message("ready"))["point"])

    await agent.message("landed")
    assert not agent.heard("intercepted")


async def test_hovering_lands_when_the_pointer_is_over_the_element(agent: AgentPage) -> None:
    await agent.show("<p>Text</p><button onmouseenter=\"document.title='over'\">Menu</button>")
    await agent.begin(query={"role": "button"}, need="hover")
    point = (await agent.message("ready"))["point"]

    await agent.mouse(point["x"], point["y"], "mouseMoved")

    await agent.message("landed")
    assert (await agent.message("observed"))["title"] == "over"


async def test_after_cancel_the_page_belongs_to_the_person_again(agent: AgentPage) -> None:
    await agent.show("<button>Send</button><button onclick=\"document.title='other'\">Other</button>")
    await agent.begin(query={"name": "Send"}, need="click")
    await agent.message("ready")

    await agent.call("replaywright.cancel()")
    await agent.page.get_by_role("button", name="Other").click()

    assert await agent.page.title() == "other"


# ------------------------------------------------------------------------------------------------ waiting


async def test_a_late_element_is_found_when_it_comes(agent: AgentPage) -> None:
    await agent.show(SEND)
    target = await agent.describe("button")
    await agent.value("(window.kept = document.querySelector('button')).remove()")
    await agent.begin(target=target, need="click")
    settled = await agent.message("settled")

    await agent.value("document.querySelector('h1').after(kept)")

    assert settled["candidates"] == []
    assert (await agent.message("ready"))["target"]["name"] == "Send"


async def test_a_page_that_never_rests_settles_after_a_limit(agent: AgentPage) -> None:
    await agent.show("<p>0</p><script>setInterval(() => { document.querySelector('p').textContent++ }, 20)</script>")

    await agent.begin(query={"role": "button"}, need="click", settleMs=250)

    assert (await agent.message("settled"))["candidates"] == []


async def test_an_element_in_a_late_shadow_root_is_found(agent: AgentPage) -> None:
    await agent.show("<main><div id=host></div></main>")
    await agent.begin(query={"role": "button"}, need="click")
    await agent.message("settled")

    await agent.value("host.attachShadow({mode: 'open'}).innerHTML = '<button>Send</button>'")

    assert (await agent.message("ready"))["target"]["xpath"].endswith("/#shadow/button[1]")


async def test_watching_tells_every_change_of_an_answer(agent: AgentPage) -> None:
    await agent.show(SEND)
    agent.messages.clear()
    await agent.call(f"replaywright.watch(77, {json.dumps([text_probe('Done')])})")
    await agent.message("observed", lambda told: told["probes"][0]["count"] == 0)

    await agent.value("document.querySelector('p').textContent = 'Done'")

    observed = await agent.message("observed", lambda told: told["probes"][0]["count"] == 1)
    assert observed["attempt"] == 77


async def test_an_address_changed_by_the_history_interface_is_told(agent: AgentPage) -> None:
    await agent.show(SEND)
    agent.messages.clear()
    await agent.call("replaywright.watch(78, [])")
    await agent.message("observed")

    await agent.value("history.pushState({}, '', '/elsewhere')")

    await agent.message("observed", lambda told: told["url"].endswith("/elsewhere"))


# ------------------------------------------------------------------------------------------------ probes


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"role": "button", "name": "send"}, 1),
        ({"role": "button", "name_contains": "draft"}, 2),
        ({"label": "Subject"}, 1),
        ({"placeholder": "find a PERSON"}, 1),
        ({"css": "input[type=radio]"}, 2),
        ({"text": "Text with emphasis and code."}, 1),
        ({"role": "button", "name": "Nothing like it"}, 0),
        ({"text": "Hidden words"}, 0),
        ({"text": "secret words"}, 0),
        ({}, 0),
    ],
)
async def test_queries_count_visible_elements(agent: AgentPage, query: Json, count: int) -> None:
    await agent.open("form.html")

    await agent.begin(need="none", probes=[{"query": query}])

    assert (await agent.message("observed"))["probes"][0]["count"] == count


@pytest.mark.parametrize(
    ("label", "count"),
    [
        ("Password", 1),
        ("Password Lost password", 1),
        ("Lost password", 0),
        ("Street", 1),
        ("I accept the terms of use", 1),
        ("Real name", 1),
        ("Real name: May be left empty", 1),
    ],
)
async def test_a_label_is_one_of_several_with_or_without_what_can_be_pressed_in_it(
    agent: AgentPage, label: str, count: int
) -> None:
    await agent.show(
        "<label for=a>Password <a href=/lost>Lost password</a></label><input id=a type=password>"
        "<label>St<b>reet</b>: <button title=Help>?</button> <input></label>"
        "<label><input type=checkbox> I accept the <a href=/terms>terms of use</a></label>"
        "<label for=b>Real name:</label><input id=b><label for=b>May be left empty</label>"
    )

    await agent.begin(need="none", probes=[{"query": {"label": label}}])

    assert (await agent.message("observed"))["probes"][0]["count"] == count


async def test_text_split_over_elements_and_shadow_roots_reads_as_one_line(agent: AgentPage) -> None:
    await agent.open("shadow.html")
    probes = [text_probe("Message sent to nobody"), text_probe("inner title"), text_probe("Unseen")]

    await agent.begin(need="none", probes=probes)

    assert [told["count"] for told in (await agent.message("observed"))["probes"]] == [1, 1, 0]


async def test_a_miss_names_the_most_alike(agent: AgentPage) -> None:
    await agent.show("<button>Send message</button><button>Discard</button>")

    await agent.begin(need="none", probes=[{"query": {"role": "button", "name": "Send"}}])

    assert (await agent.message("observed"))["probes"][0]["nearest"][0] == 'button "Send message"'


async def test_fields_are_extracted_and_never_guessed(agent: AgentPage) -> None:
    await agent.open("orders.html")
    fields = {
        "heading": {"take": "text", "find": {"role": "heading"}},
        "rows": {"take": "table"},
        "edits": {"take": "count", "find": {"role": "button", "name": "Edit"}},
        "one": {"take": "text", "find": {"role": "button", "name": "Edit"}},
        "link": {"take": "attribute", "attribute": "href", "find": {"css": "a[href$='2']"}},
    }

    values = await agent.call(f"replaywright.extract(0, {json.dumps(fields)})")

    assert values["heading"] == "Orders"
    assert values["rows"][1] == {"Customer": "Bob", "Article": "Lamp", "State": "open", "Action": "Edit Show"}
    assert values["edits"] == 3
    assert values["one"] is None
    assert values["link"] == "/orders/2"


async def test_the_head_of_a_table_names_its_columns_whatever_its_cells_are_and_its_foot_may_repeat_it(
    agent: AgentPage,
) -> None:
    head = "<tr><td><label>All <input type=checkbox></label></td><th scope=col>Title</th><th scope=col>Price</th></tr>"
    await agent.show(
        f"<table><thead>{head}</thead><tbody><tr><th scope=row><input type=checkbox></th><td>Tea</td><td>4</td></tr>"
        f"</tbody><tfoot>{head}<tr><td></td><td>Total</td><td>4</td></tr></tfoot></table>"
    )

    values = await agent.call('replaywright.extract(0, {"rows": {"take": "table"}})')

    assert values["rows"] == [
        {"All": "", "Title": "Tea", "Price": "4"},
        {"All": "", "Title": "Total", "Price": "4"},
    ]


# ------------------------------------------------------------------------------------------- hostile pages


async def test_clobbered_forms_do_not_break_the_agent(agent: AgentPage) -> None:
    await agent.open("clobbered.html")
    target = await agent.describe("#trap button")
    await agent.begin(target=target, need="click", probes=[text_probe("Word")])

    await agent.click((await agent.message("ready"))["point"])
    observed = await agent.message("observed")
    snapshot = await agent.call("replaywright.snapshot({})")

    assert target["container"] == 'form "Trap"'
    assert observed["title"] == "clicked"
    assert observed["probes"][0]["count"] == 1
    assert len([e for e in snapshot["elements"] if e["target"]["role"] == "textbox"]) >= 20


async def test_pages_that_replace_the_builtins_are_no_matter(agent: AgentPage) -> None:
    await agent.show(
        "<script>Element.prototype.getAttribute = () => { throw 1 }; Array.prototype.map = () => [];"
        "JSON.stringify = () => 'x'; window.MutationObserver = null; window.__replaywright = 1</script>" + SEND
    )

    await agent.begin(query={"role": "button", "name": "Send"}, need="click")

    await agent.click((await agent.message("ready"))["point"])
    assert (await agent.message("observed"))["title"] == "sent"


async def test_normalise_is_the_same_in_the_page_and_in_python(agent: AgentPage) -> None:
    await agent.show(SEND)
    characters = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cs", "Cn")]
    single = [character for character in characters if character < "\U000f0000"]
    texts = [f"a{character}B{character}" for character in single]
    texts += ["", "  ", "ΑΣ ΟΔΟΣ", "İstanbul", "ﬁne  ½", "„quoted“ «so»", "\ue001Send\u200b", "a\x85b\x1fc\ufeff"]

    seen = []
    for start in range(0, len(texts), 20000):
        seen += await agent.call(f"{json.dumps(texts[start : start + 20000])}.map(replaywright.normalise)")

    different = [
        (text, normalise(text), told) for text, told in zip(texts, seen, strict=True) if normalise(text) != told
    ]
    assert different == []


async def test_containment_is_the_same_in_the_page_and_in_python(agent: AgentPage) -> None:
    await agent.show(SEND)
    around = ["", "\u0301", *" aZ1_éßяنไ中カ한ि🙂𝐀-.", "-a", "a-", "-1", "1-", ".1", "1.", ",a", "a,", "\u2011é", "🙂-"]
    wanted = [fill_wanted(text, {"n": value}) for text in ("{{n}}", "no {{n}}") for value in ("12", "中", "é", "🙂")]
    pairs = [
        (f"{before}{needle}{after}", needle) for needle in wanted for before, after in itertools.product(around, around)
    ]

    told = await agent.call(f"{json.dumps(pairs)}.map(([text, wanted]) => replaywright.contains(text, wanted))")

    different = [pair for pair, seen in zip(pairs, told, strict=True) if contains(*pair) != seen]
    assert different == []
    assert {True, False} == set(told)
