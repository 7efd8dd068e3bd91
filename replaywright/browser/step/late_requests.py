"""Requests that an input causes after its step has ended."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.evidence import Recorder, without_query
from replaywright.domain.page.observed import SAFE_METHODS
from replaywright.domain.task.actions import Cause
from replaywright.ports.browser import Pressed

INPUTS_KEPT = 50
_Kind = tuple[str, str]
"""Method and address."""


@dataclass(frozen=True)
class _Input:
    recorder: Recorder
    given_at: float
    is_press: bool
    """Its element does not show what it did."""
    usual: frozenset[_Kind]
    """Requests that its page had sent before without it."""

    @property
    def is_open(self) -> bool:
        """Tell whether its document is still there to send something."""
        return Cause.NEW_DOCUMENT not in self.recorder.causes


@dataclass
class LateRequests:
    """The inputs of a session, and what their pages send afterwards.

    A late request is attributed to the latest input in its tab, and to the latest press, as long as their document is
    there. Kinds of requests that the page had sent before an input are its own: polls, presence, counters.
    """

    _inputs: dict[str, _Input] = field(default_factory=dict)
    """By the fingerprint of the step; the latest last."""
    _usual: dict[_Kind, float] = field(default_factory=dict)
    """When each kind was first sent without a press; seconds since 1970."""

    def add(self, fingerprint: str, recorder: Recorder, given_at: float, *, is_press: bool) -> None:
        """Listen for what an input sends late; no longer for what the one before does, but for the latest press."""
        self._inputs.pop(fingerprint, None)
        usual = frozenset(kind for kind, begun in self._usual.items() if begun < given_at)
        self._inputs[fingerprint] = _Input(recorder, given_at, is_press, usual)
        if len(self._inputs) > INPUTS_KEPT:
            del self._inputs[next(iter(self._inputs))]

    def on_event(self, tab: Tab, method: str, params: Mapping[str, Any], *, beside: Recorder | None) -> None:
        """Take an event that came while no press was under way; `beside` records the present step."""
        latest, press = (self._latest(tab, presses=presses) for presses in (False, True))
        if latest is not None and latest is not press and beside is None:
            latest.recorder.on_event(tab.traffic, method, params)
        if press is not None:
            if press.recorder is not beside:
                press.recorder.on_event(tab.traffic, method, params)
        elif method == "Network.requestWillBeSent" and params["request"]["method"].upper() not in SAFE_METHODS:
            kind = (params["request"]["method"].upper(), without_query(params["request"]["url"]))
            self._usual.setdefault(kind, time.time())

    def pressed(self) -> dict[str, Pressed]:
        """List each input with all that it has sent, by the fingerprint of its step."""
        return {fingerprint: _report(each) for fingerprint, each in self._inputs.items()}

    def _latest(self, tab: Tab, *, presses: bool) -> _Input | None:
        """Return the latest input, or press, if its document is still in the tab."""
        found = next((each for each in reversed(self._inputs.values()) if each.is_press or not presses), None)
        return found if found is not None and found.is_open and tab.main.id in found.recorder.tab_ids else None


def _report(given: _Input) -> Pressed:
    evidence = given.recorder.evidence()
    own = tuple(request for request in evidence.requests if (request.method, request.url) not in given.usual)
    return Pressed(evidence.model_copy(update={"requests": own}), given.given_at, given.is_open)
