"""What an activity needs of the processes that keep browsers alive, and of the gate that holds their bytes."""

from dataclasses import dataclass
from typing import Protocol

from replaywright.domain.page.targets import Box
from replaywright.domain.proof.carrying import NOTHING, Sought
from replaywright.domain.run.steering import HandedBack, LentBrowser
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.session.network_policy import NetworkPolicy, NetworkSeen
from replaywright.domain.session.sessions import SessionRef, Wear


@dataclass(frozen=True)
class LeftBehind:
    """Record of one operation by a keeper that has ended."""

    known: bool = False
    """False: nothing is certain, as the keeper may live, or its record is not there, or not whole."""
    seen: GateSeen | None = None
    """None, if known: the operation was never armed in that session."""

    @property
    def nothing_left(self) -> bool:
        """True if it is certain that no gated byte of the operation has left, nor will leave."""
        return self.known and (self.seen is None or self.seen.nothing_left)


class CommitGate(Protocol):
    """The commit gate of one session, spoken to in the name of one epoch.

    Raises `Fenced` when a higher epoch has it, `KeeperUnavailable` when no keeper answers, and `KeeperRefused` when
    what is asked does not fit its state.
    """

    async def arm(
        self,
        op_id: str,
        *,
        within_ms: int,
        hold_safe: bool,
        note: str = "",
        once: bool = False,
        unsent: Sought = NOTHING,
    ) -> GateSeen:
        """Hold gated bytes from now on, at most `within_ms`; then they are cut.

        Gated are plain HTTP requests that may change something, with `hold_safe` all of them, and whatever goes through
        tunnels. The `note` is remembered with it.

        With `once`, for steps that cannot be undone, a request is refused that is equal to one that was let go: the
        same method, address and body, of which at most 1 MB is compared. That is seen over plain HTTP only: inside TLS
        a request cannot be told from its repetition, and passes.

        What was entered and is `unsent` is looked for in what leaves: see `GateSeen.aside`.
        """

    async def wait_held(self, op_id: str, timeout_ms: int) -> GateSeen:
        """Return when something is held, when the operation is no longer armed, or when the time is up."""

    async def permit(self, op_id: str) -> GateSeen:
        """Let held bytes go, and those that follow."""

    async def let_pass(self, op_id: str) -> GateSeen:
        """Let go what is held now, and go on holding what follows."""

    async def cut(self, op_id: str) -> GateSeen:
        """Throw held bytes away; nothing passes until `disarm`."""

    async def disarm(self, op_id: str) -> GateSeen:
        """Open the gate again. Refused while bytes are held; stop the page's loads before when it was cut."""

    async def pending(self) -> GateSeen | None:
        """Return the operation that is not disarmed yet, whoever armed it."""

    async def recall(self, op_id: str, epoch: int) -> GateSeen | None:
        """Return what became of an operation; None when it was not armed here in that epoch."""

    def point(self, document: str, box: Box) -> None:
        """Say where the element of the step under way is, for whoever watches the session; never fails."""

    async def close(self) -> None:
        """Leave the gate as it is."""


class Keepers(Protocol):
    """Starts and reaches session keepers on this host.

    Every method that asks the keeper of a session raises `KeeperUnavailable` when none answers; `attach` and `lend` do
    so when its Chromium is gone, too.
    """

    async def launch(self, session_id: str, network: NetworkPolicy, instead_of: str = "") -> SessionRef:
        """Start a keeper with its Chromium, or have one that was started before it was asked for.

        Args:
            session_id: of the new session; one that was there already keeps its own.
            network: where its connections may go; services of this worker are beyond it.
            instead_of: a session of this host that ends as soon as the new one is there, whose place it takes.

        Raises:
            NoPlace: this host has no place for another browser at the moment.
            StackFailed: it does not come up.
        """

    async def set_up(self, session: SessionRef, setup: BrowserSetup) -> None:
        """Set its browser up, in all tabs that there are and will be, until it ends. The setup's secrets are resolved.

        Raises:
            InputInvalid: its browser cannot be set up for one session.
        """

    async def attach(self, session: SessionRef, epoch: int) -> str:
        """The DevTools endpoint for the holder of `epoch`; cuts every older one off.

        Raises:
            Fenced: a higher epoch has attached.
        """

    async def gate(self, session: SessionRef, epoch: int) -> CommitGate:
        """The session's commit gate, on a connection of its own."""

    async def network(self, session: SessionRef, since_monotonic_s: float | None = None) -> NetworkSeen:
        """The policy that its keeper enforces, and what it has refused, since an instant of this boot or ever."""

    async def renew(self, session: SessionRef, epoch: int) -> None:
        """Prolong the lease."""

    async def wear(self, session: SessionRef) -> Wear:
        """Return the age and the size of its browser."""

    async def lend(self, session: SessionRef, epoch: int, lending: str, lasts_s: float) -> LentBrowser:
        """Let a person drive the browser for so long; under the same name once more, for so long from now.

        Raises:
            Fenced: a higher epoch has attached.
        """

    async def take_back(self, session: SessionRef, epoch: int, lending: str) -> HandedBack:
        """The person has it no more; what left the browser meanwhile. Repeated, it is answered the same.

        Raises:
            Fenced: a higher epoch has attached.
        """

    async def left_behind(self, session_id: str, op_id: str, epoch: int) -> LeftBehind:
        """Return what a keeper of this host, which has certainly ended, wrote of an operation; see `LeftBehind`.

        It lets nothing go any more, so an operation that was armed until its end counts as closed. Kept for a day after
        the session, unless its run has ended.
        """

    async def close(self, session: SessionRef, *, is_over: bool = False) -> None:
        """End browser and keeper; nothing happens when they are gone already.

        With `is_over`, as its run has ended, nobody will ask what it has left behind.
        """

    def is_local(self, session: SessionRef) -> bool:
        """Tell if the session lives on this host, in this boot."""
