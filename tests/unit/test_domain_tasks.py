"""Task files: what is refused, and that every refusal names the place and what to do."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common.templates import texts_of
from replaywright.domain.task.actions import Action
from replaywright.domain.task.steps import Click, action_of, arguments_of, names_element
from replaywright.domain.task.tasks import Task, bind_parameters, parse_task
from replaywright.errors import InputInvalid

ROOT = Path(__file__).parents[2]
CLICK = {"action": "click", "instruction": "the send button"}


def task(*steps: object, **fields: Any) -> dict[str, Any]:
    return {"task": "send-mail", "url": "https://mail.example", "steps": list(steps or (CLICK,)), **fields}


def fill_step(value: str) -> dict[str, str]:
    return {"action": "fill", "instruction": "the field", "value": value}


def expecting(*predicates: object) -> dict[str, Any]:
    return {**CLICK, "expect": list(predicates)}


def refusal(data: object) -> str:
    with pytest.raises(InputInvalid) as caught:
        parse_task(data, "mail.yaml")
    return str(caught.value)


ACTIONS = ", ".join(Action)
REFUSALS: list[tuple[object, str]] = [
    ([], "mail.yaml: expected a mapping with task and steps, found list"),
    (None, "mail.yaml: expected a mapping with task and steps, found NoneType"),
    ({"steps": [CLICK], "url": "x"}, "mail.yaml: task: this field is required"),
    (
        task(task="Send mail"),
        r"mail.yaml: task: String should match pattern '^[a-z0-9][a-z0-9-]{0,62}$', found 'Send mail'",
    ),
    (task(steps=[]), "mail.yaml: steps: list at least one step, or give goal and url"),
    (task(steps="click"), "mail.yaml: steps: should be a list, found 'click'"),
    (task(stepz=[]), "mail.yaml: stepz: unknown field; did you mean 'steps'?"),
    (task({"action": "clik"}), "mail.yaml: steps[0]: unknown action 'clik'; did you mean 'click'?"),
    (task({"action": "zzz"}), f"mail.yaml: steps[0]: unknown action 'zzz'; expected one of: {ACTIONS}"),
    (task({"instruction": "x"}), f"mail.yaml: steps[0]: action is missing; expected one of: {ACTIONS}"),
    (task({"action": "click"}), "mail.yaml: steps[0].instruction: this field is required"),
    (
        task(CLICK, {**CLICK, "instruction": ""}),
        "mail.yaml: steps[1].instruction: String should have at least 1 character",
    ),
    (task({**CLICK, "valeu": "x"}), "mail.yaml: steps[0].valeu: unknown field; see `replaywright admin schema`"),
    (task({**CLICK, "target": {"nth": 2}}), "steps[0].target: every element would match; give at least one of role"),
    (task({**CLICK, "target": {"role": "row", "nth": 0}}), "steps[0].target.nth: nth counts from 1, and from -1"),
    (task({**CLICK, "target": {"role": "row", "frame": " "}}), "steps[0].target.frame: a frame is named by its name"),
    (task({**CLICK, "target": {"role": "row", "frame": []}}), "steps[0].target.frame: "),
    (
        task({**CLICK, "target": {"role": "row", "within": {"css": "form", "frame": "x"}}}),
        "steps[0].target: within is in the same document: write frame beside within, not inside it",
    ),
    (
        task({**CLICK, "action": "drag", "to": {"role": "row", "frame": "x"}}),
        "steps[0]: to.frame: to is in the document of the step's target: name the frame in target",
    ),
    (
        task({"action": "extract", "fields": {"x": {"find": {"role": "row", "frame": "x"}}}}),
        "find.frame: find is in the document of the step's target: name the frame in target",
    ),
    (
        task({"action": "for_each", "item": "x", "elements": {"role": "row", "frame": "x"}, "steps": [CLICK]}),
        "elements.frame: elements is in the document of the step's target: name the frame in target",
    ),
    (task({**CLICK, "effect": "maybe"}), "mail.yaml: steps[0].effect: should be 'read', 'idempotent', 'commit' or"),
    (
        task({**CLICK, "timeout_ms": 1}),
        "mail.yaml: steps[0].timeout_ms: should be greater than or equal to 100, found 1",
    ),
    (task({**CLICK, "target": {"roel": "button"}}), "mail.yaml: steps[0].target.roel: unknown field"),
    (task({**CLICK, "target": {}}), "mail.yaml: steps[0].target: every element would match; give at least one of role"),
    (task(CLICK, url=""), "mail.yaml: the file: url is missing: give the page to start on, or make steps[0] a goto"),
    (
        {"task": "t", "steps": [CLICK, {"action": "goto", "url": "/"}]},
        "mail.yaml: the file: url is missing: give the page to start on, or make steps[0] a goto",
    ),
    (task({"action": "goto", "url": ""}), "mail.yaml: steps[0].url: String should have at least 1 character"),
    (
        task({"action": "fill", "instruction": "x", "value": 5}),
        "mail.yaml: steps[0].value: should be a text, and this is a number, 5: write it in quotes",
    ),
    (task({"action": "press", "keys": ""}), "mail.yaml: steps[0].keys: String should have at least 1 character"),
    (task({"action": "scroll"}), "mail.yaml: steps[0]: say what to scroll to: an instruction, a target, or to:"),
    (
        task({**CLICK, "button": "middel"}),
        "mail.yaml: steps[0].button: should be 'left', 'middle' or 'right', found 'middel'",
    ),
    (
        task({**CLICK, "modifiers": ["Ctrl"]}),
        "mail.yaml: steps[0].modifiers[0]: should be 'Alt', 'Control', 'Meta' or 'Shift', found 'Ctrl'",
    ),
    (
        task({**CLICK, "position": {"x": -1, "y": 0}}),
        "mail.yaml: steps[0].position.x: should be greater than or equal to 0, found -1",
    ),
    (
        task({"action": "drag", "instruction": "the card"}),
        "mail.yaml: steps[0]: say where to drop it by exactly one of: to (an element), by (a way: x, y)",
    ),
    (
        task({"action": "drag", "instruction": "the card", "by": {"x": 1}, "to": {"role": "list"}}),
        "mail.yaml: steps[0]: say where to drop it by exactly one of: to (an element), by (a way: x, y)",
    ),
    (
        task({"action": "drag", "instruction": "the card", "by": {"x": 1}, "to_position": {"x": 1, "y": 1}}),
        "mail.yaml: steps[0]: to_position is a place in the element named by to, which is missing",
    ),
    (
        task({"action": "drag", "instruction": "the card", "by": {}}),
        "mail.yaml: steps[0].by: x and y are both 0, which goes nowhere; give at least one of them",
    ),
    (task({"action": "drag", "instruction": "the card", "to": {"roel": "list"}}), "steps[0].to.roel: unknown field"),
    (task({"action": "wait_for"}), "mail.yaml: steps[0]: wait_for needs expect: what to wait for"),
    (task({"action": "switch_tab"}), "mail.yaml: steps[0]: name the tab by exactly one of: tab (latest | first)"),
    (
        task({"action": "switch_tab", "tab": "first", "url_contains": "x"}),
        "mail.yaml: steps[0]: name the tab by exactly one of",
    ),
    (task({"action": "extract", "fields": {}}), "mail.yaml: steps[0].fields: Dictionary should have at least 1 item"),
    (
        task({"action": "extract", "fields": {"n": {"take": "attribute"}}}),
        "mail.yaml: steps[0].fields.n: attribute belongs to take: attribute, which needs it",
    ),
    (task(expecting("sent")), "mail.yaml: steps[0].expect[0]: expected a mapping with one of the keys url_contains"),
    (
        task(expecting({"url_contain": "x"})),
        "mail.yaml: steps[0].expect[0]: unknown condition; did you mean 'url_contains'?",
    ),
    (
        task(CLICK, expecting({"url_contains": "x"}, {"exists": {"roel": "x"}})),
        "mail.yaml: steps[1].expect[1].exists.roel: unknown field",
    ),
    (
        task(expecting({"all_of": [{"not_": {"exists": {"roel": "x"}}}]})),
        "mail.yaml: steps[0].expect[0].all_of[0].not_.exists.roel: unknown field",
    ),
    (
        task(verify=[{"url_matches": "("}]),
        "mail.yaml: verify[0].url_matches: not a regular expression of RE2 (missing )",
    ),
    (task(parameters={"to name": {}}), "mail.yaml: parameters: 'to name' is no parameter name: use letters, digits"),
    (task(parameters={"to": {"type": "mail"}}), "mail.yaml: parameters.to.type: should be 'text', 'email'"),
    (task(parameters={"to": {"type": "choice"}}), "mail.yaml: parameters.to: choices belong to type 'choice'"),
    (task(parameters={"to": {"choices": ["a"]}}), "mail.yaml: parameters.to: choices belong to type 'choice'"),
    (
        task(parameters={"to": {"type": "choice", "choices": ["a", "b"], "default": "c"}}),
        "mail.yaml: parameters.to: default 'c' is none of the choices: a, b",
    ),
    (task(secrets=["MY-PASSWORD"]), "mail.yaml: secrets: 'MY-PASSWORD' is no secret's name: use letters, digits"),
    (task(CLICK, fill_step("{{to}}")), "steps[1] uses undeclared parameter 'to'; add it under parameters"),
    (task(url="{{base}}"), "url uses undeclared parameter 'base'; add it under parameters"),
    (task(verify=[{"text_contains": "{{to}}"}]), "verify uses undeclared parameter 'to'; add it under parameters"),
    (task(fill_step("{{secret:PASSWORD}}")), "steps[0] uses undeclared secret 'PASSWORD'; add it to secrets"),
    (
        task(fill_step("{{sekret:P}}")),
        "steps[0] has '{{sekret:P}}', which is none of {{parameter}}, {{secret:NAME}} and {{totp:NAME}};",
    ),
    (
        task({**CLICK, "instruction": "{{secret:P}}"}, secrets=["P"]),
        "steps[0] uses a secret outside the value of a fill, type or paste step",
    ),
    (
        task({**fill_step("x"), "expect": [{"text_contains": "{{secret:P}}"}]}, secrets=["P"]),
        "steps[0] uses a secret outside the value of a fill, type or paste step",
    ),
    (
        task({"action": "goto", "url": "https://x/?p={{secret:P}}"}, secrets=["P"]),
        "steps[0] uses a secret outside the value of a fill, type or paste step",
    ),
    (
        task({"action": "select_option", "instruction": "x", "value": "{{secret:P}}"}, secrets=["P"]),
        "steps[0] uses a secret outside the value of a fill, type or paste step",
    ),
    (task(url="https://x/{{secret:P}}", secrets=["P"]), "url uses a secret; secrets may only be entered into fields"),
    (
        task(verify=[{"text_contains": "{{secret:P}}"}], secrets=["P"]),
        "verify uses a secret; secrets may only be entered into fields",
    ),
]


@pytest.mark.parametrize(("data", "message"), REFUSALS)
def test_a_wrong_task_is_refused_in_one_line_with_place_and_remedy(data: object, message: str) -> None:
    said = refusal(data)

    assert message in said
    assert said.startswith("mail.yaml: ")
    assert "\n" not in said
    assert "more)" not in said


def test_all_mistakes_are_told_at_once() -> None:
    said = refusal(task({"action": "click"}, {"action": "clik"}))

    assert said.splitlines() == [
        "mail.yaml: steps[0].instruction: this field is required",
        "mail.yaml: steps[1]: unknown action 'clik'; did you mean 'click'?",
    ]


def test_long_values_are_not_repeated() -> None:
    assert "aaa" not in refusal(task(task="A" + "a" * 100))


def test_the_demo_task_is_valid_and_survives_its_json() -> None:
    parsed = parse_task(yaml.safe_load((ROOT / "demo" / "send_mail.yaml").read_text()), "send_mail.yaml")

    assert [step.action for step in parsed.steps[:3]] == ["goto", "fill", "fill"]
    assert parse_task(parsed.model_dump(mode="json", exclude_none=True), "again") == parsed
    assert Task.model_validate_json(parsed.model_dump_json()) == parsed


def test_secrets_may_be_typed_into_fields() -> None:
    typing = {"action": "type", "instruction": "the PIN field", "value": "{{secret:PIN}}"}

    parsed = parse_task(task(fill_step("x{{ secret:P }}y"), typing, secrets=["P", "PIN"]), "f")

    assert len(parsed.steps) == 2


def test_a_task_that_begins_with_goto_needs_no_url() -> None:
    assert parse_task(task({"action": "goto", "url": "https://x"}, url=""), "f").url == ""


@given(
    data=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["task", "url", "steps", "action", "expect", "exists", "x"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_a_file_holds_is_a_task_or_lines_that_name_it(data: object) -> None:
    said = ""
    try:
        parse_task(data, "f")
    except InputInvalid as exc:
        said = str(exc)

    assert all(line.startswith("f: ") for line in said.splitlines())


# ---------------------------------------------------------------------------------------------- parameters

PARAMETERS = {
    "to": {"type": "email", "example": "ada@example.com"},
    "count": {"type": "number", "default": "1"},
    "day": {"type": "date", "default": "2026-01-31"},
    "priority": {"type": "choice", "choices": ["Low", "High"], "default": "Low"},
    "note": {"default": ""},
}
TASK = parse_task(task(parameters=PARAMETERS), "f")


def test_given_values_win_over_defaults() -> None:
    values = bind_parameters(TASK, {"to": "bob@example.com", "count": "2,5"})

    assert values == {"to": "bob@example.com", "count": "2,5", "day": "2026-01-31", "priority": "Low", "note": ""}


@pytest.mark.parametrize(
    ("given_values", "message"),
    [
        ({}, "parameter 'to' of task 'send-mail' has no value; pass --param to=…, for example 'ada@example.com'"),
        ({"too": "x"}, "--param too: task 'send-mail' has no such parameter; it has: count, day, note, priority, to"),
        ({"to": "ada"}, "parameter 'to' is 'ada'; expected an e-mail address"),
        ({"to": "a@b.c", "count": "many"}, "parameter 'count' is 'many'; expected a number"),
        ({"to": "a@b.c", "day": "31.1.2026"}, "parameter 'day' is '31.1.2026'; expected a date as YYYY-MM-DD"),
        ({"to": "a@b.c", "priority": "Urgent"}, "parameter 'priority' is 'Urgent'; expected one of: Low, High"),
    ],
)
def test_a_wrong_value_names_parameter_and_expectation(given_values: dict[str, str], message: str) -> None:
    with pytest.raises(InputInvalid) as caught:
        bind_parameters(TASK, given_values)

    assert str(caught.value) == message


def test_values_that_leave_nothing_of_what_the_task_is_verified_by_are_refused_before_it_begins() -> None:
    verify = [{"url_contains": "/"}, {"exists": {"name": "{{note}}"}}]
    wanted = parse_task(task(parameters={"note": {"default": ""}}, verify=verify), "f")

    assert bind_parameters(wanted, {"note": "Tea"}) == {"note": "Tea"}
    with pytest.raises(InputInvalid, match=r"^verify\[1\] of task 'send-mail'.*all empty; give one a value"):
        bind_parameters(wanted, {})


def test_values_that_are_too_large_for_every_step_to_be_told_are_refused_with_the_largest() -> None:
    data = {"task": "t", "url": "http://x/", "parameters": {"to": {}, "body": {}}, "steps": [{"action": "go_back"}]}
    wanted = parse_task(data, "test")

    assert bind_parameters(wanted, {"to": "Ada", "body": "x" * 200_000})["to"] == "Ada"
    with pytest.raises(InputInvalid, match=r"3000003 bytes, of which 3000000 are those of 'body'.*may have 262144"):
        bind_parameters(wanted, {"to": "Ada", "body": "x" * 3_000_000})


def test_a_task_without_parameters_says_so() -> None:
    with pytest.raises(InputInvalid, match="it has: none"):
        bind_parameters(parse_task(task(), "f"), {"x": "1"})


# --------------------------------------------------------------------------------------------------- steps


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (CLICK, True),
        ({"action": "press", "keys": "Enter"}, False),
        ({"action": "press", "keys": "Enter", "instruction": "the search field"}, True),
        ({"action": "extract", "fields": {"n": {}}}, False),
        ({"action": "extract", "fields": {"n": {}}, "target": {"role": "table"}}, True),
        ({"action": "scroll", "to": "bottom"}, False),
        ({"action": "goto", "url": "https://x"}, False),
        ({"action": "go_back"}, False),
    ],
)
def test_whether_a_step_names_an_element(step: dict[str, Any], expected: bool) -> None:
    assert names_element(parse_task(task(step), "f").steps[0]) is expected


def test_arguments_are_what_the_action_is_done_with() -> None:
    [step] = parse_task(
        task({**fill_step("{{to}}"), "effect": "commit", "timeout_ms": 500}, parameters={"to": {}}), "f"
    ).steps

    assert arguments_of(step) == {"value": "{{to}}"}
    assert action_of(step) is Action.FILL
    assert arguments_of(Click(action="click", instruction="x")) == {}


def test_the_same_click_has_the_same_arguments_however_it_is_written() -> None:
    # They go into the keys of the ledger and the cache; those of plain clicks must not change either.
    long, short, held, other = (
        parse_task(task({**CLICK, **how}), "f").steps[0]
        for how in (
            {"button": "left", "modifiers": []},
            {},
            {"modifiers": ["Shift", "Control", "Shift"]},
            {"modifiers": ["Control", "Shift"]},
        )
    )

    assert arguments_of(long) == arguments_of(short) == {}
    assert arguments_of(held) == arguments_of(other) == {"modifiers": ["Control", "Shift"]}


def test_all_texts_of_nested_data_are_found() -> None:
    assert list(texts_of({"a": ["x", {"b": ("y",)}, 1, None], "c": "z"})) == ["x", "y", "z"]


def _one_step(**step: Any) -> Any:
    return {
        "task": "x",
        "url": "http://site.test/",
        "steps": [{"action": "click", "instruction": "the button", **step}],
    }


def test_a_step_declares_its_answer_to_one_dialog_or_to_each() -> None:
    every = parse_task(_one_step(dialog="accept"), "x.yaml").steps[0]
    each = parse_task(_one_step(dialog=["accept", "dismiss"]), "x.yaml").steps[0]
    none = parse_task(_one_step(), "x.yaml").steps[0]

    assert [every.answer_to(position) for position in range(3)] == ["accept"] * 3
    assert [each.answer_to(position) for position in range(3)] == ["accept", "dismiss", "dismiss"]
    assert none.answer_to(0) == "dismiss"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"dialog": "ok"}, "steps[0].dialog: expected accept or dismiss"),
        ({"dialog": []}, "steps[0].dialog: expected accept or dismiss"),
        ({"dialog": ["accept", "maybe"]}, "steps[0].dialog: expected accept or dismiss"),
        ({"dialog_text": "Zoë"}, "add dialog: accept"),
        ({"action": "upload", "files": []}, "steps[0].files"),
        ({"action": "upload", "files": [" "]}, "an empty text is no path"),
    ],
)
def test_a_wrong_answer_or_path_is_refused_with_its_place(step: dict[str, Any], said: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        parse_task(_one_step(**step), "x.yaml")

    assert said in str(refused.value)


def test_the_text_of_a_prompt_may_be_a_secret_and_a_file_name_may_not() -> None:
    prompt = {**_one_step(dialog="accept", dialog_text="{{secret:PIN}}"), "secrets": ["PIN"]}
    upload = {**_one_step(action="upload", files=["{{secret:PIN}}"]), "secrets": ["PIN"]}

    assert parse_task(prompt, "x.yaml").steps[0].dialog_text == "{{secret:PIN}}"
    with pytest.raises(InputInvalid):
        parse_task(upload, "x.yaml")
