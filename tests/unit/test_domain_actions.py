"""With which effect a step is treated: may it be repeated?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.task.actions import Action, Effect, effect_of

EFFECTS = st.sampled_from(Effect)
MAYBE = st.none() | EFFECTS


def test_effects_are_ordered_and_the_first_two_may_be_repeated() -> None:
    assert [effect.rank for effect in Effect] == [0, 1, 2, 3]
    assert [effect.repeatable for effect in Effect] == [True, True, False, False]


@pytest.mark.parametrize("action", Action)
def test_every_action_has_an_effect_of_its_own(action: Action) -> None:
    commits = {Action.CLICK, Action.DOUBLE_CLICK, Action.DRAG, Action.PRESS, Action.GO_BACK, Action.TAKE_OVER}

    assert (effect_of(action, None, None) is Effect.COMMIT) == (action in commits)
    assert effect_of(action, None, None) is not Effect.IRREVERSIBLE


@given(action=st.sampled_from(Action), declared=EFFECTS, observed=MAYBE)
def test_what_was_declared_is_never_lowered(action: Action, declared: Effect, observed: Effect | None) -> None:
    effect = effect_of(action, declared, observed)

    assert effect.rank >= declared.rank
    assert effect in (declared, observed)


@given(action=st.sampled_from(Action), declared=st.sampled_from([None, Effect.READ]), observed=EFFECTS)
def test_what_was_seen_is_not_lowered_by_the_action_or_by_a_declared_read(
    action: Action, declared: Effect | None, observed: Effect
) -> None:
    assert effect_of(action, declared, observed) is observed


@given(action=st.sampled_from(Action), observed=MAYBE)
def test_a_step_declared_idempotent_stays_repeatable_whatever_it_is_seen_to_send(
    action: Action, observed: Effect | None
) -> None:
    assert effect_of(action, Effect.IDEMPOTENT, observed) is Effect.IDEMPOTENT


def test_an_undeclared_click_that_was_seen_to_send_nothing_may_be_repeated() -> None:
    assert effect_of(Action.CLICK, None, Effect.READ) is Effect.READ
    assert effect_of(Action.FILL, None, Effect.COMMIT) is Effect.COMMIT
