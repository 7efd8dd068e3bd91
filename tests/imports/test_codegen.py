"""Scripts of Playwright's code generator: which steps they yield, and what is told of the rest."""

from typing import Any

import pytest

from replaywright.domain.task.tasks import bind_parameters
from replaywright.errors import InputInvalid
from replaywright.imports import read_recording
from tests.imports.reading import brief, recorded, script, steps, told


def test_a_recorded_mail_becomes_steps_parameters_and_conditions() -> None:
    imported = recorded("codegen_webmail.py.txt")

    assert brief(imported) == [
        "goto url=http://webmail.test/login",
        "fill value={{user_name}} (name_contains User name, role textbox)",
        "press keys=Tab (name_contains User name, role textbox)",
        "fill value={{secret:PASSWORD}} (name_contains Password, role textbox)",
        "click (name_contains Log in, role button)",
        "click (name_contains Compose, role link)",
        "fill value={{to}} (name To, role textbox)",
        "fill value={{subject}} (name_contains Subject, role textbox)",
        "select_option value={{priority}} (label Priority)",
        "fill value={{message}} (name_contains Message, role textbox)",
        "click (name_contains Send, role button)",
    ]
    task = imported.task
    assert {name: parameter.type for name, parameter in task.parameters.items()} == {
        "user_name": "text",
        "to": "email",
        "subject": "text",
        "priority": "text",
        "message": "text",
    }
    assert [name for name, parameter in task.parameters.items() if parameter.default is not None] == ["priority"]
    assert task.secrets == ("PASSWORD",)
    assert [predicate.model_dump(exclude_none=True) for predicate in task.verify] == [
        {"exists": {"text": "Message sent to {{to}}"}},
        {"exists": {"role": "link", "name_contains": "{{subject}}"}},
    ]
    assert told(imported, "changed") == [("line 10", "click"), ("line 17", "click")]
    assert told(imported, "left_out") == []


def test_a_password_is_nowhere_in_what_is_made_of_a_recording() -> None:
    imported = script(
        'page.get_by_label("Kennwort").fill("hunter2!")',
        'page.get_by_label("Confirm password").fill("hunter2!")',
        'page.get_by_label("New password").fill("other-one")',
        'expect(page.get_by_text("Your password is hunter2!")).to_be_visible()',
        'page.frobnicate("hunter2!")',
        'print(f"typed {undefined} hunter2! other-one")',
        'helper.log_in(page, "demo", "third-one")',
        'token = helper("third-one").read("third-one")',
    )

    said = imported.model_dump_json()
    assert "hunter2" not in said
    assert "other-one" not in said
    assert "third-one" not in said
    assert [step.get("value") for step in steps(imported)[1:]] == [
        "{{secret:KENNWORT}}",
        "{{secret:KENNWORT}}",
        "{{secret:NEW_PASSWORD}}",
    ]
    assert ("line 7", "exists") in told(imported, "left_out")


def test_the_values_of_the_recording_are_of_the_types_that_are_proposed() -> None:
    imported = script(
        'page.get_by_label("Email address").fill("ada@example.com")',
        'page.get_by_label("Arrival").fill("2026-11-22")',
        'page.get_by_label("Guests").fill("2")',
        'page.get_by_label("Postal code").fill("10115")',
        'page.get_by_label("Code of the country").fill("049")',
        'page.get_by_label("No date").fill("2026-13-45")',
        'page.get_by_label("收件人").fill("张三")',
    )

    parameters = imported.task.parameters
    assert {name: parameter.type for name, parameter in parameters.items()} == {
        "email_address": "email",
        "arrival": "date",
        "guests": "number",
        "postal_code": "text",
        "code_of_the_country": "text",
        "no_date": "text",
        "value": "text",
    }
    bind_parameters(imported.task, {name: parameter.example for name, parameter in parameters.items()})


def test_a_value_that_names_a_later_element_is_its_parameter_there_too() -> None:
    imported = script(
        'page.get_by_label("Search").fill("Harbour")',
        'page.get_by_role("link", name="Harbour view").click()',
        'page.get_by_role("link", name="Harbourmaster").click()',
        'page.get_by_role("row", name="Harbour").get_by_role("button", name="Delete").click()',
    )

    assert brief(imported)[2:] == [
        "click (name_contains {{search}} view, role link)",
        "click (name_contains Harbourmaster, role link)",
        "click (name_contains Delete, role button, within {'role': 'row', 'name_contains': '{{search}}'})",
    ]
    assert steps(imported)[2]["instruction"] == 'the "{{search}} view" link'
    assert told(imported, "check")[:2] == [("line 6", "click"), ("line 8", "click")]


@pytest.mark.parametrize(
    ("locator", "target"),
    [
        ('get_by_role("button", name="Send")', {"role": "button", "name_contains": "Send"}),
        ('get_by_role("button", name="Send", exact=True)', {"role": "button", "name": "Send"}),
        ('get_by_role("button", name=re.compile(r"^Send$"))', {"role": "button", "name": "Send"}),
        ('get_by_role("button", name=re.compile(r"send", re.I))', {"role": "button", "name_contains": "send"}),
        ('get_by_label("To")', {"label": "To"}),
        ('get_by_placeholder("Search mail")', {"placeholder": "Search mail"}),
        ('get_by_text("Read more")', {"text": "Read more"}),
        ('get_by_test_id("go")', {"test_id": "go"}),
        ('get_by_alt_text("A chart")', {"role": "img", "name_contains": "A chart"}),
        ('get_by_title("Close")', {"css": '[title*="Close" i]'}),
        ('get_by_title("Close", exact=True)', {"css": '[title="Close"]'}),
        ('locator("#send")', {"css": "#send"}),
        ('locator("#list").get_by_text("Milk")', {"text": "Milk", "within": {"css": "#list"}}),
        ('get_by_role("listitem").filter(has_text="Milk")', {"role": "listitem", "text": "Milk"}),
        ('locator("tr", has_text="Milk").first', {"css": "tr", "text": "Milk", "nth": 1}),
        ('get_by_role("button", name="Delete").nth(2)', {"role": "button", "name_contains": "Delete", "nth": 3}),
        ('get_by_role("row").last.get_by_label("Sum")', {"label": "Sum", "within": {"role": "row", "nth": -1}}),
        (
            'frame_locator("#inner").get_by_role("button", name="Pay")',
            {"role": "button", "name_contains": "Pay", "frame": ["#inner"]},
        ),
        ('locator("#inner").content_frame.get_by_label("Card")', {"label": "Card", "frame": ["#inner"]}),
    ],
)
def test_a_locator_is_a_target(locator: str, target: dict[str, Any]) -> None:
    imported = script(f"page.{locator}.click()")

    assert steps(imported)[1]["target"] == target


@pytest.mark.parametrize(
    ("locator", "why"),
    [
        ('get_by_role("button", name="Delete").nth(-3)', "nth() is nothing that a query says"),
        (
            'get_by_role("row").filter(has=page.get_by_text("x")).get_by_role("button")',
            "filter(has) is nothing",
        ),
        ('get_by_role("button", name=re.compile(r"a.*b"))', "get_by_role(name) is nothing"),
        ("get_by_text(words())", "get_by_text() is nothing"),
        ('locator("div:visible")', "locator() is nothing"),
        ("locator(\"xpath=//a[contains(., 'x')]\")", "locator() is nothing"),
        ('locator("_react=Button")', "locator() is nothing"),
        ('get_by_role("link", name="{{name}}")', "cannot stand in a query"),
        ('locator("a").or_(page.locator("b"))', "or_() is nothing"),
    ],
)
def test_an_element_that_a_query_cannot_say_is_left_to_its_instruction(locator: str, why: str) -> None:
    imported = script(f"page.{locator}.click()")

    step = steps(imported)[1]
    assert step["action"] == "click"
    assert "target" not in step
    assert step["instruction"]
    (note,) = [note for note in imported.notes if note.where == "line 5"]
    assert (note.kind, why in note.advice) == ("check", True), note.advice


@pytest.mark.parametrize(
    ("assertion", "predicate"),
    [
        ('expect(page.get_by_text("Saved")).to_be_visible()', {"exists": {"text": "Saved"}}),
        ('expect(page.get_by_text("Saved")).not_to_be_visible()', {"not_exists": {"text": "Saved"}}),
        ('expect(page.get_by_text("Saved")).to_be_hidden()', {"not_exists": {"text": "Saved"}}),
        ('expect(page.locator("#a")).to_contain_text("b")', {"text_contains": "b", "within": {"css": "#a"}}),
        ('expect(page.locator("#a")).to_have_text("b")', {"text_equals": "b", "of": {"css": "#a"}}),
        ('expect(page.get_by_label("A")).to_have_value("b")', {"value_equals": "b", "of": {"label": "A"}}),
        ('expect(page.get_by_label("A")).to_be_empty()', {"value_equals": "", "of": {"label": "A"}}),
        ('expect(page.get_by_label("A")).to_be_checked()', {"checked": {"label": "A"}}),
        ('expect(page.get_by_label("A")).not_to_be_checked()', {"not_": {"checked": {"label": "A"}}}),
        ('expect(page.get_by_label("A")).to_be_disabled()', {"not_": {"enabled": {"label": "A"}}}),
        ('expect(page.locator("li")).to_have_count(3)', {"count": {"css": "li"}, "equals": 3}),
        ('expect(page.locator("li")).to_be_visible(timeout=200)', {"exists": {"css": "li"}, "within_ms": 200}),
        ('expect(page).to_have_url("https://shop.example/cart")', {"url_contains": "https://shop.example/cart"}),
        ('expect(page).to_have_url(re.compile(r"/cart$"))', {"url_matches": "/cart$"}),
        ('expect(page).to_have_title("Shop")', {"title_contains": "Shop"}),
    ],
)
def test_an_assertion_is_expected_of_the_step_before_and_at_the_end(assertion: str, predicate: dict[str, Any]) -> None:
    imported = script('page.get_by_text("Go").click()', assertion)

    assert steps(imported)[1]["expect"] == [predicate]
    assert [one.model_dump(mode="json", exclude_none=True) for one in imported.task.verify] == [predicate]


def test_every_action_of_a_locator_has_its_step() -> None:
    imported = script(
        'field = page.get_by_label("Field")',
        "field.dblclick()",
        'field.click(button="right", modifiers=["Shift"], position={"x": 3, "y": 4}, timeout=3000)',
        "field.hover()",
        "field.clear()",
        'field.press_sequentially("abc")',
        'field.press("ControlOrMeta+a")',
        "field.check()",
        "field.uncheck()",
        'page.get_by_label("Sizes").select_option(["S", "M"])',
        'page.get_by_label("File").set_input_files("invoice.pdf")',
        "field.scroll_into_view_if_needed()",
        'page.locator("#older").fill("text")',
        "page.go_back()",
        'page.keyboard.press("Escape")',
    )

    assert brief(imported)[1:] == [
        "double_click (label Field)",
        "click (label Field)",
        "hover (label Field)",
        "fill value= (label Field)",
        "type value={{field}} (label Field)",
        "press keys=Control+a (label Field)",
        "check (label Field)",
        "uncheck (label Field)",
        "select_option values=['{{sizes}}', '{{sizes_2}}'] (label Sizes)",
        "upload files=['{{file}}'] (label File)",
        "scroll (label Field)",
        "fill value={{older}} (css #older)",
        "go_back",
        "press keys=Escape",
    ]
    pressed = steps(imported)[2]
    assert {key: pressed[key] for key in ("button", "modifiers", "position", "timeout_ms")} == {
        "button": "right",
        "modifiers": ["Shift"],
        "position": {"x": 3.0, "y": 4.0},
        "timeout_ms": 3000,
    }
    assert imported.left_out == ()


def test_popups_downloads_dialogs_and_file_choosers_are_taken_over() -> None:
    imported = script(
        "with page.expect_popup() as page1_info:",
        '    page.get_by_role("link", name="Terms").click()',
        "page1 = page1_info.value",
        'page1.get_by_role("button", name="Agree").click()',
        "page1.close()",
        'page.once("dialog", lambda dialog: dialog.accept("Ada"))',
        'page.get_by_role("button", name="Rename").click()',
        'page.once("dialog", lambda dialog: dialog.dismiss())',
        "with page.expect_download() as download_info:",
        '    page.get_by_role("link", name="Invoice").click()',
        "download = download_info.value",
        'download.save_as("x.pdf")',
        "with page.expect_file_chooser() as chooser_info:",
        '    page.get_by_role("button", name="Attach").click()',
        "chooser_info.value.set_files('a.pdf')",
    )

    assert brief(imported)[1:] == [
        "click (name_contains Terms, role link)",
        "switch_tab tab=latest",
        "click (name_contains Agree, role button)",
        "close_tab",
        "click dialog=accept (name_contains Rename, role button)",
        "click dialog=dismiss (name_contains Invoice, role link)",
        "upload files=['{{file}}'] (name_contains Attach, role button)",
    ]
    assert steps(imported)[5]["dialog_text"] == "{{dialog_text}}"
    assert steps(imported)[6]["expect"] == [{"downloaded": "*"}]
    assert told(imported, "left_out") == [("line 16", "download.save_as")]


def test_what_is_not_plain_codegen_is_told_with_its_line() -> None:
    imported = script(
        'for row in page.locator("tr").all():',
        "    row.click()",
        'if page.locator("#banner").is_visible():',
        '    page.locator("#banner button").click()',
        'page.get_by_label("Sum").fill(str(2 + 3))',
        'page.get_by_label("Name").fill(f"Ada {number}")',
        "page.mouse.move(10, 20)",
        'page.evaluate("window.scrollTo(0, 1)")',
        "page.wait_for_timeout(1000)",
        "page.reload()",
        'page.on("request", lambda request: print(request.url))',
        'expect(page.locator("h1")).to_match_aria_snapshot("- heading")',
        "assert page.title() == 'Shop'",
        'page.get_by_label("Size").select_option(index=2)',
        'page.get_by_text("Go").press("Hyper+x")',
        "unknown.click()",
    )

    assert told(imported, "left_out") == [
        ("line 5", "for (1 actions inside)"),
        ("line 7", "if (1 actions inside)"),
        ("line 11", "page.mouse.move(…)"),
        ("line 12", "page.evaluate"),
        ("line 13", "page.wait_for_timeout"),
        ("line 14", "page.reload"),
        ("line 15", "page.on"),
        ("line 16", "expect(…).to_match_aria_snapshot"),
        ("line 17", "assert"),
        ("line 18", "select_option"),
        ("line 19", "press"),
        ("line 20", "unknown.click(…)"),
    ]
    assert brief(imported)[1:] == ["fill value={{sum}} (label Sum)", "fill value={{name}} (label Name)"]
    assert [imported.task.parameters[name].example for name in ("sum", "name")] == ["", ""]
    assert [note.where for note in imported.notes if "a caller gives it" in note.advice] == ["line 9", "line 10"]


def test_constants_locators_and_the_environment_may_have_names() -> None:
    imported = read_recording(
        "import os\n"
        "from playwright.async_api import async_playwright\n"
        "BASE = 'https://shop.example'\n"
        "async def run(playwright):\n"
        "    browser = await playwright.chromium.launch()\n"
        "    context = await browser.new_context(storage_state='auth.json')\n"
        "    page = await context.new_page()\n"
        "    await page.goto(f'{BASE}/login')\n"
        "    user = page.get_by_label('User')\n"
        "    await user.fill(os.environ['SHOP_USER'])\n"
        "    await page.get_by_label('Password').fill(os.getenv('SHOP_PASSWORD'))\n"
        "    await page.get_by_role('button', name='Go').click()\n"
        "    await context.close()\n"
        "async def main():\n"
        "    async with async_playwright() as playwright:\n"
        "        await run(playwright)\n",
        "shop",
    )

    assert brief(imported) == [
        "goto url=https://shop.example/login",
        "fill value={{shop_user}} (label User)",
        "fill value={{secret:SHOP_PASSWORD}} (label Password)",
        "click (name_contains Go, role button)",
    ]
    assert told(imported, "left_out") == [("line 6", "new_context(storage_state)")]


def test_a_script_without_a_function_and_one_of_two_tests_are_read() -> None:
    alone = read_recording(
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p:\n"
        "    browser = p.chromium.launch()\n"
        "    page = browser.new_page()\n"
        "    page.goto('https://shop.example/')\n"
        "    page.get_by_text('Go').click()\n",
        "shop",
    )
    two = read_recording(
        "def test_one(page):\n    page.goto('https://shop.example/')\n"
        "def test_two(page):\n    page.goto('https://shop.example/other')\n",
        "shop",
    )

    assert brief(alone) == ["goto url=https://shop.example/", "click (text Go)"]
    assert brief(two) == ["goto url=https://shop.example/"]
    assert told(two, "left_out") == [("line 3", "function test_two")]


def test_a_script_is_never_run() -> None:
    with pytest.raises(InputInvalid, match="no step to take over"):
        read_recording("raise SystemExit(3)\nimport nowhere_to_be_found\npage.frob.goto()\n", "shop")
