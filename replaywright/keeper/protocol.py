"""Protocol of a keeper's control socket: JSON lines, one request, one reply with the same id.

Requests on one connection may overlap: `wait_held` is a long poll, and a `permit` may overtake it. Unknown fields are
ignored, so that a worker and a keeper of neighbouring versions understand each other; `version` rises only when they
cannot. Every request that acts carries an epoch: a lower one than the keeper's is refused as `fenced`, a greater one
becomes the keeper's and closes the CDP relays of all earlier ones.
"""

from enum import StrEnum
from typing import Annotated, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from replaywright.domain.page.targets import Box
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.session.network_policy import HostRule, NetworkPolicy, NetworkSeen
from replaywright.keeper.host.identity import ProcessIdentity

PROTOCOL_VERSION = 2

SOCKET_NAME = "control.sock"
DEVTOOLS_NAME = "devtools.sock"
RECORD_NAME = "session.json"
LOG_NAME = "keeper.log"
OPTIONS_NAME = "options.json"
PROFILE_NAME = "profile"
LENT_NAME = "take-over.url"
"""In the session's directory, for its owner only, while a person has the browser: the address that they open."""

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longest line either side accepts."""


class Message(BaseModel):
    """Base of all messages on the socket and of the session record."""

    model_config = ConfigDict(frozen=True)


class RemoteBrowser(Message):
    """A Chromium that runs already, on this host or another."""

    endpoint: str
    """Its DevTools: `http(s)://host:port`, or `ws(s)://host:port/devtools/browser/…`. May hold a secret."""
    proxy_host: str = ""
    """Name or address of this host on its host. Empty: the address that the connection to it leaves by."""


class UpstreamRoute(Message):
    """A proxy that connections to some hosts take, with its password."""

    scheme: Literal["http", "socks5"]
    host: str
    port: int
    user: str = ""
    password: str = Field(default="", repr=False)
    hosts: tuple[HostRule, ...] = ()
    """Empty: all."""


class SiteCertificate(Message):
    """A client certificate for some hosts, with its private key."""

    name: str
    """Name of its secret."""
    chain: str
    """The certificate and those that vouch for it, as PEM."""
    key: str = Field(repr=False)
    hosts: tuple[HostRule, ...]


SECRET_OPTIONS = {"routes", "certificates"}
"""Fields of a keeper's options that are in no file: they come by its standard input."""


class KeeperOptions(Message):
    """Options of a keeper and its Chromium."""

    session_id: str = ""
    executable: str
    """Path of Chromium, or of the script that starts it by `exec`."""
    network: NetworkPolicy = Field(default_factory=NetworkPolicy)
    """Policy for its connections; without any rules none is allowed."""
    routes: tuple[UpstreamRoute, ...] = ()
    """Proxies behind the policy; the first that has the host is taken."""
    certificates: tuple[SiteCertificate, ...] = ()
    """The first that has the host is shown to the site."""
    epoch: int = Field(default=0, ge=0)
    lease_s: float = Field(default=30.0, gt=0)
    """A session whose worker has not renewed its lease for this long closes its gate. The first lease runs from the
    moment when the browser is ready."""
    orphan_ttl_s: float = Field(default=600.0, gt=0)
    """Time after the last renewal until the keeper ends the browser, deletes the profile and exits."""
    headless: bool = True
    no_sandbox: bool = False
    """Only where Chromium runs as root in a disposable machine: without it a renderer exploit owns the account."""
    window_width: int = 1280
    window_height: int = 900
    lang: str = "en-US"
    browser_timeout_s: float = Field(default=30.0, gt=0)
    """Longest wait for Chromium to open its debugging port."""
    extra_arguments: tuple[str, ...] = ()
    """Appended to Chromium's command line."""
    is_spare: bool = False
    """Started before anybody wants it: nobody attaches to it before `take`, and it ends with its lease until then."""
    remote: RemoteBrowser | None = None
    """Used instead of starting one; then what is said above of Chromium's start does not count."""
    owner: ProcessIdentity | None = None
    """Process that owns the servers which know of the run: the session ends with it. None: it outlives everybody."""


class SessionState(StrEnum):
    """State of a keeper."""

    STARTING = "starting"
    READY = "ready"
    BROWSER_DEAD = "browser_dead"
    ENDED = "ended"


class SessionRecord(Message):
    """`session.json` in the session's directory: enough to find the keeper, or to clean up after it."""

    version: int = PROTOCOL_VERSION
    session_id: str
    state: SessionState
    host: str
    boot_id: str
    keeper: ProcessIdentity
    chromium: ProcessIdentity | None
    """Also the leader of Chromium's process group."""
    socket_path: str
    profile: str
    epoch: int
    is_spare: bool = False
    """Nobody's session yet."""
    owner: ProcessIdentity | None = None
    """Owner of the stack that it belongs to."""


class LeaseReport(Message):
    """Holder and end of the lease."""

    epoch: int
    holder_epoch: int
    """The epoch that last attached or renewed."""
    lapsed: bool
    """The gate is closed; only an `attach` or `renew` with an epoch above `holder_epoch` opens it again."""
    left_s: float
    ends_in_s: float
    """Until the keeper ends the session unless the lease is renewed."""


class StatusReport(Message):
    """Answer to `status`."""

    state: SessionState
    epoch: int
    keeper: ProcessIdentity
    chromium: ProcessIdentity | None
    chromium_alive: bool
    uptime_s: float
    lease: LeaseReport
    gate: GateSeen | None
    """The operation that is not disarmed yet, if any."""
    open_relays: int
    """CDP connections of workers."""


class AttachReport(Message):
    """Answer to `attach`: where this epoch may speak CDP. Gone once a greater epoch attaches or fences."""

    epoch: int
    endpoint_url: str
    """The browser's WebSocket on a unix socket: `ws+unix://127.0.0.1/path/of/the/socket:/token`."""


class BlackBoxReport(Message):
    """Answer to `black_box`."""

    operations: tuple[GateSeen, ...]
    """All epochs of the operation asked for, oldest first; without one, all that are remembered."""


class NetworkReport(Message):
    """Answer to `network`."""

    seen: NetworkSeen


class LendReport(Message):
    """Answer to `lend`: the address itself is in a file, so that it is told to nobody who cannot read that."""

    file: str
    """Absolute path, mode 0600; gone when the browser is taken back."""
    ends_in_s: float


class TakeBackReport(Message):
    """Answer to `take_back`: what the person did, as far as it left the browser."""

    lent: bool
    """False when there was no lending of this name: nothing is known then."""
    requests: tuple[str, ...] = ()
    """Requests that may have changed something, encrypted connections, and refusals, in words; the newest."""
    is_complete: bool = True


class ViewReport(Message):
    """Answer to `view`."""

    number: int = 0
    """Number of the picture; 0: there is no newer one."""
    jpeg: str = ""
    """The picture in base64."""
    element: tuple[float, float, float, float] | None = None
    """Left, top, width and height of the element that was found last, in fractions of the picture's; None without one
    in this document."""


class Done(Message):
    """Answer to requests that have nothing to tell."""


class _Request(Message):
    version: int = PROTOCOL_VERSION
    id: int = 0


class StatusRequest(_Request):
    """Report the state of keeper, browser, lease and gate; changes nothing."""

    op: Literal["status"] = "status"


class AttachRequest(_Request):
    """Attach to the browser; whoever had a lower epoch loses it. Also renews the lease."""

    op: Literal["attach"] = "attach"
    epoch: int
    worker: str = ""
    lease_s: float | None = Field(default=None, gt=0)


class TakeRequest(_Request):
    """Make a session of this spare browser: from now on it reaches what `network` allows. Refused if it is none."""

    op: Literal["take"] = "take"
    epoch: int
    network: NetworkPolicy
    lease_s: float = Field(gt=0)


class SetUpRequest(_Request):
    """Set the browser up: in all pages that there are and will be. Repeated, the last setup holds."""

    op: Literal["set_up"] = "set_up"
    epoch: int
    setup: BrowserSetup


class RenewRequest(_Request):
    """Renew the lease, by a worker that has just reached Temporal or Redis."""

    op: Literal["renew"] = "renew"
    epoch: int
    lease_s: float = Field(gt=0)


class FenceRequest(_Request):
    """Stop whoever has a lower epoch: its CDP connections are closed, its requests are refused. Opens no gate."""

    op: Literal["fence"] = "fence"
    epoch: int


class ArmRequest(_Request):
    """Hold gated bytes from now on.

    Refused while another operation is not disarmed, and for an epoch in which this operation was permitted or cut
    before: one attempt, one arming.
    """

    op: Literal["arm"] = "arm"
    op_id: str = Field(min_length=1)
    epoch: int
    dispatch_by_ms: int = Field(gt=0, le=3_600_000)
    """Milliseconds from the arrival of this request, not a time of day; afterwards held bytes are cut."""
    hold_safe: bool = False
    """Hold safe methods too: for a commit that is a GET."""
    note: str = ""
    """Returned with the operation's record; the keeper does not read it."""
    unsent: tuple[tuple[str, ...], ...] = Field(default=(), repr=False)
    """Words of the texts that were entered and not sent yet; see `Sought`. Written nowhere."""
    once: bool = False
    """Refuse a request that is equal to one that was let go: plain HTTP, of which method, address and body are read."""


class WaitHeldRequest(_Request):
    """Answer when something is held, when the operation is no longer armed, or when the time is up."""

    op: Literal["wait_held"] = "wait_held"
    op_id: str
    timeout_ms: int = Field(ge=0)


Settlement: TypeAlias = Literal["permit", "let_pass", "cut", "disarm"]


class GateRequest(_Request):
    """Decide about what is held for the current operation, or end the operation.

    - `permit`: let held bytes go. Refused after a cut and after `dispatch_by`.
    - `let_pass`: let go what is held now, and go on holding what follows. Refused like `permit`.
    - `cut`: throw held bytes away and keep the gate closed until `disarm`.
    - `disarm`: open the gate again. Refused while bytes are held: they are permitted or cut first. After a cut, stop
      the page's pending loads before: Chromium repeats a cut request by itself.
    """

    op: Settlement
    op_id: str
    epoch: int


class BlackBoxRequest(_Request):
    """Report what left for an operation, or for all that are remembered; changes nothing."""

    op: Literal["black_box"] = "black_box"
    op_id: str | None = None


class NetworkRequest(_Request):
    """Report the policy in force and its refusals; changes nothing."""

    op: Literal["network"] = "network"
    since_monotonic_s: float | None = None
    """Only what was refused at or after this instant; None for all."""


class ViewRequest(_Request):
    """Answer with a picture of the newest page, once there is another one than `seen`, or when the time is up.

    It shows what the page shows. The browser sends pictures only while somebody asks.
    """

    op: Literal["view"] = "view"
    seen: int = 0
    timeout_ms: int = Field(ge=0, le=10_000)


class PointRequest(_Request):
    """Remember where the element of the step under way is, for whoever watches."""

    op: Literal["point"] = "point"
    epoch: int
    document: str
    """Id of its frame's top document, as DevTools have it: `loaderId`."""
    box: Box


class LendRequest(_Request):
    """Let a person drive the browser until `take_back`, a greater epoch, or the end of the time.

    The lease lasts as long. Repeated, the same address serves on, for so long from now.
    """

    op: Literal["lend"] = "lend"
    epoch: int
    lending: str = Field(min_length=1)
    """A name for it, under which `take_back` asks."""
    lasts_s: float = Field(gt=0, le=86_400)


class TakeBackRequest(_Request):
    """The person is done: the address is closed. Repeated, it is answered the same."""

    op: Literal["take_back"] = "take_back"
    epoch: int
    lending: str = Field(min_length=1)


class CloseRequest(_Request):
    """End the session: kill Chromium, delete the profile and the directory, exit."""

    op: Literal["close"] = "close"
    epoch: int
    only_spare: bool = False
    """Refused when it has become a session."""
    is_over: bool = False
    """Its run has ended: nobody will ask what left, and the black box on disk is deleted as well."""


Request = Annotated[
    StatusRequest
    | AttachRequest
    | TakeRequest
    | SetUpRequest
    | RenewRequest
    | FenceRequest
    | ArmRequest
    | WaitHeldRequest
    | GateRequest
    | BlackBoxRequest
    | NetworkRequest
    | ViewRequest
    | PointRequest
    | LendRequest
    | TakeBackRequest
    | CloseRequest,
    Field(discriminator="op"),
]

REQUESTS: TypeAdapter[Request] = TypeAdapter(Request)


class ErrorCode(StrEnum):
    """Why a request was refused."""

    FENCED = "fenced"
    """The epoch is lower than the keeper's, or its lease has lapsed."""
    REFUSED = "refused"
    """The request does not fit the state; the message says what to do."""
    INVALID = "invalid"
    """The request cannot be read, or is of another version."""
    BROWSER_DEAD = "browser_dead"


class KeeperError(Message):
    """Why there is no result."""

    code: ErrorCode
    message: str
    epoch: int
    """The keeper's epoch."""


ResultT = TypeVar("ResultT")


class ReplyHead(Message):
    """As much of a reply as is needed to find who waits for it."""

    version: int = PROTOCOL_VERSION
    id: int


class Reply(ReplyHead, Generic[ResultT]):
    """The answer to one request: exactly one of `result` and `error`."""

    result: ResultT | None = None
    error: KeeperError | None = None
