"""The task of each behaviour: open the page, write the subject, send it, believe nothing that was not witnessed."""

from dataclasses import dataclass
from typing import Any

from bench.message_site.behaviours import Behaviour
from bench.message_site.pages import SENT, TITLE, WENT_WRONG
from replaywright.domain.task.tasks import Task, parse_task

_MARGIN_MS = 3_000
"""How much longer than it takes a late request is waited for, on a busy machine."""
SITE_LAG_MS = 500
"""The list shows what is stored at once."""


@dataclass(frozen=True)
class Pace:
    """How patient runs are."""

    late_ms: int
    in_flight_ms: int

    @property
    def limit_s(self) -> float:
        """A run that has not ended so long after it was started is stuck: three rounds with all their waiting."""
        return 120 + 3 * (2 * self.late_ms + self.in_flight_ms) / 1000


REAL = Pace(late_ms=15_000, in_flight_ms=300_000)
"""What a task says that says nothing."""
SHORT = Pace(late_ms=6_000, in_flight_ms=30_000)


def task_of(behaviour: Behaviour, pace: Pace, *, by_requests: bool = False) -> Task:
    """The task; the subject is its only value that differs from run to run.

    With `tier: requests` the site names the press: what a script draws cannot be sent without a page.
    """
    commit: dict[str, Any] = {"effect": "commit", "expect": [{"text_contains": SENT}]}
    if behaviour.evidence:
        commit["evidence"] = "page"
    if behaviour.probe:
        asked = {"action": "goto", "url": "{{base_url}}/list?subject={{subject}}"}
        commit["reconcile"] = {"steps": [asked], "expect": [{"text_contains": "Received {{subject}}"}]}
    fill = {
        "action": "fill",
        "instruction": "the subject field",
        "target": {"role": "textbox", "name": "Subject"},
        "value": "{{subject}}",
    }
    match behaviour.action:
        case "fill":
            steps = [fill | commit]
        case "leave":
            steps = [fill, {"action": "press", "keys": "Tab"} | commit]
        case action:
            target = {"role": "link" if action == "open" else "button", "name": "Send"}
            steps = [fill, {"action": "click", "instruction": "send", "target": target} | commit]
    written: dict[str, Any] = {
        "task": f"truth-{behaviour.name}",
        "tier": "requests" if by_requests else "page",
        "url": f"{{{{base_url}}}}/new/{behaviour.name}{'?token' if by_requests else ''}",
        "parameters": {"base_url": {}, "subject": {}},
        "steps": steps,
        # Something has to hold in the end, or nothing is learned; this says nothing about what was sent.
        "verify": [{"any_of": [{"text_contains": text} for text in (SENT, WENT_WRONG, TITLE, "Received")]}],
        "site_lag_ms": SITE_LAG_MS,
        "late_ms": pace.late_ms if behaviour.is_too_late else max(pace.late_ms, behaviour.delay_ms + _MARGIN_MS),
        "in_flight_ms": pace.in_flight_ms,
    }
    return parse_task(written, "the programme")
