"""Opening, adopting and closing browser sessions, and this worker's attachments to them."""

import asyncio
import contextlib
import logging
import socket
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.heartbeats import heartbeats
from activities.policing import Policing, as_failure
from activities.session.attachments import BLANK, Attachments
from activities.session.setup import resolved
from activities.traces import traced
from activities.vault import Vault
from replaywright.domain.session.network_policy import NetworkPolicy, RefusedHost, most_refused
from replaywright.domain.session.sessions import (
    CloseSession,
    HeldBack,
    HoldBack,
    OpenSession,
    RecoverSession,
    SessionClosed,
    SessionOpened,
    SessionRef,
)
from replaywright.errors import (
    ActionFailed,
    InputInvalid,
    NoPlace,
    PolicyBlocked,
    ReplaywrightError,
    SecretMissing,
    SessionLost,
)
from replaywright.killpoints import hit_run
from replaywright.ports.keepers import Keepers
from replaywright.ports.ledger import StepStore

_log = logging.getLogger("replaywright.sessions")

FULL_EVERY_S = 60.0
"""Interval at which a full host is logged again."""


@dataclass(eq=False)
class SessionActivities:
    """Activities `session.open`, `session.recover`, `session.hold_back` and `session.close`."""

    keepers: Keepers
    attachments: Attachments
    store: StepStore | None = None
    """None: nothing is traced."""
    queue: str = field(kw_only=True)
    host_queue: str = field(kw_only=True)
    policing: Policing = field(default_factory=Policing, kw_only=True)
    vault: Vault | None = field(default=None, kw_only=True)
    """Secrets of browser setups; None: there are none."""
    check_files: Callable[[Sequence[str]], object] = field(default=lambda _files: None, kw_only=True)
    """Raises `ActionFailed` if one of these may not or cannot be uploaded from this host."""
    _told_full_at: float = field(default=float("-inf"), init=False)

    @activity.defn(name="session.open")
    async def open_session(self, request: OpenSession) -> SessionOpened:
        """Start a keeper with its browser on this host and attach to it.

        On a retry a new one is started: an earlier one that nobody holds ends by its own deadline.

        Raises:
            ApplicationError: of type `NoPlace`: this host is full at the moment; nothing was started. Of type
                `upload_refused`: it has not the files that the run needs.
        """
        async with heartbeats("opening"):
            await self._require(request.files)
            opened = await self._open(request, request.instead_of)
            hit_run("opening")
        _log.info("session %s opened for %s", opened.session.session_id, request.run_id)
        return opened

    @activity.defn(name="session.recover")
    async def recover_session(self, request: RecoverSession) -> SessionOpened:
        """Adopt the run's live browser if it is on this host and alive; else open a new, empty one.

        A browser whose page is gone (its renderer crashed) is kept, with its cookies, but not adopted: there is nothing
        to go on from. One whose page was left while its gate is armed is ended: it opens no other page until the step
        in doubt is decided.

        Raises:
            ApplicationError: of type `NoPlace`: as in `open_session`. What could not be adopted is ended all the same.
        """
        async with heartbeats("recovering"):
            if self.keepers.is_local(request.lost):
                try:
                    held = await self.attachments.hold(request.lost, request.epoch)
                except SessionLost as exc:
                    _log.warning("session %s could not be adopted: %s", request.lost.session_id, exc)
                    await self.keepers.close(request.lost.model_copy(update={"epoch": request.epoch}))
                else:
                    url = held.browser.url
                    if url not in BLANK or await held.gate.pending() is None:
                        hit_run("adopting")
                        ref = self._mine(held.ref, request.epoch)
                        return SessionOpened(session=ref, adopted=url not in BLANK, url=url)
                    await self._give_back(held.ref.model_copy(update={"epoch": request.epoch}))
            opened = await self._open(request, request.lost.session_id)
            hit_run("rebuilding")
            return opened

    @activity.defn(name="session.hold_back")
    async def hold_back(self, request: HoldBack) -> HeldBack:
        """Let nothing leave the browser from now on that may store something, or say why that cannot be promised.

        Promise on a retry: what is held back stays so until the browser ends.

        Raises:
            SessionLost: the browser is gone.
        """
        async with heartbeats("holding back what is sent"):
            held = await self.attachments.hold(request.session, request.epoch)
            if sockets := held.browser.open_sockets:
                return HeldBack(why_not=f"the page has a WebSocket open ({sockets[0]}), and its messages would leave")
            setup = await resolved(request.setup.model_copy(update={"holds_back": True}), self.vault)
            await self.keepers.set_up(held.ref, setup)
            return HeldBack()

    @activity.defn(name="session.close")
    async def close_session(self, request: CloseSession) -> SessionClosed:
        """End the browser and its keeper; nothing happens when they are gone."""
        async with heartbeats("closing"):
            refused = await self._refused_in(request.session)
            if request.is_over:
                await self.attachments.leave(request.session.session_id)
            await self._give_back(request.session, is_over=request.is_over)
        if (recycling := request.recycling) is not None:
            line = {"kind": "browser", "sequence": recycling.sequence, "why": recycling.why, "kept": recycling.kept}
            await traced(self.store, tenant=recycling.tenant, lineage=recycling.lineage, line=line)
        return SessionClosed(refused=refused)

    async def _require(self, files: Sequence[str]) -> None:
        if not files:
            return
        try:
            await asyncio.to_thread(self.check_files, files)
        except ActionFailed as exc:
            message = f"before anything was opened: {exc}"
            raise ApplicationError(message, type=exc.reason, non_retryable=True) from exc

    async def _refused_in(self, ref: SessionRef) -> tuple[RefusedHost, ...]:
        """The hosts that were asked for most and refused; nothing of a session that is gone."""
        if not self.keepers.is_local(ref):
            return ()
        try:
            seen = await self.keepers.network(ref)
        except SessionLost:
            return ()
        return most_refused((*seen.refused, *seen.withheld))

    async def _open(self, request: OpenSession | RecoverSession, instead_of: str) -> SessionOpened:
        """A new browser; when the activity is cancelled on the way, it is given back before that is told."""
        try:
            policy = self.policing.network(request.network)
        except PolicyBlocked as exc:
            raise as_failure(exc) from exc
        opening = asyncio.create_task(self._opened(request, instead_of, policy))
        try:
            return await asyncio.shield(opening)
        except NoPlace as exc:
            if time.monotonic() - self._told_full_at >= FULL_EVERY_S:
                self._told_full_at = time.monotonic()
                _log.warning("runs wait for a browser: %s", exc)
            raise ApplicationError(str(exc), type="NoPlace", category=ApplicationErrorCategory.BENIGN) from exc
        except PolicyBlocked as exc:
            raise as_failure(exc) from exc
        except (InputInvalid, SecretMissing) as exc:
            raise ApplicationError(str(exc), type=type(exc).__name__, non_retryable=True) from exc
        except asyncio.CancelledError:
            with contextlib.suppress(ReplaywrightError):  # then there is nothing to give back
                await self._give_back((await opening).session)
            raise

    async def _opened(
        self, request: OpenSession | RecoverSession, instead_of: str, network: NetworkPolicy
    ) -> SessionOpened:
        setup = None if request.setup is None else await resolved(request.setup, self.vault)
        launched = await self.keepers.launch(uuid.uuid4().hex[:12], network, instead_of)
        ref = self._mine(launched, request.epoch)
        try:
            if setup is not None:
                await self.keepers.set_up(ref, setup)
            held = await self.attachments.hold(ref, request.epoch)
        except (SessionLost, InputInvalid):
            await self.keepers.close(ref)
            raise
        held.kept_at = time.monotonic()
        return SessionOpened(session=ref, url=held.browser.url)

    async def _give_back(self, ref: SessionRef, *, is_over: bool = False) -> None:
        await self.attachments.drop(ref.session_id)
        if self.keepers.is_local(ref):
            await self.keepers.close(ref, is_over=is_over)

    def _mine(self, ref: SessionRef, epoch: int) -> SessionRef:
        return ref.model_copy(
            update={
                "queue": self.queue,
                "host_queue": self.host_queue,
                "host": ref.host or socket.gethostname(),
                "epoch": epoch,
            }
        )
