"""Check that a recalled skill may begin on the page that is shown."""

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.plan.pictures import keep_snapshot
from activities.session.attachments import Attachments
from replaywright.domain.common.text import shorten
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.unmet import unmet_message
from replaywright.domain.skill.fitting import (
    FIT_MS,
    OTHER_CONTEXT,
    PRECONDITION,
    Fit,
    FitRequest,
    place_of,
    signed_in_of,
)
from replaywright.errors import SessionLost
from replaywright.ports.browser import BrowserSession
from replaywright.ports.stores import Artifacts, Secrets

MESSAGE_LIMIT = 300
"""Characters of why a page does not fit."""


class FitActivities:
    """Activity `session.fits`."""

    def __init__(self, attachments: Attachments, artifacts: Artifacts, secrets: Secrets) -> None:
        self._attachments = attachments
        self._artifacts = artifacts
        self._secrets = secrets

    @activity.defn(name="session.fits")
    async def fits(self, request: FitRequest) -> Fit:
        """Check that the start page shows what a skill begins with, signed in or not as when it was learned.

        Touches nothing. The page is read only where that is needed: to tell whether one is signed in, and to go on
        from a page that does not fit.

        Raises:
            ArtifactsUnavailable: the page cannot be kept.
            SessionLost: the browser is gone.
        """
        async with heartbeats("looking at the start page"):
            try:
                held = await self._attachments.hold(request.session, request.epoch)
                return await self._fit(held.browser, request)
            except SessionLost:
                await self._attachments.drop(request.session.session_id, request.epoch)
                raise

    async def _fit(self, browser: BrowserSession, request: FitRequest) -> Fit:
        lacking = failing(await browser.check(request.precondition, FIT_MS)) if request.precondition else None
        if lacking is None and request.signed_in is None:
            return Fit()
        shown = await browser.snapshot()
        now = signed_in_of(shown)
        is_other = None not in (request.signed_in, now) and request.signed_in != now
        if lacking is None and not is_other:
            return Fit(signed_in=now)
        kept = await keep_snapshot(self._artifacts, self._secrets, shown)
        if is_other:
            why = f"the skill was learned signed {_in_or_out(request.signed_in)}, and is signed {_in_or_out(now)} here"
            return Fit(reason=OTHER_CONTEXT, message=why, signed_in=now, snapshot=kept)
        assert lacking is not None
        message = f"the start page does not show what the skill begins with: {unmet_message(lacking)}"
        return Fit(
            reason=PRECONDITION,
            message=shorten(self._secrets.redact(message), MESSAGE_LIMIT),
            own_page=bool(request.start) and place_of(browser.url) == place_of(request.start),
            signed_in=now,
            snapshot=kept,
        )


def _in_or_out(signed_in: bool | None) -> str:
    return "in" if signed_in else "out"
