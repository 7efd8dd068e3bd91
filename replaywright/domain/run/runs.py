"""One execution of a task: what crosses between the caller, the workflow and the activities."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, RootModel

from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.page.targets import Target
from replaywright.domain.plan.goal_runs import GoalState, Mended, PlannerRequest, SkillUse
from replaywright.domain.plan.loops import ItemLine, Loop
from replaywright.domain.plan.trusted_context import TrustedContext
from replaywright.domain.policy.effective import Used
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.run.commit_lines import CommitLine, CommitState
from replaywright.domain.run.standing import OwnStatus
from replaywright.domain.run.steering import Said, Steering
from replaywright.domain.session.network_policy import RefusedHost
from replaywright.domain.session.sessions import OfRun, SessionRef
from replaywright.domain.skill.fitting import PassedOver
from replaywright.domain.skill.skills import SkillRef
from replaywright.domain.step.checkpoints import Checkpoint
from replaywright.domain.step.outcomes import SENT_LATE, DownloadedFile, Lookup, Status, StepOutcome
from replaywright.domain.step.overrides import Due
from replaywright.domain.step.press_grants import Consent, Grant, RequestKind
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.policy import Wishes
from replaywright.domain.task.questions import APPROVE_WITHIN_S, Question, UserAnswer, Verdict
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Task

FILES_KEPT = 200
"""Downloaded files that a run's result lists at most: it has to fit into the history."""
SECRET_PREFIX = "REPLAYWRIGHT_SECRET_"  # noqa: S105 - a variable's prefix, no secret
"""`{{secret:NAME}}` is read on the worker from the environment variable with this prefix and NAME."""


class Mode(StrEnum):
    """Sources that a run may use for elements."""

    AUTO = "auto"
    """The cache, then a heal, then the model."""
    LEARN = "learn"
    """The model for every element; the cache is written, not read."""
    REPLAY = "replay"
    """The cache and heals only; a miss fails the run. No model call, whatever happens."""


class Heal(StrEnum):
    """Use of elements that are found again, without a model, on a page that changed."""

    OFF = "off"
    PROPOSE = "propose"
    """Use the healed element in this run, but keep the new version back until a person promotes it."""
    AUTO = "auto"


STAND_IN = "stand-in"
"""Model name in answers of the demo's stand-in; no real model has it."""


class Usage(Record):
    """Cost of model calls."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    model: str = ""
    cost_usd: float = 0.0
    """Cost of the calls whose price is known."""
    priced: int = 0
    """Calls whose price is known."""
    prompts: int = 0
    """Version of the prompts that were answered; 0 where it is not known, or nothing was asked."""

    @property
    def unpriced(self) -> int:
        """Calls whose price is not known."""
        return self.calls - self.priced

    @property
    def is_stand_in(self) -> bool:
        """True if the answer came from the demo's stand-in, not from a model."""
        return self.model == STAND_IN

    def plus(self, other: "Usage") -> "Usage":
        """The sum of both; keeps the last model and prompts named."""
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            model=other.model or self.model,
            cost_usd=self.cost_usd + other.cost_usd,
            priced=self.priced + other.priced,
            prompts=other.prompts or self.prompts,
        )


class SealedCode(Record):
    """Code that a person gave for a step, sealed with the key of the question."""

    question: str
    """Id of the question, under which the key is kept."""
    sealed: str


class RunScope(Record):
    """The run that a step belongs to, the browser that it is done in, and the rules that it is done under."""

    run_id: str
    lineage: str
    tenant: str
    task: str
    session: SessionRef
    epoch: int
    """Epoch of the session and of this attempt at the step."""
    mode: Mode = Mode.AUTO
    heal: Heal = Heal.AUTO
    site: str = ""
    """Address that the task begins at: a code that a person gives may be entered there. Empty: nowhere."""
    policy: Wishes | None = None
    """Limits that the task sets itself. The operator's policy is the worker's own."""
    used: Used = Used()
    """Use so far of all that a policy limits."""
    pictures: Pictures = Pictures.FAILURES
    """Steps of which pictures are kept."""
    newest_checkpoint: str = ""
    """Digest of the newest checkpoint: for a process that has taken none yet."""


class StepContext(Record):
    """One step of a run, and the attempt that is made at it."""

    run: RunScope
    sequence: int
    step: Step
    values: dict[str, str] = Field(default_factory=dict)
    """Values of the task's parameters."""
    fingerprint: str
    act: str = ""
    """Key of the step's action, in any place: see `acts_of` in `replaywright.domain.step.fingerprints`. Empty for a
    step of a rule."""
    previous: str | None = None
    """Fingerprint of the step before, "" for the first; for the trace."""
    override: str = ""
    """Override rule that this step belongs to: its element is always looked for as the rule describes it."""
    item: str = ""
    """Item of a list that it is done for, without its value: `invoice 2/5`; for the trace. Empty outside of lists."""
    attempt: str = ""
    """Kind of the attempt, empty for the first: retry, recheck, override, model, resume, …; for the trace."""
    why: str = ""
    """Result of the attempt before; for the trace."""
    checkpoint: bool = False
    """Take a checkpoint when the step is done, whatever it is; a commit has one anyway, a new page most times."""
    is_elsewhere: bool = False
    """The page is another one than the step before leads to by its address, or led to when it was recorded."""
    signs_in: bool = False
    """The step, or the one before or after it, enters a secret: a page to sign in on is its own business."""

    @property
    def record(self) -> dict[str, str]:
        """Address of the step's record in the ledger."""
        return {"tenant": self.run.tenant, "lineage": self.run.lineage, "fingerprint": self.fingerprint}


class Proposal(Record):
    """An element that a model chose for a step."""

    target: Target | None = None
    """None when the model says that no element fits."""
    element_id: str = ""
    usage: Usage = Usage()
    overruled: str = ""
    """Change of the model's pick by a preference rule: `rule NAME: the model picked X, the rule chose Y`."""


class CommandOnStep(Record):
    """A command on one step of a run."""

    context: StepContext


class InputCommand(CommandOnStep):
    """A command that may give input to the page."""

    proposal: Proposal | None = None
    """The element that the model chose; None to use the cache."""
    consent: Consent | None = None
    """Grants behind a press that a model chose and no author declared. None where nobody has to grant it."""
    code: SealedCode | None = None
    """Text that a person gave for the step; None where a captcha was solved in the browser."""
    spent: tuple[str, ...] = ()
    """Override rules that are not looked for: they were performed for this step, or as often as a run may. `*`: all."""
    late_ms: int = 0
    """Time after its input in which a step with consequences may send its request."""
    recovered: bool = False
    """An earlier attempt may have begun: the ledger must be asked afresh."""

    @property
    def proposed(self) -> Target | None:
        """The element that the model chose."""
        return None if self.proposal is None else self.proposal.target


class Perform(InputCommand):
    """Perform a step that the ledger does not answer, verify it and record it."""

    kind: Literal["perform"] = "perform"
    next_step: Step | None = None
    """The step after this one: its cache entry is fetched along with the recording of this one."""
    verify: tuple[Predicate, ...] = ()
    """Final predicates of the run, with its last step: they are checked as soon as it is done."""
    weak: Literal["ask", "warn"] = "warn"
    """A step that failed too often of late: refuse to begin, or do it and warn."""
    redo: str = ""
    """Fingerprint under which the lineage did the same before; a person wants it done again."""
    waited: bool = False
    """A try under this epoch came back without having dispatched, for want of the store: an open intent of this epoch
    is its own, taken by the store after the try had given up."""
    disproved: bool = False
    """Nothing of an earlier attempt left the browser: that the page shows it as done proves nothing."""


class Reapply(InputCommand):
    """Do a step again that was done before, to bring a page forward: the ledger is neither asked nor written."""

    kind: Literal["reapply"] = "reapply"


class Recheck(CommandOnStep):
    """Check again an expectation that did not hold; give no input."""

    kind: Literal["recheck"] = "recheck"
    unmet: StepOutcome
    """Outcome of the attempt before."""


class Await(CommandOnStep):
    """Wait for the request of a step with consequences that has acted; give no input."""

    kind: Literal["await"] = "await"
    ended: StepOutcome
    """Outcome of the attempt before."""


class StepCommand(RootModel[Annotated[Perform | Reapply | Recheck | Await, Field(discriminator="kind")]]):
    """Input of `browser.<action>` and of `effect.await`."""

    model_config = ConfigDict(frozen=True, defer_build=True)


class HandedBackRequest(Record):
    """Input of `step.handed_back`: a person says that they have done the step."""

    action: StepContext
    said: Said


class LeaveOutRequest(Record):
    """Input of `step.leave_out`: the step counts as done without being performed."""

    action: StepContext
    reason: str
    """One of `outcomes.LEFT_OUT`."""
    message: str = ""


class Decision(Record):
    """Result of `step.decide`."""

    performs: bool
    outcome: StepOutcome | None = None
    """Outcome of a step that is not performed: recorded as done, with the reason `when`."""


class ProposeRequest(Record):
    """Input of `propose_target`, the model fallback."""

    run_id: str
    lineage: str
    sequence: int
    instruction: str
    action: str
    snapshot: str
    """Digest in the artifact store."""
    missed: Lookup = Lookup()
    tenant: str = "default"
    trusted: TrustedContext = TrustedContext()
    """Texts that the element is compared with."""


class ReviseRequest(PlannerRequest):
    """Input of `model.revise_plan`: the rest of the plan does not lead to the goal."""

    sequence: int
    """Index of the step that failed, in `plan`."""
    position: int | None = None
    """The same in the plan as it is written out, for the trace; None where there is no list before it."""


class Revision(Record):
    """Answer of the planner."""

    steps: tuple[Step, ...] = ()
    """They replace the plan from the failed step on; empty when it gave up."""
    complete: bool = True
    """The goal is reached after these steps; else the planner is asked again then. For goals only."""
    verify: tuple[Predicate, ...] = ()
    """Predicates that must hold at the end by the planner, as templates. For goals only."""
    gave_up: str = ""
    """Reason for which there is no plan."""
    question: str = ""
    """Question that the user has to answer first; then there are no steps."""
    usage: Usage = Usage()


class ProposeProbeRequest(OfRun):
    """Input of `propose_probe`: how might the site be asked whether this step took effect?"""

    sequence: int
    goal: str = ""
    title: str
    """The step as it reads in the UI."""
    values: dict[str, str] = Field(default_factory=dict)
    """Values of the task's parameters."""
    snapshot: str
    """Digest, in the artifact store, of the page that the step led to."""


class ProposedProbe(Record):
    """Answer of the planner, as far as code lets it pass."""

    probe: SiteProbe | None = None
    refused: str = ""
    """Reason for which there is none."""
    usage: Usage = Usage()


class TryProbeRequest(Record):
    """Input of `try_probe`: keep a probe with the step's recording if it proves itself."""

    action: StepContext
    """The step as it was done, with the session and epoch of now."""
    content_key: str
    probe: SiteProbe


class TriedProbe(Record):
    """Result of `try_probe`."""

    kept: bool
    reason: str = ""


class ResolveRequest(Record):
    """Input of `resolve_step`: decide a commit step in doubt by reading only."""

    action: StepContext
    """The step, with the present session and epoch: the attempt in doubt is fenced first."""
    adopted: bool
    """The session has the live page of that attempt. A rebuilt page proves nothing."""
    contradicted: str = ""
    """Evidence against which the page proves nothing either, such as `server_error`."""
    doubted: int = 0
    """Epoch of the attempt in doubt, as the workflow knows it; 0 when it is another one's that the ledger told of."""
    lost: bool = False
    """True: that attempt was lost, perhaps before its intent."""
    began_at: str = ""
    """Address at which the step began, redacted: its recording may have a probe that a model proposed."""
    witness: str = ""
    """Witness of the step before, if the attempt's browser has certainly ended: see `StepOutcome.witness`."""
    doubted_session: str = ""
    """The session of the attempt in doubt; empty where it is not known."""
    settled: int = 0
    """Epoch up to which all attempts are settled: an intent of one of them, to which Redis fell back, says nothing."""
    answered: bool = False
    """The site has answered all that the attempt was seen to send: nothing is in flight."""
    is_patient: bool = False
    """Requests in flight may still be waited for: absence decides nothing, and nobody is asked yet."""
    settle_ms: int = 0
    """Time after the old writer was stopped until the site shows all that it has been sent."""
    settled_ms: int = 0
    """Part of that time that has passed already."""


class StopRequest(Record):
    """Input of `effect.stop`: nothing more of a commit step may leave the browser."""

    action: StepContext
    """The step, with the session and epoch of now."""
    session_id: str
    """The browser of the attempt."""
    begun: int
    """Epoch of the attempt."""
    witness: str = ""
    """Witness of the step before; see `StepOutcome.witness`."""


class Stopped(Record):
    """State of a commit step that was stopped."""

    state: CommitState
    left_at: datetime | None = None
    """Time at which its request was let go, as far as the black box knows."""
    is_armed: bool = True
    """False: the attempt had not come to its gate, so it had certainly given no input."""


class LearnedPress(Record):
    """A press that was learned in this run, and of which its author does not say that it has consequences."""

    sequence: int
    fingerprint: str
    content_key: str
    """Key of its recording."""


class ListenRequest(OfRun):
    """Input of `effect.listen`: what do these presses send after they have ended?"""

    session: SessionRef
    epoch: int
    presses: tuple[LearnedPress, ...]
    late_ms: int
    """Time after the latest of them in which its page is listened to, while it is there."""


class LateRequest(Record):
    """One request that left after its press had ended."""

    sequence: int
    request: str
    """Method and address, without secrets and without a query."""
    sent_at: float
    """Seconds since 1970."""
    delay_ms: int
    """Time from the input to the request."""

    def __str__(self) -> str:
        said = f"{self.request}, {self.delay_ms / 1000:.1f} s after its input"
        return f"step {self.sequence + 1}: {SENT_LATE}: {said}; declare its effect (effect: commit)"


class Listened(Record):
    """Result of `effect.listen`."""

    late: tuple[LateRequest, ...] = ()


AWAIT = "effect.await"
"""The activity that waits for the request of a step with consequences."""
UNTOUCHED = "untouched"
"""Detail of the error of a step that lost its browser before it had given any input."""
RESOLVED = "resolved"
"""Reason of an outcome that was not seen by who did the step, but found out by reading."""
NO_INTENT = "no_intent"
"""Reason of a resolution: the attempt had not got as far as its intent."""
NOTHING_LEFT = "nothing_left"
"""Reason of a resolution: the keeper knows that nothing of the step left the browser."""
NOT_ON_SITE = "not_on_site"
"""Reason of a resolution: the site was asked twice, and does not show it."""
UNDISPATCHED = frozenset({NO_INTENT, NOTHING_LEFT})
"""Reasons that say that nothing was dispatched at all."""


class Resolution(Record):
    """Result of `effect.verify`: the state of a commit step in doubt."""

    verdict: Literal["done", "not_done", "undecidable", "in_flight"]
    """in_flight: something left that the site has not answered, and it does not show the step: it is asked again."""
    reason: str = ""
    outcome: StepOutcome | None = None
    left_at: float = 0.0
    """Departure of what is in flight, in seconds since 1970; 0 where nobody knows."""


class PersonVerdict(Record):
    """A person's answer to the question that a run waits with."""

    sequence: int
    """Index of the step, from 0."""
    verdict: Verdict
    """One of the question's `answers`."""
    who: str = ""
    """Name of the person who decided; kept in history and trace."""
    why: str = ""
    """Their reason; kept likewise."""
    question: str = ""
    """Id of the question; empty: whichever is open."""
    value: str = ""
    """The person's text, where one is wanted. Never a code: codes are sealed."""
    sealed: str = ""
    """A code, sealed with the question's key."""

    @property
    def by(self) -> str:
        """Return the name of the person who decided."""
        return self.who or "a person"


class SettleRequest(Record):
    """Input of `settle_step`: write down what a person decided."""

    action: StepContext
    verdict: PersonVerdict
    failed: bool = False
    """Nothing is in doubt: the step failed, and the run waited because its task says `on_failure: ask`."""


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
    """Content keys of all steps performed: candidates written under these by this run become active."""


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

    @property
    def verified(self) -> bool:
        """True if every final predicate held."""
        return not any(result.fails for result in self.predicates)


class Totals(Record):
    """Counts over a run, carried through continue-as-new."""

    steps: int = 0
    """Steps done."""
    hits: int = 0
    """Elements found as recorded."""
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
    last_commit: int = -1
    """Index of the last step performed that must not be repeated; -1 when there is none."""
    totals: Totals = Totals()
    content_keys: tuple[str, ...] = ()
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


class Resume(Record):
    """Going on after a run that did not end well, in its lineage."""

    of: str
    """The run that it goes on after."""
    who: str = ""
    """Person who decided what follows."""
    answered: int = 0
    """Steps that the ledger answered when this was planned; that it answers fewer is a loss, and nothing is done."""
    restarts: dict[int, str] = Field(default_factory=dict)
    """Steps, by index, that are performed although they were done, with the run in which that was asked for."""
    redo: tuple[str, ...] = ()
    """Fingerprints of what was done under another chain of steps and may be done again."""
    keep: tuple[str, ...] = ()
    """Fingerprints of what was done under another chain of steps and counts as done."""


OPEN_STATES = frozenset({"INTENT", "DISPATCHED", "RESOLVING", "ESCALATED", "ABANDONED"})
"""States in the ledger of a commit step that may or may not have taken effect."""


class AnsweredStep(Record):
    """One step that was done, as the ledger has it."""

    fingerprint: str
    outcome: StepOutcome


class ResumeRequest(OfRun):
    """Input of `run.resume`: answer from the ledger what was done."""

    task: str
    plan: tuple[Step, ...]
    """The plan as written; the items of its lists are in the ledger."""
    values: dict[str, str] = Field(default_factory=dict)
    resume: Resume


class Resumption(Record):
    """State of a plan's steps in the ledger."""

    answered: tuple[AnsweredStep, ...] = ()
    """The steps from the first on that were done."""
    fingerprint: str = ""
    """Fingerprint of the first step that was not; empty when all were done."""
    state: str = ""
    """State of that step in the ledger; see `replaywright.ports.Known`."""
    epoch: int = 1
    """Higher than any of the lineage."""

    @property
    def is_doubtful(self) -> bool:
        """True while nobody knows if the first step that is not answered took effect."""
        return self.state in OPEN_STATES


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
    admitted: str = ""
    """Proof, for a continued execution, that the first start was signed."""
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

    succeeded: bool
    """Every step was done and the final verification held."""
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
