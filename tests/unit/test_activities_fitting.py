"""Whether a recalled skill may begin on the page that is shown, on a scripted page."""

import pytest

from activities.plan.looking import LookActivities
from activities.skill.fitting import FitActivities
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.plan.goal_runs import LookRequest
from replaywright.domain.predicate.predicates import Exists
from replaywright.domain.skill.fitting import Fit, FitRequest
from tests.unit.staged import COMPOSE, SESSION, TO, Stage, run_activity

THERE = Exists(exists=ElementQuery(role=TO.role, name=TO.name))
GONE = Exists(exists=ElementQuery(role="link", name="New letter"))


async def fit(stage: Stage, **fields: object) -> Fit:
    request = FitRequest.model_validate({"session": SESSION, "epoch": 1, "start": COMPOSE, **fields})
    activities = FitActivities(stage.attachments, stage.artifacts, stage.secrets)
    return await run_activity(activities.fits, request)


async def test_a_page_that_shows_what_the_skill_begins_with_is_not_even_read() -> None:
    stage = Stage()

    assert await fit(stage, precondition=(THERE,)) == Fit()
    assert (stage.artifacts.values, stage.inputs) == ({}, [])


async def test_what_is_missing_on_the_skill_s_own_start_page_is_told_with_the_page() -> None:
    stage = Stage()

    found = await fit(stage, precondition=(GONE,), signed_in=False, start=f"{COMPOSE}?from=mail")

    assert (found.reason, found.own_page, found.signed_in) == ("precondition", True, False)
    assert "New letter" in found.message
    assert found.snapshot in stage.artifacts.values


@pytest.mark.parametrize("start", ["http://mail/other", ""])
async def test_a_skill_is_not_blamed_for_another_page(start: str) -> None:
    found = await fit(Stage(), precondition=(GONE,), start=start)

    assert (found.reason, found.own_page) == ("precondition", False)


async def test_a_skill_that_was_learned_signed_in_does_not_begin_where_a_password_is_asked_for() -> None:
    found = await fit(Stage(), precondition=(GONE,), signed_in=True)

    assert (found.reason, found.own_page, found.signed_in) == ("other_context", False, False)
    assert "learned signed in" in found.message


async def test_the_planner_s_page_tells_under_what_circumstances_a_skill_is_learned() -> None:
    stage = Stage()
    activities = LookActivities(stage.attachments, stage.artifacts, stage.secrets)

    looked = await run_activity(activities.look, LookRequest(session=SESSION, epoch=1))

    assert (looked.place, looked.signed_in) == (COMPOSE, False)
