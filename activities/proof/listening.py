"""Listening, at the end of a run, for what presses without a declared effect send after they have ended."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.session.attachments import Attachments
from replaywright.domain.proof.proof import is_same_site
from replaywright.domain.proof.witness import SENDINGS_KEPT, is_telling, sendings
from replaywright.domain.run.commit_requests import LateRequest, LearnedPress, Listened, ListenRequest
from replaywright.domain.skill.entries import ActionCacheEntry
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

        A recording that sends has consequences from then on, and a replay waits for the request.

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
            for fingerprint, pressed in browser.pressed().items():
                if (press := learned.get(fingerprint)) is not None:
                    late += await self._kept(request, press, pressed, browser.url)
            return Listened(late=tuple(late))

    async def _kept(
        self, request: ListenRequest, press: LearnedPress, pressed: Pressed, url: str
    ) -> tuple[LateRequest, ...]:
        """Keep what the press has sent since it was recorded; what that is."""
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
        late = tuple(each for each in self._unrecorded(known.entry, pressed, url) if each.sent_at <= until)
        if not late:
            return ()
        evidence = pressed.evidence.model_copy(update={"requests": late})
        sends = (*known.entry.sends, *sendings(evidence, pressed.given_at, redact=self.secrets.redact))
        learned = {"effect": Effect.COMMIT, "sends": sends[:SENDINGS_KEPT]}
        entry = known.entry.model_copy(update=learned)
        await self.store.keep(tenant=request.tenant, run_id=request.lineage, entry=entry)
        return tuple(self._told(press, each, pressed.given_at) for each in late)

    def _unrecorded(self, entry: ActionCacheEntry, pressed: Pressed, url: str) -> Iterable[UnsafeRequest]:
        """Requests to the page's own site that the recording does not know of."""
        recorded = {sending.kind for sending in entry.sends}
        for each in pressed.evidence.requests:
            is_own = is_telling(each) and is_same_site(each.url, url)
            if is_own and kind_of(each.method, self.secrets.redact(each.url)) not in recorded:
                yield each

    def _told(self, press: LearnedPress, request: UnsafeRequest, given_at: float) -> LateRequest:
        sent = self.secrets.redact(f"{request.method} {request.url}")
        delay_ms = max(0, int((request.sent_at - given_at) * 1000))
        return LateRequest(sequence=press.sequence, request=sent, sent_at=request.sent_at, delay_ms=delay_ms)


def _left_s(pressed: Mapping[str, Pressed], learned: Mapping[str, LearnedPress], late_s: float) -> float:
    """Seconds for which one of the learned presses may still send something."""
    open_since = [press.given_at for mark, press in pressed.items() if mark in learned and press.is_open]
    return max(open_since, default=0.0) + late_s - time.time() if open_since else 0.0
