"""What the end of a run means for the skill that was checked, step by step."""

from typing import Any

import pytest

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.proof.witness import Sending
from replaywright.domain.skill.check_tasks import (
    first_with_consequences,
    looked_for,
    observed_effects,
    on_site,
    sends_of,
    shortened,
    site_written,
)
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.recorded import meaning, recorded
from replaywright.domain.step.outcomes import Costs, Status, StepOutcome
from replaywright.domain.step.press_grants import Grant, kind_of
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import Step, action_of
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.domain.trace.checks import BEGINNING, VERIFICATION, WAITS_FOR_PERSON, cases_of, to_do_of, verdict_of
from replaywright.domain.trace.run_reading import run_view
from replaywright.domain.trace.run_view import Expected, RunFacts
from replaywright.domain.trace.trace import flat, step_line
from replaywright.errors import InputInvalid
from tests.unit.skills import OWNER, SITE, learned, skill

TASK = skill().task
TITLES = [
    "goto http://mail.example/compose",
    "fill the password = {{secret:PASSWORD}}",
    "fill To = {{to}}",
    "click Send",
]


def line(sequence: int, outcome: StepOutcome, *, override: str = "") -> dict[str, Any]:
    more = {"override": override} if override else {}
    told = step_line(outcome, sequence=sequence, title=TITLES[sequence], run_id="r1", epoch=1, given={}, more=more)
    return flat({"at": 100.0 + sequence, "id": f"{sequence}", "v": 2, **told})


def done(sequence: int, **fields: Any) -> dict[str, Any]:
    return line(sequence, StepOutcome(status=Status.DONE, costs=Costs(total_ms=250), **fields))


def facts(status: str, **fields: Any) -> RunFacts:
    given = {"run_id": "r1", "task": "send-mail", "status": status, "started": 100.0, "ended": 104.0, **fields}
    return RunFacts.model_validate(given)


def verdicts(run: RunFacts, *lines: dict[str, Any], task: Task = TASK) -> list[tuple[str, str]]:
    return [(case.name, case.verdict) for case in cases_of(run_view(run, lines), task)]


def test_every_step_and_the_final_verification_of_a_run_that_did_it_all_have_passed() -> None:
    cases = cases_of(run_view(facts("done"), [done(index) for index in range(4)]), TASK)

    assert [case.name for case in cases] == [*(f"{n}. {title}" for n, title in enumerate(TITLES, 1)), VERIFICATION]
    assert {case.verdict for case in cases} == {"passed"}
    assert cases[0].seconds == 0.25


def test_the_step_that_failed_says_what_was_there_and_those_behind_it_were_not_reached() -> None:
    unmet = PredicateResult(passed=False, reason="text_missing", details={"texts": 3})
    held = PredicateResult(passed=True, reason="holds")
    outcome = StepOutcome(
        status=Status.UNMET,
        reason="text_missing",
        predicates=(held, unmet),
        url=f"{SITE}/compose",
        artifacts={"screenshot": "abc", "expectations": "def"},
    )
    run = facts("failed", reason="text_missing", message="fill To = {{to}}: it is not there", failed_step=2)

    cases = cases_of(run_view(run, [done(0), done(1), line(2, outcome)]), TASK)

    assert [case.verdict for case in cases] == ["passed", "passed", "failed", "skipped", "skipped"]
    failed = cases[2]
    assert (failed.reason, failed.message) == ("text_missing", "it is not there")
    assert failed.lines == ('text_missing: {"texts": 3}', f"page: {SITE}/compose")
    assert list(failed.artifacts) == ["expectations", "screenshot"]
    assert cases[3].reason == "not reached"


def test_a_step_that_failed_at_first_and_was_done_then_has_passed() -> None:
    missed = line(1, StepOutcome(status=Status.MISSED, reason="not_found"))

    found = verdicts(facts("done"), done(0), missed, done(1), done(2), done(3))

    assert {verdict for _, verdict in found} == {"passed"}


def test_steps_of_override_rules_are_no_cases() -> None:
    rule = line(1, StepOutcome(status=Status.DONE), override="cookies")

    assert len(verdicts(facts("done"), done(0), rule, done(1), done(2), done(3))) == 5


def test_a_step_whose_condition_did_not_hold_is_skipped() -> None:
    found = verdicts(facts("done"), done(0), done(1, reason="when"), done(2), done(3))

    assert found[1][1] == "skipped"


def test_a_final_verification_that_failed_is_the_case_that_failed() -> None:
    given = {"text_contains": "Bill"}
    result = Expected(passed=False, reason="text_missing", expected=given, actual={"near": "<b>"})
    run = facts("failed", reason="verification_failed", message="it does not hold", verification=(result,))

    cases = cases_of(run_view(run, [done(index) for index in range(4)]), TASK)

    assert [case.verdict for case in cases] == ["passed"] * 4 + ["failed"]
    assert cases[-1].name == VERIFICATION
    assert cases[-1].lines == ('expected {"text_contains": "Bill"}, text_missing: {"near": "<b>"}',)


def test_what_failed_before_any_step_is_a_case_of_its_own() -> None:
    found = verdicts(facts("failed", reason="SessionLost", message="no browser"))

    assert found[0] == (BEGINNING, "error")
    assert {verdict for _, verdict in found[1:]} == {"skipped"}


def test_a_question_to_a_person_fails_the_step_that_asks_it() -> None:
    run = facts("waiting", reason=WAITS_FOR_PERSON, message="approve: 5 EUR", failed_step=3)

    cases = cases_of(run_view(run, [done(0), done(1), done(2)]), TASK)

    assert [(case.verdict, case.reason) for case in cases][3:] == [
        ("failed", WAITS_FOR_PERSON),
        ("skipped", "not reached"),
    ]
    assert "--until-commit" in to_do_of(WAITS_FOR_PERSON)


@pytest.mark.parametrize(
    ("status", "reason", "verdict"),
    [
        ("done", "", "passed"),
        ("failed", "not_found", "failed"),
        ("failed", "verification_failed", "failed"),
        ("failed", "SecretMissing", "error"),
        ("failed", "http_503", "error"),
        ("waiting", WAITS_FOR_PERSON, "failed"),
        ("blocked", "blocked", "error"),
        ("cancelled", "interrupted", "error"),
        ("timed_out", "timed_out", "error"),
    ],
)
def test_what_says_nothing_of_the_skill_is_no_failure_of_it(status: Any, reason: str, verdict: str) -> None:
    assert verdict_of(status, reason) == verdict


# ------------------------------------------------------------------------------------------ the task


def shop(**fields: Any) -> Task:
    steps = [
        {"action": "goto", "url": "https://shop.example/login"},
        {"action": "click", "instruction": "log in", "effect": "idempotent"},
        {"action": "click", "instruction": "details", "expect": [{"url_contains": "https://shop.example/d"}]},
        {"action": "click", "instruction": "pay", "effect": "irreversible"},
    ]
    return parse_task({"task": "shop", "steps": steps, **fields}, "the test")


def test_a_check_can_be_on_a_preview_of_the_site() -> None:
    task = shop(verify=[{"text_contains": "https://shop.example"}, {"url_contains": "/paid"}])

    moved = on_site(task, "https://preview-7.shop.example:8443")

    told = [step.model_dump(mode="json") for step in moved.steps]
    assert told[0]["url"] == "https://preview-7.shop.example:8443/login"
    assert told[2]["expect"][0]["url_contains"] == "https://preview-7.shop.example:8443/d"
    assert [each.model_dump(mode="json") for each in moved.verify] == [
        each.model_dump(mode="json") for each in task.verify
    ]
    assert [meaning(step) for step in moved.steps[1:]] == [meaning(step) for step in task.steps[1:]]


def test_addresses_of_other_sites_stay() -> None:
    task = shop(url="https://login.example/")

    assert site_written(task) == "https://login.example:443"
    assert getattr(on_site(task, "https://preview.example").steps[0], "url", "") == "https://shop.example/login"


@pytest.mark.parametrize("url", ["preview.example", "ftp://preview.example", "https://preview.example/path", ""])
def test_a_site_to_check_on_is_an_origin(url: str) -> None:
    with pytest.raises(InputInvalid, match=r"--url .*: expected scheme, host and port"):
        on_site(shop(), url)


def test_a_site_that_a_parameter_says_is_given_as_that() -> None:
    task = shop(url="{{base}}/login", parameters={"base": {}})

    with pytest.raises(InputInvalid, match=r"--param base=https://preview\.example"):
        on_site(task, "https://preview.example")


def test_a_click_that_nobody_has_observed_counts_as_one_with_consequences() -> None:
    task = shop()
    details = learned(task.steps[2], "https://shop.example/")

    assert first_with_consequences(task, {}) == 2
    assert first_with_consequences(task, observed_effects(recorded(task, [details], "default", OWNER))) == 3
    assert (
        first_with_consequences(parse_task({"task": "look", "steps": [{"action": "goto", "url": "/"}]}, "t"), {})
        is None
    )


def test_a_list_with_consequences_is_not_begun() -> None:
    inner = [{"action": "click", "instruction": "delete {{row}}", "effect": "commit"}]
    task = shop(
        steps=[
            {"action": "goto", "url": "https://a.example/"},
            {"action": "for_each", "item": "row", "instruction": "the table", "steps": inner},
        ]
    )

    assert first_with_consequences(task, {}) == 1


def test_nobody_is_asked_to_approve_of_what_is_not_done() -> None:
    steps = [
        {"action": "goto", "url": "https://bank.example/"},
        {"action": "approve", "instruction": "5 EUR?"},
        {"action": "click", "instruction": "pay", "effect": "commit"},
        {"action": "click", "instruction": "close"},
    ]
    task = shop(steps=steps)

    assert first_with_consequences(task, {}) == 1
    assert [(look.number, look.is_next) for look in looked_for(task, 1)] == [(3, True), (4, False)]


def test_a_task_that_begins_with_consequences_is_checked_as_far_as_its_page() -> None:
    assert [step.action for step in shortened(TASK, 0).steps] == ["goto"]
    assert shortened(TASK, 2).verify == ()


def recordings(*entries: tuple[Step, Effect | None, tuple[str, ...]]) -> dict[str, list[ActionCacheEntry]]:
    def sendings(paths: tuple[str, ...]) -> tuple[Sending, ...]:
        return tuple(Sending(kind=kind_of("POST", f"https://shop.example{path}")) for path in paths)

    return {
        meaning(step): [
            ActionCacheEntry(content_key="k", action_type=action_of(step), effect=effect, sends=sendings(sent))
        ]
        for step, effect, sent in entries
    }


def test_what_a_canary_may_send_is_what_its_own_steps_sent_when_they_were_recorded() -> None:
    opens, enter = {"action": "goto", "url": "https://shop.example/"}, {"action": "click", "instruction": "sign in"}
    name = {"action": "fill", "instruction": "the name", "value": "Ada"}
    task = shop(steps=[opens, name, enter])
    _, fills, signs_in = task.steps
    named = (fills, Effect.READ, ())

    known = recordings(named, (signs_in, Effect.COMMIT, ("/login/7", "/visit")))
    granted = Grant(kind=kind_of("POST", "https://shop.example/session", ["user"]), by="the author's step")
    entry = ActionCacheEntry(content_key="k", action_type=action_of(signs_in), granted=(granted,))
    of_form = {meaning(signs_in): [entry]}

    assert sends_of(task, known) == ("POST /login/*", "POST /visit")
    assert sends_of(shortened(task, 2), known) == ()
    assert sends_of(task, recordings(named) | of_form) == ("POST /session",)
    assert sends_of(task, recordings(named)) is None
    assert sends_of(task, recordings(named, (signs_in, Effect.COMMIT, ()))) is None


def test_what_a_canary_does_not_perform_is_looked_for_without_what_it_would_lead_to() -> None:
    pay = {
        "action": "click",
        "instruction": "pay",
        "effect": "commit",
        "evidence": "page",
        "expect": [{"text_contains": "paid"}],
        "timeout_ms": 30_000,
    }
    rows = {"action": "for_each", "item": "row", "instruction": "the table", "steps": [pay]}
    later = {"action": "fill", "instruction": "the note", "value": "{{note}}"}
    opens, enter = {"action": "goto", "url": "https://shop.example/"}, {"action": "press", "keys": "Enter"}
    task = shop(steps=[opens, pay, enter, rows, later, pay], parameters={"note": {}})

    looks = looked_for(task, 1)

    assert [(look.number, look.is_next, look.occurrence) for look in looks] == [
        (2, True, 1),
        (5, False, 1),
        (6, False, 3),
    ]
    assert [look.step.timeout_ms for look in looks] == [30_000, 1_000, 1_000]
    assert all((look.step.expect, look.step.evidence, look.step.effect) == ((), None, "read") for look in looks)
    assert [meaning(look.step) for look in looks] == [meaning(task.steps[at]) for at in (1, 4, 5)]
