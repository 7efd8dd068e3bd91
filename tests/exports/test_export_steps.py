"""What steps, elements and conditions become in a script."""

import ast
import base64
import hmac
import struct
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from replaywright.domain.common.totp import totp_of
from replaywright.errors import InputInvalid
from replaywright.export import Format, Recordings
from replaywright.export.python_helpers import HELPERS
from tests.exports.samples import TENANT, inside, lines, recorded, skill_of, told, written

SEND = {"role": "button", "name": "Send"}
PRESS = {"action": "click", "instruction": "the button", "target": SEND}
ELSEWHERE = 'expect(page).to_have_url(re.compile("/b"), timeout=500)'
FRAME = 'page.frame_locator(\'iframe[name="editor"], iframe[id="editor"]\')'
FOUND = 'page.get_by_role("button", name="Send", exact=True)'


def python_of(step: Mapping[str, Any], seen: Mapping[str, Any] | None = None, **task: Any) -> list[str]:
    """The lines that a step becomes after the page is opened."""
    skill = skill_of([step], **task)
    return lines(written(skill, None if seen is None else recorded(skill, {0: seen})))[1:]


def typescript_of(step: Mapping[str, Any], seen: Mapping[str, Any] | None = None, **task: Any) -> list[str]:
    skill = skill_of([step], **task)
    text = written(skill, None if seen is None else recorded(skill, {0: seen}), Format.TYPESCRIPT)
    return [line for line in lines(text)[1:] if line != "});"]


def asserted(predicate: Mapping[str, Any]) -> list[str]:
    return python_of({"action": "wait_for", "expect": [predicate]})


# ------------------------------------------------------------------------------------------- elements


@pytest.mark.parametrize(
    ("seen", "locator"),
    [
        ({"role": "button", "name": "Send"}, FOUND),
        ({"tag": "div", "attributes": {"data-testid": "send"}}, 'page.get_by_test_id("send")'),
        ({"tag": "div", "attributes": {"data-qa": "send"}}, "page.locator('[data-qa=\"send\"]')"),
        (
            {"tag": "input", "role": "textbox", "attributes": {"placeholder": "Search"}},
            'page.get_by_placeholder("Search", exact=True)',
        ),
        (
            {
                "tag": "input",
                "role": "textbox",
                "name": "00/00/0000 00:00",
                "attributes": {"placeholder": "00/00/0000 00:00", "name": "due"},
            },
            "page.locator('[name=\"due\"]')",
        ),
        ({"tag": "div", "attributes": {"id": "send"}}, 'page.locator("#send")'),
        ({"tag": "div", "attributes": {"id": "react-1a2b"}, "text": "Go"}, 'page.get_by_text("Go", exact=True)'),
        (
            {"role": "button", "name": "Edit", "namesakes": 3, "attributes": {"data-testid": "edit"}, "css": "#x > a"},
            'page.locator("#x > a")',
        ),
        (
            {
                "role": "button",
                "name": "Edit",
                "namesakes": 3,
                "row": ["Ada", "Edit"],
                "xpath": "/html/tr[1]/td/button",
            },
            'page.get_by_role("row").filter(has_text="Ada").get_by_role("button", name="Edit", exact=True)',
        ),
        (
            {
                "role": "button",
                "name": "OK",
                "namesakes": 2,
                "container": 'dialog "Delete?"',
                "css": "p:nth-of-type(2)",
            },
            'page.get_by_role("dialog", name="Delete?", exact=True).get_by_role("button", name="OK", exact=True)',
        ),
        (
            {"role": "button", "name": "Send", "frame": [{"name": "editor"}, {"title": "Inner"}]},
            f"{FRAME}.frame_locator('iframe[title=\"Inner\"]'){FOUND.removeprefix('page')}",
        ),
        (
            {"tag": "x-b", "css": "x-card >>> #inner b"},
            'page.locator("x-card").locator("#inner b")',
        ),
    ],
)
def test_an_element_is_found_by_what_was_its_alone(seen: dict[str, Any], locator: str) -> None:
    found = python_of({"action": "click", "instruction": "it"}, seen)

    assert joined(found) == ast.unparse(ast.parse(f"{locator}.click()"))


def joined(found: list[str]) -> str:
    """The last statement, with what was named before put in."""
    tree = ast.parse("\n".join(found))
    named: dict[str, ast.expr] = {}

    class Names(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return named.get(node.id, node)

    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            named[statement.targets[0].id] = Names().visit(statement.value)
    return ast.unparse(Names().visit(tree.body[-1]))


def test_what_has_only_its_place_is_said_to_have_only_that() -> None:
    skill = skill_of([{"action": "click", "instruction": "it"}])
    seen = {"role": "button", "name": "Edit", "namesakes": 4, "css": "main > p:nth-of-type(3) > button"}

    text = written(skill, recorded(skill, {0: seen}))

    assert "# By its place on the page: nothing else told it from its like.\n" in text
    assert 'page.locator("main > p:nth-of-type(3) > button").click()' in text


def test_the_row_of_a_parameter_is_the_row_of_its_value() -> None:
    step = {"action": "click", "instruction": "the delete button of {{who}}"}
    seen = {"role": "button", "name": "Delete", "row": ["{{who}}", "42", "Delete"], "xpath": "/html/ul/li[2]/button"}

    assert python_of(step, seen, parameters={"who": {}}) == [
        'row = page.get_by_role("listitem").filter(has_text=who)',
        'row.get_by_role("button", name="Delete", exact=True).click()',
    ]


def test_a_name_with_a_parameter_in_it_is_that_of_the_value() -> None:
    step = {"action": "click", "instruction": "the {{who}} button"}
    seen = {"role": "button", "name": "Write to {{who}}"}

    assert python_of(step, seen, parameters={"who": {}}) == [
        'page.get_by_role("button", name=f"Write to {who}", exact=True).click()'
    ]
    assert typescript_of(step, seen, parameters={"who": {}})[-1] == (
        "await page.getByRole('button', { name: `Write to ${who}`, exact: true }).click();"
    )


def test_a_declared_target_serves_where_nothing_is_recorded_and_where_it_names_a_parameter() -> None:
    named = {**PRESS, "target": {"role": "button", "name": "Send {{what}}"}}

    assert python_of(PRESS) == [f"{FOUND}.click()"]
    assert python_of(named, {"role": "button", "name": "Send it"}, parameters={"what": {}}) == [
        'page.get_by_role("button", name=f"Send {what}", exact=True).click()'
    ]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({}, "steps[0]: nothing is recorded of 'the {{nth}} field'; run the skill once, or give the step a target"),
        ({"bound": {"nth": "digest"}, "role": "textbox", "name": "A"}, "does not show which element {{nth}} means"),
    ],
)
def test_an_element_that_nobody_can_tell_is_refused(entry: dict[str, Any], why: str) -> None:
    skill = skill_of([{"action": "fill", "instruction": "the {{nth}} field", "value": "x"}], parameters={"nth": {}})

    for form in Format:
        with pytest.raises(InputInvalid) as refused:
            told(skill, recorded(skill, {0: entry}) if entry else None, form, nth="1")
        assert why.partition(";")[0] in str(refused.value) or form is Format.DEVTOOLS
        assert "steps[0]" in str(refused.value)


# --------------------------------------------------------------------------------------------- actions


@pytest.mark.parametrize(
    ("step", "python", "typescript"),
    [
        ({"action": "goto", "url": "https://a.example/x"}, 'page.goto("https://a.example/x")', ""),
        ({**PRESS, "button": "right"}, f'{FOUND}.click(button="right")', ".click({ button: 'right' });"),
        ({**PRESS, "modifiers": ["Shift"]}, f'{FOUND}.click(modifiers=["Shift"])', ".click({ modifiers: ['Shift'] });"),
        (
            {**PRESS, "position": {"x": 3, "y": 4.5}, "timeout_ms": 20000},
            f'{FOUND}.click(position={{"x": 3, "y": 4.5}}, timeout=20_000)',
            ".click({ position: { x: 3, y: 4.5 }, timeout: 20_000 });",
        ),
        ({**PRESS, "action": "double_click"}, f"{FOUND}.dblclick()", ".dblclick();"),
        ({**PRESS, "action": "hover"}, f"{FOUND}.hover()", ".hover();"),
        ({**PRESS, "action": "check"}, f"{FOUND}.check()", ".check();"),
        ({**PRESS, "action": "expand"}, f"set_open({FOUND}, True)", "await setOpen("),
        ({**PRESS, "action": "press", "keys": "Control+A"}, f'{FOUND}.press("Control+A")', ".press('Control+A');"),
        ({"action": "press", "keys": "Enter"}, 'page.keyboard.press("Enter")', "await page.keyboard.press('Enter');"),
        ({**PRESS, "action": "fill", "value": "x"}, f'{FOUND}.fill("x")', ".fill('x');"),
        ({**PRESS, "action": "upload", "files": ["a.txt"]}, f'{FOUND}.set_input_files("a.txt")', "'a.txt');"),
        ({**PRESS, "action": "scroll"}, f"{FOUND}.scroll_into_view_if_needed()", ".scrollIntoViewIfNeeded();"),
        ({**PRESS, "action": "drag", "by": {"x": -5}}, f"drag_by({FOUND}, -5, 0)", "await dragBy("),
        ({**PRESS, "action": "drag", "to": SEND}, f"{FOUND}.drag_to({FOUND})", ".dragTo("),
        ({"action": "go_back"}, "page.go_back()", "await page.goBack();"),
    ],
)
def test_a_step_is_a_call_of_playwright(step: dict[str, Any], python: str, typescript: str) -> None:
    text = "\n".join(line for line in written(skill_of([step])).split("\n"))
    [*_, call] = lines(text) if len(lines(text)) == 1 else [*lines(text)[:1], joined(lines(text)[1:])]

    assert ast.unparse(ast.parse(call)) == ast.unparse(ast.parse(python))
    assert typescript in "\n".join(lines(written(skill_of([step]), None, Format.TYPESCRIPT)))


def test_what_a_step_sets_off_is_waited_for_and_judged() -> None:
    step = {
        **PRESS,
        "dialog": "accept",
        "expect": [
            {"downloaded": "invoice-*.pdf"},
            {"response_status": "2xx", "of": "/api", "method": "POST"},
            {"dialog_seen": "Sure?"},
        ],
    }

    assert python_of(step) == [
        "with answering_dialogs(page, [True], every=True) as asked:",
        'with page.expect_response(answering("/api", "POST")) as response_info:',
        "with page.expect_download() as download_info:",
        f"{FOUND}.click()",
        'keep(download_info.value, "invoice-*.pdf")',
        'expect_status(response_info.value, "2xx")',
        'expect_asked(asked, "Sure?")',
    ]


def test_a_tab_that_a_step_opens_is_the_current_one_from_then_on() -> None:
    skill = skill_of([PRESS, {"action": "switch_tab", "tab": "latest"}, {"action": "close_tab"}])

    derived = ({"url_contains": "/terms"},)
    text = written(skill, recorded(skill, {0: SEND}, causes=("popup",), effect="read", derived=derived))

    assert lines(text)[1:] == [
        "with page.expect_popup() as popup_info:",
        f"{FOUND}.click()",
        "page = popup_info.value",
        'expect(page).to_have_url(re.compile("/terms"))',
        "page.bring_to_front()",
        "closed, page = page, page.opener() or page.context.pages[0]",
        "closed.close()",
    ]


def test_a_step_with_consequences_says_so_and_asserts_what_it_was_seen_to_lead_to() -> None:
    skill = skill_of([{"action": "click", "instruction": "send"}])
    derived = ({"url_contains": "/sent"}, {"exists": {"role": "status", "name": "Sent"}, "required": False})

    text = written(skill, recorded(skill, {0: SEND}, effect="commit", derived=derived))
    harmless = written(skill, recorded(skill, {0: SEND}, effect="read", derived=derived))

    assert "    # 1. Click send\n    # Has consequences: not retried.\n" in text
    assert "not retried" not in harmless
    assert 'expect(page).to_have_url(re.compile("/sent"))' in harmless
    assert ('name="Sent"' in text, 'name="Sent"' in harmless) == (True, False)


def test_a_condition_of_a_step_is_asked_before_it() -> None:
    step = {**PRESS, "when": {"exists": {"role": "dialog", "name": "Cookies"}}}

    assert python_of(step) == [
        'element = page.get_by_role("dialog", name="Cookies", exact=True).first',
        "if holds(lambda: expect(element).to_be_visible(timeout=1_000)):",
        f"{FOUND}.click()",
    ]


def test_the_steps_of_a_list_are_done_for_each_row_that_is_meant() -> None:
    loop = {
        "action": "for_each",
        "item": "invoice",
        "target": {"role": "table", "name": "Invoices"},
        "where": {"State": "open", "Total": {"matches": r"(?i)^\d+ eur$"}},
        "on_failure": "skip_item",
        "steps": [
            {"action": "click", "instruction": "the download button of {{invoice.Invoice no.}}"},
            {"action": "extract", "fields": {"total": {"find": {"test_id": "total"}, "type": "number"}}},
        ],
    }
    skill = skill_of([loop])
    seen = {"role": "link", "name": "Download {{invoice.Invoice no.}}"}
    recordings = Recordings(TENANT, inside(skill, 0, {0: seen}))

    python = lines(written(skill, recordings))
    typescript = "\n".join(lines(written(skill, recordings, Format.TYPESCRIPT)))

    assert python[1:] == [
        'rows = table_rows(page.get_by_role("table", name="Invoices", exact=True))',
        'rows = [cells for cells in rows if alike(cells["State"]) == alike("open")]',
        r'rows = [cells for cells in rows if re.search(r"(?i)^[0-9]+ eur\Z", cells["Total"])]',
        "for cells in at_most(50, rows):",
        'invoice_no = cells["Invoice no."]',
        'entry: dict[str, Any] = {"item": cells}',
        'result.setdefault("invoice", []).append(entry)',
        "try:",
        'page.get_by_role("link", name=f"Download {invoice_no}", exact=True).click()',
        'entry["total"] = number(page.get_by_test_id("total").inner_text())',
        "except (AssertionError, Error) as error:",
        'print(f"left {cells}: {error}", file=sys.stderr)',
        "return result",
    ]
    assert "alike((cells['State'] ?? '')) === alike('open')" in typescript
    assert r"new RegExp('^\\d+ eur$', 'i').test((cells['Total'] ?? ''))" in typescript
    assert "name: `Download ${invoiceNo}`" in typescript


def test_a_person_is_asked_by_a_program_and_refused_by_tests() -> None:
    code = {"action": "verification_code", "instruction": "the code field", "target": {"label": "Code"}}
    skill = skill_of([{"action": "approve", "instruction": "Send it?"}, code])

    assert lines(written(skill))[1:] == [
        'approve("Send it?")',
        'code = input("Code for the code field: ")',
        'page.get_by_label("Code", exact=True).fill(code)',
    ]
    for form in (Format.PYTEST, Format.TYPESCRIPT):
        with pytest.raises(InputInvalid, match="use --format python"):
            told(skill, None, form)


def test_secrets_and_one_time_passwords_are_names() -> None:
    step = {"action": "fill", "instruction": "pin", "target": {"label": "Pin"}, "value": "{{secret:PIN}}-{{totp:KEY}}"}

    assert python_of(step, secrets=["PIN", "KEY"]) == [
        'page.get_by_label("Pin", exact=True).fill(secret("PIN") + "-" + totp("KEY"))'
    ]
    assert "`${secret('PIN')}-${totp('KEY')}`" in typescript_of(step, secrets=["PIN", "KEY"])[-1]


def test_parameters_have_names_that_mean_nothing_else() -> None:
    names = ("from", "page", "class", "default", "expect", "baseUrl", "base_url", "_")
    value = " ".join("{{" + name + "}}" for name in names)
    step = {**PRESS, "action": "fill", "value": value}
    skill = skill_of([step], parameters={name: {} for name in names})

    text = written(skill)

    compile(text, "script.py", "exec")
    assert "{from_} {page_} {class_} {default} {expect_} {baseurl} {base_url} {value_}" in text
    assert '"--from", dest="from_", required=True' in text
    assert "${baseurl} ${baseUrl}" in written(skill, None, Format.TYPESCRIPT)


# ---------------------------------------------------------------------------------------- conditions


@pytest.mark.parametrize(
    ("predicate", "python"),
    [
        ({"url_contains": "/a.b"}, r'expect(page).to_have_url(re.compile(r"/a\.b"))'),
        ({"url_matches": r"(?i)/x/(?P<id>\d+)$"}, r'expect(page).to_have_url(re.compile(r"/x/(\d+)$", re.I))'),
        ({"title_contains": "Inbox"}, 'expect(page).to_have_title(re.compile("Inbox", re.IGNORECASE))'),
        ({"exists": SEND}, f"expect({FOUND}.first).to_be_visible()"),
        ({"not_exists": SEND}, f"expect({FOUND}).to_have_count(0)"),
        ({"not_": {"exists": SEND}}, f"expect({FOUND}).to_have_count(0)"),
        ({"not_": {"checked": SEND | {"role": "checkbox"}}}, ".not_to_be_checked()"),
        ({"visible": SEND}, f"expect({FOUND}.first).to_be_in_viewport()"),
        ({"count": {"role": "row"}, "equals": 3}, 'expect(page.get_by_role("row")).to_have_count(3)'),
        ({"count": {"role": "row"}, "at_least": 3}, 'expect(page.get_by_role("row").nth(2)).to_be_attached()'),
        ({"count": {"role": "row"}, "at_most": 3}, 'expect(page.get_by_role("row").nth(3)).not_to_be_attached()'),
        ({"text_contains": "Sent"}, 'expect(page.get_by_text("Sent").filter(visible=True).first).to_be_visible()'),
        ({"text_equals": "3", "of": {"test_id": "n"}}, '("n")).to_have_text("3", ignore_case=True)'),
        ({"value_equals": "x", "of": {"label": "To"}}, '("To", exact=True)).to_have_value("x")'),
        ({"checked": {"label": "Copy"}}, 'expect(page.get_by_label("Copy", exact=True)).to_be_checked()'),
        ({"enabled": SEND, "within_ms": 500}, f"expect({FOUND}).to_be_enabled(timeout=500)"),
        ({"focused": SEND}, f"expect({FOUND}).to_be_focused()"),
        ({"exists": {"role": "link", "name_in": ["OK", "Gut"]}}, r're.compile(r"^\s*(?:OK|Gut)\s*$", re.I)'),
        ({"exists": SEND, "in_dom": True}, f"expect({FOUND}.first).to_be_attached()"),
        ({"not_exists": SEND, "in_dom": True}, f"expect({FOUND}.first).not_to_be_attached()"),
        ({"exists": {"role": "row", "nth": 2}}, 'expect(page.get_by_role("row").nth(1).first).to_be_visible()'),
        ({"exists": {"css": "i", "nth": -1}}, '(page.locator("i").filter(visible=True).nth(-1).first)'),
        ({"exists": {"css": "i", "frame": "#pay"}}, 'page.frame_locator("#pay").locator("i")'),
        (
            {"exists": {"css": "i", "frame": ["a", "b"]}},
            """.frame_locator('iframe[name="b"], iframe[id="b"], iframe[title="b"]').locator("i")""",
        ),
        ({"exists": {"css": ".x", "within": SEND}}, f'expect({FOUND}.locator(".x").filter(visible=True).first)'),
        (
            {"any_of": [{"exists": SEND}, {"url_contains": "/b"}]},
            f"expect_any(lambda: expect({FOUND}.first).to_be_visible(timeout=500), lambda: {ELSEWHERE})",
        ),
    ],
)
def test_a_predicate_is_an_assertion_that_waits(predicate: dict[str, Any], python: str) -> None:
    found = joined(asserted(predicate)).replace("re.IGNORECASE", "re.I")
    wanted = ast.unparse(ast.parse(python)) if not python.startswith((".", "(")) else python

    assert wanted.replace("re.IGNORECASE", "re.I").replace('"', "'") in found.replace('"', "'")


def test_what_cannot_be_asserted_is_told_in_the_script_and_beside_it() -> None:
    step = {"action": "wait_for", "expect": [{"custom": "total_at_most"}, {"url_matches": r"\pLa"}]}

    script = told(skill_of([step]))

    assert [line.partition(":")[0] for line in script.warnings] == ["steps[0].expect[0]", "steps[0].expect[1]"]
    assert "- steps[0].expect[0]: custom: total_at_most is a function of your own; call it here" in script.text
    assert "# Not in this script: custom: total_at_most" in script.text


def test_a_script_opens_its_page_as_the_task_wants_it_and_tells_what_it_leaves_out() -> None:
    browser = {"viewport": "800x600", "locale": "de-DE", "time_zone": "Asia/Tokyo", "color_scheme": "dark"}
    skill = skill_of([PRESS], browser={**browser, "user_agent": "Own/1", "headers": {"X-A": "1"}})

    python, typescript, lines = (told(skill, None, one) for one in (Format.PYTHON, Format.TYPESCRIPT, Format.DEVTOOLS))

    page = 'locale="de-DE", viewport={"width": 800, "height": 600}, timezone_id="Asia/Tokyo", color_scheme="dark"'
    assert ast.unparse(ast.parse(f'f({page}, user_agent="Own/1")'))[2:-1] in ast.unparse(ast.parse(python.text))
    for line in ("locale: 'de-DE'", "timezoneId: 'Asia/Tokyo'", "colorScheme: 'dark'", "userAgent: 'Own/1'"):
        assert line in typescript.text
    assert '"width": 800' in lines.text
    assert [one.partition(":")[0] for one in python.warnings] == ["browser.headers"]
    unsaid = ("locale", "time_zone", "color_scheme", "user_agent", "headers")
    assert {one.partition(":")[0] for one in lines.warnings} == {f"browser.{name}" for name in unsaid}


def test_a_script_counts_from_the_end_to_the_last_only() -> None:
    step = {**PRESS, "target": {"role": "button", "nth": -2}}

    with pytest.raises(InputInvalid, match=r"steps\[0\].target.nth: a script counts from the end only to the last"):
        told(skill_of([step]))


def test_what_is_not_required_only_warns() -> None:
    assert asserted({"url_contains": "/a", "required": False}) == [
        'if not holds(lambda: expect(page).to_have_url(re.compile("/a"))):',
        'print("warning: steps[0].expect[0] does not hold", file=sys.stderr)',
    ]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"action": "for_each", "item": "x", "values": ["a"], "steps": [PRESS]}, "the format has no lists"),
        ({**PRESS, "action": "upload", "files": ["a"]}, "the format gives no files to a page"),
        ({"action": "approve"}, "the format does not wait for people"),
        ({**PRESS, "dialog": "accept"}, "the format answers no dialogs"),
        ({**PRESS, "when": {"url_contains": "a"}}, "the format has no conditions"),
    ],
)
def test_what_a_recording_cannot_do_is_refused_with_its_place(step: dict[str, Any], why: str) -> None:
    with pytest.raises(InputInvalid, match=rf"skill 'shop' cannot be exported: steps\[0\].*{why}.*export to python"):
        told(skill_of([step]), None, Format.DEVTOOLS)


def test_a_recording_names_no_element_by_the_row_of_a_parameter() -> None:
    skill = skill_of(
        [{"action": "click", "instruction": "the Edit button of {{customer}}"}], parameters={"customer": {}}
    )
    seen = {"role": "button", "name": "Edit", "namesakes": 3, "row": ("{{customer}}", "Edit"), "css": "#edit-3"}

    with pytest.raises(InputInvalid, match=r"nothing that the format can say is recorded of .* export to python"):
        told(skill, recorded(skill, {0: seen}), Format.DEVTOOLS, customer="Ada")


def test_a_program_makes_the_one_time_passwords_that_a_replay_enters() -> None:
    key, moment = "JBSW Y3DP-EHPK3PXP", 1_800_000_017.0
    code = "\n".join(HELPERS[name] for name in ("secret", "totp"))
    known: dict[str, Any] = {
        "base64": base64,
        "hmac": hmac,
        "struct": struct,
        "os": SimpleNamespace(environ={"REPLAYWRIGHT_SECRET_KEY": key}),
        "time": SimpleNamespace(time=lambda: moment),
    }

    exec(code, known)

    assert known["totp"]("KEY") == totp_of("KEY", key).at(moment)
