"""Reading a page for a model that plans, as an activity of its own."""

import asyncio
import logging
from dataclasses import dataclass

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.plan.pictures import Pictured, pictured
from activities.session.attachments import Attachments
from replaywright.domain.plan.goal_runs import Looked, LookRequest
from replaywright.domain.run.redacted import redacted_snapshot
from replaywright.domain.skill.fitting import place_of, signed_in_of
from replaywright.errors import ActionFailed, ArtifactsUnavailable
from replaywright.ports.browser import BrowserSession
from replaywright.ports.stores import Artifacts, Secrets

_log = logging.getLogger("replaywright.looking")

CAPTURE_S = 5.0
"""For the document as it is, of which only the size is told: how much the snapshot saves."""


@dataclass(frozen=True, eq=False)
class LookActivities:
    """Activity `session.look`."""

    attachments: Attachments
    artifacts: Artifacts
    secrets: Secrets
    pictures: bool = False
    """Whether the planner is to see the page as well."""

    @activity.defn(name="session.look")
    async def look(self, request: LookRequest) -> Looked:
        """Keep what the current tab shows. Touches nothing.

        Raises:
            ArtifactsUnavailable: it cannot be kept.
            SessionLost: the browser is gone.
        """
        async with heartbeats("reading the page"):
            held = await self.attachments.hold(request.session, request.epoch)
            seen = await self._seen(held.browser, request.about)
            shown = seen.snapshot
            snapshot = await self.artifacts.put(shown.model_dump_json(by_alias=True).encode())
            return Looked(
                snapshot=snapshot,
                dom=await self._document(held.browser),
                place=self.secrets.redact(place_of(shown.url)),
                signed_in=signed_in_of(shown),
                picture=seen.picture,
                picture_missing=seen.missing,
            )

    async def _seen(self, browser: BrowserSession, about: str) -> Pictured:
        if self.pictures:
            return await pictured(browser, self.artifacts, self.secrets, self.secrets.redact(about))
        return Pictured(redacted_snapshot(await browser.snapshot(), self.secrets))

    async def _document(self, browser: BrowserSession) -> str:
        try:
            async with asyncio.timeout(CAPTURE_S):
                seen = await browser.capture(self.secrets.redact)
            return "" if seen.dom is None else await self.artifacts.put(seen.dom.encode(errors="replace"))
        except (ActionFailed, ArtifactsUnavailable, TimeoutError) as exc:
            _log.warning("the document that is planned from is not kept: %s", exc)
            return ""
