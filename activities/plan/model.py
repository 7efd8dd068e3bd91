"""The LLM fallback: choose one element, as an activity of its own with a retry policy of its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from activities.traces import traced
from replaywright.domain.locating.preferences import Overruling, overruled
from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.plan.model_limits import refuses
from replaywright.domain.run.commands import Proposal
from replaywright.domain.run.model_requests import ProposeRequest
from replaywright.domain.step.overrides import host_of
from replaywright.errors import ModelRateLimited
from replaywright.killpoints import hit
from replaywright.ports.ledger import StepStore
from replaywright.ports.models import TargetProposer
from replaywright.ports.stores import Artifacts, Overrides


@dataclass(frozen=True, eq=False)
class ModelActivities:
    """Activity `model.propose_target`."""

    proposer: TargetProposer
    artifacts: Artifacts
    overrides: Overrides | None = None
    """None: the model's pick is never overruled."""
    store: StepStore | None = None
    """None: nothing is traced."""

    @activity.defn(name="model.propose_target")
    async def propose_target(self, request: ProposeRequest) -> Proposal:
        """Ask the executor model which element of a stored snapshot the instruction means.

        The model answers with an element id and nothing else; the target is derived from the snapshot by code, which
        takes what a preference rule of the site prefers instead, if there is one about the element.

        Raises:
            ModelFailed: one of its kinds. A rate limit carries the provider's wait to Temporal's retry.
        """
        async with heartbeats("asking the model"):
            snapshot, page = await as_read(await self.artifacts.get(request.snapshot), request.instruction)
            ids = frozenset(element.id for element in snapshot.elements if element.actionable)
            async with passing_on():
                choice = await self.proposer.propose(
                    instruction=request.instruction, action=request.action, page=page, ids=ids
                )
            hit("proposing", request.sequence)
            element = None if choice.element_id is None else snapshot.element(choice.element_id)
            changed = None if element is None else await self._overruled(request.tenant, snapshot, element.id)
            chosen = element if changed is None else changed.element
            refused = ""
            if chosen is not None:
                refused = refuses(chosen, request.action, request.trusted, page=snapshot)
            if refused:
                chosen = None
            line = {
                "kind": "propose",
                "sequence": request.sequence,
                "why": request.missed.reason,
                "elementId": choice.element_id,
                "refused": refused,
                "standIn": choice.usage.is_stand_in,
                "usage": choice.usage.model_dump(mode="json", by_alias=True),
            }
            await traced(self.store, tenant=request.tenant, lineage=request.lineage, line=line)
            return Proposal(
                target=None if chosen is None else chosen.target,
                element_id=(choice.element_id or "") if changed is None else changed.element.id,
                usage=choice.usage,
                overruled=f"refused: {refused}" if refused else "" if changed is None else changed.said,
            )

    async def _overruled(self, tenant: str, snapshot: Snapshot, picked_id: str) -> Overruling | None:
        if self.overrides is None:
            return None
        return overruled(await self.overrides.rules(tenant, host_of(snapshot.url)), snapshot, picked_id)


async def as_read(data: bytes, about: str) -> tuple[Snapshot, str]:
    """A stored snapshot, and what a model reads of it. In a thread: a large page would hold up all heartbeats here."""

    def read() -> tuple[Snapshot, str]:
        snapshot = Snapshot.model_validate_json(data)
        return snapshot, snapshot_text(snapshot, about=about)

    return await asyncio.to_thread(read)


@contextlib.asynccontextmanager
async def passing_on() -> AsyncIterator[None]:
    """A provider's rate limit becomes the delay of Temporal's next try."""
    try:
        yield
    except ModelRateLimited as exc:
        wait = None if exc.retry_after_s is None else timedelta(seconds=exc.retry_after_s)
        raise ApplicationError(str(exc), type="ModelRateLimited", next_retry_delay=wait) from exc
