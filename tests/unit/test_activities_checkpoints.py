"""Checkpoints beside the steps: when one is taken, what it holds, and when a restored page passes for what it was."""

import time

import pytest

from activities.session.checkpoints import CheckpointActivities, Checkpoints
from replaywright.domain.page.outlines import Outline
from replaywright.domain.predicate.predicates import TextContains
from replaywright.domain.session.sessions import OpenSession, Wear
from replaywright.domain.step.checkpoints import (
    CheckCheckpoint,
    Checkpoint,
    PageState,
    RestoreCheckpoint,
    TakeCheckpoint,
    worn,
)
from replaywright.errors import ActionFailed
from replaywright.testing.browser import FakeElement, FakePage
from replaywright.testing.keepers import ANYWHERE
from tests.unit.staged import (
    CLICK_HELP,
    CLICK_SEND,
    COMPOSE,
    FILL_TO,
    HELP,
    PASSWORD,
    SEND,
    SENT,
    SESSION,
    TO,
    Stage,
    reapplied,
    request,
    run_activity,
    step,
)

GOTO_SENT = step("goto", "", url=SENT)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def activities(stage: Stage) -> CheckpointActivities:
    return CheckpointActivities(stage.attachments, Checkpoints(stage.artifacts, stage.vault), stage.secrets)


async def told(stage: Stage, sequence: int = 9) -> Checkpoint | None:
    """What was taken since the step, as the next one tells it."""
    return (
        await stage.perform(request(step("wait_for", "", expect=[{"not_": {"url_contains": "nowhere"}}]), sequence))
    ).checkpoint


async def state_of(stage: Stage, checkpoint: Checkpoint | None) -> PageState:
    assert checkpoint is not None
    return await run_activity(Checkpoints(stage.artifacts, stage.vault).load, checkpoint.state)


async def test_a_navigation_has_a_checkpoint_that_nobody_waits_for(stage: Stage) -> None:
    outcome = await stage.perform(request(GOTO_SENT, 1))
    taken = await told(stage)

    assert (outcome.moved, outcome.checkpoint) == (True, None)
    assert taken is not None
    assert taken.position == 2
    assert (await state_of(stage, taken)).url == SENT


async def test_a_browser_that_was_just_opened_has_nothing_to_lose(stage: Stage) -> None:
    opened = await run_activity(
        stage.sessions.open_session, OpenSession(run_id="r1", lineage="l1", tenant="acme", network=ANYWHERE)
    )
    adopted = await stage.attachments.hold(SESSION, 1)

    assert time.monotonic() - (await stage.attachments.hold(opened.session, 1)).kept_at < 60
    assert adopted.kept_at == float("-inf")


async def test_a_new_page_right_after_a_checkpoint_has_none_and_a_commit_has_one(stage: Stage) -> None:
    stage.equip(pause_s=3600)
    to_form = step("goto", "", url=COMPOSE)

    await stage.perform(request(GOTO_SENT, 1))
    first = await told(stage)
    moved = await stage.perform(request(to_form, 2))
    second = await told(stage)
    committed = await stage.perform(request(CLICK_SEND, 4, proposed=SEND, values={"to": "ada@example.com"}))
    held = await stage.attachments.hold(SESSION, 1)
    held.kept_at -= 3600
    await stage.perform(request(to_form, 5))
    later = await told(stage)

    assert (moved.moved, second) == (True, None)
    assert [None if one is None else one.position for one in (first, committed.checkpoint, later)] == [2, 5, 6]


async def test_a_checkpoint_that_could_not_be_taken_is_tried_at_the_next_page(stage: Stage) -> None:
    stage.equip(pause_s=3600)
    stage.artifacts.is_away = True
    lost = await stage.perform(request(CLICK_SEND, 4, proposed=SEND, values={"to": "ada@example.com"}))
    stage.artifacts.is_away = False
    await stage.perform(request(step("goto", "", url=COMPOSE), 5))
    taken = await told(stage)

    assert lost.checkpoint is None
    assert taken is not None


async def test_a_commit_is_told_with_its_checkpoint(stage: Stage) -> None:
    outcome = await stage.perform(request(CLICK_SEND, 4, proposed=SEND, values={"to": "ada@example.com"}))

    assert outcome.checkpoint is not None
    assert (outcome.checkpoint.position, outcome.checkpoint.held) == (5, ())


async def test_a_checkpoint_tells_how_worn_the_browser_is(stage: Stage) -> None:
    stage.keepers.worn = Wear(age_s=7_201, memory_mb=900)
    outcome = await stage.perform(request(CLICK_SEND, 4, proposed=SEND, values={"to": "ada@example.com"}))

    assert outcome.checkpoint is not None
    assert outcome.checkpoint.wear == Wear(session_id="s1", age_s=7_201, memory_mb=900)
    assert not outcome.checkpoint.partial


async def test_a_checkpoint_tells_that_it_cannot_bring_everything_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = stage.browser.state

    async def state() -> tuple[PageState, Outline]:
        read, shown = await whole()
        return read.model_copy(update={"tabs": 2}), shown

    monkeypatch.setattr(stage.browser, "state", state)
    outcome = await stage.perform(request(CLICK_SEND, 4, proposed=SEND, values={"to": "ada@example.com"}))

    assert outcome.checkpoint is not None
    assert outcome.checkpoint.partial


@pytest.mark.parametrize(
    ("wear", "why"),
    [
        (Wear(age_s=7_199, memory_mb=1_535), ""),
        (Wear(age_s=7_200, memory_mb=0), "it is 120 min old"),
        (Wear(age_s=0, memory_mb=1_536), "it has 1536 MiB of memory"),
        (Wear(age_s=9_000, memory_mb=2_000), "it is 150 min old and it has 2000 MiB of memory"),
    ],
)
def test_a_browser_is_worn_by_its_age_or_its_size(wear: Wear, why: str) -> None:
    checkpoint = Checkpoint(position=1, state="a", wear=wear)

    assert worn(checkpoint, after_s=7_200, above_mb=1_536) == why
    assert worn(checkpoint, after_s=0, above_mb=0) == ""
    assert worn(checkpoint.model_copy(update={"partial": True}), after_s=7_200, above_mb=1_536) == ""


async def test_a_step_that_stays_on_its_page_has_one_only_when_it_is_due(stage: Stage) -> None:
    plain = await stage.perform(request(FILL_TO, 1, proposed=TO))
    without = await told(stage)
    due = await stage.perform(request(FILL_TO, 2, proposed=TO, checkpoint=True))
    taken = await told(stage, 10)

    assert (plain.moved, without) == (False, None)
    assert taken is not None
    assert (due.moved, taken.position) == (False, 3)


async def test_the_expectations_that_held_are_told_except_of_the_moment(stage: Stage) -> None:
    expect = [{"text_contains": "How to write"}, {"not_": {"dialog_seen": "no"}}, {"url_contains": "compose"}]
    asked = step("click", "the help button", effect="idempotent", expect=expect)

    await stage.perform(request(asked, 1, proposed=HELP, checkpoint=True))
    taken = await told(stage)

    assert taken is not None
    assert taken.held == (0, 1, 2)


async def test_no_secret_is_in_a_checkpoint_and_what_is_restored_has_it_again(stage: Stage) -> None:
    url = f"{SENT}?for={PASSWORD.replace(' ', '%20')}"
    stage.browser.stored = [{"origin": "https://mail.example", "localStorage": [{"name": "p", "value": PASSWORD}]}]

    await stage.perform(request(step("goto", "", url=url), 1))
    taken = await told(stage)

    everything = b"".join(stage.artifacts.values.values()).decode()
    assert stage.secrets.redact(everything) == everything
    state = await state_of(stage, taken)
    assert (state.url, state.storage["origins"]) == (url, stage.browser.stored)


async def test_a_site_that_writes_our_notation_into_its_storage_is_given_no_secret(stage: Stage) -> None:
    value = {"name": "p", "value": "{{secret:PASSWORD}}"}
    stage.browser.stored = [{"origin": "https://mail.example", "localStorage": [value]}]

    await stage.perform(request(GOTO_SENT, 1))
    assert await told(stage) is None


async def test_a_store_that_is_away_costs_the_checkpoint_and_not_the_step(stage: Stage) -> None:
    stage.artifacts.is_away = True

    outcome = await stage.perform(request(GOTO_SENT, 1))

    assert outcome.status == "done"
    assert await told(stage) is None


# --------------------------------------------------------------------------------------------- restoring


async def kept(stage: Stage) -> Checkpoint:
    """A checkpoint of the form with its first field filled, before a person is asked."""
    stage.open(COMPOSE)
    await stage.attachments.drop_all()
    await stage.perform(request(FILL_TO, 1, proposed=TO))
    taken = await run_activity(activities(stage).take_checkpoint, TakeCheckpoint(session=SESSION, epoch=1, position=2))
    assert taken is not None
    stage.open("about:blank")
    await stage.attachments.drop_all()
    return taken


async def restored(stage: Stage, state: str) -> tuple[bool, str]:
    asked = RestoreCheckpoint(session=SESSION, epoch=1, state=state)
    answer = await run_activity(activities(stage).restore_checkpoint, asked)
    return answer.held, answer.why


async def checked(stage: Stage, state: str, *expect: TextContains) -> tuple[bool, str]:
    asked = CheckCheckpoint(session=SESSION, epoch=1, state=state, expect=expect)
    answer = await run_activity(activities(stage).check_checkpoint, asked)
    return answer.held, answer.why


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.session.checkpoints.LOOK_PAUSE_S", 0.0)


async def test_a_form_is_what_it_was_only_when_its_fields_are_filled_again(stage: Stage) -> None:
    taken = await kept(stage)
    opened = await restored(stage, taken.state)

    empty = await checked(stage, taken.state)
    await stage.perform(reapplied(request(FILL_TO, 1, proposed=TO)))
    filled = await checked(stage, taken.state)

    assert opened == (True, "")
    assert empty == (False, "the page is not what it was: textbox 'To' does not hold what it held")
    assert filled == (True, "")


async def test_what_held_has_to_hold(stage: Stage) -> None:
    taken = await kept(stage)
    await restored(stage, taken.state)
    await stage.perform(reapplied(request(FILL_TO, 1, proposed=TO)))

    held, why = await checked(stage, taken.state, TextContains(text_contains="How to write"))

    assert (held, why.partition(";")[0]) == (False, 'the page does not say "How to write"')


async def test_another_page_at_the_same_address_is_not_what_it_was(stage: Stage) -> None:
    taken = await kept(stage)
    stage.site.pages[COMPOSE] = FakePage({"help": FakeElement(HELP), "to": FakeElement(TO, value="ada@example.com")})
    await restored(stage, taken.state)

    assert await checked(stage, taken.state) == (
        False,
        "the page is not what it was: 2 of 4 elements are there again",
    )


@pytest.mark.parametrize("state", ["0" * 64, "gone"])
async def test_a_checkpoint_that_is_gone_or_damaged_does_not_hold(stage: Stage, state: str) -> None:
    assert (await restored(stage, state))[0] is False


async def test_a_page_that_the_site_does_not_give_does_not_hold(stage: Stage) -> None:
    taken = await kept(stage)
    stage.site.fail_restore = [ActionFailed("http_404", "the site answered 404", dispatched=True)]

    assert await restored(stage, taken.state) == (False, "the site answered 404")


async def test_a_step_done_again_in_a_rebuilt_browser_has_no_checkpoint(stage: Stage) -> None:
    await stage.perform(reapplied(request(CLICK_HELP, 1, proposed=HELP, checkpoint=True)))

    assert await told(stage) is None
