"""This worker's attachments to browser sessions."""

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from activities.session.gate import reopened, settled
from activities.session.leaving import leave_pages
from activities.session.network import Network
from replaywright.domain.run.commands import Await, Recheck
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.session.sessions import SessionRef, Wear
from replaywright.domain.step.checkpoints import Checkpoint, PageState
from replaywright.domain.step.outcomes import StepOutcome
from replaywright.errors import Fenced, SessionLost, StoreUnavailable
from replaywright.ports.browser import Browsers, BrowserSession
from replaywright.ports.keepers import CommitGate, Keepers, LeftBehind
from replaywright.ports.ledger import Known

_log = logging.getLogger("replaywright.sessions")

RENEW_EVERY_S = 5.0
KEEPING_S = 3.0
"""Time that pictures of a session have to be taken and kept before it is let go of."""
TELL_EVERY_S = 60.0
"""Interval at which it is logged again that leases are not renewed."""
UNUSED_S = 120.0
"""A browser that no step has used this long after it was opened is left to the keeper's deadline."""
BLANK = ("", "about:blank", "chrome://newtab/", "chrome://new-tab-page/")
"""Addresses of a browser that shows nothing of a run."""


class Acted(Protocol):
    """A step that has acted, and whose outcome may still change."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the step."""

    async def awaited(self, command: Await) -> StepOutcome:
        """Wait for the request of the step, and return its outcome by then."""

    async def looked_again(self, command: Recheck) -> StepOutcome:
        """Wait a little for what is expected, and return the outcome by then."""


@dataclass(frozen=True)
class Taking:
    """A checkpoint on its way: the page is read first, then what was read is stored."""

    reading: "asyncio.Task[object]"
    storing: "asyncio.Task[Checkpoint | None]"

    def __post_init__(self) -> None:
        for task in (self.reading, self.storing):  # one that nobody asks for any more may fail unheard
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def cancel(self) -> None:
        """Give it up."""
        self.reading.cancel()
        self.storing.cancel()


@dataclass
class Attachment:
    """This process's hold on one session."""

    ref: SessionRef
    epoch: int
    browser: BrowserSession
    gate: CommitGate
    stop_loading: Callable[[], Awaitable[bool]]
    """Stops what its pages load; see `Browsers.stop_loading`."""
    wear: Callable[[], Awaitable[Wear]]
    """Age and size of the browser; see `Keepers.wear`."""
    network: Network
    """Hosts that it may connect to, and refused ones."""
    prefetched: dict[tuple[str, str], Known] = field(default_factory=dict)
    """Look-ups for the next step that came with the last recording, by fingerprint and content key. They save a round
    trip."""
    good_before: str = ""
    """Digest of the page on which the last good run left the step that was done last; empty if it is not known."""
    unmet: Acted | None = None
    """The last step that did not lead to what is expected: it may yet. What it saw is too large for a history."""
    waiting: Acted | None = None
    """The last step, while its request is waited for: its hand-shake at the gate is under way."""
    opened_at: float = field(default_factory=time.monotonic)
    checkpointing: "Taking | None" = None
    """The checkpoint that is being taken since the last step ended."""
    document: str = ""
    """Id of the document when a step was last done."""
    picturing: "asyncio.Task[None] | None" = None
    """A picture that is being taken since the last step ended: the page is left alone until then."""
    keeping: "set[asyncio.Task[None]]" = field(default_factory=set)
    """Pictures that are taken, and not kept yet."""
    is_pictured: bool = False
    """The page that is shown has its picture, or needs none."""
    kept: PageState | None = None
    """The latest checkpoint that this process has taken or restored."""
    kept_at: float = float("-inf")
    """Monotonic seconds when there was last nothing to lose: a new, empty browser, or a checkpoint was begun."""
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the step under way: one that Temporal has given up on may still be at it when the next try comes."""
    is_used: bool = False
    """A step came after the opening. A session that nobody waits for is left to the keeper's deadline."""

    async def pictured(self) -> None:
        """Wait until the picture of the page is taken."""
        if self.picturing is not None:
            await asyncio.wait({self.picturing})
            self.picturing = None


async def _pictured(held: Attachment) -> None:
    """Let the pictures of a session be kept before it is let go of, as long as that does not take long."""
    if held.picturing is not None:
        _, late = await asyncio.wait({held.picturing}, timeout=KEEPING_S)
        for task in late:
            task.cancel()
    if held.keeping:  # what is late needs the session no more, and ends by its own limits
        await asyncio.wait(held.keeping, timeout=KEEPING_S)


class Attachments:
    """The sessions that this process is attached to; attaches on demand."""

    def __init__(self, keepers: Keepers, browsers: Browsers) -> None:
        self._keepers = keepers
        self._browsers = browsers
        self._held: dict[str, Attachment] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One a session: a browser that is slow to answer must not hold up the others."""

    @property
    def count(self) -> int:
        """Number of sessions that are held now."""
        return len(self._held)

    async def hold(self, ref: SessionRef, epoch: int, *, pictured: bool = True) -> Attachment:
        """The attachment for this epoch, made if need be; its page may be read and touched once it is `pictured`.

        Raises:
            SessionLost: no live browser is to be had for this session here.
            Fenced: a newer attempt of this process holds it already.
        """
        async with self._locks[ref.session_id]:
            held = self._held.get(ref.session_id)
            if held is not None and held.epoch == epoch:
                held.is_used = True
                if pictured:
                    await held.pictured()
                return held
            if held is not None and held.epoch > epoch:
                raise Fenced(f"session {ref.session_id} is held by epoch {held.epoch}; mine is {epoch}")
            await self._drop(ref.session_id)
            if not self._keepers.is_local(ref):
                raise SessionLost(f"session {ref.session_id} lives on host {ref.host!r}, not on this one")
            attached = await self._attached(ref, epoch)
            self._held[ref.session_id] = attached
            return attached

    async def _attached(self, ref: SessionRef, epoch: int) -> Attachment:
        """Attach; what an earlier epoch left at the gate is settled before, as a held navigation lets nobody attach."""
        endpoint = await self._keepers.attach(ref, epoch)
        policy = (await self._keepers.network(ref)).policy
        gate = await self._keepers.gate(ref, epoch)
        stop_loading = partial(self._browsers.stop_loading, endpoint)
        try:
            left = await settled(gate, stop_loading)
            browser = await self._browsers.attach(endpoint, ref.directory, gate.point)
            if left is not None:
                await reopened(gate, left, stop_loading)
        except BaseException:
            await gate.close()
            raise
        network = Network(policy, partial(self._keepers.network, ref))
        return Attachment(ref, epoch, browser, gate, stop_loading, partial(self._keepers.wear, ref), network)

    async def left_behind(self, session_id: str, op_id: str, epoch: int) -> LeftBehind:
        """Return what a keeper of this host that has ended wrote of an operation."""
        return await self._keepers.left_behind(session_id, op_id, epoch)

    async def cut(self, ref: SessionRef, epoch: int, op_id: str, begun: int) -> GateSeen | None:
        """Close the gate of a session under this epoch: nothing more of an operation leaves its browser.

        What was let go and has not left yet is stopped, too. Nobody is attached to the session any more: it ends.

        Returns:
            What became of the operation of the epoch `begun`; None when it was never armed there.

        Raises:
            SessionLost: the session is of another host, or its keeper does not answer.
            Fenced: a greater epoch has it.
        """
        if not self._keepers.is_local(ref):
            raise SessionLost(f"session {ref.session_id} lives on host {ref.host!r}, not on this one")
        async with self._locks[ref.session_id]:
            endpoint = await self._keepers.attach(ref, epoch)
            gate = await self._keepers.gate(ref, epoch)
            try:
                left = await settled(gate, partial(self._browsers.stop_loading, endpoint))
                if left is not None and not left.is_closed:
                    await gate.cut(left.op_id)
                return await gate.recall(op_id, begun)
            finally:
                await gate.close()
                await self._drop(ref.session_id)

    async def keep_leases(self, prove: Callable[[], Awaitable[None]]) -> None:
        """Prolong the leases of all held sessions, for ever; only ever after `prove` came back from the store.

        A worker that is cut off from the rest of the system must not keep a browser that others may want to adopt.
        That is told at once and then once a minute, while a session is held.
        """
        told_at = float("-inf")
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            if not self._held:
                told_at = float("-inf")
                continue
            try:
                await prove()
            except StoreUnavailable as exc:
                if time.monotonic() - told_at >= TELL_EVERY_S:
                    told_at = time.monotonic()
                    _log.warning("leases are not renewed: %s", exc)
                continue
            told_at = float("-inf")
            for held in list(self._held.values()):
                if not held.is_used and time.monotonic() - held.opened_at > UNUSED_S:
                    continue
                try:
                    await self._keepers.renew(held.ref, held.epoch)
                except SessionLost as exc:
                    _log.warning("session %s is lost: %s", held.ref.session_id, exc)
                    await self.drop(held.ref.session_id, held.epoch)

    async def leave(self, session_id: str) -> None:
        """Leave the pages of a session that this process holds, and wait until what they send then is answered.

        Some pages send only when they are left. The wait is bounded, and told in the log where it was too short.
        """
        held = self._held.get(session_id)
        if held is None:
            return
        if held.picturing is not None:  # of what the last step led to
            await asyncio.wait({held.picturing})
        try:
            if not await leave_pages(held.browser, held.gate):
                _log.warning("session %s: no answer was seen to what its pages sent as they were left", session_id)
        except SessionLost as exc:  # it is gone, or its gate is closed and stays so
            _log.info("the pages of session %s were not left: %s", session_id, exc)

    async def drop(self, session_id: str, epoch: int | None = None) -> None:
        """Let go of a session without ending it; with an epoch only if it is that one which holds it."""
        async with self._locks[session_id]:
            held = self._held.get(session_id)
            if held is not None and epoch in (None, held.epoch):
                await self._drop(session_id)
        if session_id not in self._held and not self._locks[session_id].locked():
            del self._locks[session_id]

    async def drop_all(self) -> None:
        """Let go of every session: the worker is leaving, the browsers stay."""
        for session_id in list(self._held):
            await self.drop(session_id)

    async def _drop(self, session_id: str) -> None:
        held = self._held.pop(session_id, None)
        if held is not None:
            if held.checkpointing is not None:
                held.checkpointing.cancel()
            await _pictured(held)
            await held.gate.close()
            with contextlib.suppress(SessionLost):
                await held.browser.detach()
