"""What a finished run leaves behind: only what a final verification confirmed."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import TypeAdapter

from replaywright.cli.servers.store import step_records
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.run.runs import Finished, FinishRequest
from replaywright.domain.run.scope import Heal
from replaywright.domain.skill.entries import EntryStatus
from replaywright.domain.step.outcomes import Status
from replaywright.errors import ActionFailed, SessionLost, StoreUnavailable
from tests.unit.staged import (
    CLICK_SEND,
    COMPOSE,
    FILL_TO,
    PASSWORD,
    SEND,
    SENT,
    SESSION,
    TO,
    Stage,
    but,
    of_run,
    request,
    run_activity,
)

PREDICATES: TypeAdapter[tuple[Predicate, ...]] = TypeAdapter(tuple[Predicate, ...])
HOLDS = [{"url_contains": "/sent"}]
FAILS = [{"url_contains": "/sent"}, {"text_contains": "no page says this"}]


async def finished(
    stage: Stage,
    verify: list[dict[str, Any]],
    *keys: str,
    lineage: str = "l1",
    seen: tuple[PredicateResult, ...] | None = None,
) -> Finished:
    asked = FinishRequest(
        run_id="r1",
        lineage=lineage,
        tenant="acme",
        task="send-mail",
        session=SESSION,
        verify=PREDICATES.validate_python(verify),
        seen=seen,
        content_keys=keys,
    )
    return await run_activity(stage.knowledge.finish_run, asked)


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def sent(stage: Stage) -> list[str]:
    """A run that filled and sent; the keys of what it learned."""
    outcomes = [
        await stage.perform(request(FILL_TO, 1, proposed=TO)),
        await stage.perform(request(CLICK_SEND, 2, proposed=SEND)),
    ]
    return [outcome.content_key for outcome in outcomes]


async def statuses(stage: Stage) -> set[EntryStatus]:
    return {info.entry.status for info in await stage.recordings()}


async def test_what_a_verified_run_learned_becomes_active(stage: Stage) -> None:
    keys = await sent(stage)

    result = await finished(stage, HOLDS, *keys)

    assert (result.verified, result.promoted, result.held, result.note) == (True, 2, 0, "")
    assert await statuses(stage) == {EntryStatus.ACTIVE}
    assert (await stage.lines())[-1]["promoted"] == 2


async def test_a_repeated_finish_says_the_same(stage: Stage) -> None:
    keys = await sent(stage)

    assert await finished(stage, HOLDS, *keys) == await finished(stage, HOLDS, *keys)


async def test_a_failed_verification_promotes_nothing(stage: Stage) -> None:
    keys = await sent(stage)

    result = await finished(stage, FAILS, *keys)

    assert ([r.passed for r in result.predicates], result.verified, result.promoted) == ([True, False], False, 0)
    assert "failed" in result.note
    assert await statuses(stage) == {EntryStatus.CANDIDATE}


async def test_a_failed_verification_leaves_the_page_and_what_was_expected(stage: Stage) -> None:
    keys = await sent(stage)

    result = await finished(stage, FAILS, *keys)

    [line] = [line for line in await stage.lines() if line["kind"] == "finish"]
    [*_, end] = step_records(await stage.lines())
    expectations = json.loads(await stage.artifacts.get(result.artifacts["expectations"]))
    assert [one["passed"] for one in expectations] == [True, False]
    assert line["artifacts"] == result.artifacts == end.outcome.artifacts
    assert (end.sequence, end.title, end.status) == (3, "final verification", "unmet")


async def test_a_task_without_verify_promotes_nothing_and_needs_no_browser(stage: Stage) -> None:
    keys = await sent(stage)
    stage.browser.is_lost = True

    result = await finished(stage, [], *keys)

    assert (result.verified, result.promoted) == (True, 0)
    assert "no verify" in result.note
    assert await statuses(stage) == {EntryStatus.CANDIDATE}


async def test_what_the_last_step_has_verified_is_not_looked_at_again_and_needs_no_browser(stage: Stage) -> None:
    to, send = FILL_TO, CLICK_SEND
    first = await stage.perform(request(to, 1, proposed=TO))
    last = await stage.perform(request(send, 2, proposed=SEND, verify=PREDICATES.validate_python(HOLDS)))
    stage.browser.is_lost = True

    result = await finished(stage, HOLDS, first.content_key, last.content_key, seen=last.verification)

    assert last.verification is not None
    assert result.predicates == last.verification
    assert (result.verified, result.promoted) == (True, 2)
    assert (await stage.lines())[-1]["verified"] is True


async def test_what_does_not_hold_right_after_the_last_step_is_left_to_the_end(stage: Stage) -> None:
    await stage.perform(request(FILL_TO, 1, proposed=TO))

    last = await stage.perform(request(CLICK_SEND, 2, proposed=SEND, verify=PREDICATES.validate_python(FAILS)))

    assert (last.status, last.verification) == (Status.DONE, None)
    assert last.checkpoint is not None


@pytest.mark.parametrize(
    "error", [ActionFailed("agent_failed", "the page agent failed", dispatched=False), SessionLost("it is gone")]
)
async def test_a_page_that_cannot_be_looked_at_does_not_undo_the_last_step(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def check(expect: Sequence[Predicate], timeout_ms: int) -> tuple[PredicateResult, ...]:
        raise error

    monkeypatch.setattr(stage.browser, "check", check)
    asked = request(CLICK_SEND, 2, proposed=SEND, verify=PREDICATES.validate_python(HOLDS))

    last = await stage.perform(asked)

    assert (last.status, last.verification) == (Status.DONE, None)
    assert (await stage.perform(asked)).from_ledger


async def test_only_the_keys_of_the_run_are_promoted(stage: Stage) -> None:
    first, _ = await sent(stage)

    result = await finished(stage, HOLDS, first)

    assert result.promoted == 1
    assert await statuses(stage) == {EntryStatus.ACTIVE, EntryStatus.CANDIDATE}


async def test_a_proposed_heal_is_counted_as_held(stage: Stage) -> None:
    asked = request(CLICK_SEND, proposed=SEND)
    await stage.learn(asked)
    renamed = SEND.model_copy(update={"name": "Send message", "element_hash": "h2"})
    stage.site.pages[COMPOSE].elements["send"].target = renamed
    healed = await stage.perform(but(of_run("r2", asked), heal=Heal.PROPOSE))

    result = await finished(stage, HOLDS, healed.content_key, lineage="r2")

    assert (result.promoted, result.held) == (0, 1)


async def test_the_verdicts_hold_no_secret(stage: Stage) -> None:
    stage.open(f"{SENT}?q={PASSWORD}")

    result = await finished(stage, FAILS)

    assert "{{secret:PASSWORD}}" in result.model_dump_json()
    assert PASSWORD not in result.model_dump_json()


async def test_a_lost_browser_or_store_leaves_the_finish_to_a_retry(stage: Stage) -> None:
    keys = await sent(stage)
    stage.store.is_away = True
    with pytest.raises(StoreUnavailable):
        await finished(stage, HOLDS, *keys)
    stage.store.is_away, stage.browser.is_lost = False, True
    with pytest.raises(SessionLost):
        await finished(stage, HOLDS, *keys)

    assert await statuses(stage) == {EntryStatus.CANDIDATE}
