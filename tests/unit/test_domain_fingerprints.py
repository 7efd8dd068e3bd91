"""What a fingerprint and a content key depend on, and what not."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replaywright.domain.step.fingerprints import (
    acts_of,
    begun_anew,
    content_key,
    digest,
    element_key,
    entered_parameters,
    fingerprint,
    instruction_parameters,
    numbered,
    site_scope,
)
from replaywright.domain.step.outcomes import Costs, Lookup, Status, StepOutcome
from replaywright.domain.task.steps import Step

URL = "https://mail.example/compose"
ADAPTER: TypeAdapter[Any] = TypeAdapter(Step)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def fill(**fields: Any) -> Any:
    step = {"action": "fill", "instruction": "the To field", "value": "{{to}}"}
    return ADAPTER.validate_python({**step, **fields})


def mark(step: Any = None, previous: str = "", previous_outcome: str = "", **values: str) -> str:
    return fingerprint(step or fill(), {"to": "ada", **values}, previous, previous_outcome)


# ------------------------------------------------------------------------------------------------- digests


def test_the_digest_is_sha256_over_rfc_8785() -> None:
    value = {"b": [1.0, 1e21, "\u20ac", True, None], "a": {"\r": 1, "1": 0.1}, "aa": -0.0}
    canonical = '{"a":{"\\r":1,"1":0.1},"aa":0,"b":[1,1e+21,"€",true,null]}'

    assert digest(value) == hashlib.sha256(canonical.encode()).hexdigest()


@given(value=JSON)
def test_whatever_a_page_yields_has_a_digest(value: Any) -> None:
    assert digest({"x": value}) == digest({"x": value})


@given(value=st.dictionaries(st.text(max_size=4), st.integers(), max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**30])
def test_long_numbers_keep_every_digit(number: int) -> None:
    assert digest([number]) != digest([number + 1])
    assert digest([number]) != digest([str(number)])


# -------------------------------------------------------------------------------------------- fingerprints


def test_a_fingerprint_does_not_change_between_releases() -> None:
    # A recorded run must find its ledger after an upgrade; whoever changes this raises VERSION.
    canonical = (
        '{"action":"fill","arguments":{"value":"ada"},"expectation":[],"instruction":"the To field",'
        '"previous":"","previousOutcome":"","target":null,"v":1}'
    )

    assert mark() == hashlib.sha256(canonical.encode()).hexdigest()


def test_values_are_in() -> None:
    assert mark(to="bob") != mark()
    assert mark(other="unused") == mark()


@pytest.mark.parametrize(
    "change",
    [
        {"instruction": "the Cc field"},
        {"value": "{{to}} "},
        {"expect": [{"url_contains": "/compose"}]},
        {"target": {"role": "textbox"}},
        {"action": "type"},
    ],
)
def test_what_the_step_says_is_in(change: dict[str, Any]) -> None:
    assert mark(fill(**change)) != mark()


@pytest.mark.parametrize("change", [{"timeout_ms": 500}, {"effect": "commit"}])
def test_time_limits_and_effects_are_out(change: dict[str, Any]) -> None:
    assert mark(fill(**change)) == mark()


def test_secrets_are_in_by_name_only() -> None:
    secret = fill(value="{{secret:PASSWORD}}")

    assert mark(secret) != mark(fill(value="{{secret:PIN}}"))
    assert mark(secret) == mark(fill(value="{{ secret: PASSWORD }}"))
    assert mark(secret) != mark(to="{{secret:PASSWORD}}")


def test_the_chain_is_in() -> None:
    marks = {mark(), mark(previous="a"), mark(previous_outcome="a"), mark(previous="b", previous_outcome="a")}

    assert len(marks) == 4


def test_every_later_step_changes_with_an_earlier_one() -> None:
    def chain(first: Any) -> list[str]:
        marks = [""]
        for step in (first, fill(), fill()):
            marks.append(mark(step, marks[-1]))
        return marks[1:]

    assert not set(chain(fill())) & set(chain(fill(value="x")))
    assert len(set(chain(fill()))) == 3


def test_of_an_outcome_only_what_later_steps_depend_on_is_in() -> None:
    done = StepOutcome(status=Status.DONE, extracted={"n": 1})

    assert done.digest == done.model_copy(update={"costs": Costs(total_ms=3), "lookup": Lookup(healed=True)}).digest
    assert done.digest == done.model_copy(update={"from_ledger": True, "url": "https://x", "message": "x"}).digest
    assert done.digest != done.model_copy(update={"extracted": {"n": 2}}).digest
    assert done.digest != done.model_copy(update={"status": Status.UNMET}).digest
    assert StepOutcome(status=Status.DONE, extracted={"order": 12345678901234567890}).digest


# -------------------------------------------------------------------------------------------- content keys


def key(step: Any = None, tenant: str = "acme", url: str = URL) -> str:
    return content_key(tenant, url, step or fill())


def test_values_positions_and_expectations_are_out_of_the_content_key() -> None:
    assert key() == key(fill(value="{{cc}}"))
    assert key() == key(fill(expect=[{"url_contains": "x"}], timeout_ms=500, effect="commit"))
    assert key() == key(fill(instruction="  THE to\u00a0field "))


def test_tenant_site_action_and_instruction_are_in_the_content_key() -> None:
    keys = {
        key(),
        key(tenant="other"),
        key(url="https://mail.example/inbox"),
        key(url="https://other.example/compose"),
        key(fill(action="type")),
        key(fill(instruction="the Cc field")),
        key(fill(instruction="the {{to}} field")),
        content_key("acme", URL, fill(), device="mobile"),
    }

    assert len(keys) == 8


def test_two_keys_on_the_keyboard_share_no_entry() -> None:
    # Otherwise the observation that Tab sends nothing would let Enter be repeated.
    tab, enter = ({"action": "press", "keys": keys} for keys in ("Tab", "Enter"))

    assert key(ADAPTER.validate_python(tab)) != key(ADAPTER.validate_python(enter))


def test_how_the_pointer_is_used_is_in_the_content_key() -> None:
    click = {"action": "click", "instruction": "the card"}
    drag = {"action": "drag", "instruction": "the card"}
    steps = [
        click,
        {**click, "button": "right"},
        {**click, "modifiers": ["Shift"]},
        {**click, "position": {"x": 1, "y": 2}},
        {**drag, "to": {"role": "list"}},
        {**drag, "to": {"role": "list"}, "to_position": {"x": 1, "y": 2}},
        {**drag, "by": {"x": 1}},
    ]

    assert len({key(ADAPTER.validate_python(step)) for step in steps}) == len(steps)


@pytest.mark.parametrize(
    ("url", "scope"),
    [
        ("https://mail.example", "https://mail.example/"),
        ("https://mail.example/inbox/?page=2#top", "https://mail.example/inbox"),
        ("https://mail.example/message/123/reply", "https://mail.example/message/{id}/reply"),
        ("https://x/a/0b8f2c4e-1d2e-4f50-9a77-1c2d3e4f5a6b", "https://x/a/{id}"),
        ("https://x/a/deadbeef00", "https://x/a/{id}"),
        ("https://x/v2/users", "https://x/v2/users"),
        ("https://ada:hunter2@X.example:8443/a", "https://x.example:8443/a"),
        ("http://[broken/a?b", "http://[broken/a"),
        ("about:blank", "about://blank"),
    ],
)
def test_a_site_is_origin_and_path_without_ids(url: str, scope: str) -> None:
    assert site_scope(url) == scope


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("/wiki/Main_Page", "/wiki/{title}"),
        ("/wiki/main+page/edit", "/wiki/{title}/edit"),
        ("/wiki/Main%20Page", "/wiki/{title}"),
        ("/wiki/Talk:Main_Page", "/wiki/talk:{title}"),
        ("/wiki/Main_Pages", "/wiki/Main_Pages"),
        ("/search/caf%C3%A9/next", "/search/{word}/next"),
        ("/de/start", "/{language}/start"),
        ("/index/start", "/index/start"),
        ("/orders/10442/lines", "/orders/{order}/lines"),
        ("/orders/10443/lines", "/orders/{id}/lines"),
    ],
)
def test_values_of_parameters_in_a_path_are_no_part_of_a_site(path: str, scope: str) -> None:
    values = {"title": "Main Page", "word": "Café", "language": "de", "order": "10442", "note": ""}

    assert site_scope(f"https://x.example{path}", values) == f"https://x.example{scope}"
    assert site_scope(f"https://x.example{scope}") == f"https://x.example{scope}"


def test_a_recording_is_found_under_the_next_value_of_a_parameter_in_the_path() -> None:
    step = fill()

    def key(page: str, title: str) -> str:
        return content_key("t", f"https://x.example/wiki/{page}", step, "task", values={"title": title})

    assert key("Main_Page", "Main Page") == key("Annual_report", "Annual report")
    assert key("Main_Page", "Main Page") != key("Main_Page", "another")


def test_a_recording_belongs_to_its_task_and_its_element_to_the_origin() -> None:
    step = fill()

    assert content_key("t", "https://x.example/a", step, "one") != content_key("t", "https://x.example/a", step, "two")
    assert element_key("t", "https://x.example/a", step) == element_key("t", "https://x.example/b?c", step)
    assert element_key("t", "https://x.example/a", step) != element_key("t", "https://y.example/a", step)


def test_equal_steps_under_one_address_have_keys_of_their_own_and_the_first_keeps_its_key() -> None:
    click = {"action": "click", "instruction": "Add another"}
    opened = [{"action": "goto", "url": f"https://x.example/{page}"} for page in "ab"]
    steps = [ADAPTER.validate_python(each) for each in (click, opened[0], click, opened[1], click, click)]

    found = [
        (place, number) for place, step, number in numbered(steps, "https://x.example/a") if step.action == "click"
    ]

    assert found == [("steps[0]", 1), ("steps[2]", 2), ("steps[4]", 1), ("steps[5]", 2)]
    own = [content_key("t", "https://x.example/a", steps[0], "one", occurrence=number) for number in (1, 2, 3)]
    shared = [element_key("t", "https://x.example/a", steps[0], occurrence=number) for number in (1, 2, 3)]
    assert own[0] == "d4a37598d73442c3dd404f163090bc3f3c1382f81da2c559212edac464ba074d"
    assert shared[0] == "1e9b9e9f159d3c2e6d571513a1355c09251d464229913779b66973e3f30e33b8"
    assert len({*own, *shared}) == 6


def test_only_parameters_that_a_step_names_may_stand_in_its_recording() -> None:
    step = fill(instruction="the {{kind}} field", expect=[{"text_contains": "{{subject}}"}])

    assert instruction_parameters(step) == {"kind", "to", "subject"}


@pytest.mark.parametrize(
    ("changes", "entered"),
    [
        ({"instruction": "the field"}, {"to"}),
        ({"instruction": "the {{kind}} field"}, {"to"}),
        ({"instruction": "the field of {{to}}"}, set()),
        ({"target": {"label": "{{to}}"}}, set()),
    ],
)
def test_a_parameter_is_only_entered_when_nothing_that_names_the_element_has_it(
    changes: dict[str, Any], entered: set[str]
) -> None:
    assert entered_parameters(fill(**changes)) == entered


# ---------------------------------------------------------------------------------------------------- acts


def click(instruction: str = "the send button", **fields: Any) -> Any:
    return ADAPTER.validate_python({"action": "click", "instruction": instruction, **fields})


def test_an_act_does_not_depend_on_the_steps_before_it() -> None:
    [_, after_a_fill] = acts_of([fill(), click()], {"to": "ada"})
    [alone] = acts_of([click("The  send button", expect=[{"url_contains": "/sent"}])], {})

    assert after_a_fill == alone


@pytest.mark.parametrize(
    "other", [click("the delete button"), click(target={"name": "Send"}), click(modifiers=["Shift"])]
)
def test_another_target_or_argument_is_another_act(other: Any) -> None:
    assert acts_of([other], {}) != acts_of([click()], {})


def test_parameters_enter_an_act_by_their_values_in_the_arguments_and_as_written_in_the_target() -> None:
    assert acts_of([fill()], {"to": "ada"}) != acts_of([fill()], {"to": "bob"})
    row = click("the delete button of {{to}}")
    assert acts_of([row], {"to": "ada"}) == acts_of([row], {"to": "bob"})


def test_the_same_twice_are_two_acts_wherever_they_stand() -> None:
    first, _, second = acts_of([click(), fill(), click()], {"to": "ada"})

    assert first != second
    assert acts_of([click(), click()], {}) == (first, second)


def test_a_step_begun_anew_has_another_fingerprint_in_each_run_that_asks_for_it() -> None:
    assert begun_anew("f1", "") == "f1"
    assert len({"f1", begun_anew("f1", "run~2"), begun_anew("f1", "run~3")}) == 3
