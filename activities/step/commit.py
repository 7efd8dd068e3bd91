"""Letting a commit step's bytes go: the keeper's gate holds them until the ledger has said that they may."""

import asyncio
import contextlib
import json
import logging
import time
import uuid

from activities.session.attachments import Attachment
from activities.session.gate import WATCHED, operation_of
from activities.step.consent import Consenting
from activities.step.ledger import StepLedger
from replaywright.domain.run.commands import InputCommand
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.step.outcomes import Departure
from replaywright.domain.step.press_grants import Consequence, Grant
from replaywright.domain.task.actions import Effect
from replaywright.errors import Fenced, KeeperRefused, ReplaywrightError, StoreUnavailable
from replaywright.killpoints import hit
from replaywright.ports.keepers import CommitGate

_log = logging.getLogger("replaywright.commit")

_DECIDED_S = 0.05
"""After which a gate is asked again that holds something."""
AFTERMATH_MS = 20_000
"""Time beyond the step's own budget that bytes are held: for a successor that has to find the session first."""


def window_ms(command: InputCommand) -> int:
    """Return how long after the intent its bytes may leave."""
    return command.context.step.timeout_ms + command.late_ms + AFTERMATH_MS


class Commit:
    """One attempt at a step whose bytes are held until somebody lets them go.

    The gate is armed before the intent is written, so that the black box knows every attempt that could have given its
    input. The hand-shake runs beside the step, which goes on when the bytes it waits for have been let go.
    """

    def __init__(
        self,
        ledger: StepLedger,
        command: InputCommand,
        held: Attachment,
        consenting: Consenting | None = None,
        *,
        has_intent: bool = True,
    ) -> None:
        """Require a grant for each request if `consenting`; without an intent, the ledger is not asked."""
        self._ledger = ledger
        self._command = command
        self._context = command.context
        self._held = held
        self._consenting = consenting
        self.has_intent = has_intent
        self._op_id = operation_of(command.context) + ("" if has_intent else f"/{uuid.uuid4().hex}")
        self._shaking: asyncio.Task[None] | None = None
        self._is_open = False
        self.redis_s = 0.0
        """Time that asking the ledger took; 0 when nothing was held."""
        self.is_permitted = False
        """The gate has let its bytes go: then only a greater epoch can stop what follows."""
        self.refusal = ""
        """Reason for which the ledger did not let the bytes go."""
        self.is_refused = asyncio.Event()
        """Set when a request was thrown away that nobody had granted."""

    @property
    def wanted(self) -> Consequence | None:
        """The request that was thrown away because nobody had granted it."""
        return self._consenting.wanted if self._consenting is not None and self.is_refused.is_set() else None

    @property
    def granted(self) -> tuple[Grant, ...]:
        """Requests that were let go, and on whose word."""
        return () if self._consenting is None else tuple(self._consenting.granted.values())

    @property
    def is_past(self) -> bool:
        """True once the gate lets everything go that follows, too."""
        return self.is_permitted and self._consenting is None

    async def arm(self, before: tuple[int, ...] | None) -> None:
        """Hold what would change something; the black box keeps which expectations held `before`, and the document.

        Raises:
            SessionLost: the keeper does not answer, or refuses; nothing was dispatched.
        """
        declared = self._context.step.effect is not None and self._consenting is None
        facts = {"document": self._held.browser.document, **({} if before is None else {"before": before})}
        note = json.dumps(facts) if self.has_intent else WATCHED
        once = self._context.step.effect is Effect.IRREVERSIBLE
        within_ms = window_ms(self._command)
        unsent = self._held.browser.unsent
        await self._gate.arm(self._op_id, within_ms=within_ms, hold_safe=declared, note=note, once=once, unsent=unsent)

    def begin(self) -> None:
        """Begin to ask for held bytes whether they may leave."""
        self._shaking = asyncio.create_task(self._shake_hands())

    async def seen(self) -> GateSeen:
        """Return what has come to the gate by now."""
        return await self._gate.wait_held(self._op_id, 0)

    async def shut(self) -> Departure:
        """Throw away whatever is still to come; return what has left."""
        await self._throw_away()
        return _departure(await self.seen())

    async def departure(self) -> Departure:
        """Return what has left by now; a hand-shake that is under way is waited for."""
        while (seen := await self.seen()).phase == "armed" and seen.held:
            await self._shaken()
        return _departure(seen)

    async def open(self) -> Departure:
        """Open the gate again, as what the step came to is known; return what has left."""
        while True:
            try:
                seen = await self._gate.disarm(self._op_id)
            except KeeperRefused:  # something is held at this moment
                await self._shaken()
                continue
            self._is_open = True
            return _departure(seen)

    async def withdraw(self) -> None:
        """Open the gate again: no input was given, so what is held is none of the step's doing."""
        try:
            await self._gate.disarm(self._op_id)
        except KeeperRefused:  # something is held at this moment
            await self._gate.permit(self._op_id)
            await self._gate.disarm(self._op_id)

    async def leave(self) -> None:
        """Stop listening, and leave the gate of a commit as it is to whoever resolves the step."""
        if self._shaking is None:
            return
        self._shaking.cancel()
        await asyncio.gather(self._shaking, return_exceptions=True)  # told to whoever waited for it, or moot
        if not (self.has_intent or self._is_open or self.is_refused.is_set()):
            with contextlib.suppress(ReplaywrightError):  # the session is lost: whoever attaches next opens the gate
                await self._held.stop_loading()
                await self._gate.cut(self._op_id)
                await self._held.stop_loading()
                await self._gate.disarm(self._op_id)

    async def _shaken(self) -> None:
        """Wait until what is held now is decided."""
        assert self._shaking is not None
        await asyncio.wait({self._shaking}, timeout=_DECIDED_S)
        if self._shaking.done():
            await self._shaking

    async def _shake_hands(self) -> None:
        sequence = self._context.sequence
        while True:
            seen = await self._gate.wait_held(self._op_id, window_ms(self._command))
            if not seen.held or seen.phase != "armed":
                return
            if not self.is_permitted:
                hit("held", sequence)
            if self._consenting is not None and not await self._consenting.permits(seen):
                await self._throw_away()
                self.is_refused.set()
                return
            if not self.is_permitted and not await self._is_dispatched():
                return
            if self._consenting is None:
                await self._gate.permit(self._op_id)
            else:
                await self._gate.let_pass(self._op_id)
            if not self.is_permitted:
                hit("permitted", sequence)
            self.is_permitted = True
            if self._consenting is None:
                return

    async def _is_dispatched(self) -> bool:
        """Ask the ledger to let the bytes go; where it does not, they are thrown away."""
        if not self.has_intent:
            return True
        begun = time.perf_counter()
        try:
            await self._ledger.dispatch(self._context)
        except (Fenced, StoreUnavailable) as exc:
            _log.warning("step %d is not let go: %s", self._context.sequence, exc)
            self.refusal = str(exc)
            await self._throw_away()
            return False
        finally:
            self.redis_s = time.perf_counter() - begun
        hit("dispatched", self._context.sequence)
        return True

    async def _throw_away(self) -> None:
        await self._held.stop_loading()
        await self._gate.cut(self._op_id)

    @property
    def _gate(self) -> CommitGate:
        return self._held.gate


def _departure(seen: GateSeen) -> Departure:
    return Departure(
        bytes_up=seen.bytes_up,
        held_at=seen.held_at,
        permitted_at=seen.permitted_at,
        refused=seen.refused,
        cut=seen.is_closed,
    )
