"""Commands say what they have to say; other programs and libraries write nothing beside it."""

import contextlib
import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from replaywright.cli.evidence.artifacts import open_file
from replaywright.cli.servers.connect import connect
from replaywright.settings import Settings


async def test_a_client_that_tries_a_lost_server_again_writes_nothing(
    capfd: pytest.CaptureFixture[str], temporal_binary: Path
) -> None:
    server = await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(temporal_binary), dev_server_log_level="error"
    )
    address = server.client.service_client.config.target_host
    client = await connect(Settings(temporal_address=address, temporal_tls=False))
    await server.shutdown()
    capfd.readouterr()

    with contextlib.suppress(RPCError):
        await client.get_workflow_handle("none").describe(rpc_timeout=timedelta(seconds=6))

    assert tuple(capfd.readouterr()) == ("", "")


async def test_the_viewer_of_a_file_writes_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    viewer = tmp_path / "xdg-open"
    viewer.write_text("#!/bin/sh\necho seven lines; echo of noise >&2\n")
    viewer.chmod(viewer.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    await open_file(tmp_path / "report.html", "look at it")

    assert tuple(capfd.readouterr()) == ("", "")
