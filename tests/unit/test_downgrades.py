"""Nothing that stands in the cache makes a step that its task declares with consequences one without."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replaywright.domain.skill.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.step.outcomes import Status
from replaywright.domain.task.actions import Action, Cause, Effect
from tests.unit.staged import COMPOSE, SEND, Stage, of_run, request, step

ATTEMPTS = 100
ALTERED = st.fixed_dictionaries(
    {"effect": st.sampled_from([None, Effect.READ, Effect.IDEMPOTENT])},
    optional={
        "action_type": st.sampled_from(sorted(Action)),
        "method": st.sampled_from(["scroll", "hover", "wait_for", ""]),
        "causes": st.lists(st.sampled_from(sorted(Cause)), max_size=3).map(tuple),
        "arguments": st.dictionaries(st.sampled_from(["effect", "always", "expect"]), st.text(max_size=8), max_size=2),
        "expectation": st.just(()),
        "derived": st.just(()),
        "bound": st.just({}),
        "origin": st.sampled_from(["declared", "model", "heal", "review"]),
        "instruction": st.text(max_size=20),
        "success": st.booleans(),
        "hits": st.integers(0, 10**6),
        "schema_version": st.integers(0, 9),
    },
)


async def attempt(declared: str, altered: dict[str, Any]) -> tuple[list[str], str, Effect, Status, int]:
    """What the store was asked for, in its order, and what became of a replayed step with an altered recording."""
    stage = Stage()
    send = step("click", "the send button", effect=declared, expect=[{"text_contains": "Message sent"}])
    entry = await stage.learn(request(send, proposed=SEND))
    changed: ActionCacheEntry = entry.model_copy(update=altered | {"status": EntryStatus.ACTIVE})
    for versions in stage.store._entries.values():
        versions[:] = [changed]
    asked = of_run("r2", request(send))
    outcome = await stage.perform(asked, from_url=COMPOSE)
    calls, dispatched = list(stage.store.calls), len(stage.site.dispatches)
    return calls, await stage.state(asked), outcome.effect, outcome.status, dispatched


def check(declared: str, altered: dict[str, Any]) -> None:
    calls, state, effect, status, dispatched = asyncio.run(attempt(declared, altered))

    assert (status, dispatched) == (Status.DONE, 1)
    assert calls.index("intend") < calls.index("dispatch") < calls.index("record")
    assert (state, effect) == ("COMMITTED", Effect(declared))


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(["commit", "irreversible"]), ALTERED)
def test_no_altered_recording_has_a_declared_commit_dispatched_without_its_intent(
    declared: str, altered: dict[str, Any]
) -> None:
    check(declared, altered)


@pytest.mark.long
@settings(max_examples=ATTEMPTS, deadline=None)
@given(st.sampled_from(["commit", "irreversible"]), ALTERED)
def test_a_hundred_altered_recordings_have_none_dispatched_without_its_intent(
    declared: str, altered: dict[str, Any]
) -> None:
    check(declared, altered)


async def test_a_declared_read_that_was_seen_to_change_something_has_an_intent_the_next_time() -> None:
    stage = Stage()
    send = step("click", "the send button", effect="read", expect=[{"text_contains": "Message sent"}])
    await stage.learn(request(send, proposed=SEND))

    outcome = await stage.perform(of_run("r2", request(send)), from_url=COMPOSE)

    assert "intend" in stage.store.calls
    assert outcome.effect is Effect.COMMIT
