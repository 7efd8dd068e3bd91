"""Deciding a commit step in doubt: fence first, read only, never guess."""

import asyncio
import logging
from dataclasses import replace
from typing import Any, Literal

import pytest

from activities.proof.effects import Flight
from activities.session.gate import operation_of
from activities.step.records import recording_of
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Target
from replaywright.domain.run.commands import Perform
from replaywright.domain.run.commit_requests import PersonVerdict, Resolution, ResolveRequest, SettleRequest
from replaywright.domain.session.commit_gate import GateSeen, SentRequest
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.errors import Fenced, ReplaywrightError, SessionLost, StoreUnavailable
from replaywright.ports.browser import SiteAnswer
from replaywright.ports.ledger import Intent
from replaywright.testing.browser import FakeElement, FakePage
from tests.unit.staged import (
    CLICK_SEND,
    COMPOSE,
    FILL_TO,
    HELP,
    PASSWORD,
    SEND,
    SENT,
    TO,
    Stage,
    but,
    of_run,
    request,
    run_activity,
    step,
)

DOUBTED = request(CLICK_SEND, 2, proposed=SEND)
"""As it was performed under epoch 1."""
SCOPE: dict[str, Any] = {"tenant": "acme", "lineage": "l1", "fingerprint": DOUBTED.context.fingerprint}
SUCCESS = StepOutcome(status=Status.DONE, fingerprint=DOUBTED.context.fingerprint, effect=Effect.COMMIT, url=SENT)


@pytest.fixture
async def stage() -> Stage:
    """A ledger that knows the step before the one in doubt."""
    staged = Stage()
    await staged.perform(request(FILL_TO, 1, proposed=TO))
    staged.site.dispatches.clear()
    return staged


async def resolved(
    stage: Stage, *, asked: Perform = DOUBTED, adopted: bool = True, epoch: int = 2, **more: Any
) -> Resolution:
    """The resolution of an attempt that was lost under epoch 1."""
    now = but(asked, epoch=epoch, recovered=True)
    told = {"doubted": 1, "lost": True, **more}
    return await run_activity(stage.effects.resolve_step, ResolveRequest(action=now.context, adopted=adopted, **told))


def lose_intent(stage: Stage, *, is_emptied: bool) -> None:
    """Redis comes back without anything, or as it was before the step."""
    if is_emptied:
        stage.store._ledger.clear()
        stage.store._traces.clear()
    else:
        stage.store._ledger[("acme", "l1", DOUBTED.context.fingerprint)].state = ""


async def settled(stage: Stage, verdict: Literal["done", "not_done", "retry", "abandon"], who: str = "Ada") -> None:
    said = PersonVerdict(sequence=2, verdict=verdict, who=who, why="looked into Sent")
    asked = but(DOUBTED, epoch=2)
    await run_activity(stage.effects.settle_step, SettleRequest(action=asked.context, verdict=said))


def show_success(stage: Stage) -> None:
    """The live page says that the mail was sent."""
    page = stage.site.pages[SENT]
    page.texts = ("Message sent to ada@example.com",)
    stage.open(SENT)
    stage.attachments._held.clear()


# ------------------------------------------------------------------------------------- by the ledger


async def test_a_recorded_outcome_decides_without_a_look_at_the_page(stage: Stage) -> None:
    done = await stage.perform(DOUBTED)

    resolution = await resolved(stage, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("done", "recorded")
    assert resolution.outcome is not None
    assert (resolution.outcome.from_ledger, resolution.outcome.evidence) == (True, done.evidence)
    assert len(stage.inputs) == 1


async def test_a_step_that_a_person_settled_is_done_though_nothing_was_recorded(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    await stage.store.fence(**SCOPE, epoch=2)
    await stage.store.settle(**SCOPE, epoch=2, state="COMMITTED", who="Ada")

    resolution = await resolved(stage, epoch=3)

    assert resolution.outcome is not None
    assert (resolution.verdict, resolution.outcome.reason) == ("done", "person")
    assert (resolution.outcome.status, resolution.outcome.effect) == (Status.DONE, Effect.COMMIT)


async def test_a_success_reported_late_is_evidence(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    await stage.store.fence(**SCOPE, epoch=2)
    with pytest.raises(Fenced):
        await stage.store.record(recording_of(DOUBTED.context, SUCCESS, {}))

    resolution = await resolved(stage, epoch=3, adopted=False)
    again = await resolved(stage, epoch=3, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("done", "late")
    assert resolution.outcome == SUCCESS.model_copy(update={"from_ledger": True}) == again.outcome
    assert await stage.state(DOUBTED) == "COMMITTED"


async def test_an_attempt_that_the_keeper_never_heard_of_was_certainly_not_dispatched(stage: Stage) -> None:
    resolution = await resolved(stage)
    again = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("not_done", "no_intent")
    assert again == resolution
    assert await stage.state(DOUBTED) == "NOT_DONE"


@pytest.mark.parametrize(("adopted", "lost", "reason"), [(False, True, "page_rebuilt"), (True, False, "ledger_gap")])
async def test_without_a_witness_that_there_is_no_intent_says_nothing(
    stage: Stage, *, adopted: bool, lost: bool, reason: str
) -> None:
    show_success(stage)

    resolution = await resolved(stage, adopted=adopted, lost=lost)
    again = await resolved(stage, adopted=adopted, lost=lost)

    assert (resolution.verdict, resolution.reason) == ("undecidable", reason)
    assert again == resolution
    assert await stage.state(DOUBTED) == "ESCALATED"


async def test_a_step_that_was_seen_to_change_nothing_is_simply_done_again_in_a_new_browser() -> None:
    stage = Stage()
    look = request(step("click", "the help button"), 2, proposed=HELP)
    await stage.learn(look)
    asked = of_run("r2", look)

    resolution = await resolved(stage, asked=asked, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("not_done", "no_intent")


async def witnessed() -> tuple[Stage, str]:
    """A stage on which the step before the one in doubt was done, and what shows whether the store lost anything."""
    stage = Stage()
    before = await stage.perform(request(FILL_TO, 1, proposed=TO, next_step=CLICK_SEND))
    return stage, before.witness


async def test_without_a_keeper_a_ledger_that_has_lost_nothing_and_has_no_intent_says_that_nothing_was_sent() -> None:
    stage, witness = await witnessed()

    resolution = await resolved(stage, adopted=False, witness=witness)

    assert witness
    assert (resolution.verdict, resolution.reason) == ("not_done", "no_intent")
    assert await stage.state(DOUBTED) == "NOT_DONE"
    with pytest.raises(Fenced):  # whoever is still on his way comes too late
        await stage.store.intend(Intent(**SCOPE, epoch=1, attempt="the one in doubt"))


@pytest.mark.parametrize("happened", ["intent", "emptied", "another process", "not lost", "no witness"])
async def test_without_a_keeper_a_ledger_that_may_have_lost_something_says_nothing(happened: str) -> None:
    stage, witness = await witnessed()
    told: dict[str, Any] = {"witness": witness}
    match happened:
        case "intent":
            await stage.intend(DOUBTED)
        case "emptied":
            lose_intent(stage, is_emptied=True)
        case "another process":
            stage.store.process = "b"
        case "not lost":
            told["lost"] = False
        case "no witness":
            told["witness"] = ""

    resolution = await resolved(stage, adopted=False, **told)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "page_rebuilt")


async def test_only_the_step_before_one_that_must_not_be_repeated_is_witnessed() -> None:
    stage = Stage()
    harmless = request(FILL_TO, 1, proposed=TO, next_step=FILL_TO)

    assert (await stage.perform(harmless)).witness == ""


async def test_the_attempt_in_doubt_is_fenced_before_anything_is_decided(stage: Stage) -> None:
    await resolved(stage)

    with pytest.raises(Fenced):
        await stage.store.intend(Intent(**SCOPE, epoch=1, attempt="the one in doubt"))
    assert (await stage.store.intend(Intent(**SCOPE, epoch=3, attempt="the next"))).state == "INTENT"


@pytest.mark.parametrize("is_emptied", [True, False], ids=["emptied", "fallen back"])
async def test_when_redis_has_lost_the_intent_the_keeper_s_note_lets_the_page_decide(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, is_emptied: bool
) -> None:
    await lost_while_held(stage, monkeypatch, permitted=True)
    lose_intent(stage, is_emptied=is_emptied)

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("done", "seen_on_live_page")
    assert await stage.state(DOUBTED) == "COMMITTED"


@pytest.mark.parametrize("is_emptied", [True, False], ids=["emptied", "fallen back"])
async def test_when_redis_has_lost_the_intent_what_held_before_still_does_not_decide(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, is_emptied: bool
) -> None:
    stage.site.pages[COMPOSE].texts = ("Message sent to ada@example.com",)  # from the one before
    await lost_while_held(stage, monkeypatch, permitted=True)
    lose_intent(stage, is_emptied=is_emptied)

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "held_before")


@pytest.mark.parametrize(("is_emptied", "reason"), [(True, "ledger_lost"), (False, "ledger_gap")])
async def test_a_ledger_without_the_intent_says_nothing_and_a_keeper_without_a_note_neither(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, is_emptied: bool, reason: str
) -> None:
    await lost_while_held(stage, monkeypatch, permitted=True)
    lose_intent(stage, is_emptied=is_emptied)
    async with stage.gate.changed:
        await stage.gate.tell(note="")

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("undecidable", reason)
    assert await stage.state(DOUBTED) == "ESCALATED"


async def test_a_ledger_that_fell_back_to_an_earlier_attempt_does_not_speak_for_the_one_in_doubt(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lost_while_held(stage, monkeypatch)
    await resolved(stage)
    stage.gate.current = None  # the second attempt is made in a new browser
    second = but(DOUBTED, epoch=3)
    await stage.store.intend(Intent(**SCOPE, epoch=3, attempt="the second", held=()))
    held = await stage.attachments.hold(second.context.run.session, 3)
    await held.gate.arm(operation_of(second.context), within_ms=1000, hold_safe=False)
    await held.gate.permit(operation_of(second.context))
    await stage.gate.passes()
    record = stage.store._ledger[("acme", "l1", DOUBTED.context.fingerprint)]
    record.state, record.epoch = "INTENT", 1

    resolution = await resolved(stage, epoch=4, doubted=3)

    assert resolution.reason == "not_seen"


async def test_a_second_resolver_asks_the_black_box_about_the_attempt_not_about_the_first_resolver(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lost_while_held(stage, monkeypatch)
    await stage.store.fence(**SCOPE, epoch=2)

    resolution = await resolved(stage, epoch=3, doubted=0, lost=False)

    assert (resolution.verdict, resolution.reason) == ("not_done", "nothing_left")


async def test_a_damaged_record_is_for_a_person(stage: Stage) -> None:
    show_success(stage)
    stage.store.damage(**SCOPE)

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "ledger_damaged")
    assert await stage.state(DOUBTED) == "DAMAGED"


async def test_a_resolution_of_an_epoch_that_is_over_decides_nothing(stage: Stage) -> None:
    await stage.store.intend(Intent(**SCOPE, epoch=3, attempt="a newer one"))

    with pytest.raises(Fenced):
        await resolved(stage, epoch=2)

    assert await stage.state(DOUBTED) == "INTENT"


async def test_without_a_store_nothing_is_decided(stage: Stage) -> None:
    stage.store.is_away = True

    with pytest.raises(StoreUnavailable):
        await resolved(stage)


# --------------------------------------------------------------------------------------- by the page


async def test_a_live_page_that_shows_the_expected_state_proves_the_step(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    show_success(stage)

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("done", "seen_on_live_page")
    assert resolution.outcome is not None
    assert [result.passed for result in resolution.outcome.predicates] == [True]
    assert await stage.state(DOUBTED) == "COMMITTED"
    assert "live page" in (await stage.lines())[-1]["resolved"]
    assert stage.inputs == []


@pytest.mark.parametrize(("to", "reason"), [("ada@example.com", "seen_on_live_page"), ("bob@example.com", "not_seen")])
async def test_an_expectation_is_looked_for_with_todays_values(stage: Stage, to: str, reason: str) -> None:
    wanted = step("click", "the send button", expect=[{"text_contains": "sent to {{to}}"}])
    asked = but(DOUBTED, step=wanted, values={"to": to})
    await stage.intend(DOUBTED)
    show_success(stage)

    resolution = await resolved(stage, asked=asked)

    assert resolution.reason == reason


@pytest.mark.parametrize(
    ("adopted", "expects", "reason"),
    [(True, True, "not_seen"), (True, False, "no_expectation"), (False, True, "page_rebuilt")],
)
async def test_a_page_that_does_not_prove_it_leaves_the_decision_to_a_person(
    stage: Stage, *, adopted: bool, expects: bool, reason: str
) -> None:
    asked = DOUBTED if expects else but(DOUBTED, step=step("click", "the send button"))
    await stage.intend(DOUBTED)

    resolution = await resolved(stage, asked=asked, adopted=adopted)
    again = await resolved(stage, asked=asked, adopted=adopted)

    assert (resolution.verdict, resolution.reason) == ("undecidable", reason)
    assert again == resolution
    assert await stage.state(DOUBTED) == "ESCALATED"
    assert stage.inputs == []


async def test_a_dialog_that_the_step_has_led_to_is_told_to_whoever_decides(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    dialog = Target(tag="div", role="dialog", name=f'Delete "{PASSWORD}"?')
    stage.site.pages[COMPOSE].elements["dialog"] = FakeElement(dialog)

    resolution = await resolved(stage, asked=but(DOUBTED, step=step("click", "the send button")))

    assert resolution.reason.startswith(
        "no_expectation; the page shows the dialog \"Delete '{{secret:PASSWORD}}'?\"; if it asks for something"
    )


async def test_a_rebuilt_page_proves_nothing_whatever_it_shows(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    show_success(stage)

    resolution = await resolved(stage, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "page_rebuilt")


@pytest.mark.parametrize(("held", "reason"), [((), "seen_on_live_page"), ((0,), "held_before"), (None, "ledger_gap")])
async def test_what_held_before_the_step_does_not_decide_and_neither_does_what_may_have(
    stage: Stage, held: tuple[int, ...] | None, reason: str
) -> None:
    await stage.intend(DOUBTED, held=held)
    show_success(stage)

    resolution = await resolved(stage)

    assert resolution.reason == reason


async def test_one_expectation_that_did_not_hold_before_is_enough_for_the_page_to_decide(stage: Stage) -> None:
    wanted = step("click", "the send button", expect=[{"url_contains": "mail"}, {"text_contains": "sent to {{to}}"}])
    asked = but(DOUBTED, step=wanted)
    await stage.intend(asked, held=(0,))
    show_success(stage)

    assert (await resolved(stage, asked=asked)).verdict == "done"


async def test_an_intent_says_which_expectations_held_before(stage: Stage) -> None:
    wanted = step("click", "the send button", expect=[{"url_contains": "mail"}, {"text_contains": "sent to {{to}}"}])
    stage.site.fail_after = [SessionLost("gone")]

    with pytest.raises(SessionLost):
        await stage.perform(but(DOUBTED, step=wanted))

    known = await stage.store.look_up(**SCOPE, run_id="", content_key="")
    assert known.held == (0,)


async def test_a_browser_lost_while_it_is_asked_leaves_the_resolution_open(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    stage.browser.is_lost = True

    with pytest.raises(SessionLost):
        await resolved(stage)

    assert await stage.state(DOUBTED) == "RESOLVING"


async def test_what_the_page_proves_is_kept_without_secrets(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    show_success(stage)
    stage.site.pages[SENT].texts += (PASSWORD,)
    stage.open(f"{SENT}?q={PASSWORD}")

    resolution = await resolved(stage)

    assert resolution.outcome is not None
    assert resolution.outcome.url == f"{SENT}?q={{{{secret:PASSWORD}}}}"
    assert PASSWORD not in resolution.model_dump_json() + await stage.kept()


# --------------------------------------------------------------------------------------- by a person


@pytest.mark.parametrize(
    ("verdict", "state"), [("done", "COMMITTED"), ("not_done", "NOT_DONE"), ("abandon", "ABANDONED")]
)
async def test_a_person_ends_the_doubt_under_their_name(
    stage: Stage, verdict: Literal["done", "not_done", "abandon"], state: str
) -> None:
    await stage.intend(DOUBTED)
    await resolved(stage)

    await settled(stage, verdict)

    line = (await stage.lines())[-1]
    assert await stage.state(DOUBTED) == state
    assert stage.store.audit[-1] == (DOUBTED.context.fingerprint, state, "Ada: looked into Sent")
    assert (line["kind"], line["verdict"], line["who"], line["why"]) == ("person", verdict, "Ada", "looked into Sent")


async def test_who_has_a_step_performed_again_without_knowing_is_told_apart(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    await resolved(stage)

    await settled(stage, "retry")

    who = stage.store.audit[-1][2]
    assert await stage.state(DOUBTED) == "NOT_DONE"
    assert who == "Ada, who has it performed again whether it took effect or not: looked into Sent"


async def test_a_decision_without_a_name_is_still_audited(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    await resolved(stage)

    await settled(stage, "done", who="")

    assert stage.store.audit[-1] == (DOUBTED.context.fingerprint, "COMMITTED", "a person: looked into Sent")


async def test_a_decision_that_is_written_again_stays_the_same(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    await resolved(stage)

    await settled(stage, "not_done")
    await settled(stage, "not_done")

    assert await stage.state(DOUBTED) == "NOT_DONE"


async def test_a_decision_on_a_damaged_record_stands_in_the_trace(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.store.damage(**SCOPE)
    await resolved(stage)

    with caplog.at_level(logging.WARNING):
        await settled(stage, "done")

    assert "does not take the decision" in caplog.text
    assert (await stage.lines())[-1]["kind"] == "person"


# ------------------------------------------------------------------------------- a step that failed, not in doubt


@pytest.mark.parametrize(("verdict", "state"), [("done", "COMMITTED"), ("retry", ""), ("skip", ""), ("abandon", "")])
async def test_of_a_failed_step_a_person_s_answer_is_traced_and_only_done_enters_the_ledger(
    verdict: str, state: str
) -> None:
    stage = Stage()
    given = PersonVerdict.model_validate(
        {"sequence": DOUBTED.context.sequence, "verdict": verdict, "who": "Ada", "why": "seen"}
    )

    await run_activity(stage.effects.settle_step, SettleRequest(action=DOUBTED.context, verdict=given, failed=True))

    assert await stage.state(DOUBTED) == state
    [line] = await stage.lines()
    assert (line["kind"], line["verdict"], line["who"], line["why"]) == ("person", verdict, "Ada", "seen")


# --------------------------------------------------------------------------------- by the black box


async def lost_while_held(stage: Stage, monkeypatch: pytest.MonkeyPatch, *, permitted: bool = False) -> None:
    """The step in doubt came to the gate, and its worker was lost there, or right after the permit."""
    if not permitted:
        monkeypatch.setattr(stage.store, "dispatch", lambda **_: asyncio.Event().wait())
    else:
        stage.site.fail_after = [SessionLost("gone")]
    performing = asyncio.create_task(stage.perform(DOUBTED))
    async with stage.gate.changed:
        await stage.gate.changed.wait_for(lambda: stage.gate.current is not None and stage.gate.current.held > 0)
    if not permitted:
        performing.cancel()
    await asyncio.gather(performing, return_exceptions=True)
    monkeypatch.undo()
    stage.attachments._held.clear()


async def test_what_was_held_when_its_worker_was_lost_is_thrown_away_and_certainly_not_done(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lost_while_held(stage, monkeypatch)

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("not_done", "nothing_left")
    assert await stage.state(DOUBTED) == "NOT_DONE"
    assert stage.gate.current is not None
    assert stage.gate.current.nothing_left, "the page may send it again by itself"
    assert stage.gate.loads_stopped == 1


async def test_when_bytes_have_left_the_page_decides(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    await lost_while_held(stage, monkeypatch, permitted=True)

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("done", "seen_on_live_page")
    assert stage.gate.loads_stopped == 0


async def test_an_arming_of_another_attempt_says_nothing_about_the_one_in_doubt(stage: Stage) -> None:
    await stage.intend(DOUBTED)  # and armed by nobody
    held = await stage.attachments.hold(DOUBTED.context.run.session, 2)
    await held.gate.arm(operation_of(DOUBTED.context), within_ms=1000, hold_safe=False)

    resolution = await resolved(stage, epoch=3)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "not_seen")


async def test_a_page_that_was_rebuilt_has_no_black_box(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    await lost_while_held(stage, monkeypatch)

    resolution = await resolved(stage, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "page_rebuilt")


# ------------------------------------------------------------------------------------------- by the site

LIST = "https://mail.example/sent-list"
RECONCILE = {
    "steps": [{"action": "goto", "url": LIST}],
    "expect": [{"text_contains": "To: {{to}}"}],
}
ASKING = but(DOUBTED, step=step("click", "the send button", effect="commit", reconcile=RECONCILE), fingerprint="asking")
YES = SiteAnswer((PredicateResult(passed=True, reason="holds"),), LIST)
NO = SiteAnswer((PredicateResult(passed=False, reason="text_missing"),), LIST)
VOID = SiteAnswer(void="http_503")
INCOMPLETE = replace(NO, incomplete="http_500")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What is waited for, without waiting."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("activities.proof.reconciling.sleep", sleep)
    return waited


async def asked_site(stage: Stage, *answers: SiteAnswer | ReplaywrightError, **more: Any) -> Resolution:
    """The resolution in a rebuilt browser, of a step with nothing in flight, of which only the site can tell."""
    await stage.intend(ASKING)
    stage.site.answers = list(answers)
    return await resolved(stage, asked=ASKING, adopted=False, **{"answered": True, **more})


@pytest.mark.parametrize(
    ("answers", "verdict", "reason", "asked"),
    [
        ([YES], "done", "on_site", 1),
        ([NO, NO], "not_done", "not_on_site", 2),
        ([NO, YES], "done", "on_site", 2),
        ([VOID, YES], "done", "on_site", 2),
        ([VOID, NO, INCOMPLETE, NO], "not_done", "not_on_site", 4),
        ([VOID] * 4, "undecidable", "page_rebuilt, and the site was asked 4 times: http_503", 4),
        ([NO, *[INCOMPLETE] * 4], "undecidable", "page_rebuilt, and the site was asked 5 times: http_500", 5),
    ],
)
async def test_the_site_decides_when_nothing_else_does(
    stage: Stage, pauses: list[float], *, answers: list[SiteAnswer], verdict: str, reason: str, asked: int
) -> None:
    resolution = await asked_site(stage, *answers)

    states = {"done": "COMMITTED", "not_done": "NOT_DONE", "undecidable": "ESCALATED"}
    assert (resolution.verdict, resolution.reason) == (verdict, reason)
    assert await stage.state(ASKING) == states[verdict]
    assert stage.site.asked == asked
    assert all(pause >= 0.6 for pause in pauses)
    assert len(pauses) == asked - 1


async def test_what_the_ledger_has_is_done_and_a_rebuilt_page_goes_on_from_where_the_site_shows_it(
    stage: Stage,
) -> None:
    await stage.perform(ASKING)

    resolution = await resolved(stage, asked=ASKING, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("done", "recorded")
    assert stage.site.asked == 0
    assert stage.browser.url == LIST


@pytest.mark.parametrize(("fault", "url"), [("http_502", LIST), ("navigation_failed", LIST), ("", COMPOSE)])
async def test_where_the_step_s_page_did_not_come_the_run_goes_on_from_where_the_site_shows_it(
    stage: Stage, pauses: list[float], fault: str, url: str
) -> None:
    await stage.intend(ASKING)
    stage.site.page_fault, stage.site.answers = fault, [YES]

    resolution = await resolved(stage, asked=ASKING, answered=True)

    assert (resolution.verdict, resolution.reason) == ("done", "on_site")
    assert stage.browser.url == url


@pytest.mark.parametrize(("method", "url"), [("POST", LIST), ("", COMPOSE)], ids=["request", "tunnel"])
async def test_a_page_whose_request_got_no_answer_is_left_for_where_the_site_shows_the_step(
    stage: Stage, pauses: list[float], method: str, url: str
) -> None:
    await stage.intend(ASKING)
    sent = SentRequest(method, "https://mail.example/send", sent_at=1_700_000_000.0)
    seen = GateSeen(operation_of(ASKING.context), 1, "permitted", bytes_up=9, sent=(sent,))
    stage.keepers.gates["s1"].operations[operation_of(ASKING.context), 1] = seen
    stage.site.answers = [YES]

    resolution = await resolved(stage, asked=ASKING)

    assert (resolution.verdict, resolution.reason, stage.browser.url) == ("done", "on_site", url)


async def test_what_the_site_shows_is_recorded_as_the_step_s_outcome(stage: Stage, pauses: list[float]) -> None:
    stage.site.pages[LIST] = FakePage(texts=("To: ada@example.com",))

    resolution = await asked_site(stage)

    line = (await stage.lines())[-1]
    assert resolution.outcome is not None
    assert (resolution.outcome.reason, resolution.outcome.url) == ("resolved", LIST)
    assert stage.browser.url == LIST  # a rebuilt page goes on from there
    assert line["resolved"] == "the site shows it (reconcile)"


@pytest.mark.parametrize(("is_patient", "verdict"), [(True, "in_flight"), (False, "undecidable")])
async def test_what_may_be_in_flight_is_not_absent_because_the_site_does_not_show_it(
    stage: Stage, pauses: list[float], *, is_patient: bool, verdict: str
) -> None:
    resolution = await asked_site(stage, NO, NO, answered=False, is_patient=is_patient)

    assert resolution.verdict == verdict
    assert (await stage.state(ASKING)) == ("RESOLVING" if is_patient else "ESCALATED")


async def test_what_a_dead_keeper_has_written_decides_what_is_in_flight(stage: Stage, pauses: list[float]) -> None:
    await stage.intend(ASKING)
    stage.keepers.dead.add("browser-of-the-attempt")
    gate = stage.keepers.gates["browser-of-the-attempt"]
    sent = SentRequest("POST", "https://mail.example/send", sent_at=1_700_000_000.0)
    seen = GateSeen(operation_of(ASKING.context), 1, "permitted", bytes_up=9, sent=(sent,))
    asked: dict[str, Any] = {
        "asked": ASKING,
        "adopted": False,
        "doubted_session": "browser-of-the-attempt",
        "is_patient": True,
    }

    verdicts = []
    for known in (seen, replace(seen, sent=(replace(sent, status=202, answered_at=1_700_000_001.0),))):
        stage.site.answers = [NO, NO]
        gate.operations[operation_of(ASKING.context), 1] = known
        resolution = await resolved(stage, **asked)
        verdicts.append((resolution.verdict, resolution.left_at))

    assert verdicts == [("in_flight", 1_700_000_000.0), ("not_done", 0.0)]
    assert "left at 22:13:20.000 (UTC) and was not answered" in str(Flight(1_700_000_000.0))


async def test_nothing_left_a_browser_whose_dead_keeper_has_written_of_no_byte(stage: Stage) -> None:
    await stage.intend(ASKING)
    stage.keepers.dead.add("browser-of-the-attempt")
    armed = GateSeen(operation_of(ASKING.context), 1, "armed")
    stage.keepers.gates["browser-of-the-attempt"].operations[operation_of(ASKING.context), 1] = armed

    resolution = await resolved(stage, asked=ASKING, adopted=False, doubted_session="browser-of-the-attempt")

    assert (resolution.verdict, resolution.reason) == ("not_done", "nothing_left")
    assert stage.site.asked == 0


async def test_a_browser_that_an_attempt_was_not_made_in_says_nothing_of_what_it_sent(
    stage: Stage, pauses: list[float]
) -> None:
    await stage.intend(ASKING)  # in another browser, under epoch 1
    stage.keepers.dead.add("a-later-browser")
    stage.site.answers = [NO, NO]

    told: dict[str, Any] = {"doubted_session": "a-later-browser", "doubted": 0, "lost": False, "is_patient": True}
    resolution = await resolved(stage, asked=ASKING, adopted=False, **told)

    assert resolution.verdict == "in_flight"


@pytest.mark.parametrize(("settled", "verdict"), [(1, "not_done"), (0, "in_flight")])
async def test_an_intent_that_was_settled_before_the_ledger_lost_that_says_nothing(
    stage: Stage, pauses: list[float], *, settled: int, verdict: str
) -> None:
    await stage.intend(ASKING)  # under epoch 1, as Redis fell back to it
    stage.site.answers = [NO, NO]

    told: dict[str, Any] = {"doubted": 0, "lost": False, "is_patient": True, "settled": settled}
    resolution = await resolved(stage, asked=ASKING, adopted=False, **told)

    assert (resolution.verdict, stage.site.asked) == (verdict, 0 if settled else 2)


async def test_the_site_is_asked_with_todays_values(stage: Stage, pauses: list[float]) -> None:
    stage.site.pages[LIST] = FakePage(texts=("To: bob@example.com",))

    assert (await asked_site(stage)).verdict == "not_done"


async def test_a_value_that_is_empty_is_looked_for_nowhere(stage: Stage, pauses: list[float]) -> None:
    blank = but(ASKING, values={"to": " "})
    await stage.intend(blank)

    resolution = await resolved(stage, asked=blank, adopted=False)

    assert resolution.reason == "page_rebuilt, and the site was asked 0 times: empty_parameter"


async def test_the_site_is_not_asked_before_all_that_left_can_be_seen(stage: Stage, pauses: list[float]) -> None:
    await asked_site(stage, YES, settle_ms=7000, settled_ms=2000)

    assert 4.5 < pauses[0] <= 5.0


async def test_a_browser_lost_while_the_site_is_asked_leaves_the_resolution_open(
    stage: Stage, pauses: list[float]
) -> None:
    with pytest.raises(SessionLost):
        await asked_site(stage, SessionLost("gone"))

    assert await stage.state(ASKING) == "RESOLVING"


async def test_what_the_black_box_knows_is_not_asked_of_the_site(
    stage: Stage, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    await lost_while_held(stage, monkeypatch)
    with_probe = but(DOUBTED, step=ASKING.context.step)

    resolution = await resolved(stage, asked=with_probe)

    assert (resolution.reason, stage.site.asked) == ("nothing_left", 0)


async def test_what_cannot_be_undone_is_not_done_again_because_the_site_does_not_show_it(
    stage: Stage, pauses: list[float]
) -> None:
    pay = step("click", "the pay button", effect="irreversible", reconcile=RECONCILE)
    asked = but(ASKING, step=pay)
    await stage.intend(asked)
    stage.site.answers = [NO, NO]

    resolution = await resolved(stage, asked=asked, adopted=False)

    assert resolution.verdict == "undecidable"
    assert await stage.state(asked) == "ESCALATED"
