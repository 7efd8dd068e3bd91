"""Listening, at the end of a run, for what its inputs send after they have ended."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.session.attachments import Attachments
from replaywright.domain.proof.proof import is_same_site
from replaywright.domain.proof.witness import LATER, SENDINGS_KEPT, is_telling, sendings
from replaywright.domain.run.commit_requests import LateRequest, LearnedPress, Listened, ListenRequest
from replaywright.domain.step.fingerprints import site_scope
from replaywright.domain.step.outcomes import UnsafeRequest
from replaywright.domain.step.press_grants import kind_of
from replaywright.domain.task.actions import Effect
from replaywright.ports.browser import Pressed
from replaywright.ports.ledger import StepStore
from replaywright.ports.stores import Secrets


@dataclass(frozen=True, eq=False)
class ListenActivities:
    """Activity `effect.listen`."""

    attachments: Attachments
    store: StepStore
    secrets: Secrets
    limit_ms: int
    """Limit for listening to one run, whatever its task says."""

    @activity.defn(name="effect.listen")
    async def listen(self, request: ListenRequest) -> Listened:
        """Wait until no learned press may send anything more, and keep what it sent with its recording.

        A replay waits for the request. A press that sends has consequences from then on.

        Promise on a retry: the recordings are kept once more, with the same.

        Raises:
            SessionLost: the browser is gone, and with it what it was listened to for.
            StoreUnavailable: the recordings cannot be kept.
        """
        async with heartbeats("listening"):
            browser = (await self.attachments.hold(request.session, request.epoch)).browser
            learned = {press.fingerprint: press for press in request.presses}
            left_s = _left_s(browser.pressed(), learned, min(request.late_ms, self.limit_ms) / 1000)
            if left_s > 0:
                await browser.idle(left_s)
            late: list[LateRequest] = []
            inputs = browser.pressed()
            followed_at = [*(each.given_at for each in inputs.values()), float("inf")][1:]
            for (fingerprint, pressed), ended_at in zip(inputs.items(), followed_at, strict=True):
                if (press := learned.get(fingerprint)) is not None:
                    late += await self._kept(request, press, pressed, browser.url, ended_at)
            return Listened(late=tuple(late))

    async def _kept(
        self, request: ListenRequest, press: LearnedPress, pressed: Pressed, url: str, followed_at: float
    ) -> tuple[LateRequest, ...]:
        """Keep what the press has sent since it was recorded; what that is. The next input came at `followed_at`."""

        def masked(url: str) -> str:
            return self.secrets.redact(site_scope(url, request.values))

        known = await self.store.look_up(
            tenant=request.tenant,
            lineage=request.lineage,
            run_id=request.lineage,
            fingerprint=press.fingerprint,
            content_key=press.content_key,
        )
        if known.entry is None:
            return ()
        until = pressed.given_at + request.late_ms / 1000
        recorded = {sending.kind for sending in known.entry.sends}
        late = tuple(
            each
            for each in pressed.evidence.requests
            if is_telling(each)
            and is_same_site(each.url, url)
            and kind_of(each.method, masked(each.url)) not in recorded
            and each.sent_at <= until
        )
        if not late:
            return ()
        evidence = pressed.evidence.model_copy(update={"requests": late})
        found = [
            each if pressed.given_at + each.delay_ms / 1000 < followed_at else each.model_copy(update={"via": LATER})
            for each in sendings(evidence, pressed.given_at, masked=masked)
        ]
        sends = (*known.entry.sends, *found)
        effect = Effect.COMMIT if press.is_undeclared else known.entry.effect
        entry = known.entry.model_copy(update={"effect": effect, "sends": sends[:SENDINGS_KEPT]})
        await self.store.keep(tenant=request.tenant, run_id=request.lineage, entry=entry)
        return tuple(self._told(press, each, pressed.given_at) for each in late if press.is_undeclared)

    def _told(self, press: LearnedPress, request: UnsafeRequest, given_at: float) -> LateRequest:
        sent = self.secrets.redact(f"{request.method} {request.url}")
        delay_ms = max(0, int((request.sent_at - given_at) * 1000))
        return LateRequest(sequence=press.sequence, request=sent, sent_at=request.sent_at, delay_ms=delay_ms)


def _left_s(pressed: Mapping[str, Pressed], learned: Mapping[str, LearnedPress], late_s: float) -> float:
    """Seconds for which one of the learned presses may still send something."""
    open_since = [press.given_at for mark, press in pressed.items() if mark in learned and press.is_open]
    return max(open_since, default=0.0) + late_s - time.time() if open_since else 0.0
