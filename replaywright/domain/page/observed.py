"""Observations of a page and a step, over which predicates are evaluated."""

from typing import Any, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.targets import ElementQuery

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""RFC 9110, section 9.2.1."""


class TextProbe(Record):
    """Question to the page: does visible text contain this?"""

    text: str
    within: ElementQuery | None = None
    """Only inside matching elements; None for the whole page with its frames."""

    @property
    def frame(self) -> tuple[str, ...]:
        """The only frames that count; empty for all."""
        return () if self.within is None else self.within.frame or ()


class ElementProbe(Record):
    """Question to the page: which elements match?"""

    query: ElementQuery
    view: bool = False
    """True to count the matches in view, too."""
    in_dom: bool = False
    """True to count matches that nobody can see, too."""

    @property
    def frame(self) -> tuple[str, ...]:
        """The only frames that count; empty for all."""
        return self.query.frame or ()


Probe: TypeAlias = TextProbe | ElementProbe


class ElementState(Record):
    """Observed state of a matching element."""

    role: str = ""
    name: str = ""
    text: str = ""
    """At most 2,000 characters."""
    value: str = ""
    """Always empty for password fields."""
    visible: bool = True
    focused: bool = False
    """True if it receives keys: it is focused, or the active descendant of the focused element."""
    checked: bool | None = None
    """Ticked, chosen or pressed; None if it has no such state."""
    enabled: bool = True


class ProbeResult(Record):
    """Answer of the page to a probe, over all frames."""

    count: int = 0
    """Visible matches."""
    in_view: int = 0
    """Number of the first fifty matches that are partly in the viewport and uncovered; 0 if not requested."""
    elements: tuple[ElementState, ...] = ()
    """The first three visible matches in document order."""
    nearest: tuple[str, ...] = ()
    """Without a match: the three most similar, such as `button "Send message"`."""


class Response(Record):
    """A response to a request of a step."""

    method: str
    url: str
    """Origin and path, without query."""
    status: int
    document: bool = False
    """True if the request was for a document."""


class AssertionContext(Record):
    """Observations for the evaluation of predicates."""

    url: str
    title: str = ""
    probes: tuple[tuple[Probe, ProbeResult], ...] = ()
    responses: tuple[Response, ...] = ()
    """Responses to all requests of the step, in order of arrival."""
    downloads: tuple[str, ...] = ()
    """Names of completely downloaded files."""
    dialogs: tuple[str, ...] = ()
    """Kind, text and answer of the dialogs of the step."""

    def answer(self, probe: Probe) -> ProbeResult:
        """Return the answer to `probe`; empty if it was not asked."""
        return next((result for asked, result in self.probes if asked == probe), ProbeResult())


class PredicateResult(Record):
    """Verdict on a predicate."""

    passed: bool
    """True if it holds."""
    reason: str
    """`holds`, or the code of a failure: `url_differs`, `none_found`, `still_there`, `text_missing`, `value_differs`, …
    """
    details: dict[str, Any] = Field(default_factory=dict)
    """Expected and found values: counts, nearest matches, start of the address."""
    required: bool = True
    """False: an unmet predicate is only a warning."""
    decided: bool = True
    """False if its element is missing or ambiguous; then its negation does not hold either."""

    @property
    def fails(self) -> bool:
        """True if it fails the step or task."""
        return self.required and not self.passed
