"""One execution of a task: its input, its state, what it says of itself, and its result."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.plan.goal_runs import GoalState, Mended, SkillUse
from replaywright.domain.plan.loops import ItemLine, Loop
from replaywright.domain.policy.effective import Used
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.requests.commands import ShownRequests
from replaywright.domain.run.commit_lines import CommitLine
from replaywright.domain.run.commit_requests import LearnedPress
from replaywright.domain.run.resuming import Resume
from replaywright.domain.run.scope import Heal, Mode, Usage
from replaywright.domain.run.standing import OwnStatus
from replaywright.domain.run.steering import Steering
from replaywright.domain.session.network_policy import RefusedHost
from replaywright.domain.session.sessions import OfRun, SessionRef
from replaywright.domain.skill.check_tasks import LaterStep
from replaywright.domain.skill.fitting import PassedOver
from replaywright.domain.skill.skills import SkillRef
from replaywright.domain.step.checkpoints import Checkpoint
from replaywright.domain.step.outcomes import DownloadedFile, Lookup, Status
from replaywright.domain.step.overrides import Due
from replaywright.domain.step.press_grants import Grant, RequestKind
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.policy import Wishes
from replaywright.domain.task.questions import APPROVE_WITHIN_S, Question, UserAnswer
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Task

FILES_KEPT = 200
"""Downloaded files that a run's result lists at most: it has to fit into the history."""


class FinishRequest(OfRun):
    """Input of `finish_run`: final verification, and promotion of what the run learned."""

    task: str
    session: SessionRef
    epoch: int = 1
    verify: tuple[Predicate, ...] = ()
    """Predicates with the parameters' values filled in."""
    seen: tuple[PredicateResult, ...] | None = None
    """Verdicts at the last step if all held; None: they have to be checked."""
    policy: Wishes | None = None
    """Requests and limits of the task."""
    used: Used = Used()
    """Use so far of all that a policy limits."""
    content_keys: tuple[str, ...] = ()
    """Keys of the recordings of the steps done: candidates written under these by this run become active."""
    element_keys: tuple[str, ...] = ()
    """The same for recordings of elements alone."""
    requests: ShownRequests | None = None
    """The run, for others to be done by its requests; None if the task does not want that."""


class Finished(Record):
    """Result of `finish_run`."""

    predicates: tuple[PredicateResult, ...] = ()
    promoted: int = 0
    held: int = 0
    """Healed versions kept back for a person (heal mode `propose`)."""
    note: str = ""
    """Reason why nothing was promoted; empty otherwise."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """Digests by kind of what is kept of the page, if it is not verified."""
    why_page: str = ""
    """Reason for which the task cannot be done by its requests; empty if it can, or if it does not want to be."""

    @property
    def verified(self) -> bool:
        """True if every final predicate held."""
        return not any(result.fails for result in self.predicates)


class Totals(Record):
    """Counts over a run, carried through continue-as-new."""

    steps: int = 0
    """Steps done."""
    hits: int = 0
    """Elements found as recorded, also by a run that was never verified."""
    heals: int = 0
    """Elements found although their recorded description had changed, without a model."""
    fallbacks: int = 0
    """Elements that had to be asked of the model because a recording no longer led to them."""
    learned: int = 0
    """Elements asked of the model because nothing was recorded."""
    from_ledger: int = 0
    """Steps that an earlier attempt had performed."""
    warnings: int = 0
    """Steps that were done and warned of something, such as `unproven`."""
    recoveries: int = 0
    """Browsers or workers that were lost and made up for."""
    skipped: int = 0
    """Steps that were left out: their `when` did not hold, or their item of a list was skipped."""
    overrides: int = 0
    """Override rules performed."""
    overruled: int = 0
    """Picks of the model that a preference rule changed."""
    plans: int = 0
    """Revisions of the rest of the plan."""
    usage: Usage = Usage()
    """Calls of models, and their tokens."""


class SignsIn(Record):
    """Site session that a run signs in."""

    name: str
    number: int
    """Number of the state that it makes."""
    passkeys: bool = False
    """True: its browser has the session's passkeys."""


class SiteSessionUse(Record):
    """State of the site session that a run uses."""

    number: int
    digest: str
    """Address of its `PageState` in the artifact store."""
    since: int = -1
    """Index of the step before which the run was signed in with it; -1: before the first one was begun."""


class RunState(Record):
    """Position of a run: what continue-as-new carries."""

    position: int = 0
    """Index of the next step."""
    previous: str = ""
    previous_outcome: str = ""
    epoch: int = 1
    witness: str = ""
    """Witness of the step before; see `StepOutcome.witness`."""
    session: SessionRef | None = None
    site_session: SiteSessionUse | None = None
    """None: the task uses none, or the run is not signed in yet."""
    last_commit: int = -1
    """Index of the last step performed that must not be repeated; -1 when there is none."""
    totals: Totals = Totals()
    content_keys: tuple[str, ...] = ()
    """Keys of the recordings of the steps done."""
    element_keys: tuple[str, ...] = ()
    """Keys of the recordings of elements alone that are new."""
    extracted: dict[str, Any] = Field(default_factory=dict)
    files: tuple[DownloadedFile, ...] = ()
    due: tuple[Due, ...] = ()
    """Override rules to perform before the next step."""
    override_counts: dict[str, int] = Field(default_factory=dict)
    """Times that each override rule was performed, by its name."""
    override_spent: tuple[str, ...] = ()
    """Override rules that were performed as often as they may be."""
    plan: tuple[Step, ...] = ()
    """The plan, once it was revised, its lists not written out; empty while it is the task's own."""
    loops: tuple[Loop, ...] = ()
    """The lists of the plan whose items are known."""
    left_until: int = 0
    """Steps before this index are left out: their item was skipped."""
    left_out: tuple[int, ...] = ()
    """Indexes of the steps that were left out."""
    skipped: tuple[ItemLine, ...] = ()
    """Part of the coming result."""
    revised_from: tuple[int, ...] = ()
    """Index of the first step of each revision."""
    commits: tuple[int, ...] = ()
    """Indexes of the steps done that must not be repeated."""
    commit_lines: tuple[CommitLine, ...] = ()
    """Lines on the commits that the run has done itself."""
    resumed: bool = False
    """The ledger's answers were taken over: a run that goes on after another does that once."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """The newest, oldest first."""
    page_from: int = 0
    """Index of the first step that was done in the document that is shown."""
    warnings: tuple[str, ...] = ()
    """Part of the coming result."""
    goal: GoalState | None = None
    """State of a run that began from a goal, once it is decided how it goes on."""
    mended: Mended = Mended()
    """Repairs of a skill that is run by its name."""
    passed_over: tuple[PassedOver, ...] = ()
    """Skills that an undecided run from a goal recalled, and that did not fit."""
    signed_in: bool | None = None
    """The site takes such a run for signed in; None when nobody knows."""
    questions: int = 0
    """Number of questions asked."""
    codes_fetched: int = 0
    """Number of codes that were fetched, or tried to be, from sources of codes."""
    code_seen_at: float = 0.0
    """Seconds since 1970; messages before have brought codes that were used."""
    answers: tuple[UserAnswer, ...] = ()
    """The user's answers to a planner."""
    approved: str = ""
    """Act of the next step that can never be undone, if a person has approved of it."""
    used: Used = Used()
    """Use so far of all that a policy limits; its seconds follow from `begun`."""
    grants: tuple[Grant, ...] = ()
    """Grants by people in this run."""
    denials: tuple[RequestKind, ...] = ()
    """Requests that they have denied."""
    learned_presses: tuple[LearnedPress, ...] = ()
    """Presses whose late requests the run listens for at its end."""
    steering: Steering = Steering()
    """Requests of people to the run."""
    begun: float = 0.0
    """Start of the run, in seconds since 1970, moved on by the time that it waited for a person; 0 if it begins."""


class Asking(Record):
    """How long a run waits for a person where neither its task nor the step says."""

    within_s: float = Field(0.0, ge=0)
    """Seconds after which a question ends the run; 0: it waits for ever."""
    approve_within_s: float = Field(APPROVE_WITHIN_S, gt=0)
    """The same for an approval, which always has an end."""
    remind_every_s: float = Field(0.0, ge=0)
    """Seconds between two reminders; 0: none."""
    approve_recalled: Effect | Literal["never"] = Effect.COMMIT
    """Effect of a skill from which on a person confirms it when a model chose it for the sentence."""


class RunInput(Record):
    """Input of the workflow `BrowserTask`."""

    task: Task
    """Task as a task file has it."""
    values: dict[str, str] = Field(default_factory=dict)
    """Values of the task's parameters, by name; a parameter without a default needs one."""
    tenant: str = "default"
    """Tenant whose cache, ledger and skills it uses: the worker's."""
    lineage: str = ""
    """Empty for a first run: its own workflow id."""
    mode: Mode = Mode.AUTO
    """`auto`: cache, then heal, then model. `learn`: model only. `replay`: never the model."""
    heal: Heal = Heal.AUTO
    """A changed page: fail (`off`), heal this run only (`propose`), or for good (`auto`)."""
    steps_per_history: int = Field(100, ge=1)
    """Steps after which the run continues as new."""
    checkpoint_every: int = Field(10, ge=1)
    """Steps after which a checkpoint is due if none came of navigations and commits."""
    hibernate_after_s: float = Field(120.0, ge=0)
    """A run that has waited for a person for so many seconds gives its browser back until it goes on; 0: never."""
    asking: Asking = Asking()
    """Limits of waiting for a person."""
    pictures: Pictures = Pictures.FAILURES
    """Steps of which pictures are kept."""
    recycle_after_s: float = Field(7200.0, ge=0)
    """A browser that is so many seconds old is exchanged for a new one at the next checkpoint; 0: never."""
    recycle_above_mb: int = Field(1536, ge=0)
    """So is one that has so much resident memory, in units of 1,048,576 bytes; 0: never."""
    state: RunState = Field(default_factory=RunState.model_construct)  # so that who starts a run builds no schema of it
    """State to continue from; omitted by callers that start a run."""
    budget: RunLimits | None = None
    """Budget for models. None: the task's, and no revised plans."""
    propose_probes: bool = False
    """True: the planner proposes a probe of the site for each learned commit step."""
    on_failure: Literal["fail", "ask"] | None = None
    """Answer to a failed step that nothing mends. None: as the task says."""
    fresh: bool = False
    """True: learn the goal even if a skill exists."""
    wait_for_others: bool = True
    """True: while another run learns the same goal, wait for its skill."""
    resume: Resume | None = None
    """None for a run that begins at the beginning. With it, `state` tells of the run before: its epoch, and the browser
    that it may have left, which is fenced and looked into first."""
    skill: SkillRef | None = None
    """The skill whose task this is: how the run went is counted there. None for a task of its own."""
    relearns: bool = False
    """True: a revised plan that was verified becomes the next version of the skill that was run by its name."""
    named: str = ""
    """Name of a skill: the run begins by looking up the version that is run by this name then. `task` is not looked at,
    and `values` are those given; what they lack and the version has a default for is filled in."""
    is_canary: bool = False
    """True: the skill in `named` is run up to its first step with consequences, and without its final verification."""
    looks: tuple[LaterStep, ...] = ()
    """Of a canary: steps from the first one with consequences on, whose elements are looked for at its end."""
    sends: tuple[str, ...] | None = None
    """Of a canary: unsafe requests that may come of its inputs; its browser withholds others. None: all may."""
    rehearses: bool = False
    """True, for a canary: the first of `looks` is given its input, too, with all held back that it would send."""
    holds: bool = False
    """True, for a canary: if it fails for a reason that lies with the page, the schedules of its skill are paused."""
    admitted: str = ""
    """Proof, for a continued execution, that the first start was signed."""
    signs_in: SignsIn | None = None
    """The site session that the run signs in; None for every other run."""
    schedule: str = ""
    """Id of the Temporal schedule that starts it. Each start is then a lineage of its own, though Temporal may give two
    of them the same workflow id."""


class StepLine(Record):
    """One line of progress."""

    sequence: int
    """Index in the plan, from 0."""
    title: str
    """Step text, parameters by name."""
    status: Status
    """Status at its end."""
    lookup: Lookup = Lookup()
    """Tier that found its element."""
    from_ledger: bool = False
    """An earlier attempt had performed it."""
    already_done: bool = False
    """True: the wanted state was there, and nothing was touched."""
    message: str = ""
    """Message of the failure."""
    warnings: tuple[str, ...] = ()
    """Warnings: faults that did not fail the step."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """Digests of a failed step's evidence in the artifact store, by kind."""
    override: str = ""
    """The override rule that the step belongs to; empty for the task's own."""
    overruled: str = ""
    """Change of the model's pick by a preference rule."""
    left_out: str = ""
    """Reason why the step was skipped: one of `outcomes.LEFT_OUT`."""
    rule: str = ""
    """The rule of the policy that blocked the step."""
    kind: Literal["step", "plan", "browser", "note"] = "step"
    """`plan`: not a step, but a revision of the plan from that step on. `browser`: a new browser from that step on.
    `note`: what a run from a goal decided."""


class Progress(Record):
    """Answer of the query `progress`."""

    is_published: ClassVar[bool] = True

    status: OwnStatus = "running"
    """Status of the run."""
    step: int = 0
    """Number of steps done."""
    steps: int = 0
    """Number of steps of the plan, as far as it is known."""
    doing: str = ""
    """Activity under way."""
    waiting_for: str = ""
    """Decision that a person has to take, or name of who paused the run; empty when nothing waits."""
    answers: tuple[str, ...] = ()
    """The verdicts that a person may give."""
    question: Question | None = None
    """The same and more: since when, until when, what the page shows. None when nothing waits."""
    is_lent: bool = False
    """A person drives the browser."""
    revised_from: tuple[int, ...] = ()
    """Index of the first step of each revision of the plan."""
    lines: tuple[StepLine, ...] = ()
    """The last hundred steps at most."""
    totals: Totals = Totals()
    """Counts up to now."""


class RunEnd(Record):
    """End of a run, as its result and its report tell it."""

    failed_step: int | None = None
    """Index of the step, from 0, that ended the run."""
    reason: str = ""
    """A code for why it failed; empty if it did not."""
    message: str = ""
    """The same in words."""
    rule: str = ""
    """The rule of the policy that ended the run: it was blocked, which is no failure. Empty for any other end."""
    extracted: dict[str, Any] = Field(default_factory=dict)
    """Values read by `extract` steps, by field name."""
    skipped: tuple[ItemLine, ...] = ()
    """Items of lists that were left before all their steps were done (`on_failure: skip_item`)."""
    files: tuple[DownloadedFile, ...] = ()
    """Downloaded files, at most `FILES_KEPT`; the trace has all of them."""
    promoted: int = 0
    """Entries that became active."""
    held: int = 0
    """Healed entries that wait for a person (heal mode `propose`)."""
    note: str = ""
    """Reason why nothing was promoted; empty otherwise."""
    refused_hosts: tuple[RefusedHost, ...] = ()
    """Hosts that pages asked for and the policy refused, those asked for most often first, at most thirty."""
    warnings: tuple[str, ...] = ()
    """Steps in doubt that went on because their `on_unknown` says so: nobody knows what became of them."""


class RunResult(RunEnd):
    """Result of the workflow `BrowserTask`."""

    is_published: ClassVar[bool] = True

    succeeded: bool
    """Every step was done and the final verification held."""
    of_values: bool = False
    """It failed because of its values: a page refused one, or shows another. That says nothing against a skill."""
    totals: Totals = Totals()
    """Counts over the run."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """Digests of the failed step's evidence in the artifact store, by kind."""
    verification: tuple[PredicateResult, ...] = ()
    """The verdicts on the task's `verify`."""
    skill: SkillUse | None = None
    """The skill that the run was one of, or that it learned."""
    commits: tuple[CommitLine, ...] = ()
    """The steps with consequences that this run has begun, and what is known of each; the last fifty at most."""

    @property
    def healed(self) -> bool:
        """True if an element was found only by healing."""
        return self.totals.heals > 0
