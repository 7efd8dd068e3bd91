"""The LLM fallback: choose one element, as an activity of its own with a retry policy of its own.

Before it, what an earlier run had a model choose is tried: under the same checks, and for nothing.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from activities.traces import traced
from replaywright.domain.locating.filling import filled_target
from replaywright.domain.locating.matching import found_among
from replaywright.domain.locating.preferences import Overruling, overruled
from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.plan.model_limits import refuses
from replaywright.domain.run.commands import Proposal
from replaywright.domain.run.model_requests import CandidateRequest, NamedAhead, ProposeRequest
from replaywright.domain.run.scope import Usage
from replaywright.domain.step.overrides import host_of
from replaywright.domain.task.actions import Effect
from replaywright.errors import ModelRateLimited
from replaywright.killpoints import hit
from replaywright.ports.ledger import StepStore
from replaywright.ports.models import TargetProposer
from replaywright.ports.stores import Artifacts, Overrides


@dataclass(frozen=True, eq=False)
class ModelActivities:
    """Activities `model.propose_target` and `model.try_candidate`."""

    proposer: TargetProposer
    artifacts: Artifacts
    overrides: Overrides | None = None
    """None: the model's pick is never overruled."""
    store: StepStore | None = None
    """None: nothing is traced."""

    @activity.defn(name="model.propose_target")
    async def propose_target(self, request: ProposeRequest) -> Proposal:
        """Ask the executor model which element of a stored snapshot the instruction means.

        The model answers with element ids and nothing else; the target is derived from the snapshot by code, which
        takes what a preference rule of the site prefers instead, if there is one about the element. It is not asked
        where it has named the element before, on a page that has nothing new to act on since.

        Raises:
            ModelFailed: one of its kinds. A rate limit carries the provider's wait to Temporal's retry.
        """
        async with heartbeats("asking the model"):
            about = "\n".join((request.instruction, *(each.instruction for each in request.following)))
            snapshot, page = await as_read(await self.artifacts.get(request.snapshot), about)
            if request.named is not None:
                proposal = await self._as_named(request, request.named, snapshot)
                if proposal.target is not None:
                    return proposal
            ids = frozenset(element.id for element in snapshot.elements if element.actionable)
            async with passing_on():
                choice = await self.proposer.propose(
                    instruction=request.instruction,
                    action=request.action,
                    page=page,
                    ids=ids,
                    following=request.following,
                )
            hit("proposing", request.sequence)
            element = None if choice.element_id is None else snapshot.element(choice.element_id)
            proposal = Proposal(element_id=choice.element_id or "", usage=choice.usage, following=choice.following)
            return await self._checked(request, snapshot, element, proposal)

    async def _as_named(self, request: ProposeRequest, named: NamedAhead, now: Snapshot) -> Proposal:
        """Propose the element that the model has named before, if this is still the page that it was shown."""
        shown = await asyncio.to_thread(Snapshot.model_validate_json, await self.artifacts.get(named.snapshot))
        element = shown.element(named.element_id)
        found = None if element is None or now.adds_to(shown) else found_among(element.target, now.elements)
        if found is None:
            return Proposal()
        proposal = Proposal(element_id=found.id, usage=Usage(model=named.model), named_at=named.sequence)
        return await self._checked(request, now, found, proposal)

    @activity.defn(name="model.try_candidate")
    async def try_candidate(self, request: CandidateRequest) -> Proposal:
        """Name the element that a run found which was never verified, if the stored snapshot has it. Asks no model.

        What is named is checked as if a model had named it now. The candidates are taken: no other attempt is given
        them, so that one that leads nowhere is tried once.
        """
        assert self.store is not None
        taken = await self.store.candidates(
            tenant=request.tenant, run_id=request.lineage, content_keys=request.content_keys, taker=_taker()
        )
        found = next((entry for entry in taken if entry.is_proven and entry.is_for(request.values)), None)
        if found is None or found.target is None:
            return Proposal()
        async with heartbeats("trying what another run found"):
            snapshot, _ = await as_read(await self.artifacts.get(request.snapshot), request.instruction)
            element = found_among(filled_target(found.target, request.values), snapshot.elements)
            proposal = Proposal(
                element_id="" if element is None else element.id,
                candidate_of=found.run_id,
                sent_nothing=found.effect is Effect.READ and not found.sends,
            )
            return await self._checked(request, snapshot, element, proposal)

    async def _checked(
        self, request: ProposeRequest, snapshot: Snapshot, element: Element | None, proposal: Proposal
    ) -> Proposal:
        """Return the proposal with the element that it names, unless that is refused; trace it."""
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
            "elementId": proposal.element_id or None,
            "refused": refused,
            "standIn": proposal.usage.is_stand_in,
            "usage": proposal.usage.model_dump(mode="json", by_alias=True),
            **({"candidateOf": proposal.candidate_of} if proposal.candidate_of else {}),
            **({} if proposal.named_at is None else {"namedAt": proposal.named_at}),
        }
        await traced(self.store, tenant=request.tenant, lineage=request.lineage, line=line)
        named = {} if changed is None else {"element_id": changed.element.id}
        overruled_by = f"refused: {refused}" if refused else "" if changed is None else changed.said
        target = None if chosen is None else chosen.target
        return proposal.model_copy(update={**named, "target": target, "overruled": overruled_by})

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


def _taker() -> str:
    """Return what identifies this activity, whatever the number of its tries."""
    info = activity.info()
    return f"{info.workflow_run_id}/{info.activity_id}"


@contextlib.asynccontextmanager
async def passing_on() -> AsyncIterator[None]:
    """A provider's rate limit becomes the delay of Temporal's next try."""
    try:
        yield
    except ModelRateLimited as exc:
        wait = None if exc.retry_after_s is None else timedelta(seconds=exc.retry_after_s)
        raise ApplicationError(str(exc), type="ModelRateLimited", next_retry_delay=wait) from exc
