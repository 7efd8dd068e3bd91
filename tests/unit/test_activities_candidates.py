"""What another run may try of what a run found: that which the step's own result has shown, where it is checked."""

import pytest

from replaywright.domain.page.targets import Target
from replaywright.domain.run.commands import Perform, Proposal
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.outcomes import Status
from replaywright.domain.task.steps import Step
from tests.unit.staged import CLICK_SEND, COMPOSE, HELP, SEND, TO, Stage, but, of_run, request, step

FILL = step("fill", "the To field", value="x")
ALREADY_THERE = step("click", "the help button", expect=[{"url_contains": "/compose"}])
WITHOUT = step("click", "the help button")
OF_ANOTHER = Proposal(candidate_of="r0")


@pytest.fixture
def stage() -> Stage:
    return Stage()


def named(wanted: Step, target: Target, proposal: Proposal = Proposal()) -> Perform:  # noqa: B008
    return but(request(wanted), proposal=proposal.model_copy(update={"target": target}))


@pytest.mark.parametrize(
    ("asked", "is_proven"),
    [
        (named(CLICK_SEND, SEND), True),
        (named(CLICK_SEND, SEND, OF_ANOTHER), True),
        (named(ALREADY_THERE, HELP), False),
        (named(WITHOUT, HELP), False),
        (named(FILL, TO), True),
        (named(FILL, TO, OF_ANOTHER), False),
        (request(step("fill", "the To field", value="x", target={"name": "To"})), False),
    ],
)
async def test_what_its_own_result_has_shown_may_be_tried_by_another_run(
    stage: Stage, asked: Perform, is_proven: bool
) -> None:
    outcome = await stage.perform(asked)

    assert outcome.status is Status.DONE
    [entry] = await stage.versions(outcome)
    assert entry.is_proven is is_proven
    is_candidate = asked.proposal is not None and bool(asked.proposal.candidate_of)
    assert (entry.origin == "candidate", bool(outcome.lookup.candidate_of)) == (is_candidate, is_candidate)
    assert outcome.lookup.from_model is (asked.proposal is not None and not is_candidate)


@pytest.mark.parametrize(
    ("found", "wanted", "mode", "has_candidate"),
    [
        (CLICK_SEND, CLICK_SEND, Mode.AUTO, True),
        (CLICK_SEND, CLICK_SEND, Mode.REPLAY, False),
        (CLICK_SEND, CLICK_SEND, Mode.LEARN, False),
        # The same words, and nothing that could contradict the element in this task.
        (CLICK_SEND, CLICK_SEND.model_copy(update={"expect": ()}), Mode.AUTO, False),
        (WITHOUT, WITHOUT, Mode.AUTO, False),
    ],
)
async def test_a_miss_tells_if_another_run_has_found_the_element(
    stage: Stage, found: Step, wanted: Step, mode: Mode, has_candidate: bool
) -> None:
    await stage.perform(named(found, SEND if found is CLICK_SEND else HELP))
    asked = of_run("r2", request(wanted))

    outcome = await stage.perform(but(asked, mode=mode), from_url=COMPOSE)

    assert (outcome.status, outcome.has_candidate) == (Status.MISSED, has_candidate)
    assert bool(outcome.element_key) is (mode is Mode.AUTO and bool(wanted.expect))
