"""Effective policy of a run: the intersection of the operator's file and the task's own policy.

An omission of one author leaves the decision to the other; of two numbers the smaller one counts. Every refusal names
its rule: `policy 'back-office': actions.deny`, or `task: …`. `replaywright.domain.session.network_policy` decides on
connections, with the same two authors.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from replaywright.domain.common.base import Record
from replaywright.domain.common.elsewhere import MB
from replaywright.domain.common.templates import fill, parameters_in
from replaywright.domain.session.guard import FileTypes, Refusal, RuleLimit, StepGuard, UploadRoots
from replaywright.domain.step.outcomes import LEFT_OUT, Status, StepOutcome
from replaywright.domain.task.actions import Action, Cause
from replaywright.domain.task.budgets import Budget, RunLimits
from replaywright.domain.task.policy import Policy, Traffic, Wishes
from replaywright.domain.task.steps import ForEach, Goto, ProbeStep, Step, Upload, action_of, placed

TASK: Final = "task"
"""Author of the rules in the task file."""
_COUNTED: Final = ("navigations", "popups", "dialogs")
_UNITS: Final[Mapping[str, str]] = {"steps": "steps", "seconds": "seconds", **{name: name for name in _COUNTED}}
_Author: TypeAlias = tuple[str, Wishes]
_Limits = TypeVar("_Limits", Budget, RunLimits)


class Used(Record):
    """A run's consumption of the `amounts`."""

    navigations: int = 0
    """Steps that led to another document."""
    popups: int = 0
    dialogs: int = 0
    steps: int = 0
    """Performed steps, including those of override rules; not those answered by the ledger or skipped."""
    seconds: float = 0.0
    """Since the run began, without waiting for people or a browser."""

    def after(self, outcome: StepOutcome) -> "Used":
        """Add one performance of a step."""
        if outcome.from_ledger:
            return self
        seen = outcome.evidence
        opened = sum(tab.startswith("opened ") for tab in seen.tabs)
        done = outcome.status is Status.DONE and outcome.reason not in LEFT_OUT
        return self.model_copy(
            update={
                "navigations": self.navigations + (Cause.NEW_DOCUMENT in seen.causes),
                "popups": self.popups + max(opened, int(Cause.POPUP in seen.causes)),
                "dialogs": self.dialogs + len(seen.dialogs),
                "steps": self.steps + done,
            }
        )


class Caps(Record):
    """Upper limits for a run's model budget, each with its rule; None is no limit."""

    calls: RuleLimit | None = None
    tokens: RuleLimit | None = None
    money: RuleLimit | None = None

    def over(self, limits: _Limits) -> _Limits:
        """Lower the limits to these."""
        lower: dict[str, float] = {}
        for name in Caps.model_fields:
            most: RuleLimit | None = getattr(self, name)
            has = getattr(limits, name)
            if most is not None and (has is None or has > most.value):
                lower[name] = most.value if name == "money" else int(most.value)
        return limits.model_copy(update=lower)

    def rule_of(self, limits: RunLimits, name: str) -> str:
        """Return the rule that sets this limit of a run; empty if none of these does."""
        most: RuleLimit | None = getattr(self, name, None)
        return most.rule if most is not None and getattr(limits, name) == most.value else ""


@dataclass(frozen=True)
class Effective:
    """The policy that an operator and a task both allow."""

    operator: Policy | None = None
    task: Wishes | None = None

    @property
    def authors(self) -> tuple[_Author, ...]:
        """Authors of rules with their rules, the operator first."""
        operator = () if self.operator is None else ((operator_name(self.operator), self.operator),)
        return operator if self.task is None else (*operator, (TASK, self.task))

    # ------------------------------------------------------------------------------------------- actions

    def on_action(self, action: Action) -> Refusal | None:
        """Return the refusal of an action."""
        for who, rules in self.authors:
            allowed, denied = rules.actions.allow, rules.actions.deny
            if action in denied:
                return Refusal(rule=f"{who}: actions.deny", reason=f"{action} is denied")
            if allowed is not None and action not in allowed:
                shown = ", ".join(allowed) or "none"
                return Refusal(
                    rule=f"{who}: actions.allow", reason=f"{action} is not among the allowed actions ({shown})"
                )
        return None

    def on_step(self, step: Step | ProbeStep, values: Mapping[str, str] | None = None) -> Refusal | None:
        """Return the refusal of a step, with those inside it, as far as it does not depend on a page.

        With `values` it also checks the files; parts that depend on a link or an item are checked when it is performed.
        """
        if (refusal := self.on_action(action_of(step))) is not None:
            return refusal
        inner: tuple[Step | ProbeStep, ...] = step.steps if isinstance(step, ForEach) else ()
        if step.reconcile is not None:
            inner = (*inner, *step.reconcile.steps)
        found = (self.on_step(each, values) for each in inner)
        if (refusal := next(filter(None, found), None)) is not None:
            return refusal
        return self._on_files(step, values) if isinstance(step, Upload) and values is not None else None

    def _on_files(self, step: Upload, values: Mapping[str, str]) -> Refusal | None:
        for file in step.files:
            if parameters_in(file) - values.keys():
                continue
            path = fill(file, values)
            for roots in self.upload_roots:
                refusal = roots.refuses(posixpath.normpath(path)) if path.startswith("/") else None
                if refusal is not None or not roots.folders:
                    return refusal or roots.refuses(path if path.startswith("/") else f"/{path}")
        return None

    # --------------------------------------------------------------------------------------------- files

    @property
    def upload_roots(self) -> tuple[UploadRoots, ...]:
        """Folders that an uploaded file must be in, beside those of the worker's settings."""
        return tuple(
            UploadRoots(rule=f"{who}: upload_roots", folders=rules.upload_roots)
            for who, rules in self.authors
            if rules.upload_roots is not None
        )

    @property
    def file_types(self) -> tuple[FileTypes, ...]:
        """Allowed types of a download."""
        return tuple(
            FileTypes(rule=f"{who}: downloads.types", types=rules.downloads.types)
            for who, rules in self.authors
            if rules.downloads.types is not None
        )

    def guard(self, used: Used) -> StepGuard:
        """Return the rules for the browser during the next step."""
        size = self._least("downloads", "max_mb")
        popups = self._least("amounts", "popups")
        left = None if popups is None else popups.model_copy(update={"value": max(0, popups.value - used.popups)})
        return StepGuard(
            uploads=self.upload_roots,
            types=self.file_types,
            bytes=None if size is None else size.model_copy(update={"value": size.value * MB}),
            popups=left,
        )

    @property
    def traffic(self) -> Traffic:
        """Byte limits of a session."""
        up, down = self._least("traffic", "up_mb"), self._least("traffic", "down_mb")
        return Traffic(up_mb=None if up is None else int(up.value), down_mb=None if down is None else int(down.value))

    # ------------------------------------------------------------------------------------------- amounts

    @property
    def amounts(self) -> dict[str, RuleLimit]:
        """Limits by name; unlimited amounts are left out."""
        found = {name: self._least("amounts", name) for name in _UNITS}
        return {name: most for name, most in found.items() if most is not None}

    def over(self, used: Used, step: Step | None = None) -> Refusal | None:
        """Return the amount that the run exceeds, or would with the next `step`."""
        for name, most in self.amounts.items():
            has = getattr(used, name)
            begins = name == "steps" and step is not None
            leads = name == "navigations" and isinstance(step, Goto)
            is_spent = name == "seconds" and step is not None and has >= most.value
            if is_spent or has + (begins or leads) > most.value:
                count = f"{has:.0f} have passed" if name == "seconds" else f"this one has {has}"
                without = ", without the next step" if leads or begins else ""
                reason = f"a run may have {most.value:g} {_UNITS[name]}, and {count}{without}"
                return Refusal(rule=most.rule, reason=reason)
        return None

    @property
    def caps(self) -> Caps:
        """Upper limits for the run's budget."""
        return Caps(
            calls=self._least("spending", "calls"),
            tokens=self._least("spending", "tokens"),
            money=self._least("spending", "money"),
        )

    def _least(self, part: str, name: str) -> RuleLimit | None:
        """Return the smaller limit of both authors, with its rule."""
        given = (
            RuleLimit(rule=f"{who}: {part}.{name}", value=value)
            for who, rules in self.authors
            if (value := getattr(getattr(rules, part), name)) is not None
        )
        return min(given, key=lambda most: most.value, default=None)


def operator_name(operator: Policy) -> str:
    """Return the name of an operator's rules."""
    return f"policy {operator.name!r}"


@dataclass(frozen=True)
class JudgedStep:
    """A step of a plan with the verdict of a policy."""

    place: str
    """Place in the file: `steps[2]`, `steps[3].steps[0]`."""
    step: Step
    refusal: Refusal | None


def judged(policy: Effective, steps: Iterable[Step], values: Mapping[str, str]) -> Iterator[JudgedStep]:
    """Judge every step by itself, with those inside it, in order."""
    for place, step in placed(steps):
        is_list = isinstance(step, ForEach)
        yield JudgedStep(place, step, policy.on_action(action_of(step)) if is_list else policy.on_step(step, values))


def before_start(
    policy: Effective, steps: Iterable[Step], values: Mapping[str, str], used: Used | None = None
) -> tuple[int, Refusal] | None:
    """Return index and refusal of the first step that the plan may not have; None if it may begin.

    It also finds unconditional steps and gotos beyond the limits of a run.
    """
    used = used or Used()
    for index, step in enumerate(steps):
        if (refusal := policy.on_step(step, values)) is not None:
            return index, refusal
        if step.when:
            continue
        if (refusal := policy.over(used, step)) is not None:
            return index, refusal
        goes = isinstance(step, Goto)
        used = used.model_copy(update={"steps": used.steps + 1, "navigations": used.navigations + goes})
    return None
