"""Approvals: the content of the question, and the steps that an answer covers."""

from collections.abc import Mapping
from functools import reduce
from typing import Literal

from replaywright.domain.common.templates import fill, parameters_in
from replaywright.domain.common.text import shorten
from replaywright.domain.plan.loops import Course
from replaywright.domain.skill.skills import Skill
from replaywright.domain.task.actions import Effect, effect_of, stronger
from replaywright.domain.task.questions import SAID_LIMIT, Ask, QuestionKind, quoted
from replaywright.domain.task.steps import Approve, ForEach, Step, action_of, placed

SHOWN = 12
"""Steps that are shown at most."""


def shown(course: Course, begin: int) -> tuple[str, ...]:
    """The steps from `begin` on, with their values, up to the first with consequences: what an approval is for.

    Secrets stay names. Where none is declared to have consequences, all that follow.
    """
    end = _first_weighty(course, begin)
    last = len(course.plan) if end is None else end + 1
    lines = tuple(_line(course, at) for at in range(begin, min(last, begin + SHOWN)))
    left = last - begin - SHOWN
    return (*lines[:-1], f"… and {left + 1} more, up to: {_line(course, last - 1)}") if left > 0 else lines


def approved_act(course: Course, begin: int) -> str:
    """Return the act of the step that an approval before `begin` covers, if it is irreversible; see `acts_of`.

    Empty if the first step with consequences can be mended, is of a list, or has an approval of its own.
    """
    at = _first_weighty(course, begin)
    if at is None or course.plan[at].effect is not Effect.IRREVERSIBLE:
        return ""
    return course.act_at(at)


def approval_of(course: Course, at: int, *, title: str) -> Ask:
    """The question whether the step at `at`, which can never be undone, may be done."""
    return Ask(
        kind=QuestionKind.APPROVE,
        text=f"step {at + 1} can never be undone ({title}): may it be done?",
        sequence=at,
        title=title,
        answers=("approve", "refuse"),
        shows=(_line(course, at),),
    )


def is_confirmed(skill: Skill, least: Effect | Literal["never"]) -> bool:
    """Check if a person confirms a skill that a model chose: its strongest effect is the `least` one or above.

    A step whose effect nobody declared counts as its action does: a click as `commit`.
    """
    return least != "never" and effect_of_skill(skill).rank >= least.rank


def effect_of_skill(skill: Skill) -> Effect:
    """Return the strongest effect of the steps of a skill."""
    return reduce(stronger, (effect_of(action_of(step), step.effect, None) for _, step in placed(skill.task.steps)))


def recalled_question(skill: Skill, values: Mapping[str, str], sentence: str, *, within_s: float) -> Ask:
    """Ask if a skill is the one that a sentence means, with these values."""
    given = (f"{name} = {value}" for name, value in values.items())
    title = f" ({skill.label})" if skill.label else ""
    return Ask(
        kind=QuestionKind.RECALLED,
        text=f"a model took the sentence for the skill {skill.name}{title} with the effect "
        f"{effect_of_skill(skill).value}: is it meant, with these values?",
        sequence=0,
        answers=("approve", "refuse"),
        shows=quoted(f"sentence: {sentence}", f"skill: {skill.name}, version {skill.version}", *given),
        within_s=within_s,
    )


def _first_weighty(course: Course, begin: int) -> int | None:
    """Index of the first step from `begin` on that must not be repeated, as declared, or that is not known yet."""
    for at in range(begin, len(course.plan)):
        step = course.plan[at]
        if isinstance(step, ForEach | Approve) or (step.effect is not None and not _repeatable(step)):
            return at
    return None


def _repeatable(step: Step) -> bool:
    return effect_of(action_of(step), step.effect, None).repeatable


def _line(course: Course, at: int) -> str:
    step, values = course.plan[at], course.values_at(at)
    title = step.title
    said = fill(title, values) if parameters_in(title) <= values.keys() else title
    effect = f" ({step.effect.value})" if step.effect is not None and not _repeatable(step) else ""
    item = course.label_at(at)
    return shorten(f"{at + 1}. {' '.join(said.split())}{effect}" + (f" [{item}]" if item else ""), SAID_LIMIT)
