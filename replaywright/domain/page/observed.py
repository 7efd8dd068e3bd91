"""What was observed of a page and of a step: the only things that predicates are evaluated over."""

from typing import Any, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.targets import ElementQuery

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""RFC 9110, section 9.2.1."""


class TextProbe(Record):
    """Ask the page whether visible text contains something."""

    text: str
    within: ElementQuery | None = None
    """Only inside elements that match; None means the whole page, frames included."""


class ElementProbe(Record):
    """Ask the page which elements match a query."""

    query: ElementQuery
    view: bool = False
    """Whether to count those in view, too."""


Probe: TypeAlias = TextProbe | ElementProbe


class ElementState(Record):
    """What was seen of one matching element."""

    role: str = ""
    name: str = ""
    text: str = ""
    """At most 2,000 characters."""
    value: str = ""
    """Empty for password fields, always."""
    visible: bool = True
    focused: bool = False
    """Whether the keys go to it: it has the focus, or is the active descendant of what has."""
    checked: bool | None = None
    """Ticked, chosen or pressed; None for what knows no such thing."""
    enabled: bool = True


class ProbeResult(Record):
    """What the page answered to one probe, over all its frames."""

    count: int = 0
    """Visible matches."""
    in_view: int = 0
    """Of the first fifty matches those of which something lies in the window, uncovered; 0 when not asked for."""
    elements: tuple[ElementState, ...] = ()
    """The first three visible matches in document order."""
    nearest: tuple[str, ...] = ()
    """With no match: the three most alike, such as `button "Send message"`."""


class Response(Record):
    """An answer of a server to a request that a step set off."""

    method: str
    url: str
    """Origin and path; no query."""
    status: int
    document: bool = False
    """Whether the request was for a document, not by a script."""


class AssertionContext(Record):
    """What a predicate is evaluated over."""

    url: str
    title: str = ""
    probes: tuple[tuple[Probe, ProbeResult], ...] = ()
    responses: tuple[Response, ...] = ()
    """To documents, scripts' requests and whatever else the step sent, in the order of the answers."""
    downloads: tuple[str, ...] = ()
    """Names of the files that the step downloaded completely."""
    dialogs: tuple[str, ...] = ()
    """Kind, text and answer of the dialogs that the step caused."""

    def answer(self, probe: Probe) -> ProbeResult:
        """The page's answer to `probe`; an empty one when it was not asked."""
        return next((result for asked, result in self.probes if asked == probe), ProbeResult())


class PredicateResult(Record):
    """The verdict on one predicate."""

    passed: bool
    """Whether it holds."""
    reason: str
    """`holds`, or a code for why not: `url_differs`, `none_found`, `still_there`, `text_missing`, `value_differs`, …"""
    details: dict[str, Any] = Field(default_factory=dict)
    """What was expected and found: counts, nearest matches, the beginning of the address."""
    required: bool = True
    """False: that it does not hold is a warning only."""
    decided: bool = True
    """False when it could not be told: its element is not there, or not the only one. Then its opposite does not hold
    either."""

    @property
    def fails(self) -> bool:
        """Whether the step or task fails because of it."""
        return self.required and not self.passed
