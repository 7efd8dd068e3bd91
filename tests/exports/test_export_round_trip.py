"""Scripts that were exported, imported again: the same is done to the same elements."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replaywright.export import Format
from replaywright.imports import read_recording
from tests.exports.samples import skill_of, told, webmail_skill
from tests.imports.reading import steps

VALUES = {
    "base_url": "http://mail.example",
    "to": "ada@example.com",
    "subject": "Minutes",
    "body": "Hello Ada",
    "priority": "High",
}


def done(text: str) -> list[tuple[str, Any]]:
    """What a script does to which elements; not what it expects, nor with which values."""
    imported = steps(read_recording(text, "again"))
    return [(step["action"], step.get("target")) for step in imported if step["action"] not in ("goto", "wait_for")]


@pytest.mark.parametrize("form", [Format.PYTHON, Format.PYTEST, Format.DEVTOOLS])
def test_the_learned_task_is_the_same_when_its_script_is_imported(form: Format) -> None:
    skill, recordings = webmail_skill()

    text = told(skill, recordings, form, **(VALUES if form is Format.DEVTOOLS else {})).text

    assert done(text) == [
        ("fill", {"role": "textbox", "name": "User name"}),
        ("fill", {"role": "textbox", "name": "Password"}),
        ("click", {"role": "button", "name": "Log in"}),
        ("click", {"role": "link", "name": "Compose"}),
        ("fill", {"role": "textbox", "name": "To"}),
        ("fill", {"role": "textbox", "name": "Subject"}),
        ("select_option", {"role": "combobox", "name": "Priority"}),
        ("fill", {"role": "textbox", "name": "Message"}),
        ("click", {"role": "button", "name": "Send"}),
    ]
    assert read_recording(text, "again").task.secrets == ("PASSWORD",)


NAMES = st.text("abc ÄÖ邮件'&-.,:;!?()", min_size=1, max_size=30).filter(
    lambda name: name == " ".join(name.split()) and any(map(str.isalnum, name))
)
ACTIONS = st.one_of(
    st.builds(lambda name: ("click", {"role": "button", "name": name}), NAMES),
    st.builds(lambda name: ("double_click", {"role": "link", "name": name}), NAMES),
    st.builds(lambda name: ("hover", {"role": "menuitem", "name": name}), NAMES),
    st.builds(lambda name: ("fill", {"role": "textbox", "name": name}), NAMES),
    st.builds(lambda name: ("select_option", {"role": "combobox", "name": name}), NAMES),
)


@settings(max_examples=60)
@given(st.lists(ACTIONS, min_size=1, max_size=5), st.sampled_from([Format.PYTHON, Format.PYTEST, Format.DEVTOOLS]))
def test_any_task_is_the_same_when_its_script_is_imported(actions: list[tuple[str, Any]], form: Format) -> None:
    valued = {"fill": {"value": "some text"}, "select_option": {"value": "some option"}}
    written = [
        {"action": action, "instruction": f"number {number}", "target": target, **valued.get(action, {})}
        for number, (action, target) in enumerate(actions)
    ]

    text = told(skill_of(written), None, form).text

    assert done(text) == actions
