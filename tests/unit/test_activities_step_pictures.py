"""Pictures of what the screen shows after a step: of which steps, and that nobody waits for more than their taking."""

import asyncio
from typing import Any

import pytest

from activities.session.step_pictures import is_wanted
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.errors import ArtifactsUnavailable
from replaywright.ports.browser import Shown
from replaywright.testing.browser import FakeBrowserSession
from tests.unit.staged import CLICK_HELP, COMPOSE, FILL_TO, SESSION, TO, Stage, reapplied, request, step
from tests.waiting import until


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def pictures(stage: Stage) -> list[dict[str, Any]]:
    """The lines of pictures, once all are kept."""
    await stage.attachments.drop_all()
    return [line for line in await stage.lines() if line["kind"] == "picture"]


async def test_with_all_steps_there_is_a_picture_before_the_first_and_after_each(stage: Stage) -> None:
    asked = {"pictures": Pictures.STEPS, "proposed": TO}

    await stage.perform(request(FILL_TO, 0, **asked))
    await stage.perform(request(CLICK_HELP, 1, **{**asked, "proposed": None}))

    found = await pictures(stage)
    assert [line["sequence"] for line in found] == [-1, 0]  # the second step missed its element: that leaves evidence
    assert [line["runId"] for line in found] == ["r1", "r1"]
    assert stage.artifacts.values[found[0]["digest"]] == f"a picture of {COMPOSE}".encode()
    assert found[0]["view"] == {"x": 0, "y": 0, "width": 1280, "height": 720}


async def test_without_them_there_is_none_and_nothing_is_asked_of_the_browser(stage: Stage) -> None:
    await stage.perform(request(FILL_TO, 0, proposed=TO))

    assert await pictures(stage) == []


@pytest.mark.parametrize(
    ("outcome", "mode", "wanted"),
    [
        ({"entry_version": 0}, Mode.AUTO, True),
        ({"entry_version": 3, "hit": True}, Mode.AUTO, False),
        ({"entry_version": 3, "hit": True}, Mode.LEARN, True),
        ({"entry_version": 3, "hit": True, "healed": True}, Mode.REPLAY, True),
        ({"entry_version": 3, "hit": True, "from_model": True}, Mode.AUTO, True),
    ],
)
def test_by_default_pictures_are_of_what_is_learned_or_healed(
    outcome: dict[str, Any], mode: Mode, wanted: bool
) -> None:
    done = StepOutcome(status=Status.DONE, lookup=Lookup(**outcome))

    assert is_wanted(request(FILL_TO, pictures=Pictures.AUTO, mode=mode), done) is wanted
    assert is_wanted(request(FILL_TO, pictures=Pictures.STEPS, mode=mode), done)
    assert not is_wanted(request(FILL_TO, pictures=Pictures.FAILURES, mode=mode), done)


def test_a_step_that_names_no_element_has_nothing_to_learn() -> None:
    goto, done = step("goto", "", url=COMPOSE), StepOutcome(status=Status.DONE)

    assert not is_wanted(request(goto, pictures=Pictures.AUTO, mode=Mode.AUTO), done)
    assert is_wanted(request(goto, pictures=Pictures.AUTO, mode=Mode.LEARN), done)


@pytest.mark.parametrize(
    ("asked", "outcome"),
    [
        ({"override": "cookies"}, {"status": Status.DONE}),
        ({}, {"status": Status.DONE, "from_ledger": True}),
        ({}, {"status": Status.UNMET}),
        ({}, {"status": Status.BLOCKED}),
    ],
)
def test_what_was_not_done_now_or_failed_has_no_picture_after_it(
    asked: dict[str, Any], outcome: dict[str, Any]
) -> None:
    assert not is_wanted(request(FILL_TO, pictures=Pictures.STEPS, **asked), StepOutcome(**outcome))


def test_what_is_done_once_more_has_no_picture_after_it() -> None:
    again = reapplied(request(FILL_TO, pictures=Pictures.STEPS))

    assert not is_wanted(again, StepOutcome(status=Status.DONE))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Pictures are taken when this is set."""
    event = asyncio.Event()

    async def slowly(session: FakeBrowserSession, redact: object) -> Shown:
        await event.wait()
        return Shown(b"jpeg")

    monkeypatch.setattr(FakeBrowserSession, "picture", slowly)
    return event


async def test_the_page_is_left_alone_until_its_picture_is_taken(stage: Stage, taken: asyncio.Event) -> None:
    first = request(FILL_TO, 0, pictures=Pictures.STEPS, proposed=TO)
    held = await stage.attachments.hold(SESSION, first.context.run.epoch)
    held.is_pictured = True

    outcome = await stage.perform(first)
    holding = asyncio.create_task(stage.attachments.hold(SESSION, first.context.run.epoch))
    await asyncio.sleep(0)
    assert outcome.status is Status.DONE
    assert not holding.done()
    taken.set()

    assert await holding is held
    assert len(await pictures(stage)) == 1


async def test_the_next_step_begins_while_the_picture_is_taken_and_ends_after_it(
    stage: Stage, taken: asyncio.Event
) -> None:
    first = request(FILL_TO, 0, pictures=Pictures.STEPS, proposed=TO)
    held = await stage.attachments.hold(SESSION, first.context.run.epoch)
    held.is_pictured = True
    await stage.perform(first)

    performing = asyncio.create_task(stage.perform(request(CLICK_HELP, 1, pictures=Pictures.STEPS)))
    await until(lambda: len(stage.browser.works) == 2)
    assert held.picturing is not None
    assert not held.picturing.done()
    taken.set()

    await performing
    assert held.picturing is None


async def test_a_picture_that_cannot_be_had_is_said_and_fails_nothing(stage: Stage) -> None:
    stage.site.no_picture = f"the page shows {'correct horse'}"

    outcome = await stage.perform(request(FILL_TO, 0, pictures=Pictures.STEPS, proposed=TO))

    assert outcome.status is Status.DONE
    found = await pictures(stage)
    assert [line["missing"] for line in found] == ["the page shows {{secret:PASSWORD}}"] * 2


async def test_a_store_that_does_not_take_it_is_said_too(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(data: bytes) -> str:
        raise ArtifactsUnavailable("no space")

    monkeypatch.setattr(stage.artifacts, "put", full)

    await stage.perform(request(FILL_TO, 0, pictures=Pictures.STEPS, proposed=TO))

    assert [line["missing"] for line in await pictures(stage)] == ["no space", "no space"]


async def test_a_page_that_does_not_answer_in_time_has_no_picture(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(session: FakeBrowserSession, redact: object) -> Shown:
        raise TimeoutError

    monkeypatch.setattr(FakeBrowserSession, "picture", hangs)

    await stage.perform(request(FILL_TO, 0, pictures=Pictures.STEPS, proposed=TO))

    assert [line["missing"] for line in await pictures(stage)] == ["the page did not answer in 4 s"] * 2


async def test_a_picture_that_cannot_be_searched_for_secrets_leaves_its_reason(stage: Stage) -> None:
    stage.secrets.unread = "nobody can read it"

    await stage.perform(request(FILL_TO, 0, pictures=Pictures.STEPS, proposed=TO))

    found = await pictures(stage)
    assert [line["missing"] for line in found] == ["nobody can read it"] * len(found) != []
    assert not any("digest" in line for line in found)
