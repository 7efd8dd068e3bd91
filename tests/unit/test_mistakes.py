"""Mistakes in a task file: each with its line, its field, the nearest known name and the remedy."""

import re
from pathlib import Path

import pytest

import replaywright.browser.page
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.page.targets import ROLES, ElementQuery
from replaywright.errors import Mistakes

_YAML = """\
task: pay
steps:
  - action: goto
    url: https://shop.example/
  - action: click
    instruction: yes
    target: {role: buton, name: Pay}
  - action: fill
    instruction: the amount
    vale: 3
    expect:
      - any_of:
          - exist: {role: status}
          - exists: {rol: status}
  - action: clik
    instruction: the pay button
  - action: fill
    instruction: the note
    value: 12
verify: [{url_contains: /paid}]
paramters: {}
"""
_JSON = """{
  "task": "pay",
  "steps": [
    {"action": "goto", "url": "https://shop.example/"},
    {"action": "click",
     "instruktion": "the pay button", "instruction": "x"}
  ],
  "verify": [{"url_contains": "/paid"}]
}"""

_TRUTH = "should be a text, and YAML reads yes, on or true as a truth value"


def _mistakes(folder: Path, name: str, text: str) -> list[str]:
    file = folder / name
    file.write_text(text)
    with pytest.raises(Mistakes) as raised:
        read_task(str(file))
    return [line.removeprefix(f"{folder}/") for line in raised.value.lines]


def test_each_mistake_of_a_file_has_its_line_its_field_and_a_remedy_in_the_order_of_the_file(tmp_path: Path) -> None:
    assert _mistakes(tmp_path, "pay.yaml", _YAML) == [
        f"pay.yaml:6: steps[1].instruction: {_TRUTH}: write it in quotes",
        "pay.yaml:7: steps[1].target.role: unknown role 'buton'; did you mean 'button'?",
        "pay.yaml:8: steps[2].value: this field is required",
        "pay.yaml:10: steps[2].vale: unknown field; did you mean 'value'?",
        "pay.yaml:13: steps[2].expect[0].any_of[0]: unknown condition; did you mean 'exists'?",
        "pay.yaml:14: steps[2].expect[0].any_of[1].exists.rol: unknown field; did you mean 'role'?",
        "pay.yaml:15: steps[3]: unknown action 'clik'; did you mean 'click'?",
        "pay.yaml:19: steps[4].value: should be a text, and this is a number, 12: write it in quotes",
        "pay.yaml:21: paramters: unknown field; did you mean 'parameters'?",
    ]


def test_lines_of_json_are_told_as_well(tmp_path: Path) -> None:
    assert _mistakes(tmp_path, "pay.json", _JSON) == [
        "pay.json:6: steps[1].instruktion: unknown field; did you mean 'instruction'?"
    ]


def test_json_that_is_indented_by_tabs_has_lines_too(tmp_path: Path) -> None:
    text = '{\n\t"task": "pay",\n\t"stepz": [],\n\t"steps": [{"action": "go_back"}], "url": "a\\/b", "goal": null\n}'

    assert _mistakes(tmp_path, "pay.json", text) == [
        "pay.json:3: stepz: unknown field; did you mean 'steps'?",
        "pay.json:4: goal: should be a text, found nothing",
    ]


def test_a_name_that_is_like_no_other_refers_to_the_schema(tmp_path: Path) -> None:
    text = "task: a\nqqqqq: 1\nsteps: [{action: goto, url: 'https://x/'}]\nverify: [{url_contains: x}]\n"

    assert _mistakes(tmp_path, "a.yaml", text) == ["a.yaml:2: qqqqq: unknown field; see `replaywright admin schema`"]


def test_every_role_that_a_page_can_give_may_be_written() -> None:
    page = Path(replaywright.browser.page.__file__).with_name("roles.js").read_text()
    listed = re.search(r"const ROLES = new Set\(\((.*?)\)\.split", page, re.DOTALL)
    assert listed is not None
    given = set("".join(re.findall(r'"([^"]*)"', listed[1])).split()) - {
        "directory",
        "generic",
        "image",
        "none",
        "presentation",
    }

    assert given
    assert ROLES - given == {"directory"}
    assert [ElementQuery(role=role).role for role in sorted(given)] == sorted(given)
