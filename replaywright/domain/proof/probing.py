"""Probes: pages that show the effect of a commit step, proposed by a model while a task is learned.

Code checks a probe (`probe_checks`) before it is opened. A trial must find the effect of the step, and must not find
the effect of a step that never happened.
"""

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import parameters_in
from replaywright.domain.predicate.predicates import TextContains
from replaywright.domain.task.steps import Goto, Reconcile

TIMEOUT_MS = 10_000
"""Time for opening a probe's page."""


class SiteProbe(Record):
    """A page of the site and the texts that it shows if the step took effect; all are templates."""

    url: str
    shows: tuple[str, ...]

    @property
    def asks_by_name(self) -> bool:
        """True if the URL itself names the expected texts, as a search does: only their absence is significant."""
        return bool(parameters_in(self.url) & frozenset().union(*map(parameters_in, self.shows)))

    def as_reconcile(self) -> Reconcile:
        """Return the probe as a `Reconcile` of a task file."""
        opening = Goto(action="goto", url=self.url, timeout_ms=TIMEOUT_MS)
        return Reconcile(steps=(opening,), expect=tuple(TextContains(text_contains=text) for text in self.shows))
