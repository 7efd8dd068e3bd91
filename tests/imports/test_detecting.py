"""Which recording a text is, and what is said of one that is none; nothing that is given may end in a crash."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replaywright.cli.record.keeping import task_file
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid
from replaywright.imports import KINDS_SAID, Imported, RecordingKind, read_recording, task_name
from replaywright.yaml_files import parse_yaml
from tests.imports.reading import RECORDINGS

FILES = {
    RecordingKind.DEVTOOLS: "devtools_webmail.json",
    RecordingKind.HYPERAGENT: "hyperagent_webmail.json",
    RecordingKind.BROWSER_USE: "browser_use_webmail.json",
    RecordingKind.CODEGEN: "codegen_webmail.py.txt",
}
TEXTS = {kind: (RECORDINGS / name).read_text("utf-8") for kind, name in FILES.items()}


@pytest.mark.parametrize("kind", list(RecordingKind))
def test_the_kind_is_seen_in_the_content(kind: RecordingKind) -> None:
    seen = read_recording("\ufeff" + TEXTS[kind], "mail")
    said = read_recording(TEXTS[kind], "mail", kind.value)

    assert seen.kind is kind
    assert said == seen


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "is empty"),
        ("   \n", "is empty"),
        ("hello there, this is no recording", "found neither JSON nor Python, but 'hello there"),
        ("{broken", "line 1, column 2: not JSON"),
        ("[]", "a JSON list of 0"),
        ("{}", "a JSON object with nothing in it"),
        ('{"name": "x", "version": 1}', "a JSON object with 'name', 'version'"),
        ('{"steps": [3, "click"]}', "a JSON object with 'steps'"),
        ("print('hello')", "Python in which no page is driven"),
        ("def run(page):\n  page.goto('https://x.example'\n", "found neither JSON nor Python"),
        ("import { test } from '@playwright/test';\n", "a script in JavaScript"),
        ("a" * 2_000_000, "characters; 1048576 can be read"),
        ("[" * 100_000, "nested too deeply"),
        ('{"steps": [{"type": "navigate", "timeout": ' + "9" * 5_000 + "}]}", "not JSON that can be read"),
        ('{"title": "x", "steps": [{"type": "setViewport"}]}', "no step to take over"),
    ],
)
def test_what_is_no_recording_is_refused_with_what_was_found(text: str, found: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        read_recording(text, "mail")

    assert found in str(refused.value)


def test_the_four_kinds_are_named_when_none_is_seen() -> None:
    for text in ("{}", "no recording", "print(1)"):
        with pytest.raises(InputInvalid) as refused:
            read_recording(text, "mail")
        assert KINDS_SAID in str(refused.value)


def test_a_kind_that_is_none_or_does_not_fit_is_refused() -> None:
    for kind, text in (("selenium", TEXTS[RecordingKind.CODEGEN]), ("browser-use", TEXTS[RecordingKind.DEVTOOLS])):
        with pytest.raises(InputInvalid):
            read_recording(text, "mail", kind)
    with pytest.raises(InputInvalid, match="line 1: not Python"):
        read_recording("{nothing", "mail", "codegen")


def test_a_name_that_is_none_is_refused_with_one_that_would_do() -> None:
    with pytest.raises(InputInvalid, match="'send-mail' for example"):
        read_recording(TEXTS[RecordingKind.DEVTOOLS], "Send mail!")

    assert [task_name(text) for text in ("Send a Mail (2).json", "发送", "-" * 80)] == [
        "send-a-mail-2-json",
        "imported",
        "imported",
    ]


@pytest.mark.parametrize("deep", ["page" + ".first" * 30_000 + ".click()", "x = " + "-" * 60_000 + "1", "(" * 5_000])
def test_a_script_that_is_nested_deeply_is_told_and_not_followed(deep: str) -> None:
    text = f"def run(page):\n    page.goto('https://shop.example/')\n    {deep}\n"

    with pytest.raises(InputInvalid):
        read_recording(text, "mail", "codegen")


def test_a_recording_of_too_many_steps_is_refused() -> None:
    steps = [{"type": "navigate", "url": "https://shop.example/"}] * 2_001

    with pytest.raises(InputInvalid, match="more than 2000 steps"):
        read_recording(json.dumps({"title": "x", "steps": steps}), "mail")


def attempt(text: str, kind: str | None = None) -> Imported | None:
    """What is made of it; None if it was refused as input. A task has to survive being written and read."""
    try:
        imported = read_recording(text, "mail", kind)
    except InputInvalid:
        return None
    written = task_file(imported, "a test")
    written.encode("utf-8")
    assert parse_task(parse_yaml(written, "the file"), "the file") == imported.task
    return imported


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
TRICKY = st.sampled_from(
    [
        "{{x}}",
        "{{secret:PASSWORD}}",
        "{{a-b}}",
        "\x00",
        "\ud800",
        "\u2028",
        "\ufffe",
        "",
        "a" * 5_000,
        "http://[",
        "<<>>",
    ]
) | st.sampled_from(["<secret></secret>", "+", "//", "aria/", "\\", "'\"", "🚀", "https://u:p@x.example/"])
CODE = st.sampled_from(["page", "await ", ".first", "(", ")", "None", "[]", "=", "*a", "**b", "for x in y:"])


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The ways to everything inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


def changed(value: Any, path: tuple[str | int, ...], put: Any) -> Any:
    """A copy with something else at the place."""
    if not path:
        return put
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = changed(value[path[0]], path[1:], put)
    return copied


@pytest.mark.parametrize("kind", [RecordingKind.DEVTOOLS, RecordingKind.HYPERAGENT, RecordingKind.BROWSER_USE])
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_recording_with_something_else_in_it_is_read_or_refused(kind: RecordingKind, data: st.DataObject) -> None:
    recording = json.loads(TEXTS[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.sampled_from(places(recording)[1:] or [()]))
        recording = changed(recording, place, data.draw(JSON | TRICKY))

    attempt(json.dumps(recording), data.draw(st.sampled_from([None, kind.value])))


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_script_with_something_else_in_it_is_read_or_refused(data: st.DataObject) -> None:
    lines = TEXTS[RecordingKind.CODEGEN].splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        cut = data.draw(st.integers(0, len(line)))
        end = data.draw(st.integers(cut, len(line)))
        put = data.draw(st.text(max_size=6) | TRICKY | CODE)
        lines[at] = line[:cut] + put + line[end:]

    attempt("\n".join(lines))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    attempt(text)


ACTIONS = st.sampled_from(
    ["click", "hover", "doubleClick", "change", "scroll", "waitForElement", "customStep", "close", "x", "navigate"]
)
STEPS = st.fixed_dictionaries({"type": ACTIONS}, optional={"value": TRICKY, "url": TRICKY, "selectors": JSON})


@settings(max_examples=50)
@given(st.lists(STEPS, max_size=8))
def test_every_action_of_a_recording_is_a_step_or_has_a_note(actions: list[dict[str, Any]]) -> None:
    first = {"type": "navigate", "url": "https://shop.example/"}
    imported = attempt(json.dumps({"title": "x", "steps": [first, *actions]}))

    assert imported is not None
    noted = {note.where for note in imported.notes if note.kind != "check"}
    assert len(imported.task.steps) + len(noted & {f"steps[{n}]" for n in range(len(actions) + 1)}) >= len(actions) + 1
