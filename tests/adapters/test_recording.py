"""What a person does in a real Chromium, as the steps of a task."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bench.chromium import give_one_new_tab
from bench.demonstrating import Watched, watched
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.domain.task.actions import Effect
from tests.adapters.browser_site import Site


@pytest.fixture
async def person(endpoint: str, browsers: ChromiumBrowsers, site: Site) -> AsyncIterator[Watched]:
    await give_one_new_tab(endpoint)
    demonstration = await browsers.watch(endpoint)
    async with watched(demonstration, endpoint, site.url("recording.html")) as recording:
        yield recording
    await demonstration.close()


async def test_fields_lists_and_checks_are_recorded_with_their_final_values(person: Watched) -> None:
    page = person.page

    await page.get_by_label("Name").press_sequentially("Adq")
    await page.keyboard.press("Backspace")
    await page.keyboard.type("a")
    await page.get_by_label("Dish").focus()
    await page.keyboard.type("Cu")
    await page.get_by_label("Day").focus()
    await page.keyboard.type("12242026")
    await page.get_by_label("News").check()
    await page.get_by_text("Large").click()
    await page.get_by_label("Note").fill("two\nlines")
    await person.did(6)

    assert person.brief() == [
        {"action": "fill", "target": {"role": "textbox", "name": "Name"}, "value": "{{name}}"},
        {"action": "select_option", "target": {"role": "combobox", "name": "Dish"}, "value": "{{dish}}"},
        {"action": "fill", "target": {"role": "textbox", "name": "Day"}, "value": "{{day}}"},
        {"action": "check", "target": {"role": "checkbox", "name": "News"}},
        {"action": "check", "target": {"role": "radio", "name": "Large"}},
        {"action": "fill", "target": {"role": "textbox", "name": "Note"}, "value": "{{note}}"},
    ]
    task = person.task().task
    assert {name: given.example or given.default for name, given in task.parameters.items()} == {
        "name": "Ada", "dish": "Curry", "day": "2026-12-24", "note": "two\nlines",
    }  # fmt: skip


async def test_a_password_is_a_secret_without_being_asked(person: Watched) -> None:
    await person.page.get_by_label("Password").fill("correct horse")
    await person.did(1)

    assert person.brief()[0]["value"] == "{{secret:PASSWORD}}"
    assert person.task().task.secrets == ("PASSWORD",)
    told = person.task().model_dump_json() + "".join(person.recorder.lines) + repr(person.recorder.steps[0].act)
    assert "horse" not in told


async def test_what_a_click_sent_makes_its_effect_and_what_appeared_its_expectation(person: Watched) -> None:
    page = person.page
    await page.get_by_label("Name").fill("Ada")
    await person.did(1)

    await page.get_by_text("Order now").click()
    await person.did(2)

    task = person.task().task
    order = task.steps[1]
    assert order.effect is Effect.COMMIT
    expected = {"text_contains": "Ordered for {{name}}"}
    assert [one.model_dump(exclude_none=True) for one in order.expect] == [expected]
    assert [one.model_dump(exclude_none=True) for one in task.verify] == [expected]
    assert person.recorder.lines[1] == '2. click the "Order now" button  [has consequences]'


async def test_enter_in_a_field_is_a_key_and_not_the_click_that_the_browser_makes_of_it(person: Watched) -> None:
    await person.page.get_by_label("Name").fill("Ada")
    await person.page.get_by_label("Name").press("Enter")
    await person.did(2)

    assert [step["action"] for step in person.brief()] == ["fill", "press"]
    assert person.brief()[1]["keys"] == "Enter"


async def test_a_button_that_is_pressed_by_the_keyboard_is_clicked(person: Watched) -> None:
    await person.page.get_by_role("button", name="Order now").press("Enter")
    await person.did(1)

    assert [(step["action"], step["target"]["name"]) for step in person.brief()] == [("click", "Order now")]


async def test_shortcuts_count_and_editing_keys_do_not(person: Watched) -> None:
    page = person.page
    await page.get_by_label("Name").fill("Ada")
    await page.keyboard.press("Control+A")
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Control+k")
    await page.keyboard.press("Escape")
    await person.did(3)

    assert [(step["action"], step.get("keys")) for step in person.brief()] == [
        ("fill", None), ("press", "Control+k"), ("press", "Escape"),
    ]  # fmt: skip


async def test_double_clicks_switches_and_equal_buttons(person: Watched) -> None:
    page = person.page
    await page.get_by_role("button", name="Twice").dblclick()
    await page.get_by_role("switch").click()
    await page.get_by_role("listitem").filter(has_text="Grace").get_by_role("button").click()
    await person.did(3)

    delete = {"role": "button", "name": "Delete", "within": {"role": "listitem", "text": "Grace"}}
    assert [(step["action"], step["target"]) for step in person.brief()] == [
        ("double_click", {"role": "button", "name": "Twice"}),
        ("check", {"role": "switch", "name": "Dark"}),
        ("click", delete),
    ]


async def test_fields_in_frames_and_shadow_roots(person: Watched) -> None:
    await person.page.frame_locator("iframe").get_by_label("City").fill("Bern")
    await person.page.get_by_label("Street").fill("Long Lane")
    await person.did(2)

    assert [(step["target"], step["value"]) for step in person.brief()] == [
        ({"role": "textbox", "name": "City", "frame": ["inner"]}, "{{city}}"),
        ({"role": "textbox", "name": "Street"}, "{{street}}"),
    ]


async def test_dialogs_are_answered_as_the_person_did(person: Watched) -> None:
    page = person.page
    page.remove_listener("dialog", person.leave)
    page.once("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="Ask").click()
    await person.did(1)
    page.once("dialog", lambda dialog: dialog.accept("Ada"))
    await page.get_by_role("button", name="Prompt").click()
    await person.did(2)

    assert [(step["dialog"], step.get("dialog_text")) for step in person.brief()] == [
        ("accept", None), ("accept", "{{answer}}"),
    ]  # fmt: skip


async def test_a_tab_that_a_link_opens_is_gone_on_in_and_left_again(person: Watched) -> None:
    page = person.page
    async with page.context.expect_page() as opened:
        await page.get_by_role("link", name="New tab").click()
    second = await opened.value
    await person.did(1)
    await second.get_by_role("button", name="Fine").click()
    await person.did(2)
    await page.get_by_label("Name").fill("Ada")
    await person.did(3)

    assert [(step["action"], step.get("tab")) for step in person.brief()] == [
        ("click", None), ("click", None), ("switch_tab", "first"), ("fill", None),
    ]  # fmt: skip


async def test_typed_addresses_and_going_back_are_steps_and_links_are_not(person: Watched, site: Site) -> None:
    page = person.page
    await page.get_by_role("link", name="Leave").click()
    await person.did(1)
    await page.goto(site.url("recording_second.html"))
    await person.did(2)

    assert [(step["action"], step.get("url")) for step in person.brief()] == [
        ("click", None), ("goto", site.url("recording_second.html")),
    ]  # fmt: skip


async def test_files_and_drags(person: Watched, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ada")
    page = person.page
    await page.get_by_label("Letter").set_input_files(letter)
    await page.mouse.move(620, 210)
    await page.mouse.down()
    await page.mouse.move(630, 260, steps=4)
    await page.mouse.move(650, 330, steps=4)
    await page.mouse.up()
    await person.did(2)

    upload, drag = person.brief()
    assert (upload["action"], upload["files"]) == ("upload", ["{{file}}"])
    assert person.task().task.parameters["file"].default == "letter.txt"
    assert (drag["target"], drag["to"]) == ({"role": "img", "name": "Box"}, {"role": "region", "name": "Bin"})


async def test_the_person_undoes_keeps_values_and_points_at_what_must_be_there(person: Watched) -> None:
    page, recorder = person.page, person.recorder
    await page.get_by_label("Name").fill("Ada")
    await page.get_by_label("Note").fill("Hello")
    await person.did(2)

    recorder.undo()
    recorder.toggle_parameter()
    recorder.point()
    await page.get_by_role("heading", name="Order").click()
    await person.pointed()
    recorder.set_effect(Effect.COMMIT)

    task = person.task().task
    assert [(step.action, getattr(step, "value", "")) for step in task.steps] == [("fill", "Ada")]
    assert [one.model_dump(exclude_none=True) for one in task.steps[0].expect] == [
        {"exists": {"role": "heading", "name": "Order"}}
    ]
    assert not task.parameters
    assert recorder.lines == ['1. fill the "Name" field = Ada  [has consequences, always this value, 1 checked]']


async def test_a_pause_records_nothing(person: Watched) -> None:
    person.recorder.pause()
    await person.page.get_by_label("Name").fill("Ada")
    await person.demonstration.look(())
    person.recorder.pause()
    await person.page.get_by_label("Note").fill("Hello")
    await person.did(1)

    assert [step["value"] for step in person.brief()] == ["{{note}}"]


async def test_who_closes_the_browser_has_finished_and_keeps_what_was_shown(person: Watched) -> None:
    await person.page.get_by_label("Name").fill("Ada")
    await person.did(1)
    await person.page.close()
    await person.ended()

    assert [step["value"] for step in person.brief()] == ["{{name}}"]
