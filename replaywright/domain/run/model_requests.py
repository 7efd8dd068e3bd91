"""What a run asks a model, and what it is answered."""

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.plan.goal_runs import PlannerRequest
from replaywright.domain.plan.trusted_context import TrustedContext
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.run.commands import StepContext
from replaywright.domain.run.scope import Usage
from replaywright.domain.session.sessions import OfRun
from replaywright.domain.step.outcomes import Lookup
from replaywright.domain.task.steps import Step


class FollowingStep(Record):
    """A step whose element may stand on the page that a model is shown for one before it."""

    sequence: int
    instruction: str
    action: str


class NamedAhead(Record):
    """The element of a step as a model named it when it was asked for that of an earlier one."""

    element_id: str
    snapshot: str
    """Digest of the snapshot that the model was shown."""
    sequence: int
    """Step for which it was asked."""
    model: str = ""


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
    following: tuple[FollowingStep, ...] = ()
    """Steps to be asked for in the same call."""
    named: NamedAhead | None = None
    """Answer to an earlier call: taken without another one where the page has nothing new to act on since."""


class CandidateRequest(ProposeRequest):
    """Input of `try_candidate`."""

    content_keys: tuple[str, ...]
    """Keys of the step's recordings, of its own and of its element alone."""
    values: dict[str, str] = Field(default_factory=dict)
    """Values of the task's parameters."""


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
