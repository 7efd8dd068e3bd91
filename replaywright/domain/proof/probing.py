"""Probes that a model proposes while a task is learned: where the site shows that a commit step took effect.

A probe is checked by code (`probe_checks`) before anybody opens it, and tried before it is kept: it must find what the
step did, and must not find what nobody ever did.
"""

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import parameters_in
from replaywright.domain.predicate.predicates import TextContains
from replaywright.domain.task.steps import Goto, Reconcile

TIMEOUT_MS = 10_000
"""For opening the page of a probe."""


class SiteProbe(Record):
    """A page of the site, and what it shows if the step took effect; both are templates."""

    url: str
    shows: tuple[str, ...]

    @property
    def asks_by_name(self) -> bool:
        """Whether its page is asked for by what it shows, as a search is: only there not to be found says anything."""
        return bool(parameters_in(self.url) & frozenset().union(*map(parameters_in, self.shows)))

    def as_reconcile(self) -> Reconcile:
        """As a task file would declare it."""
        opening = Goto(action="goto", url=self.url, timeout_ms=TIMEOUT_MS)
        return Reconcile(steps=(opening,), expect=tuple(TextContains(text_contains=text) for text in self.shows))
