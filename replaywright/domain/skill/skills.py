"""Skills: learned, parameterised tasks of the knowledge base, with their statistics.

A skill's steps are those of a task, so it runs like a task. The action cache has its elements, under the content keys
of the steps. A skill holds templates only: no value of a run, no secret.
"""

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import Field, field_validator

from replaywright.domain.common.base import Record
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.task.browser import BrowserOptions
from replaywright.domain.task.tasks import Task

SCHEMA = 1
RECENT_RUNS = 20
"""Runs in the rolling success rate of a skill and its steps."""
HISTORY_KEPT = 200
"""Newest changes of a skill that are kept."""

Origin: TypeAlias = Literal["learned", "relearned", "imported", "written"]


class SkillStatus(StrEnum):
    """Life cycle of a skill's version."""

    CANDIDATE = "candidate"
    """Not verified by any run yet: imported, or written by a run in progress. Run by name, never recalled."""
    ACTIVE = "active"
    """Verified; the newest active version is recalled and run."""
    SUSPECT = "suspect"
    """A run of it failed. Not recalled until it is restored or a newer version is verified."""
    RETIRED = "retired"
    """Replaced by a newer version, or invalidated by a person."""


class SkillContext(Record):
    """Context in which a skill was learned; it is not recalled in another one. Empty fields are unknown."""

    device: str = "desktop"
    viewport: str = ""
    """Width and height in CSS pixels, as in `1280x720`."""
    locale: str = ""
    """BCP 47 tag of the browser, such as `de-DE`."""
    signed_in: bool | None = None
    """True if the browser was signed in at the first step."""
    start: str = ""
    """Origin and path of the start page, a template. It tells a changed site from another page when the precondition
    does not hold."""


def context_in(browser: BrowserOptions | None, *, signed_in: bool | None, start: str = "") -> SkillContext:
    """Return the context of a run in a browser with these options."""
    given = browser or BrowserOptions()
    return SkillContext(viewport=given.viewport or "", locale=given.locale or "", signed_in=signed_in, start=start)


class Skill(Record):
    """A version of a skill."""

    schema_version: int = SCHEMA
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    """Unique in the tenant; also its task's name."""
    version: int = Field(1, ge=1)
    status: SkillStatus = SkillStatus.CANDIDATE
    label: str = ""
    """A few words, as in "Send a mail"."""
    description: str = ""
    site: str = ""
    """Origin (scheme, host, port). Empty for a skill whose parameters give the site."""
    task: Task
    """Steps, parameters, secrets by name, final verification. Its goal is the first pattern."""
    patterns: tuple[str, ...] = ()
    """Sentences that mean it, with `{{parameter}}` for each value: "send a mail to {{to}}"."""
    near_misses: tuple[str, ...] = ()
    """Similar sentences that mean something else: "do not send {{to}} a mail". An alignment refuses the skill."""
    precondition: tuple[Predicate, ...] = ()
    """Conditions on the start page for the first step; templates."""
    context: SkillContext = SkillContext()
    origin: Origin = "learned"
    run_id: str = ""
    """Run that learned this version."""
    created: float = 0.0
    """Unix time in seconds, of the store's clock."""
    note: str = ""
    """Difference from the version before."""
    signature: str = ""

    @field_validator("task")
    @classmethod
    def _has_steps(cls, task: Task) -> Task:
        if not task.steps:
            raise ValueError("a skill's task needs steps")
        return task


def patterns_of(skill: Skill) -> tuple[str, ...]:
    """Return the sentences that mean the skill."""
    goal = skill.task.goal
    return skill.patterns or ((goal,) if goal else ())


class SkillRef(Record):
    """A version of a skill."""

    name: str
    version: int


class Rate(Record):
    """Counts of successes and failures."""

    succeeded: int = 0
    failed: int = 0
    recent: tuple[bool, ...] = ()
    """The last `RECENT_RUNS`, newest last."""

    @property
    def rolling(self) -> float | None:
        """Share of successes among the recent ones, 0 to 1; None without any."""
        return sum(self.recent) / len(self.recent) if self.recent else None

    def with_run(self, succeeded: bool) -> "Rate":
        """Add one result."""
        return Rate(
            succeeded=self.succeeded + succeeded,
            failed=self.failed + (not succeeded),
            recent=(*self.recent, succeeded)[-RECENT_RUNS:],
        )


class SkillStatistics(Record):
    """Success of a skill over all its versions."""

    runs: Rate = Rate()
    steps: dict[int, Rate] = Field(default_factory=dict)
    """By index; of one version only."""
    last_success: float = 0.0
    """Unix time in seconds, of the store's clock; 0 if there was none."""
    last_failure: float = 0.0


Change: TypeAlias = Literal["", "structure", "url", "element", "goal"]
"""Kind of change of the site that a failed run shows: structure (element missing or ambiguous), url (landed elsewhere),
element (acted without the expected result), goal (final verification failed). Empty if unknown."""


class SkillRun(Record):
    """Result of one run of a skill. Noting the same run twice changes nothing."""

    run_id: str
    version: int
    succeeded: bool
    steps_done: int = 0
    """Number of steps done, by index in the skill's task."""
    failed_step: int | None = None
    reason: str = ""
    change: Change = ""
    """Kind of change of the site that the failure shows."""
    outside: bool = False
    """True for a failure that is not the skill's, such as a missing secret: it is counted, and neither step nor version
    is blamed."""

    @property
    def why(self) -> str:
        """Reason of the failure for the skill's history: kind of change, step, reason."""
        step = "" if self.failed_step is None else f"step {self.failed_step + 1}"
        return ": ".join(filter(None, (self.change, step, self.reason or "the run failed")))


class SkillChange(Record):
    """A line of a skill's history."""

    at: float = 0.0
    version: int
    what: str
    """created, relearned, imported, edited, activated, restored, suspected, retired (replaced), invalidated, reset (to
    candidate), deleted."""
    who: str = ""
    """A person, or a run."""
    reason: str = ""


class SkillRecord(Record):
    """A skill with its versions, statistics and history, as `replaywright skills show` prints it."""

    skill: Skill
    """The version that would run, else the newest."""
    versions: tuple[int, ...] = ()
    statistics: SkillStatistics = SkillStatistics()
    history: tuple[SkillChange, ...] = ()
    """Oldest first."""


def why_retired(record: SkillRecord) -> str:
    """Return why the skill may not be run by name, with the remedy; empty unless it is retired."""
    skill = record.skill
    if skill.status is not SkillStatus.RETIRED:
        return ""
    reasons = [change.reason for change in record.history if change.what in ("invalidated", "retired")]
    why = f" ({reasons[-1]})" if reasons and reasons[-1] else ""
    return (
        f"skill {skill.name!r} was retired{why}: `replaywright skills restore {skill.name}`, or run it once as it is "
        f"with --version {skill.version}"
    )


class Considered(SkillRef):
    """A skill that recall considered."""

    score: float
    """Similarity of the sentence, 0 to 1; used for ranking only."""
    reason: str
    """`accepted`, or the code of the objection."""
    details: str = ""


class Recall(Record):
    """Decision of recall on a goal."""

    decision: Literal["accept", "abstain"]
    reason: str = ""
    """Code: `accepted`, `no_skills`, `other_site`, `not_aligned`, `near_miss`, `missing_parameter`, …"""
    skill: Skill | None = None
    """The accepted skill."""
    values: dict[str, str] = Field(default_factory=dict)
    """Values of all its parameters."""
    pattern: str = ""
    """Pattern that the sentence aligns with; empty when a model chose the skill."""
    considered: tuple[Considered, ...] = ()
    """The best few, best first."""

    @property
    def by_model(self) -> bool:
        """True if a model chose the skill."""
        return self.skill is not None and not self.pattern
