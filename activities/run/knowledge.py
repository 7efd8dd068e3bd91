"""Final verification of a run, and promotion of what it learned."""

from dataclasses import dataclass, field

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.policing import Policing, as_failure, blocked_by
from activities.requests.keeping import RequestKeeping
from activities.session.attachments import Attachments
from activities.step.failures import FailureEvidence
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.run.redacted import redacted_results
from replaywright.domain.run.runs import Finished, FinishRequest
from replaywright.errors import SessionLost
from replaywright.killpoints import hit_run
from replaywright.ports.ledger import StepStore
from replaywright.ports.stores import Secrets

VERIFY_MS = 5_000
"""Time that the final predicates have to become true."""


@dataclass(frozen=True, eq=False)
class KnowledgeActivities:
    """Activity `run.finish`."""

    attachments: Attachments
    store: StepStore
    secrets: Secrets
    failures: FailureEvidence
    policing: Policing = field(default_factory=Policing)
    requests: RequestKeeping | None = None
    """Keeps the requests of runs; None: nobody wants them."""

    @activity.defn(name="run.finish")
    async def finish_run(self, request: FinishRequest) -> Finished:
        """Check the final predicates, unless the last step has, and make what this run learned active if all hold.

        Raises:
            ApplicationError: of type `PolicyBlocked`: the run is over what it may do, and nothing is made active.
        """
        async with heartbeats("final verification"):
            over = self.policing.of(request.policy).over(request.used)
            if over is not None:
                raise as_failure(blocked_by(over, "at the end"))
            results: tuple[PredicateResult, ...] = ()
            artifacts: dict[str, str] = {}
            if request.seen is not None:
                results = request.seen
            elif request.verify:
                held = await self.attachments.hold(request.session, request.epoch)
                results = redacted_results(await held.browser.check(request.verify, VERIFY_MS), self.secrets)
                if failing(results) is not None:
                    artifacts = await self.failures.of_end(held.browser, request.verify, results)
            verified = failing(results) is None
            promoted = held_back = 0
            note = ""
            if not request.verify:
                note = "the task has no verify: without a final verification nothing learned is promoted"
            elif not verified:
                note = "the final verification failed: nothing learned is promoted"
            else:
                hit_run("promoting")
                written = {"tenant": request.tenant, "run_id": request.lineage}
                promoted, held_back = await self.store.promote(**written, content_keys=request.content_keys)
                await self.store.promote(**written, content_keys=request.element_keys)
            why_page = await self._kept(request) if verified else ""
            line = {
                "kind": "finish",
                "runId": request.run_id,
                "verified": verified,
                "promoted": promoted,
                "held": held_back,
                "note": note,
            }
            if not verified:
                verdicts = [result.model_dump(mode="json", by_alias=True) for result in results]
                line |= {"predicates": verdicts, "artifacts": artifacts}
            await self.store.append_trace(tenant=request.tenant, lineage=request.lineage, line=line)
            return Finished(
                predicates=results, promoted=promoted, held=held_back, note=note, artifacts=artifacts, why_page=why_page
            )

    async def _kept(self, request: FinishRequest) -> str:
        """Keep the requests of the run; return why the task cannot be done by them."""
        if request.requests is None or self.requests is None:
            return ""
        try:
            held = await self.attachments.hold(request.session, request.epoch)
        except SessionLost:  # verified by the last step, and its browser is gone with what it has seen
            return ""
        return await self.requests.keep(request, request.requests, held)
