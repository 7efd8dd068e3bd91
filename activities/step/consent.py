"""Deciding at the gate what a press that a model chose may send."""

import asyncio
import time
from collections.abc import Iterable
from typing import Final

from activities.policing import Policing
from replaywright.domain.page.observed import SAFE_METHODS
from replaywright.domain.page.targets import Target
from replaywright.domain.proof.proof import is_same_site
from replaywright.domain.run.redacted import Redacts, redacted_target
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.step.press_grants import (
    Consent,
    Consequence,
    Grant,
    RequestKind,
    are_named,
    held_consequence,
    kind_of,
)
from replaywright.ports.browser import BrowserSession

WORDS: Final = "the author's words"
RECORDING: Final = "the recording"
_TWIN_S: Final = 0.3
"""Time in which the browser reports a request that the keeper holds."""
_UNREAD_S: Final = 0.1
"""Time in which it reports one in a tunnel."""
_LOOK_EVERY_S: Final = 0.02


class Consenting:
    """One press: what stands behind it, what was granted, and the first request that nobody has granted."""

    def __init__(
        self,
        consent: Consent,
        target: Target | None,
        recorded: Iterable[Grant],
        *,
        policing: Policing,
        browser: BrowserSession,
        secrets: Redacts,
    ) -> None:
        self._consent = consent
        self._target = target
        self._policing = policing
        self._browser = browser
        self._secrets = secrets
        self._known = {grant.kind: grant.by for grant in consent.granted}
        self._known |= {grant.kind: RECORDING for grant in recorded}
        self._is_named = are_named(target, consent.words)
        self.granted: dict[RequestKind, Grant] = {}
        """Requests that were let go, and on whose word."""
        self.wanted: Consequence | None = None
        """The first request that was not."""

    async def permits(self, seen: GateSeen) -> bool:
        """Say if all may leave that waits at the gate; what may not is `wanted` from then on."""
        for kind in await self._kinds(seen):
            by = self._granted_by(kind)
            if not by:
                target = None if self._target is None else redacted_target(self._target, self._secrets)
                self.wanted = held_consequence(kind, target)
                return False
            self.granted[kind] = Grant(kind=kind, by=by)
        return True

    def _granted_by(self, kind: RequestKind) -> str:
        """Return who has granted a request; empty for nobody."""
        by = self._known.get(kind, "") or self._policing.trusts(kind.origin)
        return by or (WORDS if self._is_named and is_same_site(kind.origin, self._consent.site) else "")

    async def _kinds(self, seen: GateSeen) -> list[RequestKind]:
        """Return the kinds of unsafe requests under way, as the browser reports them, else as the keeper reads them.

        Inside a tunnel only the browser can tell one request from another.
        """
        held = {(each.method, each.url) for each in seen.waiting if each.method and each.method not in SAFE_METHODS}
        has_unread = any(not each.method for each in seen.waiting)
        begun = time.monotonic()
        while True:
            sent = self._browser.unanswered
            missing = held - {(request.method, request.url) for request in sent}
            patience = _TWIN_S if missing else _UNREAD_S if has_unread and not sent else 0.0
            if time.monotonic() - begun >= patience:
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        requests = [(request.method, request.url, request.fields) for request in sent]
        requests += [(method, url, ()) for method, url in sorted(missing)]
        redact = self._secrets.redact
        return [kind_of(method, redact(url), map(redact, fields)) for method, url, fields in requests]
