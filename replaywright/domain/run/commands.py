"""What the activities of one step are asked to do."""

from typing import Annotated, Literal

from pydantic import Field

from replaywright.domain.common.base import LateRoot, Record
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.run.scope import RunScope, Usage
from replaywright.domain.run.steering import Said
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.step.press_grants import Consent
from replaywright.domain.task.steps import Step


class SealedCode(Record):
    """Code that a person gave for a step, sealed with the key of the question."""

    question: str
    """Id of the question, under which the key is kept."""
    sealed: str


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
    occurrence: int = 1
    """Number of the step among equal ones of the plan; see `numbered` in `replaywright.domain.step.fingerprints`."""
    attempt: str = ""
    """Kind of the attempt, empty for the first: retry, recheck, override, model, resume, …; for the trace."""
    why: str = ""
    """Result of the attempt before; for the trace."""
    checkpoint: bool = False
    """Take a checkpoint when the step is done, whatever it is; a commit has one anyway, a new page most times."""
    is_elsewhere: bool = False
    """The page is another one than the step before leads to by its address, or led to when it was recorded."""
    is_signed_in: bool = False
    """The run uses a session: no step of it has to sign in."""
    signs_in: bool = False
    """The step, the one before or after it, or one on the page that it opens enters a secret: a page to sign in on is
    its own business."""

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
    candidate_of: str = ""
    """Run that had it named by a model and was never verified; empty where a model was asked now."""
    sent_nothing: bool = False
    """Of a candidate: the step sent nothing in that run."""
    following: dict[int, str] = Field(default_factory=dict)
    """Elements that the model named for following steps in the same call, by their places in the plan."""
    named_at: int | None = None
    """Step with whose call the model named the element; None where it was asked now."""
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
    next_occurrence: int = 1
    """The number of that step among equal ones."""
    verify: tuple[Predicate, ...] = ()
    """Final predicates of the run, with its last step: they are checked as soon as it is done."""
    weak: Literal["ask", "warn"] = "warn"
    """A step that failed too often of late: refuse to begin, or do it and warn."""
    redo: str = ""
    """Fingerprint under which the lineage did the same before; a person wants it done again."""
    waited: bool = False
    """A try under this epoch came back without having dispatched, for want of the store: an open intent of this epoch
    is its own, taken by the store after the try had given up."""
    shown: str = ""
    """Digest of the page on which a model found no element: a page that is another one by now is waited for."""
    patience_ms: int = 0
    """Time of that wait; longer while requests are under way."""
    looks: bool = False
    """Only look for the element: nothing is done to the page, and nothing recorded but the trace's line."""
    records: bool = False
    """The requests of the step are kept, for a recipe."""
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


class StepCommand(LateRoot[Annotated[Perform | Reapply | Recheck | Await, Field(discriminator="kind")]]):
    """Input of `browser.<action>` and of `effect.await`."""


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


AWAIT = "effect.await"
"""The activity that waits for the request of a step with consequences."""
UNTOUCHED = "untouched"
"""Detail of the error of a step that lost its browser before it had given any input."""
