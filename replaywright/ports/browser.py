"""What an activity needs of a browser, and what it is told of a step in it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.outlines import Outline
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import Box, ElementQuery, Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.carrying import Sought
from replaywright.domain.proof.deriving import Seen
from replaywright.domain.requests.exchanges import Exchange
from replaywright.domain.secrets.secret_sites import BoundSecret
from replaywright.domain.session.guard import StepGuard
from replaywright.domain.site_session.passkeys import Passkey
from replaywright.domain.step.checkpoints import PageState
from replaywright.domain.step.outcomes import DownloadedFile, Evidence, Lookup, Proof, UnsafeRequest
from replaywright.domain.step.overrides import OverrideRule
from replaywright.domain.task.actions import Cause
from replaywright.domain.task.steps import Step


@dataclass(frozen=True)
class Work:
    """One browser action, ready to be done: parameters filled, secrets resolved."""

    step: Step
    """Parameters are filled in; `value` still holds secret references: use `text`."""
    text: str = field(default="", repr=False)
    """Text that fill, type and paste enter, secrets resolved. Never logged, never in an exception."""
    fingerprint: str = ""
    """Fingerprint of the step."""
    sensitive: bool = False
    """`text` holds a secret: its element's value is not read back into anything that is kept."""
    secrets: tuple[BoundSecret, ...] = ()
    """Secrets in `text`: it is entered only into a document where all of them may be."""
    dialog_secrets: tuple[BoundSecret, ...] = ()
    """Secrets in `dialog_text`: a prompt elsewhere is dismissed."""
    target: Target | None = None
    """The recorded or proposed element. None with no `query`: the element is unknown, which is a miss."""
    query: ElementQuery | None = None
    """The element as the task declares it: exactly one must match."""
    dialog_text: str | None = field(default=None, repr=False)
    """Answer to prompts, secrets resolved; like `text`, never logged."""
    entry_version: int = 0
    recorded: Target | None = None
    """Recording that led nowhere: the element of the `query` must not contradict it."""
    expect: tuple[Predicate, ...] = ()
    causes: tuple[Cause, ...] | None = None
    """Causes that the action set off when it was recorded; None when that is not known: then it is observed."""
    heal: bool = True
    """A changed element may be found again without a model."""
    looks: bool = False
    """Find the element, and give it nothing."""
    learning: bool = False
    """Read the page before and after the step, to derive from it what may be expected the next time."""
    relearning: bool = False
    """Do so unless the element has changed once more: what the step leads to was learned before a heal."""
    skip_if_holds: bool = False
    """Leave the element alone when all that is expected holds before anything is done."""
    signs_in: bool = False
    """Steps from here to the next page enter a secret: a page that is refused and asks for a password is theirs."""
    is_consequential: bool = True
    """A press may send something or lead to another page: before it, what was entered must have reached the page."""
    proof_ms: int = 500
    """Time for the proof that a press did anything, where there is none when it has ended."""
    keeps_entries: bool = False
    """When the press was recorded, the page showed all that was entered before: it must now."""
    timeout_ms: int = 10_000
    is_pictured: bool = False
    """The report is to say where the element was, in frames, too."""
    picturing: "asyncio.Future[None] | None" = field(default=None, compare=False)
    """The taking of a picture: until it is done the page is only looked at, and not even that while secrets are hidden
    in it."""
    shown: Snapshot | None = None
    """The page as a model was shown it in vain: where no element is known, another page is waited for."""
    patience_ms: int = 0
    """Time of that wait; longer while requests are under way."""
    overrides: tuple[OverrideRule, ...] = ()
    """Rules that may clear the way: where one is due, an element that is covered or missing is not waited for."""
    records: int | None = None
    """Index of the step whose requests are kept; None: none are."""
    guard: StepGuard | None = None
    """Limits on the browser from now on; None: those before."""


@dataclass(frozen=True)
class Download:
    """A file that the browser was given; it lies in the session's folder until it is released."""

    file: DownloadedFile
    path: Path
    """Path of the file, if its state is `saved`."""
    number: str = ""
    """Id of the file in the session."""


@dataclass(frozen=True)
class Pressed:
    """One input, and what its page has sent because of it by now."""

    evidence: Evidence
    given_at: float
    """Time of its input, in seconds since 1970."""
    is_open: bool
    """Its document is still there, and may send more."""


@dataclass(frozen=True)
class Report:
    """Result of one `Work`."""

    lookup: Lookup
    target: Target | None = None
    """Fresh description of the element that was acted on."""
    acted: bool = False
    """False on a miss, and when the wanted state was there already."""
    proof: Proof | None = None
    """Proof that the step did its work; None where none is needed."""
    before: tuple[PredicateResult, ...] = ()
    after: tuple[PredicateResult, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    given_at: float = 0.0
    """Time of the input, in seconds since 1970; 0 where none was given."""
    is_waited: bool = False
    """The step's own time for requests that come late has passed."""
    left_at: float = 0.0
    """Time at which its pages were left as nobody confirmed the step, in Unix seconds; 0 where they were not."""
    at_end: tuple[PredicateResult, ...] = ()
    """Verdicts on the run's final predicates, where all held on the last page before it was left."""
    keeps_entries: bool = False
    """The page showed before the press what was entered; only of a press that was learned."""
    is_fresh: bool = False
    """`after` is of a document that was loaded after the input."""
    downloads: tuple[Download, ...] = ()
    """All that ended and was not released yet: those of the step, and earlier ones that nobody took."""
    url: str = ""
    title: str = ""
    page_fault: str = ""
    """Fault of the document that the step led to: `http_404` and so on, or `navigation_failed`
    when the browser shows a page of its own instead."""
    extracted: dict[str, Any] = field(default_factory=dict)
    box: Box | None = None
    """What was to be seen of the element when it was found; None when nothing was, or when it is in a frame and that
    was not asked."""
    snapshot: Snapshot | None = None
    """On a miss or when an expectation does not hold."""
    seen: Seen | None = None
    """The page before and after a step that was learned, for the first time or once more."""
    evaluations: int = 0
    locating_ms: float = 0.0
    acting_ms: float = 0.0
    verifying_ms: float = 0.0


@dataclass(frozen=True)
class Capture:
    """Evidence from a page when a step has failed. No part of it shows a secret."""

    screenshot: bytes | None = None
    """PNG of what is on the screen."""
    dom: str | None = None
    """HTML of all frames, open shadow roots and what the fields hold included."""
    console: tuple[str, ...] = ()
    """The latest console messages and exceptions, oldest first."""
    network: tuple[str, ...] = ()
    """The latest requests, oldest first; URLs without their queries."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Reason for which `screenshot` or `dom` is None, by its name."""


@dataclass(frozen=True)
class Look:
    """A page as a planner sees it that takes pictures."""

    snapshot: Snapshot
    picture: bytes | None = None
    """PNG of what is on the screen without secrets, with a mark on each element that was wanted and can be seen: the
    number of its id in the snapshot."""
    missing: str = ""
    """Reason for which there is no picture."""


@dataclass(frozen=True)
class Shown:
    """A picture of what the screen shows."""

    data: bytes | None = None
    """JPEG, everything that shows a secret hidden."""
    view: Box | None = None
    """Part of the page that it shows."""
    missing: str = ""
    """Reason for which there is none."""


OnFound = Callable[[str, Box], None]
"""Told the id of a document, as DevTools have it, and where on its page the element of a step is."""
BeforeDispatch = Callable[[Target | None, tuple[PredicateResult, ...]], Awaitable[None]]
"""Called when the element is found and ready, before any input, with what holds of the expectation by then (nothing
where it was not asked); raising stops the step untouched."""


STILL_LOADING = "still_loading"
"""Reason of an incomplete answer: the page does not come to rest, as one that listens all the time never does."""


@dataclass(frozen=True)
class SiteAnswer:
    """Answer of the site to the question if a step took effect."""

    results: tuple[PredicateResult, ...] = ()
    url: str = ""
    void: str = ""
    """Reason for which it says nothing, such as `http_503` or `sign_in_page`: another page came."""
    incomplete: str = ""
    """Reason for which the page may lack what is there: a part of it did not come."""


class BrowserSession(Protocol):
    """A live browser that this process is attached to.

    Every method that asks the browser raises `SessionLost` when it, or its page, is gone.
    """

    @property
    def url(self) -> str:
        """URL of the current tab."""

    @property
    def open_sockets(self) -> tuple[str, ...]:
        """Addresses of the WebSockets that its tabs have open."""

    @property
    def wanted_url(self) -> str:
        """URL that the current tab was to show: its own, or that of a page that could not be had."""

    @property
    def last_evidence(self) -> Evidence:
        """Evidence from the latest step's action: all there is to know of one that failed."""

    @property
    def unanswered(self) -> tuple[UnsafeRequest, ...]:
        """Unanswered requests of the step under way that may change something."""

    async def perform(self, work: Work, before_dispatch: BeforeDispatch | None = None) -> Report:
        """Find the element, act once, collect evidence, wait until the expectation holds or time is up.

        A miss and an unmet expectation are reports, not errors.

        Raises:
            ActionFailed: the action could not be done; says whether input may have reached the page.
        """

    async def late(self, enough: Callable[[Evidence], bool], timeout_ms: int) -> Evidence:
        """The evidence of the latest step as soon as it is `enough`, or the time is up. Touches nothing."""

    def pressed(self) -> Mapping[str, Pressed]:
        """List the latest inputs by the fingerprint of their step, with what they have sent since."""

    async def idle(self, seconds: float) -> None:
        """Touch nothing for so long, and listen."""

    async def look_again(self, report: Report, timeout_ms: int) -> Report:
        """The `report` of the latest step by now: answers and expectations have had so much longer. Touches nothing.

        Raises:
            ActionFailed: the page could not be read.
        """

    async def come_back(self, url: str, timeout_ms: int) -> bool:
        """Open a page again that was left, in the current tab, by its address; whether it came in time."""

    async def leave(self, timeout_ms: int) -> bool:
        """Leave all pages for an empty one, so that they send what they keep for that; whether they left in time."""

    async def release(self, downloads: Sequence[Download]) -> None:
        """These files are kept elsewhere, or not wanted: delete them here, and report them no more."""

    async def check(self, expect: Sequence[Predicate], timeout_ms: int) -> tuple[PredicateResult, ...]:
        """Evaluate predicates, waiting up to `timeout_ms` until all hold. Touches nothing."""

    async def ask_site(self, works: Sequence[Work], expect: Sequence[Predicate]) -> SiteAnswer:
        """Perform steps that only read in a new tab, and evaluate `expect` there; the current tab stays as it is.

        The tab shares cookies and storage with the others, and is closed afterwards. A page that fails, hangs or asks
        to sign in is an answer, not an error.
        """

    async def due(self, rules: Sequence[OverrideRule]) -> tuple[OverrideRule, ...]:
        """Return the rules whose `when` holds in the current tab at this moment. Waits only for the page's answer.

        A page that does not answer soon, or is just being replaced, has none. Touches nothing, and leaves a step that
        is under way alone.
        """

    async def snapshot(self) -> Snapshot:
        """Read the current tab. Frames in it that are still loading are waited for, a second at most."""

    async def look(self, wanted: Callable[[Snapshot], Sequence[str]], redact: Callable[[str], str]) -> Look:
        """Read the current tab, and take a picture with a mark on each element whose id `wanted` names of the snapshot.

        The page is told of nothing. `redact` is as for `capture`; that a picture cannot be had is no error.

        Raises:
            ActionFailed: the page does not answer.
        """

    async def picture(self, redact: Callable[[str], str]) -> Shown:
        """Take a picture of the current tab, in about two seconds at most.

        The page is told of nothing. `redact` is as for `capture`; that a picture cannot be had is no error.
        """

    async def capture(self, redact: Callable[[str], str]) -> Capture:
        """Everything that can be had of the current tab for the record of a failure, in at most ten seconds.

        `redact` takes secrets out of a text: with it, what is written is cleaned, and what shows a secret is found and
        hidden before a picture is taken. A page that hangs is no error: what it does not give is in `missing`.
        """

    async def page_fault(self) -> str:
        """Return why the current tab shows no page of its site: `http_502` and so on, `navigation_failed`; else ""."""

    @property
    def unsent(self) -> Sought:
        """What was entered in the current tab's document, and that no request has carried since."""

    @property
    def document(self) -> str:
        """Id of the current tab's document: it changes with every navigation to another one."""

    async def outline(self) -> Outline:
        """Return the outline of the current tab, by which the same page is recognized."""

    async def state(self) -> tuple[PageState, Outline]:
        """Return the current tab's address, what its site has stored, and its outline; see `PageState`.

        A step that begins meanwhile looks for its element, and gives no input before the page is read. Holds live
        credentials: only ever kept encrypted or host-local.

        Raises:
            ActionFailed: the page does not say; nothing was done.
        """

    async def put_storage(self, state: PageState) -> None:
        """Put back the cookies and the storage of a state. Opens nothing, and leaves the current page alone.

        Raises:
            ActionFailed: the browser does not take them.
        """

    async def exchanges(self) -> tuple[Exchange, ...]:
        """Everything recorded since the session was attached, in the order of sending.

        Waits up to 1 s for bodies that are being read.
        """

    async def put_passkeys(self, passkeys: Sequence[Passkey]) -> None:
        """Give all tabs, also those that open later, an authenticator with these passkeys.

        Raises:
            ActionFailed: the browser has none to give.
        """

    @property
    def passkeys(self) -> tuple[Passkey, ...] | None:
        """The passkeys as they are now, with those that sites have registered; None without an authenticator."""

    async def restore(self, state: PageState) -> None:
        """Put cookies and storage back, open the page, and scroll to where it was.

        Raises:
            ActionFailed: the site does not answer with a page.
        """

    async def detach(self) -> None:
        """Let go of the browser without closing it."""


class Browsers(Protocol):
    """Connects to browsers."""

    async def attach(self, endpoint: str, directory: str = "", on_found: OnFound | None = None) -> BrowserSession:
        """A session on the Chromium at this DevTools endpoint (`http://127.0.0.1:port`), on its current page.

        What it downloads is kept in `directory`, the session's own, until it is released; without one, downloads are
        only recorded. `on_found` is called when the element of a step is found, before it is acted on.

        Raises:
            SessionLost: nothing answers there.
        """

    async def stop_loading(self, endpoint: str) -> bool:
        """Stop what its pages load, attached or not: what has not left does not leave, and the page stays as it is.

        Returns whether every page has confirmed it.
        """
