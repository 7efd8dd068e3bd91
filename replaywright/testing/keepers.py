"""Keepers of one host that start nothing."""

from collections import defaultdict
from dataclasses import replace

from replaywright.domain.run.steering import HandedBack, LentBrowser
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.network_policy import HostRule, HostRules, NetworkPolicy, NetworkSeen, RefusedHost
from replaywright.domain.session.sessions import SessionRef, Wear
from replaywright.errors import (
    Fenced,
    KeeperUnavailable,
    NoPlace,
)
from replaywright.ports.keepers import LeftBehind
from replaywright.testing.gate import FakeCommitGate, FakeGate

ANYWHERE = NetworkPolicy(rules=(HostRules(name="anywhere", allow=(HostRule(text="*", kind="any", ports="all"),)),))
"""Every public host; special addresses are refused nevertheless."""


class FakeKeepers:
    """`Keepers` of one host that start nothing; `dead` holds the ids of sessions whose keeper is gone."""

    def __init__(self, host: str = "fake-host") -> None:
        self.host = host
        self.epochs: dict[str, int] = {}
        """The highest epoch that has attached, by session."""
        self.renewals: list[tuple[str, int]] = []
        self.attached: list[tuple[str, int]] = []
        """Session and epoch of every attachment that was granted."""
        self.dead: set[str] = set()
        self.unrecorded: set[str] = set()
        """Sessions of which nobody can tell what left, once they are dead."""
        self.worn = Wear()
        """Wear reported for every browser."""
        self.full = ""
        """Reason why there is no place for another browser; empty while there is one."""
        self.policies: dict[str, NetworkPolicy] = {}
        """Policy of each session."""
        self.setups: dict[str, BrowserSetup] = {}
        """Setup of each session that has one."""
        self.refused: tuple[RefusedHost, ...] = ()
        """Refusals reported for every session."""
        self.launched: list[tuple[str, str]] = []
        """Each session that was started, and instead of which."""
        self.gates: defaultdict[str, FakeGate] = defaultdict(FakeGate)
        """Gates by session."""
        self.lent: dict[str, str] = {}
        """Lent sessions by the name of the lending."""
        self.left: tuple[str, ...] = ()
        """Requests that left a lent browser."""

    async def launch(self, session_id: str, network: NetworkPolicy, instead_of: str = "") -> SessionRef:
        """Start a session of this host, unless it is full."""
        if self.full:
            raise NoPlace(self.full)
        self.launched.append((session_id, instead_of))
        self.policies[session_id] = network
        self.epochs[session_id] = 0
        queue = f"host-{self.host}"
        return SessionRef(session_id=session_id, queue=queue, host_queue=queue, host=self.host, boot_id="fake-boot")

    async def set_up(self, session: SessionRef, setup: BrowserSetup) -> None:
        """Note the setup."""
        self.setups[session.session_id] = setup

    async def attach(self, session: SessionRef, epoch: int) -> str:
        """Return the endpoint, unless a higher epoch has attached."""
        self._must_own(session, epoch)
        self.epochs[session.session_id] = epoch
        self.attached.append((session.session_id, epoch))
        return f"fake://{session.session_id}"

    async def gate(self, session: SessionRef, epoch: int) -> FakeCommitGate:
        """Return the session's gate."""
        self._must_own(session, epoch)
        return FakeCommitGate(self.gates[session.session_id], epoch)

    async def wear(self, session: SessionRef) -> Wear:
        """Return `worn`."""
        if session.session_id in self.dead:
            raise KeeperUnavailable(f"no keeper answers for session {session.session_id!r}")
        return self.worn.model_copy(update={"session_id": session.session_id})

    async def network(self, session: SessionRef, since_monotonic_s: float | None = None) -> NetworkSeen:
        """Return the session's policy and `refused`."""
        del since_monotonic_s
        if session.session_id in self.dead:
            raise KeeperUnavailable(f"no keeper answers for session {session.session_id!r}")
        return NetworkSeen(policy=self.policies.get(session.session_id, ANYWHERE), refused=self.refused)

    async def renew(self, session: SessionRef, epoch: int) -> None:
        """Note the renewal."""
        self._must_own(session, epoch)
        self.renewals.append((session.session_id, epoch))

    async def lend(self, session: SessionRef, epoch: int, lending: str, lasts_s: float) -> LentBrowser:
        """Note that a person has it."""
        self._must_own(session, epoch)
        self.lent[lending] = session.session_id
        return LentBrowser(host=self.host, boot_id="fake-boot", file=f"/{lending}", until=lasts_s)

    async def take_back(self, session: SessionRef, epoch: int, lending: str) -> HandedBack:
        """Return `left` if the browser was lent."""
        self._must_own(session, epoch)
        known = self.lent.get(lending) == session.session_id
        return HandedBack(known=known, requests=self.left if known else ())

    async def left_behind(self, session_id: str, op_id: str, epoch: int) -> LeftBehind:
        """Return the gate's record of a dead session, unless it is lost."""
        if session_id not in self.dead or session_id in self.unrecorded:
            return LeftBehind()
        seen = self.gates[session_id].operations.get((op_id, epoch))
        if seen is not None and seen.phase != "disarmed":
            seen = replace(seen, is_closed=True)
        return LeftBehind(known=True, seen=seen)

    async def close(self, session: SessionRef, *, is_over: bool = False) -> None:
        """End the session, unless a newer epoch owns it."""
        if session.epoch >= self.epochs.get(session.session_id, 0):
            self.dead.add(session.session_id)
            if is_over:
                self.unrecorded.add(session.session_id)

    def is_local(self, session: SessionRef) -> bool:
        """Return True for a session of this host."""
        return session.host == self.host

    def _must_own(self, session: SessionRef, epoch: int) -> None:
        highest = self.epochs.get(session.session_id)
        if highest is None or session.session_id in self.dead:
            raise KeeperUnavailable(f"no keeper answers for session {session.session_id!r}")
        if epoch < highest:
            raise Fenced(f"session {session.session_id!r} belongs to epoch {highest}; mine is {epoch}")
