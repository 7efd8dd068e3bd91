"""Grants for sites that tests and measurements start on this machine."""

from pathlib import Path

from replaywright.grants import change_grants

ON_LOOPBACK = ("127.0.0.0/8:*", "[::1]:*", "localhost:*")


def allow_loopback(home: Path) -> None:
    """Let runs of this home reach every address of loopback; services of the home itself stay closed."""
    change_grants(home, lambda grants: grants.allowed(ON_LOOPBACK))
