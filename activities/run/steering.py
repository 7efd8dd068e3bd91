"""Writing down what people ask of a run, lending them its browser, and what they did with it."""

import logging
from dataclasses import dataclass

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.plan.pictures import keep_snapshot
from activities.session.attachments import Attachments
from activities.traces import traced
from replaywright.domain.run.steering import HandedBack, LendSession, LentBrowser, NoteSteering, TakeBack
from replaywright.errors import ActionFailed, ArtifactsUnavailable
from replaywright.ports.browser import BrowserSession
from replaywright.ports.keepers import Keepers
from replaywright.ports.ledger import StepStore
from replaywright.ports.stores import Artifacts, Secrets

_log = logging.getLogger("replaywright.steering")

REQUESTS_TOLD = 50
"""Id of the newest update that left the browser to a person."""


class SteerActivities:
    """Activity `run.steered`."""

    def __init__(self, store: StepStore) -> None:
        self._store = store

    @activity.defn(name="run.steered")
    async def note(self, request: NoteSteering) -> None:
        """Add a line to the trace."""
        data = request.model_dump(mode="json", by_alias=True, exclude={"lineage", "tenant", "said"}, exclude_none=True)
        line = {"kind": "steered", **data, "who": request.said.who, "why": request.said.why}
        await traced(self._store, tenant=request.tenant, lineage=request.lineage, line=line)


@dataclass(frozen=True, eq=False)
class LendActivities:
    """Activities `session.lend` and `session.take_back`."""

    keepers: Keepers
    attachments: Attachments
    store: StepStore
    artifacts: Artifacts
    secrets: Secrets

    @activity.defn(name="session.lend")
    async def lend(self, request: LendSession) -> LentBrowser:
        """Let a person drive the browser. This process lets go of it meanwhile: what the page asks is theirs to answer.

        Raises:
            SessionLost: the browser is gone, or a newer attempt owns it.
        """
        async with heartbeats("lending the browser"):
            held = await self.attachments.hold(request.session, request.epoch)
            lent = await self.keepers.lend(held.ref, request.epoch, request.lending, request.lasts_s)
            await self.attachments.drop(request.session.session_id, request.epoch)
            return lent

    @activity.defn(name="session.take_back")
    async def take_back(self, request: TakeBack) -> HandedBack:
        """Take the browser back, look at its page, and write down what left it meanwhile as the person's doing.

        Raises:
            SessionLost: the browser is gone, or a newer attempt owns it.
        """
        async with heartbeats("taking the browser back"):
            session = request.session.model_copy(update={"epoch": request.epoch})
            found = await self.keepers.take_back(session, request.epoch, request.lending)
            held = await self.attachments.hold(request.session, request.epoch)
            back = found.model_copy(
                update={
                    "requests": tuple(map(self.secrets.redact, found.requests[-REQUESTS_TOLD:])),
                    "is_complete": found.is_complete and len(found.requests) <= REQUESTS_TOLD,
                    "url": self.secrets.redact(held.browser.url),
                    "snapshot": await self._looked(held.browser),
                }
            )
            line = {"kind": "take_over", "sequence": request.sequence, "runId": request.run_id}
            person = {"who": request.said.who, "why": request.said.why}
            shown = back.model_dump(mode="json", by_alias=True)
            await traced(self.store, tenant=request.tenant, lineage=request.lineage, line={**line, **person, **shown})
            return back

    async def _looked(self, browser: BrowserSession) -> str:
        """Digest of how the page looks now; empty when it cannot be had."""
        try:
            return await keep_snapshot(self.artifacts, self.secrets, await browser.snapshot())
        except (ActionFailed, ArtifactsUnavailable) as exc:
            _log.warning("the page that a person handed back is not kept: %s", exc)
            return ""
