"""Narrow protocols of what the activities need from the world; adapters implement them, `testing` fakes them."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field

from replaywright.domain.batch.batches import RowEnd
from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.outlines import Outline
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import Box, ElementQuery, Target
from replaywright.domain.plan.goal_plans import GoalPlan
from replaywright.domain.plan.goal_runs import Labels, PlannerRequest
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.deriving import Seen
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.recall.choosing import SkillChoice
from replaywright.domain.recall.recall import Outcome, RecallRecord
from replaywright.domain.run.runs import Revision, Usage
from replaywright.domain.run.steering import HandedBack, LentBrowser
from replaywright.domain.secrets.secret_sites import BoundSecret, Site
from replaywright.domain.secrets.starts import Admission
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.session.guard import StepGuard
from replaywright.domain.session.network_policy import NetworkPolicy, NetworkSeen
from replaywright.domain.session.sessions import OfRun, SessionRef, Wear
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo
from replaywright.domain.skill.skills import Skill, SkillRecord, SkillRun, SkillStatistics, SkillStatus
from replaywright.domain.step.checkpoints import PageState
from replaywright.domain.step.outcomes import DownloadedFile, Evidence, Lookup, Proof, StepOutcome, UnsafeRequest
from replaywright.domain.step.overrides import OverrideRule
from replaywright.domain.task.actions import Cause
from replaywright.domain.task.questions import UserAnswer
from replaywright.domain.task.steps import Step
from replaywright.domain.trace.trace import step_line

# --------------------------------------------------------------------------------------------- browser


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
    expect: tuple[Predicate, ...] = ()
    causes: tuple[Cause, ...] | None = None
    """Causes that the action set off when it was recorded; None when that is not known: then it is observed."""
    heal: bool = True
    """A changed element may be found again without a model."""
    learning: bool = False
    """Read the page before and after the step, to derive from it what may be expected the next time."""
    skip_if_holds: bool = False
    """Leave the element alone when all that is expected holds before anything is done."""
    timeout_ms: int = 10_000
    is_pictured: bool = False
    """The report is to say where the element was, in frames, too."""
    overrides: tuple[OverrideRule, ...] = ()
    """Rules that may clear the way: where one is due, an element that is covered or missing is not waited for."""
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
    """One press, and what its page has sent because of it by now."""

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
    left_at: float = 0.0
    """Time at which its pages were left as nobody confirmed the step, in Unix seconds; 0 where they were not."""
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
    """The page before and after a step that was learned or healed."""
    evaluations: int = 0
    locating_ms: float = 0.0
    acting_ms: float = 0.0
    verifying_ms: float = 0.0


@dataclass(frozen=True)
class Capture:
    """Evidence from a page when a step has failed. No part of it shows a secret."""

    screenshot: bytes | None = None
    """PNG of the whole page, up to a height; of what is on the screen when that cannot be had."""
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


BeforeDispatch = Callable[[Target | None, tuple[PredicateResult, ...]], Awaitable[None]]
"""Called when the element is found and ready, before any input, with what holds of the expectation by then (nothing
where it was not asked); raising stops the step untouched."""


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
        """List the latest presses by the fingerprint of their step, with what they have sent since."""

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

    async def restore(self, state: PageState) -> None:
        """Put cookies and storage back, open the page, and scroll to where it was.

        Raises:
            ActionFailed: the site does not answer with a page.
        """

    async def detach(self) -> None:
        """Let go of the browser without closing it."""


class Browsers(Protocol):
    """Connects to browsers."""

    async def attach(self, endpoint: str, directory: str = "") -> BrowserSession:
        """A session on the Chromium at this DevTools endpoint (`http://127.0.0.1:port`), on its current page.

        What it downloads is kept in `directory`, the session's own, until it is released; without one, downloads are
        only recorded.

        Raises:
            SessionLost: nothing answers there.
        """

    async def stop_loading(self, endpoint: str) -> bool:
        """Stop what its pages load, attached or not: what has not left does not leave, and the page stays as it is.

        Returns whether every page has confirmed it.
        """


@dataclass(frozen=True)
class LeftBehind:
    """Record of one operation by a keeper that has ended."""

    known: bool = False
    """False: nothing is certain, as the keeper may live, or its record is not there, or not whole."""
    seen: GateSeen | None = None
    """None, if known: the operation was never armed in that session."""

    @property
    def nothing_left(self) -> bool:
        """True if it is certain that no gated byte of the operation has left, nor will leave."""
        return self.known and (self.seen is None or self.seen.nothing_left)


class CommitGate(Protocol):
    """The commit gate of one session, spoken to in the name of one epoch.

    Raises `Fenced` when a higher epoch has it, `KeeperUnavailable` when no keeper answers, and `KeeperRefused` when
    what is asked does not fit its state.
    """

    async def arm(self, op_id: str, *, within_ms: int, hold_safe: bool, note: str = "", once: bool = False) -> GateSeen:
        """Hold gated bytes from now on, at most `within_ms`; then they are cut.

        Gated are plain HTTP requests that may change something, with `hold_safe` all of them, and whatever goes through
        tunnels. The `note` is remembered with it.

        With `once`, for steps that cannot be undone, a request is refused that is equal to one that was let go: the
        same method, address and body, of which at most 1 MB is compared. That is seen over plain HTTP only: inside TLS
        a request cannot be told from its repetition, and passes.
        """

    async def wait_held(self, op_id: str, timeout_ms: int) -> GateSeen:
        """Return when something is held, when the operation is no longer armed, or when the time is up."""

    async def permit(self, op_id: str) -> GateSeen:
        """Let held bytes go, and those that follow."""

    async def let_pass(self, op_id: str) -> GateSeen:
        """Let go what is held now, and go on holding what follows."""

    async def cut(self, op_id: str) -> GateSeen:
        """Throw held bytes away; nothing passes until `disarm`."""

    async def disarm(self, op_id: str) -> GateSeen:
        """Open the gate again. Refused while bytes are held; stop the page's loads before when it was cut."""

    async def pending(self) -> GateSeen | None:
        """Return the operation that is not disarmed yet, whoever armed it."""

    async def recall(self, op_id: str, epoch: int) -> GateSeen | None:
        """Return what became of an operation; None when it was not armed here in that epoch."""

    async def close(self) -> None:
        """Leave the gate as it is."""


class Keepers(Protocol):
    """Starts and reaches session keepers on this host.

    Every method that asks the keeper of a session raises `KeeperUnavailable` when none answers; `attach` and `lend` do
    so when its Chromium is gone, too.
    """

    async def launch(self, session_id: str, network: NetworkPolicy, instead_of: str = "") -> SessionRef:
        """Start a keeper with its Chromium, or have one that was started before it was asked for.

        Args:
            session_id: of the new session; one that was there already keeps its own.
            network: where its connections may go; services of this worker are beyond it.
            instead_of: a session of this host that ends as soon as the new one is there, whose place it takes.

        Raises:
            NoPlace: this host has no place for another browser at the moment.
            StackFailed: it does not come up.
        """

    async def attach(self, session: SessionRef, epoch: int) -> str:
        """The DevTools endpoint for the holder of `epoch`; cuts every older one off.

        Raises:
            Fenced: a higher epoch has attached.
        """

    async def gate(self, session: SessionRef, epoch: int) -> CommitGate:
        """The session's commit gate, on a connection of its own."""

    async def network(self, session: SessionRef, since_monotonic_s: float | None = None) -> NetworkSeen:
        """The policy that its keeper enforces, and what it has refused, since an instant of this boot or ever."""

    async def renew(self, session: SessionRef, epoch: int) -> None:
        """Prolong the lease."""

    async def wear(self, session: SessionRef) -> Wear:
        """Return the age and the size of its browser."""

    async def lend(self, session: SessionRef, epoch: int, lending: str, lasts_s: float) -> LentBrowser:
        """Let a person drive the browser for so long; under the same name once more, for so long from now.

        Raises:
            Fenced: a higher epoch has attached.
        """

    async def take_back(self, session: SessionRef, epoch: int, lending: str) -> HandedBack:
        """The person has it no more; what left the browser meanwhile. Repeated, it is answered the same.

        Raises:
            Fenced: a higher epoch has attached.
        """

    async def left_behind(self, session_id: str, op_id: str, epoch: int) -> LeftBehind:
        """Return what a keeper of this host, which has certainly ended, wrote of an operation; see `LeftBehind`.

        It lets nothing go any more, so an operation that was armed until its end counts as closed. Kept for a day after
        the session, unless its run has ended.
        """

    async def close(self, session: SessionRef, *, is_over: bool = False) -> None:
        """End browser and keeper; nothing happens when they are gone already.

        With `is_over`, as its run has ended, nobody will ask what it has left behind.
        """

    def is_local(self, session: SessionRef) -> bool:
        """Tell if the session lives on this host, in this boot."""


# ------------------------------------------------------------------------------------------------ store


class Known(Record):
    """Knowledge of the store before a step."""

    state: str = ""
    """Ledger state: empty, INTENT, DISPATCHED, COMMITTED, RESOLVING, NOT_DONE, ESCALATED, ABANDONED.

    DAMAGED when the record cannot be read: it counts as tampered with, and nothing is dispatched on it.
    """
    epoch: int = 0
    outcome: StepOutcome | None = None
    """The recorded outcome; only with COMMITTED. None even then when a person settled it and nothing was recorded."""
    held: tuple[int, ...] | None = None
    """With an intent: which of the step's expectations, by index, held before it; None where that is not known."""
    late: StepOutcome | None = None
    """A success that a fenced attempt reported afterwards, not yet ruled on: evidence for the resolution."""
    entry: ActionCacheEntry | None = None
    """The version to use: the active one, else this run's own candidate."""
    refused: str = ""
    """Message on a version that is not used because its signature does not match; empty when there is none."""
    witness: str = ""
    """Witness of a recording that was to be `witnessed`; empty where the server does not say who it is."""


class Recording(OfRun):
    """Everything that is written after a step, in one round trip."""

    sequence: int
    epoch: int
    outcome: StepOutcome
    """Status `done` goes to the ledger; others only to the trace and the statistics."""
    entry: ActionCacheEntry | None = None
    """A new version to store as candidate."""
    used_version: int = 0
    """The version that was looked up; its statistics are counted."""
    title: str = ""
    """The step as it reads in the UI; templates, no values."""
    given: dict[str, Any] = Field(default_factory=dict)
    """The step as its trace line holds it; see `replaywright.domain.trace.trace.input_of`."""
    trace: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the trace line."""
    owner: str = ""
    """Owner of the candidate entry: the lineage, so that a resumed run finds it. Empty: the run.
    """
    act: str = ""
    """Key of the step's action, in any place; kept with a success that must not be repeated."""
    next_fingerprint: str = ""
    next_content_key: str = ""
    """Look this up in the same round trip; empty for not."""
    witnessed: bool = False
    """Answer with what shows later whether the store has lost anything since; see `StepStore.is_whole`."""
    line_id: str = Field(default_factory=lambda: secrets.token_hex(8))
    """Id of the line in the trace: what is written again is there once."""

    @property
    def line(self) -> dict[str, Any]:
        """Content of the trace line."""
        return step_line(
            self.outcome,
            sequence=self.sequence,
            title=self.title,
            run_id=self.run_id,
            epoch=self.epoch,
            given=self.given,
            more=self.trace,
        )

    @property
    def candidates_of(self) -> str:
        """Run whose candidates are written and looked up."""
        return self.owner or self.run_id


class Intent(Record):
    """The intent of one attempt to dispatch a commit step."""

    tenant: str
    lineage: str
    fingerprint: str
    epoch: int
    attempt: str
    """Id of the attempt: its repetition is granted again."""
    held: tuple[int, ...] | None = None
    """Indexes of the expectations that held before; None when that is not known."""
    act: str = ""
    """The step's action in the lineage (see `replaywright.domain.step.fingerprints.acts_of`), which the step claims."""
    over: str = ""
    """Fingerprint of the step from which the action may be taken over."""


class StepStore(Protocol):
    """Ledger, action cache and trace of one tenant's runs.

    Every method that a run calls is one round trip; `entries`, and the other two when they are given only the
    beginning of a key, look the keys up first.

    Raises `StoreUnavailable` when the store cannot be reached, refuses writes, or does not answer in time.
    """

    async def look_up(self, *, tenant: str, lineage: str, run_id: str, fingerprint: str, content_key: str) -> Known:
        """Ledger record and cache entry; damaged or foreign data counts as absent and is reported once."""

    async def intend(self, intent: Intent) -> Known:
        """Write the intent to dispatch a commit step.

        Returns state INTENT when granted, COMMITTED with the outcome when the step is done already. A repetition with
        the same `attempt` (a lost reply) is granted again.

        Raises:
            Fenced: this or a higher epoch is recorded, another attempt's intent is open, the step is in
                resolution or abandoned, the record is damaged, or a fenced attempt reported success since.
            DoneElsewhere: another step of the lineage has the act; nothing was written.
        """

    async def keep(self, *, tenant: str, run_id: str, entry: ActionCacheEntry) -> None:
        """Add a version to an entry, a candidate of this run; see `promote`."""

    async def is_whole(self, *, tenant: str, lineage: str, witness: str) -> bool:
        """Tell if nothing that was acknowledged since the `witness` was given can have been lost.

        Only if the same process keeps the data, never having taken them over from another, and what it had then is
        there. An empty witness says nothing.
        """

    async def acts(self, *, tenant: str, lineage: str) -> dict[str, str]:
        """Return the fingerprint of the owner step of each act of the lineage."""

    async def dispatch(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int, attempt: str) -> None:
        """INTENT to DISPATCHED: the permit to let the input's bytes go. Repeating it is granted again.

        Raises:
            Fenced: the intent is not this attempt's any more, or too old.
        """

    async def record(self, recording: Recording) -> Known:
        """Write outcome (fenced by epoch), entry, statistics and trace; returns what is known of the next step.

        Raises:
            Fenced: another epoch owns the step; the outcome is kept as late evidence.
            ValueTooLarge: outcome or entry is over its limit; nothing was written.
        """

    async def fence(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int) -> Known:
        """Raise the epoch and set RESOLVING, unless COMMITTED or DAMAGED; returns the record as it was before.

        Where a resolution was under way or has come to nothing, that is the record as the first of them found it: what
        is in doubt is still that attempt. Repeating it with the same epoch (one that is retried) is granted again.

        Raises:
            Fenced: a higher epoch is recorded, or this one belongs to the attempt that is to be fenced.
        """

    async def settle(self, *, tenant: str, lineage: str, fingerprint: str, epoch: int, state: str, who: str) -> None:
        """End a resolution.

        RESOLVING goes to COMMITTED, NOT_DONE or ESCALATED; ESCALATED to COMMITTED, NOT_DONE or ABANDONED. `who` is
        audited. Repeating it is granted again.

        Raises:
            Fenced: another epoch owns the step, or its state does not lead there.
        """

    async def append_trace(self, *, tenant: str, lineage: str, line: dict[str, Any]) -> None:
        """Add one line to the trace of a lineage."""

    async def trace(self, *, tenant: str, lineage: str) -> list[dict[str, Any]]:
        """All lines of a lineage, oldest first."""

    async def promote(self, *, tenant: str, run_id: str, content_keys: Sequence[str]) -> tuple[int, int]:
        """Make this run's candidates active; returns how many were promoted and how many are held for a person."""

    async def entries(self, *, tenant: str) -> list[EntryInfo]:
        """The current version of every entry."""

    async def versions(self, *, tenant: str, content_key: str) -> list[ActionCacheEntry]:
        """All versions of one entry, oldest first; a unique prefix of the key is enough."""

    async def invalidate(self, *, tenant: str, content_key: str, reason: str) -> int:
        """Retire all versions of the entries whose key starts with `content_key`; returns how many entries."""


class Overrides(Protocol):
    """The override rules: those shipped, those of this worker's folder and those of the tenant."""

    async def rules(self, tenant: str, host: str) -> tuple[OverrideRule, ...]:
        """The rules for `host` (with its port). Answers from memory; a source that fails is logged, and left out."""


class Skills(Protocol):
    """The knowledge base: the skills of each tenant, in versions.

    Every method may raise `StoreUnavailable`, and may be called again after it. What is damaged, or of a newer schema,
    is left out with a warning that names its key.
    """

    async def save(self, tenant: str, skill: Skill, *, who: str, reason: str = "") -> Skill:
        """Add a version and return it with its number and time; the same one from the same run is added once.

        With the status `active` it retires the versions before it, as `set_status` does. Of the versions that are not
        active only the newest are kept.

        Raises:
            ValueTooLarge: over 256 KiB as JSON.
        """

    async def get(self, tenant: str, name: str, version: int | None = None) -> Skill | None:
        """Return that version; without one the newest active, else the newest."""

    async def record(self, tenant: str, name: str) -> SkillRecord | None:
        """All that is known of a skill; the statistics of steps are those of the version that it holds."""

    async def all(self, tenant: str, site: str | None = None) -> Sequence[Skill]:
        """One version of each skill, as `get` chooses it, by name; of one site (origin) only, if it is given.

        The empty site is that of the skills that have none. What did not change since the last call is answered from
        memory.
        """

    async def revision(self, tenant: str, site: str | None = None) -> str:
        """Another text whenever `all` answers otherwise: ask for it first, and keep what was made of the answer."""

    async def statistics(self, tenant: str, skills: Sequence[Skill]) -> Mapping[str, SkillStatistics]:
        """Return the statistics of these versions, by their names."""

    async def set_status(
        self, tenant: str, name: str, version: int, status: SkillStatus, *, who: str, reason: str
    ) -> bool:
        """Change a version's status. False if it is not there.

        Making one active retires the versions before it, and any other that is active.
        """

    async def note_run(self, tenant: str, name: str, run: SkillRun) -> None:
        """Count a run; the same run counts once. One that failed makes its version suspect if that is active.

        Runs of a skill that is gone are not counted.
        """

    async def delete(self, tenant: str, name: str, *, who: str) -> bool:
        """Remove all versions; False if there is none. The history of the name stays, and its numbers go on."""

    async def claim(self, tenant: str, key: str, run_id: str, ttl_s: float) -> str:
        """The run that learns what `key` stands for: `run_id` if it is free or its own, else the other one.

        A claim ends by itself `ttl_s` seconds after it was made or made again.
        """

    async def release(self, tenant: str, key: str, run_id: str) -> None:
        """Give a claim up; nothing if it is another run's."""


class Recalls(Protocol):
    """Recalls and their outcomes: the newest two thousand of each tenant.

    Every method may raise `StoreUnavailable`.
    """

    async def note(self, tenant: str, record: RecallRecord) -> None:
        """Keep one decision; the same run's last one on a skill counts."""

    async def note_outcome(self, tenant: str, run_id: str, outcome: Outcome) -> None:
        """Keep what became of the recall that a run began with; nothing if there is none."""

    async def recent(self, tenant: str) -> Sequence[RecallRecord]:
        """Oldest first, each with what became of it. What is damaged is left out."""


class RowEnds(Protocol):
    """Ends of the rows of batches. Every method may raise `StoreUnavailable`."""

    async def note(self, tenant: str, batch: str, ends: Sequence[RowEnd]) -> None:
        """Keep these, in the place of what was kept of the same rows."""

    async def ends(self, tenant: str, batch: str, numbers: Sequence[int]) -> dict[int, RowEnd]:
        """Return the ends of those of these rows that have ended, by number."""


class Artifacts(Protocol):
    """Content-addressed store for large values.

    Every method raises `ArtifactsUnavailable` when the store cannot be reached or has no space, or a file cannot be
    read. A run goes on without the artifact.
    """

    async def put(self, data: bytes) -> str:
        """Store and return the SHA-256, hexadecimal; storing what is there already changes nothing."""

    async def put_file(self, path: Path) -> str:
        """Store the content of a file, of any size, and return its SHA-256 as `put` does."""

    async def get(self, digest: str) -> bytes:
        """The value whose SHA-256 is `digest`.

        Raises:
            ArtifactMissing: it is not there, or what is there has another digest.
        """


# ------------------------------------------------------------------------------------------------ model
# Every question to a model raises one of the kinds of `ModelFailed`; only `ModelRateLimited` and `ModelUnavailable` are
# worth a retry.


class Choice(Record):
    """Answer of the executor model."""

    element_id: str | None = None
    usage: Usage = Usage()


class TargetProposer(Protocol):
    """The executor model: instruction and page in, element id or None out."""

    async def propose(self, *, instruction: str, action: str, page: str, ids: frozenset[str]) -> Choice:
        """Choose among `ids`."""


class PlanQuestion(Record):
    """Question to the planner model. Titles are templates: no values, no secrets."""

    goal: str
    parameters: dict[str, str] = Field(default_factory=dict)
    """Values by name."""
    secrets: tuple[str, ...] = ()
    """Names."""
    done: tuple[str, ...] = ()
    """Titles of the steps that were done."""
    failed: str = ""
    """The step that failed, and why; empty where none did."""
    tried: tuple[str, ...] = ()
    answers: tuple[UserAnswer, ...] = ()
    """The user's answers to earlier questions of the model."""
    remaining: dict[int, str] = Field(default_factory=dict)
    """Titles by number, counted from 1; the failed step is the first."""
    page: str
    picture: bytes | None = Field(None, repr=False)
    """PNG of the page with numbered marks, for a model that takes pictures."""

    @classmethod
    def of(
        cls, request: PlannerRequest, position: int, *, goal: str, page: str, picture: bytes | None
    ) -> "PlanQuestion":
        """Ask about the page; the step at `position` is the one that failed, or the next one."""
        remaining = dict(enumerate((step.title for step in request.plan[position:]), position + 1))
        failing = remaining.get(position + 1, "")
        return cls(
            goal=goal,
            parameters=request.values,
            secrets=request.task.secrets,
            done=tuple(step.title for step in request.plan[:position]),
            failed=f"{position + 1}: {failing}\n{request.failed}" if request.failed else "",
            tried=request.tried,
            answers=request.answers,
            remaining=remaining,
            page=page,
            picture=picture,
        )


class ChosenSkill(SkillChoice):
    """Answer of the text-only model: the skill that a sentence means, and its values."""

    usage: Usage = Usage()


class SkillChooser(Protocol):
    """The text-only model: a sentence and a few skills in, one of them with its values or none out."""

    async def choose(self, *, goal: str, offers: Sequence[Skill]) -> ChosenSkill:
        """Ask which of the offered skills the sentence means, if any; each has only a few of its phrases.

        Whether the values stand in the sentence, and have their types, is for the caller to check.
        """


CheckGoalPlan = Callable[[Sequence[Mapping[str, Any]], bool, Sequence[Mapping[str, Any]], bool], GoalPlan]
"""Makes a plan of steps, of whether it is complete, and of what is verified; the last argument says that the planner
will not be asked again. Raises `PlanRefused`."""


class Planner(Protocol):
    """The planner model: goal, what was done and what failed in, the rest of the plan out."""

    async def plan(self, question: PlanQuestion, check: CheckGoalPlan) -> Revision:
        """Plan how to reach a goal from the page: all of it, or the part that can be seen from here.

        `check` is as for `revise`.
        """

    async def revise(
        self, question: PlanQuestion, check: Callable[[Sequence[Mapping[str, Any]]], tuple[Step, ...]]
    ) -> Revision:
        """A plan that passed `check`, or why there is none.

        `check` makes steps of what the model wrote, or raises `PlanRefused`: the model is told so once, then it has
        given up.
        """


class ProbeQuestion(Record):
    """Question to the planner model on a commit step that was done. The title is a template."""

    goal: str
    step: str
    parameters: dict[str, str] = Field(default_factory=dict)
    """Values by name."""
    url: str
    """Address of the page that the step led to."""
    links: tuple[str, ...] = ()
    """Targets of its links, with their texts."""
    page: str


class Prober(Protocol):
    """The planner model, asked where the site shows that a step took effect."""

    async def propose(
        self, question: ProbeQuestion, check: Callable[[str, Sequence[str]], SiteProbe]
    ) -> tuple[SiteProbe | None, str, Usage]:
        """A probe that passed `check`, else why there is none; and what that cost.

        `check` makes a probe of an address and texts, or raises `ProbeRefused`; the model is not asked again.
        """


class Labelled(Record):
    """Answer of the labeller."""

    labels: Labels
    usage: Usage = Usage()


class Labeller(Protocol):
    """The labeller model: a goal in, what it is about and which of its words are values out."""

    async def label(
        self, goal: str, check: Callable[[Mapping[str, Any]], Labels], *, languages: Sequence[str]
    ) -> Labelled:
        """Ask for the labels, with phrases in the languages and that of the goal; `check` makes them of the answer."""


class Codes(Protocol):
    """Codes on their way from a person to a field: sealed for a question, and readable only while its key is kept.

    Every method may raise `StoreUnavailable`.
    """

    async def offer(self, *, tenant: str, run_id: str, question: str, ttl_s: float) -> str:
        """Make a key for a question and keep it for `ttl_s`; the public one. Repeated, it is another one."""

    async def read(self, *, tenant: str, run_id: str, question: str, sealed: str) -> str:
        """The code.

        Raises:
            CodeLost: its key is gone, or it was not sealed for this question.
        """

    async def forget(self, *, tenant: str, run_id: str, question: str) -> None:
        """From now on nobody can read what was sealed for the question."""


class Notices(Protocol):
    """Tells people that a run waits for them."""

    async def tell(self, notice: str) -> None:
        """Pass on `notice`, the JSON of a `replaywright.domain.task.questions.Notice`.

        Raises:
            NoticeFailed: it cannot be passed on.
        """


class Starts(Protocol):
    """Starts of workflow executions."""

    async def of(self, run_id: str, execution: str) -> Admission:
        """Return how this execution of the workflow `run_id` was started, by the server's word."""


class FirstStarts(Protocol):
    """Run ids that have served."""

    async def first(self, tenant: str, run_id: str, execution: str) -> str:
        """The first execution that had this id: `execution`, unless there was one before. May be called again.

        Raises:
            StoreUnavailable: it cannot be asked at the moment.
        """


class Secrets(Protocol):
    """Values of secrets, by name, on this worker only."""

    def resolve(self, name: str) -> str:
        """The value, which a vault may take its time for. Raises `SecretMissing` with the name of the variable."""

    def domains(self, name: str) -> tuple[Site, ...]:
        """Sites that it is bound to; none where nobody bound it. Raises `SecretMissing` where that cannot be read."""

    def redact(self, text: str) -> str:
        """`text` with every known secret, in any common encoding, replaced by `{{secret:NAME}}`."""

    def remember(self, name: str, value: str) -> None:
        """From now on `value` is redacted, too: a code that is made or given for one use. The oldest are forgotten."""

    def redact_data(self, value: Any) -> Any:
        """JSON-like data (mappings with their keys, lists, texts, numbers) with every known secret replaced."""
