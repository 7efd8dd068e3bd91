"""Recordings of Chrome's DevTools: which steps they yield, and what is told of the rest."""

from typing import Any

import pytest

from tests.imports.reading import brief, devtools, recorded, steps, told

SEND = {"type": "click", "target": "main", "selectors": [["aria/Send"], ["#send"]], "offsetX": 3, "offsetY": 4}


def key(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "target": "main", "key": name}


def test_a_recorded_mail_becomes_steps_parameters_and_conditions() -> None:
    imported = recorded("devtools_webmail.json")

    assert brief(imported) == [
        "goto url=http://webmail.test/login",
        "fill value={{user_name}} (label User name)",
        "press keys=Tab (label User name)",
        "fill value={{secret:PASSWORD}} (label Password)",
        "click (css #rcmloginsubmit, name Log in)",
        "click (css #rcmbtn103, name Compose)",
        "fill value={{to}} (name To, role textbox)",
        "fill value={{subject}} (label Subject)",
        "select_option value={{priority}} (name Priority, role combobox)",
        "fill value={{message}} (label Message)",
        "click (css #rcmbtn107, name Send)",
        "wait_for",
    ]
    assert imported.task.goal == "Send a mail"
    assert [step.get("expect") for step in steps(imported)[4:6]] == [
        [{"url_contains": "/inbox"}],
        [{"url_contains": "/compose"}],
    ]
    assert [one.model_dump(exclude_none=True) for one in imported.task.verify] == [
        {"url_contains": "/sent"},
        {"exists": {"role": "link", "name": "{{subject}}"}},
    ]
    assert told(imported, "left_out") == [
        ("steps[0]", "setViewport"),
        ("steps[14]", "scroll"),
        ("steps[17]", "waitForExpression"),
        ("steps[18]", "customStep lighthouse"),
        ("steps", "offsetX, offsetY of 5 clicks"),
    ]
    assert told(imported, "changed") == [("steps[2]", "click"), ("steps[9]", "click")]
    assert "correct horse" not in imported.model_dump_json()


@pytest.mark.parametrize(
    ("selectors", "target"),
    [
        ([['aria/Send[role="button"]'], ["#x"]], {"name": "Send", "role": "button"}),
        ([["aria/Send"], ["form > button.primary"]], {"name": "Send", "role": "button"}),
        ([["aria/Send"], ["xpath//html/body/main/a[2]"]], {"name": "Send", "role": "link"}),
        ([["aria/Send"], ["#send"]], {"name": "Send", "css": "#send"}),
        ([["aria/Send"]], {"name": "Send"}),
        (
            [["aria/Send", 'aria/[role="generic"]'], ["#bar > button > span"], ["text/Send"]],
            {"name": "Send", "role": "button"},
        ),
        ([["aria/Send", 'aria/[role="generic"]'], ["#bar span"], ["text/Send"]], {"name": "Send"}),
        ([["aria/A dialog", 'aria/[role="generic"]'], ["#bar span.x"]], {"css": "#bar span.x"}),
        ([["[data-testid='send']"], ["aria/Send"]], {"test_id": "send"}),
        ([["#bar > div.send"], ["text/Send"]], {"css": "#bar > div.send"}),
        ([["div:nth-of-type(2) > span"], ["text/Send now"]], {"text": "Send now"}),
        ([['xpath///*[@id="bar"]/div[2]']], {"css": '[id="bar"] > div:nth-of-type(2)'}),
        (["#plain"], {"css": "#plain"}),
        ([["my-host", "#inner"], ["aria/Inner button"]], {"name": "Inner button"}),
    ],
)
def test_the_selector_that_says_best_what_the_element_is_becomes_the_target(
    selectors: list[Any], target: dict[str, Any]
) -> None:
    imported = devtools({"type": "click", "target": "main", "selectors": selectors})

    assert steps(imported)[1]["target"] == target


@pytest.mark.parametrize("selectors", [None, [], [["pierce/.x"], ["my-host", "#inner"]], [[3]], "#a"])
def test_a_step_whose_element_no_query_can_say_is_left_to_its_instruction(selectors: Any) -> None:
    imported = devtools({"type": "click", "target": "main", "selectors": selectors})

    assert brief(imported)[1] == "click"
    assert ("steps[1]", "click") in told(imported, "check")


def test_keys_are_pressed_together_and_on_what_has_the_focus() -> None:
    imported = devtools(
        {"type": "change", "value": "milk", "selectors": [["aria/Search"]]},
        key("keyDown", "Enter"),
        key("keyUp", "Enter"),
        key("keyDown", "ControlLeft"),
        key("keyDown", "KeyS"),
        key("keyUp", "KeyS"),
        key("keyUp", "ControlLeft"),
        key("keyDown", "AudioVolumeUp"),
        key("keyUp", "AudioVolumeUp"),
    )

    assert brief(imported)[1:] == [
        "fill value={{search}} (label Search)",
        "press keys=Enter (label Search)",
        "press keys=Control+s (label Search)",
    ]
    assert told(imported, "left_out") == [("steps[8]", "keyDown AudioVolumeUp")]


def test_tabs_frames_buttons_lists_and_files_are_taken_over_or_told() -> None:
    popup = {"target": "https://pay.example/card?id=7"}
    imported = devtools(
        SEND,
        SEND | popup | {"button": "secondary", "frame": [0]},
        {"type": "close", **popup},
        {"type": "change", "value": "de", "selectors": [["form > select"]]},
        {"type": "change", "value": "C:\\fakepath\\invoice.pdf", "selectors": [["aria/File"]]},
        {"type": "doubleClick", "selectors": [["#a"]], "timeout": 2000},
        {"type": "hover", "selectors": [["#a"]]},
        {"type": "scroll", "x": 0, "y": 0},
        {"type": "waitForElement", "selectors": [["#rows tr"]], "operator": ">=", "count": 3},
        {"type": "waitForElement", "selectors": [["#spinner"]], "visible": False},
        SEND | {"button": "back"},
        {"type": "emulateNetworkConditions", "download": 1, "upload": 1, "latency": 1},
        {"type": "teleport"},
    )

    assert brief(imported)[1:] == [
        "click (css #send, name Send)",
        "switch_tab url_contains=https://pay.example/card",
        "click (css #send, name Send)",
        "close_tab",
        "select_option value={{value}} (css form > select)",
        "upload files=['{{file}}'] (label File)",
        "double_click (css #a)",
        "hover (css #a)",
        "wait_for",
        "wait_for",
    ]
    assert [step["expect"] for step in steps(imported)[-2:]] == [
        [{"count": {"css": "#rows tr"}, "at_least": 3}],
        [{"not_exists": {"css": "#spinner"}}],
    ]
    assert steps(imported)[3]["button"] == "right"
    assert steps(imported)[7]["timeout_ms"] == 2000
    assert ("steps[2]", "click") in told(imported, "changed")
    assert told(imported, "left_out")[:4] == [
        ("steps[8]", "scroll"),
        ("steps[11]", "click"),
        ("steps[12]", "emulateNetworkConditions"),
        ("steps[13]", "teleport"),
    ]


def test_what_is_ticked_is_set_and_not_turned_over() -> None:
    box, radio = [['aria/Mail me[role="checkbox"]']], [["aria/Large"], ["form > input[type='radio']"]]
    imported = devtools(
        {"type": "click", "target": "main", "selectors": box},
        {"type": "change", "value": "on", "target": "main", "selectors": box},
        {"type": "change", "value": "false", "target": "main", "selectors": box},
        {"type": "change", "value": "large", "target": "main", "selectors": radio},
    )

    assert brief(imported)[1:] == [
        "check (name Mail me, role checkbox)",
        "uncheck (name Mail me, role checkbox)",
        "check (name Large, role radio)",
    ]


def test_an_element_that_is_known_by_its_place_alone_is_marked() -> None:
    imported = devtools({"type": "click", "selectors": [["div:nth-of-type(2) > span"]]})

    (note,) = [note for note in imported.notes if note.where == "steps[1]"]
    assert "by its place alone" in note.advice


def test_braces_in_a_recording_are_never_read_as_parameters() -> None:
    imported = devtools(
        {"type": "change", "value": "Dear {{name}}", "selectors": [["aria/Text {{x}}"], ["#text"]]},
        {"type": "click", "selectors": [["aria/Send {{secret:PASSWORD}}"]]},
    )

    assert brief(imported)[1:] == ["fill value={{value}} (css #text)", "click"]
    assert imported.task.parameters["value"].example == "Dear {{name}}"
