"""The LLM fallback: choose one element, as an activity of its own with a retry policy of its own."""

from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from replaywright.domain.runs import Proposal, ProposeRequest
from replaywright.domain.snapshots import Snapshot
from replaywright.errors import ModelRateLimited
from replaywright.ports import Artifacts, TargetProposer


class ModelActivities:
    """Activity `model.propose_target`."""

    def __init__(self, proposer: TargetProposer, artifacts: Artifacts) -> None:
        self._proposer = proposer
        self._artifacts = artifacts

    @activity.defn(name="model.propose_target")
    async def propose_target(self, request: ProposeRequest) -> Proposal:
        """Ask the executor model which element of a stored snapshot the instruction means.

        The model answers with an element id and nothing else; the target is derived from the snapshot by code.

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
            return Proposal(
                target=None if element is None else element.target,
                element_id=choice.element_id or "",
                usage=choice.usage,
                stand_in=choice.stand_in,
            )
