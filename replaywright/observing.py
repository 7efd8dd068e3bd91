"""Events for whoever measures; like a log, they cost nothing where nobody listens.

Adapters and workflows say what happened, in their own words; `replaywright.telemetry` makes metrics and spans of it.
A composition root says who listens, once for its process. Without that, nobody does.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from replaywright.domain.run.scope import Usage

RecoveryKind = Literal["adopted", "rebuilt", "failed"]
"""Recovery of a lost browser: adopted alive, rebuilt as a new one, or failed."""


StepEnd = Literal["done", "failed", "blocked", "skipped", "replaced", "cancelled"]
"""Final outcome of a step of the plan."""


@dataclass(frozen=True)
class ModelRequested:
    """One request to a model that is over. It holds neither the prompt nor the answer."""

    role: str
    provider: str
    """As the model library names it."""
    model: str
    """Without its provider."""
    begun_ns: int
    seconds: float
    host: str = ""
    port: int = 0
    temperature: float | None = None
    error: str = ""
    """Kind of the error that it ended with; empty if an answer came."""
    input_tokens: int = 0
    output_tokens: int = 0
    answered_by: str = ""
    """Model that the provider says has answered."""
    response_id: str = ""
    finish_reason: str = ""


class Observer(Protocol):
    """Whoever measures. None of its methods waits or raises."""

    def redis_asked(self, operation: str, seconds: float, *, ok: bool) -> None:
        """A round trip to Redis is over; `operation` is what was asked first."""

    def model_asked(self, role: str, model: str, usage: Usage, seconds: float, *, ok: bool) -> None:
        """A model was asked, and did or did not give a usable answer; `model` is its name in the settings."""

    def model_requested(self, request: ModelRequested) -> None:
        """One request to a model is over; `model_asked` tells the question, which may take two."""

    def signed_in(self, session: str, *, ok: bool) -> None:
        """A sign-in of a session has ended."""

    def not_masked(self, what: str) -> None:
        """Something of a page was thrown away, because a secret on it could not be hidden."""


class _Nobody:
    def redis_asked(self, operation: str, seconds: float, *, ok: bool) -> None:
        del operation, seconds, ok

    def model_asked(self, role: str, model: str, usage: Usage, seconds: float, *, ok: bool) -> None:
        del role, model, usage, seconds, ok

    def model_requested(self, request: ModelRequested) -> None:
        del request

    def signed_in(self, session: str, *, ok: bool) -> None:
        del session, ok

    def not_masked(self, what: str) -> None:
        del what


_listening: list[Observer] = [_Nobody()]


def observer() -> Observer:
    """Return the current observer."""
    return _listening[-1]


@contextlib.contextmanager
def observed_by(one: Observer) -> Iterator[None]:
    """Tell `one` until the block ends: all of this process, whatever task or thread it is in."""
    _listening.append(one)
    try:
        yield
    finally:
        _listening.remove(one)


# ------------------------------------------------------------------------------- what workflows tell

TELL: Final = "replaywright_tell"
"""The function from outside the sandbox that takes what a workflow tells; not there where nobody listens."""

span: ContextVar[str] = ContextVar("replaywright_span", default="")
"""The W3C `traceparent` of the span that a workflow is in; what it schedules becomes part of that."""


@dataclass(frozen=True)
class Spanned:
    """Span of a workflow that has ended."""

    parent: str
    """`traceparent` of what it is a part of; empty where that is the run itself."""
    own: str
    """Its own."""
    begun_ns: int
    ended_ns: int
    run_id: str


@dataclass(frozen=True)
class StepTold(Spanned):
    """A step of the plan came to its end, after all attempts and repairs."""

    site: str
    sequence: int
    action: str
    effect: str
    outcome: StepEnd
    how: str
    tier: str
    reason: str
    fingerprint: str


@dataclass(frozen=True)
class RecoveryTold(Spanned):
    """A lost browser or worker was recovered from, or was not."""

    kind: RecoveryKind


Told = StepTold | RecoveryTold
Tell = Callable[[Told], None]


def child_of(traceparent: str, mark: str) -> str:
    """Return the `traceparent` of a part of that span: the same wherever, and however often, it is computed.

    A workflow is computed again after every loss; what it gives to activities as their parent must not change with it.
    """
    if not traceparent:
        return ""
    version, trace, _, flags = traceparent.split("-")
    own = hashlib.sha256(f"{traceparent}/{mark}".encode()).hexdigest()[:16]
    return f"{version}-{trace}-{own}-{flags}"
