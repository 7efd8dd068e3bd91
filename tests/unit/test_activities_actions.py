"""What `browser.<action>` promises: found or missed, dispatched at most once, recorded, and no secret kept."""

import logging
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.step.judging import Judge
from activities.vault import Vault
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.run.commands import UNTOUCHED, Perform, StepCommand
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.secrets.secret_sites import RULE, Site, sites_in
from replaywright.domain.secrets.starts import UnsignedStarts
from replaywright.domain.skill.entries import EntryStatus
from replaywright.domain.step.fingerprints import fingerprint
from replaywright.domain.step.outcomes import Departure, Evidence, Lookup, Status, UnsafeRequest
from replaywright.domain.task.actions import Action, Effect
from replaywright.domain.task.steps import Step
from replaywright.errors import (
    ActionFailed,
    Fenced,
    InputInvalid,
    ReplaywrightError,
    SecretMissing,
    SessionLost,
    StoreUnavailable,
)
from replaywright.ports.browser import Report
from replaywright.ports.ledger import Intent, Known
from replaywright.testing.browser import Dispatch, FakeElement, FakePage
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeSecrets
from tests.unit.staged import (
    BOUND,
    CLICK_HELP,
    CLICK_SEND,
    COMPOSE,
    FILL_SECRET,
    FILL_TO,
    HELP,
    PASSWORD,
    PIN,
    POST,
    SECRET_FIELD,
    SEND,
    SENT,
    TO,
    Stage,
    but,
    of_run,
    reapplied,
    request,
    run_activity,
    step,
)

AWAY = StoreUnavailable("the fake store is away")
NEVER = [{"text_contains": "no page says this"}]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr("activities.step.ledger.RECORD_PAUSE_S", 0)
    return Stage()


def learned(wanted: Step, target: Target, **fields: Any) -> Perform:
    return request(wanted, proposed=target, **fields)


def failure(*, dispatched: bool) -> ActionFailed:
    return ActionFailed("timeout", f"covered; {PASSWORD} was typed", dispatched=dispatched)


def test_every_action_is_an_activity_of_its_own(stage: Stage) -> None:
    named = [activity.__temporal_activity_definition.name for activity in stage.actions.activities()]  # type: ignore[attr-defined]

    assert named == [*(f"browser.{action}" for action in Action), "effect.await"]


# ---------------------------------------------------------------------------------- recorded outcomes


@pytest.mark.parametrize(("wanted", "target"), [(FILL_TO, TO), (CLICK_SEND, SEND)])
async def test_an_outcome_in_the_ledger_is_returned_and_nothing_is_touched(
    stage: Stage, wanted: Step, target: Target
) -> None:
    asked = learned(wanted, target)
    first = await stage.perform(asked)
    stage.store.calls.clear()
    fresh = stage.open(COMPOSE)

    again = await stage.perform(but(asked, epoch=2, recovered=True))

    told = {"from_ledger": True, "moved": False, "checkpoint": None}
    assert again.model_copy(update={"costs": first.costs}) == first.model_copy(update=told)
    assert (len(stage.inputs), fresh.works) == (1, [])
    assert stage.store.calls == ["look_up", "append_trace"]


async def test_an_outcome_recorded_between_look_up_and_intent_is_returned(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = learned(CLICK_SEND, SEND)
    first = await stage.perform(asked)
    stage.open(COMPOSE)
    monkeypatch.setattr(stage.store, "look_up", nothing_known)

    again = await stage.perform(but(asked, epoch=2))

    assert (again.from_ledger, again.evidence) == (True, first.evidence)
    assert len(stage.inputs) == 1


async def nothing_known(**_asked: str) -> Known:
    return Known()


async def test_a_step_that_a_person_settled_meanwhile_is_not_dispatched(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = learned(CLICK_SEND, SEND)
    await settled_by_a_person(stage, asked)
    monkeypatch.setattr(stage.store, "look_up", nothing_known)

    outcome = await stage.perform(but(asked, epoch=3))

    assert (outcome.status, outcome.reason, outcome.from_ledger) == (Status.DONE, "person", True)
    assert stage.inputs == []


async def test_a_step_that_a_person_settled_before_is_left_to_the_resolution(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    await settled_by_a_person(stage, asked)

    outcome = await stage.perform(but(asked, epoch=3))

    assert (outcome.status, outcome.reason) == (Status.IN_DOUBT, "ledger_committed")
    assert stage.inputs == []


async def settled_by_a_person(stage: Stage, asked: Perform) -> None:
    scope = {
        "tenant": asked.context.run.tenant,
        "lineage": asked.context.run.lineage,
        "fingerprint": asked.context.fingerprint,
    }
    await stage.intend(asked)
    await stage.store.fence(**scope, epoch=2)
    await stage.store.settle(**scope, epoch=2, state="COMMITTED", who="Ada")


# --------------------------------------------------------------------------------------------- misses


async def test_a_miss_keeps_a_snapshot_and_dispatches_nothing(stage: Stage) -> None:
    outcome = await stage.perform(request(CLICK_SEND))

    snapshot = Snapshot.model_validate_json(await stage.artifacts.get(outcome.snapshot))
    assert (outcome.status, outcome.reason, outcome.lookup.hit) == (Status.MISSED, "no_entry", False)
    assert [element.id for element in snapshot.elements] == ["to", "password", "send", "help"]
    assert stage.inputs == []
    assert stage.store.calls == ["look_up", "look_up", "candidates", "record"]
    assert [line["status"] for line in await stage.lines()] == ["missed"]
    assert await stage.versions(outcome) == []


async def test_a_label_that_is_the_value_of_a_secret_is_hidden_and_found_again() -> None:
    stage = Stage(secrets=FakeSecrets({"PASSWORD": "password", "PIN": PIN}, BOUND))
    entry = await stage.learn(learned(FILL_SECRET, SECRET_FIELD))

    outcome = await stage.perform(of_run("r2", request(FILL_SECRET)))

    assert entry.target is not None
    assert entry.target.name == "{{secret:PASSWORD}}"
    assert (outcome.status, outcome.lookup.hit, outcome.lookup.healed) == (Status.DONE, True, False), outcome.message


async def test_two_equal_buttons_are_a_miss(stage: Stage) -> None:
    await stage.learn(learned(CLICK_SEND, SEND))
    twin = SEND.model_copy(update={"xpath": "/header/button"})
    stage.site.pages[COMPOSE].elements["send"].target = SEND.model_copy(update={"xpath": "/footer/button"})
    stage.site.pages[COMPOSE].elements["twin"] = FakeElement(twin)

    outcome = await stage.perform(of_run("r2", request(CLICK_SEND)))

    assert (outcome.status, outcome.reason) == (Status.MISSED, "ambiguous")
    assert stage.inputs == []


async def test_a_snapshot_holds_no_secret_and_can_be_read_back_whatever_the_secret_is(stage: Stage) -> None:
    stage.site.pages[COMPOSE].elements["note"] = FakeElement(
        Target(tag="p", text=f"It is {PASSWORD}, then {PIN}", row=(PIN,), attributes={"title": PASSWORD}), value=PIN
    )

    outcome = await stage.perform(request(CLICK_SEND))

    text = (await stage.artifacts.get(outcome.snapshot)).decode()
    note = Snapshot.model_validate_json(text).element("note")
    assert note is not None
    assert note.target.text == "It is {{secret:PASSWORD}}, then {{secret:PIN}}"
    assert (note.target.row, note.value) == (("{{secret:PIN}}",), "{{secret:PIN}}")
    assert PASSWORD not in text


async def test_a_run_goes_on_without_a_snapshot_that_cannot_be_kept(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.artifacts.is_away = True

    with caplog.at_level(logging.WARNING):
        missed = await stage.perform(request(CLICK_SEND))
        unmet = await stage.perform(learned(step("fill", "the To field", value="x", expect=NEVER), TO))

    assert (missed.status, missed.snapshot) == (Status.MISSED, "")
    assert (unmet.status, unmet.snapshot) == (Status.UNMET, "")
    assert "is not kept" in caplog.text


# --------------------------------------------------------------------------------------- what is learned


async def test_a_verified_step_leaves_a_candidate_with_templates_instead_of_values(stage: Stage) -> None:
    delete = Target(
        tag="button",
        role="button",
        name="Delete ada@example.com",
        row=("Ada", "ada@example.com"),
        neighbours=("ada@example.com",),
        container='listitem "ada@example.com"',
        attributes={"title": "Delete ada@example.com"},
        css="[title='Delete ada@example.com']",
        element_hash="h-delete",
    )
    stage.site.pages[COMPOSE].elements["delete"] = FakeElement(delete)
    wanted = step("click", "the delete button of {{to}}", expect=[{"exists": {"name_contains": "{{to}}"}}])

    outcome = await stage.perform(learned(wanted, delete))

    [entry] = await stage.versions(outcome)
    assert (entry.status, entry.origin, entry.run_id) == (EntryStatus.CANDIDATE, "model", "l1")
    assert (entry.name, entry.row) == ("Delete {{to}}", ("{{to}}",))
    assert entry.expectation == ({"exists": {"name_contains": "{{to}}"}},)
    assert "ada@example.com" not in entry.model_dump_json()


@pytest.mark.parametrize("wanted", ["ask", "warn"])
async def test_a_step_that_failed_too_often_is_not_begun_where_a_person_is_to_be_asked_else_it_warns(
    wanted: str,
) -> None:
    class Recalled(FakeStepStore):
        async def look_up(self, **scope: Any) -> Known:
            known = await super().look_up(**scope)
            entry = known.entry
            return (
                known
                if entry is None
                else known.model_copy(update={"entry": entry.model_copy(update={"recent": "11100"})})
            )

    stage = Stage(store=Recalled())
    await stage.learn(learned(CLICK_HELP, HELP))
    inputs = len(stage.inputs)

    asked = request(CLICK_HELP, weak=wanted)
    outcome = await stage.perform(of_run("r2", asked))

    said = "it was done in 3 of the last 5 runs"
    if wanted == "ask":
        assert (outcome.status, outcome.reason, outcome.message) == (Status.REFUSED, "weak_step", said)
        assert len(stage.inputs) == inputs
    else:
        assert (outcome.status, outcome.warnings[0]) == (Status.DONE, f"weak_step: {said}")


async def test_a_recording_that_is_refused_is_a_miss_and_the_outcome_warns_of_it() -> None:
    class Tampered(FakeStepStore):
        async def look_up(self, **scope: Any) -> Known:
            known = await super().look_up(**scope)
            return known.model_copy(update={"entry": None, "refused": "entry 'k' is refused: unsigned"})

    stage = Stage(store=Tampered())

    missed = await stage.perform(request(CLICK_HELP))
    outcome = await stage.perform(learned(CLICK_HELP, HELP))

    assert missed.status is Status.MISSED
    assert outcome.status is Status.DONE
    assert outcome.warnings[0] == "integrity: entry 'k' is refused: unsigned"


async def test_a_recorded_target_means_todays_value(stage: Stage) -> None:
    def row_of(address: str) -> FakeElement:
        return FakeElement(Target(tag="button", role="button", name=f"Delete {address}", row=(address,)))

    elements = stage.site.pages[COMPOSE].elements
    elements["ada"], elements["bob"] = row_of("ada@example.com"), row_of("bob@example.com")
    wanted = step("click", "the delete button of {{to}}")
    await stage.learn(learned(wanted, elements["ada"].target))

    outcome = await stage.perform(of_run("r2", request(wanted, values={"to": "bob@example.com"})))

    assert outcome.status is Status.DONE
    assert stage.inputs == [Dispatch(Action.CLICK, "bob")]


async def test_a_short_value_that_names_the_element_is_todays_too(stage: Stage) -> None:
    elements = stage.site.pages[COMPOSE].elements
    for name in ("no", "ok"):
        elements[name] = FakeElement(Target(tag="button", role="button", name=name))
    wanted = step("click", "the {{answer}} button")
    await stage.learn(learned(wanted, elements["ok"].target, values={"answer": "ok"}))

    outcome = await stage.perform(of_run("r2", request(wanted, values={"answer": "no"})))

    assert outcome.status is Status.DONE
    assert stage.inputs == [Dispatch(Action.CLICK, "no")]


async def test_a_recording_that_shows_nothing_of_its_parameter_is_used_for_the_same_value_only(stage: Stage) -> None:
    wanted = step("fill", "text field {{nth}}", value="x")
    await stage.learn(learned(wanted, TO, values={"nth": "1"}))

    same = await stage.perform(of_run("r2", request(wanted, values={"nth": "1"})))
    stage.site.dispatches.clear()
    other = await stage.perform(of_run("r3", request(wanted, values={"nth": "2"})))

    assert (same.status, other.status, other.reason) == (Status.DONE, Status.MISSED, "no_entry")
    assert stage.inputs == []


async def test_an_element_that_is_declared_by_a_parameter_is_looked_for_as_declared(stage: Stage) -> None:
    elements = stage.site.pages[COMPOSE].elements
    for name in ("one", "two"):
        elements[name] = FakeElement(Target(tag="button", role="button", name=name))
    wanted = step("click", "an item", target={"role": "button", "name": "{{item}}"})
    await stage.learn(request(wanted, values={"item": "one"}))

    outcome = await stage.perform(of_run("r2", request(wanted, values={"item": "two"})))

    [work] = stage.browser.works
    assert (work.target, work.query) == (None, ElementQuery(role="button", name="two"))
    assert (outcome.status, stage.inputs) == (Status.DONE, [Dispatch(Action.CLICK, "two")])


@pytest.mark.parametrize(("nth", "chosen"), [(1, "newer"), (-1, "older")])
async def test_an_element_that_is_declared_by_its_position_is_looked_for_as_declared(
    stage: Stage, nth: int, chosen: str
) -> None:
    elements = stage.site.pages[COMPOSE].elements
    elements["older"] = FakeElement(Target(tag="a", role="link", name="older"), goes_to=SENT)
    wanted = step("click", "a result", target={"role": "link", "nth": nth})
    await stage.learn(request(wanted))
    newer = FakeElement(Target(tag="a", role="link", name="newer"), shows="the newest")
    stage.site.pages[COMPOSE].elements = {"newer": newer, **elements}
    stage.site.dispatches.clear()

    outcome = await stage.perform(of_run("r2", request(wanted)), from_url=COMPOSE)

    assert (outcome.status, stage.inputs) == (Status.DONE, [Dispatch(Action.CLICK, chosen)])


async def test_what_is_typed_is_recorded_as_a_template(stage: Stage) -> None:
    outcome = await stage.perform(learned(FILL_TO, TO))

    [entry] = await stage.versions(outcome)
    assert stage.inputs == [Dispatch(Action.FILL, "to", "ada@example.com")]
    assert (entry.arguments, entry.method, entry.site) == ({"value": "{{to}}"}, "fill", COMPOSE)
    assert (await stage.lines())[0]["title"] == "fill the To field = {{to}}"


@pytest.mark.parametrize(
    ("wanted", "target"),
    [
        (FILL_TO.model_copy(update={"expect": step("hover", "x", expect=NEVER).expect}), TO),
        (CLICK_SEND.model_copy(update={"expect": step("hover", "x", expect=NEVER).expect}), SEND),
    ],
)
async def test_a_failed_step_is_not_remembered(stage: Stage, wanted: Step, target: Target) -> None:
    outcome = await stage.perform(learned(wanted, target))

    assert outcome.status in (Status.UNMET, Status.IN_DOUBT)
    assert await stage.versions(outcome) == []


@pytest.mark.parametrize("dispatched", [False, True])
async def test_an_action_that_could_not_be_done_is_not_remembered(stage: Stage, dispatched: bool) -> None:
    stage.site.fail_after = [failure(dispatched=dispatched)]

    outcome = await stage.perform(learned(CLICK_SEND, SEND))

    assert await stage.versions(outcome) == []


async def test_nothing_new_is_stored_when_nothing_was_learned(stage: Stage) -> None:
    entry = await stage.learn(learned(FILL_TO, TO))

    outcome = await stage.perform(of_run("r2", request(FILL_TO)))

    [same] = await stage.versions(outcome)
    assert (same.version, same.hits) == (entry.version, 1)


async def test_a_wanted_state_that_is_there_is_left_as_it_is(stage: Stage) -> None:
    stage.site.pages[COMPOSE].elements["to"].value = "ada@example.com"

    outcome = await stage.perform(learned(FILL_TO, TO))

    assert (outcome.status, outcome.already_done) == (Status.DONE, True)
    assert stage.inputs == []


# ---------------------------------------------------------------------------------- what shows that it was done

BROKEN = FakeElement(HELP)
"""A button that does nothing."""
COMMIT_HELP = CLICK_HELP.model_copy(update={"effect": Effect.COMMIT, "expect": ()})
ALREADY_THERE = [{"text_contains": "Compose"}]


def with_status(status: int) -> UnsafeRequest:
    return POST.model_copy(update={"status": status})


async def test_a_commit_that_nothing_shows_is_a_failure_and_its_intent_is_taken_back(stage: Stage) -> None:
    stage.site.pages[COMPOSE].elements["help"] = BROKEN
    asked = learned(COMMIT_HELP, HELP)

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.reason, outcome.proof) == (Status.UNMET, "unproven", "none")
    assert await stage.state(asked) == "NOT_DONE"
    assert await stage.versions(outcome) == []


async def test_any_other_press_that_nothing_shows_is_done_with_a_warning(stage: Stage) -> None:
    stage.site.pages[COMPOSE].elements["help"] = BROKEN

    outcome = await stage.perform(learned(CLICK_HELP.model_copy(update={"expect": ()}), HELP))

    assert (outcome.status, outcome.warnings) == (Status.DONE, ("unproven",))


async def test_an_expectation_that_held_before_proves_nothing(stage: Stage) -> None:
    stage.site.pages[COMPOSE] = FakePage({"help": BROKEN}, texts=("Compose",))
    wanted = step("click", "the help button", expect=ALREADY_THERE, effect="commit")

    outcome = await stage.perform(learned(wanted, HELP))

    assert (outcome.status, outcome.reason) == (Status.UNMET, "unproven")


async def test_a_press_is_proven_by_what_became_true(stage: Stage) -> None:
    outcome = await stage.perform(learned(CLICK_HELP, HELP))

    assert (outcome.status, outcome.proof, outcome.warnings) == (Status.DONE, "became_true", ())


@pytest.mark.parametrize(
    ("status", "ended", "state"),
    [(500, Status.IN_DOUBT, "DISPATCHED"), (422, Status.UNMET, "NOT_DONE"), (200, Status.DONE, "COMMITTED")],
)
async def test_a_page_that_says_sent_is_not_believed_when_its_server_says_no(
    stage: Stage, status: int, ended: Status, state: str
) -> None:
    stage.site.pages[COMPOSE].elements["send"].sends = (with_status(status),)
    asked = learned(CLICK_SEND, SEND)

    outcome = await stage.perform(asked)

    assert (outcome.status, await stage.state(asked)) == (ended, state)
    assert outcome.reason == ("" if ended is Status.DONE else "server_error")


def test_a_field_that_was_filled_is_filled_although_its_page_could_not_save_it() -> None:
    report = Report(Lookup(hit=True), acted=True, evidence=Evidence(requests=(with_status(500),)), url=COMPOSE)

    fills, presses = (Judge(wanted, (), is_known_commit=False) for wanted in (FILL_TO, CLICK_HELP))

    assert fills.fault(report) is None
    assert fills.warnings(report) == ("server_error: POST https://mail.example/send was answered with status 500",)
    assert (presses.fault(report) or ("",))[0] == "server_error"


async def test_a_step_that_expects_the_status_itself_is_judged_by_that(stage: Stage) -> None:
    stage.site.pages[COMPOSE].elements["send"].sends = (with_status(409),)
    expect = [{"any_of": [{"response_status": 409}, {"text_contains": "Message sent"}]}]

    outcome = await stage.perform(learned(step("click", "the send button", expect=expect), SEND))

    assert outcome.status is Status.DONE


async def test_what_is_not_required_warns_and_fails_nothing(stage: Stage) -> None:
    optional = {"text_contains": "no page says this", "required": False}
    wanted = step("click", "the help button", expect=[{"text_contains": "How to write"}, optional])

    outcome = await stage.perform(learned(wanted, HELP))

    [warning] = outcome.warnings
    assert (outcome.status, warning.partition(":")[0]) == (Status.DONE, "text_missing")


SENT_TO = step("click", "the send button", effect="commit", expect=[{"text_contains": "Message sent to {{to}}"}])


async def test_a_commit_whose_parameters_are_on_the_page_already_is_left_alone(stage: Stage) -> None:
    stage.site.pages[COMPOSE] = FakePage({"send": FakeElement(SEND)}, texts=("Message sent to ada@example.com",))

    outcome = await stage.perform(learned(SENT_TO, SEND))

    assert (outcome.status, outcome.already_done, stage.inputs) == (Status.DONE, True, [])


async def test_what_held_before_a_press_that_was_recorded_does_not_tell_that_it_was_done(stage: Stage) -> None:
    stage.site.pages[COMPOSE].texts = ("Message sent to ada@example.com",)
    stage.site.pages[COMPOSE].elements["to"].value = "ada@example.com"
    wanted = SENT_TO.model_copy(update={"effect": None})
    entry = await stage.learn(learned(wanted, SEND))

    replayed = await stage.perform(of_run("r2", request(wanted)))

    assert (entry.effect, entry.held_before) == (Effect.COMMIT, True)
    assert (replayed.status, replayed.already_done) == (Status.DONE, False)
    assert stage.inputs == [Dispatch(Action.CLICK, "send")]


@pytest.mark.parametrize(
    "wanted",
    [
        step("click", "the send button", effect="commit", expect=[{"text_contains": "Message sent"}]),
        SENT_TO.model_copy(update={"always": True}),
        SENT_TO.model_copy(update={"effect": None}),
    ],
)
async def test_a_commit_is_dispatched_although_an_old_message_is_on_the_page(stage: Stage, wanted: Step) -> None:
    stage.site.pages[COMPOSE].texts = ("Message sent to ada@example.com",)
    stage.site.pages[COMPOSE].elements["to"].value = "ada@example.com"

    outcome = await stage.perform(learned(wanted, SEND))

    assert (outcome.status, outcome.already_done) == (Status.DONE, False)
    assert stage.inputs == [Dispatch(Action.CLICK, "send")]


async def test_an_opened_page_leaves_no_entry(stage: Stage) -> None:
    outcome = await stage.perform(request(step("goto", "", url=SENT), 0))

    assert (outcome.status, outcome.url) == (Status.DONE, SENT)
    assert await stage.versions(outcome) == []


# -------------------------------------------------------------------------------------------- secrets


@pytest.mark.parametrize("bound", [{}, {"PASSWORD": sites_in("other.example", "test")}])
@pytest.mark.parametrize("effect", ["idempotent", "commit"])
async def test_a_secret_that_does_not_belong_to_the_page_is_blocked_and_nothing_is_typed(
    bound: dict[str, tuple[Site, ...]], effect: str
) -> None:
    stage = Stage(secrets=FakeSecrets({"PASSWORD": PASSWORD}, bound))
    asked = learned(FILL_SECRET.model_copy(update={"effect": Effect(effect)}), SECRET_FIELD)

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.rule) == ("blocked", RULE)
    assert "`replaywright admin secrets bind PASSWORD mail.example`" in outcome.message
    assert stage.inputs == []
    assert await stage.state(asked) in ("", "NOT_DONE")


async def test_a_run_whose_start_is_not_signed_gets_no_secret_at_all(stage: Stage) -> None:
    stage.starts.fault = "unsigned"

    outcome = await stage.perform(learned(FILL_SECRET, SECRET_FIELD))
    harmless = await stage.perform(learned(FILL_TO, TO, sequence=8))

    assert (outcome.status, outcome.rule) == ("blocked", "unsigned-starts")
    assert "it gets no secret, as the start of this run is not signed (unsigned)" in outcome.message
    assert harmless.status == "done"
    assert PASSWORD not in [dispatch.text for dispatch in stage.inputs]


async def test_an_operator_may_trust_whoever_reaches_temporal(stage: Stage) -> None:
    stage.starts.fault = "unsigned"
    vault = Vault(stage.secrets, stage.starts, UnsignedStarts.TRUST)
    stage.equip(vault)

    outcome = await stage.perform(learned(FILL_SECRET, SECRET_FIELD))

    assert (outcome.status, [dispatch.text for dispatch in stage.inputs]) == ("done", [PASSWORD])


async def test_a_rotated_secret_is_typed_anew_by_what_was_learned(stage: Stage) -> None:
    entry = await stage.learn(learned(FILL_SECRET, SECRET_FIELD))
    rotated = FakeSecrets({"PASSWORD": "rotated-value"}, BOUND)
    vault = Vault(rotated, stage.starts)
    stage.equip(vault)

    outcome = await stage.perform(of_run("r2", request(FILL_SECRET)))

    assert (outcome.status, outcome.lookup.from_model, outcome.lookup.entry_version) == ("done", False, entry.version)
    assert [dispatch.text for dispatch in stage.inputs] == ["rotated-value"]


async def test_no_secret_is_in_outcome_entry_trace_or_snapshot(stage: Stage) -> None:
    leaky = Target(
        tag="button",
        role="button",
        name="Show",
        text=PASSWORD,
        row=(f"is {PASSWORD}",),
        neighbours=(PASSWORD,),
        container=f"form {PASSWORD}",
        attributes={"title": PASSWORD, "data-test": PASSWORD},
        css=f"[title='{PASSWORD}']",
    )
    leak = UnsafeRequest(method="POST", url=f"https://mail.example/{PASSWORD}")
    secret_url = f"{SENT}/{PASSWORD}"
    stage.site.pages[COMPOSE].elements["show"] = FakeElement(leaky, goes_to=secret_url, sends=(leak,))
    stage.site.pages[secret_url] = FakePage(title=PASSWORD, texts=(PASSWORD,), extracts={"seen": f"it is {PASSWORD}"})
    filled = learned(FILL_SECRET, SECRET_FIELD)
    shown = learned(step("click", "the show button", expect=[{"url_contains": "/sent"}]), leaky, sequence=2)
    read = request(step("extract", "", fields={"seen": {}}), 3)
    missed = request(step("click", "the button that is not there"), 4)
    unmet = request(step("wait_for", "", expect=[{"url_contains": "/nowhere"}]), 5)

    outcomes = [await stage.perform(asked) for asked in (filled, shown, read, missed, unmet)]

    assert [outcome.status for outcome in outcomes] == ["done", "done", "done", "missed", "unmet"]
    assert outcomes[2].extracted == {"seen": "it is {{secret:PASSWORD}}"}
    assert stage.inputs[0] == Dispatch(Action.FILL, "password", PASSWORD)
    everything = await stage.kept() + "".join(outcome.model_dump_json() for outcome in outcomes)
    assert "{{secret:PASSWORD}}" in everything
    assert FakeSecrets({"PASSWORD": PASSWORD}).redact(everything) == everything


async def test_an_errors_message_loses_its_secret(stage: Stage) -> None:
    stage.site.fail_before = [failure(dispatched=False)]

    outcome = await stage.perform(learned(FILL_SECRET, SECRET_FIELD))

    assert outcome.message == "covered; {{secret:PASSWORD}} was typed"


async def test_codes_and_digests_survive_a_secret_that_occurs_in_them(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    unlucky = Stage(secrets=FakeSecrets({"A": "done", "B": asked.context.fingerprint[:4], "C": "1"}, BOUND))

    outcome = await unlucky.perform(asked)

    assert (outcome.status, outcome.fingerprint) == (Status.DONE, asked.context.fingerprint)
    assert await unlucky.state(asked) == "COMMITTED"


@pytest.mark.parametrize(("wanted", "sensitive"), [(FILL_TO, False), (FILL_SECRET, True)])
async def test_the_browser_is_told_what_is_sensitive(stage: Stage, wanted: Step, sensitive: bool) -> None:
    await stage.perform(learned(wanted, TO))

    assert [work.sensitive for work in stage.browser.works] == [sensitive]


async def test_a_secret_without_a_value_stops_the_step_before_anything_is_done(stage: Stage) -> None:
    wanted = step("fill", "the To field", value="{{secret:TOKEN}}")

    with pytest.raises(SecretMissing):
        await stage.perform(learned(wanted, TO))

    assert stage.inputs == []


async def test_a_declared_element_that_its_parameters_leave_empty_is_refused(stage: Stage) -> None:
    wanted = step("click", "the button", target={"name": "{{to}}"})

    with pytest.raises(InputInvalid, match="parameters are all empty"):
        await stage.perform(request(wanted, values={"to": ""}))

    assert stage.inputs == []


# --------------------------------------------------------------------------------------------- effects


async def test_a_click_that_was_seen_to_send_nothing_becomes_a_read(stage: Stage) -> None:
    asked = learned(CLICK_HELP, HELP)
    entry = await stage.learn(asked)

    outcome = await stage.perform(of_run("r2", asked))

    assert (entry.effect, outcome.effect, outcome.status) == (Effect.READ, Effect.READ, Status.DONE)
    assert stage.store.calls == ["look_up", "record"]


async def test_a_click_that_sends_something_unsafe_stays_a_commit(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    entry = await stage.learn(asked)

    outcome = await stage.perform(of_run("r2", asked))

    assert (entry.effect, outcome.effect) == (Effect.COMMIT, Effect.COMMIT)
    assert stage.store.calls == ["look_up", "intend", "dispatch", "record"]


async def test_a_click_that_sends_something_for_the_first_time_is_raised_for_all_later_runs(stage: Stage) -> None:
    asked = learned(CLICK_HELP, HELP)
    await stage.learn(asked)
    stage.site.pages[COMPOSE].elements["help"].sends = (POST,)

    raised = await stage.perform(of_run("r2", asked))

    assert raised.effect is Effect.COMMIT
    assert [entry.effect for entry in await stage.versions(raised)] == [Effect.READ, Effect.COMMIT]


async def test_a_commit_step_that_sent_nothing_once_stays_a_commit(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    await stage.learn(asked)
    stage.site.pages[COMPOSE].elements["send"].sends = ()

    outcome = await stage.perform(of_run("r2", asked))

    assert outcome.effect is Effect.COMMIT
    assert {entry.effect for entry in await stage.versions(outcome)} == {Effect.COMMIT}


@pytest.mark.parametrize("declared", [Effect.COMMIT, Effect.IRREVERSIBLE])
async def test_a_declared_effect_is_lowered_neither_by_the_cache_nor_by_what_is_seen(
    stage: Stage, declared: Effect
) -> None:
    stage.site.pages[COMPOSE].elements["help"].goes_to = "https://mail.example/help"
    asked = learned(CLICK_HELP.model_copy(update={"effect": declared}), HELP)
    entry = await stage.learn(asked)

    outcome = await stage.perform(of_run("r2", asked))

    assert entry.effect is Effect.READ
    assert outcome.effect is declared
    assert "intend" in stage.store.calls


# ----------------------------------------------------------------------------------------------- modes


@pytest.mark.parametrize(
    ("heal", "status", "held"), [(Heal.OFF, "missed", None), (Heal.PROPOSE, "done", True), (Heal.AUTO, "done", False)]
)
async def test_a_changed_element_is_healed_only_as_far_as_the_run_may(
    stage: Stage, heal: Heal, status: str, held: bool | None
) -> None:
    asked = learned(CLICK_SEND, SEND)
    await stage.learn(asked)
    renamed = SEND.model_copy(update={"name": "Send message", "element_hash": "h2"})
    stage.site.pages[COMPOSE].elements["send"].target = renamed

    outcome = await stage.perform(but(of_run("r2", asked), heal=heal))

    newer = [entry for entry in await stage.versions(outcome) if entry.run_id == "r2"]
    assert outcome.status == status
    assert [(entry.name, entry.origin, entry.hold) for entry in newer] == (
        [] if held is None else [("Send message", "heal", held)]
    )
    assert len(stage.inputs) == (0 if held is None else 1)


async def test_a_miss_for_want_of_a_recording_of_this_value_says_so(stage: Stage) -> None:
    asked = learned(step("click", "the button of {{to}}"), SEND)
    await stage.learn(asked)
    values = {**asked.context.values, "to": "bob@example.com"}

    outcome = await stage.perform(but(of_run("r2", asked), values=values))

    assert (outcome.status, outcome.reason) == (Status.MISSED, "no_entry")
    assert (
        "the element was recorded for another value of {{to}}, and does not show which; looked for" in outcome.message
    )


async def test_requests_are_kept_of_the_steps_that_are_to_be_recorded(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)

    await stage.perform(but(asked, records=True))
    await stage.perform(of_run("r2", asked))

    assert [work.records for work in stage.browser.works] == [asked.context.sequence, None]


async def test_what_a_healed_step_leads_to_is_learned_once_more_by_the_next_run(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    await stage.learn(asked)
    renamed = SEND.model_copy(update={"name": "Send message", "element_hash": "h2"})
    stage.site.pages[COMPOSE].elements["send"].target = renamed
    healed = await stage.learn(of_run("r2", asked))

    again = await stage.perform(of_run("r3", asked))

    assert healed.origin == "heal"
    assert stage.browser.works[-1].relearning
    assert [(entry.name, entry.origin) for entry in (await stage.versions(again))[-1:]] == [("Send message", "review")]


async def test_what_was_learned_once_more_after_a_heal_is_not_learned_again(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    await stage.learn(asked)
    stage.site.pages[COMPOSE].elements["send"].target = SEND.model_copy(
        update={"element_hash": "h2", "name": "Send now"}
    )
    for run_id in ("r2", "r3"):
        await stage.learn(of_run(run_id, asked))

    outcome = await stage.perform(of_run("r4", asked))

    assert not stage.browser.works[-1].relearning
    assert (await stage.versions(outcome))[-1].run_id == "r3"


@pytest.mark.parametrize(
    ("declared", "heal", "name", "status"),
    [
        ({"name": "Send"}, Heal.AUTO, "Send", Status.DONE),
        ({"name": "Send"}, Heal.OFF, "Send", Status.MISSED),
        ({"css": "#main"}, Heal.AUTO, "Send", Status.DONE),
        ({"css": "#main"}, Heal.AUTO, "Send now", Status.DONE),
        ({"css": "#main"}, Heal.AUTO, "Archive", Status.MISSED),
    ],
)
async def test_what_is_not_found_as_recorded_is_found_as_declared_if_that_contradicts_it_in_nothing_and_it_may_heal(
    stage: Stage, declared: dict[str, str], heal: Heal, name: str, status: Status
) -> None:
    stage.site.pages[COMPOSE].elements["send"].target = SEND.model_copy(update={"css": "#main"})
    asked = request(step("click", "the send button", target=declared, expect=[{"text_contains": "Message sent"}]))
    await stage.learn(asked)
    other = Target(tag="x-send", role="img", name=name, css="#main", element_hash="h2")
    stage.site.pages[COMPOSE].elements["send"].target = other

    outcome = await stage.perform(but(of_run("r2", asked), heal=heal))

    assert outcome.status is status
    assert len(stage.inputs) == (1 if status is Status.DONE else 0)
    if status is Status.DONE:
        assert (outcome.lookup.tier, outcome.lookup.healed) == ("query", True)
        assert [entry.name for entry in await stage.versions(outcome) if entry.run_id == "r2"] == [name]


async def test_what_is_not_found_as_recorded_and_as_declared_several_times_is_missed_for_that(stage: Stage) -> None:
    elements = stage.site.pages[COMPOSE].elements
    elements["star"] = FakeElement(Target(tag="span", css=".star", xpath="/span[1]", text="one", element_hash="h1"))
    asked = request(step("click", "the star icon", target={"css": ".star"}))
    await stage.learn(asked)
    for number, says in enumerate(("two", "three")):
        other = Target(tag="b", css=".star", xpath=f"/div/b[{number}]", text=says, element_hash=says)
        elements[f"star{number}"] = FakeElement(other)
    del elements["star"]

    outcome = await stage.perform(of_run("r2", asked))

    assert (outcome.status, outcome.reason) == (Status.MISSED, "ambiguous")
    assert outcome.message.startswith('looked for css ".star"; 2 elements are so: say more of the one that is meant')


@pytest.mark.parametrize(("row", "status"), [((), Status.DONE), (("Invoice 7",), Status.MISSED)])
async def test_an_identifier_alone_is_enough_for_what_is_called_nothing_and_stands_in_no_row(
    stage: Stage, row: tuple[str, ...], status: Status
) -> None:
    icon = Target(tag="span", css="#star", xpath="/span[1]", row=row, element_hash="h1")
    stage.site.pages[COMPOSE].elements["star"] = FakeElement(icon)
    asked = request(step("click", "the star icon", target={"css": "#star"}))
    await stage.learn(asked)
    other_row = ("Invoice 8",) if row else ()
    moved = {"xpath": "/div/i", "tag": "i", "element_hash": "h2", "row": other_row}
    stage.site.pages[COMPOSE].elements["star"].target = icon.model_copy(update=moved)

    outcome = await stage.perform(of_run("r2", asked))

    assert outcome.status is status


async def test_another_task_finds_the_element_and_inherits_nothing_of_what_the_step_led_to(stage: Stage) -> None:
    first = await stage.learn(request(CLICK_SEND, proposed=SEND))
    await stage.store.promote(
        tenant="acme", run_id="l1", content_keys=[info.content_key for info in await stage.kept_elements()]
    )
    other = but(of_run("r2", request(CLICK_SEND)), owner="another-task")

    outcome = await stage.perform(other)

    assert (outcome.status, outcome.lookup.hit, outcome.lookup.from_model) == (Status.DONE, True, False)
    assert stage.browser.works[-1].target is not None
    assert (stage.browser.works[-1].learning, stage.browser.works[-1].causes) == (True, None)
    [own] = await stage.versions(outcome)
    assert (own.owner, own.name, own.run_id) == ("another-task", "Send", "r2")
    assert outcome.content_key != first.content_key


async def test_a_recording_serves_the_next_value_of_a_parameter_in_the_path(stage: Stage) -> None:
    for name in ("Main_Page", "Annual_report"):
        stage.site.pages[f"https://mail.example/wiki/{name}"] = stage.site.pages[COMPOSE]
    asked = but(request(CLICK_SEND, proposed=SEND), values={"title": "Main Page"})
    learned_now = await stage.perform(asked, from_url="https://mail.example/wiki/Main_Page")
    await stage.store.promote(tenant="acme", run_id="l1", content_keys=[learned_now.content_key])
    following = but(of_run("r2", asked), values={"title": "Annual report"})

    outcome = await stage.perform(following, from_url="https://mail.example/wiki/Annual_report")

    assert (outcome.status, outcome.content_key) == (Status.DONE, learned_now.content_key)
    assert (outcome.lookup.from_model, stage.browser.works[-1].learning) == (False, False)


async def test_learning_ignores_the_cache(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    await stage.learn(asked)

    outcome = await stage.perform(but(of_run("r2", asked), mode=Mode.LEARN))

    assert (outcome.status, outcome.reason) == (Status.MISSED, "no_entry")


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.LEARN])
async def test_a_rebuilt_browser_is_brought_forward_with_what_the_run_learned(stage: Stage, mode: Mode) -> None:
    asked = learned(FILL_TO, TO, mode=mode)
    await stage.perform(asked)
    stage.store.calls.clear()
    again = reapplied(but(asked, proposed=None, epoch=2))

    outcome = await stage.perform(again, from_url=COMPOSE)

    assert (outcome.status, outcome.from_ledger) == (Status.DONE, False)
    assert len(stage.inputs) == 2
    assert stage.store.calls == ["look_up"]
    assert len(await stage.versions(outcome)) == 1


# ------------------------------------------------------------------------------------------ the intent


async def test_a_commit_step_writes_its_intent_when_the_element_is_ready_and_before_any_input(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs_at_intent: list[int] = []
    intend = stage.store.intend

    async def watched(asked: Intent) -> Known:
        inputs_at_intent.append(len(stage.inputs))
        return await intend(asked)

    monkeypatch.setattr(stage.store, "intend", watched)
    stage.site.fail_before = [failure(dispatched=False)]

    not_ready = await stage.perform(learned(CLICK_SEND, SEND))
    intents_before = list(inputs_at_intent)
    ready = await stage.perform(learned(CLICK_SEND, SEND))

    assert (not_ready.status, intents_before) == (Status.REFUSED, [])
    assert (ready.status, inputs_at_intent, len(stage.inputs)) == (Status.DONE, [0], 1)


async def test_without_a_store_for_the_intent_nothing_is_dispatched(stage: Stage) -> None:
    stage.store.fails["intend"] = [AWAY]

    outcome = await stage.perform(learned(CLICK_SEND, SEND))

    assert (outcome.status, outcome.reason) == (Status.REFUSED, "store_unavailable")
    assert stage.inputs == []


async def test_a_commit_step_whose_ledger_cannot_be_read_is_refused_so_that_the_run_can_wait(stage: Stage) -> None:
    stage.store.is_away = True

    outcome = await stage.perform(learned(CLICK_SEND, SEND))

    assert (outcome.status, outcome.reason) == (Status.REFUSED, "store_unavailable")
    assert stage.browser.works == []


async def test_a_repeatable_step_whose_ledger_cannot_be_read_is_left_to_temporals_retry(stage: Stage) -> None:
    stage.store.is_away = True

    with pytest.raises(StoreUnavailable):
        await stage.perform(learned(FILL_TO, TO))

    assert stage.browser.works == []


async def test_a_fenced_attempt_dispatches_nothing_and_lets_go_of_the_browser(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = learned(CLICK_SEND, SEND)
    await stage.store.fence(tenant="acme", lineage="l1", fingerprint=asked.context.fingerprint, epoch=2)
    monkeypatch.setattr(stage.store, "look_up", nothing_known)

    with pytest.raises(Fenced):
        await stage.perform(asked)

    assert stage.inputs == []
    assert stage.browser.detached == 1


async def test_an_open_intent_of_an_earlier_attempt_is_in_doubt_and_untouched(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    await stage.intend(asked)

    outcome = await stage.perform(but(asked, epoch=2, recovered=True))

    assert (outcome.status, outcome.reason, outcome.effect) == (Status.IN_DOUBT, "ledger_intent", Effect.COMMIT)
    assert stage.browser.works == []


async def test_an_open_intent_is_in_doubt_though_the_step_now_counts_as_repeatable(stage: Stage) -> None:
    asked = learned(FILL_TO, TO)
    await stage.intend(asked)

    outcome = await stage.perform(but(asked, epoch=2, recovered=True))

    assert (outcome.status, outcome.reason) == (Status.IN_DOUBT, "ledger_intent")
    assert stage.browser.works == []


@pytest.mark.parametrize(("epoch", "status"), [(1, Status.DONE), (2, Status.IN_DOUBT)])
async def test_an_intent_whose_answer_was_lost_is_this_attempts_own_after_the_wait(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, epoch: int, status: Status
) -> None:
    asked = learned(CLICK_SEND, SEND)
    intend = stage.store.intend

    async def answers_too_late(asked: Intent) -> Known:
        monkeypatch.setattr(stage.store, "intend", intend)
        await intend(asked)
        raise AWAY

    monkeypatch.setattr(stage.store, "intend", answers_too_late)
    refused = await stage.perform(asked)
    state = await stage.state(asked)

    outcome = await stage.perform(but(asked, waited=True, epoch=epoch))

    assert (refused.reason, state, outcome.status) == ("store_unavailable", "INTENT", status)
    assert len(stage.inputs) == (1 if status is Status.DONE else 0)


async def test_an_open_intent_counts_as_own_only_after_a_wait(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    await stage.intend(asked)

    outcome = await stage.perform(asked)

    assert outcome.status is Status.IN_DOUBT
    assert stage.browser.works == []


@pytest.mark.parametrize(("wanted", "target"), [(FILL_TO, TO), (CLICK_SEND, SEND)])
async def test_nothing_is_dispatched_on_a_damaged_record(stage: Stage, wanted: Step, target: Target) -> None:
    asked = learned(wanted, target)
    stage.store.damage(tenant="acme", lineage="l1", fingerprint=asked.context.fingerprint)

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.reason) == (Status.REFUSED, "ledger_damaged")
    assert stage.browser.works == []


# ------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("wanted", "target", "dispatched", "status", "state"),
    [
        (FILL_TO, TO, False, Status.REFUSED, ""),
        (FILL_TO, TO, True, Status.UNMET, ""),
        (CLICK_SEND, SEND, False, Status.REFUSED, "NOT_DONE"),
        (CLICK_SEND, SEND, True, Status.IN_DOUBT, "DISPATCHED"),
    ],
)
async def test_a_failed_action_is_in_doubt_only_if_input_may_have_reached_a_commit(
    stage: Stage, *, wanted: Step, target: Target, dispatched: bool, status: Status, state: str
) -> None:
    asked = learned(wanted, target)
    stage.site.fail_after = [failure(dispatched=dispatched)]

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.reason) == (status, "timeout")
    assert await stage.state(asked) == state
    assert (await stage.lines())[-1]["status"] == status


async def test_after_a_refusal_the_next_epoch_may_dispatch(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    stage.site.fail_after = [failure(dispatched=False)]
    await stage.perform(asked)

    outcome = await stage.perform(but(asked, epoch=3), from_url=COMPOSE)

    assert outcome.status is Status.DONE


async def test_an_intent_that_cannot_be_taken_back_stays_open_and_the_outcome_is_returned(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    asked = learned(CLICK_SEND, SEND)
    stage.site.fail_after = [failure(dispatched=False)]
    stage.store.fails["fence"] = [AWAY]

    with caplog.at_level(logging.WARNING):
        outcome = await stage.perform(asked)

    assert outcome.status is Status.REFUSED
    assert await stage.state(asked) == "DISPATCHED"
    assert "stays open" in caplog.text


@pytest.mark.parametrize(
    ("sends", "status", "state"), [((POST,), Status.IN_DOUBT, "DISPATCHED"), ((), Status.UNMET, "NOT_DONE")]
)
async def test_an_unmet_expectation_of_a_commit_is_in_doubt_if_something_was_sent(
    stage: Stage, sends: tuple[UnsafeRequest, ...], status: Status, state: str
) -> None:
    stage.site.pages[COMPOSE].elements["send"].sends = sends
    asked = learned(step("click", "the send button", expect=NEVER), SEND)

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.reason, outcome.effect) == (status, "text_missing", Effect.COMMIT)
    assert "no page says this" in outcome.message
    assert outcome.snapshot in stage.artifacts.values
    assert await stage.state(asked) == state


async def test_an_unmet_expectation_of_a_repeatable_step_may_be_tried_again(stage: Stage) -> None:
    outcome = await stage.perform(learned(FILL_TO.model_copy(update={"expect": CLICK_SEND.expect}), TO))

    assert (outcome.status, outcome.effect) == (Status.UNMET, Effect.IDEMPOTENT)


async def test_a_click_taken_for_a_read_that_sends_something_and_fails_is_no_longer_repeatable(stage: Stage) -> None:
    asked = learned(CLICK_HELP, HELP)
    await stage.learn(asked)
    stage.site.pages[COMPOSE].elements["help"] = FakeElement(HELP, sends=(POST,))

    outcome = await stage.perform(of_run("r2", asked))

    assert (outcome.status, outcome.effect) == (Status.UNMET, Effect.COMMIT)


async def test_a_lost_browser_is_let_go_of_and_attached_again(stage: Stage) -> None:
    stage.site.fail_before = [SessionLost("crashed")]

    with pytest.raises(SessionLost):
        await stage.perform(learned(FILL_TO, TO))
    outcome = await stage.perform(learned(FILL_TO, TO))

    assert outcome.status is Status.DONE
    assert stage.keepers.attached == [("s1", 1), ("s1", 1)]


GONE = step("click", "the help button", effect="idempotent", expect=[{"text_contains": "How to write"}])


@pytest.mark.parametrize(("recovered", "status"), [(True, Status.DONE), (False, Status.MISSED)])
async def test_a_repeatable_step_whose_element_went_with_its_success_is_done_after_a_loss(
    stage: Stage, recovered: bool, status: Status
) -> None:
    stage.site.pages[COMPOSE] = FakePage(texts=("How to write a message",))

    outcome = await stage.perform(request(GONE, recovered=recovered))

    assert outcome.status is status
    assert stage.inputs == []
    assert await stage.versions(outcome) == []


async def test_an_old_attempt_that_fails_does_not_take_the_browser_from_the_new_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = stage.store.look_up

    async def meanwhile(**asked: str) -> Known:
        monkeypatch.setattr(stage.store, "look_up", look_up)
        await stage.perform(learned(FILL_TO, TO, epoch=2))
        raise SessionLost("its connection was cut")

    monkeypatch.setattr(stage.store, "look_up", meanwhile)

    with pytest.raises(SessionLost):
        await stage.perform(learned(FILL_SECRET, SECRET_FIELD, sequence=2))
    await stage.perform(learned(CLICK_HELP, HELP, sequence=3, epoch=2))

    assert stage.keepers.attached == [("s1", 1), ("s1", 2)]


# ------------------------------------------------------------------------------------------- recording


async def test_an_outcome_that_cannot_be_recorded_is_still_returned(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.store.fails["record"] = [AWAY] * 9

    with caplog.at_level(logging.WARNING):
        outcome = await stage.perform(learned(FILL_TO, TO))

    assert outcome.status is Status.DONE
    assert stage.store.calls.count("record") == 4
    assert "is not recorded" in caplog.text


async def test_recording_is_tried_again_until_the_store_is_back(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    stage.store.fails["record"] = [AWAY, AWAY]

    await stage.perform(asked)

    assert await stage.state(asked) == "COMMITTED"
    assert len(stage.inputs) == 1


async def test_a_success_that_is_fenced_while_recording_is_kept_as_late_evidence(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = learned(CLICK_SEND, SEND)
    dispatch = stage.store.dispatch

    async def overtaken(**scope: Any) -> None:
        await dispatch(**scope)
        await stage.store.fence(tenant="acme", lineage="l1", fingerprint=asked.context.fingerprint, epoch=2)

    monkeypatch.setattr(stage.store, "dispatch", overtaken)

    with pytest.raises(Fenced):
        await stage.perform(asked)

    known = await stage.store.look_up(
        tenant="acme", lineage="l1", fingerprint=asked.context.fingerprint, run_id="r1", content_key=""
    )
    assert (known.state, known.late is not None) == ("RESOLVING", True)


# ---------------------------------------------------------------------------------------- round trips


async def replayed(stage: Stage) -> tuple[Perform, Perform]:
    """Two learned steps of a second run; the first has been performed."""
    await stage.learn(learned(FILL_TO, TO))
    await stage.learn(learned(CLICK_SEND, SEND, sequence=2))
    first = but(of_run("r2", request(FILL_TO)), next_step=CLICK_SEND)
    done = await stage.perform(first)
    second = but(
        of_run("r2", request(CLICK_SEND, 2)),
        fingerprint=fingerprint(CLICK_SEND, first.context.values, first.context.fingerprint, done.digest),
    )
    return first, second


async def test_a_replayed_commit_step_asks_for_its_intent_and_its_dispatch_and_records_with_the_next_looked_up(
    stage: Stage,
) -> None:
    _, second = await replayed(stage)
    first_calls = list(stage.store.calls)
    stage.store.calls.clear()

    outcome = await stage.perform(second)

    assert first_calls == ["look_up", "record"]
    assert stage.store.calls == ["intend", "dispatch", "record"]
    assert (outcome.status, outcome.costs.redis_round_trips, outcome.costs.evaluations) == (Status.DONE, 3, 1)


@pytest.mark.parametrize(("change", "attempt"), [({"recovered": True}, 1), ({}, 2), ({"epoch": 2}, 1)])
async def test_what_was_fetched_ahead_counts_for_an_untroubled_first_attempt_only(
    stage: Stage, change: dict[str, Any], attempt: int
) -> None:
    _, second = await replayed(stage)
    stage.store.calls.clear()

    await stage.perform(but(second, **change), attempt=attempt)

    assert stage.store.calls == ["look_up", "intend", "dispatch", "record"]


async def test_what_was_fetched_ahead_is_used_once(stage: Stage) -> None:
    _, second = await replayed(stage)
    stage.store.calls.clear()
    stage.site.fail_before = [failure(dispatched=False)]

    await stage.perform(second)
    await stage.perform(second)

    assert stage.store.calls == ["record", "look_up", "intend", "dispatch", "record"]


async def test_what_was_fetched_ahead_for_a_step_that_did_not_come_is_forgotten(stage: Stage) -> None:
    _, second = await replayed(stage)
    held = await stage.attachments.hold(second.context.run.session, 1)
    fetched = list(held.prefetched)

    await stage.perform(but(of_run("r2", request(CLICK_HELP, 3, proposed=HELP)), proposed=HELP))

    assert [mark for mark, _ in fetched] == [second.context.fingerprint]
    assert held.prefetched == {}


async def test_nothing_is_fetched_ahead_while_the_store_is_away(stage: Stage) -> None:
    await stage.learn(learned(CLICK_SEND, SEND, sequence=2))
    stage.store.fails["record"] = [AWAY] * 4

    await stage.perform(learned(FILL_TO, TO, next_step=CLICK_SEND))

    held = await stage.attachments.hold(request(FILL_TO).context.run.session, 1)
    assert held.prefetched == {}


# ---------------------------------------------------------------------------------------- the commit gate


async def test_bytes_leave_only_after_the_ledger_has_let_them_go(stage: Stage) -> None:
    outcome = await stage.perform(learned(CLICK_SEND, SEND))

    assert stage.store.calls == ["look_up", "intend", "dispatch", "record", "keep"]
    assert outcome.evidence.departure == Departure(bytes_up=1, held_at=1.0, permitted_at=2.0)
    assert stage.gate.current is None


@pytest.mark.parametrize("refusal", [Fenced("another attempt"), StoreUnavailable("away")])
async def test_what_the_ledger_does_not_let_go_never_leaves_and_is_in_doubt_whatever_the_page_shows(
    stage: Stage, refusal: ReplaywrightError
) -> None:
    asked = learned(step("click", "the send button", expect=[{"url_contains": "compose"}]), SEND)
    stage.store.fails["dispatch"] = [refusal]

    outcome = await stage.perform(asked)

    assert (outcome.status, outcome.reason) == (Status.IN_DOUBT, "gate_cut")
    assert str(refusal) in outcome.message
    assert outcome.evidence.departure is not None
    assert (outcome.evidence.departure.bytes_up, outcome.evidence.departure.cut) == (0, True)
    assert stage.gate.current is not None, "the gate stays closed until the page's loads are stopped"
    assert stage.gate.loads_stopped == 1


async def test_a_commit_that_sends_nothing_asks_for_no_dispatch_and_opens_the_gate_again(stage: Stage) -> None:
    stage.site.pages[COMPOSE].elements["send"].sends = ()

    outcome = await stage.perform(learned(CLICK_SEND, SEND))

    assert outcome.status is Status.DONE
    assert "dispatch" not in stage.store.calls
    assert stage.gate.current is None


async def test_an_intent_that_is_refused_leaves_the_gate_open(stage: Stage) -> None:
    asked = learned(CLICK_SEND, SEND)
    stage.store.fails["intend"] = [StoreUnavailable("away")]

    refused = await stage.perform(asked)
    again = await stage.perform(but(asked, waited=True))

    assert (refused.status, refused.reason) == (Status.REFUSED, "store_unavailable")
    assert again.status is Status.DONE
    assert len(stage.inputs) == 1


async def test_a_page_that_shows_success_is_not_believed_once_it_is_known_that_nothing_left(stage: Stage) -> None:
    wanted = step("click", "the send button", effect="commit", expect=[{"text_contains": "Message sent to {{to}}"}])
    stage.site.pages[COMPOSE].texts = ("Message sent to ada@example.com",)
    asked = learned(wanted, SEND)

    believed = await stage.perform(asked)
    performed = await stage.perform(but(of_run("r2", asked), disproved=True, proposed=SEND))

    assert (believed.already_done, performed.already_done) == (True, False)
    assert len(stage.inputs) == 1


# --------------------------------------------------------------------- losses of which it is certain that nothing came


async def test_a_browser_that_is_gone_before_the_intent_leaves_the_step_untouched_and_says_so() -> None:
    stage = Stage()
    stage.browser.is_lost = True
    click = stage.actions.activities()[list(Action).index(Action.CLICK)]

    with pytest.raises(ApplicationError) as lost:
        await run_activity(click, StepCommand(request(SENT_TO, 2, proposed=SEND)))

    assert (lost.value.type, lost.value.details) == ("SessionLost", (UNTOUCHED,))


async def test_a_browser_that_is_gone_after_the_input_does_not() -> None:
    stage = Stage()
    stage.site.fail_after = [SessionLost("gone")]

    with pytest.raises(SessionLost) as lost:
        await stage.perform(request(SENT_TO, 2, proposed=SEND))

    assert not lost.value.untouched


async def test_neither_does_a_step_that_an_earlier_attempt_fenced() -> None:
    stage = Stage()
    asked = request(SENT_TO, 2, proposed=SEND)
    stage.store.fails["intend"] = [Fenced("another attempt's intent is open")]

    with pytest.raises(Fenced) as fenced:
        await stage.perform(asked)

    assert not fenced.value.untouched


async def test_a_commit_step_that_is_only_looked_for_writes_no_intent_and_teaches_nothing() -> None:
    stage = Stage()
    learned = await stage.learn(request(CLICK_SEND, proposed=SEND))

    looked = await stage.perform(but(request(CLICK_SEND), run_id="r2", lineage="l2", mode=Mode.REPLAY, looks=True))

    assert (looked.status, looked.lookup.hit, looked.effect) == (Status.DONE, True, Effect.READ)
    assert stage.inputs == []
    assert [call for call in stage.store.calls if call == "intend"] == []
    assert await stage.versions(looked) == [learned]
