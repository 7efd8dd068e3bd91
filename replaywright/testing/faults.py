"""Faults that a test has set for what comes next."""

from replaywright.errors import ReplaywrightError


def raise_next(errors: list[ReplaywrightError | None]) -> None:
    """Take the first out of `errors`, and raise it where it is one."""
    error = errors.pop(0) if errors else None
    if error is not None:
        raise error
