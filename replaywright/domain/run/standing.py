"""Status of a run, in the words that lists of runs use."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

RunStatus: TypeAlias = Literal[
    "running", "waiting", "paused", "silent", "done", "failed", "blocked", "cancelled", "terminated", "timed_out"
]
"""`silent`: under way, and no worker answers for it."""

STATUS_WORDS: Mapping[RunStatus, str] = {
    "running": "running",
    "waiting": "waits for a person",
    "paused": "paused",
    "silent": "running, no worker answers",
    "done": "done",
    "failed": "failed",
    "blocked": "blocked",
    "cancelled": "cancelled",
    "terminated": "terminated",
    "timed_out": "timed out",
}


def going(said: str) -> RunStatus:
    """Return the status of a run under way, from the status that it reports."""
    return "waiting" if said == "waiting" else "paused" if said == "paused" else "running"
