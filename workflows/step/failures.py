"""Errors that end a run as failed, or as blocked."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.step.outcomes import BLOCKED

POLICY_BLOCKED = "PolicyBlocked"
"""Type of an activity's failure that a rule is behind; its first detail is the rule."""


class TaskFailed(Exception):
    """The run cannot reach what its task wants; `reason` is a code for it."""

    rule = ""
    """The rule of the policy that is behind it; empty if none is."""
    of_values = False
    """The run's values are to blame, and not what is recorded."""

    def __init__(
        self, reason: str, message: str, artifacts: dict[str, str] | None = None, *, at_step: bool = True
    ) -> None:
        """`at_step`: it came at the step where the run is."""
        super().__init__(message)
        self.reason = reason
        self.artifacts = artifacts or {}
        self.at_step = at_step


class TaskBlocked(TaskFailed):
    """A rule of the policy forbids what comes next: the run ends, and nothing tries it another way."""

    def __init__(
        self, rule: str, message: str, artifacts: dict[str, str] | None = None, *, at_step: bool = True
    ) -> None:
        super().__init__(BLOCKED, message, artifacts, at_step=at_step)
        self.rule = rule


def is_of(error: ActivityError, kind: str) -> bool:
    """Return True if an error of this kind made the activity fail."""
    return isinstance(error.cause, ApplicationError) and error.cause.type == kind


def rule_behind(error: ActivityError) -> str:
    """The rule of the policy for which an activity failed; empty if it did so for another reason."""
    match error.cause:
        case ApplicationError(type=kind, details=details, message=message) if kind == POLICY_BLOCKED:
            return str(details[0]) if details else message
        case _:
            return ""
