"""The loop of `BrowserTask` on a real Temporal server, with scripted activities."""

import pytest
from temporalio.client import Client, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.run.commands import CommandOnStep, Proposal, Reapply
from replaywright.domain.run.commit_requests import PersonVerdict, Resolution
from replaywright.domain.run.runs import Finished, RunResult
from replaywright.domain.run.scope import Mode, Usage
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import (
    BUTTON,
    Script,
    after_goto,
    done,
    given,
    lost,
    missed,
    run_of,
    scripted,
    start,
    waiting,
)
from workflows.plugin import WorkflowPlugin
from workflows.task import BrowserTask

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
HOVER = {"action": "hover", "instruction": "the account menu"}
EXPAND = {"action": "expand", "instruction": "the more section"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}


def result_of(error: WorkflowFailureError) -> RunResult:
    assert isinstance(error.cause, ApplicationError)
    return RunResult.model_validate(error.cause.details[0])


async def test_a_run_performs_its_steps_in_order_and_gives_the_browser_back(client: Client) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL, SEND))).result()

    assert result.succeeded
    assert [request.context.step.action for request in script.performed] == ["goto", "fill", "click"]
    assert result.totals.steps == 3
    assert len(script.closed) == 1


async def test_an_activity_id_is_sequence_and_fingerprint(client: Client) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, FILL))).result()

    marks = [request.context.fingerprint[:12] for request in script.performed]
    assert script.activity_ids == [f"0001-{marks[0]}", f"0002-{marks[1]}"]


LEARNS = after_goto(lambda r, _: done(r) if given(r, "proposed") else missed("no_entry"))
"""Every step is learned."""


async def test_steps_up_to_the_next_press_are_asked_for_in_one_call(client: Client) -> None:
    titled = {"action": "fill", "instruction": "the title field", "value": "Dr"}
    script = Script(
        perform=LEARNS,
        propose=lambda r: Proposal(
            target=BUTTON, following={step.sequence: f"e{step.sequence}" for step in r.following}
        ),
    )

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, FILL, titled, SEND, EXPAND, FILL))).result()

    asked = [[(step.sequence, step.instruction, step.action) for step in r.following] for r in script.proposed]
    title, send = (2, "the title field", "fill"), (3, "the send button", "click")
    assert asked == [[title, send], [send], [], [(5, "the name field", "fill")], []]
    named = [(r.named.sequence, r.named.element_id) if r.named else None for r in script.proposed]
    assert named == [None, (1, "e2"), (2, "e3"), None, (4, "e5")]
    assert not any(given(r, "proposal").following for r in script.performed if given(r, "proposal"))


async def test_for_an_element_that_is_not_where_it_was_recorded_the_model_is_asked_alone(client: Client) -> None:
    script = Script(perform=after_goto(lambda r, _: done(r) if given(r, "proposed") else missed("not_found")))

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, FILL, SEND))).result()

    assert [(r.following, r.named) for r in script.proposed] == [((), None), ((), None)]


async def test_a_miss_asks_the_model_for_this_one_element(client: Client) -> None:
    script = Script(
        perform=lambda r, call: (
            done(r) if given(r, "proposed") or r.context.step.action == "goto" else missed("no_entry")
        )
    )

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert [request.instruction for request in script.proposed] == ["the name field"]
    assert given(script.performed[-1], "proposed") == BUTTON
    assert result.totals.usage.calls == 1
    assert result.totals.fallbacks == 0


async def test_a_recording_that_leads_nowhere_counts_as_a_fallback(client: Client) -> None:
    script = Script(perform=after_goto(lambda r, call: done(r) if given(r, "proposed") else missed("not_found")))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert result.totals.fallbacks == 1


@pytest.mark.parametrize(("reason", "is_asked"), [("covered", True), ("disabled", False)])
async def test_a_recorded_element_that_is_out_of_reach_is_as_good_as_none(
    client: Client, reason: str, *, is_asked: bool
) -> None:
    refused = StepOutcome(
        status=Status.REFUSED, reason=reason, snapshot="snap", lookup=Lookup(hit=True, entry_version=1)
    )
    script = Script(perform=after_goto(lambda r, call: done(r) if given(r, "proposed") else refused))

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL))
        if not is_asked:
            with pytest.raises(WorkflowFailureError):
                await handle.result()
        else:
            assert (await handle.result()).totals.fallbacks == 1

    assert len(script.proposed) == int(is_asked)


async def test_replay_mode_fails_on_a_miss_without_a_model_call(client: Client) -> None:
    script = Script(perform=after_goto(lambda r, call: missed("ambiguous")))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL, mode=Mode.REPLAY))).result()

    assert result_of(failure.value).reason == "ambiguous"
    assert not script.proposed
    assert len(script.closed) == 1


async def test_a_model_that_names_no_element_fails_the_step(client: Client) -> None:
    script = Script(
        perform=after_goto(lambda r, call: missed("ambiguous")), propose=lambda r: Proposal(usage=Usage(calls=1))
    )

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert result_of(failure.value).failed_step == 1
    assert len(script.proposed) == 1


def loses_once(sequence: int) -> Script:
    script = Script()

    def perform(_request: CommandOnStep, call: int) -> StepOutcome:
        asked = script.performed[-1]
        if asked.context.sequence == sequence and call == 0:
            raise lost()
        return done(asked)

    script.perform = perform
    return script


async def test_a_lost_browser_is_adopted_and_a_repeatable_step_goes_on_under_a_new_epoch(client: Client) -> None:
    script = loses_once(1)

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, FILL, FILL))).result()

    assert [(r.context.sequence, r.context.run.epoch, given(r, "recovered")) for r in script.performed] == [
        (0, 1, False),
        (1, 1, False),
        (1, 2, True),
        (2, 2, False),
    ]
    assert result.totals.recoveries == 1


async def test_a_rebuilt_browser_is_brought_forward_by_the_repeatable_steps(client: Client) -> None:
    script = loses_once(2)
    script.adopt = False

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, FILL, FILL))).result()

    assert [(r.context.sequence, isinstance(r, Reapply)) for r in script.performed[3:]] == [
        (0, True),
        (1, True),
        (2, False),
    ]


async def test_a_browser_lost_after_a_commit_step_is_not_rebuilt_across_it(client: Client) -> None:
    script = loses_once(2)
    script.adopt = False
    plain = script.perform
    script.perform = lambda r, call: plain(r, call).model_copy(
        update={"effect": Effect.COMMIT if r.context.step.action == "click" else Effect.IDEMPOTENT}
    )

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, SEND, FILL))).result()

    result = result_of(failure.value)
    assert result.reason == "session_lost"
    assert "step 2 (click the send button) must not be done again" in result.message
    assert not any(isinstance(request, Reapply) for request in script.performed)


async def test_a_lost_commit_step_is_verified_and_never_simply_repeated(client: Client) -> None:
    script = loses_once(1)
    script.verify = lambda request: Resolution(verdict="done", outcome=done(request.action, effect=Effect.COMMIT))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert result.succeeded
    assert [r.context.sequence for r in script.performed] == [0, 1]
    assert script.verified[0].action.run.epoch > script.performed[1].context.run.epoch


async def test_a_commit_step_verified_absent_is_dispatched_under_a_higher_epoch(client: Client) -> None:
    script = loses_once(1)
    script.verify = lambda _request: Resolution(verdict="not_done", reason="no_intent")

    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert [request.context.sequence for request in script.performed] == [0, 1, 1]
    assert script.performed[2].context.run.epoch > script.verified[0].action.run.epoch


async def test_an_undecidable_step_waits_for_a_person_who_says_that_it_is_done(client: Client) -> None:
    script = loses_once(1)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND))
        await waiting(handle)
        with pytest.raises(WorkflowUpdateFailedError):
            await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=5, verdict="done"))
        await handle.execute_update(
            BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="done", who="Ada", why="it is in Sent")
        )
        result = await handle.result()

    assert result.succeeded
    assert [request.context.sequence for request in script.performed] == [0, 1]
    assert script.settled[0].verdict.who == "Ada"


async def test_a_person_who_says_not_done_has_it_dispatched_once_more(client: Client) -> None:
    script = loses_once(1)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND))
        await waiting(handle)
        await handle.execute_update(BrowserTask.resolve_step, PersonVerdict(sequence=1, verdict="not_done"))
        result = await handle.result()

    assert result.succeeded
    assert [request.context.sequence for request in script.performed] == [0, 1, 0, 1]  # in a new browser


async def test_a_commit_step_without_a_store_waits_and_is_tried_again(client: Client) -> None:
    refused = StepOutcome(status=Status.REFUSED, reason="store_unavailable", effect=Effect.COMMIT)
    script = Script(perform=after_goto(lambda r, call: refused if call == 0 else done(r)))

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert result.succeeded
    assert [request.context.sequence for request in script.performed] == [0, 1, 1]


async def test_an_unmet_expectation_of_a_repeatable_step_is_tried_once_more(client: Client) -> None:
    unmet = StepOutcome(status=Status.UNMET, reason="value_differs", effect=Effect.IDEMPOTENT)
    script = Script(perform=after_goto(lambda r, call: unmet))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO, FILL))).result()

    assert result_of(failure.value).reason == "value_differs"
    assert [request.context.sequence for request in script.performed] == [0, 1, 1]


async def test_an_unmet_expectation_of_a_commit_step_is_not_tried_again(client: Client) -> None:
    unmet = StepOutcome(status=Status.UNMET, reason="text_missing", effect=Effect.COMMIT)
    script = Script(perform=after_goto(lambda r, call: unmet))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError):
            await (await start(client, queue, run_of(GOTO, SEND))).result()

    assert [request.context.sequence for request in script.performed] == [0, 1]


async def test_a_menu_that_closed_is_opened_again_before_anybody_is_asked(client: Client) -> None:
    script = Script()

    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        is_open = sum(isinstance(request, Reapply) for request in script.performed) == 2
        return missed("not_found") if asked.context.step.action == "click" and not is_open else done(asked)

    script.perform = perform
    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, HOVER, EXPAND, SEND))
        result = await handle.result()
    history = await handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert [(r.context.sequence, isinstance(r, Reapply)) for r in script.performed] == [
        (0, False),
        (1, False),
        (2, False),
        (3, False),
        (1, True),
        (2, True),
        (3, False),
    ]
    assert (result.totals.steps, script.proposed) == (4, [])
    assert replayed.replay_failure is None


async def test_what_stays_out_of_sight_is_missed_after_one_more_opening(client: Client) -> None:
    script = Script(perform=lambda r, call: missed("not_found") if r.context.step.action == "click" else done(r))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError):
            await (await start(client, queue, run_of(GOTO, EXPAND, SEND, mode=Mode.REPLAY))).result()

    assert [(r.context.sequence, isinstance(r, Reapply)) for r in script.performed] == [
        (0, False),
        (1, False),
        (2, False),
        (1, True),
        (2, False),
    ]


@pytest.mark.parametrize("opener", [{"effect": "commit"}, {"action": "click"}])
async def test_what_must_not_be_repeated_is_not_opened_again(client: Client, opener: dict[str, str]) -> None:
    script = Script(perform=lambda r, call: missed("not_found") if r.context.sequence == 2 else done(r))

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError):
            await (await start(client, queue, run_of(GOTO, {**EXPAND, **opener}, SEND, mode=Mode.REPLAY))).result()

    assert not any(isinstance(request, Reapply) for request in script.performed)


async def test_an_opener_that_was_seen_to_have_consequences_is_not_done_again(client: Client) -> None:
    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        if asked.context.sequence == 2:
            return missed("not_found")
        return done(asked, effect=Effect.COMMIT if asked.context.sequence == 1 else Effect.IDEMPOTENT)

    script = Script(perform=perform)
    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError):
            await (await start(client, queue, run_of(GOTO, EXPAND, SEND, mode=Mode.REPLAY))).result()

    assert not any(isinstance(request, Reapply) for request in script.performed)


async def test_what_held_when_a_step_was_doubted_does_not_decide_the_doubt(client: Client) -> None:
    held = PredicateResult(passed=True, reason="holds")
    unmet = PredicateResult(passed=False, reason="text_missing")

    def perform(asked: CommandOnStep, call: int) -> StepOutcome:
        doubts = {1: ("unproven", (held,)), 2: ("text_missing", (unmet,)), 3: ("server_error", ())}
        if asked.context.sequence not in doubts or call:
            return done(asked)
        reason, verdicts = doubts[asked.context.sequence]
        return StepOutcome(status=Status.IN_DOUBT, reason=reason, effect=Effect.COMMIT, predicates=verdicts)

    script = Script(perform=perform, verify=lambda request: Resolution(verdict="not_done", reason="no_intent"))
    async with scripted(client, script) as queue:
        await (await start(client, queue, run_of(GOTO, SEND, SEND, SEND))).result()

    assert [request.contradicted for request in script.verified] == ["unproven", "", "server_error"]


async def test_a_failed_final_verification_fails_the_run(client: Client) -> None:
    failed = Finished(predicates=(PredicateResult(passed=False, reason="text_missing"),))
    script = Script(finish=lambda _request: failed)

    async with scripted(client, script) as queue:
        with pytest.raises(WorkflowFailureError) as failure:
            await (await start(client, queue, run_of(GOTO))).result()

    assert result_of(failure.value).reason == "verification_failed"


async def test_a_cancelled_run_gives_its_browser_back(client: Client) -> None:
    script = loses_once(1)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, SEND))
        await waiting(handle)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    assert len(script.closed) == 1


async def test_a_run_of_hundreds_of_steps_continues_as_new_and_keeps_its_chain(client: Client) -> None:
    script = Script()

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, *[FILL] * 299))
        result = await handle.result()

    assert result.totals.steps == 300
    assert len({request.context.fingerprint for request in script.performed}) == 300
    assert {request.context.run.lineage for request in script.performed} == {handle.id}
    latest = await client.get_workflow_handle(handle.id).describe()
    assert latest.history_length < 800
    assert [request.context.sequence for request in script.performed] == list(range(300))


async def test_a_finished_run_replays_against_the_same_code(client: Client) -> None:
    script = loses_once(1)

    async with scripted(client, script) as queue:
        handle = await start(client, queue, run_of(GOTO, FILL, SEND))
        await handle.result()
    history = await handle.fetch_history()

    outcome = await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)

    assert outcome.replay_failure is None
