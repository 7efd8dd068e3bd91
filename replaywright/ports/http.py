"""Clients by which activities send requests to sites without a browser."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from replaywright.domain.requests.exchanges import Request, SiteResponse
from replaywright.domain.session.network_policy import NetworkPolicy


class SiteClient(Protocol):
    """Sends requests as one browser profile would: with its cookies, and only where the policy lets them go.

    An async context manager: at the end of the block its connections are closed.
    """

    @property
    def bytes_up(self) -> int:
        """Bytes sent so far, before encryption."""

    @property
    def bytes_down(self) -> int:
        """Bytes received so far, after decryption."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def send(
        self,
        request: Request,
        *,
        before_send: Callable[[], Awaitable[None]] | None = None,
        refusal: Callable[[str], str] = lambda _origin: "",
    ) -> SiteResponse:
        """Send a request, follow redirects as browsers do, and return the last response.

        A request that may change something, or that has a `before_send`, never leaves twice. Any other is repeated once
        if a connection that was kept from an earlier one turns out to be dead.

        Args:
            request: goes out with its headers and the cookies of this client.
            before_send: awaited once, when a connection to the site stands and right before the first byte leaves. What
                it raises is raised here, and nothing was sent then.
            refusal: returns why the content may not go to the origin that a redirect would send it on to; "" if it may.

        Raises:
            RequestNotSent: certain that no byte of the request has left: no connection, an unknown name, TLS that
                failed, a host that only the operator's proxies or certificates lead to.
            RequestInDoubt: it may have arrived; also if the first request was answered and a redirect failed.
            PolicyBlocked: the policy refuses its host, an address of it, that of a redirect, or more bytes. With
                `dispatched` False, nothing has left that may change something.
        """

    def add_cookies(self, cookies: Iterable[Mapping[str, Any]]) -> None:
        """Add cookies in the form of Playwright's storage state; expired ones are left out."""

    def cookie(self, url: str, name: str) -> str | None:
        """Return the value of the cookie of this name that a request to the address would have; None without one.

        Raises:
            InputInvalid: the address cannot be opened.
        """


class SiteClients(Protocol):
    """Opens clients, each with cookies of its own."""

    def open(
        self, policy: NetworkPolicy, *, cookies: Iterable[Mapping[str, Any]] = (), timeout_s: float = 30.0
    ) -> SiteClient:
        """Return a client.

        Args:
            policy: where its requests may go, and how many bytes they may have.
            cookies: in the form of Playwright's storage state.
            timeout_s: time limit of a request with its redirects.
        """
