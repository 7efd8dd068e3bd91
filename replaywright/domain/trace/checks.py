"""Checks: skills replayed without healing and without a model, and the result of each step."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.run.skill_runs import is_outside
from replaywright.domain.run.standing import WAITING, RunStatus
from replaywright.domain.step.outcomes import KEPT_KINDS, LEFT_OUT, Status
from replaywright.domain.task.steps import ForEach, Goto
from replaywright.domain.task.tasks import Task
from replaywright.domain.trace.run_view import Expected, RunView, StepView

Verdict: TypeAlias = Literal["passed", "failed", "error", "skipped"]
"""`error`: a problem unrelated to the check, such as a missing secret or a lost browser."""

WAITS_FOR_PERSON = "waiting_for_person"
"""Reason of a check that met a question: nobody answers in a pipeline."""
INTERRUPTED = "interrupted"
"""Reason of a check that was interrupted with the command."""
BEGINNING = "begin the run"
"""Case of a failure before the first step or outside all steps."""
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
    "ambiguous": "more than one element answers to the description: make the instruction more exact, or give the step "
    "a target",
    WAITS_FOR_PERSON: "nobody answers in a check: leave out what asks a person, or check up to there with "
    "--until-commit",
}


class Case(Record):
    """A step of a skill, or its final verification."""

    name: str
    verdict: Verdict
    seconds: float = 0.0
    reason: str = ""
    """A code; of a skipped case, the reason in words."""
    message: str = ""
    lines: tuple[str, ...] = ()
    """Expected and found values."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """Digests in the artifact store, by kind."""


class SkillCheck(Record):
    """A skill that was checked."""

    skill: str
    verdict: Verdict
    file: str = ""
    """File of the skill; empty for one of the knowledge base."""
    run_id: str = ""
    """Empty if it was not begun."""
    reason: str = ""
    message: str = ""
    rule: str = ""
    """Rule of the policy that blocked it."""
    to_do: str = ""
    note: str = ""
    """Deliberate omissions."""
    started: float = 0.0
    """Seconds since 1970."""
    seconds: float = 0.0
    cases: tuple[Case, ...] = ()
    report: str = ""
    """Path of the run's report; empty if none was requested."""

    @property
    def is_blocked(self) -> bool:
        """True if a rule of the policy ended it."""
        return bool(self.rule)


def to_do_of(reason: str, otherwise: str = "") -> str:
    """Return the remedy for a check that failed for this reason."""
    return _TO_DO.get(reason, otherwise)


def verdict_of(status: RunStatus, reason: str) -> Verdict:
    """Return the verdict on the skill for the end of its run."""
    if status == "done":
        return "passed"
    if status in WAITING:
        return "failed"
    return "error" if status != "failed" or is_outside(reason) else "failed"


def cases_of(view: RunView, task: Task) -> tuple[Case, ...]:
    """Return a case for each step, reached or not, and for the final verification."""
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
    has_failed = any(case.verdict in ("failed", "error") for case in cases)
    failed_at_end = view.facts.reason == "verification_failed"
    if task.verify or failed_at_end:
        cases.append(_verification(verdict, view, at_end=failed_at_end and not has_failed))
    if verdict != "passed" and not has_failed and not failed_at_end:
        cases.insert(0, _unmet(BEGINNING, verdict, view))
    return tuple(cases)


def _latest(steps: Sequence[StepView]) -> list[StepView]:
    """Return the last step at each place of the plan, in plan order."""
    found = {step.sequence: step for step in steps}
    return [found[sequence] for sequence in sorted(found)]


def _planned(task: Task) -> Iterator[tuple[int, str]]:
    """Yield place and title of the steps known beforehand: those before the first list."""
    opened = task.url and not (task.steps and isinstance(task.steps[0], Goto))
    titles = [f"goto {task.url}"] if opened else []
    for step in task.steps:
        if isinstance(step, ForEach):
            break
        titles.append(step.title)
    yield from enumerate(titles)


def _named(sequence: int, title: str) -> str:
    return f"{sequence + 1}. {title}"


def _case(step: StepView, ends: Verdict | None, view: RunView) -> Case:
    last = step.last
    named = _named(step.sequence, step.title)
    if ends in ("failed", "error"):
        case = _unmet(named, ends, view)
        reason = case.reason if view.facts.status in WAITING else last.reason or case.reason
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
    waits = facts.status in WAITING
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
