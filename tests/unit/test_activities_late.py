"""Looking once more: what is expected may come true late, and nothing is done to make it."""

from typing import Any

import pytest

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.proof.late import may_come_late
from replaywright.domain.run.commands import Perform, Recheck
from replaywright.domain.step.outcomes import Evidence, Status, StepOutcome, UnsafeRequest
from replaywright.domain.task.actions import Effect
from tests.unit.staged import COMPOSE, TO, Stage, but, request, step

FILL = step("fill", "the To field", value="{{to}}", expect=[{"text_contains": "Draft saved"}])
CLICK = step("click", "the help button", expect=[{"text_contains": "Draft saved"}])
SERVER = "http://mail.example/send"


def asked(wanted: Any = FILL, **fields: Any) -> Perform:
    return request(wanted, 0, **{"proposed": TO, **fields})


async def looked_again(stage: Stage, command: Perform, unmet: StepOutcome) -> StepOutcome:
    context = but(command, attempt="recheck", why="unmet").context
    return await stage.perform(Recheck(context=context, unmet=unmet))


async def test_a_step_whose_expectation_came_true_meanwhile_is_done_and_learned() -> None:
    stage = Stage()
    unmet = await stage.perform(asked())
    inputs = len(stage.site.dispatches)
    stage.site.pages[COMPOSE].texts = ("Draft saved",)

    outcome = await looked_again(stage, asked(), unmet)

    assert unmet.status is Status.UNMET
    assert (outcome.status, outcome.reason, outcome.proof) == (Status.DONE, "late", "became_true")
    assert len(stage.site.dispatches) == inputs
    assert await stage.state(asked()) == "COMMITTED"
    assert [entry.name for entry in await stage.versions(outcome)] == ["To"]
    line = (await stage.lines())[-1]
    assert (line["kind"], line["attempt"], line["why"]) == ("step", "recheck", "unmet")


async def test_a_commit_that_was_taken_back_is_recorded_after_that() -> None:
    stage = Stage()
    command = asked(
        CLICK.model_copy(update={"effect": Effect.COMMIT, "evidence": "page"}),
        proposed=stage.site.pages[COMPOSE].elements["help"].target,
    )
    unmet = await stage.perform(command)
    stage.site.pages[COMPOSE].texts = ("Draft saved",)

    outcome = await looked_again(stage, command, unmet)

    assert (unmet.status, outcome.status) == (Status.UNMET, Status.DONE)
    assert await stage.state(command) == "COMMITTED"


async def test_what_does_not_come_true_leaves_the_outcome_and_a_line_of_the_trace() -> None:
    stage = Stage()
    unmet = await stage.perform(asked())

    outcome = await looked_again(stage, asked(), unmet)

    assert outcome == unmet
    line = (await stage.lines())[-1]
    assert (line["kind"], line["sequence"]) == ("recheck", 0)


async def test_a_process_that_did_not_perform_the_step_says_nothing_new_of_it() -> None:
    stage = Stage()
    unmet = await stage.perform(asked())
    stage.site.pages[COMPOSE].texts = ("Draft saved",)
    await stage.attachments.drop_all()

    assert await looked_again(stage, asked(), unmet) == unmet


async def test_a_second_try_gives_what_the_first_recorded() -> None:
    stage = Stage()
    unmet = await stage.perform(asked())
    stage.site.pages[COMPOSE].texts = ("Draft saved",)
    first = await looked_again(stage, asked(), unmet)

    again = await looked_again(stage, asked(), unmet)

    assert (again.status, again.from_ledger) == (first.status, True)


LACKING = PredicateResult(passed=False, reason="text_contains")
OPTIONAL = LACKING.model_copy(update={"required": False})
HELD = PredicateResult(passed=True, reason="")


@pytest.mark.parametrize(
    ("expect", "fields", "may"),
    [
        ([{"text_contains": "x"}], {}, True),
        ([{"text_contains": "x"}], {"status": Status.IN_DOUBT}, False),
        ([{"text_contains": "x"}], {"status": Status.MISSED}, False),
        ([{"text_contains": "x"}], {"predicates": (HELD,), "reason": "unproven"}, False),
        ([{"text_contains": "x"}], {"predicates": (LACKING, LACKING)}, False),
        (
            [{"text_contains": "x", "required": False}],
            {"predicates": (LACKING.model_copy(update={"required": False}),)},
            False,
        ),
        ([{"response_status": "2xx"}], {}, False),
        ([{"any_of": [{"dialog_seen": "x"}, {"text_contains": "x"}]}], {}, False),
        ([], {"predicates": ()}, False),
    ],
)
def test_only_what_the_page_itself_may_still_show_is_worth_another_look(
    expect: list[dict[str, Any]], fields: dict[str, Any], may: bool
) -> None:
    wanted = step("click", "the send button", expect=expect)
    outcome = StepOutcome.model_validate({"status": Status.UNMET, "predicates": (LACKING,), **fields})

    assert may_come_late(wanted, outcome) is may


@pytest.mark.parametrize("status", [500, 422, 0])
def test_what_the_site_refused_or_has_not_answered_is_not_excused_by_what_the_page_shows(status: int) -> None:
    sent = UnsafeRequest(method="POST", url=SERVER, status=status)
    outcome = StepOutcome(
        status=Status.UNMET, predicates=(LACKING,), url="http://mail.example/", evidence=Evidence(requests=(sent,))
    )

    assert not may_come_late(CLICK, outcome)
