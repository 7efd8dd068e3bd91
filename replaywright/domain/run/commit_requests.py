"""What is asked about a step with consequences: whether it took effect, that it stops, and what it sends late."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.run.commands import StepContext
from replaywright.domain.run.commit_lines import CommitState
from replaywright.domain.session.sessions import OfRun, SessionRef
from replaywright.domain.step.outcomes import SENT_LATE, StepOutcome
from replaywright.domain.task.questions import Verdict


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
    may_sign_in: bool = False
    """True: a site that asks to sign in is told as `signed_out`."""


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
    """An input that was learned in this run, and whose page may send because of it when the step has ended."""

    sequence: int
    fingerprint: str
    content_key: str
    """Key of its recording."""
    is_undeclared: bool = True
    """A press of which its author does not say that it has consequences: what it sends says so, and is told."""


class ListenRequest(OfRun):
    """Input of `effect.listen`: what do these presses send after they have ended?"""

    session: SessionRef
    epoch: int
    presses: tuple[LearnedPress, ...]
    late_ms: int
    """Time after the latest of them in which its page is listened to, while it is there."""
    values: Mapping[str, str] = Field(default_factory=dict)
    """The run's values: no recording keeps them in an address."""


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

    verdict: Literal["done", "not_done", "undecidable", "in_flight", "signed_out"]
    """in_flight: something left that the site has not answered, and it does not show the step: it is asked again.
    signed_out: the site asks to sign in, and the run can have that done."""
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
