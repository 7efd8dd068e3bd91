"""One live browser: where it is and who may use it."""

from replaywright.domain.common.base import Record
from replaywright.domain.session.network_policy import NetworkPolicy, RefusedHost


class SessionRef(Record):
    """What a workflow needs to know of a session to send it work."""

    session_id: str
    queue: str
    """Temporal task queue of the worker that is attached to the browser."""
    host_queue: str = ""
    """Temporal task queue of all workers on the browser's host: any of them can adopt it."""
    host: str = ""
    boot_id: str = ""
    directory: str = ""
    """The session's directory on that host: control socket, profile, log."""
    epoch: int = 1
    """Rises with every adoption, rebuild and resolution; an older epoch is refused everywhere."""


class OpenSession(Record):
    """Ask for a browser."""

    run_id: str
    lineage: str
    tenant: str
    epoch: int = 1
    """The epoch to begin with: higher than any of the lineage."""
    instead_of: str = ""
    """Id of the session that is given back as soon as this one serves: on its host, the new one takes its place."""
    network: NetworkPolicy | None = None
    """Where its connections may go. None: asked for by a workflow worker that is older than policies."""


class RecoverSession(Record):
    """Ask for the run's browser again after its worker was lost: the live one, else a new one."""

    run_id: str
    tenant: str
    lost: SessionRef
    epoch: int
    """The epoch from now on; higher than `lost.epoch`."""
    network: NetworkPolicy | None = None
    """As in `OpenSession`, for a new one."""


class SessionOpened(Record):
    """A browser is ready."""

    session: SessionRef
    adopted: bool = False
    """True when the live page was found again; False for a new browser that shows nothing yet."""
    url: str = ""


class Wear(Record):
    """How long a browser has lived, and how much it has grown."""

    session_id: str = ""
    age_s: float = 0.0
    memory_mb: int = 0
    """Resident memory of its process group, with what its processes share counted once; units of 1,048,576 bytes."""


class Recycling(Record):
    """What came of giving a run a new browser because the old one was worn."""

    tenant: str
    lineage: str
    sequence: int
    """Index of the step that the run was about to begin."""
    why: str
    kept: str = ""
    """Why the old one is kept all the same; empty when the new one took its place."""


class CloseSession(Record):
    """Give the browser back."""

    session: SessionRef
    recycling: Recycling | None = None
    """What the trace is told, where another browser takes its place or it has come in vain."""
    is_over: bool = False
    """Its run has ended: nobody will ask what left it."""


class SessionClosed(Record):
    """What a browser that was given back leaves."""

    refused: tuple[RefusedHost, ...] = ()
    """Hosts that its pages asked for and did not get."""
