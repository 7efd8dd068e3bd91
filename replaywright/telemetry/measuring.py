"""Measurements and span attributes of one attempt at an activity.

Pure functions over what the activity was asked and what it answered.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.run.commands import CommandOnStep, InputCommand, Recheck, StepCommand, StepContext
from replaywright.domain.run.commit_requests import Resolution, ResolveRequest
from replaywright.domain.run.model_requests import ProposeRequest
from replaywright.domain.run.runs import Finished
from replaywright.domain.run.scope import Usage
from replaywright.domain.site_session.codes import FetchCode, FetchedCode
from replaywright.domain.site_session.commands import EnterSiteSession, SessionEntered
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.step.overrides import host_of
from replaywright.domain.task.steps import names_element
from replaywright.telemetry import catalogue
from replaywright.telemetry.catalogue import PREFIX, Metric

Value = str | bool | int | float | tuple[str, ...]
"""Value of a span's attribute."""


@dataclass(frozen=True)
class Measured:
    """One value of one metric."""

    metric: Metric
    value: float = 1.0
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """One attempt at an activity that came to an end."""

    request: object
    """Input of the activity; None if it has none."""
    result: object
    """Result of the activity; None if it failed."""
    seconds: float
    attempt: int = 1
    """Temporal's count."""


def _unwrapped(request: object) -> object:
    return request.root if isinstance(request, StepCommand) else request


def measured(ran: Ran) -> Iterator[Measured]:
    """Yield the measurements of the attempt."""
    match _unwrapped(ran.request), ran.result:
        case CommandOnStep() as command, StepOutcome() as outcome:
            yield from _retried(command.context, ran.attempt)
            if not outcome.from_ledger:
                yield from _step(command, outcome, ran.seconds)
        case CommandOnStep() as command, None:
            yield from _retried(command.context, ran.attempt)
            yield from _attempt(command.context, "lost", ran.seconds)
        case _, Finished() as finished:
            yield from _asserted(finished.predicates)
        case ProposeRequest() as request, _ if ran.attempt == 1:
            yield Measured(catalogue.FALLBACKS, labels={"reason": request.missed.reason or "unmet"})
        case ResolveRequest() as request, Resolution() as resolution:
            action = request.action.step.action
            yield Measured(catalogue.DOUBTS, labels={"action": action, "verdict": resolution.verdict})
            if resolution.verdict == "undecidable":
                yield Measured(catalogue.UNKNOWN, labels={"action": action})
        case EnterSiteSession() as request, SessionEntered() as entered:
            yield from _entered(request, entered)
        case FetchCode() as request, FetchedCode() as fetched if fetched.sealed or fetched.why:
            result = "found" if fetched.sealed else "missing"
            yield Measured(catalogue.CODES, labels={"source": request.source, "result": result})
        case _:
            pass


def _entered(request: EnterSiteSession, entered: SessionEntered) -> Iterator[Measured]:
    result = "held" if entered.held else "refused" if entered.is_refused else "expired"
    yield Measured(catalogue.SESSION_ENTRIES, labels={"session": request.name, "result": result})
    if request.waited_s is not None:
        yield Measured(catalogue.SESSION_WAIT, request.waited_s, {"session": request.name})


def _step(command: CommandOnStep, outcome: StepOutcome, seconds: float) -> Iterator[Measured]:
    lookup = outcome.lookup
    if not isinstance(command, Recheck):
        yield from _attempt(command.context, outcome.status, seconds)
        yield from _looked_up(command, outcome)
    yield from _asserted(outcome.predicates)
    if outcome.status is Status.DONE and lookup.healed and not lookup.from_model:
        yield Measured(catalogue.HEALS, labels={"tier": lookup.tier})


def _attempt(request: StepContext, status: str, seconds: float) -> Iterator[Measured]:
    labels = {"action": request.step.action, "status": status}
    yield Measured(catalogue.ATTEMPTS, labels=labels)
    yield Measured(catalogue.STEP_DURATION, seconds, labels)


def _retried(request: StepContext, attempt: int) -> Iterator[Measured]:
    kind = "activity" if attempt > 1 else request.attempt
    if kind:
        yield Measured(catalogue.RETRIES, labels={"action": request.step.action, "kind": kind})


def _looked_up(command: CommandOnStep, outcome: StepOutcome) -> Iterator[Measured]:
    lookup = outcome.lookup
    is_proposed = outcome.lookup.from_model or (isinstance(command, InputCommand) and command.proposed is not None)
    if is_proposed or not names_element(command.context.step) or not (lookup.hit or lookup.reason):
        return
    how = "miss" if not lookup.hit else "healed" if lookup.healed else "declared" if lookup.tier == "query" else "hit"
    tier = (lookup.tier if lookup.hit else "") or "none"
    reason = (lookup.reason if not lookup.hit else "") or "none"
    yield Measured(catalogue.LOOKUPS, labels={"outcome": how, "tier": tier, "reason": reason})


def _asserted(results: tuple[PredicateResult, ...]) -> Iterator[Measured]:
    for result in results:
        said = "holds" if result.passed else "fails" if result.decided else "undecided"
        yield Measured(catalogue.ASSERTIONS, labels={"result": said})


# ----------------------------------------------------------------------------------------------- attributes


def attributes(ran: Ran) -> dict[str, Value]:
    """Return the attributes of the attempt's span; no text of a page, an author or a model."""
    told: dict[str, Value] = {}
    match _unwrapped(ran.request), ran.result:
        case CommandOnStep() as command, StepOutcome() as outcome:
            told = {**_asked(command.context), **_came_to(outcome)}
        case CommandOnStep() as command, _:
            told = _asked(command.context)
        case _:
            pass
    usage = getattr(ran.result, "usage", None)
    if isinstance(usage, Usage) and usage.calls:
        told["model.calls"] = usage.calls
    return {PREFIX + name: value for name, value in told.items() if value != ""}


def _asked(request: StepContext) -> dict[str, Value]:
    return {
        "site": host_of(request.run.site),
        "step.sequence": request.sequence + 1,
        "step.action": request.step.action,
        "step.fingerprint": request.fingerprint[:12],
        "step.attempt": request.attempt,
    }


def _came_to(outcome: StepOutcome) -> dict[str, Value]:
    lookup, costs = outcome.lookup, outcome.costs
    told: dict[str, Value] = {
        "step.effect": outcome.effect.value,
        "step.outcome": outcome.status.value,
        "step.reason": outcome.reason,
        "step.from_ledger": outcome.from_ledger,
        "lookup.tier": lookup.tier,
        "lookup.reason": lookup.reason,
        "cost.evaluations": costs.evaluations,
        "cost.redis_round_trips": costs.redis_round_trips,
        "cost.locating_ms": costs.locating_ms,
        "cost.acting_ms": costs.acting_ms,
        "cost.verifying_ms": costs.verifying_ms,
    }
    if host := host_of(outcome.url):
        told["site"] = host
    if lookup.hit:
        told |= {"lookup.healed": lookup.healed, "lookup.score": lookup.score, "lookup.runner_up": lookup.runner_up}
    return told
