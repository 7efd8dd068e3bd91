"""The policy where things are done: what it forbids is told with the rule that forbids it."""

from temporalio.exceptions import ApplicationError

from replaywright.errors import PolicyBlocked


def as_failure(blocked: PolicyBlocked) -> ApplicationError:
    """What an activity ends with that a rule forbids: never tried again, its first detail is the rule."""
    return ApplicationError(str(blocked), blocked.rule, type=type(blocked).__name__, non_retryable=True)
