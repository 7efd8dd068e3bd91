"""What belongs to a run, and how it may work: every request of it carries this."""

from enum import StrEnum

from replaywright.domain.common.base import Record
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.policy.effective import Used
from replaywright.domain.session.sessions import SessionRef
from replaywright.domain.task.policy import Wishes


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


class RunScope(Record):
    """The run that a step belongs to, the browser that it is done in, and the rules that it is done under."""

    run_id: str
    lineage: str
    tenant: str
    task: str
    owner: str = ""
    """Task or skill that the recordings of its steps belong to."""
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
