"""The LLM fallback: choose one element, as an activity of its own with a retry policy of its own."""

from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from replaywright.domain.overrides import host_of
from replaywright.domain.preferences import Overruling, overruled
from replaywright.domain.runs import Proposal, ProposeRequest
from replaywright.domain.snapshots import Snapshot
from replaywright.errors import ModelRateLimited
from replaywright.ports import Artifacts, Overrides, TargetProposer


class ModelActivities:
    """Activity `model.propose_target`."""

    def __init__(self, proposer: TargetProposer, artifacts: Artifacts, overrides: Overrides | None = None) -> None:
        """Without `overrides` the model's pick is never overruled."""
        self._overrides = overrides
        self._proposer = proposer
        self._artifacts = artifacts

    @activity.defn(name="model.propose_target")
    async def propose_target(self, request: ProposeRequest) -> Proposal:
        """Ask the executor model which element of a stored snapshot the instruction means.

        The model answers with an element id and nothing else; the target is derived from the snapshot by code, which
        takes what a preference rule of the site prefers instead, if there is one about the element.

        Raises:
            ModelFailed: one of its kinds. A rate limit carries the provider's wait to Temporal's retry.
        """
        async with heartbeats("asking the model"):
            snapshot = Snapshot.model_validate_json(await self._artifacts.get(request.snapshot))
            page = snapshot.as_text(about=request.instruction)
            ids = frozenset(element.id for element in snapshot.elements if element.actionable)
            try:
                choice = await self._proposer.propose(
                    instruction=request.instruction, action=request.action, page=page, ids=ids
                )
            except ModelRateLimited as exc:
                wait = None if exc.retry_after_s is None else timedelta(seconds=exc.retry_after_s)
                raise ApplicationError(str(exc), type="ModelRateLimited", next_retry_delay=wait) from exc
            element = None if choice.element_id is None else snapshot.element(choice.element_id)
            changed = None if element is None else await self._overruled(request.tenant, snapshot, element.id)
            chosen = element if changed is None else changed.element
            return Proposal(
                target=None if chosen is None else chosen.target,
                element_id=(choice.element_id or "") if changed is None else changed.element.id,
                usage=choice.usage,
                stand_in=choice.stand_in,
                overruled="" if changed is None else changed.said,
            )

    async def _overruled(self, tenant: str, snapshot: Snapshot, picked_id: str) -> Overruling | None:
        if self._overrides is None:
            return None
        return overruled(await self._overrides.rules(tenant, host_of(snapshot.url)), snapshot, picked_id)
