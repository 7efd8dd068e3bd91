"""What an operator and a task allow together, and which rule is told."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.policy.effective import Effective, Used, before_start, judged
from replaywright.domain.step.outcomes import WHEN, Evidence, Status, StepOutcome
from replaywright.domain.task.actions import Action, Cause
from replaywright.domain.task.budgets import Budget, RunLimits
from replaywright.domain.task.policy import Policy, Wishes
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import parse_authored, parse_task
from replaywright.errors import InputInvalid

GOTO = {"action": "goto", "url": "https://shop.example/"}
CLICK = {"action": "click", "instruction": "the next button"}
UPLOAD = {"action": "upload", "instruction": "the file field", "files": ["/srv/out/{{name}}"]}
LIST = {"action": "for_each", "item": "row", "values": ["a", "b"], "steps": [CLICK, UPLOAD]}
ACTIONS = st.sets(st.sampled_from(sorted(Action)))


def steps(*items: dict[str, Any]) -> tuple[Step, ...]:
    data = {"task": "t", "url": "https://shop.example/", "parameters": {"name": {}}, "steps": list(items)}
    return parse_task(data, "test").steps


def operator(**fields: Any) -> Policy:
    return parse_authored(Policy, {"name": "back-office", **fields}, "policy.yaml", "")


def task(**fields: Any) -> Wishes:
    return parse_authored(Wishes, fields, "task.yaml", "")


@given(ACTIONS, ACTIONS, ACTIONS, ACTIONS)
def test_an_action_is_allowed_only_if_both_allow_it(a: set[str], b: set[str], c: set[str], d: set[str]) -> None:
    both = Effective(
        operator(actions={"allow": sorted(a), "deny": sorted(b)}), task(actions={"allow": sorted(c), "deny": sorted(d)})
    )

    allowed = {action for action in Action if both.on_action(action) is None}

    assert allowed == {Action(action) for action in (a - b) & (c - d)}


def test_what_nobody_limits_is_allowed() -> None:
    nobody = Effective(None, None)

    assert all(nobody.on_action(action) is None for action in Action)
    assert nobody.over(Used(navigations=10**6, steps=10**6, seconds=1e9), steps(GOTO)[0]) is None
    assert nobody.caps.over(RunLimits()) == RunLimits()
    assert nobody.guard(Used()).refuses_file("a.exe", "application/x-msdownload", 10**12) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "rule"),
    [
        ({"actions": {"deny": ["click"]}}, {}, "policy 'back-office': actions.deny"),
        ({"actions": {"allow": ["goto"]}}, {"actions": {"deny": ["click"]}}, "policy 'back-office': actions.allow"),
        ({}, {"actions": {"deny": ["click"]}}, "task: actions.deny"),
    ],
)
def test_a_refusal_has_the_name_of_its_rule(ours: dict[str, Any], theirs: dict[str, Any], rule: str) -> None:
    refusal = Effective(operator(**ours), task(**theirs)).on_step(steps(CLICK)[0])

    assert refusal is not None
    assert refusal.rule == rule
    assert "click" in refusal.message


def test_steps_inside_of_lists_and_of_reconcile_are_held_against_the_policy_too() -> None:
    denies = Effective(operator(actions={"deny": ["upload", "wait_for"]}), None)
    asks = {
        "steps": [GOTO, {"action": "wait_for", "expect": [{"text_contains": "x"}]}],
        "expect": [{"text_contains": "x"}],
    }
    [listed, asking] = steps(LIST, {**CLICK, "effect": "commit", "reconcile": asks})

    assert denies.on_step(listed) is not None
    assert denies.on_step(asking) is not None
    told = [(each.place, each.refusal is None) for each in judged(denies, (listed,), {})]
    assert told == [("steps[0]", True), ("steps[0].steps[0]", True), ("steps[0].steps[1]", False)]


@pytest.mark.parametrize(
    ("roots", "name", "allowed"),
    [
        (["/srv/out"], "a.pdf", True),
        (["/srv/out/"], "a.pdf", True),
        (["/srv"], "a.pdf", True),
        (["/srv/ou"], "a.pdf", False),
        (["/srv/out"], "../../etc/passwd", False),
        ([], "a.pdf", False),
    ],
)
def test_a_file_is_uploaded_only_from_the_folders_of_the_policy(roots: list[str], name: str, *, allowed: bool) -> None:
    policy = Effective(operator(upload_roots=roots), None)

    refusal = policy.on_step(steps(UPLOAD)[0], {"name": name})

    assert (refusal is None) is allowed
    assert refusal is None or refusal.rule == "policy 'back-office': upload_roots"


@pytest.mark.parametrize(
    ("name", "mime", "size", "rule"),
    [
        ("Report.PDF", "application/pdf", 10, ""),
        ("report.pdf", "", 10, ""),
        ("report.pdf", "application/octet-stream", 10, ""),
        ("list.csv", "text/plain; charset=utf-8", 10, ""),
        ("report.pdf.exe", "application/pdf", 10, "policy 'back-office': downloads.types"),
        ("report", "application/pdf", 10, "policy 'back-office': downloads.types"),
        ("report.pdf", "application/x-msdownload", 10, "policy 'back-office': downloads.types"),
        ("report.pdf", "text/html", 10, "policy 'back-office': downloads.types"),
        ("report.pdf", "application/pdf", 2**20 + 1, "task: downloads.max_mb"),
    ],
)
def test_a_file_is_taken_by_its_ending_its_mime_type_and_its_size(name: str, mime: str, size: int, rule: str) -> None:
    ours, theirs = operator(downloads={"types": ["pdf", "csv"], "max_mb": 5}), task(downloads={"max_mb": 1})

    refusal = Effective(ours, theirs).guard(Used()).refuses_file(name, mime, size)

    assert ("" if refusal is None else refusal.rule) == rule


@pytest.mark.parametrize(
    ("used", "step", "rule"),
    [
        (Used(steps=4), CLICK, ""),
        (Used(steps=5), CLICK, "task: amounts.steps"),
        (Used(steps=5), None, ""),
        (Used(navigations=2), CLICK, ""),
        (Used(navigations=2), GOTO, "policy 'back-office': amounts.navigations"),
        (Used(navigations=3), CLICK, "policy 'back-office': amounts.navigations"),
        (Used(navigations=3), None, "policy 'back-office': amounts.navigations"),
        (Used(popups=1), CLICK, "policy 'back-office': amounts.popups"),
        (Used(dialogs=2), CLICK, "policy 'back-office': amounts.dialogs"),
        (Used(seconds=60), CLICK, "policy 'back-office': amounts.seconds"),
        (Used(seconds=60), None, ""),
        (Used(seconds=61), None, "policy 'back-office': amounts.seconds"),
    ],
)
def test_a_run_ends_at_the_step_that_would_take_it_beyond_an_amount(
    used: Used, step: dict[str, Any] | None, rule: str
) -> None:
    ours = operator(amounts={"navigations": 2, "popups": 0, "dialogs": 1, "steps": 50, "seconds": 60})

    refusal = Effective(ours, task(amounts={"steps": 5, "dialogs": 9})).over(
        used, None if step is None else steps(step)[0]
    )

    assert ("" if refusal is None else refusal.rule) == rule


def test_what_a_performed_step_did_is_counted() -> None:
    seen = Evidence(
        causes=(Cause.NEW_DOCUMENT, Cause.POPUP),
        dialogs=("alert: a", "alert: b"),
        tabs=("opened x", "opened y", "closed x"),
    )
    done = StepOutcome(status=Status.DONE, evidence=seen)

    used = (
        Used()
        .after(done)
        .after(done.model_copy(update={"from_ledger": True}))
        .after(done.model_copy(update={"reason": WHEN, "evidence": Evidence()}))
    )

    assert used == Used(navigations=1, popups=2, dialogs=2, steps=1)


@given(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))
def test_of_spending_the_smallest_number_counts(ours: int | None, theirs: int | None, own: int | None) -> None:
    caps = Effective(operator(spending={"calls": ours}), task(spending={"calls": theirs})).caps

    given_by = [number for number in (ours, theirs, own) if number is not None]
    assert caps.over(RunLimits(calls=own)).calls == min(given_by, default=None)
    assert caps.over(Budget(calls=own)).calls == min(given_by, default=None)


def test_a_plan_that_certainly_has_more_steps_than_it_may_does_not_begin() -> None:
    policy = Effective(operator(amounts={"steps": 2}), None)
    maybe = {**CLICK, "when": {"text_contains": "x"}}

    assert before_start(policy, steps(GOTO, CLICK, maybe), {}) is None
    found = before_start(policy, steps(GOTO, CLICK, CLICK), {})
    assert found is not None
    assert (found[0], found[1].rule) == (2, "policy 'back-office': amounts.steps")
    assert before_start(policy, steps(GOTO), {}, Used(steps=2)) is not None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"name": "Back Office"}, "name: "),
        ({"actions": {"deny": ["clik"]}}, "actions.deny[0]: "),
        ({"uploads": ["/srv"]}, "uploads: unknown field"),
        ({"upload_roots": ["srv"]}, "upload_roots[0]: "),
        ({"upload_roots": ["/srv/../etc"]}, "upload_roots: '/srv/../etc' has '..' in it"),
        ({"downloads": {"types": [".pdf"]}}, "downloads.types[0]: "),
        ({"downloads": {"max_mb": -1}}, "downloads.max_mb: "),
        ({"amounts": {"seconds": float("inf")}}, "amounts.seconds: "),
        ({"spending": {"calls": "many"}}, "spending.calls: "),
    ],
)
def test_a_policy_that_is_wrong_is_refused_with_the_field(data: dict[str, Any], said: str) -> None:
    with pytest.raises(InputInvalid) as failure:
        parse_authored(Policy, data, "policy.yaml", "")

    assert str(failure.value).startswith(f"policy.yaml: {said}")


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_DATA = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_FIELDS = st.sampled_from(sorted(Policy.model_fields))


@given(st.dictionaries(_FIELDS, _DATA, max_size=4) | _DATA)
def test_whatever_stands_in_a_policy_is_taken_or_refused_with_lines_that_name_it(data: Any) -> None:
    said, read = "policy.yaml: nothing", None
    try:
        read = parse_authored(Policy, data, "policy.yaml", "fields")
    except InputInvalid as refusal:
        said = str(refusal)

    assert all(line.startswith("policy.yaml: ") for line in said.splitlines())
    assert read is None or Policy.model_validate(json.loads(read.model_dump_json())) == read
