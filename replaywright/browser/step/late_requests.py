"""Requests that a press causes after its step has ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.evidence import Recorder, without_query
from replaywright.domain.page.observed import SAFE_METHODS
from replaywright.domain.task.actions import Cause
from replaywright.ports.browser import Pressed

PRESSES_KEPT = 50
_Kind = tuple[str, str]
"""Method and address."""


@dataclass(frozen=True)
class _Press:
    recorder: Recorder
    given_at: float
    usual: frozenset[_Kind]
    """Requests that its page had sent before without it."""

    @property
    def is_open(self) -> bool:
        """Tell whether its document is still there to send something."""
        return Cause.NEW_DOCUMENT not in self.recorder.causes


@dataclass
class LateRequests:
    """The presses of a session, and what their pages send afterwards.

    A late request is attributed to the latest press in its tab, as long as the document of the press is there. Kinds of
    requests that the page had sent before the press are its own: polls, presence, counters.
    """

    _presses: dict[str, _Press] = field(default_factory=dict)
    """By the fingerprint of the step; the latest last."""
    _usual: set[_Kind] = field(default_factory=set)

    def add(self, fingerprint: str, recorder: Recorder, given_at: float) -> None:
        """Listen for what a press sends late; no longer for what the one before does."""
        self._presses.pop(fingerprint, None)
        self._presses[fingerprint] = _Press(recorder, given_at, frozenset(self._usual))
        if len(self._presses) > PRESSES_KEPT:
            del self._presses[next(iter(self._presses))]

    def on_event(self, tab: Tab, method: str, params: Mapping[str, Any], *, beside: Recorder | None) -> None:
        """Take an event that came while no press was under way; `beside` records the present step."""
        press = self._latest
        if press is not None and tab.main.id in press.recorder.tab_ids:
            if press.recorder is not beside:
                press.recorder.on_event(tab.traffic, method, params)
        elif method == "Network.requestWillBeSent" and params["request"]["method"].upper() not in SAFE_METHODS:
            self._usual.add((params["request"]["method"].upper(), without_query(params["request"]["url"])))

    def pressed(self) -> dict[str, Pressed]:
        """List each press with all that it has sent, by the fingerprint of its step."""
        return {fingerprint: _report(press) for fingerprint, press in self._presses.items()}

    @property
    def _latest(self) -> _Press | None:
        latest = next(reversed(self._presses.values()), None)
        return latest if latest is not None and latest.is_open else None


def _report(press: _Press) -> Pressed:
    evidence = press.recorder.evidence()
    own = tuple(request for request in evidence.requests if (request.method, request.url) not in press.usual)
    return Pressed(evidence.model_copy(update={"requests": own}), press.given_at, press.is_open)
