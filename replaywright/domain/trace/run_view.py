"""A run as people look at it: the one model that the report, the dashboard and programs read.

`replaywright.domain.trace.run_reading` makes it of what is kept of a run. It is data only: texts of pages, tasks and
models are in it as they are, and whoever shows them escapes them. Times are seconds since 1970, in JSON ISO 8601;
lengths are seconds.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, PlainSerializer

from replaywright.domain.common.base import Record
from replaywright.domain.common.durations import iso_of
from replaywright.domain.page.pictures import StepPicture
from replaywright.domain.run.runs import RunEnd, Totals
from replaywright.domain.run.scope import Usage
from replaywright.domain.run.standing import RunStatus
from replaywright.domain.skill.skills import SkillRef
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.questions import Question
from replaywright.domain.trace.trace import Verdict

Moment: TypeAlias = Annotated[float, PlainSerializer(iso_of, when_used="json")]
"""Seconds since 1970; in JSON it is ISO 8601."""
Area: TypeAlias = Literal["model", "plan", "person", "recovery", "policy", "check", "note"]
"""Subject of an event."""


class RunNumbers(Record):
    """Cost of a run, compared with others of the same task."""

    run_id: str
    started: Moment
    seconds: float
    status: RunStatus
    steps: int = 0
    heals: int = 0
    calls: int = 0
    tokens: int = 0
    """Tokens, in and out together."""
    cost_usd: float | None = None
    """None where the price of a call is not known."""
    is_this: bool = False
    """True: the run that the others are compared with."""


class Expected(Record):
    """One expectation of a step, and whether it held."""

    passed: bool
    required: bool = True
    reason: str
    """`holds`, or a code for why not."""
    expected: dict[str, Any] | None = None
    """The predicate, as a task file has it; None for one that was derived while learning, or that every step has."""
    actual: dict[str, Any] = Field(default_factory=dict)
    """Value found."""


class Event(Record):
    """Something that happened beside the attempts at steps."""

    at: Moment
    area: Area = "recovery"
    kind: str = "history"
    """Kind of the trace's line, or `history` for facts of the workflow's history alone."""
    title: str
    lines: tuple[str, ...] = ()
    who: str = ""
    usage: Usage = Usage()
    seconds: float | None = None
    is_bad: bool = False
    sequence: int | None = None
    """Index of the step that an event of the history belongs to; None where it belongs to none."""
    expected: tuple[Expected, ...] = ()
    """Conditions of the final verification."""
    artifacts: dict[str, str] = Field(default_factory=dict)
    """Digests by kind."""


class RunFacts(RunEnd):
    """Facts about a run from outside its trace."""

    run_id: str
    task: str
    status: RunStatus
    started: Moment
    ended: Moment | None = None
    """None while it goes on."""
    now: Moment = 0.0
    """Time of the view, for the length of a run that goes on."""
    goal: str = ""
    """The sentence that it began from; empty for steps that somebody wrote."""
    site: str = ""
    tenant: str = "default"
    lineage: str = ""
    mode: str = ""
    """Empty where the history is gone."""
    heal: str = ""
    version: str = ""
    """Version of Replaywright that made the view."""
    doing: str = ""
    """Current activity; empty once it has ended."""
    steps_planned: int = 0
    question: Question | None = None
    """Question that it waits for."""
    paused: str = ""
    """Person who paused it, and the reason."""
    totals: Totals | None = None
    """None where neither its result nor a worker told."""
    verification: tuple[Expected, ...] = ()
    skill: SkillRef | None = None
    resumed_from: str = ""
    """The run of the lineage that this one goes on after."""
    lineage_runs: tuple[str, ...] = ()
    """All runs of the lineage that are known, oldest first."""
    url: str = ""
    """Address in the Temporal UI."""
    history: tuple[Event, ...] = ()
    earlier: tuple[RunNumbers, ...] = ()
    """Runs of the same task before this one."""
    missing: tuple[str, ...] = ()
    """Parts that could not be read, with the reason."""


class AttemptView(StepOutcome):
    """One attempt at a step that came to an end, with its outcome."""

    at: Moment
    number: int
    """From 1, in the step."""
    kind: str = ""
    """Reason of a further attempt: retry, model, override, commit, resume, redis, person; empty for the first."""
    why: str = ""
    """Outcome of the attempt before."""
    verdict: Verdict
    found: str = ""
    """Short description of how its element was found; empty for a step on the page as a whole."""
    expected: tuple[Expected, ...] = ()
    overruled: str = ""
    epoch: int = 0
    usage: Usage = Usage()

    @property
    def seconds(self) -> float:
        """Return its duration in seconds."""
        return self.costs.total_ms / 1000


class StepView(Record):
    """One step of the run, with all that was tried."""

    id: str
    """Unique in the run, such as `step-4` or `step-4-2`; fit for an address."""
    sequence: int
    """Index in the plan, from 0."""
    title: str
    action: str = ""
    instruction: str = ""
    parameters: tuple[str, ...] = ()
    """Names of the parameters in it."""
    item: str = ""
    """Item of a list that it is done for: `invoice 2/5`."""
    override: str = ""
    """The override rule that it belongs to; empty for the task's own steps."""
    effect: Effect = Effect.READ
    site: str = ""
    attempts: tuple[AttemptView, ...]
    events: tuple[Event, ...] = ()
    """Events between attempts: calls of models, decisions of people, rechecks."""
    before: StepPicture | None = None
    """The page as it was shown before the step; None where no picture was to be taken."""
    after: StepPicture | None = None

    @property
    def number(self) -> int:
        """Return its number, counted from 1."""
        return self.sequence + 1

    @property
    def last(self) -> AttemptView:
        """Return the last attempt, which is the outcome of the step."""
        return self.attempts[-1]

    @property
    def seconds(self) -> float:
        """Return the duration of all attempts, without the time between them."""
        return sum(attempt.seconds for attempt in self.attempts)

    @property
    def at(self) -> float:
        """Return the time of its first mention."""
        return self.attempts[0].at

    @property
    def usage(self) -> Usage:
        """Usage of models for it."""
        total = Usage()
        for event in self.events:
            total = total.plus(event.usage)
        if not total.calls:
            for attempt in self.attempts:
                total = total.plus(attempt.usage)
        return total

    @property
    def moments(self) -> tuple[AttemptView | Event, ...]:
        """Attempts and what happened in between, in their order."""
        return tuple(sorted((*self.attempts, *self.events), key=lambda one: one.at))


class FailureView(Record):
    """Failure of a run, or the rule that blocked it, beside the message, the rule and the step in its facts."""

    reason: str
    """A code."""
    step_id: str = ""
    """Id of the step in this view; empty where it is not in it."""
    to_do: str = ""
    """Remedy for it."""
    resume: str = ""
    """The command that goes on where it stopped."""


class RunView(Record):
    """All of a run."""

    facts: RunFacts
    steps: tuple[StepView, ...] = ()
    """Steps in the order in which they were begun."""
    events: tuple[Event, ...] = ()
    """Events that belong to no step, in their order."""
    failure: FailureView | None = None
    totals: Totals = Totals()
    resumed_steps: int = 0
    """Steps whose outcome the ledger told: they were done before, and not again."""

    @property
    def seconds(self) -> float:
        """Duration, up to now if it still runs."""
        facts = self.facts
        return max(0.0, (facts.now if facts.ended is None else facts.ended) - facts.started)

    @property
    def entries(self) -> tuple[StepView | Event, ...]:
        """Steps and events in their order: the timeline."""
        return tuple(sorted((*self.steps, *self.events), key=lambda one: one.at))

    @property
    def numbers(self) -> RunNumbers:
        """Its cost, for comparison with other runs."""
        return numbers_of(
            self.facts.run_id, self.facts.started, self.seconds, self.facts.status, self.totals
        ).model_copy(update={"is_this": True})


def numbers_of(run_id: str, started: float, seconds: float, status: RunStatus, totals: Totals) -> RunNumbers:
    """Return the cost of a run, from its counts."""
    usage = totals.usage
    return RunNumbers(
        run_id=run_id,
        started=started,
        seconds=seconds,
        status=status,
        steps=totals.steps,
        heals=totals.heals,
        calls=usage.calls,
        tokens=usage.input_tokens + usage.output_tokens,
        cost_usd=None if usage.unpriced else usage.cost_usd,
    )
