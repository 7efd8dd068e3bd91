"""Requests of people to a run under way: pause, skip a step, abort, lend the browser."""

from typing import Any, ClassVar

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.session.sessions import OfRun, OnSession, SessionRef

ABORTED = "aborted"
"""Reason of a run that a person has ended."""
LEND_S = 3_600.0
"""Default duration for which a person has the browser."""


class Said(Record):
    """Person and reason of a request; shown in progress, trace and result."""

    who: str = Field("", max_length=200)
    """Name of the person who asks; kept in history and trace."""
    why: str = Field("", max_length=1_000)
    """Their reason; kept likewise."""

    def __str__(self) -> str:
        return (self.who or "a person") + (f": {self.why}" if self.why else "")


class SkipStep(Said):
    """Input of the update `skip_step`: leave a step out that has not begun."""

    sequence: int = Field(ge=0)
    """Its index."""
    consequences: bool = False
    """The person knows that the step has consequences, which will be missing."""


class EditStep(Said):
    """Input of the update `edit_step`: do a step otherwise that failed or that a pause holds, and go on from there."""

    sequence: int = Field(ge=0)
    """Its index."""
    step: dict[str, Any]
    """Step as a task file has it."""
    rest: tuple[dict[str, Any], ...] | None = None
    """Steps that follow it, in place of those of the plan; None leaves these. With it, `step` may be as it was."""
    hold: bool = False
    """Pause again before the step that follows."""
    question: str = ""
    """Id of the question that this answers; empty: whichever is open."""


class TakeOverRequest(Said):
    """Input of the update `take_over`: drive the browser that waits."""

    lasts_s: float = Field(LEND_S, ge=1, le=86_400)
    """So long at most; then the run takes it back, and waits on."""


class Skip(Record):
    """A step that is to be left out."""

    sequence: int
    title: str
    """Step text that the person saw; if the plan has changed since, nothing is skipped."""
    said: str
    commits: bool = False


class Steering(Record):
    """Open requests of people; carried by continue-as-new."""

    paused: Said | None = None
    hold_at: int | None = None
    """Index in the plan as written of the step before which the run pauses by itself."""
    skips: tuple[Skip, ...] = ()
    edited: tuple[int, ...] = ()
    """Indexes in the plan at which a person has changed it."""
    lent: int = 0
    """Number of times that the browser was lent."""


class LentBrowser(Record):
    """A person may drive the browser."""

    is_published: ClassVar[bool] = True

    host: str
    """Host of the browser, where its address can be opened."""
    boot_id: str
    file: str
    """On that host, for the user of the worker only: what the address is. No secret is in any history."""
    until: float
    """Seconds since 1970."""


class LendSession(OnSession):
    """Input of `session.lend`."""

    lending: str
    """A name for it."""
    lasts_s: float


class TakeBack(OfRun):
    """Input of `session.take_back`."""

    session: SessionRef
    epoch: int
    lending: str
    sequence: int
    """Index of the step at which the run waits."""
    said: Said
    """Statement of the borrower."""


class HandedBack(Record):
    """Report on what a person did in the browser."""

    known: bool = False
    """True: the keeper had lent it. False: nothing is known."""
    requests: tuple[str, ...] = ()
    """What left the browser and may have changed something, such as `POST http://site/form`; of what is encrypted,
    where it went. At most fifty."""
    is_complete: bool = True
    url: str = ""
    """Current address of the page."""
    snapshot: str = ""
    """Digest of how it looks."""


HANDED_BACK = "handed_back"
"""Reason of a step that a person has done in the browser."""


class NoteSteering(OfRun):
    """Input of `run.steered`: a line of the trace."""

    sequence: int
    """Index of the step that the run was about to begin, or waits at."""
    event: str
    """paused, continued, aborted, edited, lent."""
    said: Said
    before: dict[str, Any] | None = None
    """Previous form of an edited step."""
    after: dict[str, Any] | None = None
    fingerprint: str = ""
    """Fingerprint of the previous form."""
