"""Operations of the commit gate as a keeper reports them."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["armed", "permitted", "cut", "disarmed"]
"""`armed`: gated bytes are held. `permitted`: they pass, and count as the operation's until `disarm`. `cut`: held bytes
were thrown away, and the gate stays closed until `disarm`. `disarmed`: over; the gate is open, or armed for another."""


@dataclass(frozen=True)
class HeldRequest:
    """One request, or one tunnel, that waits at the gate."""

    method: str
    """Empty for a tunnel, of which nothing can be read."""
    url: str
    """Without a query."""


@dataclass(frozen=True)
class SentRequest:
    """One request, or one tunnel, of which bytes left for an operation. Times are seconds since 1970."""

    method: str
    """Empty for a tunnel, of which nothing can be read."""
    url: str
    """Without a query."""
    sent_at: float
    status: int = 0
    """Status of the site's answer; 101 of a WebSocket without TLS; 0 when none is known."""
    answered_at: float | None = None
    """Time of the answer. None of a tunnel with TLS: no bytes show that it was answered."""
    ended_at: float | None = None
    """Time at which its connection was closed."""
    is_safe: bool = False
    """True: its method promises to change nothing (RFC 9110); listed because the operation holds such requests, too."""

    @property
    def kind(self) -> str:
        """Method and address."""
        return f"{self.method} {self.url}"

    @property
    def is_in_flight(self) -> bool:
        """True if it may change something and no answer is known; messages of an open WebSocket need none."""
        return not self.is_safe and self.answered_at is None


@dataclass(frozen=True)
class GateSeen:
    """One arming of the commit gate, as the keeper's black box knows it."""

    op_id: str
    epoch: int
    """Epoch of the attempt that armed it."""
    phase: Phase
    reason: str = ""
    """Reason of the cut: `asked`, `late`, `lease_lapsed`, …; empty otherwise."""
    is_closed: bool = False
    """True: it was cut, and nothing passed from then until `disarm`."""
    held: int = 0
    """Connections that wait at the gate now."""
    bytes_up: int = 0
    """Gated bytes that were let go since it was armed."""
    refused: int = 0
    """Requests that were turned away."""
    armed_for_s: float = 0.0
    held_at: float | None = None
    """Time at which something was first held, in seconds since 1970; None when nothing was."""
    permitted_at: float | None = None
    waiting: tuple[HeldRequest, ...] = ()
    """Requests that wait at the gate, as far as the keeper can read them."""
    note: str = ""
    """Note that came with `arm`."""
    sent: tuple[SentRequest, ...] = ()
    """Requests that were let go; of very many those without an answer."""
    unlisted: int = 0
    """Others without an answer, of which there were too many to list."""
    repeated: int = 0
    """Requests that were refused because an equal one had been let go; only if armed with `once`."""
    repeated_at: float | None = None
    """Arrival of the first of them, in seconds since 1970."""
    aside: tuple[str, ...] = ()
    """Kinds of requests that carried nothing of what was `unsent` when it was armed, and that no other of
    the same kind did."""
    awaited: int | None = None
    """Requests that may change something and that the browser is about to send, or awaits the answer to. None where it
    does not tell: then a tunnel stands for all that is inside."""

    @property
    def awaits_answer(self) -> bool:
        """True if something is about to leave, or an answer is still to come."""
        return self.in_flight if self.awaited is None else self.awaited > 0

    @property
    def in_flight(self) -> bool:
        """True if something left that may change the world, and no answer to it is known."""
        return self.unlisted > 0 or any(one.is_in_flight for one in self.sent)

    @property
    def nothing_left(self) -> bool:
        """True if it is certain that no gated byte has left, and that none came through later."""
        return self.is_closed and not self.bytes_up
