"""Skills: learned, parameterised tasks of the knowledge base, with what is known of how well they go.

A skill's steps are those of a task, so whatever runs a task runs a skill; how each step finds its element lies in the
action cache, under the step's content key. A skill holds templates only: no value of a run, no secret.
"""

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import Field, field_validator

from replaywright.domain.common.base import Record
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.task.tasks import Task

SCHEMA = 1
RECENT_RUNS = 20
"""Runs that the rolling success rate of a skill and of its steps is taken over."""
HISTORY_KEPT = 200
"""Changes of a skill that are kept, the newest."""

Origin: TypeAlias = Literal["learned", "relearned", "imported", "written"]


class SkillStatus(StrEnum):
    """Life of a skill's version."""

    CANDIDATE = "candidate"
    """Not verified by any run yet: imported, or written by a run that is still going. Run by name, never recalled."""
    ACTIVE = "active"
    """Verified: the newest active version is the one that is recalled and run."""
    SUSPECT = "suspect"
    """A run of it failed. Not recalled before it is restored, or a newer version has been verified."""
    RETIRED = "retired"
    """Replaced by a newer version, or invalidated by a person."""


class SkillContext(Record):
    """Under what circumstances it was learned; under others it is not recalled. Empty fields were not known."""

    device: str = "desktop"
    viewport: str = ""
    """Width and height in CSS pixels, as in `1280x720`."""
    locale: str = ""
    """BCP 47 tag of the browser, such as `de-DE`."""
    signed_in: bool | None = None
    """Whether the site took the browser for signed in at the first step."""
    start: str = ""
    """Origin and path of the page that the start URL led to, a template: what is compared where the precondition does
    not hold, to tell a site that has changed from another page."""


class Skill(Record):
    """One version of a skill."""

    schema_version: int = SCHEMA
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    """Unique in the tenant; also the name of its task."""
    version: int = Field(1, ge=1)
    status: SkillStatus = SkillStatus.CANDIDATE
    label: str = ""
    """A few words, as in "Send a mail"."""
    description: str = ""
    site: str = ""
    """Origin: scheme, host and port. Empty for one that runs anywhere its parameters say."""
    task: Task
    """Steps, parameters, secrets by name, final verification. Its goal is the first pattern."""
    patterns: tuple[str, ...] = ()
    """Sentences that mean it, with `{{parameter}}` for each value: "send a mail to {{to}}"."""
    near_misses: tuple[str, ...] = ()
    """Sentences that sound like it and do not mean it: "do not send {{to}} a mail". One that aligns refuses."""
    precondition: tuple[Predicate, ...] = ()
    """What has to hold on the start page for the first step to make sense; templates."""
    context: SkillContext = SkillContext()
    origin: Origin = "learned"
    run_id: str = ""
    """The run that learned this version."""
    created: float = 0.0
    """Unix time in seconds, of the store's clock."""
    note: str = ""
    """Why this version differs from the one before."""
    signature: str = ""

    @field_validator("task")
    @classmethod
    def _has_steps(cls, task: Task) -> Task:
        if not task.steps:
            raise ValueError("a skill's task needs steps")
        return task


def patterns_of(skill: Skill) -> tuple[str, ...]:
    """List the sentences that mean a skill."""
    goal = skill.task.goal
    return skill.patterns or ((goal,) if goal else ())


class SkillRef(Record):
    """A version of a skill."""

    name: str
    version: int


class Rate(Record):
    """Successes and failures, the newest last."""

    succeeded: int = 0
    failed: int = 0
    recent: tuple[bool, ...] = ()
    """The last `RECENT_RUNS`."""

    @property
    def rolling(self) -> float | None:
        """Share of the recent ones that succeeded, 0 to 1; None without any."""
        return sum(self.recent) / len(self.recent) if self.recent else None

    def with_run(self, succeeded: bool) -> "Rate":
        """This and one more."""
        return Rate(
            succeeded=self.succeeded + succeeded,
            failed=self.failed + (not succeeded),
            recent=(*self.recent, succeeded)[-RECENT_RUNS:],
        )


class SkillStatistics(Record):
    """How well a skill went, over all its versions."""

    runs: Rate = Rate()
    steps: dict[int, Rate] = Field(default_factory=dict)
    """By index; of one version only."""
    last_success: float = 0.0
    """Unix time in seconds, of the store's clock; 0 if there was none."""
    last_failure: float = 0.0


Change: TypeAlias = Literal["", "structure", "url", "element", "goal"]
"""What differs on a site from what a skill was learned on, by how a run of it failed: its element is not there or not
the only one; it landed elsewhere; it acted, and what was to come of it did not; all was done, and the final
verification failed. Empty where none of that can be told."""


class SkillRun(Record):
    """How one run of a skill went. Noting the same run twice changes nothing."""

    run_id: str
    version: int
    succeeded: bool
    steps_done: int = 0
    """From the first on, by index in the skill's task."""
    failed_step: int | None = None
    reason: str = ""
    change: Change = ""
    """Which kind of change of the site the failure shows."""
    outside: bool = False
    """It failed for something that says nothing of the skill, such as a missing secret: it is counted, and neither the
    step nor the version is held to blame."""

    @property
    def why(self) -> str:
        """Why it failed, as the skill's history says it: kind of change, step, reason."""
        step = "" if self.failed_step is None else f"step {self.failed_step + 1}"
        return ": ".join(filter(None, (self.change, step, self.reason or "the run failed")))


class SkillChange(Record):
    """One line of a skill's history."""

    at: float = 0.0
    version: int
    what: str
    """created, relearned, imported, edited, activated, restored, suspected, retired (another took its place),
    invalidated, reset (a candidate again), deleted."""
    who: str = ""
    """A person, or a run."""
    reason: str = ""


class SkillRecord(Record):
    """All that is known of a skill: `replaywright skills show`."""

    skill: Skill
    """The version that would be run, or the newest if none would."""
    versions: tuple[int, ...] = ()
    statistics: SkillStatistics = SkillStatistics()
    history: tuple[SkillChange, ...] = ()
    """Oldest first."""


def why_retired(record: SkillRecord) -> str:
    """Why the skill may not be run by its name alone, and what to do; empty unless its version is retired."""
    skill = record.skill
    if skill.status is not SkillStatus.RETIRED:
        return ""
    reasons = [change.reason for change in record.history if change.what in ("invalidated", "retired")]
    why = f" ({reasons[-1]})" if reasons and reasons[-1] else ""
    return (
        f"skill {skill.name!r} was retired{why}: `replaywright skills restore {skill.name}`, or run it once as it is "
        f"with --version {skill.version}"
    )


class Considered(Record):
    """One skill that recall looked at."""

    name: str
    version: int
    score: float
    """Similarity of the sentence, 0 to 1; it only ranks."""
    reason: str
    """`accepted`, or the code of what spoke against it."""
    details: str = ""


class Recall(Record):
    """What recall decided on a goal."""

    decision: Literal["accept", "abstain"]
    reason: str = ""
    """Code: `accepted`, `no_skills`, `other_site`, `not_aligned`, `near_miss`, `missing_parameter`, …"""
    skill: Skill | None = None
    """The accepted one."""
    values: dict[str, str] = Field(default_factory=dict)
    """Of all its parameters."""
    pattern: str = ""
    """The skill's pattern that the sentence aligns with; empty when a model chose the skill."""
    considered: tuple[Considered, ...] = ()
    """Best first, a few."""

    @property
    def by_model(self) -> bool:
        """A model chose the skill; no pattern did."""
        return self.skill is not None and not self.pattern
