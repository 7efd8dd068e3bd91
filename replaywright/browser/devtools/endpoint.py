"""DevTools endpoints: the unix socket of a keeper, or the HTTP address of a Chromium with a debugging port.

A keeper's is `ws+unix://127.0.0.1/path/of/the/socket:/token`, with the path percent-encoded. Playwright's driver
accepts it if nothing had to be encoded and the path fits into a socket's address; it has a host because the driver
resolves an empty one.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

SCHEME = "ws+unix://127.0.0.1"
MAX_SOCKET_PATH_BYTES = 100
"""An address has room for 107 bytes on Linux and 103 on macOS."""
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")


def is_unix(endpoint: str) -> bool:
    """Return whether the endpoint is a keeper's."""
    return endpoint.startswith(SCHEME)


def shown(endpoint: str) -> str:
    """Return an endpoint without its token, for messages."""
    return endpoint.rpartition(":/")[0] if is_unix(endpoint) else endpoint


@contextlib.contextmanager
def reachable(endpoint: str) -> Iterator[tuple[str, str]]:
    """Yield socket path and request path of a keeper's endpoint, for any process of this user to connect to.

    A path that is too long or holds other characters is reached through a link in a private folder, which is deleted
    afterwards: an open connection does not need its address.
    """
    quoted, _, token = endpoint.removeprefix(SCHEME).rpartition(":/")
    path = unquote(quoted)
    if _fits(path):
        yield path, f"/{token}"
        return
    with tempfile.TemporaryDirectory(prefix="rw-", dir=_short_folder()) as folder:
        link = Path(folder) / "s"
        link.symlink_to(Path(path).parent, target_is_directory=True)
        yield str(link / Path(path).name), f"/{token}"


@contextlib.contextmanager
def driver_url(endpoint: str) -> Iterator[str]:
    """Yield an endpoint as Playwright's driver takes it; it may be gone once the driver has connected."""
    if is_unix(endpoint):
        with reachable(endpoint) as (path, resource):
            yield f"{SCHEME}{path}:{resource}"
    else:
        yield endpoint


def _fits(path: str) -> bool:
    return len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES and _PLAIN.fullmatch(path) is not None


def _short_folder() -> str | None:
    """Return the folder for temporary files; where its own path is too long, the system's."""
    return None if _fits(f"{tempfile.gettempdir()}/rw-XXXXXXXX/s/devtools.sock") else "/tmp"  # noqa: S108 - mode 0700
