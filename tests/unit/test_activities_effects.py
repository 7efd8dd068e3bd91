"""Deciding a commit step in doubt: fence first, read only, never guess."""

import asyncio
import logging
from typing import Literal

import pytest

from activities.commit import operation_of
from activities.records import recording_of
from replaywright.domain.actions import Effect
from replaywright.domain.outcomes import Status, StepOutcome
from replaywright.domain.runs import ActionRequest, PersonVerdict, Resolution, ResolveRequest, SettleRequest
from replaywright.errors import Fenced, SessionLost, StoreUnavailable
from tests.unit.staged import (
    CLICK_SEND,
    FILL_TO,
    PASSWORD,
    SEND,
    SENT,
    TO,
    Stage,
    request,
    run_activity,
    step,
)

DOUBTED = request(CLICK_SEND, 2, proposed=SEND)
"""As it was performed under epoch 1."""
SCOPE = {"tenant": "acme", "lineage": "l1", "fingerprint": DOUBTED.fingerprint}
SUCCESS = StepOutcome(status=Status.DONE, fingerprint=DOUBTED.fingerprint, effect=Effect.COMMIT, url=SENT)


@pytest.fixture
async def stage() -> Stage:
    """A ledger that knows the step before the one in doubt."""
    staged = Stage()
    await staged.perform(request(FILL_TO, 1, proposed=TO))
    staged.site.dispatches.clear()
    return staged


async def resolved(stage: Stage, *, asked: ActionRequest = DOUBTED, adopted: bool = True, epoch: int = 2) -> Resolution:
    now = asked.model_copy(update={"epoch": epoch, "recovered": True})
    return await run_activity(stage.effects.resolve_step, ResolveRequest(action=now, adopted=adopted))


async def settled(stage: Stage, verdict: Literal["done", "not_done", "abandon"], who: str = "Ada") -> None:
    said = PersonVerdict(sequence=2, verdict=verdict, who=who, why="looked into Sent")
    asked = DOUBTED.model_copy(update={"epoch": 2})
    await run_activity(stage.effects.settle_step, SettleRequest(action=asked, verdict=said))


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
        await stage.store.record(recording_of(DOUBTED, SUCCESS, {}))

    resolution = await resolved(stage, epoch=3, adopted=False)
    again = await resolved(stage, epoch=3, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("done", "late")
    assert resolution.outcome == SUCCESS.model_copy(update={"from_ledger": True}) == again.outcome
    assert await stage.state(DOUBTED) == "COMMITTED"


async def test_without_an_intent_the_step_was_certainly_not_done(stage: Stage) -> None:
    resolution = await resolved(stage, adopted=False)
    again = await resolved(stage, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("not_done", "no_intent")
    assert again == resolution
    assert await stage.state(DOUBTED) == "NOT_DONE"


async def test_the_attempt_in_doubt_is_fenced_before_anything_is_decided(stage: Stage) -> None:
    await resolved(stage)

    with pytest.raises(Fenced):
        await stage.store.intend(**SCOPE, epoch=1, attempt="the one in doubt")
    assert (await stage.store.intend(**SCOPE, epoch=3, attempt="the next")).state == "INTENT"


async def test_an_emptied_ledger_says_nothing_about_the_step() -> None:
    empty = Stage()

    resolution = await resolved(empty)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "ledger_lost")
    assert await empty.state(DOUBTED) == "ESCALATED"


async def test_the_first_step_of_a_run_needs_no_line_before_it() -> None:
    asked = DOUBTED.model_copy(update={"sequence": 0})

    resolution = await resolved(Stage(), asked=asked)

    assert (resolution.verdict, resolution.reason) == ("not_done", "no_intent")


async def test_a_damaged_record_is_for_a_person(stage: Stage) -> None:
    show_success(stage)
    stage.store.damage(**SCOPE)

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "ledger_damaged")
    assert await stage.state(DOUBTED) == "DAMAGED"


async def test_a_resolution_of_an_epoch_that_is_over_decides_nothing(stage: Stage) -> None:
    await stage.store.intend(**SCOPE, epoch=3, attempt="a newer one")

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
    asked = DOUBTED.model_copy(update={"step": wanted, "values": {"to": to}})
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
    asked = DOUBTED if expects else DOUBTED.model_copy(update={"step": step("click", "the send button")})
    await stage.intend(DOUBTED)

    resolution = await resolved(stage, asked=asked, adopted=adopted)
    again = await resolved(stage, asked=asked, adopted=adopted)

    assert (resolution.verdict, resolution.reason) == ("undecidable", reason)
    assert again == resolution
    assert await stage.state(DOUBTED) == "ESCALATED"
    assert stage.inputs == []


async def test_a_rebuilt_page_proves_nothing_whatever_it_shows(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    show_success(stage)

    resolution = await resolved(stage, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "page_rebuilt")


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
    assert stage.store.audit[-1] == (DOUBTED.fingerprint, state, "Ada")
    assert (line["kind"], line["verdict"], line["who"], line["why"]) == ("person", verdict, "Ada", "looked into Sent")


async def test_a_decision_without_a_name_is_still_audited(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    await resolved(stage)

    await settled(stage, "done", who="")

    assert stage.store.audit[-1] == (DOUBTED.fingerprint, "COMMITTED", "a person")


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
        {"sequence": DOUBTED.sequence, "verdict": verdict, "who": "Ada", "why": "seen"}
    )

    await run_activity(stage.effects.settle_step, SettleRequest(action=DOUBTED, verdict=given, failed=True))

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
    assert stage.gate.current is None
    assert stage.gate.loads_stopped == 2


async def test_when_bytes_have_left_the_page_decides(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    await lost_while_held(stage, monkeypatch, permitted=True)

    resolution = await resolved(stage)

    assert (resolution.verdict, resolution.reason) == ("done", "seen_on_live_page")
    assert stage.gate.loads_stopped == 0


async def test_an_arming_of_another_attempt_says_nothing_about_the_one_in_doubt(stage: Stage) -> None:
    await stage.intend(DOUBTED)
    held = await stage.attachments.hold(DOUBTED.session, 2)
    await held.gate.arm(operation_of(DOUBTED), within_ms=1000, hold_safe=False)

    resolution = await resolved(stage, epoch=3)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "not_seen")


async def test_a_page_that_was_rebuilt_has_no_black_box(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    await lost_while_held(stage, monkeypatch)

    resolution = await resolved(stage, adopted=False)

    assert (resolution.verdict, resolution.reason) == ("undecidable", "page_rebuilt")
