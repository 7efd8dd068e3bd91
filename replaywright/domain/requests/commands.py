"""Messages of the activities that learn requests and replay them."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.session.sessions import OfRun
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Task

BY_REQUESTS = "by_requests"
"""Reason of a step that was done by requests over HTTP, without a page."""
WITHOUT_PAGE = "by requests, without a page"
"""Note of a run that was."""
ACTIVITY = "requests.run"
"""The activity that does a task by its requests."""
LOST_ACTIVITY = "requests.lost"
"""The activity that tells what an attempt at that may have sent whose worker was lost."""
SAMPLED = 0.05
"""Share of runs that go through the page although their requests are known: they show if the site has changed."""


class TaskRequests(Record):
    """The requests of a task, as they are kept."""

    task: str
    key: str
    """Digest of what the task does: another one has other requests."""
    plan: tuple[Step, ...]
    """Steps as written."""
    values: dict[str, str] = Field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    """Names of the secrets that the task uses."""
    verify: tuple[Predicate, ...] = ()
    """Final predicates, values filled in."""


class ShownRequests(TaskRequests):
    """A run through the page whose requests are to be kept."""

    extracted: dict[str, Any] = Field(default_factory=dict)
    commits: tuple[int, ...] = ()
    """Indexes of the steps done that must not be repeated."""
    day: str
    """Date of the run's beginning, as `2026-11-28`, in UTC."""


class RunRequests(OfRun):
    """Input of `requests.run`."""

    requests: TaskRequests
    epoch: int
    acts: tuple[str, ...]
    """Acts of the steps; see `replaywright.domain.step.fingerprints.acts_of`."""
    network: NetworkPolicy
    """Allowed connections."""
    witness: str = ""
    """Word of an attempt that was lost: the ledger's witness before its intent; see `StepOutcome.witness`."""


class RequestsRun(Record):
    """Output of `requests.run`."""

    status: Literal["done", "page", "open"]
    """`page`: nothing with consequences was sent, or certainly nothing came of it, and the task is done by its page;
    `open`: the step with consequences was sent, and the rest is for the page."""
    reason: str = ""
    """Reason for which the page is needed; empty where that is no surprise."""
    outcomes: tuple[StepOutcome, ...] = ()
    """Outcomes of the steps that are done, in their order; where it is open, the last is that of the step with
    consequences, done or in doubt."""
    verification: tuple[PredicateResult, ...] = ()
    url: str = ""
    sent: int = 0
    """Requests that were sent."""


def key_of(task: Task, plan: Sequence[Step]) -> str:
    """Return the key of a task's requests."""
    written = [step.model_dump(mode="json", exclude_none=True) for step in plan]
    verify = [each.model_dump(mode="json", exclude_none=True) for each in task.verify]
    return digest({"task": task.task, "url": task.url, "plan": written, "verify": verify})


def is_sampled(run_id: str) -> bool:
    """Return whether a run goes through the page although its requests are known; the same whenever it is asked."""
    return int(digest({"sampled": run_id})[:8], 16) < SAMPLED * 0x1_0000_0000
