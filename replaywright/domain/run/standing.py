"""Statuses of a run. Titles, colours, signs, order and search conditions derive from one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

OwnStatus: TypeAlias = Literal["running", "waiting", "paused", "done", "failed", "blocked", "cancelled"]
"""Status that a run reports of itself."""
End: TypeAlias = Literal["done", "failed", "blocked", "cancelled", "terminated", "timed_out"]
"""End of a run."""
RunStatus: TypeAlias = Literal["running", "waiting", "paused", "silent"] | End
"""`silent`: under way, and no worker answers for it."""


@dataclass(frozen=True)
class StatusFacts:
    """Facts about a status, for people and for Temporal."""

    words: str
    """Words in lists of runs."""
    title: str
    """Title in Temporal's UI."""
    report: str
    """Words in a report."""
    style: str
    """Colour in a terminal."""
    sign: str
    """Sign on the dashboard."""
    tone: Literal["going", "doubt", "ok", "bad", "blocked", "skip"]
    """Tone in a report."""
    step: Literal["current", "waiting", "done", "failed", "stopped"]
    """State of the step that the run is at."""
    execution: str = "RUNNING"
    """Temporal's own status."""


STATUSES: Final[Mapping[RunStatus, StatusFacts]] = {
    "running": StatusFacts("running", "Running", "Running", "cyan", "▶", "going", "current"),
    "waiting": StatusFacts(
        "waits for a person", "Waiting for a person", "Waits for a person", "yellow", "?", "doubt", "waiting"
    ),
    "paused": StatusFacts("paused", "Paused", "Paused", "yellow", "‖", "doubt", "waiting"),
    "silent": StatusFacts("running, no worker answers", "Silent", "Silent", "yellow", "…", "going", "current"),
    "done": StatusFacts("done", "Done", "Done", "green", "✓", "ok", "done", "COMPLETED"),
    "failed": StatusFacts("failed", "Failed", "Failed", "red", "✗", "bad", "failed", "FAILED"),
    "blocked": StatusFacts(
        "blocked", "Blocked by the policy", "Blocked by policy", "magenta", "⊘", "blocked", "failed", "FAILED"
    ),
    "cancelled": StatusFacts("cancelled", "Cancelled", "Cancelled", "yellow", "–", "skip", "stopped", "CANCELED"),
    "terminated": StatusFacts("terminated", "Terminated", "Terminated", "red", "✗", "bad", "stopped", "TERMINATED"),
    "timed_out": StatusFacts("timed out", "Timed out", "Timed out", "red", "✗", "bad", "stopped", "TIMED_OUT"),
}
"""All statuses, in the order in which lists of them show them."""
ENDS: Final[tuple[End, ...]] = get_args(End)
WAITING: Final = frozenset(status for status, facts in STATUSES.items() if facts.step == "waiting")
"""Statuses of a run that a person has to let go on."""
FILTERS: Final[tuple[RunStatus, ...]] = tuple(status for status in STATUSES if status != "silent")
"""Statuses that runs can be looked for by: whether a worker answers is only known by asking."""


def going(said: OwnStatus) -> RunStatus:
    """Return the status of a run under way, from the status that it reports."""
    return said if said in WAITING else "running"
