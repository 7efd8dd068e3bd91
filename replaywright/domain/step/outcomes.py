"""Outcome of a step, and its evidence."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Box
from replaywright.domain.step.checkpoints import Checkpoint
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.step.overrides import Due
from replaywright.domain.step.press_grants import Consequence, Grant
from replaywright.domain.task.actions import Cause, Effect


class Lookup(Record):
    """How an element was found, or why it was not."""

    hit: bool = False
    """Exactly one element was found that may be acted on."""
    tier: str = ""
    """xpath, xpath_variant, attributes, role_name, hash, focus, similarity; `query` for a declared target."""
    healed: bool = False
    """Found without a model although its recorded description changed."""
    score: float = 0.0
    """Similarity to what was recorded, 0 to 1; of tier `similarity`, the likelihood that it is the recorded element."""
    runner_up: float = 0.0
    """Score of the second best candidate; 0 when there is none."""
    reason: str = ""
    """On a miss: no_entry, not_found, ambiguous, disagrees, low_score, heal_off."""
    evidence: tuple[str, ...] = ()
    """Evidence for a hit, such as `same name`, `data-testid`, `row`, `place 0.94`; of tier `similarity`, what weighed
    most and how much (in nats), such as `its own id +2.3`."""
    candidates: int = 0
    """Number of candidates."""
    hidden: int = 0
    """Where nothing is found that the task declares: number of elements that are so, and that nobody can see."""
    entry_version: int = 0
    """Version of the recording; 0 when there was none."""
    from_model: bool = False
    """The model named it."""
    candidate_of: str = ""
    """Run that found it and was never verified: tried in this one before a model is asked. Empty for anything else."""

    @property
    def is_proposed(self) -> bool:
        """Return True if a model named it, in this run or in the one that it is a candidate of."""
        return self.from_model or bool(self.candidate_of)


NO_CONTENT = frozenset({204, 205})
"""Statuses of answers without content."""


class UnsafeRequest(Record):
    """A request that may have changed something on the site: what makes a click a commit."""

    method: str
    url: str
    """Origin and path; no query."""
    status: int = 0
    """0 while no response was seen."""
    kind: str = "request"
    """request, beacon, websocket; `following` when a document that came of the step sent it; `worker` when only the
    keeper saw it: a worker of the page sent it, or the page as it was left; `served` when the page's own service worker
    answered it, so that its status is not the site's word."""
    broken: bool = False
    """The connection broke: the request may have arrived or not."""
    fields: tuple[str, ...] = ()
    """Names of what it sends, never the values: see `press_grants.field_names`."""
    sent_at: float = 0.0
    """Unix seconds; 0 where nobody knows."""
    equal_sent_at: float = 0.0
    """Time at which the step sent the same before (method, address and body); 0 where it did not."""
    aside: bool = False
    """Something was entered that the page had not sent yet, and this request carries none of it: pages count presses
    and visits at their own site."""
    empty: bool = False
    """`aside`, and its answer has no content."""
    unsure: bool = False
    """Nothing was entered that the page had yet to send; and it had sent the like before, or the answer has no content.
    So it may be the step's, or the page's own."""

    @property
    def is_of_step(self) -> bool:
        """True unless the page may have sent it by itself."""
        return not (self.aside or self.unsure)


class DownloadedFile(Record):
    """A file that the browser was given, and what became of it."""

    name: str
    """Name that the site suggested, made harmless."""
    size: int = 0
    """Bytes."""
    sha256: str = ""
    """Its digest, hexadecimal: its address in the artifact store. Empty when it is not there."""
    state: Literal["saved", "failed", "too_large", "blocked", "unfinished", "not_kept"] = "saved"
    """`failed`: broken off, by the server, the page or a person; `too_large`: broken off at the worker's limit;
    `blocked`: broken off, as a rule of the policy forbids it; `unfinished`: still under way at the end of the step;
    `not_kept`: complete, but the artifact store did not take it.
    """
    url: str = ""
    """Origin and path; no query."""
    rule: str = ""
    """Rule that blocked the file."""
    earlier: bool = False
    """True: begun before this step, by the page itself or by a lost attempt."""


class Departure(Record):
    """Traffic that the keeper's gate let out of the browser while a commit step acted."""

    bytes_up: int = 0
    """Bytes of requests that may change something, of tunnels, and of a declared commit's every request."""
    held_at: float | None = None
    """Arrival of the first byte at the gate, in seconds since 1970; None when none came."""
    permitted_at: float | None = None
    """Time at which the ledger had let it go."""
    refused: int = 0
    """Requests that were turned away."""
    cut: bool = False
    """The ledger did not let it go: from then on nothing left."""


class Evidence(Record):
    """Actions of the browser while and after the step acted."""

    causes: tuple[Cause, ...] = ()
    requests: tuple[UnsafeRequest, ...] = ()
    dialogs: tuple[str, ...] = ()
    """Kind, text and answer of dialogs, such as `confirm: Delete? (dismissed)`."""
    downloads: tuple[str, ...] = ()
    """Names of the files that the step began to download."""
    files: tuple[DownloadedFile, ...] = ()
    """Their fate, and that of files that came between this step and the one before."""
    tabs: tuple[str, ...] = ()
    """Tabs that came and went, such as `opened http://host/path` and `closed http://host/path`."""
    blocked: tuple[str, ...] = ()
    """Things that the browser refused the page, in its own words: popups, dialogs and downloads of sandboxed frames."""
    departure: Departure | None = None
    """Traffic of a commit step that left the browser; None where no gate was armed."""
    input_landed: bool | None = None
    """The page saw the input arrive at the element; None when that cannot be known."""

    @property
    def observed_effect(self) -> Effect:
        """`commit` if anything unsafe was seen (RFC 9110 section 9.2.1), else `read`; a download by GET is read."""
        return Effect.COMMIT if self.requests else Effect.READ


SERVER_ERROR = "server_error"
"""Reason of a step whose own request the site answered with an error."""
UNANSWERED = "unanswered"
"""Warning of a step that was done by what the page shows, while its own site had not answered it in time."""
SENT_TWICE = "sent_twice"
"""Warning of a step with consequences whose page sent the same request a second time."""
SENT_LATE = "sent_late"
"""Warning of a run: a press without a declared effect sent something to its site after it had ended."""
NOT_SENT = "not_sent"
"""Warning of a step whose page did not send to its site, in time, what it sent when it was recorded."""
AWAITED = "awaited"
"""Reason of a step with consequences of which nobody but its page has told yet: its request is waited for."""
NOTHING_SENT = "nothing_sent"
"""Reason of a step with consequences that has certainly sent nothing, whatever its page says."""
UNWITNESSED = "unwitnessed"
"""Reason of a step in doubt: nobody but the page that it acted in says that it took effect."""
IN_FLIGHT = "in_flight"
"""Reason of a step in doubt: something left the browser, and the site has not answered it."""
GATE_CUT = "gate_cut"
"""Reason of a commit step whose bytes the keeper's gate has thrown away."""
DONE_BEFORE = "done_before"
"""Reason of a commit step that was not performed: the lineage has done the same under another chain of steps."""
DOUBT_BEFORE = "doubt_before"
"""The same, but nobody knows yet whether it took effect."""
INTEGRITY = "integrity"
"""Prefix of the warning that a recording was not what was signed, and was not used."""
UNPROVEN = "unproven"
"""Reason, or warning, of a step of which nothing shows that it did its work."""
BLOCKED = "blocked"
"""Reason of a step, and of a run, that a rule of the policy ended."""
WHEN = "when"
"""Reason of a step that was skipped because its `when` did not hold."""
ITEM_SKIPPED = "item_skipped"
"""Reason of a step of a list that failed, and whose item was left with it."""
ITEM_LEFT = "item_left"
"""Reason of the further steps of such an item: they were not performed."""
SKIPPED_AHEAD = "skipped_ahead"
"""Reason, and warning, of a step that a person had left out before it began."""
ENTRY_LOST = "entry_lost"
"""Reason of a press that was not given, as the page has changed what was entered before."""
DATE_MISREAD = "date_misread"
"""Reason of a press that was not given, as a field shows another date than the one that was entered."""
UPLOAD_REFUSED = "upload_refused"
"""Reason of an upload that was not begun: a file is missing, or may not be uploaded from the worker's machine."""
OUT_OF_REACH = frozenset({"covered", "invisible", "gone", "intercepted", "not_editable", "no_list"})
"""Reasons of refused steps whose element took no input, and may not be the one."""
LEFT_OUT = frozenset({WHEN, ITEM_SKIPPED, ITEM_LEFT, SKIPPED_AHEAD})
"""Reasons of steps that count as done without having been performed."""
ARTIFACT_KINDS: dict[str, str] = {
    "expectations": ".json",
    "diff": ".txt",
    "screenshot": ".png",
    "snapshot": ".json",
    "dom": ".html",
    "console": ".txt",
    "network": ".txt",
    "model": ".json",
}
"""Evidence of a failed step, the most telling first, with file name endings."""
MARKED, MARKED_SNAPSHOT = "marked", "marked-snapshot"
PLANNER_KINDS: dict[str, str] = {MARKED: ".png", MARKED_SNAPSHOT: ".json"}
"""Further evidence for a planner that takes pictures: a picture, and the snapshot it belongs to."""
KEPT_KINDS = {**ARTIFACT_KINDS, **PLANNER_KINDS}


class Status(StrEnum):
    """How a step ended."""

    DONE = "done"
    MISSED = "missed"
    """No element, or more than one, answers to the description: nothing was touched."""
    UNMET = "unmet"
    """The action ran and an expectation does not hold."""
    REFUSED = "refused"
    """Definitely not performed: not actionable, or fenced before dispatch."""
    BLOCKED = "blocked"
    """A rule of the policy forbids it, or broke it off: nothing tries it another way."""
    IN_DOUBT = "in_doubt"
    """A commit step may or may not have taken effect."""


class Proof(StrEnum):
    """Proof that a step which sets something off did its work."""

    BECAME_TRUE = "became_true"
    """A predicate holds that did not hold before."""
    RESPONSE = "response"
    """True: it sent a request that may change something."""
    CAUSE = "cause"
    """A document, a tab, a download or a dialog came of it."""
    CHANGE = "change"
    """The page shows something else than before."""
    NONE = "none"
    """Nothing does."""


class Costs(Record):
    """Time spent on a step, and boundary crossings."""

    evaluations: int = 0
    redis_round_trips: int = 0
    locating_ms: float = 0.0
    acting_ms: float = 0.0
    verifying_ms: float = 0.0
    redis_ms: float = 0.0
    """Looking up, and writing the intent of a commit step."""
    recording_ms: float = 0.0
    """Writing outcome, entry, statistics and trace; only known to the caller, not to what is written."""
    total_ms: float = 0.0


class StepOutcome(Record):
    """The result of one `perform_action`; at most 4 KB as JSON, larger values go to the artifact store."""

    status: Status
    reason: str = ""
    message: str = ""
    rule: str = ""
    """Rule that blocked the step, such as `policy 'back-office': actions.deny`."""
    fingerprint: str = ""
    content_key: str = ""
    element_key: str = ""
    """Key of the recording of its element alone, if that is new or missed."""
    has_candidate: bool = False
    """On a miss: another run found the element, and was not verified. For the workflow."""
    effect: Effect = Effect.READ
    lookup: Lookup = Lookup()
    evidence: Evidence = Evidence()
    predicates: tuple[PredicateResult, ...] = ()
    url: str = ""
    extracted: dict[str, Any] = Field(default_factory=dict)
    snapshot: str = ""
    """Digest of the snapshot in the artifact store, on a miss or failure. Of a commit step that was learned, that of
    the page that it led to; it is told to the workflow, not recorded in the ledger."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """Evidence of a failed step in the artifact store: digests by kind, see `ARTIFACT_KINDS`."""
    artifacts_missing: dict[str, str] = Field(default_factory=dict)
    """Reasons for missing ones, by kind."""
    of_values: bool = False
    """The step failed because of the run's values: that says nothing against its recording."""
    already_done: bool = False
    """The wanted state was there; nothing was touched."""
    proof: Proof | None = None
    """Proof that the step did its work; None where its element or its result shows it."""
    warnings: tuple[str, ...] = ()
    """Faults that do not make it fail: `unproven`, or a predicate that is not required and does not hold."""
    from_ledger: bool = False
    """The step had been performed by an earlier attempt; this is its recorded outcome."""
    costs: Costs = Costs()
    told_by: str = ""
    """Witness of the effect of a step with consequences: a `Witness`, or `page` where that is enough."""
    left: bool = False
    """Its pages were left, as nobody told of the step; told to the workflow, not recorded in the ledger."""
    earlier: str = ""
    """Fingerprint under which the lineage has the same act, with `done_before` and `doubt_before`."""
    box: Box | None = None
    """Box of the element that it acted on, in the page; None where no picture of it is wanted."""
    consequence: Consequence | None = None
    """Request that was thrown away, with `ungranted`."""
    granted: tuple[Grant, ...] = ()
    """Requests that a press chosen by a model was let send, and on whose word."""
    due: tuple[Due, ...] = ()
    """Override rules whose `when` holds at the end of the step; told to the workflow, not recorded in the ledger."""

    witness: str = ""
    """What shows later whether the store has lost anything since; told to the workflow, not recorded in the ledger.
    Empty unless the next step is one that must not be repeated."""
    ahead: str = ""
    """What is recorded of the next step's element, in few words: for people; told to the workflow, not recorded in the
    ledger. Empty where nothing is, or where it is not known."""
    moved: bool = False
    """Another document is shown since. For the workflow, not recorded in the ledger."""
    verification: tuple[PredicateResult, ...] | None = None
    """Of the last step, when all of the run's final predicates held right after it; told to the workflow, not recorded
    in the ledger. None where they have yet to be looked at."""
    checkpoint: Checkpoint | None = None
    """The newest that was taken since the last outcome; told to the workflow, not recorded in the ledger."""

    @property
    def digest(self) -> str:
        """Digest of what later steps depend on: enters the next fingerprint."""
        return digest({"status": self.status.value, "extracted": self.extracted})
