"""What the site's answers are worth, and what may be declared to get them."""

from typing import Any

import pytest

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.predicates import TextContains, UrlContains
from replaywright.domain.proof.reconciling import answer_of, is_asked_page, time_limit_ms, total_limit_ms
from replaywright.domain.step.fingerprints import content_key, fingerprint, instruction_parameters
from replaywright.domain.task.steps import Click
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid

HOLDS = PredicateResult(passed=True, reason="holds")
MISSING = PredicateResult(passed=False, reason="text_missing")
UNDECIDED = PredicateResult(passed=False, reason="ambiguous", decided=False)
TEXT, URL = TextContains(text_contains="Minutes"), UrlContains(url_contains="/sent")
GOTO = {"action": "goto", "url": "{{base}}/sent"}
EXPECT = [{"text_contains": "{{subject}}"}]


@pytest.mark.parametrize(
    ("expect", "results", "void", "incomplete", "answer"),
    [
        ((TEXT,), (HOLDS,), "", "", ("yes", "holds")),
        ((TEXT,), (HOLDS,), "", "http_500", ("yes", "holds")),
        ((TEXT,), (HOLDS,), "sign_in_page", "", ("unknown", "sign_in_page")),
        ((TEXT,), (MISSING,), "", "", ("no", "text_missing")),
        ((TEXT,), (MISSING,), "", "http_500", ("unknown", "http_500")),
        ((TEXT,), (UNDECIDED,), "", "", ("unknown", "undecided")),
        ((TEXT, TEXT), (UNDECIDED, MISSING), "", "", ("no", "ambiguous")),
        ((URL, TEXT), (MISSING, MISSING), "", "", ("unknown", "led_elsewhere")),
        ((TEXT,), (), "", "", ("unknown", "undecided")),
    ],
)
def test_only_the_page_that_was_asked_for_says_anything_and_no_only_when_all_of_it_came(
    expect: Any, results: Any, void: str, incomplete: str, answer: tuple[str, str]
) -> None:
    assert answer_of(expect, results, void, incomplete) == answer


@pytest.mark.parametrize(
    ("asked", "url", "same"),
    [
        ("http://a/sent", "http://a/sent/", True),
        ("http://a/sent?page=1", "http://a/sent?page=1&sort=at#top", True),
        ("http://a", "http://a/", True),
        ("http://a/sent", "http://a/login?next=/sent", False),
        ("http://a/sent", "http://sso.a/sent", False),
        ("http://a/#/sent", "http://a/#/login", False),
        ("http://a/", "http://a/#!login", False),
    ],
)
def test_a_page_is_the_one_that_was_asked_for_if_origin_path_and_route_are(asked: str, url: str, same: bool) -> None:
    assert is_asked_page(asked, url) is same


def task(send: dict[str, Any], action: str = "click") -> Any:
    step = {"action": action, "instruction": "the send button", **send}
    parameters: dict[str, Any] = {"base": {}, "subject": {}}
    return parse_task({"task": "mail", "url": "http://a/", "parameters": parameters, "steps": [step]}, "mail.yaml")


def probing(*steps: dict[str, Any], expect: list[dict[str, Any]] = EXPECT) -> dict[str, Any]:
    return {"reconcile": {"steps": list(steps), "expect": expect}}


READ_CLICK = {"action": "click", "instruction": "all", "effect": "read", "target": {"role": "link", "name": "All"}}


@pytest.mark.parametrize(
    ("send", "error"),
    [
        (probing({"action": "fill", "instruction": "x", "value": "y"}), "steps[0].reconcile.steps[0]: unknown action "),
        (probing(GOTO, {"action": "click", "instruction": "x"}), "is no step that only reads; if the click only leads"),
        (probing({**GOTO, "effect": "commit"}), "has effect commit; finding out must only read"),
        (probing(READ_CLICK), "steps[0] is no goto: the tab in which the site is asked is empty"),
        (probing(GOTO, {"action": "expand", "instruction": "x"}), "steps[1] (expand) has no target; no model is asked"),
        (probing(GOTO, expect=[]), "steps[0].reconcile.expect: "),
        (probing(GOTO, expect=[{"text_contains": "x", "required": False}]), "no predicate that is required"),
        (probing(GOTO, expect=[{"not_": {"response_status": "2xx"}}]), "expect has response_status, which tells of"),
        (probing(GOTO, expect=[{"text_contains": "{{nobody}}"}]), "undeclared parameter 'nobody'"),
        ({**probing(GOTO), "effect": "idempotent"}, "reconcile is for a step that must not be repeated: add effect"),
        ({"on_unknown": "retry", "effect": "irreversible"}, "on_unknown is retry, and the effect irreversible"),
        (
            {"on_unknown": "guess"},
            "steps[0].on_unknown: should be 'ask', 'fail', 'assume_done' or 'retry', found 'guess'",
        ),
        ({"on_unknown": "fail", "effect": "read"}, "on_unknown is for a step that must not be repeated"),
    ],
)
def test_what_does_not_only_read_is_refused_with_field_value_and_remedy(send: dict[str, Any], error: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        task(send)

    assert error in str(refused.value)


def test_what_only_reads_is_taken() -> None:
    wait = {"action": "wait_for", "expect": [{"exists": {"role": "heading", "name": "Sent"}}]}

    [step] = task(probing(GOTO, wait, READ_CLICK)).steps

    assert [each.action for each in step.reconcile.steps] == ["goto", "wait_for", "click"]
    assert time_limit_ms(step.reconcile) == 50_000
    assert total_limit_ms(step.reconcile) > 5 * 50_000


def test_how_to_find_out_is_no_part_of_what_a_step_is() -> None:
    plain, probed = Click(action="click", instruction="send"), task(probing(GOTO)).steps[0]
    probed = probed.model_copy(update={"instruction": "send", "on_unknown": "fail"})

    assert fingerprint(plain, {}, "", "") == fingerprint(probed, {}, "", "")
    assert content_key("acme", "http://a/", plain) == content_key("acme", "http://a/", probed)
    assert instruction_parameters(probed) == frozenset()
