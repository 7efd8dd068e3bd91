"""HyperAgent's action caches and browser-use's histories: which steps they yield, and what is told of the rest."""

import json
from typing import Any

from replaywright.imports import Imported, read_recording
from tests.imports.reading import brief, recorded, steps, told


def cache(*entries: dict[str, Any]) -> Imported:
    first = {"stepIndex": 0, "actionType": "goToUrl", "arguments": ["https://shop.example/"], "success": True}
    return read_recording(json.dumps({"taskId": "1", "status": "completed", "steps": [first, *entries]}), "shop")


def act(
    method: str, *arguments: str, instruction: str = "", xpath: str | None = "/html/body/main/input[1]"
) -> dict[str, Any]:
    return {
        "actionType": "actElement",
        "method": method,
        "arguments": list(arguments),
        "instruction": instruction,
        "xpath": xpath,
        "frameIndex": 0,
        "success": True,
    }


def history(*moments: tuple[dict[str, Any], dict[str, Any] | None], url: str = "https://shop.example/") -> Imported:
    items = [
        {
            "model_output": {"action": [action]},
            "result": [{"is_done": False}],
            "state": {"url": url, "title": "", "tabs": [], "interacted_element": [element]},
        }
        for action, element in moments
    ]
    return read_recording(json.dumps({"history": items}), "shop")


def element(tag: str, ax_name: str | None = None, **attributes: str) -> dict[str, Any]:
    attributes = {key.replace("_", "-"): value for key, value in attributes.items()}
    return {"node_name": tag.upper(), "attributes": attributes, "x_path": f"html/body/{tag}[2]", "ax_name": ax_name}


def test_a_hyperagent_cache_becomes_steps_by_path_and_instruction() -> None:
    imported = recorded("hyperagent_webmail.json")

    assert [step["action"] for step in steps(imported)] == [
        "goto", "fill", "fill", "click", "click", "type", "fill", "select_option", "fill", "click",
    ]  # fmt: skip
    assert [step.get("value") for step in steps(imported) if "value" in step] == [
        "{{user_name}}",
        "{{secret:MAIL_PASSWORD}}",
        "{{to}}",
        "{{subject}}",
        "{{priority}}",
        "{{message}}",
    ]
    click = steps(imported)[4]
    assert click["instruction"] == "Click the Compose link"
    assert click["target"]["css"].startswith("html > body > table:nth-of-type(2) > tbody:nth-of-type(1)")
    assert steps(imported)[5]["instruction"] == "Type … into the To field"
    assert imported.task.parameters["subject"].example == ""
    assert told(imported, "left_out") == [
        ("steps[4]", "actElement"),
        ("steps[10]", "wait"),
        ("steps[11]", "nextChunk"),
        ("steps[13]", "extract"),
        ("steps[14]", "complete"),
    ]
    assert len([note for note in imported.notes if "by its place alone" in note.advice]) == 9


def test_the_result_of_a_hyperagent_task_has_its_cache_inside() -> None:
    steps_ = [{"actionType": "goToUrl", "actionParams": {"url": "https://shop.example/"}}]
    imported = read_recording(json.dumps({"taskId": "1", "actionCache": {"steps": steps_}}), "shop")

    assert brief(imported) == ["goto url=https://shop.example/"]


def test_what_a_hyperagent_cache_has_of_other_actions_is_taken_over_or_told() -> None:
    imported = cache(
        act("press", "Enter"),
        act("hover"),
        act("check"),
        act("scrollToElement"),
        act("scrollToPercentage", "100%"),
        act("fill", "Dear <<name>>, <<card_token>>", instruction="Fill the letter area"),
        act("click", xpath=None, instruction="Click {{Pay}}"),
        act("click", xpath="//*[local-name()='svg']"),
        act("wiggle"),
        {"actionType": "refreshPage", "success": True},
        {"actionType": "invent", "success": True},
        {"no": "type"},
    )

    assert [line.partition(" (")[0] for line in brief(imported)[1:]] == [
        "press keys=Enter",
        "hover",
        "check",
        "scroll",
        "fill value=Dear {{name}}, {{secret:CARD_TOKEN}}",
        "click",
        "click",
    ]
    assert steps(imported)[-2]["instruction"] == "Click ((Pay))"
    assert told(imported, "left_out") == [
        ("steps[5]", "scrollToPercentage"),
        ("steps[9]", "wiggle"),
        ("steps[10]", "refreshPage"),
        ("steps[11]", "invent"),
        ("steps[12]", "a JSON object with 'no'"),
    ]


def test_a_browser_use_history_becomes_steps_parameters_and_conditions() -> None:
    imported = recorded("browser_use_webmail.json")

    assert brief(imported) == [
        "goto url=http://webmail.test/login",
        "fill value={{user_name}} (name User name, role textbox)",
        "fill value={{secret:MAIL_PASSWORD}} (label Password)",
        "click (name Log in, role button)",
        "click (name Compose, role link)",
        "fill value={{to}} (name To, role textbox)",
        "fill value={{subject}} (name Subject, role textbox)",
        "select_option value={{priority}} (name Priority, role combobox)",
        'fill value={{body}} (css textarea[id="composebody"])',
        "click (name Send, role button)",
    ]
    assert [one.model_dump(exclude_none=True) for one in imported.task.verify] == [{"url_contains": "/sent"}]
    assert told(imported, "left_out") == [
        ("history[2].action[0]", "click"),
        ("history[4].action[4]", "scroll"),
        ("history[5].action[1]", "click"),
        ("history[6].action[0]", "extract"),
        ("history[6].action[1]", "done"),
    ]


def test_older_names_of_browser_uses_actions_and_elements_are_read() -> None:
    old = {"tag_name": "input", "xpath": "html/body/form/input[1]", "attributes": {"type": "password", "name": "pw"}}
    imported = history(
        ({"go_to_url": {"url": "https://shop.example/login"}}, None),
        ({"input_text": {"index": 1, "text": "hunter2!"}}, old),
        (
            {"click_element_by_index": {"index": 2}},
            {"tag_name": "button", "xpath": "html/body/button", "attributes": {}},
        ),
        ({"send_keys": {"keys": "Escape"}}, None),
        ({"go_back": {}}, None),
        ({"search_google": {"query": "hunter2!"}}, None),
    )

    assert brief(imported) == [
        "goto url=https://shop.example/login",
        'fill value={{secret:PW}} (css input[name="pw"])',
        "click (css html > body > button)",
        "press keys=Escape",
        "go_back",
    ]
    assert "hunter2" not in imported.model_dump_json()


def test_the_most_telling_of_an_elements_attributes_describes_it() -> None:
    click = {"click": {"index": 1}}
    imported = history(
        (click, element("div", "Menu", role="button", data_testid="menu")),
        (click, element("div", "Menu", role="menuitem")),
        (click, element("div", "Menu")),
        (click, element("input", placeholder="Search mail", type="text")),
        (click, element("input", id="city", type="text")),
        (click, element("input", id=":r7:", name="city", type="text")),
        (click, element("div", id="c0ffee12")),
        ({"click": {"coordinate_x": 3, "coordinate_y": 4}}, None),
    )

    assert brief(imported) == [
        "click (test_id menu)",
        "click (name Menu, role menuitem)",
        "click (css html > body > div:nth-of-type(2), name Menu)",
        "click (placeholder Search mail, role textbox)",
        'click (css input[id="city"])',
        'click (css input[name="city"])',
        "click (css html > body > div:nth-of-type(2))",
    ]
    assert imported.task.url == "https://shop.example/"
    assert told(imported, "left_out") == [("history[7].action[0]", "click")]


def test_a_recording_that_does_not_say_where_it_began_asks_the_caller() -> None:
    imported = history(({"click": {"index": 1}}, element("a", "Home", href="/")), url="about:blank")

    assert imported.task.url == "{{start_url}}"
    assert ("start", "address") in told(imported, "check")
