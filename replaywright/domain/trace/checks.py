"""A check: skills replayed with healing off and without a model, and what became of each of their steps."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.run.runs import step_title
from replaywright.domain.run.skill_runs import is_outside
from replaywright.domain.run.standing import RunStatus
from replaywright.domain.step.outcomes import KEPT_KINDS, LEFT_OUT, Status
from replaywright.domain.task.steps import ForEach, Goto
from replaywright.domain.task.tasks import Task
from replaywright.domain.trace.run_view import Expected, RunView, StepView

Verdict: TypeAlias = Literal["passed", "failed", "error", "skipped"]
"""`error`: what went wrong says nothing of what was checked, such as a missing secret or a browser that was lost."""

WAITS_FOR_PERSON = "waiting_for_person"
"""Reason of a check that came to a question: nobody answers in a pipeline."""
INTERRUPTED = "interrupted"
"""Reason of a check that was broken off with the command."""
BEGINNING = "begin the run"
"""The case of what went wrong before the first step, or beside all steps."""
VERIFICATION = "final verification"
_NOT_REACHED = "not reached"
_CHANGED = "the page has changed: run the skill with `--heal auto`, or once with a model, then export it again"
_TO_DO = {
    "no_entry": "nothing is recorded for this step, and no model is asked in a check: run the skill once with a model, "
    "and check what `replaywright skills export NAME --elements` writes",
    "heal_off": "the page has changed, and nothing is healed in a check: run the skill with `--heal auto`, then export "
    "it again",
    "not_found": "no element answers to the description: is the page the expected one? If it has changed, run the "
    "skill with `--heal auto`, or once with a model, then export it again",
    "disagrees": _CHANGED,
    "low_score": _CHANGED,
    "low_margin": _CHANGED,
    "ambiguous": "more than one element answers to the description: make the instruction more exact, or give the step "
    "a target",
    WAITS_FOR_PERSON: "nobody answers in a check: leave out what asks a person, or check up to there with "
    "--until-commit",
}


class Case(Record):
    """One step of a skill, or its final verification."""

    name: str
    verdict: Verdict
    seconds: float = 0.0
    reason: str = ""
    """A code; of one that was skipped, why in words."""
    message: str = ""
    lines: tuple[str, ...] = ()
    """What was expected and what was there."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """Digests in the artifact store, by kind."""


class Check(Record):
    """One skill that was checked."""

    skill: str
    verdict: Verdict
    file: str = ""
    """Where the skill came from; empty for one of the knowledge base."""
    run_id: str = ""
    """Empty for one that was not begun."""
    reason: str = ""
    message: str = ""
    rule: str = ""
    """Of the policy, where one has blocked it."""
    to_do: str = ""
    note: str = ""
    """What was left out on purpose."""
    started: float = 0.0
    """Seconds since 1970."""
    seconds: float = 0.0
    cases: tuple[Case, ...] = ()
    report: str = ""
    """Path of the run's report; empty where none was asked for."""

    @property
    def is_blocked(self) -> bool:
        """Whether a rule of the policy has ended it."""
        return bool(self.rule)


def to_do_of(reason: str, otherwise: str = "") -> str:
    """What to do about a check that failed for this reason."""
    return _TO_DO.get(reason, otherwise)


def verdict_of(status: RunStatus, reason: str) -> Verdict:
    """What the end of a run means for the skill that was checked."""
    if status == "done":
        return "passed"
    if status in ("waiting", "paused"):
        return "failed"
    return "error" if status != "failed" or is_outside(reason) else "failed"


def cases_of(view: RunView, task: Task) -> tuple[Case, ...]:
    """The steps of a checked run with what became of each, those that were not reached, and the final verification."""
    verdict = verdict_of(view.facts.status, view.facts.reason)
    done = [step for step in view.steps if not step.override]
    stopped = view.facts.failed_step
    cases = [_case(step, verdict if step.sequence == stopped else None, view) for step in _latest(done)]
    seen = {step.sequence for step in done}
    for sequence, title in _planned(task):
        if sequence not in seen and sequence == stopped:
            cases.append(_unmet(_named(sequence, title), verdict, view))
        elif sequence not in seen and verdict != "passed":
            cases.append(Case(name=_named(sequence, title), verdict="skipped", reason=_NOT_REACHED))
    told = any(case.verdict in ("failed", "error") for case in cases)
    failed_at_end = view.facts.reason == "verification_failed"
    if task.verify or failed_at_end:
        cases.append(_verification(verdict, view, at_end=failed_at_end and not told))
    if verdict != "passed" and not told and not failed_at_end:
        cases.insert(0, _unmet(BEGINNING, verdict, view))
    return tuple(cases)


def _latest(steps: Sequence[StepView]) -> list[StepView]:
    """Of each place in the plan what stands there in the end, in the plan's order."""
    found = {step.sequence: step for step in steps}
    return [found[sequence] for sequence in sorted(found)]


def _planned(task: Task) -> Iterator[tuple[int, str]]:
    """Place and title of each step, as far as they are known beforehand: from a list on they are not."""
    opened = task.url and not (task.steps and isinstance(task.steps[0], Goto))
    titles = [f"goto {task.url}"] if opened else []
    for step in task.steps:
        if isinstance(step, ForEach):
            break
        titles.append(step_title(step))
    yield from enumerate(titles)


def _named(sequence: int, title: str) -> str:
    return f"{sequence + 1}. {title}"


def _case(step: StepView, ends: Verdict | None, view: RunView) -> Case:
    last = step.last
    named = _named(step.sequence, step.title)
    if ends in ("failed", "error"):
        case = _unmet(named, ends, view)
        reason = case.reason if view.facts.status in ("waiting", "paused") else last.reason or case.reason
        return case.model_copy(
            update={
                "seconds": step.seconds,
                "reason": reason,
                "lines": tuple(_expectations(last.expected, last.url)),
                "artifacts": {kind: last.artifacts[kind] for kind in KEPT_KINDS if kind in last.artifacts},
            }
        )
    if last.status is Status.DONE and last.reason in LEFT_OUT:
        return Case(name=named, verdict="skipped", seconds=step.seconds, reason=last.message or last.reason)
    return Case(name=named, verdict="passed", seconds=step.seconds)


def _unmet(name: str, verdict: Verdict, view: RunView) -> Case:
    facts = view.facts
    waits = facts.status in ("waiting", "paused")
    reason = WAITS_FOR_PERSON if waits else facts.reason or facts.status
    message = facts.message.removeprefix(f"{name.partition(' ')[2]}: ")
    return Case(name=name, verdict=verdict, reason=reason, message=message or reason.replace("_", " "))


def _expectations(verdicts: Sequence[Expected], url: str = "") -> Iterator[str]:
    for each in verdicts:
        if not each.passed:
            wanted = "" if each.expected is None else f"expected {_json(each.expected)}, "
            yield f"{wanted}{each.reason}: {_json(each.actual)}"
    if url:
        yield f"page: {url}"


def _verification(verdict: Verdict, view: RunView, *, at_end: bool) -> Case:
    if verdict == "passed":
        return Case(name=VERIFICATION, verdict="passed")
    if not at_end:
        return Case(name=VERIFICATION, verdict="skipped", reason=_NOT_REACHED)
    lines = tuple(_expectations(view.facts.verification))
    return _unmet(VERIFICATION, verdict, view).model_copy(update={"lines": lines})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
