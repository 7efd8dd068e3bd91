"""Recordings that are small, and that a careless reader would never finish, or would fill the memory with.

Nothing is timed: each of these took hours, or more memory than any machine has, before it was bounded.
"""

import json
from typing import Any

import pytest

from replaywright.errors import InputInvalid
from replaywright.imports import read_recording
from replaywright.imports.data import TEXT_LIMIT

SCRIPT = "from playwright.sync_api import Page\n\n\ndef run(page: Page):\n"


def devtools(**step: Any) -> str:
    first = {"type": "navigate", "url": "https://shop.example/"}
    return json.dumps({"title": "x", "steps": [first, {"type": "click", "selectors": [["#a"]], **step}]})


@pytest.mark.parametrize("doubling", ["a = a + a", 'a = f"{a}{a}"'])
def test_a_name_that_doubles_with_each_line_is_no_known_text(doubling: str) -> None:
    text = SCRIPT + '    page.goto("https://shop.example/")\n    a = "ab"\n' + f"    {doubling}\n" * 80
    text += '    page.get_by_label("Name").fill(a)\n'

    imported = read_recording(text, "doubled")

    assert len(imported.task.model_dump_json()) < 10_000


@pytest.mark.parametrize(
    "text",
    [
        "await page." + "A" * 1_000_000,
        "await page.aB(" * 70_000 + "\n",
        "await page.goto" + "A" * 1_000_000 + ";\n",
    ],
    ids=["letters", "calls", "a statement"],
)
def test_a_script_that_is_nearly_javascript_is_told_apart_in_one_pass(text: str) -> None:
    with pytest.raises(InputInvalid):
        read_recording(text, "nearly")


def test_javascript_is_still_told_by_its_calls() -> None:
    with pytest.raises(InputInvalid, match="a script in JavaScript"):
        read_recording("  await page.waitForSelector('#a');  \n", "script")


@pytest.mark.parametrize(
    "step",
    [
        {"type": "change", "value": "<" * 1_000_000},
        {"selectors": [["aria/" + '[name="' * 200_000]]},
        {"selectors": [["xpath//" + "a/" * 500_000]]},
        {"type": "navigate", "url": "https://shop.example/" + "a" * 1_000_000},
    ],
    ids=["value", "aria", "xpath", "url"],
)
def test_a_text_that_no_step_has_is_refused_with_its_length(step: dict[str, Any]) -> None:
    with pytest.raises(InputInvalid, match=rf"characters, and may have {TEXT_LIMIT:,}; record it with a shorter"):
        read_recording(devtools(**step), "long")


@pytest.mark.parametrize("opening", ["<secret>", "<<"])
def test_a_placeholder_that_never_ends_is_a_text(opening: str) -> None:
    recording = devtools(type="change", value=opening + " " * (TEXT_LIMIT - 10))

    assert read_recording(recording, "open").task.steps


def test_a_screenshot_of_megabytes_is_not_looked_at() -> None:
    assert read_recording(devtools(screenshot="A" * 5_000_000), "pictured").task.steps


@pytest.mark.parametrize("name", ["../../etc/cron", "-rf", "a\x00b", "\u202egnp", "CON ", "a" * 64])
def test_a_recording_gets_no_hostile_name(name: str) -> None:
    with pytest.raises(InputInvalid, match="is no task's name"):
        read_recording(devtools(), name)
