"""A source for the dashboard's pages that holds what a test puts into it."""

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from replaywright.dashboard.people import Role, Viewer
from replaywright.dashboard.views import (
    AskedRun,
    BatchRow,
    CacheView,
    KeptRow,
    LivePicture,
    PersonAnswer,
    ReportPage,
    RetriedRows,
    RunDetail,
    RunFilter,
    RunPage,
    RunRow,
    ScheduleRow,
    SessionRow,
    WaitingRun,
)
from replaywright.domain.batch.batches import BatchProgress, BegunRow, RowEnd
from replaywright.domain.notice.commands import Lost
from replaywright.domain.run.runs import Totals
from replaywright.domain.run.scope import Usage
from replaywright.domain.skill.cache_statistics import cache_statistics
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo, EntryStatus
from replaywright.domain.skill.skills import Rate, Skill, SkillChange, SkillRecord, SkillStatistics, SkillStatus
from replaywright.domain.step.outcomes import Costs, Lookup, Status
from replaywright.domain.task.actions import Action
from replaywright.domain.task.questions import Question, QuestionKind
from replaywright.domain.task.tasks import Task
from replaywright.domain.trace.run_view import AttemptView, StepView
from replaywright.errors import ArtifactMissing, InputInvalid, ReplaywrightError

NOW = datetime(2026, 3, 4, 10, 12, tzinfo=UTC)
STARTED = NOW - timedelta(minutes=2)

RUNNING = RunRow(
    run_id="send-mail/20260304-101000-3fa2",
    task="send-mail",
    status="running",
    started=STARTED,
    site="mail.example",
    skill="send-mail",
    mode="auto",
    heals=0,
    model_calls=0,
    step=4,
    steps=10,
    doing="click the Send button",
)
WAITING = RunRow(
    run_id="pay-invoice/20260304-095800-77c1",
    task="pay-invoice",
    status="waiting",
    started=STARTED,
    site="bank.example",
    mode="replay",
    heals=1,
    model_calls=0,
    step=6,
    steps=8,
    doing="asks for an approval",
)


def ended(number: int, **fields: object) -> RunRow:
    """A run that is over."""
    row = RunRow(
        run_id=f"order-entry/20260304-0{number % 10}1500-{number:04x}",
        task="order-entry",
        status="done",
        started=STARTED - timedelta(hours=number),
        ended=STARTED - timedelta(hours=number) + timedelta(seconds=3.4 + number),
        site="shop.example",
        skill="order-entry",
        mode="replay",
        heals=0,
        model_calls=0,
    )
    return dataclasses.replace(row, **fields)  # type: ignore[arg-type]  # as tests name them


APPROVAL = Question(
    kind=QuestionKind.APPROVE,
    id="7-1",
    text="step 7 asks for an approval: is the amount right?",
    sequence=6,
    answers=("approve", "refuse"),
    shows=("8. click the Pay now button (irreversible)", "   amount: 1 250.00 EUR to ACME Ltd."),
    since=NOW - timedelta(minutes=14),
    deadline=NOW + timedelta(days=3),
    site_says=("Please confirm the payment of 1 250.00 EUR.",),
    url="https://bank.example/transfer/confirm",
)


NO_LOOKUP = Lookup()


def step(number: int, title: str, seconds: float, lookup: Lookup = NO_LOOKUP, calls: int = 0, **last: Any) -> StepView:
    """A step whose last attempt has these fields."""
    costs = Costs(total_ms=1000 * seconds)
    told = {"status": Status.DONE, "verdict": "success", "lookup": lookup, "usage": Usage(calls=calls), "costs": costs}
    attempt = AttemptView.model_validate({"at": 0.0, "number": 1, **told, **last})
    return StepView(id=f"step-{number}", sequence=number - 1, title=title, attempts=(attempt,))


ASKED = step(4, "click the Sign in button", 2.4, Lookup(from_model=True), calls=1)
STEPS = (
    step(1, "goto https://mail.example", 0.61),
    step(2, "fill the User field = {{user}}", 0.12, Lookup(hit=True, tier="xpath", score=1.0, runner_up=0.42)),
    step(
        3,
        "fill the Password field = {{secret:PASSWORD}}",
        0.34,
        Lookup(hit=True, healed=True, tier="similarity", score=0.91, runner_up=0.38),
    ),
    ASKED.model_copy(update={"attempts": (step(4, "", 0.0).last, *ASKED.attempts)}),
)
TOTALS = Totals(
    steps=4,
    hits=2,
    heals=1,
    learned=1,
    usage=Usage(calls=1, input_tokens=4210, output_tokens=38, model="openai:gpt", cost_usd=0.0113, priced=1),
)
TASK = Task.model_validate(
    {
        "task": "send-mail",
        "url": "https://mail.example/",
        "goal": "send a mail to {{to}}",
        "parameters": {"to": {"type": "email", "description": "who gets it"}},
        "secrets": ["PASSWORD"],
        "steps": [
            {"action": "goto", "url": "https://mail.example/"},
            {"action": "fill", "instruction": "the To field", "value": "{{to}}"},
            {"action": "click", "instruction": "the Send button", "effect": "commit"},
        ],
    }
)


def skill(name: str = "send-mail", **fields: object) -> Skill:
    """A skill."""
    told = {
        "name": name,
        "version": 2,
        "status": SkillStatus.ACTIVE,
        "label": "Send a mail",
        "site": "https://mail.example",
        "task": TASK,
        "patterns": ("send a mail to {{to}}",),
        "created": NOW.timestamp(),
        "note": "step 3: the button has another name",
    }
    return Skill.model_validate(told | fields)


def rate(text: str) -> Rate:
    """A rate whose recent runs are the text's `1` for success, `0` for failure."""
    recent = tuple(one == "1" for one in text)
    return Rate(succeeded=sum(recent), failed=len(recent) - sum(recent), recent=recent)


STATISTICS = SkillStatistics(
    runs=rate("11111111111111110111"),
    steps={0: rate("1" * 20), 1: rate("1" * 20), 2: rate("11110110101111101101")},
    last_success=NOW.timestamp(),
    last_failure=(NOW - timedelta(days=2)).timestamp(),
)
RECORD = SkillRecord(
    skill=skill(),
    versions=(1, 2),
    statistics=STATISTICS,
    history=(
        SkillChange(at=(NOW - timedelta(days=9)).timestamp(), version=1, what="created", who="send-mail/20260223"),
        SkillChange(
            at=NOW.timestamp(),
            version=2,
            what="relearned",
            who="send-mail/20260304",
            reason="element: step 3: not_found",
        ),
    ),
)
DIFF = (
    "--- send-mail version 1 (retired)",
    "+++ send-mail version 2 (active)",
    "@@ -12,7 +12,7 @@",
    " - action: click",
    "-  instruction: the Send button",
    "+  instruction: the Send mail button",
    "   effect: commit",
)


def entry(key: str, site: str = "https://mail.example", **fields: object) -> EntryInfo:
    """An entry of the cache."""
    told = {
        "content_key": key * 64,
        "site": site,
        "instruction": "the Send button",
        "action_type": Action.CLICK,
        "status": EntryStatus.ACTIVE,
        "hits": 40,
        "misses": 2,
        "heals": 1,
    }
    return EntryInfo(content_key=key * 64, entry=ActionCacheEntry.model_validate(told | fields), versions=2)


ENTRIES = (
    entry("a"),
    entry("b", "https://shop.example/orders/:id", hits=1204, misses=3, heals=11, instruction="the Order button"),
    entry("c", "https://shop.example", status=EntryStatus.SUSPECT, hits=5, misses=9, instruction="the Basket link"),
)
PICTURE = b"\x89PNG\r\n\x1a\n a picture"


OWNER = Viewer("ada", Role.OPERATE)
"""Who uses the pages where nobody signs in."""


@dataclass
class FakeSource:
    """What there is, in fields; `fails` is raised instead, once it is set."""

    rows: Sequence[RunRow] = ()
    next: str = ""
    details: dict[str, RunDetail] = field(default_factory=dict)
    waiting: Sequence[WaitingRun] = ()
    lost: Sequence[Lost] = ()
    known_schedules: Sequence[ScheduleRow] = ()
    known_sessions: Sequence[SessionRow] = ()
    known_kept: Sequence[KeptRow] = ()
    known_batches: Sequence[BatchRow] = ()
    by: list[str] = field(default_factory=list)
    """Names that deeds were done with."""
    started: list[AskedRun] = field(default_factory=list)
    """Runs that were asked for."""
    retried: RetriedRows = field(default_factory=lambda: RetriedRows(1))
    known_skills: Sequence[tuple[Skill, SkillStatistics]] = ()
    records: dict[str, SkillRecord] = field(default_factory=dict)
    diff: Sequence[str] = ()
    view: CacheView = field(default_factory=lambda: CacheView(cache_statistics((), ()), "k1"))
    reports: dict[str, ReportPage] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    heals: dict[tuple[str, str], bytes] = field(default_factory=dict)
    screens: dict[str, LivePicture] = field(default_factory=dict)
    fails: ReplaywrightError | RuntimeError | None = None
    wanted: list[RunFilter] = field(default_factory=list)
    """The filters that runs were asked for with."""
    watched: int = 0
    """How often a picture of a live page was asked for."""
    done: list[tuple[str, ...]] = field(default_factory=list)
    """What was asked of runs."""
    asked: int = 0
    """How often runs were asked for."""

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails

    async def runs(self, wanted: RunFilter) -> RunPage:
        self._fail()
        self.asked += 1
        self.wanted.append(wanted)
        return RunPage(self.rows, self.next)

    async def run(self, run_id: str) -> RunDetail:
        self._fail()
        if run_id not in self.details:
            raise InputInvalid(f"there is no run {run_id!r}")
        return self.details[run_id]

    async def report(self, run_id: str) -> ReportPage:
        self._fail()
        if run_id not in self.reports:
            raise InputInvalid(f"there is no run {run_id!r}")
        return self.reports[run_id]

    async def picture(self, run_id: str) -> bytes:
        self._fail()
        if run_id not in self.pictures:
            raise ArtifactMissing(f"run {run_id!r} waits with no picture")
        return self.pictures[run_id]

    async def live_picture(self, run_id: str, seen: int) -> LivePicture | None:
        self._fail()
        if run_id not in self.screens:
            raise ArtifactMissing("the run has no browser at the moment")
        self.watched += 1
        picture = self.screens[run_id]
        if picture.number == seen:  # a keeper waits for another one
            await asyncio.sleep(0.1)
        return None if picture.number == seen else picture

    async def take_over(self, run_id: str, who: str) -> str:
        self._fail()
        self.by.append(who)
        if run_id not in self.details:
            raise InputInvalid(f"there is no run {run_id!r}")
        self.done.append(("take over", run_id))
        return "http://127.0.0.1:9/secret/"

    async def answer(self, run_id: str, question: str, given: PersonAnswer, who: str) -> None:
        self._fail()
        self.by.append(who)
        self.done.append((run_id, question, given.answer, given.value, given.why))

    async def inbox(self) -> Sequence[WaitingRun]:
        self._fail()
        return self.waiting

    async def start(self, asked: AskedRun, who: str) -> str:
        self._fail()
        self.by.append(who)
        self.started.append(asked)
        return f"{asked.skill}/dashboard/1"

    async def lasting_steps(self, skill: Skill) -> Sequence[str]:
        self._fail()
        return [step.title for step in skill.task.steps if step.effect is not None and not step.effect.repeatable]

    async def sessions(self) -> Sequence[SessionRow]:
        self._fail()
        return self.known_sessions

    async def kept(self) -> Sequence[KeptRow]:
        self._fail()
        return self.known_kept

    async def change_session(self, name: str, change: str, who: str) -> None:
        self._fail()
        self.by.append(who)
        self.done.append((name, change))

    async def schedules(self) -> Sequence[ScheduleRow]:
        self._fail()
        return self.known_schedules

    async def change_schedule(self, name: str, change: str, why: str, who: str) -> None:
        self._fail()
        self.by.append(who)
        self.done.append((name, change, why))

    async def change_entry(self, key: str, change: str, why: str, who: str) -> None:
        self._fail()
        self.by.append(who)
        self.done.append((key, change, why))

    async def heal_picture(self, key: str, of: str) -> bytes:
        self._fail()
        if (key, of) not in self.heals:
            raise ArtifactMissing(f"run kept no picture of {of}")
        return self.heals[key, of]

    async def retry_batch(self, batch: str, who: str) -> RetriedRows:
        self._fail()
        self.by.append(who)
        self.done.append(("retry", batch))
        return self.retried

    async def batches(self) -> Sequence[BatchRow]:
        self._fail()
        return self.known_batches

    async def lost_notices(self) -> Sequence[Lost]:
        self._fail()
        return self.lost

    async def skills(self) -> Sequence[tuple[Skill, SkillStatistics]]:
        self._fail()
        return self.known_skills

    async def skill(self, name: str, version: int | None = None) -> SkillRecord:
        self._fail()
        if name not in self.records:
            raise InputInvalid(f"there is no skill {name!r}")
        return self.records[name]

    async def changes(self, name: str, old: int, new: int) -> Sequence[str]:
        self._fail()
        return self.diff if old != new else ()

    async def cache(self) -> CacheView:
        self._fail()
        return self.view


SCHEDULES = (
    ScheduleRow("hourly", "skill send-mail", "every 1h", coming=NOW, last_run=RUNNING.run_id, last_status="running"),
    ScheduleRow("nightly", "skill send-mail", "0 3 * * * (UTC)", is_paused=True, note="the site is being moved"),
)
KEPT = (
    KeptRow("recordings", 1240, 3_400_000, "until they are forgotten", "replaywright admin forget"),
    KeptRow("ledgers (steps)", 250_000, 91_000_000, "90 days after its end", "fixed", is_complete=False),
    KeptRow("artifacts", None, None, "as its store's lifecycle rules say", "s3://acme/artifacts"),
)
SESSIONS = (
    SessionRow(
        "crm-ada", "skill:crm-sign-in", "yes", since=NOW, users=(RUNNING.run_id,), waiting=2, sign_ins=3, expiries=2
    ),
    SessionRow("shop", "sign-in.yaml", "no", why="the page says nothing of Ada"),
)
PROBLEM = RowEnd(number=3, status="failed", run_id="batch-1/3", reason="not_found", message="looked for <b>Send</b>")
BATCHES = (
    BatchRow(
        "batch-1",
        "send-mail",
        STARTED,
        is_over=False,
        progress=BatchProgress(
            total=200,
            ended={"done": 120, "failed": 1},
            under_way=4,
            waiting=(BegunRow(number=7, run_id="batch-1/7", began=0.0),),
            problems=(PROBLEM,),
        ),
    ),
    BatchRow("batch-0", "send-mail", STARTED, is_over=True),
)


def full() -> FakeSource:
    """A source in which every page has something to show."""
    failed = ended(3, status="failed", heals=0, model_calls=0)
    rows = (
        RUNNING,
        WAITING,
        ended(1, heals=2),
        ended(2),
        failed,
        ended(4, status="blocked", skill=""),
        ended(5, status="cancelled", task="invoice-download", skill="invoice-download", mode="learn", model_calls=12),
    )
    details = {
        RUNNING.run_id: RunDetail(RUNNING, STEPS, TOTALS),
        WAITING.run_id: RunDetail(WAITING, STEPS, TOTALS, question=APPROVAL, waiting_for=APPROVAL.text),
        failed.run_id: RunDetail(
            failed,
            (
                *STEPS,
                step(
                    5,
                    "click the Order button",
                    3.1,
                    Lookup(reason="ambiguous"),
                    status=Status.MISSED,
                    verdict="failed",
                    message="2 elements answer to the description",
                ),
            ),
            TOTALS,
            failure=("step 5: 2 elements answer to the description (ambiguous)",),
            remedy="make the instruction more exact, or give the step a target",
        ),
    }
    suspect = skill("invoice-download", label="Download the invoice", status=SkillStatus.SUSPECT, version=1)
    weak = SkillStatistics(runs=rate("1101011011"), last_success=NOW.timestamp())
    fresh = skill("order-entry", label="", status=SkillStatus.CANDIDATE, version=1, site="https://shop.example")
    return FakeSource(
        known_schedules=SCHEDULES,
        known_sessions=SESSIONS,
        known_kept=KEPT,
        known_batches=BATCHES,
        rows=rows,
        details=details,
        waiting=(WaitingRun(WAITING.run_id, WAITING.task, APPROVAL),),
        known_skills=((skill(), STATISTICS), (suspect, weak), (fresh, SkillStatistics())),
        records={"send-mail": RECORD},
        diff=DIFF,
        view=CacheView(
            cache_statistics(ENTRIES, (entry("d", status=EntryStatus.CANDIDATE, hold=True),)),
            "k1",
            {"entry": 2},
            "entry 'click the Send button' is refused: altered",
        ),
    )
