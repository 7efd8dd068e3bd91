"""The end of a run on a real Temporal server: who looks at the final predicates, and what a loss at the end costs."""

from collections.abc import Callable

from temporalio.client import Client

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import Finished, FinishRequest
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, done, given, lost, missed, run_of, scripted, start, waiting
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
HOLDS = (PredicateResult(passed=True, reason="holds"),)


def verified(request: CommandOnStep, _call: int = 0) -> StepOutcome:
    """Done; the step that is asked for the final predicates says that they hold."""
    effect = Effect.COMMIT if request.context.step.effect is not None else None
    return done(request, effect=effect or Effect.IDEMPOTENT).model_copy(
        update={"verification": HOLDS if given(request, "verify") else None}
    )


def noting(asked: list[FinishRequest]) -> Callable[[FinishRequest], Finished]:
    def finish(request: FinishRequest) -> Finished:
        asked.append(request)
        return Finished(predicates=HOLDS)

    return finish


async def test_the_last_step_is_asked_for_the_final_predicates_and_they_are_not_looked_at_again(client: Client) -> None:
    asked: list[FinishRequest] = []
    script = Script(perform=verified, finish=noting(asked))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL, SEND))).result()

    assert [len(given(request, "verify")) for request in script.performed] == [0, 0, 1]
    assert [request.seen for request in asked] == [HOLDS]
    assert result.succeeded
    assert result.verification == HOLDS


async def test_what_the_last_step_does_not_see_is_looked_at_in_the_end(client: Client) -> None:
    asked: list[FinishRequest] = []
    script = Script(finish=noting(asked))

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert [request.seen for request in asked] == [None]


async def test_a_worker_that_is_lost_after_the_last_step_costs_a_verified_run_no_browser(client: Client) -> None:
    asked: list[FinishRequest] = []

    def finish(request: FinishRequest) -> Finished:
        asked.append(request)
        if len(asked) == 1:
            raise lost()
        return Finished(predicates=HOLDS)

    script = Script(perform=verified, finish=finish)

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert result.succeeded
    assert result.totals.recoveries == 0
    assert script.recovered == []
    assert [request.seen for request in asked] == [HOLDS, HOLDS]


async def test_a_last_step_that_a_person_leaves_out_verifies_nothing(client: Client) -> None:
    asked: list[FinishRequest] = []
    script = Script(
        perform=lambda request, _call: missed("not_found") if request.context.sequence == 2 else verified(request),
        finish=noting(asked),
    )

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, FILL, on_failure="ask", mode="replay"))
        await waiting(handle)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=2, verdict="skip"))
        await handle.result()

    assert [request.seen for request in asked] == [None]
