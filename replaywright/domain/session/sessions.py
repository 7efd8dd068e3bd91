"""Browser sessions: identity, opening, recovery, recycling and closing."""

from typing import ClassVar

from replaywright.domain.common.base import Record
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.network_policy import NetworkPolicy, RefusedHost


class SessionRef(Record):
    """Address of a session for a workflow."""

    is_published: ClassVar[bool] = True

    session_id: str
    queue: str
    """Task queue of the worker that is attached to the browser."""
    host_queue: str = ""
    """Task queue of all workers on the browser's host, any of which can adopt it."""
    host: str = ""
    boot_id: str = ""
    directory: str = ""
    """The session's directory on that host: control socket, profile, log."""
    epoch: int = 1
    """Rises with every adoption, rebuild and resolution; older epochs are refused everywhere."""


class OfRun(Record):
    """Address of the run that an activity serves: the workflow id, its lineage, its tenant."""

    run_id: str
    lineage: str
    tenant: str


class OnSession(Record):
    """Session that an activity works in, in the name of an epoch."""

    session: SessionRef
    epoch: int


class OpenSession(OfRun):
    """Input of `session.open`."""

    epoch: int = 1
    """First epoch: higher than any of the lineage's."""
    instead_of: str = ""
    """Id of the session that closes as soon as this one serves; on its host, the new one takes its place."""
    network: NetworkPolicy
    """Allowed connections."""
    setup: BrowserSetup | None = None
    """Setup of the browser; None: as it comes."""
    files: tuple[str, ...] = ()
    """Paths of the files that the run uploads: without one of them nothing is opened."""


class RecoverSession(Record):
    """Input of `session.recover`: find the run's browser after its worker was lost, else open a new one."""

    run_id: str
    tenant: str
    lost: SessionRef
    epoch: int
    """New epoch, higher than `lost.epoch`."""
    network: NetworkPolicy
    """Network policy of a new session."""
    setup: BrowserSetup | None = None
    """Setup of a new browser; None: as it comes."""


class SessionOpened(Record):
    """An open session."""

    session: SessionRef
    adopted: bool = False
    """True for the live page of before; False for a new, empty browser."""
    url: str = ""


class Wear(Record):
    """Age and growth of a browser."""

    session_id: str = ""
    age_s: float = 0.0
    memory_mb: int = 0
    """Resident memory of its process group, shared memory counted once; in units of 1,048,576 bytes."""


class Recycling(Record):
    """Result of replacing a worn browser."""

    tenant: str
    lineage: str
    sequence: int
    """Index of the next step."""
    why: str
    kept: str = ""
    """Reason for keeping the old one; empty if it was replaced."""


class HoldBack(Record):
    """Input of `session.hold_back`."""

    session: SessionRef
    epoch: int
    setup: BrowserSetup
    """The one that the browser has, so that it is left as it is but for what it sends."""


class HeldBack(Record):
    """Output of `session.hold_back`."""

    why_not: str = ""
    """Reason why it cannot be promised that nothing leaves; empty if it is."""


class CloseSession(Record):
    """Input of `session.close`."""

    session: SessionRef
    recycling: Recycling | None = None
    """Line for the trace when the session is replaced, or was opened in vain."""
    is_over: bool = False
    """True if its run has ended, so that nobody will ask for its late evidence."""


class SessionClosed(Record):
    """Output of `session.close`."""

    refused: tuple[RefusedHost, ...] = ()
    """Hosts that its pages asked for and did not get."""
