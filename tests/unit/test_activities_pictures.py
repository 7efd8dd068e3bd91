"""Pictures for a planner: taken only where they are wanted, kept by digest, and missed without harm."""

import pytest

from activities.plan.goals import GoalActivities
from activities.plan.looking import LookActivities
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.plan.goal_runs import Looked, LookRequest, PlanRequest
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.outcomes import MARKED, MARKED_SNAPSHOT, StepOutcome
from replaywright.domain.task.tasks import parse_task
from replaywright.ports.browser import Look
from replaywright.ports.models import PlanQuestion
from replaywright.testing.browser import FakeBrowserSession
from replaywright.testing.models import FakeLabeller, FakePlanner
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeSecrets
from tests.unit.staged import CLICK_SEND, COMPOSE, HELP, PASSWORD, SESSION, Stage, request, run_activity, step
from workflows.plan.planning import seen_of

TASK = parse_task({"task": "t", "goal": "open Help", "url": COMPOSE}, "test")
NEVER = step("click", "the help button", expect=[{"text_contains": "no page says this"}])


async def looked(stage: Stage, *, pictures: bool) -> Looked:
    activities = LookActivities(stage.attachments, stage.artifacts, stage.secrets, pictures=pictures)
    return await run_activity(activities.look, LookRequest(session=SESSION, epoch=1, about="open Help "))


async def failed(stage: Stage, *, pictures: bool, mode: Mode = Mode.AUTO) -> StepOutcome:
    stage.equip(pictures=pictures)
    # In a replay nothing may be asked: there, the element that nothing is known of is the failure.
    asked = request(CLICK_SEND, mode=mode) if mode is Mode.REPLAY else request(NEVER, proposed=HELP)
    return await stage.perform(asked)


async def planned(stage: Stage, page: Looked) -> tuple[PlanQuestion, dict[str, object]]:
    store, planner = FakeStepStore(), FakePlanner(["no way"])
    activities = GoalActivities(FakeLabeller([]), planner, stage.artifacts, FakeSecrets(), store)
    asked = PlanRequest(
        run_id="r",
        lineage="l",
        tenant="acme",
        task=TASK,
        snapshot=page.snapshot,
        picture=page.picture,
        picture_missing=page.picture_missing,
    )
    await run_activity(activities.plan_goal, asked)
    [line] = await store.trace(tenant="acme", lineage="l")
    return planner.asked[0], line


async def test_without_the_setting_no_picture_is_taken_and_nothing_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(*_arguments: object) -> Look:
        raise AssertionError("a picture costs time and tokens")

    monkeypatch.setattr(FakeBrowserSession, "look", never)
    stage = Stage()

    page = await looked(stage, pictures=False)
    question, line = await planned(stage, page)
    outcome = await failed(stage, pictures=False)

    assert (page.picture, page.picture_missing, question.picture) == ("", "", None)
    assert not any("picture" in key.lower() for key in line)
    assert not {MARKED, MARKED_SNAPSHOT} & {*outcome.artifacts, *outcome.artifacts_missing}


async def test_what_the_text_lists_is_marked_and_the_planner_is_given_the_picture_that_the_trace_names() -> None:
    stage = Stage()

    page = await looked(stage, pictures=True)
    question, line = await planned(stage, page)

    assert question.picture == stage.artifacts.values[page.picture]
    assert question.picture.startswith(b"a picture of to,")
    marks = question.picture.decode().removeprefix("a picture of ").split(",")
    assert [mark for mark in marks if f"[{mark}] " not in question.page] == []
    assert (line["picture"], line.get("pictureMissing")) == (page.picture, None)


async def test_a_picture_that_cannot_be_had_is_noted_without_secrets_and_the_plan_is_asked_without_it() -> None:
    stage = Stage()
    stage.site.no_picture = f"the page hangs at {PASSWORD}"

    page = await looked(stage, pictures=True)
    question, line = await planned(stage, page)

    assert (page.picture, question.picture) == ("", None)
    assert page.picture_missing.startswith("the page hangs at ")
    assert PASSWORD not in page.picture_missing
    assert line["pictureMissing"] == page.picture_missing
    assert "[to]" in question.page


async def test_a_picture_that_the_store_has_lost_is_noted_too() -> None:
    stage = Stage()
    page = await looked(stage, pictures=True)
    del stage.artifacts.values[page.picture]

    question, line = await planned(stage, page)

    assert question.picture is None
    assert "pictureMissing" in line


async def test_a_failed_step_leaves_a_picture_and_its_snapshot_for_the_planner() -> None:
    stage = Stage()

    outcome = await failed(stage, pictures=True)

    seen = seen_of(outcome)
    assert stage.artifacts.values[seen["picture"]].startswith(b"a picture of to,")
    assert Snapshot.model_validate_json(stage.artifacts.values[seen["snapshot"]]).url == stage.browser.url
    assert seen["snapshot"] == outcome.artifacts[MARKED_SNAPSHOT]


async def test_where_no_planner_may_be_asked_a_failed_step_leaves_none() -> None:
    outcome = await failed(Stage(), pictures=True, mode=Mode.REPLAY)

    assert "screenshot" in outcome.artifacts
    assert MARKED not in outcome.artifacts


async def test_a_failed_step_without_a_picture_is_planned_from_its_snapshot() -> None:
    stage = Stage()
    stage.site.no_picture = "the page hangs"

    outcome = await failed(stage, pictures=True)

    assert seen_of(outcome) == {"snapshot": outcome.artifacts["snapshot"], "picture_missing": "the page hangs"}


async def test_a_picture_that_cannot_be_searched_for_secrets_is_kept_nowhere() -> None:
    stage = Stage()
    stage.secrets.unread = "nobody can read it"

    page = await looked(stage, pictures=True)
    outcome = await failed(stage, pictures=True)

    assert (page.picture, page.picture_missing) == ("", "nobody can read it")
    assert {outcome.artifacts_missing[kind] for kind in ("screenshot", MARKED)} == {"nobody can read it"}
    assert not outcome.artifacts.keys() & {"screenshot", MARKED}
    assert "dom" in outcome.artifacts
