"""Attempts at the steps of a run's plan."""

from typing import Final

from temporalio import workflow

from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.session.checkpoints import KnownCheckpoints
from workflows.step.attempts import Attempt, begun_at

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill, parameters_in
    from replaywright.domain.plan.model_limits import goal_words, instruction_words, is_own_step
    from replaywright.domain.predicate.predicates import Predicate, fill_predicate
    from replaywright.domain.proof.signed_out import signs_in
    from replaywright.domain.skill.fitting import place_of
    from replaywright.domain.step.fingerprints import begun_anew, fingerprint
    from replaywright.domain.step.press_grants import Consent
    from replaywright.domain.task.actions import ACTIONS, Effect
    from replaywright.domain.task.steps import Goto, Step, action_of, names_element

_DECLARED: Final = (Effect.IDEMPOTENT, Effect.COMMIT, Effect.IRREVERSIBLE)


class AttemptFactory:
    """Makes the attempts at steps of the plan, with all that is known of each."""

    def __init__(self, context: RunContext, browser: Browser, checkpoints: KnownCheckpoints) -> None:
        self._context = context
        self._browser = browser
        self._checkpoints = checkpoints

    def here(self) -> Attempt:
        """Return the attempt at the current step."""
        state = self._context.state
        return self.at(state.position, state.previous, state.previous_outcome)

    def next(self) -> Attempt:
        """Return the attempt that performs the current step as the next one of the plan."""
        attempt, context = self.here(), self._context
        attempt.ahead = "" if context.last is None else context.last.ahead
        attempt.is_elsewhere = self._is_elsewhere(attempt.step)
        if context.position + 1 == len(context.plan) and not context.is_unfinished:
            attempt.verify = final_predicates(context)
        return attempt

    def at(self, position: int, previous: str = "", previous_outcome: str = "") -> Attempt:
        """Return an attempt at the step at `position`, whose fingerprint follows on `previous`."""
        context, course = self._context, self._context.course
        step, values = course.plan[position], course.values_at(position)
        restart = "" if context.run.resume is None else context.run.resume.restarts.get(position, "")
        following = course.following(position)
        return Attempt(
            browser=self._browser,
            context=context,
            sequence=position,
            step=step,
            fingerprint=begun_anew(fingerprint(step, values, previous, previous_outcome), restart),
            values=values,
            next_step=following,
            occurrence=course.occurrence_at(position),
            next_occurrence=1 if following is None else course.occurrence_at(position + 1),
            previous=previous,
            act=course.act_at(position),
            item=course.label_at(position),
            is_signed_in=bool(context.run.task.session),
            signs_in=signs_in(course.plan, position),
            weak=context.run.task.on_weak_step or ("ask" if context.asks_on_failure else "warn"),
            consent=consent_for(context, step),
            checkpoint=self._checkpoints.is_due(position),
            earlier=self._checkpoints.newest,
        )

    def _is_elsewhere(self, step: Step) -> bool:
        """Return whether the page is not the one that the step before leads to.

        That is so by its address, or if nothing is recorded of `step` there although the one before was replayed.
        """
        context, at = self._context, self._context.position - 1
        before = context.plan[at] if at >= 0 else None
        if isinstance(before, Goto):
            values = context.course.values_at(at)
            wanted = fill(before.url, values) if parameters_in(before.url) <= values.keys() else ""
            return bool(wanted and context.left_at) and place_of(wanted) != place_of(context.left_at)
        last = context.last
        return last is not None and last.lookup.entry_version > 0 and not last.ahead and names_element(step)


def final_predicates(context: RunContext) -> tuple[Predicate, ...]:
    """Return what the run is to end with: the task's own predicates, else the planner's."""
    return tuple(fill_predicate(predicate, context.run.values) for predicate in context.verify)


def consent_for(context: RunContext, step: Step) -> Consent | None:
    """Return the consent behind a step whose element a model may choose; None where its author declares its effect.

    The steps of a skill are a model's, too, until their recording says otherwise.
    """
    run, state = context.run, context.state
    has_author = run.skill is None and run.state.goal is None and is_own_step(step, run.task.steps)
    if not ACTIONS[action_of(step)].can_trigger or (has_author and step.effect in _DECLARED):
        return None
    words = (goal_words(run.task.goal), instruction_words(step) if has_author else "")
    return Consent(
        words=tuple(filter(None, words)), site=begun_at(run), granted=state.grants, is_planned=not has_author
    )
