"""What a failed step leaves behind, and that keeping it never makes things worse."""

import json
from typing import Any

import pytest

from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import Target
from replaywright.domain.run.commands import Perform
from replaywright.domain.run.scope import Mode, Usage
from replaywright.domain.step.outcomes import ARTIFACT_KINDS, Status, StepOutcome
from replaywright.domain.task.actions import Cause
from replaywright.errors import ActionFailed, SessionLost
from replaywright.ports.browser import Capture
from replaywright.testing.browser import FakeBrowserSession, FakeElement
from tests.unit.staged import (
    CLICK_HELP,
    CLICK_SEND,
    COMPOSE,
    FILL_TO,
    HELP,
    PASSWORD,
    SEND,
    SENT,
    TO,
    Stage,
    request,
    step,
)

NEVER = step("click", "the help button", expect=[{"text_contains": "no page says this"}, {"url_contains": "/compose"}])


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr("activities.step.ledger.RECORD_PAUSE_S", 0)
    return Stage()


def helping(**fields: Any) -> Perform:
    return request(NEVER, proposed=HELP, **fields)


def kept(stage: Stage, outcome: StepOutcome, kind: str) -> str:
    return stage.artifacts.values[outcome.artifacts[kind]].decode()


async def test_an_unmet_expectation_leaves_everything_there_is(stage: Stage) -> None:
    outcome = await stage.perform(helping(usage=Usage(calls=1, model="fake")))

    assert outcome.status is Status.UNMET
    assert set(outcome.artifacts) == set(ARTIFACT_KINDS) - {"diff"}
    assert outcome.artifacts_missing == {}
    assert kept(stage, outcome, "console") == "console"
    assert "How to write" in kept(stage, outcome, "dom")
    assert Snapshot.model_validate_json(kept(stage, outcome, "snapshot")).url == COMPOSE
    assert json.loads(kept(stage, outcome, "model"))["target"]["name"] == "Help"
    assert json.loads(kept(stage, outcome, "expectations")) == [
        {
            "expected": {"text_contains": "no page says this"},
            "required": True,
            "passed": False,
            "reason": "text_missing",
            "actual": {"expected": "no page says this", "nearest": [], "url": COMPOSE},
        },
        {
            "expected": {"url_contains": "/compose"},
            "required": True,
            "passed": True,
            "reason": "holds",
            "actual": {"expected": "/compose", "url": COMPOSE},
        },
    ]


async def test_the_addresses_are_in_the_trace_and_the_outcome_stays_small(stage: Stage) -> None:
    outcome = await stage.perform(helping())

    [line] = await stage.store.trace(tenant="acme", lineage=helping().context.run.lineage)
    assert line["artifacts"] == outcome.artifacts
    assert len(outcome.model_dump_json(by_alias=True, exclude_defaults=True)) < 4096


async def test_a_step_that_is_done_is_not_looked_at(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_arguments: object) -> Capture:
        raise AssertionError("a capture costs time")

    monkeypatch.setattr(FakeBrowserSession, "capture", never)

    outcome = await stage.perform(request(CLICK_HELP, proposed=HELP))
    first_look = await stage.perform(request(CLICK_SEND))

    assert (outcome.status, outcome.artifacts) == (Status.DONE, {})
    # Learning begins with an element that nothing is known of.
    assert (first_look.status, first_look.artifacts) == (Status.MISSED, {})


async def test_a_miss_that_no_model_may_help_with_is_kept(stage: Stage) -> None:
    outcome = await stage.perform(request(CLICK_SEND, mode=Mode.REPLAY))

    assert outcome.status is Status.MISSED
    assert {"screenshot", "snapshot", "dom"} <= set(outcome.artifacts)
    assert outcome.artifacts["snapshot"] == outcome.snapshot


async def test_a_miss_that_a_model_could_not_help_with_is_kept(stage: Stage) -> None:
    first = request(CLICK_SEND)
    late = first.context.model_copy(update={"attempt": "late", "why": "no_entry"})

    outcome = await stage.perform(first.model_copy(update={"context": late}))

    assert (outcome.status, outcome.reason) == (Status.MISSED, "no_entry")
    assert {"screenshot", "snapshot", "dom"} <= set(outcome.artifacts)


@pytest.mark.parametrize("dispatched", [True, False])
async def test_an_action_that_could_not_be_done_is_kept_with_a_snapshot_of_its_own(
    stage: Stage, dispatched: bool
) -> None:
    failing = ActionFailed("timeout", "covered", dispatched=dispatched)
    (stage.site.fail_after if dispatched else stage.site.fail_before).append(failing)

    outcome = await stage.perform(request(CLICK_SEND, proposed=SEND))

    assert outcome.status is (Status.IN_DOUBT if dispatched else Status.REFUSED)
    assert Snapshot.model_validate_json(kept(stage, outcome, "snapshot")).url == stage.browser.url


async def test_the_difference_from_the_last_good_run_is_told(stage: Stage) -> None:
    before = Snapshot(url=COMPOSE, title="Compose", elements=(Element(id="e1", target=TO),))
    good = await stage.artifacts.put(before.model_dump_json(by_alias=True).encode())
    entry = await stage.learn(request(CLICK_HELP, proposed=HELP))
    stage.store._keep("acme", "good", entry.model_copy(update={"good_snapshot": good}))
    await stage.store.promote(tenant="acme", run_id="good", content_keys=[entry.content_key])
    stage.site.pages[COMPOSE].elements["help"] = FakeElement(HELP, shows="something else")

    outcome = await stage.perform(request(CLICK_HELP, mode=Mode.REPLAY, lineage="later"))

    assert outcome.status is Status.UNMET
    assert '+ [send] button "Send"' in kept(stage, outcome, "diff")

    del stage.artifacts.values[good]
    again = await stage.perform(request(CLICK_HELP, mode=Mode.REPLAY, lineage="later"))
    assert "diff" not in again.artifacts
    assert "last good run" in again.artifacts_missing["diff"]


async def recorded(stage: Stage, asked: Perform, page: Snapshot) -> None:
    """Have the step's recording say that it leads to this page."""
    good = await stage.artifacts.put(page.model_dump_json(by_alias=True).encode())
    entry = await stage.learn(asked)
    causes = () if page.url == COMPOSE else (Cause.NEW_DOCUMENT,)
    stage.store._keep("acme", "good", entry.model_copy(update={"good_snapshot": good, "causes": causes}))
    await stage.store.promote(tenant="acme", run_id="good", content_keys=[entry.content_key])


async def test_a_step_that_did_not_act_is_compared_with_the_page_before_it(stage: Stage) -> None:
    compose = Snapshot(url=COMPOSE, elements=(Element(id="to", target=TO), Element(id="send", target=SEND)))
    await recorded(stage, request(FILL_TO, proposed=TO), compose)
    await recorded(stage, request(CLICK_SEND, proposed=SEND), Snapshot(url=SENT))
    del stage.site.pages[COMPOSE].elements["send"]
    later: dict[str, Any] = {"lineage": "later", "mode": Mode.REPLAY}

    stranger = await stage.perform(request(CLICK_SEND, **later))
    await stage.perform(request(FILL_TO, sequence=0, **later))
    missed = await stage.perform(request(CLICK_SEND, **later))

    assert [outcome.status for outcome in (stranger, missed)] == [Status.MISSED, Status.MISSED]
    assert "diff" not in stranger.artifacts  # nothing is known of the page before it
    assert '- [send] button "Send"' in kept(stage, missed, "diff")
    assert SENT not in kept(stage, missed, "diff")


async def test_a_form_that_refuses_and_has_a_password_field_has_signed_nobody_out(stage: Stage) -> None:
    word = Target(tag="input", role="textbox", name="New password", attributes={"type": "password"})
    stage.site.pages[COMPOSE].elements["word"] = FakeElement(word)
    form = Snapshot(url=COMPOSE, elements=(Element(id="to", target=TO), Element(id="word", target=word)))
    await recorded(stage, request(CLICK_SEND, proposed=SEND), Snapshot(url=SENT))
    stage.site.pages[COMPOSE].elements["send"] = FakeElement(SEND, shows="the address is not one")
    later: dict[str, Any] = {"lineage": "later", "mode": Mode.REPLAY}

    met = await stage.perform(request(CLICK_SEND, lineage="stranger", mode=Mode.REPLAY))
    await recorded(stage, request(FILL_TO, proposed=TO), form)
    await stage.perform(request(FILL_TO, sequence=0, **later))
    refused = await stage.perform(request(CLICK_SEND, **later))

    assert (met.status, met.reason) == (Status.UNMET, "signed_out")  # nothing is known of the page before it
    assert (refused.status, refused.reason == "signed_out") == (Status.UNMET, False)


@pytest.mark.parametrize(("is_signed_in", "is_seen"), [(True, True), (False, False)])
async def test_a_run_with_a_session_that_misses_its_element_on_a_page_with_a_password_field_was_signed_out(
    stage: Stage, is_signed_in: bool, is_seen: bool
) -> None:
    word = Target(tag="input", role="textbox", name="Password", attributes={"type": "password"})
    stage.site.pages[COMPOSE].elements = {"word": FakeElement(word)}

    missed = await stage.perform(request(CLICK_SEND, mode=Mode.REPLAY, is_signed_in=is_signed_in))

    assert (missed.status, missed.reason == "signed_out") == (Status.MISSED, is_seen)


@pytest.mark.parametrize(
    "trouble", [SessionLost("the page is gone"), ActionFailed("timeout", "", dispatched=False), TimeoutError()]
)
async def test_a_page_that_cannot_be_captured_fails_the_step_as_before(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    async def lost(*_arguments: object) -> Capture:
        raise trouble

    monkeypatch.setattr(FakeBrowserSession, "capture", lost)

    outcome = await stage.perform(helping())

    assert (outcome.status, outcome.reason) == (Status.UNMET, "text_missing")
    assert {"expectations", "snapshot"} <= set(outcome.artifacts)
    assert set(outcome.artifacts_missing) == {"screenshot", "dom", "console", "network"}
    assert all(outcome.artifacts_missing.values())


async def test_what_the_page_does_not_give_is_noted(stage: Stage) -> None:
    stage.site.captures.append(Capture(missing={"screenshot": "it hangs", "dom": "it hangs"}, network=("GET",)))

    outcome = await stage.perform(helping())

    assert outcome.artifacts_missing == {"screenshot": "it hangs", "dom": "it hangs"}
    assert kept(stage, outcome, "network") == "GET"


async def test_without_an_artifact_store_the_step_fails_as_before(stage: Stage) -> None:
    stage.artifacts.is_away = True

    outcome = await stage.perform(helping())

    assert (outcome.status, outcome.artifacts) == (Status.UNMET, {})
    assert set(outcome.artifacts_missing) == set(ARTIFACT_KINDS) - {"diff"}


async def test_no_secret_is_in_what_is_kept(stage: Stage) -> None:
    stage.site.pages[COMPOSE].elements["help"] = FakeElement(HELP, shows=f"you typed {PASSWORD}")
    stage.site.pages[COMPOSE].title = f"for {PASSWORD}"

    outcome = await stage.perform(helping())

    assert outcome.artifacts
    assert not [
        kind for kind, digest in outcome.artifacts.items() if PASSWORD.encode() in stage.artifacts.values[digest]
    ]
