"""Data of the dashboard's pages, and the port that reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from replaywright.domain.batch.batches import BatchProgress
from replaywright.domain.notice.commands import Lost
from replaywright.domain.run.runs import StepLine, Totals
from replaywright.domain.run.standing import FILTERS, RunStatus
from replaywright.domain.skill.cache_statistics import CacheStatistics
from replaywright.domain.skill.skills import Skill, SkillRecord, SkillStatistics
from replaywright.domain.task.questions import Question
from replaywright.domain.trace.run_view import StepView
from replaywright.errors import InputInvalid

_TEXT_LIMIT = 300


@dataclass(frozen=True)
class RunFilter:
    """Filter of the list of runs; empty fields do not limit."""

    status: RunStatus | None = None
    site: str = ""
    """Origin, such as `https://mail.example`; or a host."""
    skill: str = ""
    healed: bool = False
    page: str = ""
    """Token of the page, from the page before; empty for the first."""

    @property
    def limits(self) -> bool:
        """Return True if the filter excludes any run."""
        return bool(self.status or self.site or self.skill or self.healed)

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of an address with this filter, without the page."""
        given = {"status": self.status or "", "site": self.site, "skill": self.skill}
        return {name: value for name, value in given.items() if value} | ({"healed": "1"} if self.healed else {})


def run_filter(parameters: Mapping[str, str]) -> RunFilter:
    """Read the filter from the parameters of an address.

    Raises:
        InputInvalid: names parameter, value and what it may be.
    """
    wanted = parameters.get("status", "")
    status = next((known for known in FILTERS if known == wanted), None)
    if wanted and status is None:
        raise InputInvalid(f"status={wanted[:40]!r}: choose one of {', '.join(FILTERS)}")
    texts = {name: parameters.get(name, "").strip() for name in ("site", "skill", "page")}
    for name, value in texts.items():
        if len(value) > _TEXT_LIMIT * (10 if name == "page" else 1) or not value.isprintable():
            raise InputInvalid(f"{name}: give at most {_TEXT_LIMIT} printable characters")
    return RunFilter(status=status, healed=parameters.get("healed", "") not in ("", "0"), **texts)


@dataclass(frozen=True)
class RunRow:
    """One run of the list."""

    run_id: str
    task: str
    status: RunStatus
    started: datetime
    ended: datetime | None = None
    site: str = ""
    skill: str = ""
    mode: str = ""
    heals: int | None = None
    """None where it is not known."""
    model_calls: int | None = None
    step: int = 0
    """Steps done, of one that is under way."""
    steps: int = 0
    doing: str = ""
    temporal_url: str = ""
    schedule: str = ""
    """Schedule that started it; empty for none."""

    @property
    def is_over(self) -> bool:
        """Return True if its content is final."""
        return self.ended is not None

    @property
    def seconds(self) -> float | None:
        """Duration; None while it is under way."""
        return None if self.ended is None else (self.ended - self.started).total_seconds()


@dataclass(frozen=True)
class RunPage:
    """A page of the list, those under way first."""

    rows: Sequence[RunRow]
    next: str = ""
    """Token of the next page; empty on the last one."""


@dataclass(frozen=True)
class RunDetail:
    """A run as its page shows it."""

    row: RunRow
    steps: Sequence[StepView] = ()
    """Steps by the trace."""
    totals: Totals | None = None
    question: Question | None = None
    is_lent: bool = False
    """A person drives the browser."""
    waiting_for: str = ""
    failure: Sequence[str] = ()
    remedy: str = ""
    missing: str = ""
    """Reason why the trace cannot be read."""
    lines: Sequence[StepLine] = ()
    """Without a trace: steps by the run's own progress."""


@dataclass(frozen=True)
class ReportPage:
    """A page that needs no other file, and under which policy it may be served."""

    html: str
    policy: str
    """Content security policy of the report."""


@dataclass(frozen=True)
class LivePicture:
    """What the page of a run shows at the moment."""

    number: int
    jpeg: bytes
    element: tuple[float, float, float, float] | None = None
    """Left, top, width and height of the element of the last step, in fractions of the picture's."""


@dataclass(frozen=True)
class PersonAnswer:
    """Answer that a person gives on a page."""

    answer: str
    value: str = ""
    """For `answer`: the words or the code."""
    why: str = ""


@dataclass(frozen=True)
class WaitingRun:
    """A run that waits for a person."""

    run_id: str
    task: str
    question: Question


VALUE = "value."
"""Beginning of the names of a form's fields that hold values."""


@dataclass(frozen=True)
class AskedRun:
    """A run of a skill that a person starts on a page."""

    skill: str
    version: int
    request: str
    """Made with the form: one that is sent twice with the same values starts one run."""
    values: Mapping[str, str]
    """Texts of the fields, by parameter; of a list, one item a line."""
    heals: bool = True
    """Whether what has changed may be healed; a model is never asked."""


@dataclass(frozen=True)
class ScheduleRow:
    """A schedule, and its last run."""

    name: str
    starts: str
    """What it starts."""
    when: str
    coming: datetime | None = None
    """Its next time; None when there is none any more, or it is paused."""
    is_paused: bool = False
    note: str = ""
    last_run: str = ""
    last_status: str = ""
    """In words."""


@dataclass(frozen=True)
class KeptRow:
    """One kind of what is kept."""

    kind: str
    count: int | None
    """None: nobody here can tell."""
    size_bytes: int | None
    how_long: str
    where: str
    """Setting or command that changes it; `fixed` for none."""
    is_complete: bool = True
    """False: there is more than was counted."""

    @property
    def count_text(self) -> str:
        """Format the count."""
        if self.count is None:
            return "–"
        return f"{self.count:,}" if self.is_complete else f"at least {self.count:,}"

    def as_json(self) -> dict[str, object]:
        """Return the same for programs."""
        return {
            "kind": self.kind,
            "count": self.count,
            "bytes": self.size_bytes,
            "complete": self.is_complete,
            "kept": self.how_long,
            "setBy": self.where,
        }


@dataclass(frozen=True)
class SessionRow:
    """A signed-in session that tasks may use."""

    name: str
    sign_in: str
    """What signs in."""
    state: str
    """Whether it is signed in, in words."""
    since: datetime | None = None
    """When it was signed in."""
    users: Sequence[str] = ()
    """Runs that use it."""
    waiting: int = 0
    """Number of runs that wait for it."""
    signing_in: str = ""
    """The run that signs in."""
    sign_ins: int = 0
    expiries: int = 0
    why: str = ""
    """Why signing in failed last."""


@dataclass(frozen=True)
class BatchRow:
    """A batch and its progress."""

    batch: str
    task: str
    started: datetime
    is_over: bool
    temporal_url: str = ""
    progress: BatchProgress | None = None
    """None when no worker answers."""


@dataclass(frozen=True)
class RetriedRows:
    """Failed rows of a batch that are tried again."""

    rows: int
    left_out: Sequence[tuple[int, str]] = ()
    """Numbers of the other failed rows, and why each is not tried again."""


@dataclass(frozen=True)
class CacheView:
    """Statistics of the action cache."""

    statistics: CacheStatistics
    signed_with: str = ""
    """Id of the key; empty when nothing is signed."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Records that were not used as their signature is wrong, by kind."""
    last_refused: str = ""


class DashboardSource(Protocol):
    """Reads and steers what there is, of one tenant only; `who` is the name that a deed is kept with.

    Each method raises `InputInvalid` for what is not there, `StackFailed` when Temporal does not answer, and
    `StoreUnavailable` when Redis does not.
    """

    async def runs(self, wanted: RunFilter) -> RunPage:
        """Return a page of the runs that match the filter."""

    async def run(self, run_id: str) -> RunDetail:
        """Build the page of a run."""

    async def report(self, run_id: str) -> ReportPage:
        """Return the report of a run."""

    async def picture(self, run_id: str) -> bytes:
        """Return the screenshot, a PNG, of the moment when the run began to wait.

        Raises:
            ArtifactMissing: there is none.
        """

    async def live_picture(self, run_id: str, seen: int) -> LivePicture | None:
        """Wait a while for a picture of the run's page after number `seen`; None if there is none.

        Raises:
            ArtifactMissing: the run has no browser that can be watched from here.
        """

    async def take_over(self, run_id: str, who: str) -> str:
        """Pause the run if it does not wait, take over its browser, and return the address to open."""

    async def answer(self, run_id: str, question: str, given: PersonAnswer, who: str) -> None:
        """Have the run go on: with `continue` where it is paused, else with an answer to its question of this id."""

    async def start(self, asked: AskedRun, who: str) -> str:
        """Start a run of a skill, and return its id."""

    async def lasting_steps(self, skill: Skill) -> Sequence[str]:
        """Return the titles of the skill's steps with consequences, as they are declared or were observed."""

    async def sessions(self) -> Sequence[SessionRow]:
        """List the signed-in sessions by name."""

    async def change_session(self, name: str, change: str, who: str) -> None:
        """Have a session signed in anew (`renew`), or `forget` what is kept of it."""

    async def schedules(self) -> Sequence[ScheduleRow]:
        """List the schedules by name."""

    async def change_schedule(self, name: str, change: str, why: str, who: str) -> None:
        """`pause` or `unpause` a schedule, or `trigger` a run of it."""

    async def change_entry(self, key: str, change: str, why: str, who: str) -> None:
        """`promote` what was found in place of a recording, or `forget` the recording."""

    async def retry_batch(self, batch: str, who: str) -> RetriedRows:
        """Try the rows of a batch again that failed, and are not in doubt."""

    async def heal_picture(self, key: str, of: str) -> bytes:
        """Return a JPEG of the page of a heal that waits for a person: as `recorded`, or as `found` when it healed.

        Raises:
            ArtifactMissing: there is none, or it is not kept any more.
        """

    async def batches(self) -> Sequence[BatchRow]:
        """List the last batches, the newest first."""

    async def kept(self) -> Sequence[KeptRow]:
        """List what is kept of the tenant, kind by kind."""

    async def inbox(self) -> Sequence[WaitingRun]:
        """List the runs that wait for a person, the longest waiting first."""

    async def lost_notices(self) -> Sequence[Lost]:
        """List the deliveries of notices that were given up, the oldest first."""

    async def skills(self) -> Sequence[tuple[Skill, SkillStatistics]]:
        """List all skills in their current versions, with statistics."""

    async def skill(self, name: str, version: int | None = None) -> SkillRecord:
        """Return the record of a skill; with `version`, with the steps of this version."""

    async def changes(self, name: str, old: int, new: int) -> Sequence[str]:
        """Compare two versions of a skill; return the lines of a unified diff."""

    async def cache(self) -> CacheView:
        """Return the statistics of the action cache."""
